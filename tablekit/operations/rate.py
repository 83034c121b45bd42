"""Keeping what several workers consume to a rate of capacity units."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from tablekit.errors import RequestError

__all__ = ["TokenBucket"]


class TokenBucket:
    """Keeps the capacity units of several workers to a rate; threads and tasks may share one.

    What a request takes is known when it was answered. Each reserves what the last one of its kind took, and settles
    afterwards: the rate holds on average, and one page more may be under way for each worker.

    Parameters:
        rate: units a second. clock: gives seconds, for tests. Raises `RequestError` for a rate that lets nothing pass.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not 0 < rate < float("inf"):
            raise RequestError(f"A rate of {rate} units a second is none; give more than 0, or None for no limit.")
        self.rate = rate
        self._clock = clock
        self._lock = threading.Lock()
        self._level = 0.0
        self._filled = clock()
        self._guesses: defaultdict[str, float] = defaultdict(float)

    def reserve(self, kind: str = "") -> tuple[float, float]:
        """The seconds to wait before the next request, and the units that are set aside for it.

        Parameters:
            kind: requests that take about the same, such as the pages of a scan.
        """
        with self._lock:
            now = self._clock()
            # A second's units may be saved up: a pause of the reader is not made up for in one burst.
            self._level = min(self.rate, self._level + (now - self._filled) * self.rate)
            self._filled = now
            delay = max(0.0, -self._level / self.rate)
            guess = self._guesses[kind]
            self._level -= guess
            return delay, guess

    def settle(self, reserved: float, units: float, kind: str = "") -> None:
        """Say what the request took."""
        with self._lock:
            self._level += reserved - units
            self._guesses[kind] = units
