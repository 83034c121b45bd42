"""Something kept for each way of reaching a table: for each port and physical name."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

__all__ = ["PerBinding"]

T = TypeVar("T")
Key = tuple[int, str]


class PerBinding(Generic[T]):
    """Values by the identity of a port and a table's name; they go when the port goes."""

    __slots__ = ("__weakref__", "_anchors", "_values")

    def __init__(self) -> None:
        self._values: dict[Key, T] = {}
        # An identity is only as good as the object lives: the next one may be given the same.
        self._anchors: dict[int, Any] = {}

    def find(self, port: object, name: str) -> T | None:
        """What is kept for a binding."""
        return self._values.get((id(port), name))

    def keep(self, port: object, name: str, value: T) -> None:
        """Keep something for a binding, in place of what was there."""
        if id(port) not in self._anchors:
            self._anchors[id(port)] = self._anchor(port)
        self._values[id(port), name] = value

    def _anchor(self, port: object) -> object:
        held, identity = weakref.ref(self), id(port)

        def gone(_: object) -> None:
            alive = held()
            if alive is not None:
                alive.forget(identity)

        try:
            return weakref.ref(port, gone)
        except TypeError:
            # It cannot be watched, so it is kept.
            return port

    def forget(self, identity: int) -> None:
        """Drop what was kept for a port that is gone."""
        self._anchors.pop(identity, None)
        for key in [key for key in list(self._values) if key[0] == identity]:
            self._values.pop(key, None)
