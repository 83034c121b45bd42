"""Reading the rows back through the classes that were written, each row by itself."""

from __future__ import annotations

import sys
import types
import warnings
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.api.table import Table
from tablekit.codecs.compare import equal_wire
from tablekit.definition.registry import TableDefinition
from tablekit.errors import TablekitError
from tablekit.tools.adopt_tables import AdoptError
from tablekit.wire.items import decoder

__all__ = ["RowVerdict", "loaded", "read_back"]

_MODULE = "tablekit_adopted_models"


@attrs.frozen
class RowVerdict:
    """What became of a row.

    Attributes:
        item: the row. entity: the class that read it, or None. reason: why none did. rivals: classes whose keys match
            a row without a type. changed: attributes that a put would write in another way.
    """

    item: Item
    entity: str | None
    reason: str = ""
    rivals: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@contextmanager
def loaded(source: str) -> Generator[types.ModuleType]:
    """The module of a source text, for the length of the block. Raises `AdoptError` where it does not import."""
    module = types.ModuleType(_MODULE)
    # Annotations are resolved through the module's entry.
    outer = sys.modules.get(_MODULE)
    sys.modules[_MODULE] = module
    try:
        _run(source, module)
        yield module
    finally:
        if outer is None:
            sys.modules.pop(_MODULE, None)
        else:
            sys.modules[_MODULE] = outer


def _run(source: str, module: types.ModuleType) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, f"<{_MODULE}>", "exec"), module.__dict__)  # noqa: S102  (our own text, of quoted names)
    except TablekitError as error:
        raise AdoptError(f"The classes that were concluded cannot be made: {error}") from error


def read_back(table: Table, rows: Sequence[Item]) -> list[RowVerdict]:
    """Read each row through the classes of a table."""
    return [_read(table, item) for item in rows]


def _read(table: TableDefinition, item: Item) -> RowVerdict:
    stored = item.get(table.type_attribute)
    if stored is None:
        matching = [schema for schema in table.entities.values() if schema.spelled(item) is not None]
        if len(matching) != 1:
            names = tuple(schema.name for schema in matching)
            reason = f"its key matches {', '.join(names)}" if names else "its key matches no class"
            return RowVerdict(item, None, reason, names)
        schema = matching[0]
    else:
        found = table.by_type.get(str(stored.get("S")))
        if found is None:
            return RowVerdict(item, None, "no class has its type")
        schema = found
    try:
        entity: Any = decoder(schema)(item)
    except TablekitError as error:
        return RowVerdict(item, None, str(error))
    return RowVerdict(item, schema.name, changed=_changed(table, entity, item))


def _changed(table: TableDefinition, entity: Any, item: Item) -> tuple[str, ...]:
    try:
        again: Item = entity.to_item()
    except TablekitError as error:
        return (f"a put is refused ({type(error).__name__})",)
    names = Counter([*item, *again])
    return tuple(
        name
        for name in names
        if not equal_wire(item.get(name), again.get(name)) and (name in item) and name != table.type_attribute
    )
