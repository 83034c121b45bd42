"""Columns: what ``Document.title`` gives, and what conditions and update actions are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, Protocol, TypeGuard, TypeVar, cast, overload

from typing_extensions import Never

from tablekit.errors import ExpressionError
from tablekit.expressions import conditions
from tablekit.expressions.actions import Action, Add, Delete, Operand, Remove
from tablekit.expressions.assigning import (
    Default,
    append_action,
    default_operand,
    set_action,
    sum_of,
    value_to_change,
)
from tablekit.expressions.comparing import (
    Size,
    begins_with_condition,
    between_condition,
    column_condition,
    contains_condition,
    is_in_condition,
    size_of,
    type_condition,
)
from tablekit.expressions.conditions import Comparator, Condition
from tablekit.expressions.nested import select_path
from tablekit.expressions.paths import Path

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["Column", "WireType"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")
T_co = TypeVar("T_co", covariant=True)

WireType = Literal["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"]
"""The types of DynamoDB, as `Column.is_type` takes them."""


class _Of(Protocol[T_co]):
    """A column read as the type of its values; covariant, so that an Optional or a subtype fits too."""

    @property
    def path(self) -> Path: ...

    @property
    def _value(self) -> T_co: ...


class Column(Generic[T]):
    """A field seen from its class, or a part inside it; conditions and actions are made of it.

    Values are encoded at once, so that an `EncodeError` points at the line that gave the value. Every
    condition speaks of what is stored: a missing attribute equals nothing, and differs (``!=``) from everything.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html

    Parameters:
        path: the document path.
    """

    __slots__ = ("path",)

    if TYPE_CHECKING:

        @property
        def _value(self) -> T: ...

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<Column {self.path}: {self.path.codec.name}>"

    __iter__: None = None
    """Without this, ``for x in Document.tags`` would ask for ``[0]``, ``[1]``, ... without end."""

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError(f"'in' gives a bool, not a condition; write {self.path}.contains(...)")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self.path} has no truth value on the class, DynamoDB evaluates it: write a comparison, or "
            ".exists(), and combine conditions with & and |"
        )

    def __hash__(self) -> int:
        return id(self.path)

    def __eq__(self, other: T | Column[T]) -> Condition:  # type: ignore[override]
        """That the stored value equals a value or another column.

        ``== None`` means "NULL or missing", on a field that may be None; ``== set()`` means "missing", since
        DynamoDB has no empty set.
        """
        return self._compare("=", other)

    def __ne__(self, other: T | Column[T]) -> Condition:  # type: ignore[override]
        """The opposite of ``==``; ``!= value`` holds also of a missing attribute."""
        return self._compare("<>", other)

    def __lt__(self, other: T | Column[T]) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: T | Column[T]) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: T | Column[T]) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: T | Column[T]) -> Condition:
        return self._compare(">=", other)

    def between(self, low: T, high: T) -> Condition:
        """That the stored value lies between two values, both included.

        Raises `ExpressionError` when `low` is above `high` or the type has no order.
        """
        return between_condition(self.path, low, high)

    def is_in(self, values: Iterable[T], *others: Never) -> Condition:
        """That the stored value is one of these; more than 100 become several INs joined by OR.

        Parameters:
            values: a collection of values. others: there are none; they are taken so as to be refused with the remedy.

        Raises `ExpressionError` for no values at all, since nothing could match.
        """
        if others:
            message = f"{self.path}: is_in takes one collection of values; write is_in([a, b]), not is_in(a, b)"
            raise ExpressionError(message, paths=[str(self.path)])
        return is_in_condition(self.path, values)

    def begins_with(self, prefix: str | bytes) -> Condition:
        """That the stored text or bytes begin with `prefix`, which is compared as it is, not encoded."""
        return begins_with_condition(self.path, prefix)

    @overload
    def contains(self: _Of[str | None], value: str) -> Condition: ...
    @overload
    def contains(self: _Of[AbstractSet[V] | list[V] | tuple[V, ...] | None], value: V) -> Condition: ...
    @overload
    def contains(self, value: Any) -> Condition: ...
    def contains(self: _Of[Any], value: Any) -> Condition:
        """That the stored text has this part, or the stored set or list this element."""
        return contains_condition(self.path, value)

    def exists(self) -> Condition:
        """That the attribute is stored, NULL included."""
        return conditions.attribute_exists(self.path)

    def not_exists(self) -> Condition:
        """That the attribute is not stored; true also of an item that is not there."""
        return conditions.attribute_not_exists(self.path)

    def is_type(self, wire_type: WireType) -> Condition:
        """That the stored value has this DynamoDB type, such as ``"S"`` or ``"NULL"``."""
        return type_condition(self.path, wire_type)

    def size(self) -> Size:
        """The stored size, to be compared with an int: bytes of text or binary, elements of a container."""
        return size_of(self.path)

    def __add__(self, other: T | Column[T] | Default[T]) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "+", _plain(other)))

    def __sub__(self, other: T | Column[T] | Default[T]) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "-", _plain(other)))

    def __radd__(self, other: T) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "+", other, swapped=True))

    def __rsub__(self, other: T) -> Operand[T]:
        return cast("Operand[T]", sum_of(self.path, "-", other, swapped=True))

    def if_not_exists(self, default: T) -> Default[T]:
        """The stored value, or `default` where none is: ``Document.n.set(Document.n.if_not_exists(0) + 1)``."""
        return cast("Default[T]", default_operand(self.path, default))

    def set(self, value: T | Column[T] | Operand[T]) -> Action:
        """Give the attribute a value, the value of another column, or the result of arithmetic.

        A whole dict or list replaces the stored one; `column["key"].set(...)` changes one key and leaves the
        others. None removes the attribute (inside a document it stores NULL), and so does an empty set.
        """
        return set_action(self.path, _plain(value))

    def add(self, value: T, *, once: bool = False) -> Action:
        """Add to a number, or add the elements of a set; a missing attribute starts at 0 or empty.

        Parameters:
            once: count exactly once, also when the answer is lost and the request sent again: the update goes out
                as a transaction of one action, which takes twice the write units.

        Raises `ExpressionError` for an empty set, and for a type that is neither.
        """
        return Add(self.path, value_to_change(self.path, "add", ("N", "SS", "NS", "BS"), value), once)

    def delete(self, value: T) -> Action:
        """Take the elements of a set out of the stored set. Raises `ExpressionError` as `add` does."""
        return Delete(self.path, value_to_change(self.path, "delete", ("SS", "NS", "BS"), value))

    def remove(self) -> Action:
        """Remove the attribute, the map's key, or the list's element (later elements move up)."""
        return Remove(self.path)

    def append(self: _Of[list[V] | tuple[V, ...] | None], values: Iterable[V]) -> Action:
        """Add elements at the end of a list, which need not exist yet."""
        return append_action(self.path, values, front=False)

    def prepend(self: _Of[list[V] | tuple[V, ...] | None], values: Iterable[V]) -> Action:
        """Add elements at the start of a list, which need not exist yet."""
        return append_action(self.path, values, front=True)

    @overload
    def __getitem__(self: _Of[Mapping[K, V] | None], key: K) -> Column[V]: ...
    @overload
    def __getitem__(self: _Of[list[V] | tuple[V, ...] | None], key: int) -> Column[V]: ...
    @overload
    def __getitem__(self, key: Any) -> Column[Any]: ...
    def __getitem__(self: _Of[Any], key: Any) -> Column[Any]:
        """The value at a map's key or a list's index, from 0."""
        return Column(self.path.child(key))

    def at(self: _Of[A | None], select: Callable[[A], V]) -> Column[V]:
        """A part of a nested class's value: ``Document.address.at(lambda a: a.state)``.

        Parameters:
            select: is called with a stand-in for the value, and returns the attribute that is meant; it may go
                deeper (``a.lines[0].city``) and may do nothing else.
        """
        return Column(select_path(self.path, select))

    def _compare(self, operator: Comparator, other: object) -> Condition:
        if isinstance(other, Operand):
            message = f"{self.path} {operator} ...: DynamoDB computes in updates only; a condition takes a value"
            raise ExpressionError(message, paths=[str(self.path)])
        return column_condition(self.path, operator, _plain(other))


def _plain(value: object) -> object:
    """The path of a column; any other value as it is."""
    return value.path if _is_column(value) else value


def _is_column(value: object) -> TypeGuard[Column[Any]]:
    return isinstance(value, Column)
