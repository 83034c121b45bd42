"""Rows in other forms than DynamoDB JSON with bytes: boto3's plain dicts, exports with base64, plain JSON.

A row is DynamoDB JSON when its partition key is a dict of one entry, ``{"S": "a"}``; a key is a scalar, so that no
plain row looks so. What cannot be a row raises `ValueProblem` with the attribute's path.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, cast

from tablekit._types import AttributeValue, Item
from tablekit.codecs.base import TAG_WORDS, ValueProblem, is_a
from tablekit.codecs.compare import too_deep
from tablekit.codecs.freeform import encode_free
from tablekit.codecs.numbers import read_decimal
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DecodeError, RequestError

__all__ = [
    "as_item",
    "is_wire_value",
    "json_item",
    "mapping_of",
    "plain_item",
    "plain_value",
    "row_of",
    "wire_item",
    "wire_of_plain",
    "wire_value",
]

Inside = Callable[[Any], AttributeValue]


def as_item(row: Mapping[str, Any], pk: str) -> Item:
    """A row in DynamoDB JSON with bytes, from DynamoDB JSON or from a plain dict.

    Parameters:
        row: what a client of boto3 gives (``{"PK": {"S": "a"}}``), what its resource gives (``{"PK": "a"}``, with
            Decimal, Binary and sets), a row of an export (``B`` in base64), or a row of plain JSON.
        pk: the attribute of the partition key, by which the form is told.

    Raises `ValueProblem`.
    """
    return wire_item(row) if isinstance(row.get(pk), Mapping) else _item(row, _encode)


def row_of(schema: EntitySchema, row: Mapping[str, Any]) -> Item:
    """A row of an entity in DynamoDB JSON, from any form. Raises `DecodeError` naming attribute and key."""
    if not isinstance(row, Mapping):
        raise RequestError(f"{schema.name}: an item is a dict of attributes, not a {type(row).__name__}.")
    try:
        return as_item(row, schema.registry.pk)
    except ValueProblem as problem:
        attribute = problem.path[1:].partition(".")[0].partition("[")[0]
        keys = [row.get(name) for name in schema.registry.key_names]
        raise DecodeError(
            f"{schema.name}: the attribute {attribute!r} of the row {' / '.join(map(str, keys))} cannot be read: "
            f"{problem.path[1:]} {problem.reason}. Give DynamoDB JSON, or a plain dict as boto3's resource has it.",
            entity=schema.name,
            field=attribute,
            attribute=attribute,
            pk=keys[0],
            sk=keys[1] if len(keys) > 1 else None,
        ) from None


def wire_item(row: Mapping[str, Any], *, other: Inside | None = None) -> Item:
    """DynamoDB JSON as tablekit keeps it: checked at every depth, ``B`` and ``BS`` as bytes.

    Parameters:
        row: the row; bytes in it stay, text under ``B`` is base64. other: reads what is no attribute value, in place
            of the error.

    Raises `ValueProblem`.
    """
    return _item(row, lambda value: wire_value(value, other=other))


def _item(row: Mapping[str, Any], read: Inside) -> Item:
    def shallow(value: Any) -> AttributeValue:
        try:
            return read(value)
        except RecursionError:
            raise too_deep() from None

    return _each(row, shallow)


def _each(row: Mapping[str, Any], read: Inside) -> Item:
    item: Item = {}
    for name, value in row.items():
        try:
            item[name] = read(value)
        except ValueProblem as problem:
            raise problem.at(f".{name}") from None
    return item


def is_wire_value(value: Any) -> bool:
    """Whether a value has the outer shape of DynamoDB JSON: one entry, whose name is a wire type."""
    found = mapping_of(value)
    return found is not None and len(found) == 1 and next(iter(found)) in TAG_WORDS


def wire_value(value: Any, *, other: Inside | None = None) -> AttributeValue:
    """One attribute value, checked; see `wire_item`."""
    if not is_wire_value(value):
        if other is not None:
            return other(value)
        raise ValueProblem(f"is no attribute value: {_shape(value)}, where one of {', '.join(TAG_WORDS)} is expected")
    ((tag, inner),) = value.items()
    if tag == "M":
        # A list under M is a thing of tools, as plain values are.
        return other(inner) if other is not None and isinstance(inner, list) else {"M": _map(inner, other)}
    if tag == "L":
        return {"L": _list(inner, other)}
    return {tag: _LEAVES[tag](inner)}


def mapping_of(value: Any) -> Mapping[str, Any] | None:
    """The value where it is a mapping, else None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def _shape(value: Any) -> str:
    found = mapping_of(value)
    if found is None:
        return f"a bare {type(value).__name__}"
    return f"a map with {len(found)} entries" if len(found) != 1 else f"the entry {next(iter(found))[:40]!r}"


def _map(inner: Any, other: Inside | None) -> dict[str, AttributeValue]:
    found = mapping_of(inner)
    if found is None:
        raise ValueProblem(f"is of type M and holds a {type(inner).__name__}")
    return _each(found, lambda value: wire_value(value, other=other))


def _list(inner: Any, other: Inside | None) -> list[AttributeValue]:
    found: list[AttributeValue] = []
    for number, value in enumerate(_sequence(inner, "L")):
        try:
            found.append(wire_value(value, other=other))
        except ValueProblem as problem:
            raise problem.at(f"[{number}]") from None
    return found


def _sequence(inner: Any, tag: str) -> Sequence[Any]:
    if isinstance(inner, (str, bytes)) or not isinstance(inner, (Sequence, AbstractSet)):
        raise ValueProblem(f"is of type {tag} and holds a {type(inner).__name__}")
    return list(cast("Sequence[Any]", inner))


def _text(inner: Any) -> str:
    if not isinstance(inner, str):
        raise ValueProblem(f"is of type S and holds a {type(inner).__name__}")
    return inner


def _number(inner: Any) -> str:
    # Some tools write the number itself; DynamoDB has it as text.
    if isinstance(inner, (int, float, Decimal)) and not isinstance(inner, bool):
        return str(_encode(inner)["N"])
    if not isinstance(inner, str):
        raise ValueProblem(f"is of type N and holds a {type(inner).__name__}")
    read_decimal(inner)
    return inner


def _binary(inner: Any) -> bytes:
    if is_a(inner, (bytes, bytearray, memoryview)):
        return bytes(inner)
    if not isinstance(inner, str):
        raise ValueProblem(f"is of type B and holds a {type(inner).__name__}")
    try:
        return base64.b64decode(inner, validate=True)
    except (binascii.Error, ValueError):
        raise ValueProblem("is of type B and is no base64") from None


def _bool(inner: Any) -> bool:
    if not isinstance(inner, bool):
        raise ValueProblem(f"is of type BOOL and holds a {type(inner).__name__}")
    return inner


def _null(inner: Any) -> bool:
    if inner is not True:
        raise ValueProblem("is of type NULL, which holds true alone")
    return True


def _set_of(tag: str, read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def members(inner: Any) -> list[Any]:
        found = [read(value) for value in _sequence(inner, tag)]
        if not found:
            raise ValueProblem(f"is an empty {tag}, which DynamoDB does not store")
        return found

    return members


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "S": _text,
    "N": _number,
    "B": _binary,
    "BOOL": _bool,
    "NULL": _null,
    "SS": _set_of("SS", _text),
    "NS": _set_of("NS", _number),
    "BS": _set_of("BS", _binary),
}


# Plain values


def plain_value(av: AttributeValue) -> Any:
    """The value as boto3's resource takes and gives it: numbers are Decimal, binary is bytes, NULL is None."""
    ((tag, inner),) = av.items()
    if tag == "M":
        return {name: plain_value(value) for name, value in inner.items()}
    if tag == "L":
        return [plain_value(value) for value in inner]
    if tag == "N":
        return Decimal(inner)
    if tag == "NS":
        return {Decimal(text) for text in inner}
    if tag in ("SS", "BS"):
        return set(inner)
    return None if tag == "NULL" else inner


def plain_item(item: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """A row as boto3's resource takes it."""
    return {name: plain_value(value) for name, value in item.items()}


def _encode(value: Any) -> AttributeValue:
    """A plain value's attribute value; boto3's Binary is told by the bytes that it holds."""
    found = mapping_of(value)
    if found is not None:
        return {"M": _each(found, _encode)}
    if is_a(value, (list, tuple)):
        return {"L": [_encode_at(number, each) for number, each in enumerate(value)]}
    if is_a(value, AbstractSet):
        return encode_free({_bare(each) for each in value})
    return encode_free(_bare(value))


def _encode_at(number: int, value: Any) -> AttributeValue:
    try:
        return _encode(value)
    except ValueProblem as problem:
        raise problem.at(f"[{number}]") from None


def _bare(value: Any) -> Any:
    held = getattr(value, "value", None)
    return bytes(held) if type(value).__name__ == "Binary" and isinstance(held, (bytes, bytearray)) else value


def wire_of_plain(value: Any) -> AttributeValue:
    """The attribute value of a plain value; raises `ValueProblem`."""
    return _encode(value)


def json_item(item: Mapping[str, AttributeValue]) -> dict[str, Any]:
    """A row in DynamoDB JSON as a file holds it: ``B`` and ``BS`` in base64."""
    return {name: _json_value(value) for name, value in item.items()}


def _json_value(av: AttributeValue) -> dict[str, Any]:
    ((tag, inner),) = av.items()
    if tag == "M":
        return {"M": json_item(inner)}
    if tag == "L":
        return {"L": [_json_value(value) for value in inner]}
    if tag == "BS":
        return {"BS": [base64.b64encode(value).decode() for value in inner]}
    return {tag: base64.b64encode(inner).decode() if tag == "B" else inner}
