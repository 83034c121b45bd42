"""Which attribute says what a row is, if any does, and the groups of rows that become classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from tablekit._types import Item
from tablekit.tools.adopt_keys import KeyReader, Shape, text_of
from tablekit.tools.adopt_tables import AdoptError, SourceTable

__all__ = ["RowGroup", "TypeAttribute", "find_type_attribute", "group_rows", "key_like"]

_WORDS = frozenset(
    word + suffix
    for word in ("type", "entitytype", "entity", "et", "itemtype", "rowtype", "recordtype", "objecttype", "doctype")
    for suffix in ("", "name")
) | {"documenttype", "modeltype", "model", "kind", "class", "cls", "discriminator", "edbe"}
"""How type attributes are called, in small letters and without anything else."""
COVERAGE = 0.5
"""The share of rows that must have the attribute."""
LONGEST = 40
"""A type of more characters is a sentence."""
_KEY_LIKE = re.compile(r"(?i)(pk|sk|hash|range|key)[_-]?\d*$|^_?(pk|sk|gs\d|gsi|lsi)")


def key_like(attribute: str) -> bool:
    """Whether an attribute is called as those are that only keys of indexes are kept in."""
    return _KEY_LIKE.search(attribute) is not None


@attrs.frozen
class TypeAttribute:
    """What was found about the attribute that holds the type.

    Attributes:
        name: the attribute, or None. evidence: what speaks for it and against others, in sentences.
    """

    name: str | None
    evidence: tuple[str, ...]


@attrs.define
class RowGroup:
    """Rows that become one class.

    Attributes:
        type: the stored type; None for rows without one. aliases: other spellings of it. rows: by the shapes of their
            keys, the most frequent first. notes: for the reader of the result.
    """

    type: str | None
    aliases: tuple[str, ...]
    rows: dict[Shape, list[Item]]
    notes: list[str] = attrs.Factory(list[str])

    @property
    def items(self) -> list[Item]:
        """All rows."""
        return [item for rows in self.rows.values() for item in rows]


def find_type_attribute(table: SourceTable, chosen: str | None = None) -> TypeAttribute:
    """The attribute that holds the type.

    Parameters:
        chosen: the user's word: an attribute, or ``""`` for none.

    An attribute is taken when it is called as types are, most rows have it as a string, and rows whose keys look
    alike agree about it; what was turned down is told. Raises `AdoptError` where several are equally good.
    """
    if not table.rows:
        return TypeAttribute(chosen or None, ("there are no rows, and so no classes: only the table is here",))
    if chosen is not None:
        return TypeAttribute(chosen or None, (f"the type attribute is the one that was given ({chosen or 'none'})",))
    names = {name for item in table.rows for name in item if _word(name) in _WORDS and name not in table.key_names}
    verdicts = {name: _against(table, name) for name in sorted(names)}
    good = [name for name, reason in verdicts.items() if reason is None]
    if len(good) > 1:
        raise AdoptError(
            f"Table {table.name!r} has several attributes that may hold the type: {', '.join(map(repr, good))}. "
            "Say which: --type-attribute NAME (type_attribute='NAME'), or none with an empty name."
        )
    evidence = [f"{name!r} is not taken for the type: {reason}" for name, reason in verdicts.items() if reason]
    if good:
        rows = sum(text_of(item, good[0]) is not None for item in table.rows)
        evidence.insert(0, f"{good[0]!r} holds the type: {rows} of {len(table.rows)} rows have it")
    elif not verdicts:
        evidence.append("no attribute is called as types are: classes are told by the shapes of keys")
    return TypeAttribute(good[0] if good else None, tuple(evidence))


def _word(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _against(table: SourceTable, name: str) -> str | None:
    having = [item for item in table.rows if name in item]
    if any("S" not in item[name] for item in having):
        return "some rows have it, and not as a string"
    if len(having) < len(table.rows) * COVERAGE:
        return f"{len(having)} of {len(table.rows)} rows have it"
    if len(having) == len(table.rows):
        return None
    reader = KeyReader(table, frozenset({name}))
    values: dict[Shape, set[str]] = {}
    for item in having:
        values.setdefault(reader.shape(item), set()).add(item[name]["S"])
    torn = sum(len(each) > 1 for each in values.values())
    if torn * 2 > len(values):
        return "rows whose keys look alike differ in it, and other rows have none, as with a value of the business"
    return None


# Groups


def group_rows(table: SourceTable, reader: KeyReader, type_attribute: str | None) -> list[RowGroup]:
    """The groups: one for each type, and for rows without a type one for each shape of keys.

    Spellings of a type that differ in case, spaces and signs only are one type. A row without a type whose keys look
    like those of exactly one type is counted there.
    """
    typed, untyped = _by_type(table.rows, type_attribute)
    groups = [_typed(values, reader) for values in _spellings(typed)]
    shapes: dict[Shape, list[RowGroup]] = {}
    for group in groups:
        for shape in group.rows:
            shapes.setdefault(shape, []).append(group)
    loose: dict[Shape, list[Item]] = {}
    for item in untyped:
        shape = reader.shape(item)
        owners = shapes.get(shape, [])
        if len(owners) == 1:
            owners[0].rows[shape].append(item)
            owners[0].notes.append(_adopted(table, item))
        else:
            loose.setdefault(shape, []).append(item)
    return groups + [RowGroup(None, (), {shape: rows}) for shape, rows in loose.items()]


def _adopted(table: SourceTable, item: Item) -> str:
    key = " ".join(f"{name}={next(iter(item[name].values()))!r}" for name in table.key_names)
    return f"the row {key} has no type, and is told by its key"


def _by_type(rows: Iterable[Item], attribute: str | None) -> tuple[dict[str, list[Item]], list[Item]]:
    typed: dict[str, list[Item]] = {}
    untyped: list[Item] = []
    for item in rows:
        value = None if attribute is None else text_of(item, attribute)
        if value and value.strip():
            typed.setdefault(value, []).append(item)
        else:
            untyped.append(item)
    return typed, untyped


def _spellings(typed: dict[str, list[Item]]) -> list[dict[str, list[Item]]]:
    """The types, those together that differ only in spelling; the most frequent spelling first."""
    found: dict[str, dict[str, list[Item]]] = {}
    for value, rows in sorted(typed.items(), key=lambda entry: -len(entry[1])):
        found.setdefault(re.sub(r"[\W_]", "", value.lower()) or value, {})[value] = rows
    order = list(typed)
    return sorted(found.values(), key=lambda values: min(order.index(value) for value in values))


def _typed(values: dict[str, list[Item]], reader: KeyReader) -> RowGroup:
    first, *others = values
    shapes: dict[Shape, list[Item]] = {}
    for item in (item for rows in values.values() for item in rows):
        shapes.setdefault(reader.shape(item), []).append(item)
    ordered = dict(sorted(shapes.items(), key=lambda entry: -len(entry[1])))
    group = RowGroup(first, tuple(others), ordered)
    if others:
        counts = Counter({value: len(rows) for value, rows in values.items()})
        shown = ", ".join(f"{value!r} ({count})" for value, count in counts.most_common())
        group.notes.append(f"the type is spelt in several ways: {shown}; the next save of a row writes the first")
    if len(first) > LONGEST or first.count(" ") > 2:
        group.notes.append("the type reads like a sentence, and may be a remark rather than a type")
    return group


def describe_shape(shape: Shape, names: Sequence[str]) -> str:
    """A shape of keys for people: ``PK=USER#* SK=META``."""
    sides = ("#".join("*" if token is None else token for token in tokens) for tokens in shape)
    return " ".join(f"{name}={side}" for name, side in zip(names, sides))
