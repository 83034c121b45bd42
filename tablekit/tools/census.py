"""Counting a live table, all of it or a sample: rows and bytes by type, and the attributes that are heavy.

Sizes are worked out by the rules that AWS documents. AWS calls its rule for numbers approximate, and so is this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.operations.dispatch import INTERNAL
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.doctor_rows import OTHERS, SUBJECTS, Heaviest
from tablekit.tools.scanning import ScanPlan, SegmentScan, Shared, Size, choose_segments, plan_scan, run_segments
from tablekit.wire.sizes import attribute_sizes
from tablekit.wire.units import projected_size, read_units, write_units

__all__ = ["UNTYPED", "Census", "HeavyAttribute", "TypeCount", "census", "census_async", "count_rows"]

UNTYPED = "(untyped)"
"""Stands for the type of rows that have none."""


@attrs.frozen
class HeavyAttribute:
    """An attribute of the rows of one type.

    Attributes:
        name: the attribute. bytes: what it takes in the rows that were read, its name included. share: its part of
            all bytes of these rows, 0 to 1.
    """

    name: str
    bytes: int
    share: float


@attrs.frozen
class TypeCount:
    """The rows of one stored type.

    Attributes:
        type: the stored type, or ``"(untyped)"``. known: whether a class has it, or
            tablekit writes it for itself. rows, bytes: those that were read.
        largest: bytes of the largest. attributes: the heaviest first. index_bytes: bytes of the entries, by index.
    """

    type: str
    known: bool
    rows: int
    bytes: int
    largest: int
    attributes: tuple[HeavyAttribute, ...]
    index_bytes: dict[str, int]

    @property
    def mean(self) -> float:
        """Bytes of a row, on average."""
        return self.bytes / self.rows

    @property
    def read_units(self) -> float:
        """Read units of getting one row of average size, eventually consistent."""
        return read_units(round(self.mean))

    @property
    def write_units(self) -> float:
        """Write units of one row of average size, without its indexes."""
        return write_units(round(self.mean))


@attrs.frozen
class Census:
    """What a table holds.

    Attributes:
        types: those with the most bytes first. rows, bytes: what was read. size: what DynamoDB says of the whole
            table. sample: the share that was read, 1 for all. units: read units that it took.
    """

    types: tuple[TypeCount, ...]
    rows: int
    bytes: int
    size: Size
    sample: float
    units: float

    def in_all(self, figure: float) -> int:
        """About how much of the whole table a figure of the sample stands for."""
        return round(figure / self.sample)


def census(
    app: TableDefinition,
    *,
    sample: float = 1.0,
    segments: int | str | None = None,
    rate: float | None = None,
    parallel: int = 4,
    announce: Callable[[ScanPlan], Any] | None = None,
    progress: Callable[[int, Size], Any] | None = None,
) -> Census:
    """Count the rows of a table and their bytes, by type, and the bytes of their attributes.

    Parameters:
        sample: the share of the table, or of `segments`, to read: random segments of it. segments: how many the table
            is scanned in, or ``"0-63/1024"`` for a share of them. rate: read units a second. parallel: segments read
            at once. announce: called with what will be read before it is. progress: called with the rows read so far,
            and the table's size.
    """
    session = cast(SessionSource, app).session()
    return run(
        census_async(
            session,
            sample=sample,
            segments=segments,
            rate=rate,
            parallel=parallel,
            announce=announce,
            progress=progress,
        )
    )


async def census_async(
    session: Session,
    *,
    sample: float,
    segments: int | str | None,
    rate: float | None,
    parallel: int,
    announce: Callable[[ScanPlan], Any] | None,
    progress: Callable[[int, Size], Any] | None,
) -> Census:
    """The coroutine of `census`, over a session."""
    shared = Shared(session, rate)
    chosen, total = choose_segments(sample, segments, parallel)
    plan = await plan_scan(session, len(chosen), total)
    if announce is not None:
        announce(plan)
    tally = _Tally(session.registry)

    async def work(segment: int) -> None:
        scan = SegmentScan(segment, total)
        while not scan.done:
            tally.add(await scan.step(shared))
            if progress is not None:
                progress(tally.rows, plan.size)

    await run_segments(shared, work, chosen, parallel)
    return Census(tally.types(), tally.rows, tally.bytes, plan.size, len(chosen) / total, shared.units)


def count_rows(app: TableDefinition, rows: Sequence[Item]) -> tuple[TypeCount, ...]:
    """The same of rows in DynamoDB JSON that are at hand, such as ``[doc.to_item() for doc in docs]``."""
    tally = _Tally(app)
    tally.add(rows)
    return tally.types()


class _Kind:
    """What is known of one type."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0
        self.largest = 0
        self.attributes = Heaviest(1_000)
        self.index_bytes: dict[str, int] = {}


class _Tally:
    """Counts rows, from several threads."""

    def __init__(self, registry: TableDefinition) -> None:
        self.registry = registry
        self.rows = 0
        self.bytes = 0
        self._kinds: dict[str, _Kind] = {}
        self._lock = threading.Lock()

    def add(self, rows: Sequence[Item]) -> None:
        """Count the rows of a page."""
        measured = [(row, attribute_sizes(row)) for row in rows]
        with self._lock:
            for row, sizes in measured:
                self._add(row, sizes)

    def _add(self, row: Item, sizes: dict[str, int]) -> None:
        name: str = row.get(self.registry.type_attribute, {}).get("S", UNTYPED)
        if name not in self._kinds and len(self._kinds) >= SUBJECTS:
            name = OTHERS
        kind = self._kinds.setdefault(name, _Kind())
        size = sum(sizes.values())
        self.rows += 1
        self.bytes += size
        kind.rows += 1
        kind.bytes += size
        kind.largest = max(kind.largest, size)
        for attribute, figure in sizes.items():
            kind.attributes.add(attribute, figure)
        for index in self.registry.indexes.values():
            entry = projected_size(row, index, self.registry.key_names, self.registry.type_attribute)
            if entry is not None:
                kind.index_bytes[index.name] = kind.index_bytes.get(index.name, 0) + entry

    def types(self) -> tuple[TypeCount, ...]:
        """What was counted, by type."""
        found = [
            TypeCount(
                name,
                name in self.registry.by_type or name.startswith(INTERNAL),
                kind.rows,
                kind.bytes,
                kind.largest,
                tuple(
                    HeavyAttribute(attribute, figure, figure / kind.bytes)
                    for attribute, figure in kind.attributes.most(1_000)
                ),
                kind.index_bytes,
            )
            for name, kind in self._kinds.items()
        ]
        return tuple(sorted(found, key=lambda each: (-each.bytes, each.type)))
