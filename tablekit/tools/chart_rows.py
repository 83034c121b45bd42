"""The entities of a table as plain data: types, keys, index keys, fields."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema

__all__ = ["EntityRow", "chart"]


@attrs.frozen
class EntityRow:
    """One entity of the chart.

    Attributes:
        name: the class. type, aliases: its stored type and old spellings. keys: key attribute to template.
        index_keys: index to the templates of its key attributes. fields: name, Python type and notes of each.
        when: index to the condition under which a row is in it, in words, where ``when=`` was given.
    """

    name: str
    type: str
    aliases: tuple[str, ...]
    keys: dict[str, str]
    index_keys: dict[str, dict[str, str]]
    fields: tuple[tuple[str, str, str], ...]
    when: dict[str, str] = attrs.Factory(dict[str, str])


def chart(app: TableDefinition) -> list[EntityRow]:
    """The entities of an app, in the order of their keys."""
    rows = [_row(schema) for schema in app.entities.values()]
    return sorted(rows, key=lambda row: tuple(row.keys.values()))


def _row(schema: EntitySchema) -> EntityRow:
    return EntityRow(
        schema.name,
        schema.type,
        schema.aliases,
        {key.attribute: key.template.text for key in schema.keys},
        {
            index_key.index.name: {key.attribute: key.template.text for key in index_key.keys}
            for index_key in schema.index_keys.values()
        },
        tuple((field.name, field.codec.name, ", ".join(_notes(schema, field))) for field in schema.fields),
        {each.index.name: each.condition for each in schema.index_keys.values() if each.conditional},
    )


def _notes(schema: EntitySchema, field: FieldSchema) -> Iterable[str]:
    if field.name in schema.key_fields:
        yield "key"
    if not field.given:
        yield f"{field.kind}()"
    elif field.required:
        yield "required"
    if field.kind == "ttl":
        yield "ttl()"
    if field.attribute != field.name:
        yield f"stored as {field.attribute}"
    if field.unique:
        yield "unique"
    if field.secret:
        yield "secret"
