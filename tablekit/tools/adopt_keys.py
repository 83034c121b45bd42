"""Reading keys that nobody described: their delimiter, their labels, and the parts that are values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from tablekit._types import Item
from tablekit.tools.adopt_tables import SourceTable

__all__ = ["ATOM", "KeyReader", "Shape", "text_of"]

DELIMITERS = ("::", "#", "|", "/", ":")
_ATOMS = (
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    r"[a-z][a-z0-9+.-]*://\S+",
    r"[^@\s]+@[^@\s]+\.[^@\s]+",
)
ATOM = re.compile("|".join(f"(?:{atom})" for atom in _ATOMS))
"""Texts that hold delimiters and are one value all the same: UUIDs, times, addresses."""

MANY_LABELS = 24
"""More words than this in one place are values rather than labels."""

Shape = tuple[tuple["str | None", ...], ...]
"""For each key attribute its tokens: a label, or None where a value stands."""


def text_of(item: Item, attribute: str) -> str | None:
    """The text of a string attribute; None where it is missing, or of another type."""
    value = item.get(attribute, {}).get("S")
    return value if isinstance(value, str) else None


@attrs.frozen
class _Seen:
    """What the keys of one attribute have in common.

    Attributes:
        delimiter: what stands between tokens, or None. firsts: the first tokens of keys of several. places: how many
            rows have a word in a place. singles: words that are whole keys, with the other keys that they stand
            beside. mixed: whether other keys of the attribute have several tokens.
    """

    delimiter: str | None
    firsts: Counter[str]
    places: Counter[tuple[int, str]]
    singles: Mapping[str, frozenset[str]]
    mixed: bool
    repeated: bool


class KeyReader:
    """Takes the keys of a table apart.

    Parameters:
        table: with its rows. ignored: attributes whose values say nothing of keys: types, keys of indexes.
    """

    def __init__(self, table: SourceTable, ignored: frozenset[str]) -> None:
        self._names = table.key_names
        self._ignored = ignored | set(self._names)
        self._rows = table.rows
        found = {name: _delimiter(self._texts(name)) for name in self._names}
        common = next((each for each in found.values() if each is not None), None)
        self._seen = {name: self._look(name, found[name] or common) for name in self._names}
        self._held = self._count_held()

    def _texts(self, name: str) -> list[str]:
        return [text for item in self._rows if (text := text_of(item, name)) is not None]

    def delimiter(self, attribute: str) -> str | None:
        """What stands between the tokens of an attribute's keys."""
        return self._seen[attribute].delimiter

    def tokens(self, attribute: str, text: str) -> list[str]:
        """The tokens of a key; times and addresses stay whole."""
        return _split(text, self.delimiter(attribute))

    def _look(self, name: str, delimiter: str | None) -> _Seen:
        firsts: Counter[str] = Counter()
        places: Counter[tuple[int, str]] = Counter()
        singles: dict[str, set[str]] = {}
        for item in self._rows:
            text = text_of(item, name)
            if text is None:
                continue
            tokens = _split(text, delimiter)
            places.update(enumerate(tokens))
            if len(tokens) > 1:
                firsts[tokens[0]] += 1
            elif not _valued(text):
                others = "\0".join(str(item.get(other)) for other in self._names if other != name)
                singles.setdefault(text, set()).add(others)
        repeated = (
            bool(singles) and len(singles) <= MANY_LABELS // 3 and all(len(each) > 1 for each in singles.values())
        )
        kept = {word: frozenset(others) for word, others in singles.items()}
        return _Seen(delimiter, firsts, places, kept, bool(firsts), repeated)

    def shape(self, item: Item) -> Shape:
        """The labels of a row's keys."""
        return tuple(self._labels(name, item) for name in self._names)

    def _labels(self, name: str, item: Item) -> tuple[str | None, ...]:
        text = text_of(item, name)
        if text is None:
            return (None,)
        tokens = self.tokens(name, text)
        found: list[str | None] = []
        for place, token in enumerate(tokens):
            label = token == "" or self._is_label(name, tokens, place, found)
            found.append(token if label else None)
        if all(each in ("", None) for each in found[1:]) and found[0] is None:
            # A key that begins with a value has no label by which its words could be told from values.
            return tuple(token if token == "" else None for token in tokens)
        return tuple(found)

    def _is_label(self, name: str, tokens: Sequence[str], place: int, before: Sequence[str | None]) -> bool:
        token, seen = tokens[place], self._seen[name]
        if _valued(token) or self._is_value(name, place, token):
            return False
        if len(tokens) == 1:
            return self._single(name, token)
        if place == 0:
            return len(seen.firsts) <= max(MANY_LABELS, len(self._rows) // 10)
        if before[-1] is None:
            return seen.places[place, token] > 1
        return all(each == "" for each in before)

    def _single(self, name: str, token: str) -> bool:
        seen = self._seen[name]
        if name == self._names[0]:
            return seen.mixed and " " not in token
        others = seen.singles.get(token, frozenset())
        return seen.repeated or (seen.mixed and " " not in token and (len(others) > 1 or _loud(token)))

    def _is_value(self, name: str, place: int, token: str) -> bool:
        """Whether most rows that have the token in this place have an attribute of the same text."""
        return self._held[name, place, token] * 2 > self._seen[name].places[place, token]

    def _count_held(self) -> Counter[tuple[str, int, str]]:
        found: Counter[tuple[str, int, str]] = Counter()
        for item in self._rows:
            texts = {value.get("S") for name, value in item.items() if name not in self._ignored}
            for name in self._names:
                tokens = self.tokens(name, text_of(item, name) or "")
                found.update((name, place, token) for place, token in enumerate(tokens) if token in texts)
        return found


def _valued(token: str) -> bool:
    return any(letter.isdigit() for letter in token) or ATOM.fullmatch(token) is not None


def _loud(token: str) -> bool:
    """Whether a word looks like a constant of a program: META, "info", fiscalYearEnd is none."""
    return token.isupper() or not token[0].isalnum()


def _split(text: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return [text]
    if delimiter not in ":/":
        return text.split(delimiter)
    held: list[str] = []

    def keep(match: re.Match[str]) -> str:
        held.append(match.group())
        return f"\0{len(held) - 1}\0"

    hidden = ATOM.sub(keep, text)
    return [re.sub("\0(\\d+)\0", lambda match: held[int(match.group(1))], part) for part in hidden.split(delimiter)]


def _delimiter(texts: Sequence[str]) -> str | None:
    """What most keys are divided by; None where it is too rare to be more than chance."""
    bare = [ATOM.sub("", text) for text in texts]
    counts = {each: sum(each in text for text in bare) for each in DELIMITERS}
    if counts["::"]:
        counts[":"] = 0
    best = max(DELIMITERS, key=lambda each: counts[each])
    return best if counts[best] > max(0, min(1, len(texts) - 1)) or counts[best] > len(texts) / 5 else None
