"""Conditions: what must hold of an item, for a write to happen or a read to return it.

A condition is a tree of three kinds of node. A leaf is one comparison or function, kept as the pieces of its
text; a group joins terms by AND or OR and is flat; a negation holds one term. Nothing here recurses, so that
a condition of ten thousand terms can be built, walked and refused by its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NoReturn

import attrs

from tablekit._types import AttributeValue
from tablekit.errors import ExpressionError
from tablekit.expressions.paths import Path, attribute
from tablekit.expressions.values import Value

__all__ = [
    "Comparator",
    "Condition",
    "Group",
    "Leaf",
    "Negation",
    "Piece",
    "all_of",
    "any_of",
    "attribute_exists",
    "attribute_not_exists",
    "begins_with",
    "between",
    "checked",
    "compare",
    "conjunction",
    "equals",
    "function",
    "leaves",
    "membership",
    "one_of",
    "owners",
    "paths",
]

Comparator = Literal["=", "<>", "<", "<=", ">", ">="]
"""The comparison operators of DynamoDB's condition language."""

Piece = str | Path | Value
"""A part of an expression: fixed text of this package, a path, or a value."""

_MAX_OPERANDS = 100
"""Operands of one IN: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""


_SHOWN = 3
"""Paths that a condition's repr names."""


class Condition:
    """What must hold of an item; combined with ``&``, ``|`` and ``~``, and never changed.

    Attributes:
        operators: how many operators and functions DynamoDB counts in it; a request may hold 300.
    """

    __slots__ = ()

    @property
    def operators(self) -> int:
        """How many operators and functions DynamoDB counts in it."""
        raise AssertionError("every kind of condition counts its own operators")

    def __and__(self, other: Condition) -> Condition:
        return all_of(self, other) if _is_condition(other) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return any_of(self, other) if _is_condition(other) else NotImplemented

    def __invert__(self) -> Condition:
        return Negation(self)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a condition has no truth value here, DynamoDB evaluates it: combine conditions with & and | in place "
            "of 'and' and 'or', negate with ~, and test 'condition is not None' for whether there is one"
        )

    def __repr__(self) -> str:
        names = list(dict.fromkeys(str(path) for path in paths(self)))
        more = ", ..." if names[_SHOWN:] else ""
        return f"<Condition on {', '.join(names[:_SHOWN])}{more}>"


@attrs.frozen(eq=False, repr=False)
class Leaf(Condition):
    """One comparison or function.

    Parameters:
        operator: DynamoDB's word for it, such as ``"="``, ``"BETWEEN"`` or ``"begins_with"``.
        pieces: its text in order; every str is text of this package, never a caller's.
        functions: how many functions, such as size, stand inside it.
    """

    operator: str
    pieces: tuple[Piece, ...]
    functions: int = 0

    @property
    def operators(self) -> int:
        return 1 + self.functions


@attrs.frozen(eq=False, repr=False)
class Group(Condition):
    """Two or more terms joined by one operator; no term is a group of the same operator.

    Parameters:
        operator: ``"AND"`` or ``"OR"``. terms: in the caller's order. count: the operators, those inside included.
    """

    operator: Literal["AND", "OR"]
    terms: tuple[Condition, ...]
    count: int

    @property
    def operators(self) -> int:
        return self.count


@attrs.frozen(eq=False, repr=False)
class Negation(Condition):
    """What must not hold.

    Parameters:
        term: the condition that is negated. count: the operators, those inside included.
    """

    term: Condition
    count: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        # Kept, not computed: a chain of groups and negations may be thousands deep.
        object.__setattr__(self, "count", self.term.operators + 1)

    @property
    def operators(self) -> int:
        return self.count

    def __invert__(self) -> Condition:
        return self.term


def all_of(*conditions: Condition) -> Condition:
    """The condition that holds when all of these do. Raises `ExpressionError` when there is none."""
    return _join("AND", conditions)


def any_of(*conditions: Condition) -> Condition:
    """The condition that holds when at least one of these does. Raises `ExpressionError` when there is none."""
    return _join("OR", conditions)


def conjunction(*conditions: Condition | None) -> Condition | None:
    """All of the conditions that are given; None when none is."""
    given = [checked(condition) for condition in conditions if condition is not None]
    return _join("AND", given) if given else None


def checked(condition: Any) -> Condition:
    """A caller's condition. Raises `ExpressionError` for what is none, such as an expression as text."""
    if not isinstance(condition, Condition):
        # Python evaluates 'is', 'in', 'not' and 'and' by itself, and what it gives is a bool.
        remedy = "; in place of 'is None' write == None, of 'not' ~, of 'and' &" if isinstance(condition, bool) else ""
        raise ExpressionError(
            f"a condition is made of columns, such as Document.status == ..., and is no {type(condition).__name__}"
            f"{remedy}"
        )
    return condition


def _join(operator: Literal["AND", "OR"], conditions: Sequence[Condition]) -> Condition:
    terms: list[Condition] = []
    for condition in map(checked, conditions):
        if isinstance(condition, Group) and condition.operator == operator:
            terms.extend(condition.terms)
        else:
            terms.append(condition)
    if not terms:
        raise ExpressionError(f"{operator} of no conditions means nothing; give at least one")
    if len(terms) == 1:
        return terms[0]
    # Counted over what was given, so that a group that grows term by term is not counted anew each time.
    count = sum(condition.operators for condition in conditions) + len(conditions) - 1
    return Group(operator, tuple(terms), count)


def _is_condition(value: object) -> bool:
    return isinstance(value, Condition)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The comparisons and functions of a condition, in order."""
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, Leaf):
            yield node
        elif isinstance(node, Group):
            stack.extend(reversed(node.terms))
        elif isinstance(node, Negation):
            stack.append(node.term)


def paths(condition: Condition) -> list[Path]:
    """The paths that a condition speaks of, in order, repetitions included."""
    return [piece for leaf in leaves(condition) for piece in leaf.pieces if isinstance(piece, Path)]


def owners(condition: Condition) -> set[type[Any]]:
    """The entity classes whose columns a condition was made of."""
    return {path.owner for path in paths(checked(condition)) if path.owner is not None}


def compare(target: Path | str, operator: Comparator, operand: AttributeValue | Value | Path, hint: str = "") -> Leaf:
    """A comparison of an attribute, by path or by stored name, with a value or another path."""
    path = _path(target)
    right = operand if isinstance(operand, (Path, Value)) else Value(operand, hint or path.hint)
    return Leaf(operator, (path, f" {operator} ", right))


def equals(target: Path | str, av: AttributeValue | Value, hint: str = "") -> Leaf:
    """That an attribute has this encoded value; `hint` is the word its placeholder is made of."""
    return compare(target, "=", av, hint)


def between(target: Path | str, low: AttributeValue | Value, high: AttributeValue | Value) -> Leaf:
    """That an attribute lies between two encoded values, both included."""
    path = _path(target)
    bounds = [
        bound if isinstance(bound, Value) else Value(bound, f"{path.hint}_{end}")
        for bound, end in ((low, "low"), (high, "high"))
    ]
    return Leaf("BETWEEN", (path, " BETWEEN ", bounds[0], " AND ", bounds[1]))


def function(name: str, path: Path, operand: Path | Value | None = None) -> Leaf:
    """A function of the condition language, of a path and at most one operand."""
    if operand is None:
        return Leaf(name, (f"{name}(", path, ")"))
    return Leaf(name, (f"{name}(", path, ", ", operand, ")"))


def begins_with(target: Path | str, av: AttributeValue | Value, hint: str = "") -> Leaf:
    """That an attribute's text or bytes begin with this encoded value."""
    path = _path(target)
    return function("begins_with", path, av if isinstance(av, Value) else Value(av, hint or path.hint))


def attribute_exists(target: Path | str) -> Leaf:
    """That an item has the attribute."""
    return function("attribute_exists", _path(target))


def attribute_not_exists(target: Path | str) -> Leaf:
    """That an item lacks the attribute; true also of an item that is not there."""
    return function("attribute_not_exists", _path(target))


def one_of(target: Path | str, avs: Iterable[AttributeValue], hint: str = "", hints: Iterable[str] = ()) -> Condition:
    """That an attribute has one of these encoded values.

    Parameters:
        hint: the word that their placeholders are made of. hints: a word for each, in order; before `hint`.
    """
    path = _path(target)
    words = iter(hints)
    return membership(path, [Value(av, next(words, hint or path.hint)) for av in avs])


def membership(path: Path, values: Sequence[Value]) -> Condition:
    """That the value at a path is one of these: IN, in portions of 100 joined by OR.

    Raises `ExpressionError` when there are none: no item could match.
    """
    if not values:
        raise ExpressionError(f"{path}: one of no values matches nothing; leave the call out", paths=[str(path)])
    if len(values) == 1:
        return compare(path, "=", values[0])
    chunks = [values[start : start + _MAX_OPERANDS] for start in range(0, len(values), _MAX_OPERANDS)]
    return any_of(*(_in(path, chunk) for chunk in chunks))


def _in(path: Path, values: Sequence[Value]) -> Leaf:
    pieces: list[Piece] = [path, " IN ("]
    for value in values:
        pieces += [value, ", "]
    pieces[-1] = ")"
    return Leaf("IN", tuple(pieces))


def _path(target: Path | str) -> Path:
    return target if isinstance(target, Path) else attribute(target)
