"""Rows in Arrow and Parquet, typed by the fields of their class."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tablekit.errors import RequestError
from tablekit.tools.split_plan import Column
from tablekit.tools.split_text import plain_json

__all__ = ["ArrowFile", "arrow_columns", "arrow_values", "join_parquet", "need_pyarrow", "parquet_schema"]

ROW_GROUP_BYTES = 8 << 20
"""What a row group holds before it is written, in memory."""


def need_pyarrow(part: str | None = None) -> Any:
    """The module pyarrow, or a part of it. Raises `RequestError` that says how to install it."""
    try:
        return importlib.import_module("pyarrow" if part is None else f"pyarrow.{part}")
    except ImportError:
        raise RequestError('Parquet needs the extra: pip install "tablekit[parquet]".') from None


def parquet_schema(columns: Sequence[Column] | None) -> Any:
    """The Arrow schema of an output: numbers as text, since Parquet has none of 38 digits and any exponent."""
    arrow = need_pyarrow()
    if columns is None:
        return arrow.schema([("item", arrow.string())])
    return arrow.schema([(column.name, _arrow_type(arrow, column)) for column in columns])


def _arrow_type(arrow: Any, column: Column) -> Any:
    tag = _only_tag(column)
    simple = {"S": arrow.string(), "N": arrow.string(), "BOOL": arrow.bool_(), "B": arrow.binary()}
    if tag in simple:
        return simple[tag]
    if tag in ("SS", "NS"):
        return arrow.list_(arrow.string())
    return arrow.list_(arrow.binary()) if tag == "BS" else arrow.string()


def _only_tag(column: Column) -> str | None:
    """The one tag of a column's values beside NULL; None where there are several."""
    tags = set(column.kind) - {"NULL"}
    return next(iter(tags)) if len(tags) == 1 else None


def arrow_columns(columns: Sequence[Column]) -> list[tuple[str, str | None]]:
    """Of each column the attribute, and the one tag of its values beside NULL; None where there are several."""
    return [(column.attribute, _only_tag(column)) for column in columns]


def arrow_values(item: Mapping[str, Any], columns: Sequence[tuple[str, str | None]]) -> list[Any]:
    """The values of a row for its columns, which are given as attribute and only tag."""
    return [_arrow(item.get(attribute), tag) for attribute, tag in columns]


def _arrow(value: Mapping[str, Any] | None, wanted: str | None) -> Any:
    if value is None:
        return None
    ((tag, inner),) = value.items()
    if tag == wanted:
        if tag in ("S", "N", "BOOL", "SS", "NS"):
            return inner
        if tag == "B":
            return base64.b64decode(inner, validate=True)
        if tag == "BS":
            return [base64.b64decode(each, validate=True) for each in inner]
    if tag == "NULL":
        return None
    if wanted in ("BOOL", "B", "SS", "NS", "BS"):
        raise ValueError(f"a value of type {tag} stands where the class has {wanted}")
    # Texts and numbers are both kept as text; what may be of several types is JSON.
    return inner if wanted in ("S", "N") and tag in ("S", "N") else plain_json(value)


class ArrowFile:
    """A part in Arrow's own stream format, which costs next to nothing to write and to read again."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        self.schema = parquet_schema(columns)
        self.columns = arrow_columns(columns)
        self._writer: Any = need_pyarrow("ipc").new_stream(path, self.schema)

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows of values."""
        arrow = need_pyarrow()
        arrays = [arrow.array(values, type=field.type) for values, field in zip(zip(*rows), self.schema)]
        self._writer.write_batch(arrow.RecordBatch.from_arrays(arrays, schema=self.schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()


def join_parquet(columns: Sequence[Column] | None, parts: Sequence[Path], target: Path) -> None:
    """Write parts, Arrow streams or lines of JSON, into one Parquet file: a row group at a time."""
    arrow = need_pyarrow()
    schema = parquet_schema(columns)
    batches: list[Any] = []
    held = 0
    with need_pyarrow("parquet").ParquetWriter(target, schema) as writer:
        for part in parts:
            for batch in _lines(part, schema) if columns is None else _stream(part):
                batches.append(batch)
                held += batch.nbytes
                if held >= ROW_GROUP_BYTES:
                    writer.write_table(arrow.Table.from_batches(batches, schema))
                    batches, held = [], 0
        if batches:
            writer.write_table(arrow.Table.from_batches(batches, schema))


def _stream(part: Path) -> Iterator[Any]:
    with need_pyarrow("ipc").open_stream(part) as reader:
        yield from reader


def _lines(part: Path, schema: Any) -> Iterator[Any]:
    arrow = need_pyarrow()
    with part.open("rb") as file:
        while lines := file.readlines(1 << 20):
            texts = [line.rstrip(b"\n").decode() for line in lines]
            yield arrow.RecordBatch.from_arrays([arrow.array(texts, type=arrow.string())], schema=schema)
