"""Whether an answer has DynamoDB's shape.

Reading takes the shape of an answer for granted. What `check_answer` looks at is little and is looked at each time:
the members of the answer and what would be sent back. The attributes of rows are not: `misshapen` names the bad one
after reading has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

__all__ = ["check_answer", "is_item", "is_key", "misshapen", "with_sound_items"]

Test = Callable[[Any], bool]


def check_answer(body: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where a member of a 200 answer is not what DynamoDB sends there."""
    for member, value in body.items():
        fits = _MEMBERS.get(member)
        if fits is not None and not fits(value):
            raise ValueError(f"{member} does not have DynamoDB's shape")


def misshapen(item: Any) -> str | None:
    """The first attribute of a row that is no attribute value; None where all are."""
    row = _members(item)
    return "" if row is None else next((str(name) for name, value in row.items() if not _is_value(value)), None)


def is_item(item: Any) -> bool:
    """Whether a row has attribute values only, at every depth."""
    return misshapen(item) is None


def is_key(key: Any) -> bool:
    """Whether this is a primary key, or the key of a row in an index: scalars by name."""
    return bool(key) and _members(key) is not None and all(map(_is_scalar, key.values()))


def with_sound_items(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """An error answer without the rows and reasons that do not have DynamoDB's shape; its code still counts."""
    wrong = [name for name, fits in _OF_ERRORS.items() if name in response and not fits(response[name])]
    return {name: value for name, value in response.items() if name not in wrong} if wrong else response


def _members(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _entries(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None  # pyright: ignore[reportUnknownVariableType]


# Attribute values


def _is_scalar(value: Any) -> bool:
    av = _members(value)
    if av is None or len(av) != 1:
        return False
    ((tag, inner),) = av.items()
    return isinstance(inner, (str, bytes)) if tag == "B" else tag in ("S", "N") and isinstance(inner, str)


def _is_value(value: Any) -> bool:
    # Without recursion: what is told apart here may be nested to any depth.
    left = [value]
    while left:
        av = _members(left.pop())
        if av is None or len(av) != 1:
            return False
        ((tag, inner),) = av.items()
        inside = _members(inner) if tag == "M" else _entries(inner)
        if tag in ("M", "L") and inside is not None:
            left += inside.values() if isinstance(inside, dict) else inside
        elif tag not in _LEAVES or not _LEAVES[tag](inner):
            return False
    return True


def _texts(inner: Any) -> bool:
    return isinstance(inner, (list, set)) and all(isinstance(text, str) for text in cast("list[Any]", inner))


def _binaries(inner: Any) -> bool:
    return isinstance(inner, (list, set)) and all(isinstance(text, (str, bytes)) for text in cast("list[Any]", inner))


_LEAVES: Final[Mapping[Any, Test]] = {
    "S": lambda inner: isinstance(inner, str),
    "N": lambda inner: isinstance(inner, str),
    "B": lambda inner: isinstance(inner, (str, bytes)),
    "BOOL": lambda inner: isinstance(inner, bool),
    "NULL": lambda inner: isinstance(inner, bool),
    "SS": _texts,
    "NS": _texts,
    "BS": _binaries,
}


# Members of answers


def _rows(value: Any) -> bool:
    rows = _entries(value)
    return rows is not None and all(type(row) is dict for row in rows)


def _one_row(value: Any) -> bool:
    return isinstance(value, dict)


def _responses(value: Any) -> bool:
    """Rows by table, or one entry for each row of a transaction."""
    tables = _members(value)
    if tables is not None:
        return all(map(_rows, tables.values()))
    return _rows(value) and all(_one_row(entry.get("Item", {})) for entry in value)


def _keys_left(value: Any) -> bool:
    tables = _members(value)
    return tables is not None and all(map(_keys_of, tables.values()))


def _keys_of(asked: Any) -> bool:
    keys = _entries((_members(asked) or {}).get("Keys"))
    return keys is not None and all(map(is_key, keys))


def _writes_left(value: Any) -> bool:
    tables = _members(value)
    return tables is not None and all(_rows(writes) and all(map(_write, writes)) for writes in tables.values())


def _write(write: dict[str, Any]) -> bool:
    if list(write) == ["PutRequest"]:
        return is_item((_members(write["PutRequest"]) or {}).get("Item"))
    return list(write) == ["DeleteRequest"] and is_key((_members(write["DeleteRequest"]) or {}).get("Key"))


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _capacity(value: Any) -> bool:
    return all(map(_capacity_of_one, [value] if (entries := _entries(value)) is None else entries))


def _capacity_of_one(value: Any) -> bool:
    entry = _members(value)
    return entry is not None and _units(entry) and all(_by_index(entry.get(name, {})) for name in _INDEX_KINDS)


def _by_index(value: Any) -> bool:
    indexes = _members(value)
    return indexes is not None and all(map(_units, indexes.values()))


def _units(value: Any) -> bool:
    entry = _members(value)
    return entry is not None and type(entry.get("CapacityUnits", 0)) in (int, float)


def _reasons(value: Any) -> bool:
    return _rows(value) and all(
        isinstance(reason.get("Code"), (str, type(None))) and ("Item" not in reason or is_item(reason["Item"]))
        for reason in value
    )


_INDEX_KINDS: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")

_MEMBERS: Final[Mapping[str, Test]] = {
    "Items": _rows,
    "Item": _one_row,
    # One row, and a write is not to fail over it once it is applied.
    "Attributes": is_item,
    "Count": _count,
    "ScannedCount": _count,
    "LastEvaluatedKey": is_key,
    "ConsumedCapacity": _capacity,
    "Responses": _responses,
    "UnprocessedKeys": _keys_left,
    "UnprocessedItems": _writes_left,
}

_OF_ERRORS: Final[Mapping[str, Test]] = {"Item": is_item, "CancellationReasons": _reasons}
