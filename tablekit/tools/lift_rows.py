"""The rows of one type: out of an export, out of a table, and their checksum."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from decimal import Context
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.numbers import read_decimal
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.definition.uniques import GUARD_TYPE, owner_of
from tablekit.operations.session import Session
from tablekit.tools.export_lines import Reader, parse_record
from tablekit.tools.export_source import ExportError, find_export
from tablekit.tools.scanning import SegmentScan, Shared, run_segments
from tablekit.tools.split_parts import check_promises
from tablekit.wire.plain import wire_item
from tablekit.wire.sizes import item_size

__all__ = ["LiftSource", "Total", "read_target", "row_digest", "total_of"]

_EXACT = Context(prec=60, Emin=-999_999, Emax=999_999)


class LiftSource:
    """The rows of one type in an export.

    Parameters:
        source: the folder of a full export, or any parent of one. registry: the table. schema: the class.

    Raises `ExportError`.
    """

    def __init__(self, source: str | Path, registry: TableDefinition, schema: EntitySchema) -> None:
        self.registry = registry
        self.schema = schema
        self.export = find_export(source)
        if self.export.incremental:
            raise ExportError(
                f"{self.export.folder} is an incremental export, whose lines are changes, not rows. "
                "Lift a full export; rows that are newer in the target stay.",
                path=str(self.export.folder),
            )

    @property
    def export_digest(self) -> str:
        """Tells whether two exports in one folder are the same."""
        files = [[file.path.name, file.path.stat().st_size, file.items] for file in self.export.files]
        return hashlib.sha256(json.dumps(files).encode()).hexdigest()

    def wants(self, image: Mapping[str, Any]) -> bool:
        """Whether a row is of the type, or the guard row of a unique value of such a row."""
        stored: object = image.get(self.registry.type_attribute)
        name = cast("dict[str, object]", stored).get("S") if isinstance(stored, dict) else None
        if name != GUARD_TYPE:
            return name in self.schema.own_types
        owner = owner_of(dict(image))
        return bool(self.schema.uniques) and owner is not None and self.schema.spelled(owner) is not None

    def pages(self, number: int, after: int, size: int) -> Iterator[tuple[int, list[Item]]]:
        """The rows of a data file after a line, in pages; each with the number of its last line."""
        page: list[Item] = []
        line = after
        for line, row in self.rows(number, after):
            page.append(row)
            if len(page) == size:
                yield line, page
                page = []
        if page:
            yield line, page

    def rows(self, number: int, after: int = 0) -> Iterator[tuple[int, Item]]:
        """The rows of a data file after a line, with their line numbers. Raises `ExportError`."""
        file = self.export.files[number]
        reader, count = Reader(file.path), 0
        for line, text in reader.lines():
            count += 1
            if line <= after:
                continue
            image = parse_record(text, file.path, line).image
            if self.wants(image):
                yield line, self._row(image, file.path, line)
        check_promises(file, count, reader.md5.digest())

    def _row(self, image: Mapping[str, Any], path: Path, line: int) -> Item:
        try:
            row = wire_item(image)
            row_digest(row)
        except (ValueProblem, ValueError) as problem:
            what = f"{problem.path} {problem.reason}" if isinstance(problem, ValueProblem) else "a value cannot be read"
            raise ExportError(
                f"{path}, line {line}, is no row that DynamoDB would store: {what}.", path=str(path), line=line
            ) from None
        missing = [name for name in self.registry.key_names if name not in row]
        if missing:
            raise ExportError(f"{path}, line {line}, has no {missing[0]}, and so no key.", path=str(path), line=line)
        return row


@attrs.define
class Total:
    """All rows of the type in an export.

    Attributes:
        rows: how many. bytes: by DynamoDB's rules. write_units: to put them. digest: the sum of their digests.
    """

    rows: int = 0
    bytes: int = 0
    write_units: float = 0.0
    digest: int = 0


def total_of(source: LiftSource, units: Callable[[Item], float]) -> Total:
    """Count the rows, before anything is sent: this is what a lift is going to do."""
    total = Total()
    for number in range(len(source.export.files)):
        for _, row in source.rows(number):
            total.rows += 1
            total.bytes += item_size(row)
            total.write_units += units(row)
            total.digest += row_digest(row)
    total.digest %= 1 << 128
    return total


async def read_target(
    target: Session, wants: Callable[[Item], bool], rate: float | None, parallel: int
) -> tuple[int, int, float]:
    """Read a table through; gives how many rows of the type it has, the sum of their digests, and the read units."""
    shared = Shared(target, rate)
    lock = threading.Lock()
    found = {"rows": 0, "digest": 0}

    async def work(segment: int) -> None:
        scan = SegmentScan(segment, parallel, consistent=True)
        while not scan.done:
            digests = [row_digest(row) for row in await scan.step(shared) if wants(row)]
            with lock:
                found["rows"] += len(digests)
                found["digest"] += sum(digests)

    await run_segments(shared, work, range(parallel), parallel)
    return found["rows"], found["digest"] % (1 << 128), shared.units


def row_digest(row: Item) -> int:
    """The digest of a row: equal for equal rows, whatever the spelling of numbers and the order of sets and names.

    Sums of digests tell whether two tables hold the same rows, in whatever order they are read.
    """
    text = json.dumps(_members(row), separators=(",", ":"))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def _members(members: Mapping[str, AttributeValue]) -> list[Any]:
    return [[name, _form(members[name])] for name in sorted(members)]


def _form(value: AttributeValue) -> list[Any]:
    ((tag, inner),) = value.items()
    if tag == "M":
        return [tag, _members(inner)]
    if tag == "L":
        return [tag, [_form(each) for each in inner]]
    if tag in ("NS", "SS", "BS"):
        return [tag, sorted(_scalar(tag[0], each) for each in inner)]
    return [tag, _scalar(tag, inner)]


def _scalar(tag: str, inner: Any) -> Any:
    if tag == "N":
        return str(read_decimal(inner).normalize(_EXACT))
    return bytes(inner).hex() if tag == "B" else inner
