"""Going through a whole table in segments: raw rows, a rate in capacity units, a checkpoint that survives kill -9."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.errors import RequestError, ServiceError, TablekitError
from tablekit.operations.observe import consumed_units
from tablekit.operations.session import Session
from tablekit.wire.requests import Request

__all__ = ["Checkpoint", "RateLimit", "SegmentScan", "Size", "parse_segments", "recovery_enabled", "table_size"]


class RateLimit:
    """Lets at most so many capacity units a second pass, over all threads that share it.

    Parameters:
        units: capacity units a second; None for no limit.
    """

    def __init__(self, units: float | None) -> None:
        if units is not None and units <= 0:
            raise RequestError(f"A rate of {units} units a second lets nothing pass; give more than 0, or None.")
        self.units = units
        self._free = time.monotonic()
        self._lock = threading.Lock()

    def pause(self, consumed: float) -> float:
        """Seconds to wait after a request that consumed so many units."""
        if self.units is None or consumed <= 0:
            return 0.0
        with self._lock:
            now = time.monotonic()
            self._free = max(self._free, now) + consumed / self.units
            return max(0.0, self._free - now)


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

    async def step(self, session: Session, rate: RateLimit) -> list[Item]:
        """The rows of the next page."""
        body = {
            "Segment": self.segment if self.total > 1 else None,
            "TotalSegments": self.total if self.total > 1 else None,
            "ExclusiveStartKey": self.start,
            "IndexName": self.index,
            "ConsistentRead": True if self.consistent else None,
            "Limit": self.page_size,
            "ReturnConsumedCapacity": "TOTAL",
        }
        answer = await session.send(Request("Scan", body, index=self.index))
        pause = rate.pause(sum(consumed_units(answer.body).values()))
        if pause:
            await session.port.sleep(pause)
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
        if not found or found[0] < 0 or found[-1] >= int(total) or int(total) > 1_000_000:
            raise ValueError  # noqa: TRY301  (told as every other malformed text)
    except ValueError:
        raise RequestError(
            f"segments {text!r}: give from-to/of, such as 0-63/1024, where to is less than of (at most 1,000,000)."
        ) from None
    return found, int(total)


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
        self._load()

    def _load(self) -> None:
        if self.path is None or not self.path.exists():
            return
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            identity, self.segments, self.counts = found["identity"], dict(found["segments"]), dict(found["counts"])
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
        return (None, True) if found == "done" else (_unpack(found), False)

    def save(self, segment: int, start: Item | None, counts: Mapping[str, int]) -> None:
        """Record that a segment has been gone through up to a key, and what was counted on the way."""
        with self._lock:
            self.segments[str(segment)] = "done" if start is None else _pack(start)
            for name, number in counts.items():
                self.counts[name] = self.counts.get(name, 0) + number
            if self.path is not None:
                state = {"identity": self.identity, "segments": self.segments, "counts": self.counts}
                temporary = self.path.with_name(f".{self.path.name}.part")
                with temporary.open("w", encoding="utf-8") as file:
                    json.dump(state, file)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self.path)


def _pack(key: Item) -> dict[str, Any]:
    return {
        name: {tag: base64.b64encode(inner).decode() if tag == "B" else inner for tag, inner in value.items()}
        for name, value in key.items()
    }


def _unpack(key: Mapping[str, Any]) -> Item:
    return {
        name: {tag: base64.b64decode(inner) if tag == "B" else inner for tag, inner in value.items()}
        for name, value in key.items()
    }


async def run_segments(
    session: Session, work: Callable[[int], Awaitable[None]], segments: Sequence[int], parallel: int
) -> None:
    """Run the work of each segment, at most `parallel` at once."""
    await session.gather([work(segment) for segment in segments], parallel)
