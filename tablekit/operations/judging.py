"""Conditions judged here, on a row that was read: for rows whose class DynamoDB cannot tell.

A row without a type passes the filter of a mixed query, since the filter tells classes by their type. Where its
class is inferred from its key, the caller's conditions on that class are judged afterwards, as DynamoDB would.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tablekit._types import AttributeValue, Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.schema import EntitySchema
from tablekit.expressions.conditions import Condition, Group, Leaf, Negation, owners
from tablekit.expressions.paths import Path
from tablekit.expressions.values import Value
from tablekit.operations.queryfilters import concerns, restricted

__all__ = ["holds", "judge"]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def judge(condition: Condition, schema: EntitySchema, item: Item) -> bool:
    """Whether a row of a class passes a condition of a mixed query; what speaks of other classes is left out."""
    own = restricted(condition, concerns(owners(condition), schema))
    return own is None or holds(own, item)


def holds(condition: Condition, item: Item) -> bool:
    """Whether a condition holds of a row."""
    if isinstance(condition, Negation):
        return not holds(condition.term, item)
    if isinstance(condition, Group):
        each = (holds(term, item) for term in condition.terms)
        return all(each) if condition.operator == "AND" else any(each)
    assert isinstance(condition, Leaf)
    return _leaf(condition, item)


def _leaf(leaf: Leaf, item: Item) -> bool:
    operands = _operands(leaf, item)
    first, rest = operands[0], operands[1:]
    name = leaf.operator
    if name == "attribute_exists":
        return first is not None
    if name == "attribute_not_exists":
        return first is None
    if name == "=":
        return first is not None and equal_wire(first, rest[0])
    if name == "<>":
        return not (first is not None and equal_wire(first, rest[0]))
    if first is None:
        return False
    return _present(name, first, rest)


def _present(name: str, first: AttributeValue, rest: list[AttributeValue | None]) -> bool:
    """A comparison or a function of an attribute that is there."""
    if name in _ORDER:
        return _ordered(name, first, rest[0])
    if name == "BETWEEN":
        return _ordered(">=", first, rest[0]) and _ordered("<=", first, rest[1])
    if name == "IN":
        return any(each is not None and equal_wire(first, each) for each in rest)
    operand = rest[0]
    return operand is not None and _applied(name, first, operand)


def _applied(name: str, first: AttributeValue, operand: AttributeValue) -> bool:
    """A function of an attribute and an operand."""
    if name == "attribute_type":
        return operand["S"] in first
    if name == "begins_with":
        (tag,) = first
        return tag in ("S", "B") and tag in operand and bool(first[tag].startswith(operand[tag]))
    assert name == "contains", name
    return _contains(first, operand)


def _ordered(name: str, left: AttributeValue, right: AttributeValue | None) -> bool:
    (tag,) = left
    if right is None or tag not in right or tag not in ("S", "N", "B"):
        return False
    return _ORDER[name](_sortable(tag, left[tag]), _sortable(tag, right[tag]))


def _sortable(tag: str, value: Any) -> Any:
    return Decimal(value) if tag == "N" else value


def _contains(whole: AttributeValue, part: AttributeValue) -> bool:
    ((tag, inner),) = whole.items()
    ((wanted, value),) = part.items()
    if tag in ("S", "B"):
        return wanted == tag and value in inner
    if tag == "L":
        return any(equal_wire(each, part) for each in inner)
    if tag in ("SS", "NS", "BS"):
        return tag == f"{wanted}S" and any(equal_wire({wanted: each}, part) for each in inner)
    return False


def _operands(leaf: Leaf, item: Item) -> list[AttributeValue | None]:
    """The values that a leaf speaks of, in order; None for an attribute that is not there."""
    found: list[AttributeValue | None] = []
    sized = False
    for piece in leaf.pieces:
        if isinstance(piece, str):
            sized = piece.endswith("size(")
            continue
        value = piece.av if isinstance(piece, Value) else _at(piece, item)
        found.append(_size(value) if sized else value)
        sized = False
    return found


def _at(path: Path, item: Item) -> AttributeValue | None:
    value: AttributeValue | None = item.get(path.attribute)
    for segment in path.segments[1:]:
        if value is None:
            return None
        if isinstance(segment, int):
            inside = value.get("L", ())
            value = inside[segment] if segment < len(inside) else None
        else:
            value = value.get("M", {}).get(segment)
    return value


def _size(value: AttributeValue | None) -> AttributeValue | None:
    if value is None:
        return None
    ((tag, inner),) = value.items()
    if tag not in ("S", "B", "M", "L", "SS", "NS", "BS"):
        return None
    return {"N": str(len(inner.encode() if tag == "S" else inner))}
