"""The parts of a split: the rows of one type and one data file, held for a while and then added to a file.

A part has no file open between two writes, so that an export of ten thousand types takes no more files and no more
memory than one of three.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablekit.tools.export_lines import ExportRecord
from tablekit.tools.split_parquet import ArrowFile, arrow_values, join_parquet
from tablekit.tools.split_plan import Column, Format, SplitPlan
from tablekit.tools.split_text import cell_of, csv_header, csv_lines, json_record, plain_item

__all__ = ["SUFFIXES", "Part", "join_parts", "open_part", "render_line"]

SUFFIXES: Mapping[Format, str] = {
    "dynamodb-json": ".jsonl",
    "json": ".json",
    "csv": ".csv",
    "parquet": ".parquet",
    "import-ready": "",
}
_BUFFER = 1 << 20
_PACKING = 6


class Part:
    """The rows of one output out of one data file; this kind keeps the export's own lines, byte for byte.

    Attributes:
        rows: how many. bytes: of them in the export.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.bytes = 0
        self._held: list[Any] = []

    def add(self, line: bytes, record: ExportRecord) -> None:
        """Add a row: its line in the export, and the same parsed.

        Raises what a value raises that cannot be written.
        """
        self._held.append(self._form(line, record))
        self.rows += 1
        self.bytes += len(line)

    def _form(self, line: bytes, record: ExportRecord) -> Any:
        return line

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            self._write(self._held)
            self._held = []

    def _write(self, held: list[Any]) -> None:
        held.append(b"")
        self._append(b"\n".join(held))

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    def close(self) -> None:
        """Write the rest; the part is whole."""
        self.flush()


class _Json(Part):
    """Plain JSON, one object a line."""

    def _form(self, line: bytes, record: ExportRecord) -> Any:
        return json_record(record).encode()


class _Csv(Part):
    """Comma-separated values; a cell holds a plain value, or JSON for lists, maps and sets."""

    def __init__(self, path: Path, columns: Sequence[Column] | None) -> None:
        super().__init__(path)
        self.attributes = None if columns is None else [column.attribute for column in columns]

    def _form(self, line: bytes, record: ExportRecord) -> Any:
        return _cells(record.image, self.attributes)

    def _write(self, held: list[Any]) -> None:
        self._append(csv_lines(held).encode())


def _cells(item: Mapping[str, Any], attributes: Sequence[str] | None) -> list[Any]:
    if attributes is None:
        return [plain_item(item)]
    return [cell_of(item.get(attribute)) for attribute in attributes]


class _Arrow(Part):
    """The rows of a class, typed."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        super().__init__(path)
        self.file = ArrowFile(path, columns)

    def _form(self, line: bytes, record: ExportRecord) -> Any:
        return arrow_values(record.image, self.file.columns)

    def _write(self, held: list[Any]) -> None:
        self.file.write(held)

    def close(self) -> None:
        super().close()
        self.file.close()


def open_part(plan: SplitPlan, output: str, path: Path) -> Part:
    """A part in the plan's format."""
    columns = plan.columns_of(output)
    if plan.format == "csv":
        return _Csv(path, columns)
    if plan.format == "parquet" and columns is not None:
        return _Arrow(path, columns)
    return Part(path) if plan.format in ("dynamodb-json", "import-ready") else _Json(path)


def render_line(plan: SplitPlan, output: str, line: bytes, record: ExportRecord) -> str:
    """A row as the line of text that the output of a text format holds, without its end."""
    if plan.format == "json":
        return json_record(record)
    if plan.format == "csv":
        columns = plan.columns_of(output)
        names = None if columns is None else [column.attribute for column in columns]
        return csv_lines([_cells(record.image, names)])[: -len("\r\n")]
    return line.decode()


def join_parts(plan: SplitPlan, output: str, parts: Sequence[Path], target: Path) -> None:
    """Put the parts of an output together, in the order of the data files; the target is made anew.

    Raises ``OSError``.
    """
    # What lies there under that name may be a link to anywhere; a new file is no link.
    target.unlink(missing_ok=True)
    columns = plan.columns_of(output)
    if plan.format == "parquet":
        join_parquet(columns, parts, target)
    elif plan.format == "import-ready":
        # No name and no time in the header: the same rows make the same file.
        with target.open("xb") as file, gzip.GzipFile("", "wb", _PACKING, file, mtime=0) as packed:
            _copy(parts, packed)
    else:
        with target.open("xb") as joined:
            joined.write(csv_header(columns).encode() if plan.format == "csv" else b"")
            _copy(parts, joined)
    with target.open("rb+") as written:
        os.fsync(written.fileno())


def _copy(parts: Sequence[Path], target: Any) -> None:
    for part in parts:
        with part.open("rb") as file:
            shutil.copyfileobj(file, target, _BUFFER)
