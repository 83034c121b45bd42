"""Where rows to adopt come from: a live table, an S3 export, a Workbench model, files of rows, definitions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import Item, KeyType
from tablekit.errors import ServiceError
from tablekit.operations.ddl import describe_table
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.adopt_rows import Placed, guess_keys, read_rows
from tablekit.tools.adopt_tables import YAML, AdoptError, SourceTable, is_definition, read_definitions, table_of
from tablekit.tools.export_lines import parse_record, read_lines
from tablekit.tools.export_source import find_export
from tablekit.tools.scanning import SegmentScan, Shared
from tablekit.tools.workbench import is_workbench, read_workbench
from tablekit.wire.plain import mapping_of
from tablekit.wire.requests import Request

__all__ = ["read_source", "sample_table"]

SEGMENTS = 100
"""A sample is spread over as many segments of a live table, so that it is not of its first partitions alone."""


def read_source(
    source: str | Path,
    *,
    keys: Sequence[str] | None = None,
    schema: str | Path | None = None,
    limit: int | None = None,
    repair: bool = False,
) -> list[SourceTable]:
    """The tables and rows of a source.

    Parameters:
        source: the folder of an S3 export, or one above it; a file of a Workbench model; a file of rows (a JSON list,
            one JSON row a line, of which no more is read than is
            looked at, a BatchWriteItem body, ``{"Items": ...}`` of a Scan, a OneTable schema with data),
            in DynamoDB JSON or plain; a definition as for `schema`, which brings no rows.
        keys: the key attributes, for rows that come without a definition. schema: a file with the definition: a
            CreateTable body, a DescribeTable answer, CloudFormation in JSON or YAML, or Terraform.
        limit: rows to take at most, of each table. repair: as for `read_workbench`.

    Raises `AdoptError`, `ExportError`.
    """
    place = Path(source)
    if place.is_dir():
        lists = [(place.name, list(_export_rows(place, limit)))]
    elif place.suffix == ".tf" or place.suffix in YAML:
        return read_definitions(place)
    elif _is_lines(place):
        # Rows that are not looked at are not held, however many lines there are.
        lists = [(place.stem, list(islice(_line_rows(place), limit)))]
    else:
        content = _load(place)
        if is_definition(content):
            return read_definitions(place)
        modelled = _modelled(content, place.stem, repair=repair)
        if modelled is not None:
            return [_cut(table, limit) for table in modelled]
        lists = [(name, rows[:limit]) for name, rows in _row_lists(content, place.stem)]
    return [_without_definition(name, rows, keys, schema, repair=repair) for name, rows in lists]


def _modelled(content: Any, stem: str, *, repair: bool) -> list[SourceTable] | None:
    """The tables of a file that brings definition and rows; None for other files."""
    if is_workbench(content):
        return read_workbench(content, repair=repair)
    indexed = _of_indexes(content, stem)
    if indexed is None:
        return None
    read = read_rows(_placed(content["data"]), indexed.key_names, repair=repair)
    return [attrs.evolve(indexed, rows=read.rows, bad=read.bad, notes=read.notes)]


def _of_indexes(content: Any, stem: str) -> SourceTable | None:
    """The table of a schema with ``indexes`` by name and rows under ``data``, as DynamoDB OneTable has it."""
    found = mapping_of(content) or {}
    indexes = mapping_of(found.get("indexes"))
    if indexes is None or "primary" not in indexes or not isinstance(found.get("data"), list):
        return None
    sides = {
        name: [
            {"AttributeName": each[side], "KeyType": kind}
            for side, kind in (("hash", "HASH"), ("sort", "RANGE"))
            if each.get(side)
        ]
        for name, each in indexes.items()
    }
    body = {
        "KeySchema": sides["primary"],
        "GlobalSecondaryIndexes": [
            {"IndexName": name, "KeySchema": keys} for name, keys in sides.items() if name != "primary"
        ],
    }
    return table_of(body, name=stem, origin=f"{stem}.json")


def _cut(table: SourceTable, limit: int | None) -> SourceTable:
    return attrs.evolve(table, rows=table.rows[:limit])


def _export_rows(folder: Path, limit: int | None) -> Iterator[Placed]:
    found = 0
    for file in find_export(folder).files:
        for number, line in enumerate(read_lines(file.path), 1):
            if limit is not None and found >= limit:
                return
            record = parse_record(line, file.path, number)
            if record.item is not None:
                found += 1
                yield f"{file.path.name}, line {number}", record.item


def _load(place: Path) -> Any:
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AdoptError(f"{place} cannot be read as text ({type(error).__name__}).") from None
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise AdoptError(f"{place} is neither JSON nor JSON lines.") from None


def _lines(place: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, one at a time."""
    try:
        with place.open(encoding="utf-8-sig") as file:
            yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise AdoptError(f"{place} cannot be read as text ({type(error).__name__}).") from None


def _is_lines(place: Path) -> bool:
    """Whether a file has one JSON row a line: its first line is one, and something stands after it."""
    lines = _lines(place)
    first = next(lines, None)
    if first is None or not first[1].lstrip().startswith("{") or next(lines, None) is None:
        return False
    try:
        json.loads(first[1])
    except (ValueError, RecursionError):
        return False
    return True


def _line_rows(place: Path) -> Iterator[Placed]:
    for number, line in _lines(place):
        yield f"row {number}", _unwrapped(_line(place, number, line))


def _line(place: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line, parse_float=Decimal)
    except ValueError:
        raise AdoptError(f"{place} is neither JSON nor JSON lines: line {number} is no JSON.") from None


def _row_lists(content: Any, stem: str) -> list[tuple[str, list[Placed]]]:
    """The rows of a file, by table."""
    if isinstance(content, list):
        return [(stem, _placed(cast("Sequence[Any]", content)))]
    found = mapping_of(content)
    if found is not None:
        for name in ("Items", "items", "Responses", "RequestItems"):
            inner = found.get(name)
            if isinstance(inner, list):
                return [(stem, _placed(cast("Sequence[Any]", inner)))]
            if isinstance(inner, Mapping):
                return _row_lists(inner, stem)
        if found and all(isinstance(rows, list) for rows in found.values()):
            return [(name, _placed(rows)) for name, rows in found.items()]
        return [(stem, _placed([found]))]
    raise AdoptError(f"{stem} holds a {type(content).__name__}, and no rows.")


def _placed(rows: Sequence[Any]) -> list[Placed]:
    return [(f"row {number}", _unwrapped(row)) for number, row in enumerate(rows, 1)]


def _unwrapped(row: Any) -> Any:
    """The row inside ``{"PutRequest": {"Item": ...}}``, ``{"Put": {"Item": ...}}`` and ``{"Item": ...}``."""
    held = mapping_of(row)
    if held is None:
        return row
    if len(held) == 1 and next(iter(held)) in ("PutRequest", "Put"):
        return _unwrapped(next(iter(held.values())))
    item = mapping_of(held.get("Item"))
    return item if item is not None and set(held) <= {"Item", "TableName"} else row


def _without_definition(
    name: str, rows: list[Placed], keys: Sequence[str] | None, schema: str | Path | None, *, repair: bool
) -> SourceTable:
    if schema is not None:
        defined = read_definitions(schema)
        chosen = [table for table in defined if table.name == name] or defined
        if len(chosen) > 1:
            names = ", ".join(table.name for table in chosen)
            raise AdoptError(f"{schema} defines several tables ({names}), and none is called {name!r}. Leave one.")
        table = chosen[0]
    else:
        key_names, why = (list(keys), "the key is the one that was given") if keys else guess_keys(rows, name)
        sk = key_names[1] if len(key_names) > 1 else None
        table = SourceTable(name=name, pk=key_names[0], sk=sk, notes=(why, "no indexes are known: give the definition"))
    read = read_rows(rows, table.key_names, repair=repair)
    types = dict(table.key_types)
    if schema is None and read.rows:
        types = {each: _tag(read.rows[0][each]) for each in table.key_names}
    return attrs.evolve(
        table, rows=read.rows, bad=read.bad, key_types=types, notes=(*table.notes, *read.notes), origin=name
    )


def _tag(value: Mapping[str, Any]) -> KeyType:
    return cast(KeyType, next(iter(value)))


def sample_table(source: SessionSource, *, limit: int = 2000, rate: float | None = None) -> SourceTable:
    """A live table, with rows from segments all over it.

    Parameters:
        source: a `Table` that is connected; its own keys and indexes do not matter. limit: rows to read at most.
        rate: read units a second.

    It sends DescribeTable, DescribeTimeToLive and Scan, eventually consistent. Raises `TableNotFound`, `AccessDenied`.
    """
    return run(_sample(source.session(), limit, rate))


async def _sample(session: Session, limit: int, rate: float | None) -> SourceTable:
    shared = Shared(session, rate)
    description = await describe_table(session)
    table = table_of(description, name=session.name, origin=f"table {session.name}")
    rows: list[Item] = []
    count = description.get("ItemCount", 0)
    segments = SEGMENTS if count > limit else 1
    share = max(1, limit // segments)
    for segment in random.sample(range(segments), segments):
        scan = SegmentScan(segment, segments, page_size=min(share, limit) if segments > 1 else None)
        taken = 0
        while not scan.done and len(rows) < limit and (segments == 1 or taken < share):
            page = await scan.step(shared)
            taken += len(page)
            rows += page
    read = read_rows(((f"row {number}", row) for number, row in enumerate(rows[:limit], 1)), table.key_names)
    seen = f"{len(read.rows)} rows were read of a table that counts {count}"
    return attrs.evolve(table, rows=read.rows, bad=read.bad, ttl=await _ttl(session), notes=(seen,))


async def _ttl(session: Session) -> str | None:
    if not session.capabilities.ttl:
        return None
    try:
        answer = await session.send(Request("DescribeTimeToLive", {}))
    except ServiceError:
        return None
    found = answer.body.get("TimeToLiveDescription", {})
    return found.get("AttributeName") if found.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else None
