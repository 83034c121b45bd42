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
from tablekit.tools.adopt_names import counted, field_name, member_name, unused

__all__ = ["MAP", "FieldPlan", "MapPlan", "plan_field"]

ENUM_ROWS = 20
"""So many rows must have an attribute before few values look like all values."""
ENUM_VALUES = 8
MAPS = 2
"""So many maps of an attribute must be seen before they look alike."""
MAP_NAMES = 24
"""A map with more names is a dictionary rather than an object."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}.*")


@attrs.frozen(kw_only=True)
class FieldPlan:
    """A field as it will be written.

    Attributes:
        name, attribute: the field's and the stored name. annotation: its type. optional: whether rows are without it.
        members: the values, where it becomes an enum. evidence: what was seen. ttl: whether rows expire by it.
        map: the class of its maps; the annotation has ``MAP`` where its name will stand.
    """

    name: str
    attribute: str
    annotation: str
    optional: bool = False
    members: tuple[tuple[str, str], ...] = ()
    evidence: str = ""
    ttl: bool = False
    map: MapPlan | None = None


@attrs.frozen
class MapPlan:
    """A class for the maps of an attribute.

    Attributes:
        fields: its fields. count: how many maps were seen.
    """

    fields: tuple[FieldPlan, ...]
    count: int


MAP = "<map>"
"""Stands in an annotation for the name of a class that is given when the module is written."""


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
    found = _maps(values)
    annotation = _annotation(values) if isinstance(found, str) else _annotation(values, MAP)
    null = annotation == "None" or annotation.endswith(" | None")
    if missing and not null and annotation != "Any":
        annotation += " | None"
    if "NULL" in tags:
        evidence.append("a put writes None by leaving the attribute out, not as NULL")
    evidence += _remarks(values, tags)
    evidence += [found] if isinstance(found, str) and found else []
    return FieldPlan(
        name=name,
        attribute=attribute,
        annotation=annotation,
        optional=missing or null,
        members=members,
        evidence="; ".join(evidence),
        map=None if isinstance(found, str) else found,
    )


# Maps


def _maps(values: Sequence[AttributeValue]) -> MapPlan | str:
    """The class of the maps among values, or in lists of them; why there is none, ``""`` where there are no maps."""
    inner = [each for value in values for each in value.get("L", (value,))]
    maps = [value["M"] for value in inner if "M" in value]
    if not maps:
        return ""
    if any(set(value) - {"M", "NULL"} for value in inner) or _annotation(values, MAP).count(MAP) != 1:
        return "maps and other values"
    names = Counter(name for each in maps for name in each)
    reason = _unsteady(maps, names)
    if reason:
        return reason
    fields: list[FieldPlan] = []
    for name in names:
        free = unused(field_name(name), [field.name for field in fields])
        planned = plan_field(free, name, maps, key=False, ttl=False)
        nulls = any("NULL" in each[name] for each in maps if name in each)
        if nulls and names[name] < len(maps):
            return f"maps with names that are missing here and NULL there ({len(maps)} seen)"
        # A None that is always there is NULL; without a default it is written as such.
        fields.append(attrs.evolve(planned, members=(), optional=names[name] < len(maps)))
    return MapPlan(tuple(fields), len(maps))


def _unsteady(maps: Sequence[Mapping[str, Any]], names: Mapping[str, int]) -> str:
    """Why maps are no objects of one class, ``""`` where they may be."""
    if len(maps) < MAPS:
        return "1 map, too few for a class of its own"
    if not names:
        return "empty maps"
    if len(names) > MAP_NAMES or any(_NO_NAME.search(name) for name in names):
        return f"maps whose names look like values ({len(maps)} seen, {len(names)} names)"
    if max(names.values()) < len(maps) or min(names.values()) * 2 < len(maps):
        return f"maps of different shapes ({len(maps)} seen, {len(names)} names)"
    return ""


_NO_NAME = re.compile(r"^\d|\d{3}|[^\w $:.#-]|^$")
"""What stands in keys of dictionaries rather than in names: long numbers, signs."""


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


def _annotation(values: Sequence[AttributeValue], of_map: str = "dict[str, Any]") -> str:
    """The narrowest type that all values are of.

    Parameters:
        of_map: the type of maps.
    """
    by_tag: dict[str, list[Any]] = {}
    for value in values:
        ((tag, inner),) = value.items()
        by_tag.setdefault(tag, []).append(inner)
    null = by_tag.pop("NULL", None) is not None
    if not by_tag:
        return "None" if null else "Any"
    names = sorted(_of_tag(tag, inner, of_map) for tag, inner in by_tag.items())
    if len(names) > 1 and (set(by_tag) - {"S", "N", "B", "BOOL"} or "Any" in names):
        return "Any"
    return " | ".join([*names, "None"] if null else names)


def _of_tag(tag: str, inner: Sequence[Any], of_map: str) -> str:
    if tag in ("N", "NS"):
        texts = inner if tag == "N" else [text for texts in inner for text in texts]
        number = "int" if all(_whole(text) for text in texts) else "Decimal"
        return number if tag == "N" else f"set[{number}]"
    if tag == "L":
        members = [value for values in inner for value in values]
        within = _annotation(members, of_map) if members else "Any"
        return f"list[{within}]"
    return {"S": "str", "B": "bytes", "BOOL": "bool", "SS": "set[str]", "BS": "set[bytes]"}.get(tag, of_map)


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
