"""Update actions: what an update does to an attribute, or to a part of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import attrs

from tablekit._types import AttributeValue
from tablekit.errors import ExpressionError
from tablekit.expressions.conditions import Piece
from tablekit.expressions.paths import Path, attribute, find_overlap
from tablekit.expressions.values import Value

__all__ = [
    "Action",
    "Add",
    "Delete",
    "Operand",
    "Remove",
    "Set",
    "action_owners",
    "add_number",
    "add_to_set",
    "arithmetic",
    "check_actions",
    "delete_from_set",
    "if_not_exists",
    "list_append",
    "remove_attribute",
    "remove_path",
    "set_attribute",
    "set_if_not_exists",
    "set_path",
]

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class Operand(Generic[T]):
    """What SET may assign besides a value or a path: arithmetic, or a function.

    Parameters:
        pieces: its text in order; every str is text of this package, never a caller's.
        operators: how many operators and functions DynamoDB counts in it.
    """

    pieces: tuple[Piece, ...]
    operators: int

    def __repr__(self) -> str:
        names = ", ".join(str(piece) for piece in self.pieces if isinstance(piece, Path))
        return f"<Operand of {names}>"


@attrs.frozen(eq=False, repr=False)
class Action:
    """What an update does at one path. `Set`, `Remove`, `Add` and `Delete` are its kinds.

    Parameters:
        path: what is changed.
    """

    clause: ClassVar[Literal["SET", "REMOVE", "ADD", "DELETE"]]
    path: Path

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Its text in order, the clause's word left out."""
        return (self.path,)

    @property
    def operators(self) -> int:
        """How many operators and functions DynamoDB counts in it; the ``=`` of SET is none."""
        return 0

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"


@attrs.frozen(eq=False, repr=False)
class Set(Action):
    """Give the path a value.

    Parameters:
        operand: the value, another path to copy from, or an `Operand`.
    """

    clause = "SET"
    operand: Value | Path | Operand[Any]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        if isinstance(self.operand, Operand):
            return (self.path, " = ", *self.operand.pieces)
        return (self.path, " = ", self.operand)

    @property
    def operators(self) -> int:
        return self.operand.operators if isinstance(self.operand, Operand) else 0


@attrs.frozen(eq=False, repr=False)
class Remove(Action):
    """Remove the attribute, the map's key, or the list's element."""

    clause = "REMOVE"


@attrs.frozen(eq=False, repr=False)
class Add(Action):
    """Add to a number, or add elements to a set; a missing one starts at 0 or empty.

    Parameters:
        value: the number or the set.
        once: whether the update must be applied exactly once, also when its answer is lost.
    """

    clause = "ADD"
    value: Value
    once: bool = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (self.path, " ", self.value)


@attrs.frozen(eq=False, repr=False)
class Delete(Action):
    """Take elements out of a set; the attribute goes with its last element.

    Parameters:
        value: the set of what is taken out.
    """

    clause = "DELETE"
    value: Value

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (self.path, " ", self.value)


def arithmetic(left: Piece | Operand[Any], sign: Literal["+", "-"], right: Piece | Operand[Any]) -> Operand[Any]:
    """The sum or the difference of two operands."""
    count = sum(side.operators for side in (left, right) if isinstance(side, Operand))
    return Operand((*_pieces(left), f" {sign} ", *_pieces(right)), count + 1)


def if_not_exists(path: Path, default: Value) -> Operand[Any]:
    """The value at a path, or the default where there is none."""
    return Operand(("if_not_exists(", path, ", ", default, ")"), 1)


def list_append(left: Value | Operand[Any], right: Value | Operand[Any]) -> Operand[Any]:
    """The list that has the elements of two lists."""
    count = sum(side.operators for side in (left, right) if isinstance(side, Operand))
    return Operand(("list_append(", *_pieces(left), ", ", *_pieces(right), ")"), count + 1)


def _pieces(side: Piece | Operand[Any]) -> tuple[Piece, ...]:
    return side.pieces if isinstance(side, Operand) else (side,)


def set_path(segments: Sequence[str | int], av: AttributeValue, hint: str = "", *, secret: bool = False) -> Set:
    """SET at a path of stored names and indexes to an encoded value."""
    path = attribute(*_split(segments))
    return Set(path, Value(av, hint or path.hint, secret))


def remove_path(segments: Sequence[str | int]) -> Remove:
    """REMOVE at a path of stored names and indexes."""
    return Remove(attribute(*_split(segments)))


def _split(segments: Sequence[str | int]) -> tuple[Any, ...]:
    return (str(segments[0]), *segments[1:])


def set_attribute(name: str, av: AttributeValue, hint: str = "") -> Set:
    """SET of an attribute by stored name to an encoded value."""
    return Set(attribute(name), Value(av, hint or name))


def set_if_not_exists(name: str, av: AttributeValue, hint: str = "") -> Set:
    """SET of an attribute by stored name to an encoded value, unless the item has it already."""
    path = attribute(name)
    return Set(path, if_not_exists(path, Value(av, hint or name)))


def remove_attribute(name: str) -> Remove:
    """REMOVE of an attribute by stored name."""
    return Remove(attribute(name))


def add_number(name: str, number: int | str, hint: str = "") -> Add:
    """ADD of a number, or of its text, to an attribute by stored name."""
    return Add(attribute(name), Value({"N": str(number)}, hint or name))


def add_to_set(name: str, av: AttributeValue, hint: str = "") -> Add:
    """ADD of an encoded set to an attribute by stored name."""
    return Add(attribute(name), Value(av, hint or name))


def delete_from_set(name: str, av: AttributeValue, hint: str = "") -> Delete:
    """DELETE of an encoded set from an attribute by stored name."""
    return Delete(attribute(name), Value(av, hint or name))


def action_owners(actions: Iterable[Action]) -> set[type[Any]]:
    """The entity classes whose columns the actions change or read."""
    found = (piece.owner for action in actions for piece in action.pieces if isinstance(piece, Path))
    return {owner for owner in found if owner is not None}


def check_actions(actions: Sequence[Action]) -> None:
    """Refuse actions that DynamoDB would refuse together, and those that would change what they must not.

    Raises `ExpressionError` naming the paths as the caller wrote them: a key or managed attribute changed by
    hand, one path twice, a path and one inside it, or one value taken for a list and for a map.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
    """
    for action in actions:
        _check_changeable(action.path)
    found = find_overlap(action.path for action in actions)
    if found is None:
        return
    first, second, problem = found
    if problem == "overlap":
        message = f"{first} and {second} overlap, and one update may change each part once; combine them or send two"
    else:
        message = f"{first} and {second} conflict: one takes the value for a list and the other for a map; keep one"
    raise ExpressionError(message, paths=[str(first), str(second)])


def _check_changeable(path: Path) -> None:
    if path.managed:
        message = f"{path} is kept by tablekit and cannot be changed by hand; leave the action out"
        raise ExpressionError(message, paths=[str(path)])
    if path.key:
        message = f"{path} makes up the primary key, which no update can change; create the new item, delete the old"
        raise ExpressionError(message, paths=[str(path)])
