"""The cache of a singleton: one for the process and for each way of reaching the table.

It does no I/O and holds no lock while anybody waits. One reader leads, the others wait for its future; a leader
that is cancelled leaves the future empty, and one of those who waited leads in its place.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal

from tablekit.definition.entity import EntityBase
from tablekit.operations.process import Process
from tablekit.patterns.bindings import PerBinding
from tablekit.patterns.entries import Entry
from tablekit.patterns.options import Options

if TYPE_CHECKING:
    import asyncio

__all__ = ["Cache", "Flight", "State", "running_loop"]

_log = logging.getLogger("tablekit.singleton")

Role = Literal["hit", "refresh", "follow", "lead", "alone"]
OnChange = Callable[[Any, Any], Any]


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    if "asyncio" not in sys.modules:
        # Nobody runs a loop, and importing it takes a third of the time that importing tablekit does.
        return None
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Flight:
    """One read that is under way, and those who wait for it.

    Attributes:
        future: gives the entry, or None when the leader was cancelled and somebody else must lead.
    """

    __slots__ = ("_loop", "_thread", "future")

    def __init__(self, *, aio: bool) -> None:
        self._loop = running_loop() if aio else None
        self._thread: int | None = threading.get_ident()
        self.future: Future[Entry | None] = Future()
        # A running future cannot be cancelled, so that one follower cannot take it from the others.
        self.future.set_running_or_notify_cancel()

    def hand_over(self, thread: int | None) -> None:
        """The read goes on in another thread; None while it is not known in which."""
        self._thread = thread

    def never_ends_for(self, *, aio: bool) -> bool:
        """Whether a caller in this thread would wait for itself, or for a loop that does not run."""
        if self._loop is None:
            return self._thread == threading.get_ident()
        return not self._loop.is_running() or (not aio and self._loop is running_loop())


class State:
    """What is known of the row through one binding.

    Attributes:
        entry: what readers are served; None before the first read. good: the last entry that the table itself
            answered for. epoch: counts writes and invalidations. consistent: the next read must be a consistent
            one. failures: reads that failed in a row. reported: what was logged already. writes: when this
            process wrote.
    """

    __slots__ = (
        "_lock",
        "consistent",
        "effective",
        "entry",
        "epoch",
        "failures",
        "flight",
        "good",
        "process",
        "reported",
        "writes",
    )

    def __init__(self, process: Process, before: State | None = None) -> None:
        self.process = process
        self._lock = threading.Lock()
        self.flight: Flight | None = None
        self.entry: Entry | None = None if before is None else before.entry
        self.good: Entry | None = None if before is None else before.good
        self.effective: Entry | None = None if before is None else before.effective
        self.epoch = 0
        self.consistent: bool = before is not None and before.consistent
        self.failures = 0
        self.reported: set[str] = set()
        self.writes: deque[float] = deque()

    # Reading

    def enter(self, now: float, *, aio: bool) -> tuple[Role, Entry | None, Flight | None]:
        """What a reader does next: take the entry, wait for a read that is under way, or read."""
        with self._lock:
            entry, flight = self.entry, self.flight
            if entry is not None and now < entry.expires:
                if now < entry.due or flight is not None:
                    return "hit", entry, None
                self.flight = Flight(aio=aio)
                self.flight.hand_over(None)
                return "refresh", entry, self.flight
            if flight is None:
                self.flight = Flight(aio=aio)
                return "lead", None, self.flight
            if flight.never_ends_for(aio=aio):
                return "alone", None, None
            return "follow", None, flight

    def leave(self, flight: Flight, entry: Entry | None) -> None:
        """End a read; without an entry one of those who wait leads in its place."""
        with self._lock:
            if self.flight is flight:
                self.flight = None
        flight.future.set_result(entry)

    def begin(self) -> tuple[int, bool, Entry | None]:
        """What a read has to know: the epoch, whether it must be consistent, the last good entry."""
        with self._lock:
            return self.epoch, self.consistent, self.good

    def install(self, entry: Entry, epoch: int, now: float, *, good: bool) -> tuple[Entry, Entry | None]:
        """Keep what a read brought, unless a write ended since it began.

        Returns the entry to serve, and the one that it replaced as what callers see, when it did.
        """
        with self._lock:
            if self.epoch != epoch:
                newer = self.entry
                return (newer if newer is not None and now < newer.expires else entry), None
            self.entry = entry
            if good:
                self.good = entry
                self.consistent = False
                self.failures = 0
            before, self.effective = self.effective, entry
            return entry, before

    def failed(self) -> tuple[int, Entry | None]:
        """Count a failed read; gives how many there were in a row, and the last good entry."""
        with self._lock:
            self.failures += 1
            return self.failures, self.good

    # Writing

    def wrote(self, entry: Entry, epoch: int) -> Entry | None:
        """Keep what a write left, when it is certain to be the newest; gives the entry that it replaced.

        When another write ended meanwhile, the higher version is the newer one; without versions nobody knows,
        and the next read asks.
        """
        with self._lock:
            known = self.entry
            in_doubt = self.epoch != epoch
            self._end_epoch()
            if in_doubt and (known is None or not known.exists or not entry.version):
                self._expire()
                return None
            if in_doubt and known is not None and known.version >= entry.version:
                return None
            self.entry = self.good = entry
            self.consistent = False
            self.failures = 0
            before, self.effective = self.effective, entry
            return before

    def drop(self) -> None:
        """Serve nothing that was known until now; the next read is consistent."""
        with self._lock:
            self._end_epoch()
            self._expire()

    def _end_epoch(self) -> None:
        self.epoch += 1
        # Those who come from now on must not wait for a read that began before.
        self.flight = None

    def _expire(self) -> None:
        self.entry = None
        self.consistent = True

    # Saying things once

    def first(self, what: str) -> bool:
        """Whether this is the first time that something is to be reported."""
        with self._lock:
            if what in self.reported:
                return False
            self.reported.add(what)
            return True

    def forget(self, what: str) -> None:
        """Report it again when it comes again."""
        if what in self.reported:
            with self._lock:
                self.reported.discard(what)

    def count_write(self, now: float) -> int:
        """Count a write of this process; gives the writes of the last minute."""
        with self._lock:
            self.writes.append(now)
            while self.writes[0] <= now - 60:
                self.writes.popleft()
            return len(self.writes)


class Cache:
    """The cache of one class.

    Attributes:
        cls: the class. options: its options. states: one for each binding.
        listeners: called with the values before and after a change. clock: that of the options. recent: the
            binding that was last used by a call that blocks, its table's name, and its state.
    """

    __slots__ = ("clock", "cls", "listeners", "options", "recent", "states")

    def __init__(self, cls: type[EntityBase], options: Options) -> None:
        self.cls = cls
        self.options = options
        self.states: PerBinding[State] = PerBinding()
        self.listeners: tuple[OnChange, ...] = ()
        self.clock = options.clock
        self.recent: tuple[object, str, State] | None = None

    def state(self, port: object, name: str) -> State:
        """The state of one binding: the port's identity and the physical table's name."""
        found = self.states.find(port, name)
        process = Process.current
        if found is not None and found.process is process:
            return found
        with process.lock:
            found = self.states.find(port, name)
            if found is None or found.process is not process:
                found = State(process, found)
                self.states.keep(port, name, found)
                # After a fork it holds the parent's state, which no write of this process reaches.
                self.recent = None
            return found

    def on_change(self, listener: OnChange) -> Callable[[], None]:
        """Call `listener(before, after)` when the values change; the result takes it off again."""
        self.listeners = (*self.listeners, listener)

        def remove() -> None:
            self.listeners = tuple(each for each in self.listeners if each is not listener)

        return remove

    def announce(self, before: Entry | None, after: Entry) -> None:
        """Tell the listeners, when there is something to tell."""
        if not self.listeners or before is None or before.raises or after.raises or before.same_values(after):
            return
        for listener in self.listeners:
            try:
                listener(before.copy(), after.copy())
            except Exception as error:
                # Its message may hold values; a reader of flags must not fail for it.
                _log.error("an on_change callback of %s raised %s", self.cls.__name__, type(error).__name__)
