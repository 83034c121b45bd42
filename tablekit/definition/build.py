"""From what a class body says to its frozen schema: every check that can be made when the class is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablekit.codecs.base import is_a
from tablekit.definition.build_fields import build_fields
from tablekit.definition.build_keys import KeyBuilder
from tablekit.definition.collect import Collected
from tablekit.definition.problems import check_known, wrong
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema, UniqueSchema
from tablekit.definition.uniques import GUARD_TYPE, check_unique

__all__ = ["build_schema"]


def build_schema(
    cls: type[Any],
    collected: Collected,
    registry: TableDefinition,
    *,
    pk: str,
    sk: str | None,
    type: str,
    aliases: tuple[str, ...],
    reserved: frozenset[str],
    also_keys: Sequence[Any] = (),
) -> EntitySchema:
    """Check a class and freeze what it says. Raises `DefinitionError` naming class, field and remedy."""
    _check_type(cls, type, aliases)
    fields = build_fields(cls, collected, registry, reserved)
    by_name = {item.name: item for item in fields}
    keys = KeyBuilder(cls, registry, type, by_name)
    pk_key, sk_key = keys.primary(pk, sk)
    return EntitySchema(
        cls,
        type=type,
        aliases=tuple(aliases),
        registry=registry,
        fields=fields,
        pk=pk_key,
        sk=sk_key,
        index_keys=keys.indexed(collected.index_keys, (pk_key, sk_key)),
        uniques=_uniques(cls, registry, fields, by_name, collected),
        also_keys=keys.also(also_keys, (pk_key, sk_key)),
    )


def _check_type(cls: type[Any], type: Any, aliases: Any) -> None:
    if isinstance(aliases, str):
        raise wrong(cls, f"aliases={aliases!r} is one string; give a tuple, such as aliases=({aliases!r},).")
    if not is_a(aliases, Sequence):
        raise wrong(cls, f"aliases={aliases!r} is no tuple of names, such as aliases=('Doc',).")
    for name in (type, *aliases):
        if not isinstance(name, str) or not name.strip():
            raise wrong(cls, f"the stored type {name!r} is not a name. Give a plain string that is not empty.")
        if name == GUARD_TYPE:
            raise wrong(
                cls,
                f"the stored type {name!r} is that of the rows by which tablekit keeps values unique. "
                'Give it another: `type="..."`.',
            )
    if len({type, *aliases}) != 1 + len(aliases):
        raise wrong(cls, "the same name stands twice among type and aliases. Leave one out.")


def _uniques(
    cls: type[Any],
    registry: TableDefinition,
    fields: tuple[FieldSchema, ...],
    by_name: Mapping[str, FieldSchema],
    collected: Collected,
) -> tuple[UniqueSchema, ...]:
    found = [UniqueSchema(item.name, (item,)) for item in fields if item.unique]
    for name, declared in collected.uniques.items():
        if not declared.fields:
            raise wrong(cls, "unique() names no field. Give one or more.", name)
        check_known(cls, name, declared.fields, by_name)
        found.append(UniqueSchema(name, tuple(by_name[field] for field in declared.fields)))
    for each in found:
        check_unique(cls.__name__, registry, each.fields, each.name)
    return tuple(found)
