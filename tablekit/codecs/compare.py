"""Attribute values compared the way DynamoDB compares them: by value, not by spelling."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.numbers import read_decimal

__all__ = ["MAX_DEPTH", "canonical", "check_depth", "depth", "equal_wire", "too_deep"]

MAX_DEPTH = 32
"""How many levels a stored value may have: itself, and 31 lists or maps around the innermost one.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
"""


def equal_wire(a: AttributeValue | None, b: AttributeValue | None) -> bool:
    """Whether two attribute values are equal: numbers by value, sets in any order, maps by key, at every depth.

    None stands for a missing attribute and equals only None.
    """
    if a == b:
        return True
    if a is None or b is None or a.keys() != b.keys():
        return False
    return canonical(a) == canonical(b)


def canonical(av: AttributeValue) -> Hashable:
    """A hashable form of an attribute value, equal for equal values."""
    ((tag, value),) = av.items()
    if tag == "N":
        return tag, _number(value)
    if tag == "NS":
        return tag, frozenset(map(_number, value))
    if tag in ("SS", "BS"):
        return tag, frozenset(map(_plain, value))
    if tag == "L":
        return tag, tuple(map(canonical, value))
    if tag == "M":
        return tag, frozenset((name, canonical(inner)) for name, inner in value.items())
    return tag, _plain(value)


def _number(text: Any) -> Hashable:
    try:
        return read_decimal(text)
    except ValueProblem:
        return text, "unreadable"


def _plain(value: Any) -> Hashable:
    return bytes(value) if isinstance(value, bytearray) else value


def depth(av: AttributeValue) -> int:
    """The level of the innermost value, counting the attribute itself as level 1: 2 for a list of scalars.

    It does not recurse, so that a value of any depth can be measured. Above `MAX_DEPTH` DynamoDB refuses.
    """
    levels, row = 0, [av]
    while row:
        levels += 1
        row = [inner for value in row for inner in _inside(value)]
    return levels


def check_depth(av: AttributeValue) -> None:
    """Raise `ValueProblem` when an attribute value is nested deeper than DynamoDB stores."""
    if depth(av) > MAX_DEPTH:
        raise too_deep()


def too_deep() -> ValueProblem:
    """The problem of a value that is nested too deep."""
    return ValueProblem(f"is nested deeper than the {MAX_DEPTH} levels that DynamoDB stores")


def _inside(av: AttributeValue) -> Iterable[AttributeValue]:
    if "M" in av:
        return list(av["M"].values())
    inside: Iterable[AttributeValue] = av.get("L", ())
    return inside
