"""Which rows of subclasses an update by key may change through their base."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tablekit._types import AttributeValue
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import KeyPartError
from tablekit.operations.index_keys import recompute, touched

__all__ = ["serves"]


def serves(
    schema: EntitySchema,
    subclass: EntitySchema,
    values: Mapping[str, Any],
    changed: Collection[str],
    unknown: Collection[str],
    index_attributes: Mapping[str, AttributeValue | None],
) -> bool:
    """Whether what an update through `schema` sends is what one through `subclass` would send.

    Parameters:
        values: what is known of the fields. changed: the names of the fields that it changes. unknown: those of them
            whose new value is not known. index_attributes: what it writes of index keys.
    """
    return (
        _same_managed(schema, subclass)
        and _same_fields(schema, subclass, changed)
        and _same_indexes(subclass, values, changed, unknown, index_attributes)
    )


def _same_managed(schema: EntitySchema, subclass: EntitySchema) -> bool:
    pairs: Iterable[tuple[FieldSchema | None, FieldSchema | None]] = (
        (schema.version, subclass.version),
        (schema.updated_at, subclass.updated_at),
    )
    return all(
        (mine is None and theirs is None)
        or (mine is not None and theirs is not None and mine.attribute == theirs.attribute)
        for mine, theirs in pairs
    )


def _same_fields(schema: EntitySchema, subclass: EntitySchema, changed: Collection[str]) -> bool:
    for name in changed:
        mine, theirs = schema.by_name[name], subclass.by_name.get(name)
        if theirs is None or mine.attribute != theirs.attribute or mine.codec.name != theirs.codec.name:
            return False
    return True


def _same_indexes(
    subclass: EntitySchema,
    values: Mapping[str, Any],
    changed: Collection[str],
    unknown: Collection[str],
    index_attributes: Mapping[str, AttributeValue | None],
) -> bool:
    wanted: dict[str, AttributeValue | None] = {}
    for index_key in touched(subclass, changed):
        try:
            wanted.update(recompute(subclass, index_key, values, changed, unknown=unknown).attributes)
        except KeyPartError:
            return False
    return wanted == index_attributes
