"""Key templates for the rows of one class, each part tied to an attribute that holds the same text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import attrs

from tablekit._types import Item
from tablekit.tools.adopt_keys import ATOM, KeyReader, Shape, text_of
from tablekit.tools.adopt_names import RESERVED, field_name, words
from tablekit.tools.adopt_tables import SourceTable
from tablekit.tools.adopt_types import RowGroup

__all__ = ["KeyPart", "KeyTemplate", "TemplateFinder", "join_tail"]


@attrs.frozen
class KeyPart:
    """A part of a template.

    Attributes:
        field: the field's name. attribute: the attribute that holds the value; None where the key alone has it.
        spec: the format. values: the texts that were seen.
    """

    field: str
    attribute: str | None
    spec: str = ""
    values: frozenset[str] = frozenset()


@attrs.frozen
class KeyTemplate:
    """The template of one key attribute.

    Attributes:
        attribute: the key attribute. pieces: literals and parts, delimiters included. native: whether the attribute is
            the field itself. tail: from which piece on it is optional; None where it is whole.
    """

    attribute: str
    pieces: tuple[str | KeyPart, ...]
    native: bool = False
    tail: int | None = None

    @property
    def parts(self) -> tuple[KeyPart, ...]:
        """The parts in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, KeyPart))

    @property
    def optional(self) -> frozenset[str]:
        """The fields of the optional tail."""
        tail = () if self.tail is None else self.pieces[self.tail :]
        return frozenset(piece.field for piece in tail if isinstance(piece, KeyPart))

    @property
    def text(self) -> str:
        """The template as a class has it."""
        shown = [_shown(piece) for piece in self.pieces]
        if self.tail is not None:
            shown = [*shown[: self.tail], "[", *shown[self.tail :], "]"]
        return "".join(shown)


def _shown(piece: str | KeyPart) -> str:
    if isinstance(piece, str):
        return re.sub(r"[{}\[\]]", lambda match: match.group() * 2, piece)
    return f"{{{piece.field}:{piece.spec}}}" if piece.spec else f"{{{piece.field}}}"


class TemplateFinder:
    """Finds the templates of groups of rows.

    Parameters:
        table, reader: whose rows. ignored: attributes that no part is tied to: the type, keys of indexes.
    """

    def __init__(self, table: SourceTable, reader: KeyReader, ignored: frozenset[str]) -> None:
        self._table = table
        self._reader = reader
        self._ignored = ignored | set(table.key_names)
        self._mixed: frozenset[str] = frozenset()

    def bare(self) -> tuple[KeyTemplate, ...]:
        """Templates that are the key attributes themselves, and so read any row."""
        return tuple(self._native(name) for name in self._table.key_names)

    def _native(self, attribute: str) -> KeyTemplate:
        return KeyTemplate(attribute, (KeyPart(field_name(attribute), attribute),), native=True)

    def of_shape(self, group: RowGroup, shape: Shape) -> tuple[KeyTemplate, ...]:
        """The templates of the rows of one shape."""
        rows = group.rows[shape]
        naming = _Naming({name for item in group.items for name in item})
        tags: dict[str, set[str]] = {}
        for item in group.items:
            for name, value in item.items():
                tags.setdefault(name, set()).update(value)
        # A part is a field of one scalar type, in all rows of the class.
        self._mixed = frozenset(name for name, each in tags.items() if each not in ({"S"}, {"N"}))
        found: list[KeyTemplate] = []
        for attribute, labels in zip(self._table.key_names, shape):
            role_is_sort = attribute == self._table.sk
            found.append(self._template(attribute, labels, rows, naming, sorts=role_is_sort))
        return tuple(found)

    def _template(
        self, attribute: str, labels: Sequence[str | None], rows: Sequence[Item], naming: _Naming, *, sorts: bool
    ) -> KeyTemplate:
        texts = [text_of(item, attribute) for item in rows]
        if any(text is None for text in texts):
            return self._native(attribute)
        tokens = [self._reader.tokens(attribute, text or "") for text in texts]
        pieces: list[str | KeyPart] = []
        for place, label in enumerate(labels):
            if place:
                pieces.append(self._reader.delimiter(attribute) or "")
            if label is not None:
                pieces.append(label)
                continue
            values = [each[place] for each in tokens]
            linked = self._linked(values, rows, sorts=sorts)
            if linked is None and len(labels) == 1 and not naming.knows(values):
                return self._native(attribute)
            named = linked or naming.part(attribute, labels, place, values)
            pieces.append(attrs.evolve(named, values=frozenset(values)))
        return KeyTemplate(attribute, _joined(pieces))

    def _linked(self, values: Sequence[str], rows: Sequence[Item], *, sorts: bool) -> KeyPart | None:
        """The attribute that holds the same text in all rows that have it; the best by its name, then the first."""
        for name in dict.fromkeys(name for item in rows for name in item):
            if name in self._ignored or name in self._mixed:
                continue
            spec = _agrees(name, values, rows, sorts=sorts)
            if spec is not None:
                return KeyPart(field_name(name), name, spec)
        return None


def _agrees(name: str, values: Sequence[str], rows: Sequence[Item], *, sorts: bool) -> str | None:
    """The format in which an attribute stands in the keys; None where it does not."""
    pairs = [(item[name], value) for item, value in zip(rows, values) if name in item]
    if not pairs or len(pairs) * 2 < len(rows):
        return None
    if all(stored.get("S") == value for stored, value in pairs):
        return ""
    texts = [str(stored.get("N", "")) for stored, _ in pairs]
    # Numbers are equal by chance more often than texts: they have to be there, and to differ.
    if len(pairs) < len(rows) or len(set(texts)) < 2 or not all(text.isdigit() for text in texts):
        return None
    if all(text == value for text, (_, value) in zip(texts, pairs)):
        return "d"
    widths = {len(value) for _, value in pairs}
    if len(widths) == 1 and all(value == text.zfill(len(value)) for text, (_, value) in zip(texts, pairs)):
        return f"0{widths.pop()}d"
    return None


class _Naming:
    """Names the parts that no attribute holds; equal values in two places of a key are one part."""

    def __init__(self, attributes: set[str]) -> None:
        self._taken = {field_name(name) for name in attributes}
        self._by_values: dict[tuple[str, ...], KeyPart] = {}

    def knows(self, values: Sequence[str]) -> bool:
        return tuple(values) in self._by_values

    def part(self, attribute: str, labels: Sequence[str | None], place: int, values: Sequence[str]) -> KeyPart:
        known = self._by_values.get(tuple(values))
        if known is not None:
            return known
        name = self._free(_part_name(attribute, labels, place, values))
        self._taken.add(name)
        part = self._by_values[tuple(values)] = KeyPart(name, None)
        return part

    def _free(self, name: str) -> str:
        number, found = 2, name
        while found in self._taken or found in RESERVED:
            found, number = f"{name}_{number}", number + 1
        return found


def _part_name(attribute: str, labels: Sequence[str | None], place: int, values: Iterable[str]) -> str:
    before = labels[place - 1] if place else None
    stem = "_".join(words(before or "")).lower()
    if not stem or stem[0].isdigit():
        return f"{'_'.join(words(attribute)).lower() or 'key'}_{place + 1}"
    times = all(ATOM.match(value) and value[:4].isdigit() for value in values)
    return f"{stem}_at" if times else f"{stem}_id"


def _joined(pieces: Sequence[str | KeyPart]) -> tuple[str | KeyPart, ...]:
    found: list[str | KeyPart] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        elif piece != "":
            found.append(piece)
    return tuple(found)


def join_tail(short: Sequence[KeyTemplate], long: Sequence[KeyTemplate]) -> tuple[KeyTemplate, ...] | None:
    """One set of templates for two, the longer of which goes on in its last key; None where it does not.

    ``TOTAL#{a}`` and ``TOTAL#{a}#{b}`` are ``TOTAL#{a}[#{b}]``.
    """
    *heads, end = short
    *others, longer = long
    same: Callable[[KeyTemplate, KeyTemplate], bool] = lambda mine, theirs: mine.text == theirs.text  # noqa: E731
    if len(heads) != len(others) or not all(map(same, heads, others)) or end.native or longer.native:
        return None
    count = len(end.pieces)
    mine, theirs = [_bare(piece) for piece in end.pieces], [_bare(piece) for piece in longer.pieces[:count]]
    rest = longer.pieces[count:]
    if mine != theirs or len(rest) < 2 or not isinstance(rest[0], str) or not isinstance(end.pieces[-1], KeyPart):
        return None
    again = {part.field for part in end.parts} & {piece.field for piece in rest if isinstance(piece, KeyPart)}
    return None if again else (*heads, attrs.evolve(longer, tail=count))


def _bare(piece: str | KeyPart) -> str:
    return _shown(piece)
