"""Reading a live table, all of it or a sample, and saying what would bite."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import attrs

from tablekit._types import Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DecodeError, RequestError
from tablekit.operations.ddl import describe_table
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.scanning import RateLimit, SegmentScan, Size, run_segments, table_size
from tablekit.tools.schema_check import check_schema
from tablekit.wire.items import decoder
from tablekit.wire.sizes import ITEM_LIMIT, attribute_sizes, item_size

__all__ = ["Diagnosis", "Finding", "doctor", "doctor_async"]

EXAMPLES = 5
NEARLY_FULL = 0.8
"""The share of 400 KB from which a row is reported."""
HOT_SHARE = 0.2
"""The share of all rows read from which one partition looks hot, in tables of some size."""
HOT_ROWS = 1_000
SAMPLED_SEGMENTS = 200

Kind = Literal[
    "untyped",
    "unknown-type",
    "type-case",
    "key-template",
    "index-key",
    "undecodable",
    "missing-attribute",
    "ttl-milliseconds",
    "nearly-full",
    "hot-partition",
    "schema",
    "missing-row",
]


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


@attrs.frozen
class Diagnosis:
    """What a doctor found.

    Attributes:
        findings: errors first. rows: how many were read. by_type: rows read, by stored type. bytes: their size.
        size: what DynamoDB says of the whole table. sample: the share that was read, 1 for all.
    """

    findings: tuple[Finding, ...]
    rows: int
    by_type: Mapping[str, int]
    bytes: int
    size: Size
    sample: float

    @property
    def healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def doctor(
    app: TableDefinition,
    *,
    sample: float = 1.0,
    rate: float | None = None,
    parallel: int = 4,
    progress: Callable[[int, Size], Any] | None = None,
) -> Diagnosis:
    """Read a table and report rows that the classes would trip over.

    Parameters:
        sample: the share of the table to read, taken from random segments of it. rate: read units a second.
        parallel: segments read at once. progress: called with the rows read so far, and the table's size.
    """
    session = cast(SessionSource, app).session()
    return run(doctor_async(session, sample=sample, rate=rate, parallel=parallel, progress=progress))


async def doctor_async(
    session: Session,
    *,
    sample: float,
    rate: float | None,
    parallel: int,
    progress: Callable[[int, Size], Any] | None,
) -> Diagnosis:
    """The coroutine of `doctor`, over a session."""
    if not 0 < sample <= 1:
        raise RequestError(f"sample={sample} is no share of a table; give more than 0 and at most 1.")
    size = await table_size(session)
    total = parallel if sample == 1 else SAMPLED_SEGMENTS
    chosen = range(total) if sample == 1 else random.sample(range(total), max(1, round(total * sample)))
    check = _Check(session.registry)
    limit = RateLimit(rate)

    async def work(segment: int) -> None:
        scan = SegmentScan(segment, total)
        while not scan.done:
            check.rows(await scan.step(session, limit))
            if progress is not None:
                progress(check.read, size)

    await run_segments(session, work, chosen, parallel)
    check.partitions()
    findings = [*check.findings(), *await _schema_findings(session)]
    ordered = sorted(findings, key=lambda finding: (finding.severity, finding.kind, finding.subject))
    return Diagnosis(tuple(ordered), check.read, dict(check.by_type), check.bytes, size, sample)


async def _schema_findings(session: Session) -> list[Finding]:
    description = await describe_table(session)
    return [
        Finding(
            "schema",
            difference.subject,
            1,
            f"{difference.subject}: declared {difference.declared}, found {difference.found}. {difference.why}",
            difference.remedy,
            (),
            "error" if difference.severity == "error" else "warning",
        )
        for difference in check_schema(session.registry, description)
    ]


class _Check:
    """Looks at rows, from several threads, and keeps counts and examples."""

    def __init__(self, registry: TableDefinition) -> None:
        self.registry = registry
        self.read = 0
        self.bytes = 0
        self.by_type: Counter[str] = Counter()
        self._counts: Counter[tuple[Kind, str]] = Counter()
        self._examples: dict[tuple[Kind, str], list[str]] = {}
        self._partitions: Counter[str] = Counter()
        self._lock = threading.Lock()

    def rows(self, items: list[Item]) -> None:
        """Look at the rows of one page."""
        found = [(item, self._look(item)) for item in items]
        with self._lock:
            self.read += len(items)
            for item, kinds in found:
                self.bytes += item_size(item)
                self._partitions[str(self.registry.plain_key(item)[0])] += 1
                self.by_type[_type_of(self.registry, item)] += 1
                for kind, subject in kinds:
                    self._note(kind, subject, self.registry.show_key(item))

    def _note(self, kind: Kind, subject: str, example: str) -> None:
        self._counts[kind, subject] += 1
        examples = self._examples.setdefault((kind, subject), [])
        if len(examples) < EXAMPLES:
            examples.append(example)

    def _look(self, item: Item) -> list[tuple[Kind, str]]:
        found: list[tuple[Kind, str]] = []
        if item_size(item) > ITEM_LIMIT * NEARLY_FULL:
            heaviest = next(iter(attribute_sizes(item)))
            found.append(("nearly-full", f"{_type_of(self.registry, item)}.{heaviest}"))
        stored = item.get(self.registry.type_attribute)
        if stored is None or "S" not in stored:
            told = self.registry.infer(item) if stored is None and self.registry.untyped == "infer" else None
            return [*found, *(self._look_closer(told, item) if told is not None else [("untyped", "")])]
        name = stored["S"]
        if name.startswith("tablekit:"):
            return found  # our own guard rows, markers and shard counts
        schema = self.registry.by_type.get(name)
        if schema is None:
            drift = any(known.lower() == name.lower() for known in self.registry.by_type)
            return [*found, ("type-case" if drift else "unknown-type", name)]
        return [*found, *self._look_closer(schema, item)]

    def _look_closer(self, schema: EntitySchema, item: Item) -> list[tuple[Kind, str]]:
        found: list[tuple[Kind, str]] = []
        if schema.spelled(item) is None:
            found.append(("key-template", schema.type))
        if schema.ttl is not None and _milliseconds(item.get(schema.ttl.attribute)):
            found.append(("ttl-milliseconds", f"{schema.type}.{schema.ttl.name}"))
        try:
            entity = decoder(schema)(item)
        except DecodeError as error:
            field = schema.by_name.get(error.field or "")
            missing = field is not None and field.attribute not in item
            return [*found, ("missing-attribute" if missing else "undecodable", f"{schema.type}.{error.field}")]
        wrong: list[tuple[Kind, str]] = [
            ("index-key", f"{schema.type}.{name}") for name in _wrong_index_keys(schema, entity, item)
        ]
        return found + wrong

    def partitions(self) -> None:
        """Note the partitions that hold a large share of what was read."""
        if self.read < HOT_ROWS:
            return
        for partition, rows in self._partitions.most_common(3):
            if rows > self.read * HOT_SHARE and len(self._partitions) > 1:
                self._note("hot-partition", partition, f"{rows} of {self.read} rows read")

    def findings(self) -> list[Finding]:
        """What was noted, in words."""
        return [self._finding(kind, subject, count) for (kind, subject), count in self._counts.items()]

    def _finding(self, kind: Kind, subject: str, count: int) -> Finding:
        message, remedy, severity = _WORDS[kind]
        values = {"subject": subject, "attribute": self.registry.type_attribute}
        return Finding(
            kind,
            subject,
            count,
            message.format_map(values),
            remedy.format_map(values),
            tuple(self._examples[kind, subject]),
            cast(Literal["error", "warning"], severity),
        )


def _type_of(registry: TableDefinition, item: Item) -> str:
    name: str = item.get(registry.type_attribute, {}).get("S", "(untyped)")
    return name


def _milliseconds(value: Mapping[str, Any] | None) -> bool:
    text = (value or {}).get("N")
    return text is not None and float(text) > 100_000_000_000


def _wrong_index_keys(schema: EntitySchema, entity: Any, item: Item) -> list[str]:
    wrong: list[str] = []
    for name, index_key in schema.index_keys.items():
        try:
            wanted = index_key.render(entity.__dict__, schema.name) or {}
        except RequestError:
            wrong.append(name)
            continue
        stored = {key.attribute: item.get(key.attribute) for key in index_key.written}
        if any(not equal_wire(value, wanted.get(attribute)) for attribute, value in stored.items()):
            wrong.append(name)
    return wrong


_WORDS: dict[str, tuple[str, str, str]] = {
    "untyped": (
        "Rows have no {attribute}: reads raise MissingEntityType, and queries of a class cannot tell them.",
        "Run the backfill, or give the table untyped='infer'.",
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
}
