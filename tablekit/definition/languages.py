"""Which keys a template can render, and whether the keys of two templates can meet.

Comparing the literal beginnings of templates does not tell: ``DOC#{doc_id}`` and ``DOC#{doc_id}#CMT#{n}``
begin alike, and yet no key is in both, since a part never holds the separator. A small automaton over
sets of characters tells.

The answers are careful: "could" may be wrong, "could not" never is. They are exact for templates whose
separator is one character and stands in each literal between two parts. They are wider than the truth for
separators of several characters, for literals of several characters that hold no separator, for fields
that occur twice, for dates such as 2024-02-31, and for keys over DynamoDB's limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tablekit.definition.keyparts import MISSING, Part, value_at
from tablekit.definition.keyshape import CharSet, Run, Shape, exact, without
from tablekit.definition.templates import Template

__all__ = ["Language", "could_equal", "could_lie_between", "could_start_with"]

_LAST: Final = 0x10FFFF


class Language:
    """A set of keys, as an automaton whose arrows bear sets of characters.

    Made by `Language.of` or `Language.of_text`. The automaton is small: a state for each character of a
    literal and of a fixed-width part.

    Attributes:
        arrows: for each state its arrows, as (characters, next state), the silent steps already taken.
        starts: the states that a key begins in. ends: the states that a key may end in.
    """

    __slots__ = ("arrows", "ends", "starts")

    def __init__(self, rows: Sequence[Sequence[Shape]]) -> None:
        builder = _Builder()
        for row in rows:
            at = 0
            for shape in row:
                at = builder.add(at, shape)
            builder.finals.add(at)
        reach = builder.closures()
        self.starts: frozenset[int] = reach[0]
        self.ends = frozenset(state for state, states in enumerate(reach) if states & builder.finals)
        self.arrows: tuple[tuple[tuple[CharSet, frozenset[int]], ...], ...] = tuple(
            tuple((chars, reach[target]) for chars, target in arrows) for arrows in builder.arrows
        )

    @classmethod
    def of(cls, template: Template, values: Mapping[str, Any] | None = None, *, entity: str | None = None) -> Language:
        """The keys that a template renders, with some of its parts fixed to values.

        Parameters:
            values: values of the parts to fix, by field name; None for a tail that is not there. entity: the
                class's name, for messages; the template's owner when it is not given.

        Raises `KeyPartError` for a value that may not stand in its part.
        """
        known = values or {}
        name = entity or template.owner
        full = _row(template, template.literals, template.parts, known, name)
        if template.base_end is None:
            return cls([full])
        body = template.parts[: template.required]
        base = _row(template, (*template.literals[: template.required], template.base_end), body, known, name)
        tail = [value_at(known, part.name) for part in template.parts[template.required :]]
        if any(value is None for value in tail):
            return cls([base])
        return cls([full] if any(value is not MISSING for value in tail) else [base, full])

    @classmethod
    def of_text(cls, key: str) -> Language:
        """The language of one key."""
        return cls([[(exact(key),)]])

    def __contains__(self, key: str) -> bool:
        """Whether the key could be one of the language's."""
        return bool(self.after(key) & self.ends)

    def after(self, prefix: str) -> frozenset[int]:
        """The states that a key can be in once it has begun with this text; none when no key begins so."""
        states = self.starts
        for character in prefix:
            reached = [targets for state in states for chars, targets in self.arrows[state] if character in chars]
            states = frozenset[int]().union(*reached)
            if not states:
                break
        return states


def could_start_with(language: Language, prefix: str) -> bool:
    """Whether some key of the language could start with the text."""
    # Every state leads to an end, so that a live state is a key to come.
    return bool(language.after(prefix))


def could_equal(a: Language, b: Language) -> bool:
    """Whether some key could be in both languages."""
    pending = [(left, right) for left in a.starts for right in b.starts]
    seen = set(pending)
    while pending:
        left, right = pending.pop()
        if left in a.ends and right in b.ends:
            return True
        for pair in _common(a, left, b, right):
            if pair not in seen:
                seen.add(pair)
                pending.append(pair)
    return False


def _common(a: Language, left: int, b: Language, right: int) -> list[tuple[int, int]]:
    return [
        (x, y)
        for chars, lefts in a.arrows[left]
        for others, rights in b.arrows[right]
        if chars.meets(others)
        for x in lefts
        for y in rights
    ]


def could_lie_between(language: Language, low: str, high: str) -> bool:
    """Whether some key of the language could lie between two texts, both included, by UTF-8 byte order."""
    # A state, and how far the key still agrees with each bound; None once it is past it for good.
    pending: list[_Position] = [(state, 0, 0) for state in language.starts]
    seen = set(pending)
    while pending:
        position = pending.pop()
        state, below, _ = position
        if state in language.ends and (below is None or below == len(low)):
            return True
        for following in _steps(language, position, low, high):
            if following not in seen:
                seen.add(following)
                pending.append(following)
    return False


_Position = tuple[int, "int | None", "int | None"]


def _steps(language: Language, position: _Position, low: str, high: str) -> list[_Position]:
    state, below, above = position
    if below == len(low):
        below = None
    ranges = _bound_steps(below, low, above, high)
    return [
        (target, next_below, next_above)
        for chars, targets in language.arrows[state]
        for first, last, next_below, next_above in ranges
        if chars.meets_between(first, last)
        for target in targets
    ]


def _bound_steps(
    below: int | None, low: str, above: int | None, high: str
) -> list[tuple[int, int, int | None, int | None]]:
    """Ranges of the next character, with how the key then stands to each bound."""
    if above is not None and above == len(high):
        return []
    lows = [(0, _LAST, None)] if below is None else [_same(low, below), (ord(low[below]) + 1, _LAST, None)]
    highs = [(0, _LAST, None)] if above is None else [_same(high, above), (0, ord(high[above]) - 1, None)]
    both = [(max(a, c), min(b, d), x, y) for a, b, x in lows for c, d, y in highs]
    return [entry for entry in both if entry[0] <= entry[1]]


def _same(text: str, at: int) -> tuple[int, int, int | None]:
    return ord(text[at]), ord(text[at]), at + 1


def _row(
    template: Template, literals: Sequence[str], parts: Sequence[Part], values: Mapping[str, Any], entity: str
) -> list[Shape]:
    row: list[Shape] = [(exact(literals[0]),)]
    for part, literal in zip(parts, literals[1:], strict=True):
        value = value_at(values, part.name)
        if value is MISSING or (value is None and part.optional):
            row.append(_part_shape(template, part))
        else:
            row.append((exact(template.render_part(part, value, entity=entity)),))
        row.append((exact(literal),))
    return row


def _part_shape(template: Template, part: Part) -> Shape:
    shape = part.text.shape(part.spec)
    if part.width is not None:
        return shape
    # Only a text of one character is refused wherever it stands, and so can be taken out of the sets.
    refused = [text for text in (template.separator or "", part.following) if len(text) == 1]
    return without(shape, "".join(refused))


class _Builder:
    """An automaton in the making: states by number, the first is the start."""

    def __init__(self) -> None:
        self.arrows: list[list[tuple[CharSet, int]]] = [[]]
        self.silent: list[list[int]] = [[]]
        self.finals: set[int] = set()

    def state(self) -> int:
        self.arrows.append([])
        self.silent.append([])
        return len(self.arrows) - 1

    def add(self, at: int, shape: Shape) -> int:
        """Append the alternatives of a shape; the answer is the state after them."""
        end = self.state()
        for row in shape:
            state = at
            for run in row:
                state = self._run(state, run)
            self.silent[state].append(end)
        return end

    def _run(self, at: int, run: Run) -> int:
        for _ in range(run.least):
            at = self._step(at, run.chars)
        if run.most is None:
            # A state of its own: a loop on a shared one would mix this run with its neighbours.
            loop = self.state()
            self.silent[at].append(loop)
            self.arrows[loop].append((run.chars, loop))
            return loop
        end = self.state()
        for _ in range(run.most - run.least):
            self.silent[at].append(end)
            at = self._step(at, run.chars)
        self.silent[at].append(end)
        return end

    def _step(self, at: int, chars: CharSet) -> int:
        following = self.state()
        self.arrows[at].append((chars, following))
        return following

    def closures(self) -> list[frozenset[int]]:
        """For each state, the states that silent steps lead to, itself included."""
        return [self._closure(state) for state in range(len(self.silent))]

    def _closure(self, state: int) -> frozenset[int]:
        reached = {state}
        pending = [state]
        while pending:
            for target in self.silent[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return frozenset(reached)
