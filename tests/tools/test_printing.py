"""Reports as text: lined up, whole for programs, harmless for terminals."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit.tools.printing import format_blocks, format_rows, printable, text_width

ROWS: list[dict[str, Any]] = [{"name": "a", "value": 1}, {"name": "bb", "value": None}]


def test_a_table_is_lined_up() -> None:
    """A header, a rule, and the rows; what is not there is empty."""
    assert format_rows(ROWS, "table") == "name  value\n----  -----\na     1\nbb\n"


def test_wide_characters_take_two_columns() -> None:
    """Japanese text, full-width forms and combining marks stand under their header."""
    rows = [{"name": "日本", "n": 1}, {"name": "abc", "n": 2}, {"name": "e\u0301", "n": 3}]

    lines = format_rows(rows, "table").splitlines()

    assert [text_width(line) for line in lines[2:]] == [7, 7, 7]
    assert lines[2] == "日本  1"


def test_columns_are_those_of_all_rows() -> None:
    """Rows of several types differ in their fields; CSV loses none."""
    rows = [{"a": 1}, {"b": 2}]

    assert list(csv.DictReader(io.StringIO(format_rows(rows, "csv")))) == [{"a": "1", "b": ""}, {"a": "", "b": "2"}]


@given(st.text())
def test_no_text_moves_the_cursor(text: str) -> None:
    """Whatever a row holds, a terminal gets printable characters."""
    for form in ("table", "json", "jsonl", "csv"):
        shown = format_rows([{"name": text}], form)
        assert all(char.isprintable() or char == "\n" for char in shown)
    assert printable(text).isprintable()


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.none(), st.booleans())))
def test_json_is_what_it_was(row: dict[str, Any]) -> None:
    """The escapes are JSON's own."""
    assert json.loads(format_rows([row], "json")) == [row]
    assert json.loads(format_rows([row], "jsonl")) == row


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_csv_for_a_file_is_what_it_was(text: str) -> None:
    """Only a terminal gets escapes."""
    shown = format_rows([{"a": text, "b": "x"}], "csv", raw=True)

    assert list(csv.reader(io.StringIO(shown, newline="")))[1] == [text, "x"]


@pytest.mark.parametrize(("width", "lines"), [(None, 4), (40, 6)])
def test_blocks_are_paragraphs(width: int | None, lines: int) -> None:
    """Heads on a line, long texts below; wrapped for a terminal, and one line for each in a file."""
    row = {"kind": "untyped", "rows": 3, "message": "x" * 30 + " " + "y" * 30, "examples": ["one", "PK='a b c'"]}

    shown = format_blocks([row], ("kind", "rows"), ("message", "examples"), width=width)

    assert shown.splitlines()[0] == "untyped  3"
    assert len(shown.splitlines()) == lines - (width == 40)
