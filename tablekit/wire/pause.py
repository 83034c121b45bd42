"""Hold garbage collections back while one large answer is read.

An answer of a megabyte becomes some thousands of dicts in a few milliseconds. Python's collector counts what is
made, not what is garbage: it runs dozens of times meanwhile, every few answers through the whole heap of the process,
and finds nothing, since what JSON and decoders make has no cycles. Measured in a process with botocore loaded that was
as much as the reading itself, and several times that at worst (docs/explanation/performance.md).

The collector is the application's, so it is held back with care: only for answers so large that it matters, only for
as long as one of them is read (no request is waited for meanwhile), by one thread at a time, so that other threads'
garbage waits for milliseconds at most; never where the application has switched the collector off. What was made
meanwhile stays counted, so that the next collection comes at once where one is due.
"""

from __future__ import annotations

import gc
import os
import threading
from typing import Final

from typing_extensions import Self

__all__ = ["MANY_BYTES", "MANY_ROWS", "CollectionsPaused"]

MANY_BYTES: Final = 32_768
"""An answer of fewer bytes is read with collections on: there are one or two, of the young objects alone."""

MANY_ROWS: Final = 100
"""The like for rows that are decoded."""


class _Turn:
    """Whose turn it is to hold collections back; another thread goes on without."""

    lock = threading.Lock()


def _after_fork_in_child() -> None:
    # The thread that held collections back is not in the child, and cannot let them go there.
    if _Turn.lock.locked():
        _Turn.lock = threading.Lock()
        gc.enable()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)


class CollectionsPaused:
    """No garbage collection inside the ``with`` block, where that can be had.

    Parameters:
        wanted: whether the work is large enough.
    """

    __slots__ = ("_lock", "_wanted")

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._lock: threading.Lock | None = None

    def __enter__(self) -> Self:
        if self._wanted and gc.isenabled():
            lock = _Turn.lock
            if lock.acquire(blocking=False):
                self._lock = lock
                gc.disable()
        return self

    def __exit__(self, *_: object) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            gc.enable()
            lock.release()

    def __del__(self) -> None:
        # An interrupt may come between __enter__ and the block; nothing else would let collections go then.
        self.__exit__()
