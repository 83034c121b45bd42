"""What key texts look like, and what a key text is.

A key part says by its shape which texts it can render; `tablekit.definition.languages` decides from the
shapes whether keys of two templates can meet. A shape may be too wide (it then only makes the answer
more careful), never too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple

__all__ = ["ANY", "DIGITS", "Bind", "CharSet", "KeyText", "Run", "Shape", "exact", "without"]

Bind = Callable[[str, Any], str]
"""Makes an object visible in generated source: (hint, object) to the name it has there."""

LAST: Final = 0x10FFFF


class CharSet:
    """A set of Unicode characters, kept as sorted ranges of code points that do not touch.

    Parameters:
        ranges: pairs of first and last code point, in any order; they may overlap.
    """

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        merged: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        self.ranges: tuple[tuple[int, int], ...] = tuple(merged)

    @classmethod
    def of(cls, characters: str) -> CharSet:
        """The set of the characters of a text."""
        return cls((ord(character), ord(character)) for character in characters)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet(self.ranges + other.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, character: str) -> bool:
        point = ord(character)
        return any(low <= point <= high for low, high in self.ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharSet) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash(self.ranges)

    def __repr__(self) -> str:
        return f"CharSet({list(self.ranges)!r})"

    def meets(self, other: CharSet) -> bool:
        """Whether some character is in both sets."""
        return any(a <= d and c <= b for a, b in self.ranges for c, d in other.ranges)

    def meets_between(self, low: int, high: int) -> bool:
        """Whether some character's code point lies between `low` and `high`, both included."""
        return any(a <= high and low <= b for a, b in self.ranges)

    def without(self, characters: str) -> CharSet:
        """The set without the characters of a text."""
        ranges = list(self.ranges)
        for point in map(ord, characters):
            ranges = [piece for pair in ranges for piece in _cut(pair, point)]
        return CharSet(ranges)


def _cut(pair: tuple[int, int], point: int) -> list[tuple[int, int]]:
    low, high = pair
    if not low <= point <= high:
        return [pair]
    return [(a, b) for a, b in ((low, point - 1), (point + 1, high)) if a <= b]


class Run(NamedTuple):
    """From `least` to `most` characters of one set; `most` is None where there is no bound."""

    chars: CharSet
    least: int
    most: int | None


Shape = tuple[tuple[Run, ...], ...]
"""The texts of a key part: alternatives, each a row of runs."""

ANY: Final = CharSet([(0, 0xD7FF), (0xE000, LAST)])
"""Every character that UTF-8 can hold: all but the surrogates."""

DIGITS: Final = CharSet.of("0123456789")
"""The ASCII digits."""


def exact(text: str) -> tuple[Run, ...]:
    """The runs that stand for one text and no other."""
    return tuple(Run(CharSet.of(character), 1, 1) for character in text)


def without(shape: Shape, characters: str) -> Shape:
    """The shape without the texts that hold one of the characters."""
    kept: list[tuple[Run, ...]] = []
    for row in shape:
        runs = tuple(Run(run.chars.without(characters), run.least, run.most) for run in row)
        if all(run.chars or run.least == 0 for run in runs):
            kept.append(tuple(run for run in runs if run.chars))
    return tuple(kept)


class KeyText:
    """How values of one Python type stand in a key.

    A spec is what follows the colon in a template's part: ``06d`` in ``{rev:06d}``. Every method takes it,
    so that one `KeyText` serves all parts of its type.

    Attributes:
        name: the Python type for messages.
        numeric: whether the type is a number, whose plain text does not sort by size.
    """

    name: str = "Any"
    numeric: bool = False

    def render(self, value: Any, spec: str = "") -> str:
        """The text of a value. Raises `ValueProblem` for a value that has none."""
        raise AssertionError("a key text overrides render")

    def parse(self, text: str, spec: str = "") -> Any:
        """The value of a text.

        Raises ValueError when `render` does not give exactly this text for any value, or when the spec
        loses part of the value.
        """
        raise AssertionError("a key text overrides parse")

    def accepts(self, text: str, spec: str = "") -> bool:
        """Whether `render` gives this text for some value."""
        try:
            self.parse(text, spec)
        except ValueError:
            return False
        return True

    def width(self, spec: str = "") -> int | None:
        """How many characters every text has; None when they differ."""
        return None

    def lossless(self, spec: str = "") -> bool:
        """Whether the value can be read back from the text."""
        return True

    def ordered(self, spec: str = "") -> bool:
        """Whether texts sort, by UTF-8 bytes, as their values do."""
        return True

    def shape(self, spec: str = "") -> Shape:
        """What the texts look like."""
        return ((Run(ANY, 1, None),),)

    def charclass(self, spec: str = "") -> CharSet:
        """Every character that a text may hold."""
        chars = CharSet()
        for row in self.shape(spec):
            for run in row:
                chars |= run.chars
        return chars

    def check_spec(self, spec: str) -> str | None:
        """Why the spec is wrong for the type, as the rest of a sentence; None when it is right."""
        return f"{self.name} takes no format, not {spec!r}" if spec else None

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        """Generated code: a test that the quick way holds, and the text as a replacement field of an f-string.

        `value` is the name of the value. The test may be empty. The field holds no quotes, and may raise
        ValueError where the test holds; it never gives another text than `render`.
        """
        return "", f"{{{bind('render', partial(self.render, spec=spec))}({value})}}"
