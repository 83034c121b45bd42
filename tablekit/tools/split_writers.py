"""Writing the rows of one type: as they are, as plain JSON, as CSV, or as Parquet."""

from __future__ import annotations

import base64
import csv
import importlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Protocol

from tablekit.errors import RequestError
from tablekit.tools.export_source import ExportRecord
from tablekit.tools.split_plan import Column, Format, SplitPlan

__all__ = ["SUFFIXES", "PartWriter", "join_parts", "open_part", "plain_json"]

SUFFIXES: Mapping[Format, str] = {"dynamodb-json": ".jsonl", "json": ".json", "csv": ".csv", "parquet": ".parquet"}
ROW_GROUP = 20_000
"""Rows that a Parquet writer holds before it writes them."""
_BUFFER = 1 << 20


class PartWriter(Protocol):
    """Writes the rows of one type and one data file."""

    def write(self, line: bytes, record: ExportRecord) -> None:
        """Add a row: its line in the export, and the same parsed."""
        ...

    def close(self) -> None:
        """Finish the part; it is whole from now on."""
        ...

    def abandon(self) -> None:
        """Give the part up."""
        ...


def open_part(plan: SplitPlan, output: str, path: Path) -> PartWriter:
    """The writer of a part in the plan's format."""
    if plan.format == "dynamodb-json":
        return _Lines(path)
    if plan.format == "json":
        return _Json(path)
    if plan.format == "csv":
        return _Csv(path, plan.columns_of(output))
    return _Parquet(path, plan.columns_of(output))


class _Part:
    """A file that takes its name when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary = path.with_name(f"{path.name}.part")
        self.file: IO[bytes] = self.temporary.open("wb", _BUFFER)

    def close(self) -> None:
        self.file.close()
        self.temporary.replace(self.path)

    def abandon(self) -> None:
        self.file.close()
        self.temporary.unlink(missing_ok=True)


class _Lines(_Part):
    """The export's own lines, byte for byte: type tags, numbers and base64 stay as they are."""

    def write(self, line: bytes, record: ExportRecord) -> None:
        self.file.write(line)
        self.file.write(b"\n")


class _Json(_Part):
    """Plain JSON, one object a line."""

    def write(self, line: bytes, record: ExportRecord) -> None:
        if record.keys:
            old, new = (_or_null(image) for image in (record.old, record.item))
            text = f'{{"keys":{plain_item(record.keys)},"new":{new},"old":{old}}}'
        else:
            text = plain_item(record.image)
        self.file.write(text.encode())
        self.file.write(b"\n")


def _or_null(image: Mapping[str, Any] | None) -> str:
    return "null" if image is None else plain_item(image)


def plain_item(item: Mapping[str, Any]) -> str:
    """An item as the text of a JSON object of plain values."""
    return "{" + ",".join(f"{_quoted(name)}:{plain_json(value)}" for name, value in item.items()) + "}"


def plain_json(value: Mapping[str, Any]) -> str:
    """An attribute value of an export as JSON text: numbers with all their digits, sets as lists, bytes as base64.

    Written by hand, for the json module would send numbers through a binary float.
    """
    ((tag, inner),) = value.items()
    if tag in ("S", "B"):
        return _quoted(inner)
    if tag == "N":
        return _digits(inner)
    if tag == "BOOL":
        return "true" if inner else "false"
    if tag == "NULL":
        return "null"
    if tag == "M":
        return plain_item(inner)
    writers: dict[str, Callable[[Any], str]] = {"L": plain_json, "NS": _digits, "SS": _quoted, "BS": _quoted}
    write = writers[tag]
    return "[" + ",".join(map(write, inner)) + "]"


_quoted = json.encoder.encode_basestring
_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def _digits(text: str) -> str:
    return text if _JSON_NUMBER.fullmatch(text) else str(Decimal(text))


class _Csv(_Part):
    """Comma-separated values; a cell holds a plain value, or JSON for lists, maps and sets."""

    def __init__(self, path: Path, columns: Sequence[Column] | None) -> None:
        super().__init__(path)
        self.columns = columns
        self.text = io.TextIOWrapper(self.file, encoding="utf-8", newline="", write_through=False)
        self.rows = csv.writer(self.text)

    def write(self, line: bytes, record: ExportRecord) -> None:
        item = record.image
        if self.columns is None:
            self.rows.writerow([plain_item(item)])
            return
        self.rows.writerow([_cell(item.get(column.attribute)) for column in self.columns])

    def close(self) -> None:
        self.text.flush()
        super().close()


def _cell(value: Mapping[str, Any] | None) -> Any:
    if value is None or "NULL" in value:
        return ""
    ((tag, inner),) = value.items()
    if tag == "BOOL":
        return "true" if inner else "false"
    return inner if tag in ("S", "N", "B") else plain_json(value)


def csv_header(columns: Sequence[Column] | None) -> bytes:
    """The first line of a CSV output."""
    text = io.StringIO()
    names = ["item"] if columns is None else [column.name for column in columns]
    csv.writer(text).writerow(names)
    return text.getvalue().encode()


class _Parquet:
    """Parquet, typed by the fields; a row group at a time."""

    def __init__(self, path: Path, columns: Sequence[Column] | None) -> None:
        self.path = path
        self.temporary = path.with_name(f"{path.name}.part")
        self.columns = columns
        self.schema = parquet_schema(columns)
        self.writer: Any = _pyarrow("parquet").ParquetWriter(self.temporary, self.schema)
        self.rows: list[list[Any]] = []

    def write(self, line: bytes, record: ExportRecord) -> None:
        item = record.image
        if self.columns is None:
            self.rows.append([plain_item(item)])
        else:
            self.rows.append([_arrow(item.get(column.attribute), column) for column in self.columns])
        if len(self.rows) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self.rows:
            arrow = _pyarrow()
            arrays = [
                arrow.array([row[number] for row in self.rows], type=field.type)
                for number, field in enumerate(self.schema)
            ]
            self.writer.write_table(arrow.Table.from_arrays(arrays, schema=self.schema))
            self.rows = []

    def close(self) -> None:
        self._flush()
        self.writer.close()
        self.temporary.replace(self.path)

    def abandon(self) -> None:
        self.writer.close()
        self.temporary.unlink(missing_ok=True)


def _pyarrow(part: str | None = None) -> Any:
    try:
        return importlib.import_module("pyarrow" if part is None else f"pyarrow.{part}")
    except ImportError:
        raise RequestError('Parquet needs the extra: pip install "tablekit[parquet]".') from None


def parquet_schema(columns: Sequence[Column] | None) -> Any:
    """The Arrow schema of an output: numbers as text, since Parquet has none of 38 digits and any exponent."""
    arrow = _pyarrow()
    if columns is None:
        return arrow.schema([("item", arrow.string())])
    return arrow.schema([(column.name, _arrow_type(arrow, column)) for column in columns])


def _arrow_type(arrow: Any, column: Column) -> Any:
    tags = set(column.kind) - {"NULL"}
    simple = {"S": arrow.string(), "N": arrow.string(), "BOOL": arrow.bool_(), "B": arrow.binary()}
    if len(tags) == 1:
        (tag,) = tags
        if tag in simple:
            return simple[tag]
        if tag in ("SS", "NS"):
            return arrow.list_(arrow.string())
        if tag == "BS":
            return arrow.list_(arrow.binary())
    return arrow.string()


def _arrow(value: Mapping[str, Any] | None, column: Column) -> Any:
    if value is None or "NULL" in value:
        return None
    ((tag, inner),) = value.items()
    tags = set(column.kind) - {"NULL"}
    if tags != {tag}:
        return plain_json(value) if len(tags) != 1 or tags & {"L", "M"} else inner
    if tag in ("S", "N", "BOOL", "SS", "NS"):
        return inner
    if tag == "B":
        return base64.b64decode(inner)
    if tag == "BS":
        return [base64.b64decode(each) for each in inner]
    return plain_json(value)


def join_parts(plan: SplitPlan, output: str, parts: Sequence[Path], target: Path) -> None:
    """Put the parts of an output together, in the order of the data files."""
    if plan.format == "parquet":
        _join_parquet(plan, output, parts, target)
        return
    with target.open("wb") as joined:
        if plan.format == "csv":
            joined.write(csv_header(plan.columns_of(output)))
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined, _BUFFER)
        joined.flush()
        os.fsync(joined.fileno())


def _join_parquet(plan: SplitPlan, output: str, parts: Sequence[Path], target: Path) -> None:
    parquet = _pyarrow("parquet")
    writer = parquet.ParquetWriter(target, parquet_schema(plan.columns_of(output)))
    try:
        for part in parts:
            source = parquet.ParquetFile(part)
            for number in range(source.num_row_groups):
                writer.write_table(source.read_row_group(number))
    finally:
        writer.close()
