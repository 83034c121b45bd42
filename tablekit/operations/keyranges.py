"""From the fields that a query names to the keys that its classes may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tablekit._types import AttributeValue, KeyType
from tablekit.definition.keyparts import MISSING, value_at
from tablekit.definition.languages import could_lie_between, could_start_with
from tablekit.definition.schema import KeyAttribute
from tablekit.definition.templates import Part, Template, next_prefix
from tablekit.errors import KeyPartError, QueryError
from tablekit.expressions.conditions import Condition, begins_with, between, compare, equals
from tablekit.expressions.paths import attribute
from tablekit.operations.intervals import EVERYTHING, Interval, of_key, of_prefix
from tablekit.operations.queryspec import Bound

__all__ = ["comparable", "could_lie_in", "key_interval", "partition_conditions", "sort_condition", "spells"]


def partition_conditions(
    keys: Sequence[KeyAttribute], values: Mapping[str, Any], entity: str
) -> dict[str, AttributeValue]:
    """The values of a partition key's attributes. Raises `KeyPartError` for a part that is not given."""
    return {key.attribute: key.render(values, entity) for key in keys}


def comparable(value: AttributeValue, type: KeyType) -> Any:
    """A key's value in the form that compares as DynamoDB orders keys."""
    inner = value.get(type)
    return Decimal(inner) if type == "N" and inner is not None else inner


def wire(value: Any, type: KeyType) -> AttributeValue:
    """The attribute value of an interval's end."""
    return {type: format(value, "f") if type == "N" else value}


def key_interval(key: KeyAttribute, values: Mapping[str, Any], bounds: Sequence[Bound], entity: str) -> Interval:
    """Where the sort keys of a class lie, given some of its fields and ranges of the next one."""
    for bound in bounds:
        if bound.field not in key.template.names:
            raise QueryError(
                f"{bound.operator}({bound.field}=...) of {entity}: {bound.field!r} is no part of the sort key "
                f"{key.template.text!r}. Use where() for other fields."
            )
    if key.field is not None:
        return _native_interval(key, values, bounds, entity)
    if not bounds:
        return _without_bounds(key.template, values, entity)
    part = key.template.part_after(values)
    if part is None or any(bound.field != part.name for bound in bounds):
        raise _not_next(key, part, bounds, entity)
    prefix = _before(key.template, part, values, entity)
    return _not_empty(key, bounds, _meet([_text_interval(key, part, prefix, bound, entity) for bound in bounds]))


def _without_bounds(template: Template, values: Mapping[str, Any], entity: str) -> Interval:
    text, count, whole = template.prefix(values, entity=entity, loose=True)
    if whole:
        return of_key(text)
    if count != template.required or template.base_end != "" or template.parts[count - 1].width is not None:
        return of_prefix(text)
    # ``DOC#1`` without its tail, and ``DOC#1#CMT#...`` with one: what lies between them is parsed and dropped.
    return Interval(text, next_prefix(text + template.literals[count]), high_open=True, loose=True)


def _before(template: Template, part: Part, values: Mapping[str, Any], entity: str) -> str:
    """The text of a key up to a part, which is the first without a value."""
    text, count, _ = template.prefix(values, entity=entity, loose=True)
    if template.base_end is None or count != template.required or part is not template.parts[count]:
        return text
    return text.removesuffix(template.base_end) + template.literals[count]


def _not_empty(key: KeyAttribute, bounds: Sequence[Bound], interval: Interval) -> Interval:
    if interval.empty:
        names = ", ".join(f"{bound.operator}({bound.field}=...)" for bound in bounds)
        raise QueryError(
            f"No key {key.template.text!r} lies in {names}: the lower end is not below the upper one. "
            "Swap them, or take at_least() and at_most() for one value."
        )
    return interval


def spells(key: KeyAttribute, values: Mapping[str, Any], stored: AttributeValue) -> bool:
    """Whether a stored key reads back as these values of its parts."""
    found = key.match(stored)
    if found is None:
        return False
    return all(value_at(values, name) in (MISSING, value) for name, value in found.items())


def _not_next(key: KeyAttribute, part: Part | None, bounds: Sequence[Bound], entity: str) -> KeyPartError:
    bound = next((b for b in bounds if part is None or b.field != part.name), bounds[0])
    if part is None:
        reason = "it is given a value already"
    else:
        reason = f"the part before it, {part.name!r}, has no value"
    return KeyPartError(
        f"{bound.operator}({bound.field}=...) of {entity}: in the sort key {key.template.text!r} a range stands on the "
        f"first part without a value, and {reason}.",
        entity=entity,
        template=key.template.text,
        part=bound.field,
    )


def _text_interval(key: KeyAttribute, part: Part, prefix: str, bound: Bound, entity: str) -> Interval:
    template = key.template
    if bound.operator == "begins_with":
        return of_prefix(prefix + template.begin_part(part, bound.low, entity=entity))
    if not part.ordered:
        raise KeyPartError(
            f"{bound.operator}({bound.field}=...) of {entity}: keys {template.text!r} do not sort by "
            f"{part.name!r}, whose text varies in width or has no order. Give it a fixed width, or use where().",
            entity=entity,
            template=template.text,
            part=part.name,
        )

    def text(value: Any) -> str:
        return prefix + template.render_part(part, value, entity=entity)

    rest = of_prefix(prefix)
    low = (rest.low, False)
    high = (rest.high, rest.high_open)
    if bound.operator in ("after", "at_least", "between"):
        low = _lower(text(bound.low), part.last, strict=bound.operator == "after")
    if bound.operator in ("before", "at_most", "between"):
        value = bound.high if bound.operator == "between" else bound.low
        high = _upper(text(value), part.last, strict=bound.operator == "before")
    return Interval(low[0], high[0], low_open=low[1], high_open=high[1])


def _lower(text: str, last: bool, *, strict: bool) -> tuple[str | None, bool]:
    if not strict:
        return text, False
    # Where more follows the part, every key of the value itself begins with the text.
    return (text, True) if last else (next_prefix(text), False)


def _upper(text: str, last: bool, *, strict: bool) -> tuple[str | None, bool]:
    if strict:
        return text, True
    return (text, False) if last else (next_prefix(text), True)


def _native_interval(key: KeyAttribute, values: Mapping[str, Any], bounds: Sequence[Bound], entity: str) -> Interval:
    field = key.field
    assert field is not None

    def ordered(value: Any) -> Any:
        return comparable(key.native(value, entity), key.type)

    if field.name in values:
        if bounds:
            raise _not_next(key, None, bounds, entity)
        return of_key(ordered(values[field.name]))
    found = [_native_bound(key, bound, ordered) for bound in bounds]
    return _not_empty(key, bounds, _meet(found)) if found else EVERYTHING


def _native_bound(key: KeyAttribute, bound: Bound, ordered: Any) -> Interval:
    if bound.operator == "begins_with":
        if key.type == "N":
            raise QueryError(f"begins_with({bound.field}=...): a number has no beginning. Use between().")
        if key.type == "S":
            if not isinstance(bound.low, str) or not bound.low:
                raise QueryError(f"begins_with({bound.field}=...) wants the beginning of a text, not empty.")
            return of_prefix(bound.low)
        raise QueryError(f"begins_with({bound.field}=...): use between() on a binary key.")
    low = ordered(bound.low)
    if bound.operator == "between":
        return Interval(low, ordered(bound.high))
    if bound.operator in ("after", "at_least"):
        return Interval(low, None, low_open=bound.operator == "after")
    return Interval(None, low, high_open=bound.operator == "before")


def _meet(intervals: Sequence[Interval]) -> Interval:
    """The keys that lie in all of the intervals."""
    result = intervals[0]
    for other in intervals[1:]:
        low, low_open = _tighter(result.low, result.low_open, other.low, other.low_open, larger=True)
        high, high_open = _tighter(result.high, result.high_open, other.high, other.high_open, larger=False)
        result = Interval(low, high, low_open=low_open, high_open=high_open)
    return result


def _tighter(one: Any, one_open: bool, other: Any, other_open: bool, *, larger: bool) -> tuple[Any, bool]:
    if one is None or other is None:
        return (other, other_open) if one is None else (one, one_open)
    if one == other:
        return one, one_open or other_open
    return (one, one_open) if (one > other) is larger else (other, other_open)


def sort_condition(name: str, interval: Interval, type: KeyType) -> Condition | None:
    """The key condition that covers an interval; None for every key of the partition."""
    if interval.exact:
        return equals(name, wire(interval.low, type), name)
    if interval.prefix is not None:
        return begins_with(name, {"S": interval.prefix}, name)
    if interval.low is None and interval.high is None:
        return None
    if interval.low is not None and interval.high is not None:
        return between(name, wire(interval.low, type), wire(interval.high, type))
    path = attribute(name)
    if interval.low is not None:
        return compare(path, ">" if interval.low_open else ">=", wire(interval.low, type), name)
    return compare(path, "<" if interval.high_open else "<=", wire(interval.high, type), name)


@lru_cache(maxsize=4096)
def could_lie_in(key: KeyAttribute, interval: Interval) -> bool:
    """Whether some key of a template may lie in an interval; never a wrong no."""
    if key.language is None:
        return True
    if interval.prefix is not None:
        return could_start_with(key.language, interval.prefix)
    if interval.exact:
        return str(interval.low) in key.language
    if interval.low is None and interval.high is None:
        return True
    # An open end is where text ends: no character sorts after the last one, and every text has one before it.
    return could_lie_between(key.language, interval.low or "", interval.high or "\U0010ffff" * key.template.limit)
