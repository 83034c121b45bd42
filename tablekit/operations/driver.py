"""Run an operation to its end without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(operation: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose port never suspends, and return its result.

    Raises what the coroutine raises, and ``RuntimeError`` when it suspends: then an asynchronous port was
    put under a synchronous call.
    """
    try:
        operation.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    operation.close()
    raise RuntimeError(
        "A synchronous call cannot wait for an asynchronous port. Use the .aio names inside an event loop, "
        "or connect the table with a synchronous port."
    )
