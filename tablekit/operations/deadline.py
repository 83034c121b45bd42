"""How long the calls of a block may take: ``with app.deadline(seconds=2)``.

The time stands in a ``ContextVar``, so that it holds for the thread or the task that opened the block and for those
that it starts. Whoever sends, waits or pauses asks `time_left`. A request that is under way when the time is over is
left to itself: a synchronous one ends in its thread, by the read timeout at the latest, and is not sent again.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tablekit._types import Attempt
from tablekit.errors import DeadlineExceeded
from tablekit.wire.requests import on_tables

__all__ = ["Deadline", "current_deadline", "deadline", "in_time", "no_deadline", "overdue", "time_left"]

T = TypeVar("T")

clock: Callable[[], float] = time.monotonic


class Deadline:
    """A point in time.

    Parameters:
        seconds: from now.
    """

    __slots__ = ("_at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._at = clock() + seconds

    def left(self) -> float:
        """The seconds until then; 0 or less when it is over."""
        return self._at - clock()


_CURRENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("tablekit_deadline", default=None)


def current_deadline() -> Deadline | None:
    """The deadline of the running block."""
    return _CURRENT.get()


def time_left() -> float | None:
    """The seconds that are left; None without a deadline."""
    found = _CURRENT.get()
    return None if found is None else found.left()


@contextmanager
def deadline(seconds: float) -> Generator[Deadline]:
    """Give the calls of a block that many seconds in all; inside another such block the nearer end counts.

    Raises ``ValueError`` for a time that is not above 0.
    """
    if not seconds > 0:
        raise ValueError(f"A deadline is some seconds from now, and not {seconds!r}.")
    outer, mine = _CURRENT.get(), Deadline(seconds)
    token = _CURRENT.set(mine if outer is None or mine.left() < outer.left() else outer)
    try:
        yield mine
    finally:
        _CURRENT.reset(token)


@contextmanager
def no_deadline() -> Generator[None]:
    """Lift the deadline in a block: for work that a call starts for others, such as the refresh of a cache."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def overdue(operation: str, table: str, history: Sequence[Attempt] = ()) -> DeadlineExceeded:
    """The error of a request that the deadline kept from being sent, or left without an answer."""
    found = _CURRENT.get()
    given = "the time" if found is None else f"the {found.seconds:g} seconds"
    # The attempt that is under way may end later; what this caller was told does not change.
    attempts = tuple(Attempt(attempt.outcome, attempt.reason) for attempt in history)
    what = (
        f"has no answer after {given} of its deadline ({len(attempts)} attempts)"
        if attempts
        else f"was not sent: {given} of its deadline are over"
    )
    return DeadlineExceeded(
        f"{operation}{on_tables(table)} {what}. Give it more time, or ask for less at once.",
        code="DeadlineExceeded",
        operation=operation,
        history=attempts,
    )


def in_time(seconds: float, work: Callable[[], T]) -> T:
    """Run something in a thread of its own, in a copy of this context, and give what it gives.

    Raises ``TimeoutError`` when it takes longer; it then goes on alone. Raises what it raises.
    """
    from concurrent.futures import Future, wait
    from threading import Thread

    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    # A daemon: the interpreter need not wait for a request that nobody waits for.
    Thread(target=run, name="tablekit-deadline", daemon=True).start()
    wait([future], max(0.0, seconds))
    if not future.done():
        raise TimeoutError
    return future.result()
