"""Planning a put or a create: the whole item of an entity."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tablekit._types import Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, schema_of
from tablekit.definition.schema import MARKER, EntitySchema
from tablekit.errors import KeyChanged, PartialEntity
from tablekit.expressions.conditions import Condition, attribute_not_exists, conjunction, equals
from tablekit.operations.guards import put_guard
from tablekit.operations.plans import Expectation, WritePlan, new_marker, settle
from tablekit.wire.items import encode_item
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["check_key_unchanged", "conditional", "is_loaded", "key_for", "managed_values", "plan_put", "refuse_partial"]


def is_loaded(entity: EntityBase) -> bool:
    """Whether the entity was read from the table or written to it."""
    return BASE in entity.__dict__


def plan_put(
    entity: EntityBase,
    now: datetime,
    *,
    create: bool = False,
    condition: Condition | None = None,
    guard: bool = True,
) -> WritePlan:
    """Plan a PutItem.

    Parameters:
        create: refuse when there is a row under the key.
        condition: what else must hold of the stored row.
        guard: refuse to replace another class's row, and check the version of a loaded entity.
    """
    schema = schema_of(entity)
    own = entity.__dict__
    refuse_partial(entity, schema)
    loaded = BASE in own and not create
    if loaded:
        check_key_unchanged(entity, schema)
    managed = managed_values(schema, own, now, fresh=not loaded)
    key = own.get(STORED_KEY) if loaded else None
    values = {**own, **managed}
    item = encode_item(schema, values, key=key, extra=own.get(EXTRA))
    marker = _mark(schema, item, own if loaded else {})
    expectation, checks = _checks(schema, own, create=create, loaded=loaded, guard=guard, condition=condition)
    request = conditional("PutItem", {"Item": item}, conjunction(condition, checks), schema)

    def apply(body: Mapping[str, Any]) -> Any:
        settle(schema, own, managed)
        if not loaded:
            own.pop(STORED_KEY, None)
        keep_markers(schema, own, item)
        return entity

    return WritePlan(
        request,
        schema,
        {name: item[name] for name in schema.registry.key_names},
        expectation,
        apply,
        marker=marker,
        base=own.get(MARKERS) if loaded else None,
        image=item,
        whole=True,
        target=entity,
    )


def _checks(
    schema: EntitySchema,
    own: Mapping[str, Any],
    *,
    create: bool,
    loaded: bool,
    guard: bool,
    condition: Condition | None,
) -> tuple[Expectation, Condition | None]:
    verb = "create" if create else "put"
    absent = attribute_not_exists(schema.registry.pk)
    # A versioned entity that was not loaded would reset the version of a row that is there.
    if create or (guard and schema.version is not None and not loaded):
        return Expectation(verb, creates=True), absent
    if not guard:
        return Expectation(verb, condition=condition is not None), None
    if schema.version is not None:
        version = own.get(schema.version.name, 0)
        check = version_check(schema, version) & put_guard(schema)
        return Expectation(verb, types=schema.own_types, version=version, condition=condition is not None), check
    return Expectation(verb, types=schema.own_types, condition=condition is not None), put_guard(schema)


def version_check(schema: EntitySchema, version: int) -> Condition:
    """The stored version is the one that was loaded; 0 stands for a row that has none yet."""
    assert schema.version is not None
    attribute = schema.version.attribute
    if version == 0:
        return attribute_not_exists(attribute)
    return equals(attribute, {"N": str(version)}, hint=f"{schema.version.name}_before")


def refuse_partial(entity: EntityBase, schema: EntitySchema) -> None:
    """A partially loaded entity cannot be written as a whole."""
    partial = entity.__dict__.get(PARTIAL)
    if partial is None:
        return
    missing = [field.name for field in schema.fields if field.name not in entity.__dict__]
    raise PartialEntity(
        f"This {schema.name} was loaded in part, without {', '.join(missing) or 'attributes it may have'}; writing it "
        "as a whole would erase what was not loaded. Read the whole row with refresh(), or change single fields with "
        "save() or update().",
        entity=schema.name,
        missing=missing,
    )


def check_key_unchanged(entity: EntityBase, schema: EntitySchema) -> None:
    """Refuse a loaded entity whose key fields user code has changed: it would become a second row."""
    dirty = entity.__dict__.get(DIRTY)
    if not dirty:
        return
    for name in schema.key_fields & dirty.keys():
        if dirty[name] != entity.__dict__.get(name):
            raise KeyChanged(
                f"{schema.name}.{name} is part of the primary key and was changed since the row was loaded. "
                "A row cannot change its key: create a new entity with the new key and delete this one "
                "(in one transaction).",
                entity=schema.name,
                field=name,
            )


def key_for(entity: EntityBase, schema: EntitySchema) -> Item:
    """The key of an entity's row: the one it was read under, or the one that its fields render."""
    stored = entity.__dict__.get(STORED_KEY)
    if stored is not None:
        return dict(stored)
    return schema.key_of(entity.__dict__)


def managed_values(schema: EntitySchema, own: Mapping[str, Any], now: datetime, *, fresh: bool) -> dict[str, Any]:
    """What tablekit sets in this write: the version, and the times.

    Parameters:
        fresh: the entity begins with this write; else its version goes on from the loaded one.
    """
    managed: dict[str, Any] = {}
    if schema.version is not None:
        managed[schema.version.name] = 1 if fresh else own.get(schema.version.name, 0) + 1
    if schema.created_at is not None:
        managed[schema.created_at.name] = now if fresh else own.get(schema.created_at.name, now)
    if schema.updated_at is not None:
        managed[schema.updated_at.name] = now
    return managed


def _mark(schema: EntitySchema, item: Item, own: Mapping[str, Any]) -> str | None:
    if not schema.marker:
        return None
    marker = new_marker()
    item[MARKER] = marker_value(schema, marker, own)
    return marker


def marker_value(schema: EntitySchema, marker: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """The marker attribute: the marker alone, or the ring with it in front."""
    assert schema.version is not None
    if schema.version.ring == 1:
        return {"S": marker}
    before = own.get(MARKERS, {}).get("L", [])
    return {"L": [{"S": marker}, *before][: schema.version.ring]}


def keep_markers(schema: EntitySchema, own: dict[str, Any], item: Item) -> None:
    """Remember the markers that this write left: the next one tells by them whether others wrote in between."""
    if MARKER in item:
        own[MARKERS] = item[MARKER]


def conditional(
    operation: str,
    body: Mapping[str, Any],
    condition: Condition | None,
    schema: EntitySchema,
    renderer: Renderer | None = None,
) -> Request:
    """A write request with its condition rendered, which returns the stored row when the condition fails."""
    renderer = renderer if renderer is not None else Renderer()
    text = None if condition is None else renderer.render_condition(condition)
    secret = frozenset(field.attribute for field in schema.fields if field.secret)
    return Request(
        operation,
        {
            **body,
            "ConditionExpression": text,
            "ExpressionAttributeNames": renderer.names,
            "ExpressionAttributeValues": renderer.values,
            "ReturnValuesOnConditionCheckFailure": None if text is None else "ALL_OLD",
            "ReturnConsumedCapacity": "TOTAL",
        },
        secrets=renderer.secrets | secret,
        entity=schema.name,
    )
