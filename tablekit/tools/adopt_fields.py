"""Fields of a class, from the attributes of its rows: type, optionality, and what speaks for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.codecs.numbers import read_decimal
from tablekit.tools.adopt_keys import ATOM
from tablekit.tools.adopt_names import counted, member_name

__all__ = ["FieldPlan", "plan_field"]

ENUM_ROWS = 20
"""So many rows must have an attribute before few values look like all values."""
ENUM_VALUES = 8

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*")


@attrs.frozen(kw_only=True)
class FieldPlan:
    """A field as it will be written.

    Attributes:
        name, attribute: the field's and the stored name. annotation: its type. optional: whether rows are without it.
        members: the values, where it becomes an enum. evidence: what was seen. ttl: whether rows expire by it.
    """

    name: str
    attribute: str
    annotation: str
    optional: bool = False
    members: tuple[tuple[str, str], ...] = ()
    evidence: str = ""
    ttl: bool = False


def plan_field(name: str, attribute: str, rows: Sequence[Item], *, key: bool, ttl: bool) -> FieldPlan:
    """The field of an attribute.

    Parameters:
        name: the field's name. rows: all rows of the class. key: whether it stands in a key, and so cannot be missing
            from a new row. ttl: whether the table's rows expire by it.
    """
    values = [item[attribute] for item in rows if attribute in item]
    tags = Counter(next(iter(value)) for value in values)
    missing = len(values) < len(rows)
    shown = ", ".join(f"{tag} in {count}" if len(tags) > 1 else tag for tag, count in tags.most_common())
    evidence = [f"{shown}; {len(values)} of {counted(len(rows), 'row')}"]
    if ttl and set(tags) <= {"N"}:
        return FieldPlan(
            name=name, attribute=attribute, annotation="datetime | None", optional=True, ttl=True,
            evidence=f"{evidence[0]}; rows expire by it",
        )  # fmt: skip
    members = () if key else _members(values, tags)
    annotation = _annotation(values)
    null = annotation == "None" or annotation.endswith(" | None")
    if missing and not null and annotation != "Any":
        annotation += " | None"
    if "NULL" in tags:
        evidence.append("a put writes None by leaving the attribute out, not as NULL")
    evidence += _remarks(values, tags)
    return FieldPlan(
        name=name,
        attribute=attribute,
        annotation=annotation,
        optional=missing or null,
        members=members,
        evidence="; ".join(evidence),
    )


def _members(values: Sequence[AttributeValue], tags: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    """The members of an enum, where few values come back again and again."""
    if set(tags) != {"S"} or len(values) < ENUM_ROWS:
        return ()
    counts = Counter(value["S"] for value in values)
    if not 2 <= len(counts) <= ENUM_VALUES or min(counts.values()) < 2:
        return ()
    named = {member_name(value): value for value in counts}
    if "" in named or len(named) < len(counts) or any(len(value) > 30 for value in counts):
        return ()
    return tuple(sorted(named.items()))


def _annotation(values: Sequence[AttributeValue]) -> str:
    """The narrowest type that all values are of."""
    by_tag: dict[str, list[Any]] = {}
    for value in values:
        ((tag, inner),) = value.items()
        by_tag.setdefault(tag, []).append(inner)
    null = by_tag.pop("NULL", None) is not None
    if not by_tag:
        return "None" if null else "Any"
    names = sorted(_of_tag(tag, inner) for tag, inner in by_tag.items())
    if len(names) > 1 and (set(by_tag) - {"S", "N", "B", "BOOL"} or "Any" in names):
        return "Any"
    return " | ".join([*names, "None"] if null else names)


def _of_tag(tag: str, inner: Sequence[Any]) -> str:
    if tag in ("N", "NS"):
        texts = inner if tag == "N" else [text for texts in inner for text in texts]
        number = "int" if all(_whole(text) for text in texts) else "Decimal"
        return number if tag == "N" else f"set[{number}]"
    if tag == "L":
        members = [value for values in inner for value in values]
        within = _annotation(members) if members else "Any"
        return f"list[{within}]"
    return {"S": "str", "B": "bytes", "BOOL": "bool", "SS": "set[str]", "BS": "set[bytes]"}.get(tag, "dict[str, Any]")


def _whole(text: str) -> bool:
    number = read_decimal(text)
    return number == number.to_integral_value() and abs(number) < Decimal(10) ** 38


def _remarks(values: Sequence[AttributeValue], tags: Mapping[str, int]) -> list[str]:
    """What strings look like that are kept as strings, so that they are written back as they are."""
    texts = [value["S"] for value in values if "S" in value]
    if not texts or set(tags) != {"S"}:
        return []
    return [remark for looks, remark in _LOOKS if all(looks(text) for text in texts)][:1]


def _is_json(text: str) -> bool:
    if text[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and ATOM.fullmatch(text) is not None


_LOOKS: tuple[tuple[Callable[[str], object], str], ...] = (
    (_NUMBER.fullmatch, "numbers as text"),
    (re.compile("(?i)true|false").fullmatch, "booleans as text"),
    (_TIME.fullmatch, "times as text; datetime would write another form of them"),
    (_is_json, "JSON as text"),
    (_is_uuid, "UUIDs; UUID would write them in small letters"),
)
