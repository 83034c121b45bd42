"""Expressions as text: the conditions, updates and projections of one request, over one table of placeholders.

Every name and every value stands behind a placeholder, so that no name of a caller can change what an
expression means and no reserved word matters. Placeholders are readable (``#title``, ``:title``), because
`explain` shows what is sent; an expression that is too long that way is written again with short ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from tablekit._types import AttributeValue
from tablekit.errors import ExpressionError, LimitExceeded
from tablekit.expressions.actions import Action, check_actions
from tablekit.expressions.conditions import Condition, Group, Leaf, Negation, Piece
from tablekit.expressions.paths import Path, attribute, find_overlap, outermost
from tablekit.expressions.values import Value, scalar_key

__all__ = ["MAX_EXPRESSION_BYTES", "MAX_OPERATORS", "Renderer"]

MAX_EXPRESSION_BYTES = 4096
"""The length of one expression's text, placeholders not replaced.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
"""

MAX_OPERATORS = 300
"""Operators and functions of one expression; same page."""

_CLAUSES = ("SET", "REMOVE", "ADD", "DELETE")
_KEY_OPERATORS = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


class Renderer:
    """The expressions of one request, and the names and values that they share.

    Make one for each request. Rendering changes it and nothing else; conditions and actions may be rendered
    any number of times.
    """

    __slots__ = ("_aliases", "_names", "_secrets", "_shared", "_short", "_suffixes", "_values")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, AttributeValue] = {}
        self._aliases: dict[object, str] = {}
        self._shared: dict[tuple[str, tuple[str, Any]], str] = {}
        self._secrets: set[str] = set()
        self._suffixes: dict[str, int] = {}
        self._short = False

    @property
    def names(self) -> dict[str, str] | None:
        """``ExpressionAttributeNames``, a fresh dict; None when there are none, since DynamoDB refuses ``{}``."""
        return dict(self._names) if self._names else None

    @property
    def values(self) -> dict[str, AttributeValue] | None:
        """``ExpressionAttributeValues``, a fresh dict; None when there are none, since DynamoDB refuses ``{}``."""
        return dict(self._values) if self._values else None

    @property
    def secrets(self) -> frozenset[str]:
        """The placeholders, of values and of the keys of secret maps, to be masked where the request is shown."""
        return frozenset(self._secrets)

    def render_condition(self, condition: Condition, what: str = "condition") -> str:
        """The text of a condition or a filter.

        Parameters:
            what: the word for it in errors, such as ``"filter"``.

        Raises `LimitExceeded` over 300 operators or 4 KB of text.
        """
        _check_operators(condition.operators, what)
        return self._within_limit(what, lambda: self._condition(condition))

    def render_filter(self, condition: Condition) -> str:
        """The text of a filter; as `render_condition`."""
        return self.render_condition(condition, "filter")

    def render_key_condition(self, condition: Condition) -> str:
        """The text of a key condition.

        Raises `ExpressionError` for what DynamoDB refuses there: OR, NOT, ``<>``, IN and most functions.
        https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
        """
        terms = condition.terms if isinstance(condition, Group) and condition.operator == "AND" else (condition,)
        for term in terms:
            if not isinstance(term, Leaf) or term.operator not in _KEY_OPERATORS:
                raise ExpressionError(
                    "a key condition takes =, <, <=, >, >=, between and begins_with, joined by AND; "
                    "put anything else into the filter"
                )
        return self.render_condition(condition, "key condition")

    def render_update(self, actions: Sequence[Action]) -> str:
        """The text of an update, each clause once, the actions of a clause in the caller's order.

        Raises `ExpressionError` for no actions and for what `check_actions` refuses; `LimitExceeded` over 300
        operators or 4 KB of text.
        """
        if not actions:
            raise ExpressionError("an update of no actions cannot be sent; give at least one, or leave the call out")
        check_actions(actions)
        _check_operators(sum(action.operators for action in actions), "update")
        return self._within_limit("update", lambda: self._update(actions))

    def render_projection(self, paths: Iterable[Path | str]) -> str:
        """The text of a projection, in the caller's order; a path inside another that is asked for is left out.

        Parameters:
            paths: paths, or stored names of top-level attributes.
        """
        kept = outermost(attribute(path) if isinstance(path, str) else path for path in paths)
        if not kept:
            raise ExpressionError("a projection of nothing cannot be sent; name at least one attribute")
        found = find_overlap(kept)
        if found is not None:
            first, second = str(found[0]), str(found[1])
            message = f"{first} and {second} conflict: one takes the value for a list and the other for a map"
            raise ExpressionError(message, paths=[first, second])
        return self._within_limit("projection", lambda: ", ".join([self._path(path) for path in kept]))

    def _condition(self, condition: Condition) -> str:
        if isinstance(condition, Leaf):
            return self._pieces(condition.pieces)
        out: list[str] = []
        # A stack of our own: a caller's condition may be nested deeper than Python may recurse.
        stack: list[Condition | str] = [condition]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                out.append(node)
            elif isinstance(node, Leaf):
                out.append(self._pieces(node.pieces))
            elif isinstance(node, Group):
                _push_group(stack, node)
            elif isinstance(node, Negation):
                _push_term(stack, node.term, enclosed=isinstance(node.term, Group))
                out.append("NOT ")
        return "".join(out)

    def _update(self, actions: Sequence[Action]) -> str:
        clauses: dict[str, list[str]] = {}
        for action in actions:
            clauses.setdefault(action.clause, []).append(self._pieces(action.pieces))
        return " ".join([f"{word} {', '.join(clauses[word])}" for word in _CLAUSES if word in clauses])

    def _pieces(self, pieces: tuple[Piece, ...]) -> str:
        out: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                out.append(piece)
            elif isinstance(piece, Value):
                out.append(self._value(piece))
            else:
                out.append(self._path(piece))
        return "".join(out)

    def _path(self, path: Path) -> str:
        segments = path.segments
        text = self._aliases.get(segments[0]) or self._name(segments[0])
        for segment in segments[1:]:
            text += f"[{segment}]" if isinstance(segment, int) else f".{self._name(segment, hidden=path.secret)}"
        return text

    def _name(self, segment: str | int, *, hidden: bool = False) -> str:
        """The placeholder of a name; the keys of a secret map have their own, which say nothing of them."""
        name = str(segment)
        kept: object = (name,) if hidden else name
        alias = self._aliases.get(kept)
        if alias is None:
            alias = self._aliases[kept] = self._unused("#", "secret" if hidden else name, self._names)
            self._names[alias] = name
            if hidden:
                self._secrets.add(alias)
        return alias

    def _value(self, value: Value) -> str:
        key = scalar_key(value.av)
        shared = None if key is None else self._shared.get((value.hint, key))
        if shared is None:
            shared = self._unused(":", value.hint, self._values)
            self._values[shared] = value.av
            if key is not None:
                self._shared[(value.hint, key)] = shared
        if value.secret:
            self._secrets.add(shared)
        return shared

    def _unused(self, sigil: str, word: str, taken: dict[str, Any]) -> str:
        """A placeholder that is not in `taken`: the word, then the word with 2, 3, ...; or the next short one."""
        stem = sigil if self._short else _readable(sigil, word)
        placeholder = f"{sigil}0" if self._short else stem
        count = self._suffixes.get(stem, 0 if self._short else 1)
        while placeholder in taken:
            count += 1
            placeholder = f"{stem}{count}" if self._short else f"{stem}_{count}"
        self._suffixes[stem] = count
        return placeholder

    def _within_limit(self, what: str, write: Callable[[], str]) -> str:
        """The text, with short placeholders when the readable ones make it too long."""
        names, values = len(self._names), len(self._values)
        text = write()
        if len(text) <= MAX_EXPRESSION_BYTES:
            return text
        self._forget(names, values)
        aliases, shared = self._aliases, self._shared
        self._aliases, self._shared, self._short = {}, {}, True
        try:
            text = write()
        finally:
            self._aliases, self._shared, self._short = {**self._aliases, **aliases}, {**self._shared, **shared}, False
        if len(text) > MAX_EXPRESSION_BYTES:
            self._forget(names, values)
            message = f"the {what} takes {len(text)} bytes of text, over DynamoDB's {MAX_EXPRESSION_BYTES}; split it up"
            raise LimitExceeded(message, limit=MAX_EXPRESSION_BYTES, actual=len(text))
        return text

    def _forget(self, names: int, values: int) -> None:
        # DynamoDB refuses names and values that no expression mentions.
        self._names = dict(list(self._names.items())[:names])
        self._values = dict(list(self._values.items())[:values])
        self._aliases = {name: alias for name, alias in self._aliases.items() if alias in self._names}
        self._shared = {key: found for key, found in self._shared.items() if found in self._values}
        self._secrets &= self._values.keys() | self._names.keys()


def _push_group(stack: list[Condition | str], group: Group) -> None:
    joint = f" {group.operator} "
    for place, term in enumerate(reversed(group.terms)):
        if place:
            stack.append(joint)
        # AND binds closer than OR. DynamoDB refuses doubled parentheses, so that there are none to spare.
        _push_term(stack, term, enclosed=group.operator == "AND" and isinstance(term, Group))


def _push_term(stack: list[Condition | str], term: Condition, *, enclosed: bool) -> None:
    if enclosed:
        stack += (")", term, "(")
    else:
        stack.append(term)


def _check_operators(count: int, what: str) -> None:
    if count > MAX_OPERATORS:
        message = f"the {what} has {count} operators and functions, over DynamoDB's {MAX_OPERATORS}; split it up"
        raise LimitExceeded(message, limit=MAX_OPERATORS, actual=count)


@lru_cache(maxsize=4096)
def _readable(sigil: str, word: str) -> str:
    # DynamoDB allows 255 bytes; beyond some 40 characters a placeholder is no longer quick to read.
    return sigil + re.sub(r"[^A-Za-z0-9_]", "_", word[:40])
