"""Rows of a report as a table for a terminal, as JSON, as JSON lines, or as CSV.

What rows hold must not move a terminal's cursor or change its colours: characters that are not printable are shown as
escapes, in JSON as JSON's own.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

__all__ = ["OutputFormat", "format_blocks", "format_rows", "printable", "text_width"]

OutputFormat = Literal["table", "json", "jsonl", "csv"]


def format_rows(
    rows: Sequence[Mapping[str, Any]],
    format: OutputFormat,
    columns: Sequence[str] | None = None,
    *,
    raw: bool = False,
) -> str:
    """Rows as text.

    Parameters:
        rows: name to value; values are plain, or lists and dicts, which a table and CSV show as JSON.
        columns: which, in order; those of all rows by default. raw: leave texts in CSV as they are, for a file.
    """
    names = list(columns) if columns is not None else list(dict.fromkeys(name for row in rows for name in row))
    if format == "json":
        return _shown_json(json.dumps(rows, indent=2, ensure_ascii=False, default=str)) + "\n"
    if format == "jsonl":
        return "".join(_shown_json(json.dumps(row, ensure_ascii=False, default=str)) + "\n" for row in rows)
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    if format == "csv":
        kept = [names, *cells]
        lines = kept if raw else [[printable(cell) for cell in row] for row in kept]
        # A carriage return is quoted only where it may end a line.
        text = io.StringIO()
        csv.writer(text, lineterminator="\r\n" if raw else "\n").writerows(lines)
        return text.getvalue()
    return _table(names, cells)


def format_blocks(
    rows: Sequence[Mapping[str, Any]], head: Sequence[str], body: Sequence[str], *, width: int | None = None
) -> str:
    """Rows as paragraphs, for what is too long for a column: some values on a line, the others below it.

    Parameters:
        head: names of the values on the first line. body: of those below; a list has a line for each member.
        width: columns of the terminal; None for lines that do not end.
    """
    lines: list[str] = []
    for row in rows:
        lines.append("  ".join(printable(_cell(row.get(name))) for name in head if _cell(row.get(name))))
        for name in body:
            value = row.get(name)
            texts = cast("Sequence[Any]", value if isinstance(value, (list, tuple)) else (value,))
            for text in texts:
                lines += _indented(printable(_cell(text)), width)
        lines.append("")
    return "\n".join(lines[:-1]) + "\n" if lines else ""


def _indented(text: str, width: int | None) -> list[str]:
    if not text:
        return []
    if width is None:
        return [f"    {text}"]
    # Keys are copied from here, and so are not broken.
    return textwrap.wrap(
        text, max(40, width), initial_indent="    ", subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


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
    shown = [[printable(cell) for cell in row] for row in [names, *cells]]
    widths = [max(text_width(row[n]) for row in shown) for n in range(len(names))]
    lines = ["  ".join(_padded(cell, width) for cell, width in zip(row, widths)).rstrip() for row in shown]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - text_width(text))


def text_width(text: str) -> int:
    """The columns that a text takes in a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable(text: str) -> str:
    """A text with escapes for what is not printable: controls, line ends, marks that turn the direction of text."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    escaped = repr(char)[1:-1]
    return escaped if escaped != char else f"\\u{ord(char):04x}"


_UNSHOWN = re.compile(r"[^ -~\n]")


def _shown_json(text: str) -> str:
    """JSON whose texts have JSON's escapes for what is not printable; outside of texts there is nothing of the kind."""
    return _UNSHOWN.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)
