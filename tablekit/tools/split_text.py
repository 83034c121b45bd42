"""Rows as text: plain JSON with every digit, and the cells of a CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tablekit.tools.export_lines import ExportRecord
from tablekit.tools.split_plan import Column

__all__ = ["cell_of", "csv_header", "csv_lines", "json_record", "plain_item", "plain_json"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode
_quoted = json.encoder.encode_basestring
_JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


class _Inexact(Exception):
    """A number that the json module would not write as it is stored."""


def json_record(record: ExportRecord) -> str:
    """A record as the text of one JSON object: the row, or for a change its key and both images."""
    if record.keys is None:
        return plain_item(record.image)
    old, new = ("null" if image is None else plain_item(image) for image in (record.old, record.item))
    return f'{{"keys":{plain_item(record.keys)},"new":{new},"old":{old}}}'


def plain_item(item: Mapping[str, Any]) -> str:
    """An item as the text of a JSON object of plain values."""
    try:
        return _encode({name: _plain(value) for name, value in item.items()})
    except _Inexact:
        return _spelled(item)


def _plain(value: Mapping[str, Any]) -> Any:
    """A value that json writes exactly as it is stored; raises `_Inexact` where there is none."""
    ((tag, inner),) = value.items()
    if tag in ("S", "B"):
        if type(inner) is not str:
            raise TypeError(tag)
        return inner
    if tag == "N":
        return _number(inner)
    if tag in ("BOOL", "NULL"):
        return bool(inner) if tag == "BOOL" else None
    if tag == "M":
        return {name: _plain(each) for name, each in inner.items()}
    return _elements(tag, inner)


def _elements(tag: str, inner: Any) -> list[Any]:
    if tag == "L":
        return [_plain(each) for each in inner]
    if tag == "NS":
        return [_number(each) for each in inner]
    if tag not in ("SS", "BS") or not all(type(each) is str for each in inner):
        raise TypeError(tag)
    return [*inner]


def _number(text: str) -> int | float:
    digits = text[1:] if text[0] == "-" else text
    if digits.isdecimal() and digits.isascii() and digits[0] != "0":
        return int(text)
    if text == "0":
        return 0
    number = float(text)
    if repr(number) != text:
        raise _Inexact
    return number


def plain_json(value: Mapping[str, Any]) -> str:
    """An attribute value of an export as JSON text: numbers with all their digits, sets as lists, bytes as base64."""
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
        return _spelled(inner)
    writers: dict[str, Callable[[Any], str]] = {"L": plain_json, "NS": _digits, "SS": _quoted, "BS": _quoted}
    write = writers[tag]
    return "[" + ",".join(map(write, inner)) + "]"


def _spelled(item: Mapping[str, Any]) -> str:
    # By hand, for the json module would send numbers through a binary float.
    return "{" + ",".join(f"{_quoted(name)}:{plain_json(value)}" for name, value in item.items()) + "}"


def _digits(text: str) -> str:
    if _JSON_NUMBER.fullmatch(text):
        return text
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return str(number)


def csv_header(columns: Sequence[Column] | None) -> str:
    """The first line of a CSV output."""
    return csv_lines([["item"] if columns is None else [column.name for column in columns]])


def csv_lines(rows: Sequence[Sequence[Any]]) -> str:
    """Rows of cells as the text of a CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def cell_of(value: Mapping[str, Any] | None) -> Any:
    """The cell of an attribute: a plain value, and JSON for lists, maps and sets; empty where there is none."""
    if value is None:
        return ""
    ((tag, inner),) = value.items()
    if tag in ("S", "N", "B"):
        return inner
    if tag == "NULL":
        return ""
    if tag == "BOOL":
        return "true" if inner else "false"
    return plain_json(value)
