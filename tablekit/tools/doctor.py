"""Reading a live table, all of it or a sample, and saying what would bite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import attrs

from tablekit.errors import DecodeError
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.patterns.reading import read_row
from tablekit.patterns.singleton import Singleton
from tablekit.tools.doctor_rows import Kind, Notes, RowCheck
from tablekit.tools.flags import singletons
from tablekit.tools.scanning import ScanPlan, SegmentScan, Shared, Size, choose_segments, plan_scan, run_segments
from tablekit.tools.schema_check import schema_differences
from tablekit.wire.sizes import item_size
from tablekit.wire.units import READ_BLOCK

__all__ = ["Diagnosis", "Finding", "Kind", "doctor", "doctor_async"]


@attrs.frozen
class Finding:
    """One kind of fault, with examples.

    Attributes:
        kind: which. subject: the type or partition that has it. count: how many rows, of those read.
        message: what it is and what it does. remedy: how it is mended. examples: keys of some rows.
        severity: ``"error"`` for what fails or answers wrongly, ``"warning"`` for what will.
    """

    kind: Kind
    subject: str
    count: int
    message: str
    remedy: str
    examples: tuple[str, ...]
    severity: Literal["error", "warning"]

    @property
    def of_rows(self) -> bool:
        """Whether `count` is of rows of those read: a singleton, a partition and the table's definition are one."""
        single = ("hot-partition", "full-collection", "schema")
        return not (self.kind.startswith("singleton-") or self.kind in single)


@attrs.frozen
class Diagnosis:
    """What a doctor found.

    Attributes:
        findings: errors first. rows: how many were read. by_type: rows read, by stored type. bytes: their size.
        size: what DynamoDB says of the whole table. sample: the share that was read, 1 for all. units: read units.
    """

    findings: tuple[Finding, ...]
    rows: int
    by_type: Mapping[str, int]
    bytes: int
    size: Size
    sample: float
    units: float = 0.0

    @property
    def healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def mendable(self) -> frozenset[Literal["types", "index_keys"]]:
        """What a `backfill` of the same rows can mend, by the names of its options."""
        # Rows whose keys tell nothing have no subject; the backfill would leave them.
        kinds = {finding.kind for finding in self.findings if finding.subject}
        mends: dict[Kind, Literal["types", "index_keys"]] = {"untyped": "types", "index-key": "index_keys"}
        return frozenset(option for kind, option in mends.items() if kind in kinds)

    def in_all(self, count: int) -> int:
        """About how many rows of the whole table are like so many of those read."""
        return round(count / self.sample)


def doctor(
    app: Any,
    *,
    sample: float = 1.0,
    segments: int | str | None = None,
    rate: float | None = None,
    parallel: int = 4,
    announce: Callable[[ScanPlan], Any] | None = None,
    progress: Callable[[int, Size], Any] | None = None,
) -> Diagnosis:
    """Read a table and report rows that the classes would trip over, singletons, and the table's definition.

    Parameters:
        app: the `Table`. sample: the share of the table, or of `segments`, to read: random segments of it.
        segments: how many the table is scanned in, or ``"0-63/1024"`` for a share of them. rate: read units a second.
        parallel: segments read at once. announce: called with what will be read before it is. progress: called with
            the rows read so far, and the table's size.

    Everything is read eventually consistent, but the singletons. It writes nothing.
    """
    session = cast(SessionSource, app).session()
    return run(
        doctor_async(
            session,
            sample=sample,
            segments=segments,
            rate=rate,
            parallel=parallel,
            announce=announce,
            progress=progress,
        )
    )


async def doctor_async(
    session: Session,
    *,
    sample: float,
    segments: int | str | None,
    rate: float | None,
    parallel: int,
    announce: Callable[[ScanPlan], Any] | None,
    progress: Callable[[int, Size], Any] | None,
) -> Diagnosis:
    """The coroutine of `doctor`, over a session."""
    shared = Shared(session, rate)
    chosen, total = choose_segments(sample, segments, parallel)
    plan = await plan_scan(session, len(chosen), total)
    if announce is not None:
        announce(plan)
    check = RowCheck(session.registry)

    async def work(segment: int) -> None:
        scan = SegmentScan(segment, total)
        while not scan.done:
            check.rows(await scan.step(shared))
            if progress is not None:
                progress(check.read, plan.size)

    await run_segments(shared, work, chosen, parallel)
    check.partitions(len(chosen) / total, plan.size.items)
    for cls in singletons(session.registry).values():
        await _singleton(session, cls, check.notes)
    findings = [*_findings(check.notes, session), *await _schema_findings(session)]
    ordered = sorted(findings, key=lambda finding: (finding.severity, finding.kind, finding.subject))
    return Diagnosis(
        tuple(ordered), check.read, dict(check.by_type), check.bytes, plan.size, len(chosen) / total, shared.units
    )


async def _singleton(session: Session, cls: type[Singleton], notes: Notes) -> None:
    """Note what is wrong with a singleton's row: it is read by its key, so that a sample finds it too."""
    row = await read_row(session, cls, consistent=True)
    schema = cls.__schema__
    example = session.registry.show_key(schema.key_of({}))
    if row.item is None:
        notes.add("singleton-missing", schema.name, example)
        return
    if item_size(row.item) > READ_BLOCK:
        notes.add("singleton-size", schema.name, f"{example}: {item_size(row.item):,} bytes")
    if isinstance(row.problem, DecodeError):
        subject = f"{schema.type}.{row.problem.field}"
        if not any(("undecodable", subject) == noted for noted in notes.counts):
            notes.add("undecodable", subject, example)
    elif row.problem is not None:
        notes.add("singleton-type", schema.name, example)


async def _schema_findings(session: Session) -> list[Finding]:
    # What is only noted bites nobody: `schema --check` says it, and the doctor of a sound table is content.
    return [
        Finding(
            "schema",
            difference.subject,
            1,
            f"{difference.subject}: declared {difference.declared}, found {difference.found}. {difference.why}",
            difference.remedy,
            (),
            "error",
        )
        for difference in await schema_differences(session)
        if difference.severity == "error"
    ]


def _findings(notes: Notes, session: Session) -> list[Finding]:
    """What was noted, in words."""
    found: list[Finding] = []
    for (kind, subject), count in notes.counts.items():
        message, remedy, severity = _WORDS["untold" if kind == "untyped" and not subject else kind]
        values = {"subject": subject, "attribute": session.registry.type_attribute}
        found.append(
            Finding(
                kind,
                subject,
                count,
                message.format_map(values),
                remedy.format_map(values),
                tuple(notes.examples[kind, subject]),
                cast(Literal["error", "warning"], severity),
            )
        )
    return found


_WORDS: dict[str, tuple[str, str, str]] = {
    "untyped": (
        "Rows under keys of {subject} have no {attribute}: reads raise MissingEntityType.",
        "Run the backfill, or give the table untyped='infer'.",
        "error",
    ),
    "untold": (
        "Rows have no {attribute}, and their keys fit no class or several: reads raise MissingEntityType.",
        "Tell their types by a function: backfill(infer=...), or `tablekit backfill --infer module:function`.",
        "error",
    ),
    "unknown-type": (
        "Rows have the {attribute} {subject!r}, which no class has: queries of everything raise UnknownEntityType.",
        "Import the module of the class, or add {subject!r} to the aliases of the class that it belongs to.",
        "error",
    ),
    "type-case": (
        "Rows have the {attribute} {subject!r}, which differs from a class's type only in case.",
        "Add aliases=({subject!r},) to the class; the next save rewrites the row.",
        "error",
    ),
    "key-template": (
        "Rows of type {subject} lie under keys that its templates would not render: get and update by key miss them.",
        "Declare the template that they follow, or move the rows.",
        "error",
    ),
    "index-key": (
        "The index keys of {subject} are not what a put would write: queries of the index miss or mistake rows.",
        "Run the backfill with index_keys=True.",
        "error",
    ),
    "undecodable": (
        "{subject} holds values that the field cannot read: reads raise DecodeError.",
        "Mend the rows, or give the field a codec, a default or on_missing= that allows them.",
        "error",
    ),
    "missing-attribute": (
        "{subject} is missing in rows, and the field has no default: reads raise DecodeError.",
        "Write the attribute to the rows, or give the field a default or on_missing=.",
        "error",
    ),
    "ttl-milliseconds": (
        "{subject} holds milliseconds: DynamoDB takes them for a year far away, and the rows never expire.",
        "Divide the stored values by 1000.",
        "error",
    ),
    "nearly-full": (
        "Rows are near 400 KB, mostly by {subject}: the next larger write is refused.",
        "Split the entity, or keep the large part elsewhere.",
        "warning",
    ),
    "hot-partition": (
        "The partition {subject!r} holds a large share of the rows; one takes 3,000 read, 1,000 write units a second.",
        "Spread the key, or move what is written often to partitions of its own.",
        "warning",
    ),
    "full-collection": (
        "The partition {subject!r} is near the 10 GB that a table with local indexes allows it; then writes fail.",
        "Spread the key, or use global indexes in a new table.",
        "warning",
    ),
    "singleton-missing": (
        "{subject} has no row: its safe values are in force, or those of the row that it migrates from.",
        "Write the row: {subject}.ensure(), migrate() or update().",
        "warning",
    ),
    "singleton-type": (
        "The row under the key of {subject} has not its type: the safe values are in force, and updates are refused.",
        "Move that row, or stamp its type with the backfill if it is the singleton's.",
        "error",
    ),
    "singleton-size": (
        "{subject} is larger than 4 KB: each read of it costs more than one unit, and it is read often.",
        "Keep state for the whole application small; move the rest to rows of its own.",
        "warning",
    ),
}
