"""Rows of a source: each becomes DynamoDB JSON, or is reported with its place, its key and the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.compare import equal_wire
from tablekit.tools.adopt_names import counted
from tablekit.tools.adopt_tables import AdoptError, BadRow
from tablekit.wire.plain import as_item, is_wire_value, mapping_of, wire_item, wire_of_plain, wire_value

__all__ = ["Placed", "ReadRows", "guess_keys", "read_rows"]

Placed = tuple[str, Any]
"""Where a row stands, and the row."""

KEY_NAMES = (("pk", "sk"), ("partitionkey", "sortkey"), ("hashkey", "rangekey"), ("hash", "range"), ("id", ""))


@attrs.frozen
class ReadRows:
    """What became of the rows of a source.

    Attributes:
        rows: in DynamoDB JSON. bad: those that are none. notes: what was repaired or dropped.
    """

    rows: tuple[Item, ...]
    bad: tuple[BadRow, ...]
    notes: tuple[str, ...]


class _Rows:
    def __init__(self, key_names: Sequence[str], *, repair: bool) -> None:
        self.key_names = key_names
        self.repair = repair
        self.repaired = 0
        self.rows: dict[tuple[Any, ...], Item] = {}
        self.bad: list[BadRow] = []
        self.twice = 0

    def add(self, place: str, row: Any) -> None:
        try:
            item = self._read(row)
            _check_texts(item)
            key = self._key(item)
        except ValueProblem as problem:
            where = f"{problem.path[1:]} " if problem.path else ""
            self.bad.append(BadRow(place, self._show(row), f"{where}{problem.reason}"))
            return
        first = self.rows.setdefault(key, item)
        if first is item:
            return
        self.twice += 1
        same = first.keys() == item.keys() and all(equal_wire(first[name], item[name]) for name in item)
        if not same:
            reason = "another row with the same key stands before it, with other attributes; a table holds one of them"
            self.bad.append(BadRow(place, self._show(item), reason))

    def _read(self, row: Any) -> Item:
        found = mapping_of(row)
        if found is None:
            raise ValueProblem(f"is a {type(row).__name__}, and no row")
        if not found:
            raise ValueProblem("the row is empty")
        if mapping_of(found.get(self.key_names[0])) is None:
            return as_item(found, self.key_names[0])
        if not self.repair:
            return wire_item(found)
        before = self.repaired
        item = wire_item(found, other=self._mend)
        self.repaired = before + (self.repaired > before)
        return item

    def _mend(self, value: Any) -> AttributeValue:
        """Reads a value inside a map or list that is not tagged: wrapped once too often, or plain."""
        self.repaired += 1
        found = mapping_of(value)
        if found is not None and any(map(is_wire_value, found.values())):
            return {"M": {name: wire_value(each, other=self._mend) for name, each in found.items()}}
        if isinstance(value, list):
            return {"L": [wire_value(each, other=self._mend) for each in cast("Sequence[Any]", value)]}
        return wire_of_plain(value)

    def _key(self, item: Item) -> tuple[Any, ...]:
        found: list[Any] = []
        for name in self.key_names:
            if name not in item:
                raise ValueProblem(f"the key attribute {name!r} is missing")
            ((tag, inner),) = item[name].items()
            if tag not in ("S", "N", "B") or inner in ("", b""):
                raise ValueProblem(f"the key attribute {name!r} is of type {tag}, or empty")
            found.append((tag, inner))
        return tuple(found)

    def _show(self, row: Any) -> str:
        found = mapping_of(row) or {}
        shown = [f"{name}={_bare(found[name])!r}" for name in self.key_names if name in found]
        return " ".join(shown) or "no key"


def _check_texts(item: Item) -> None:
    """JSON can spell half of a pair of surrogates; DynamoDB cannot have sent it."""
    try:
        json.dumps(item, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise ValueProblem("a text holds a lone surrogate, which UTF-8 cannot hold") from None


def _bare(value: Any) -> Any:
    return next(iter(value.values())) if is_wire_value(value) else value


def read_rows(given: Iterable[Placed], key_names: Sequence[str], *, repair: bool = False) -> ReadRows:
    """The rows of a source; a bad one is reported, and the others are read.

    Parameters:
        given: where each row stands, and the row: DynamoDB JSON or plain, told by its partition key.
        key_names: the key attributes. repair: read what is no attribute value inside maps and lists as what it
            looks like, and note how many rows had it.
    """
    rows = _Rows(key_names, repair=repair)
    for place, row in given:
        rows.add(place, row)
    notes: list[str] = []
    if rows.twice:
        notes.append(f"{counted(rows.twice, 'row')} with the key of a row before it; each key is taken once")
    if rows.repaired:
        notes.append(f"{counted(rows.repaired, 'row')} with values without wire types inside maps or lists; repaired")
    return ReadRows(tuple(rows.rows.values()), tuple(rows.bad), tuple(notes))


def guess_keys(given: Sequence[Placed], source: str) -> tuple[Sequence[str], str]:
    """The key attributes of rows that come without a definition, and why they are taken for it.

    Raises `AdoptError` where the rows leave it open.
    """
    rows = [found for _, row in given if (found := mapping_of(row))]
    common = set(rows[0]).intersection(*rows) if rows else set[str]()
    scalars = [name for name in (rows[0] if rows else ()) if name in common and all(_scalar(r[name]) for r in rows)]
    by_word = {name.lower().replace("_", "").replace("-", ""): name for name in scalars}
    for pk, sk in KEY_NAMES:
        names = tuple(by_word[word] for word in (pk, sk) if word in by_word)
        if pk in by_word and _unique(rows, names):
            return names, f"the key is taken from the names {' and '.join(names)}, which tell all rows apart"
    alone = [name for name in scalars if _unique(rows, (name,))]
    if len(alone) == 1:
        return (alone[0],), f"the key is taken to be {alone[0]!r}, the only attribute of all rows that tells them apart"
    hint = (
        f"Any of {', '.join(map(repr, alone))} tells the rows apart."
        if alone
        else "No attribute alone tells them apart."
    )
    raise AdoptError(
        f"{source} has rows and no definition of the table, so that its key is not known. {hint} Say it: "
        "--keys PK,SK (keys=('PK', 'SK')), or give the definition: --schema FILE."
    )


def _scalar(value: Any) -> bool:
    value = _bare(value) if is_wire_value(value) and next(iter(value)) in ("S", "N", "B") else value
    return isinstance(value, (str, int, float, bytes)) and not isinstance(value, bool) and value != ""


def _unique(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    return len({tuple(str(row[name]) for name in names) for row in rows}) == len(rows)
