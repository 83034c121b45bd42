"""What the tasks of the Spark job do with the lines of an export: the code of the split on one machine, row by row."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tablekit.tools.export_lines import parse_record
from tablekit.tools.export_source import ExportError
from tablekit.tools.split_parquet import arrow_columns, arrow_values
from tablekit.tools.split_parts import UNWRITABLE, unwritable
from tablekit.tools.split_plan import SplitPlan
from tablekit.tools.split_text import plain_item
from tablekit.tools.split_writers import render_line

__all__ = ["PROBLEM", "SPARK_TYPES", "Staged", "classify", "values_of"]

PROBLEM = ".problem"
"""The output of lines that are no records; no type's output begins with a dot."""
Staged = tuple[str, str, int, int, str]
"""A row between the two steps: output, file, line number, bytes of the line, and its text in the outputs' form."""
SPARK_TYPES = {"BOOL": "boolean", "B": "binary", "SS": "array<string>", "NS": "array<string>", "BS": "array<binary>"}
"""What Parquet columns are in Spark's words, by the one wire tag of their values; the rest is text."""


def classify(plan: SplitPlan, lines: Iterable[tuple[str, str]]) -> Iterator[Staged]:
    """Tell each line's output, and give its text.

    Parameters:
        lines: file and text. A data file is one after the other in one task, since gzip cannot be read in parts.
    """
    file, number = "", 0
    for path, text in lines:
        if path != file:
            file, number = path, 0
        number += 1
        line = text.rstrip("\r").encode()
        if line and not line.isspace():
            yield _staged(plan, posixpath.basename(path), number, line)


def _staged(plan: SplitPlan, file: str, number: int, line: bytes) -> Staged:
    place = Path(file)
    try:
        record = parse_record(line, place, number)
        output = plan.output_of(record.image)
        try:
            if plan.format == "parquet":
                values_of(plan, output, line.decode())
            text = render_line(plan, output, line, record)
        except UNWRITABLE as error:
            raise unwritable(place, number, error) from None
    except ExportError as error:
        return PROBLEM, file, number, len(line), str(error)
    return output, file, number, len(line), text


def values_of(plan: SplitPlan, output: str, line: str) -> tuple[Any, ...]:
    """The values of a row for the Parquet columns of its output."""
    found: dict[str, Any] = json.loads(line)
    item = found["Item"]
    columns = plan.columns_of(output)
    if columns is None:
        return (plain_item(item),)
    return tuple(arrow_values(item, arrow_columns(columns)))
