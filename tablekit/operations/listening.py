"""Telling listeners of each request before it is sent; what every port has in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["Listener", "Listening"]

Listener = Callable[[str, dict[str, Any]], None]
"""Called with the operation and the wire dict of each request, before it is sent. It must not change the dict."""


class Listening:
    """A port that tells listeners of its requests.

    Attributes:
        observers: listeners of every port of the process; for tests that check all requests.
    """

    observers: ClassVar[list[Listener]] = []

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()

    def on_request(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each request of this port; the result takes it off again."""
        self._listeners = (*self._listeners, listener)

        def remove() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

        return remove

    def _tell(self, operation: str, wire: dict[str, Any]) -> None:
        for listener in (*self._listeners, *self.observers):
            listener(operation, wire)
