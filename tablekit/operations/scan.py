"""Scans in segments: several workers read parts of a table or an index at the same time.

Memory is bounded: as many pages wait as there are workers. A scan may keep to a rate of capacity units, tell of
its progress, and be cancelled at any time.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.ParallelScan
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from typing_extensions import Self

from tablekit.operations.driver import run
from tablekit.operations.pager import Pager
from tablekit.operations.queryspec import QuerySpec
from tablekit.operations.rate import TokenBucket
from tablekit.operations.session import Session

__all__ = ["Scan", "ScanProgress", "ThreadedRows"]

MOST_WORKERS = 32
"""Threads, or requests in flight; further segments wait for a worker."""

_POLL_SECONDS = 0.25
"""How soon a worker that waits sees that the scan is cancelled."""


@attrs.frozen(kw_only=True)
class ScanProgress:
    """How far a scan has come, over all its segments.

    Attributes:
        segments: how many there are. finished: those read to their end. requests: sent so far. scanned: rows read.
        returned: entities found. units: capacity units. seconds: since the scan began.
    """

    segments: int
    finished: int
    requests: int
    scanned: int
    returned: int
    units: float
    seconds: float


class _Segment:
    """One segment, read page by page."""

    def __init__(self, scan: Scan, spec: QuerySpec) -> None:
        self._scan = scan
        self._pager = Pager(spec, scan.session)

    @property
    def done(self) -> bool:
        """Whether the segment is read to its end."""
        return self._pager.done

    async def step(self) -> list[Any]:
        """The entities of the next request, no faster than the rate allows."""
        bucket, pager = self._scan.bucket, self._pager
        reserved, before = 0.0, sum(pager.consumed.values())
        if bucket is not None:
            delay, reserved = bucket.reserve()
            await self._pause(delay)
        try:
            found = await pager.step()
        finally:
            if bucket is not None:
                bucket.settle(reserved, sum(pager.consumed.values()) - before)
        self._scan.tell(pager, len(found))
        return found

    async def _pause(self, seconds: float) -> None:
        while seconds > 0 and not self._scan.cancelled.is_set():
            if not await self._scan.session.rest(min(seconds, _POLL_SECONDS)):
                return  # the deadline is over, as the next request will say
            seconds -= _POLL_SECONDS


class Scan:
    """A scan of all its segments.

    Attributes:
        spec: what was asked. session: the table. bucket: keeps the rate. cancelled: set when no more is wanted.
        done: whether `step` has given everything.
    """

    def __init__(self, spec: QuerySpec, session: Session) -> None:
        self.spec = spec
        self.session = session
        self.bucket = None if spec.units_per_second is None else TokenBucket(spec.units_per_second)
        self.cancelled = threading.Event()
        self.waiting = [_Segment(self, attrs.evolve(spec, segment=number)) for number in range(spec.segments)]
        self.remaining = spec.limit
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._requests = 0
        self._returned = 0
        self._pagers: dict[int, Pager] = {}

    @property
    def done(self) -> bool:
        """Whether everything has been read."""
        return not self.waiting or self.remaining == 0

    def tell(self, pager: Pager, found: int) -> None:
        """Count a request, and call the progress callback; one worker at a time."""
        if self.spec.progress is None:
            return
        with self._lock:
            self._requests += 1
            self._returned += found
            self._pagers[id(pager)] = pager
            pagers = list(self._pagers.values())
            self.spec.progress(
                ScanProgress(
                    segments=self.spec.segments,
                    finished=sum(each.done for each in pagers),
                    requests=self._requests,
                    scanned=sum(each.scanned for each in pagers),
                    returned=self._returned,
                    units=sum(sum(each.consumed.values()) for each in pagers),
                    seconds=time.monotonic() - self._began,
                )
            )

    def cut(self, rows: list[Any]) -> list[Any]:
        """The rows that are still wanted."""
        if self.remaining is not None:
            rows = rows[: self.remaining]
            self.remaining -= len(rows)
        return rows

    async def step(self) -> list[Any]:
        """The entities of the next request of each of several segments, at the same time."""
        working = self.waiting[:MOST_WORKERS]
        pages = await self.session.gather([segment.step() for segment in working], len(working))
        self.waiting = [segment for segment in self.waiting if not segment.done]
        return self.cut([row for rows in pages for row in rows])


class _Channel:
    """What passes between the workers and the reader; it knows neither, so that a reader who is gone is noticed."""

    def __init__(self, scan: Scan, workers: int) -> None:
        self.cancelled = scan.cancelled
        self.pages: queue.Queue[list[Any] | BaseException | None] = queue.Queue(maxsize=workers)

    def put(self, page: list[Any] | BaseException | None) -> None:
        """Hand a page over, or wait until there is room, or until nobody wants it."""
        waiting = True
        while waiting and not self.cancelled.is_set():
            try:
                self.pages.put(page, timeout=_POLL_SECONDS)
                waiting = False
            except queue.Full:
                continue

    def get(self) -> list[Any] | BaseException | None:
        """The next page, an error, or None when a worker is finished."""
        while not self.cancelled.is_set():
            try:
                return self.pages.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
        return None


def _work(channel: _Channel, segments: Iterator[_Segment]) -> None:
    """Read segments, one after the other, until there are no more or nobody wants them."""
    try:
        for segment in segments:
            while not segment.done and not channel.cancelled.is_set():
                rows = run(segment.step())
                if rows:
                    channel.put(rows)
    except BaseException as error:
        channel.put(error)
    finally:
        channel.put(None)


class _Shared(Iterator[_Segment]):
    """Segments that several threads take from."""

    def __init__(self, segments: Sequence[_Segment]) -> None:
        self._left = list(reversed(segments))

    def __next__(self) -> _Segment:
        try:
            return self._left.pop()
        except IndexError:
            raise StopIteration from None


class ThreadedRows(Iterator[Any]):
    """The entities of a scan, read by threads ahead of the loop that takes them.

    Leaving the loop early ends the threads; `close` does so at once and waits for the requests under way. It is also
    a context manager.
    """

    def __init__(self, spec: QuerySpec, session: Session) -> None:
        self._scan = Scan(spec, session)
        workers = min(spec.segments, MOST_WORKERS)
        self._channel = _Channel(self._scan, workers)
        segments = _Shared(self._scan.waiting)
        self._threads = [
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(_work, self._channel, segments),
                name=f"tablekit-scan-{number}",
                daemon=True,
            )
            for number in range(workers)
        ]
        self._working = 0
        self._ready: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        while True:
            for entity in self._ready:
                return entity
            rows = self._next_rows()
            if rows is None:
                raise StopIteration
            self._ready = iter(rows)

    def _next_rows(self) -> list[Any] | None:
        self._start()
        while self._working and self._scan.remaining != 0:
            try:
                page = self._channel.get()
            except BaseException:
                self._scan.cancelled.set()
                raise
            if isinstance(page, BaseException):
                self.close()
                raise page
            if page is None:
                self._working -= 1
            else:
                return self._scan.cut(page)
        self.close()
        return None

    def _start(self) -> None:
        if self._threads and self._threads[0].ident is None:
            for thread in self._threads:
                thread.start()
            self._working = len(self._threads)

    def close(self) -> None:
        """Read no further, and wait for the requests under way."""
        self._scan.cancelled.set()
        self._working = 0
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join()
        self._threads = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        scan = getattr(self, "_scan", None)
        if scan is not None:
            scan.cancelled.set()
