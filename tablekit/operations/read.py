"""Reading one row by its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import ItemNotFound
from tablekit.expressions.columns import Column
from tablekit.expressions.paths import Path, attribute
from tablekit.operations.dispatch import Dispatcher, decode_as, is_expired
from tablekit.operations.session import Session
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["get_any", "get_entity", "get_request", "not_found", "projection"]


def get_request(
    key: Item, *, consistent: bool = False, select: Sequence[Path] | None = None, entity: str = ""
) -> Request:
    """A GetItem."""
    renderer = Renderer()
    text = None if select is None else renderer.render_projection(select)
    return Request(
        "GetItem",
        {
            "Key": key,
            "ConsistentRead": True if consistent else None,
            "ProjectionExpression": text,
            "ExpressionAttributeNames": renderer.names,
            "ReturnConsumedCapacity": "TOTAL",
        },
        entity=entity,
    )


def projection(schemas: Sequence[EntitySchema], select: Sequence[Any]) -> tuple[list[Path], frozenset[str]]:
    """The paths to read for some columns, and the attributes that make up the partial entities.

    Keys, type and version always come along: without them a partial entity could not be told or saved.
    """
    paths: list[Path] = []
    attributes: set[str] = set()
    for column in select:
        path = column.path if isinstance(column, Column) else column
        paths.append(path)
        if len(path.segments) == 1:
            attributes.add(path.attribute)
    registry = schemas[0].registry
    always = [*registry.key_names, registry.type_attribute]
    always += [schema.version.attribute for schema in schemas if schema.version is not None]
    attributes.update(name for name in always if name != registry.type_attribute)
    paths += [attribute(name) for name in dict.fromkeys(always)]
    return paths, frozenset(attributes)


async def get_entity(
    session: Session,
    schema: EntitySchema,
    key: Item,
    *,
    consistent: bool = False,
    select: Sequence[Any] | None = None,
) -> Any:
    """The entity under a key, or None."""
    paths, attributes = (None, None) if select is None else projection([schema], select)
    answer = await session.send(get_request(key, consistent=consistent, select=paths, entity=schema.name))
    item = answer.body.get("Item")
    if not item:
        return None
    entity = decode_as(schema, item, attributes)
    return None if is_expired(entity, session.now()) else entity


async def get_any(session: Session, registry: TableDefinition, key: Item, *, consistent: bool = False) -> Any:
    """The row under a key as what it is, or None."""
    answer = await session.send(get_request(key, consistent=consistent))
    item = answer.body.get("Item")
    if not item:
        return None
    dispatcher = Dispatcher(registry, None, unknown=registry.unknown, untyped=registry.untyped, now=session.now)
    found, _, error = dispatcher.entities([item])
    if error is not None:
        raise error
    return found[0] if found else None


def not_found(schema: EntitySchema, key: Item) -> ItemNotFound:
    """The error for a row that get_or_raise did not find."""
    pk, sk = schema.registry.plain_key(key)
    return ItemNotFound(
        f"There is no {schema.name} under {schema.registry.show_key(key)} in table {schema.registry.label!r}.",
        entity=schema.name,
        pk=pk,
        sk=sk,
    )
