"""Going through a whole table in segments: raw rows, a rate in capacity units, a checkpoint that survives kill -9."""

from __future__ import annotations

import base64
import contextvars
import json
import os
import random
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs

from tablekit._types import Answer, Item
from tablekit.errors import RequestError, ServiceError, TablekitError
from tablekit.operations.driver import run
from tablekit.operations.observe import consumed_units
from tablekit.operations.rate import TokenBucket
from tablekit.operations.session import Session
from tablekit.wire.requests import Request
from tablekit.wire.sizes import item_size
from tablekit.wire.units import query_units

__all__ = [
    "MOST_SEGMENTS",
    "Checkpoint",
    "ScanPlan",
    "SegmentScan",
    "Shared",
    "Size",
    "choose_segments",
    "pack_key",
    "parse_segments",
    "plan_scan",
    "recovery_enabled",
    "run_segments",
    "share_of",
    "table_size",
    "unpack_key",
]

POLL_SECONDS = 0.25
"""How soon a worker that waits for the rate sees that the run is stopped."""


MOST_SEGMENTS = 1_000_000
"""DynamoDB's limit. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html"""


SAMPLED_SEGMENTS = 200
"""A sample is taken from so many segments at least, and from ten times as many as it is of the whole."""


class Stopped(Exception):
    """The run was stopped; its other workers leave off after the request under way."""


class Shared:
    """What the workers of one run share: the table, the rate, the units, and whether they are to stop.

    Parameters:
        session: the table. rate: capacity units a second, over all workers; None for no limit.

    Attributes:
        units: what was consumed so far. stopped: set when no more is to be sent.
    """

    def __init__(self, session: Session, rate: float | None = None) -> None:
        self.session = session
        self.bucket = None if rate is None else TokenBucket(rate)
        self.stopped = threading.Event()
        self.units = 0.0
        self._lock = threading.Lock()

    async def send(self, request: Request) -> Answer:
        """Send a request when the rate allows it. Raises `Stopped` where the run is over."""
        kind, reserved = request.operation, 0.0
        if self.bucket is not None:
            delay, reserved = self.bucket.reserve(kind)
            await self._pause(delay)
        units = 0.0
        try:
            if self.stopped.is_set():
                raise Stopped
            answer = await self.session.send(request)
            units = _units(answer.body)
        finally:
            if self.bucket is not None:
                self.bucket.settle(reserved, units, kind)
        with self._lock:
            self.units += units
        return answer

    async def _pause(self, seconds: float) -> None:
        while seconds > 0 and not self.stopped.is_set():
            await self.session.port.sleep(min(seconds, POLL_SECONDS))
            seconds -= POLL_SECONDS


def _units(body: Mapping[str, Any]) -> float:
    """What a request consumed; of an engine that does not say, what its rows would."""
    if "ConsumedCapacity" in body or "Items" not in body:
        return sum(consumed_units(body).values())
    return query_units(sum(map(item_size, body["Items"])))


@attrs.frozen
class Size:
    """What DescribeTable says of a table; DynamoDB brings it up to date every six hours or so.

    Attributes:
        items: how many rows. bytes: their size. read_units: what one eventually consistent scan of them consumes.
    """

    items: int
    bytes: int

    @property
    def read_units(self) -> float:
        """Read units of one eventually consistent scan."""
        return -(-self.bytes // 4096) / 2


@attrs.frozen
class ScanPlan:
    """What is about to be read.

    Attributes:
        size: the table's. segments: how many of its segments, of `total`. read_units: what that will consume about.
    """

    size: Size
    segments: int
    total: int

    @property
    def read_units(self) -> float:
        """Read units of one eventually consistent scan of the segments, each of which is one request at least."""
        return max(self.size.read_units * self.segments / self.total, 0.5 * self.segments)

    @property
    def items(self) -> int:
        """About how many rows that is."""
        return round(self.size.items * self.segments / self.total)


async def plan_scan(session: Session, segments: int, total: int) -> ScanPlan:
    """What a scan of so many segments will read. Raises `TableNotFound`."""
    return ScanPlan(await table_size(session), segments, total)


async def table_size(session: Session) -> Size:
    """The size of the table, before anything is read. Raises `TableNotFound`."""
    answer = await session.send(Request("DescribeTable", {}))
    table = answer.body.get("Table", {})
    return Size(table.get("ItemCount", 0), table.get("TableSizeBytes", 0))


async def recovery_enabled(session: Session) -> bool | None:
    """Whether the table has point-in-time recovery; None where the engine does not say."""
    try:
        answer = await session.send(Request("DescribeContinuousBackups", {}))
    except ServiceError as error:
        if error.code in ("UnknownOperationException", "AccessDeniedException"):
            return None
        raise
    description = answer.body.get("ContinuousBackupsDescription", {})
    status = description.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    return bool(status == "ENABLED")


class SegmentScan:
    """One segment of a parallel scan; one `step` is one page.

    Parameters:
        segment, total: which segment of how many. start: the key after which to go on. index: scan an index.
        consistent: read strongly consistent. page_size: rows a request.
    """

    def __init__(
        self,
        segment: int,
        total: int,
        *,
        start: Item | None = None,
        index: str | None = None,
        consistent: bool = False,
        page_size: int | None = None,
    ) -> None:
        self.segment = segment
        self.total = total
        self.start = start
        self.index = index
        self.consistent = consistent
        self.page_size = page_size
        self.done = False

    async def step(self, shared: Shared) -> list[Item]:
        """The rows of the next page, no faster than the rate allows. Raises `Stopped` where the run is over."""
        body = {
            "Segment": self.segment if self.total > 1 else None,
            "TotalSegments": self.total if self.total > 1 else None,
            "ExclusiveStartKey": self.start,
            "IndexName": self.index,
            "ConsistentRead": True if self.consistent else None,
            "Limit": self.page_size,
            "ReturnConsumedCapacity": "TOTAL",
        }
        answer = await shared.send(Request("Scan", body, index=self.index))
        self.start = answer.body.get("LastEvaluatedKey")
        self.done = self.start is None
        items: list[Item] = answer.body.get("Items", [])
        return items


def parse_segments(text: str) -> tuple[Sequence[int], int]:
    """The segments of ``"0-63/1024"``: from, to (included), of how many. Raises `RequestError`."""
    try:
        span, _, total = text.partition("/")
        first, _, last = span.partition("-")
        found = range(int(first), int(last or first) + 1)
        if not found or found[0] < 0 or found[-1] >= int(total) or int(total) > MOST_SEGMENTS:
            raise ValueError  # noqa: TRY301  (told as every other malformed text)
    except ValueError:
        raise RequestError(
            f"segments {text!r}: give from-to/of, such as 0-63/1024, where to is less than of (at most 1,000,000)."
        ) from None
    return found, int(total)


def share_of(segments: int | str) -> tuple[Sequence[int], int]:
    """The segments to work on, and of how many: all of a number, or ``"0-63/1024"``. Raises `RequestError`."""
    if isinstance(segments, str) and not segments.isdecimal():
        return parse_segments(segments)
    number = int(segments)
    if not 0 < number <= MOST_SEGMENTS:
        raise RequestError(f"segments={segments}: a table is scanned in 1 to 1,000,000 segments.")
    return range(number), number


def choose_segments(sample: float, segments: int | str | None, parallel: int) -> tuple[list[int], int]:
    """The segments to read for a share of a table, or of some of its segments; and of how many.

    Raises `RequestError`.
    """
    if not 0 < sample <= 1:
        raise RequestError(f"sample={sample} is no share of a table; give more than 0 and at most 1.")
    fine = parallel if sample == 1 else min(MOST_SEGMENTS, max(SAMPLED_SEGMENTS, round(10 / sample)))
    numbers, total = share_of(fine if segments is None else segments)
    if sample == 1:
        return list(numbers), total
    return random.sample(list(numbers), max(1, round(len(numbers) * sample))), total


class Checkpoint:
    """Where each segment stands, in a file that is whole at any moment.

    Parameters:
        path: the file; None keeps it in memory. identity: what the run is of; another run's file is refused.
    """

    def __init__(self, path: str | Path | None, identity: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.identity = dict(identity)
        self._lock = threading.Lock()
        self.segments: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self.notes: list[Any] = []
        self._load()
        # A place that cannot be written is told before anything is sent.
        self._store()

    def _load(self) -> None:
        if self.path is None or not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_bytes())
            identity, self.segments, self.counts = found["identity"], dict(found["segments"]), dict(found["counts"])
            self.notes = list(found.get("notes", ()))
        except (ValueError, KeyError, TypeError):
            raise TablekitError(
                f"{self.path} is no checkpoint of tablekit. Give another file, or delete it to start anew."
            ) from None
        if identity != self.identity:
            raise TablekitError(
                f"{self.path} is the checkpoint of another run ({identity}). "
                "Give another file, or delete it to start anew."
            )

    @property
    def resumed(self) -> bool:
        """Whether the file held the state of an earlier run."""
        return bool(self.segments)

    def start_of(self, segment: int) -> tuple[Item | None, bool]:
        """The key after which a segment goes on, and whether it is done."""
        found = self.segments.get(str(segment))
        if found is None:
            return None, False
        return (None, True) if found == "done" else (unpack_key(found), False)

    def save(self, segment: int, start: Item | None, counts: Mapping[str, int], notes: Sequence[Any] = ()) -> None:
        """Record that a segment has been gone through up to a key, and what was counted and noted on the way."""
        with self._lock:
            self.segments[str(segment)] = "done" if start is None else pack_key(start)
            for name, number in counts.items():
                self.counts[name] = self.counts.get(name, 0) + number
            self.notes += notes
            self._store()

    def add(self, counts: Mapping[str, int]) -> None:
        """Record what was counted on a page that was left in the middle, and will be read again."""
        with self._lock:
            for name, number in counts.items():
                self.counts[name] = self.counts.get(name, 0) + number
            self._store()

    def _store(self) -> None:
        if self.path is None:
            return
        state = {"identity": self.identity, "segments": self.segments, "counts": self.counts, "notes": self.notes}
        temporary = self.path.with_name(f".{self.path.name}.part")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(state, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        except OSError as error:
            raise TablekitError(
                f"The checkpoint {self.path} cannot be written ({error.strerror}). Give a file in a folder that is "
                "there and can be written to."
            ) from error


def pack_key(key: Item) -> dict[str, Any]:
    """A key in JSON: binary values in base64."""
    return {
        name: {tag: base64.b64encode(inner).decode() if tag == "B" else inner for tag, inner in value.items()}
        for name, value in key.items()
    }


def unpack_key(key: Mapping[str, Any]) -> Item:
    """A key from what `pack_key` made of it."""
    return {
        name: {tag: base64.b64decode(inner) if tag == "B" else inner for tag, inner in value.items()}
        for name, value in key.items()
    }


async def run_segments(
    shared: Shared, work: Callable[[int], Awaitable[None]], segments: Sequence[int], parallel: int
) -> None:
    """Run the work of each segment, at most `parallel` at once.

    When one fails, or the run is interrupted, the others end after the request under way.
    """

    async def guarded(segment: int) -> None:
        try:
            if not shared.stopped.is_set():
                await work(segment)
        except Stopped:
            return
        except BaseException:
            shared.stopped.set()
            raise

    calls = shared.session.gather([guarded(segment) for segment in segments], parallel)
    if shared.session.awaited:
        await calls
        return
    # An interrupt comes to this thread, which must be free to tell the others.
    with ThreadPoolExecutor(1, thread_name_prefix="tablekit-run") as pool:
        future = pool.submit(contextvars.copy_context().run, run, calls)
        try:
            future.result()
        except BaseException:
            shared.stopped.set()
            raise
