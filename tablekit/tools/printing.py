"""Rows of a report as a table for a terminal, as JSON, as JSON lines, or as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

__all__ = ["OutputFormat", "format_rows"]

OutputFormat = Literal["table", "json", "jsonl", "csv"]


def format_rows(rows: Sequence[Mapping[str, Any]], format: OutputFormat, columns: Sequence[str] | None = None) -> str:
    """Rows as text.

    Parameters:
        rows: name to value; values are plain, or lists and dicts, which a table and CSV show as JSON.
        columns: which, in order; those of the first row by default.
    """
    names = list(columns) if columns is not None else list(rows[0]) if rows else []
    if format == "json":
        return json.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n"
    if format == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    if format == "csv":
        text = io.StringIO()
        csv.writer(text).writerows([names, *cells])
        return text.getvalue()
    return _table(names, cells)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _table(names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    if not cells:
        return ""
    shown = [[_one_line(cell) for cell in row] for row in cells]
    widths = [max(len(names[n]), *(len(row[n]) for row in shown)) for n in range(len(names))]
    lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths)).rstrip()]
    lines.append("  ".join("-" * width for width in widths))
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Control characters as escapes: what rows hold must not move a terminal's cursor."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
