"""Reading one row by its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import ItemNotFound, QueryError
from tablekit.expressions.columns import Column
from tablekit.expressions.paths import Path, attribute
from tablekit.operations.calls import call
from tablekit.operations.dispatch import Dispatcher, decode_as, is_expired
from tablekit.operations.observe import note_row
from tablekit.operations.session import Session
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["entity_of", "entity_request", "get_any", "get_entity", "get_request", "not_found", "projection"]


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

    Keys, type, version and the time that hides expired rows always come along, as paths without an owner: without
    them a partial entity could not be told, saved or left out.

    Raises `QueryError` for what is no column, and for a part of a field.
    """
    paths: list[Path] = []
    if not isinstance(select, Iterable):
        raise QueryError(f"select= takes a list of columns, such as [{schemas[0].name}.{_example(schemas[0])}].")
    for column in select:
        if not isinstance(column, Column):
            raise QueryError(f"select takes columns, such as {schemas[0].name}.{_example(schemas[0])}, not {column!r}.")
        if len(column.path.segments) > 1:
            raise QueryError(
                f"select names {column.path}, a part of a field; an entity holds a field whole or not at all. "
                f"Select {column.path.field!r}."
            )
        paths.append(column.path)
    registry = schemas[0].registry
    always = [*registry.key_names, registry.type_attribute]
    for schema in schemas:
        always += [schema.version.attribute] if schema.version is not None else []
        always += [schema.ttl.attribute] if schema.ttl is not None and schema.ttl.hide_expired else []
    attributes = {path.attribute for path in paths} | {name for name in always if name != registry.type_attribute}
    return [*paths, *(attribute(name) for name in dict.fromkeys(always))], frozenset(attributes)


def _example(schema: EntitySchema) -> str:
    return schema.fields[0].name if schema.fields else "field"


async def get_entity(
    session: Session,
    schema: EntitySchema,
    key: Item,
    *,
    consistent: bool | None = None,
    select: Sequence[Any] | None = None,
) -> Any:
    """The entity under a key, or None.

    Parameters:
        consistent: strongly consistent; None for the table's default. select: only these columns.
    """
    request, attributes = entity_request(session, schema, key, consistent=consistent, select=select)
    answer = await session.send(request)
    return entity_of(session, schema, answer.body.get("Item"), attributes)


def entity_request(
    session: Session,
    schema: EntitySchema,
    key: Item,
    *,
    consistent: bool | None = None,
    select: Sequence[Any] | None = None,
) -> tuple[Request, frozenset[str] | None]:
    """The GetItem of one class's row, and the attributes that make up a partial entity; as `get_entity`."""
    paths, attributes = (None, None) if select is None else projection(_family(schema), select)
    chosen = _consistent(session, consistent)
    return get_request(key, consistent=chosen, select=paths, entity=schema.name), attributes


def _family(schema: EntitySchema) -> list[EntitySchema]:
    return [schema, *schema.subclasses]


def _consistent(session: Session, asked: bool | None) -> bool:
    return session.registry.consistent_reads if asked is None else asked


def entity_of(
    session: Session, schema: EntitySchema, item: Item | None, attributes: frozenset[str] | None = None
) -> Any:
    """The entity of a row that was asked for by key, or None: there is no row, it is expired, or a policy skips it.

    Raises `WrongEntityType`, `MissingEntityType`, `DecodeError`.
    """
    if not item:
        return None
    registry = schema.registry
    if registry.untyped == "skip" and registry.type_attribute not in item:
        note_row(registry, item, returned=False)
        return None
    entity = decode_as(schema, item, attributes)
    expired = is_expired(entity, session.now())
    note_row(registry, item, returned=not expired)
    return None if expired else entity


@call("get")
async def get_any(
    session: Session, registry: TableDefinition, key: Item, *, consistent: bool | None = None, raw: bool = False
) -> Any:
    """The row under a key as what it is, or None; `raw` gives a row that is no entity as `RawItem`."""
    answer = await session.send(get_request(key, consistent=_consistent(session, consistent)))
    item = answer.body.get("Item")
    if not item:
        return None
    dispatcher = Dispatcher(
        registry, None, unknown=registry.unknown, untyped=registry.untyped, raw=raw, now=session.now
    )
    found, _, error = dispatcher.entities([item])
    if error is not None:
        raise error
    note_row(registry, item, returned=bool(found))
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
