"""`tablekit adopt`: from a table that is there to classes that read it.

The classes are written, imported, and given every row again; what they cannot read is named with its key and the
reason. Nothing is concluded without a comment that says from what.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.operations.dispatch import INTERNAL
from tablekit.operations.session import SessionSource
from tablekit.tools.adopt_check import RowVerdict, loaded, read_back
from tablekit.tools.adopt_keys import text_of
from tablekit.tools.adopt_names import counted, field_name, unused
from tablekit.tools.adopt_plan import ClassPlan, TablePlan, plan_table
from tablekit.tools.adopt_sources import read_source, sample_table
from tablekit.tools.adopt_tables import AdoptError, BadRow, SourceTable
from tablekit.tools.adopt_types import find_type_attribute
from tablekit.tools.adopt_write import write_module

__all__ = ["AdoptedTable", "Adoption", "adopt", "adopt_tables"]

MOST_ROWS = 20_000
"""Rows of a file or an export that are looked at, unless said otherwise."""
MOST_NAMED = 100
"""So many rows that were not read are named in the module; the report has all of them."""
MOST_LISTED = 24
"""So many values of a part may be listed to keep the keys of two classes apart."""


@attrs.frozen
class AdoptedTable:
    """What became of one table.

    Attributes:
        name: the table. variable: its `Table` in the module. rows: how many there were, bad ones included. read: rows
            read back, by class. typed: rows that have a stored type. unread: rows that no class reads. bad: rows of
            the source that are no rows. changed: by class the attributes that a put would write otherwise than they
            are stored, with the number of rows.
    """

    name: str
    variable: str
    rows: int
    read: Mapping[str, int]
    typed: int
    unread: tuple[BadRow, ...]
    bad: tuple[BadRow, ...]
    changed: Mapping[str, Mapping[str, int]]

    @property
    def complete(self) -> bool:
        """Whether every row was read back."""
        return not self.unread and not self.bad


@attrs.frozen
class Adoption:
    """The classes of a source, and how well they read it.

    Attributes:
        source: the text of models.py. tables: what became of each table.
    """

    source: str
    tables: tuple[AdoptedTable, ...]

    @property
    def complete(self) -> bool:
        """Whether every row was read back."""
        return all(table.complete for table in self.tables)


def adopt(
    source: str | Path | SessionSource,
    *,
    keys: Sequence[str] | None = None,
    schema: str | Path | None = None,
    type_attribute: str | None = None,
    limit: int | None = None,
    repair: bool = False,
) -> Adoption:
    """Write classes for a table that exists.

    Parameters:
        source: a connected `Table` (a sample of it is read), the folder of an S3 export, a NoSQL Workbench model, or a
            file of rows in DynamoDB JSON or plain JSON. keys, schema: the key attributes, or a file with the table's
            definition, for rows that come without one. type_attribute: the attribute that holds the type, ``""`` for
            none; else it is looked for. limit: rows to take at most: 2,000 of a live table, else 20,000.
            repair: read plain values inside maps and lists of DynamoDB JSON as what they look like.

    Raises `AdoptError` for what has to be asked; `ExportError`.
    """
    if isinstance(source, (str, Path)):
        most = MOST_ROWS if limit is None else limit
        tables = read_source(source, keys=keys, schema=schema, limit=most, repair=repair)
        cut = f"only the first {most} rows were looked at"
        tables = [
            attrs.evolve(each, notes=(*each.notes, *((cut,) if len(each.rows) >= most else ()))) for each in tables
        ]
    else:
        tables = [sample_table(source, limit=2000 if limit is None else limit)]
    return adopt_tables(tables, type_attribute=type_attribute)


def adopt_tables(tables: Sequence[SourceTable], *, type_attribute: str | None = None) -> Adoption:
    """Write classes for tables whose rows were read; see `adopt`."""
    taken: set[str] = set()
    plans: list[TablePlan] = []
    results: list[AdoptedTable] = []
    for table in map(_storable, map(_named, tables)):
        variable = unused("app" if len(tables) == 1 else field_name(table.name), taken)
        taken.add(variable)
        plan, verdicts = _settle(table, variable, type_attribute, taken)
        plans.append(plan)
        results.append(_result(plan, verdicts))
    text = write_module(plans, [line for result in results for line in _report(result)])
    with loaded(text):
        return Adoption(text, tuple(results))


def _named(table: SourceTable) -> SourceTable:
    name = table.usable_name
    if name == table.name:
        return table
    note = f"{table.name!r} is no name of a table; connect(name=...) takes the real one"
    return attrs.evolve(table, name=name, notes=(*table.notes, note))


def _storable(table: SourceTable) -> SourceTable:
    """The table without rows that DynamoDB would refuse for a key of an index; only a file can hold such rows."""
    kinds = {name: table.key_types.get(name, "S") for index in table.indexes for name in index.keys}
    kept: list[Item] = []
    bad = list(table.bad)
    for number, item in enumerate(table.rows, 1):
        wrong = next((name for name, kind in kinds.items() if name in item and kind not in item[name]), None)
        if wrong is None:
            kept.append(item)
        else:
            reason = f"{wrong!r} is a key of an index of type {kinds[wrong]}, and is of type {next(iter(item[wrong]))}"
            bad.append(BadRow(f"row {number}", _key(table, item), reason))
    return table if len(kept) == len(table.rows) else attrs.evolve(table, rows=tuple(kept), bad=tuple(bad))


def _of_classes(table: SourceTable, type_attribute: str | None) -> SourceTable:
    """The table without the rows that tablekit keeps for itself in a table that it wrote; no class reads them."""
    if type_attribute is None:
        return table
    own = Counter(text for item in table.rows if (text := text_of(item, type_attribute) or "").startswith(INTERNAL))
    if not own:
        return table
    kept = tuple(item for item in table.rows if text_of(item, type_attribute) not in own)
    kinds = ", ".join(f"{kind!r} ({count})" for kind, count in sorted(own.items()))
    note = f"{counted(sum(own.values()), 'row')} of tablekit's own, which need no class, are not counted: {kinds}"
    return attrs.evolve(table, rows=kept, notes=(*table.notes, note))


def _settle(
    table: SourceTable, variable: str, type_attribute: str | None, taken: set[str]
) -> tuple[TablePlan, list[RowVerdict]]:
    """Plan the classes, read the rows back, and mend what keeps rows from being read."""
    found = find_type_attribute(table, type_attribute)
    table = _of_classes(table, found.name)
    names = set(taken)
    plan = plan_table(table, found, variable=variable, taken=names)
    verdicts = _try(plan)
    if any(verdict.rivals for verdict in verdicts):
        verdicts = _limit(plan, verdicts) or verdicts
    if _unread(verdicts):
        others = set(taken)
        simple = plan_table(table, found, variable=variable, taken=others, collapse=True)
        tried = _try(simple)
        if _unread(tried) < _unread(verdicts):
            simple.notes += [f"{each.name} is no class of its own: {each.left_out}" for each in _missing(plan)]
            plan, verdicts, names = simple, tried, others
    taken |= names
    return plan, verdicts


def _try(plan: TablePlan) -> list[RowVerdict]:
    """Read the rows through a plan; a class that cannot be made is left out, and its rows are named with the reason."""
    try:
        return _verdicts(plan)
    except AdoptError:
        _leave_out(plan)
        return _verdicts(plan)


def _verdicts(plan: TablePlan) -> list[RowVerdict]:
    with loaded(write_module([plan], [])) as module:
        verdicts = read_back(getattr(module, plan.variable), plan.table.rows)
    reasons = {id(row): f"{each.name} is left out: {each.left_out}" for each in _missing(plan) for row in each.rows}
    return [
        attrs.evolve(verdict, reason=reasons.get(id(verdict.item), verdict.reason))
        if verdict.entity is None
        else verdict
        for verdict in verdicts
    ]


def _leave_out(plan: TablePlan) -> None:
    """Mark the classes that cannot be made beside those before them. Raises `AdoptError` where the table cannot be."""
    classes, plan.classes = plan.classes, []
    for each in [None, *classes]:
        plan.classes += [] if each is None else [each]
        try:
            with loaded(write_module([plan], [])):
                pass
        except AdoptError as error:
            if each is None:
                raise
            # A reason may name what made the class impossible, such as a name of a million characters.
            each.left_out = textwrap.shorten(str(error.__cause__ or error), 300)


def _missing(plan: TablePlan) -> list[ClassPlan]:
    return [each for each in plan.classes if each.left_out is not None]


def _limit(plan: TablePlan, verdicts: Sequence[RowVerdict]) -> list[RowVerdict] | None:
    """List the values of one part of the classes that match rows of others; None where that does not part them."""
    best = _ambiguous(verdicts)
    for each in sorted(_rivals(plan, verdicts), key=_generality, reverse=True):
        parts = [part for key in each.keys[0] for part in key.parts if 0 < len(part.values) <= MOST_LISTED]
        # The more values a part has, the likelier they are a set of names than the one value of a small sample.
        for part in sorted(parts, key=lambda part: -len(part.values)):
            if part.field in each.limited or part.spec:
                continue
            each.limited[part.field] = tuple(sorted(part.values))
            try:
                tried = _verdicts(plan)
            except AdoptError:
                # The listed values do not go with the rest of the class.
                del each.limited[part.field]
                continue
            if _ambiguous(tried) < best and _unread(tried) <= _unread(verdicts):
                best, verdicts = _ambiguous(tried), tried
                if not best:
                    return tried
            else:
                del each.limited[part.field]
    return None


def _rivals(plan: TablePlan, verdicts: Iterable[RowVerdict]) -> list[ClassPlan]:
    names = {name for verdict in verdicts for name in verdict.rivals}
    return [each for each in plan.classes if each.name in names]


def _generality(each: ClassPlan) -> int:
    return -sum(len(piece) for key in each.keys[0] for piece in key.pieces if isinstance(piece, str))


def _ambiguous(verdicts: Iterable[RowVerdict]) -> int:
    return sum(len(verdict.rivals) > 1 for verdict in verdicts)


def _unread(verdicts: Iterable[RowVerdict]) -> int:
    return sum(verdict.entity is None for verdict in verdicts)


# What is said


def _result(plan: TablePlan, verdicts: Sequence[RowVerdict]) -> AdoptedTable:
    table = plan.table
    changed: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        if verdict.entity is not None and verdict.changed:
            changed.setdefault(verdict.entity, Counter()).update(verdict.changed)
    unread = [verdict for verdict in verdicts if verdict.entity is None]
    return AdoptedTable(
        table.name,
        plan.variable,
        len(table.rows) + len(table.bad),
        Counter(verdict.entity for verdict in verdicts if verdict.entity is not None),
        sum(plan.type_attribute.name in item for item in table.rows),
        tuple(BadRow("row", _key(table, verdict.item), verdict.reason) for verdict in unread),
        table.bad,
        changed,
    )


def _key(table: SourceTable, item: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={next(iter(item[name].values()))!r}" for name in table.key_names)


def _report(result: AdoptedTable) -> list[str]:
    """The result in sentences, for the docstring of the module."""
    read = sum(result.read.values())
    rows = counted(result.rows, "row")
    lines = [f"Table {result.name!r}: {rows}, {read} read back, {result.typed} of them with a stored type."]
    left = [*(f"- not read: {row}" for row in result.unread), *(f"- no row: {row}" for row in result.bad)]
    lines += left[:MOST_NAMED]
    if len(left) > MOST_NAMED:
        lines.append(f"- and {counted(len(left) - MOST_NAMED, 'row')} more; the report lists them all")
    for name, attributes in result.changed.items():
        shown = ", ".join(f"{attribute} ({count})" for attribute, count in attributes.items())
        lines.append(f"- a put of {name} would write in another way: {shown}")
    return lines
