"""How a change of a column becomes an update action, and what is refused because DynamoDB would refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, Literal, TypeGuard, TypeVar, cast

import attrs

from tablekit.errors import ExpressionError
from tablekit.expressions.actions import Action, Operand, Remove, Set, arithmetic, if_not_exists, list_append
from tablekit.expressions.paths import Path
from tablekit.expressions.values import Value, encode, encode_step

__all__ = ["Default", "append_action", "default_operand", "set_action", "sum_of", "value_to_change"]

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class Default(Operand[T], Generic[T]):
    """The stored value, or a default where there is none; ``+`` and ``-`` compute with it.

    Parameters:
        path: where the value is stored.
    """

    path: Path

    def __add__(self, other: T | Default[T]) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "+", other, start=self))

    def __sub__(self, other: T | Default[T]) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "-", other, start=self))


def default_operand(path: Path, default: object) -> Default[Any]:
    """``if_not_exists(path, :default)``."""
    value = _required(path, default, "if_not_exists")
    operand = if_not_exists(path, attrs.evolve(value, hint=f"{path.hint}_default"))
    return Default(operand.pieces, operand.operators, path)


def sum_of(
    path: Path,
    sign: Literal["+", "-"],
    other: object,
    *,
    start: Operand[Any] | None = None,
    swapped: bool = False,
) -> Operand[Any]:
    """The sum or difference of what is at a path (or `start`) and a number, a path, or another operand.

    Raises `ExpressionError` where the field is not stored as a number.
    """
    if path.codec.tags and "N" not in path.codec.tags:
        raise _refusal(path, f"DynamoDB computes with numbers only, and the field is {path.codec.name}")
    left = path if start is None else start
    if isinstance(other, Path) or _is_default(other):
        return arithmetic(left, sign, other)
    if isinstance(other, Operand):
        raise _refusal(path, "DynamoDB computes one sum or difference at a time; add the numbers up in Python first")
    value = _step(path, other, sign)
    if "N" not in value.av:
        raise _refusal(path, f"DynamoDB computes with numbers only, not with {type(other).__name__}")
    value = attrs.evolve(value, hint=f"{path.hint}_step")
    return arithmetic(value, sign, left) if swapped else arithmetic(left, sign, value)


def set_action(path: Path, value: object) -> Action:
    """SET to a value, another path or an operand; REMOVE for what is stored by leaving the attribute out."""
    if isinstance(value, Path) or _is_operand(value):
        return Set(path, value)
    if value is None and path.codec.nullable and not path.null:
        return Remove(path)
    encoded = encode(path, value)
    if encoded is not None:
        return Set(path, encoded)
    if isinstance(path.segments[-1], int):
        raise _refusal(path, "an empty set cannot be a list's element, since DynamoDB has none; use a list, or None")
    if not path.empty:
        raise _refusal(path, "an empty set cannot be stored, and a missing one reads as another value; use a list")
    return Remove(path)


def value_to_change(path: Path, verb: str, tags: tuple[str, ...], value: object) -> Value:
    """The operand of ADD or DELETE, which must be of one of these wire types."""
    allowed = "numbers and sets" if "N" in tags else "sets"
    if path.codec.tags and path.codec.tags.isdisjoint(tags):
        raise _refusal(path, f"{verb} is for {allowed}, and the field is {path.codec.name}; use set")
    encoded = _step(path, value, verb)
    if encoded.av.keys().isdisjoint(tags):
        raise _refusal(path, f"{verb} takes {allowed}, not {type(value).__name__}")
    return encoded


def append_action(path: Path, values: Iterable[Any], *, front: bool) -> Action:
    """SET to the stored list, or an empty one where there is none, with elements added at one end."""
    verb = "prepend" if front else "append"
    if path.codec.tags and "L" not in path.codec.tags:
        raise _refusal(path, f"{verb} is for lists, and the field is {path.codec.name}; use add for a set")
    if isinstance(values, (str, bytes)):
        raise _refusal(path, f"{verb} takes a collection of elements; put the {type(values).__name__} into a list")
    if not isinstance(values, Iterable):
        raise _refusal(path, f"{verb} takes a collection of elements, not a {type(values).__name__}")
    elements = list(values)
    # A tuple's codec takes no list, and a list's no tuple.
    encoded = encode(path, tuple(elements) if path.codec.name.startswith("tuple") else elements)
    if encoded is None or "L" not in encoded.av:
        raise _refusal(path, f"{verb} is for lists, and the field is {path.codec.name}")
    stored = if_not_exists(path, Value({"L": []}, "empty"))
    added = attrs.evolve(encoded, hint=f"{path.hint}_{verb}")
    return Set(path, list_append(added, stored) if front else list_append(stored, added))


def _is_operand(value: object) -> TypeGuard[Operand[Any]]:
    return isinstance(value, Operand)


def _is_default(value: object) -> TypeGuard[Default[Any]]:
    return isinstance(value, Default)


def _step(path: Path, value: object, verb: str) -> Value:
    """What is added or taken away, which need not be of the field's own type: a time is moved by a span."""
    return _given(path, encode_step(path, value), verb)


def _required(path: Path, value: object, verb: str) -> Value:
    return _given(path, encode(path, value), verb)


def _given(path: Path, encoded: Value | None, verb: str) -> Value:
    if encoded is None:
        raise _refusal(path, f"{verb} of an empty set changes nothing, and DynamoDB has none; leave the action out")
    return encoded


def _refusal(path: Path, message: str) -> ExpressionError:
    return ExpressionError(f"{path}: {message}", paths=[str(path)])
