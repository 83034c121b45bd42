"""Planning a put or a create: the whole item of an entity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, schema_of
from tablekit.definition.schema import MARKER, EntitySchema
from tablekit.errors import ExpressionError, KeyChanged, PartialEntity, RequestError
from tablekit.expressions.conditions import Condition, attribute_not_exists, conjunction, owners
from tablekit.operations.guards import Rendered, passes_untyped, put_guard, rendered_once, version_check
from tablekit.operations.index_keys import check_native_keys
from tablekit.operations.plans import Expectation, Sent, WritePlan, new_marker, settle
from tablekit.wire.items import measured_item
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = [
    "check_key_unchanged",
    "check_owners",
    "check_version",
    "conditional",
    "constant_key",
    "is_loaded",
    "key_for",
    "loaded_version",
    "managed_values",
    "plan_put",
    "refuse_partial",
    "secret_attributes",
    "unguarded_put",
]


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
    once: bool = False,
) -> WritePlan:
    """Plan a PutItem.

    Parameters:
        create: refuse when there is a row under the key.
        condition: what else must hold of the stored row.
        guard: refuse to replace another class's row, and check the version of a loaded entity.
        once: send it as a transaction of one action.
    """
    schema = schema_of(entity)
    own = entity.__dict__
    check_owners(schema, condition)
    put = _Put(entity, schema, now, create=create)
    item, loaded = put.item, put.loaded
    key = {name: item[name] for name in schema.registry.key_names}
    expectation = _expectation(schema, own, key, create=create, loaded=loaded, guard=guard, condition=condition)
    marker = _mark(schema, item, own if loaded and expectation.version is not None else {})
    request = _request(schema, item, expectation, condition, guard=guard)
    return WritePlan(
        request,
        schema,
        key,
        expectation,
        put.apply,
        marker=marker,
        base=own.get(MARKERS) if loaded else None,
        image=item,
        whole=True,
        once=once,
        target=entity,
    )


class _Put:
    """The whole item of an entity, and what the entity is once it is written.

    Attributes:
        item: the item. size: at least its bytes. loaded: whether the entity goes on from what was loaded.
    """

    __slots__ = ("_managed", "_schema", "_sent", "entity", "item", "loaded", "size")

    def __init__(self, entity: EntityBase, schema: EntitySchema, now: datetime, *, create: bool = False) -> None:
        own = entity.__dict__
        refuse_partial(entity, schema)
        self.loaded = BASE in own and not create
        if self.loaded:
            check_key_unchanged(entity, schema)
        self.entity = entity
        self._schema = schema
        self._managed = managed_values(schema, own, now, fresh=not self.loaded)
        values = {**own, **self._managed}
        key = own.get(STORED_KEY) if self.loaded else None
        self.item, self.size = measured_item(schema, values, key=key, extra=own.get(EXTRA))
        check_native_keys(schema, self.item)
        self._sent = Sent(schema, values)

    def apply(self, body: Mapping[str, Any]) -> Any:
        """Take the entity as written."""
        own = self.entity.__dict__
        settle(self._schema, own, self._sent, self._managed)
        if not self.loaded:
            own.pop(STORED_KEY, None)
        keep_markers(own, self.item)
        return self.entity


def unguarded_put(entity: EntityBase, now: datetime) -> tuple[Item, int, Callable[[Mapping[str, Any]], Any]]:
    """The item of a put that checks nothing, as of a batch; at least its bytes; what to call when it was written.

    Item and call are those that `plan_put` gives with ``guard=False``.
    """
    schema = schema_of(entity)
    put = _Put(entity, schema, now)
    # A marker, or a ring of them, is far below a kilobyte.
    size = put.size if _mark(schema, put.item, {}) is None else put.size + 1024
    return put.item, size, put.apply


def _expectation(
    schema: EntitySchema,
    own: Mapping[str, Any],
    key: Item,
    *,
    create: bool,
    loaded: bool,
    guard: bool,
    condition: Condition | None,
) -> Expectation:
    given = condition is not None
    # A versioned entity that was not loaded would reset the version of a row that is there.
    if create or (guard and schema.version is not None and not loaded):
        return Expectation("create" if create else "put", creates=True, condition=given)
    if not guard:
        return Expectation("put", condition=given)
    types = schema.own_types
    version = own.get(schema.version.name, 0) if schema.version is not None else None
    untyped = passes_untyped(schema, types, key)
    return Expectation("put", types=types, version=version, condition=given, untyped=untyped)


def _request(
    schema: EntitySchema, item: Item, expectation: Expectation, condition: Condition | None, *, guard: bool
) -> Request:
    creates, untyped, version = expectation.creates, expectation.untyped, expectation.version

    def check(version: int | None = version) -> Condition:
        if creates:
            return attribute_not_exists(schema.registry.pk)
        guarded = put_guard(schema, schema.own_types, untyped=untyped)
        return guarded if version is None else version_check(schema, version) & guarded

    body = {"Item": item}
    if not creates and expectation.types is None:
        return conditional("PutItem", body, condition, schema)
    if condition is not None or version == 0:
        return conditional("PutItem", body, conjunction(condition, check()), schema)
    ready = rendered_once(schema, ("put", creates, untyped, version is None), check)
    return ready_request("PutItem", body, ready, schema, version)


def loaded_version(schema: EntitySchema, own: Mapping[str, Any], verb: str) -> int | None:
    """The version that a loaded entity holds, 0 for a row that had none; None for a class without versions.

    Raises `PartialEntity` when it was loaded without it: the write could not be checked.
    """
    if schema.version is None:
        return None
    if PARTIAL in own and schema.version.name not in own:
        raise PartialEntity(
            f"This {schema.name} was loaded without {schema.version.name}, which a {verb} must check. "
            "Add it to select= or to the index, or read the whole row with refresh().",
            entity=schema.name,
            missing=(schema.version.name,),
        )
    found: int = own.get(schema.version.name, 0)
    return found


def check_version(version: Any) -> None:
    """Refuse a ``version=`` that is no version. Raises `RequestError`."""
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise RequestError(f"version= takes the whole number that the row must have, not a {type(version).__name__}.")


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


def check_owners(schema: EntitySchema, condition: Condition | None) -> None:
    """Refuse a condition that is made of another class's columns. Raises `ExpressionError`."""
    for owner in owners(condition) if condition is not None else ():
        if not issubclass(schema.entity, owner) and not issubclass(owner, schema.entity):
            raise ExpressionError(
                f"the condition speaks of {owner.__name__}, and the write is of {schema.name}. "
                f"Use the columns of {schema.name}."
            )


def _loaded_key_fields(own: Mapping[str, Any], schema: EntitySchema) -> dict[str, Any]:
    """The fields of the primary key that user code may have changed, with the values that were loaded."""
    dirty: Mapping[str, Any] | None = own.get(DIRTY)
    found: dict[str, Any] = {}
    if dirty:
        found = {name: dirty[name] for name in schema.key_fields & dirty.keys() if dirty[name] is not UNSET}
    for field, base in zip(schema.mutable, own.get(BASE, ())):
        if field.name in schema.key_fields and field.name in own:
            found[field.name] = base
    return found


def check_key_unchanged(entity: EntityBase, schema: EntitySchema) -> None:
    """Refuse a loaded entity whose key fields user code has changed: it would become a second row."""
    own = entity.__dict__
    for name, before in _loaded_key_fields(own, schema).items():
        if before != own.get(name):
            raise KeyChanged(
                f"{schema.name}.{name} is part of the primary key and was changed since the row was loaded. "
                "A row cannot change its key: create a new entity with the new key and delete this one "
                "(in one transaction).",
                entity=schema.name,
                field=name,
            )


def key_for(entity: EntityBase, schema: EntitySchema) -> Item:
    """The key of an entity's row: the one it was read under, or the one that its fields render."""
    own = entity.__dict__
    stored = own.get(STORED_KEY)
    if stored is not None:
        return dict(stored)
    before = _loaded_key_fields(own, schema) if BASE in own else {}
    return schema.key_of({**own, **before} if before else own)


def constant_key(schema: EntitySchema) -> Item:
    """The key of a class that has only one. Raises `RequestError` for a class of many rows."""
    if schema.internal and schema.refusal is not None:
        raise RequestError(schema.refusal)
    if schema.key_fields:
        names = ", ".join(f"{name}=..." for key in schema.keys for name in key.names)
        raise RequestError(
            f"{schema.name} has many rows, and the class is not one of them; give {schema.name}.key({names})."
        )
    return schema.key_of({})


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


def marker_value(schema: EntitySchema, marker: str, own: Mapping[str, Any]) -> AttributeValue:
    """The marker attribute: the marker alone, or the ring with it in front.

    Parameters:
        own: the entity's values where the write checks its version. Without the check a ring that was loaded
            may lack the markers of writers in between, who would then take their own write for a failed one.
    """
    assert schema.version is not None
    if schema.version.ring == 1:
        return {"S": marker}
    before = own.get(MARKERS, {}).get("L", [])
    return {"L": [{"S": marker}, *before][: schema.version.ring]}


def keep_markers(own: dict[str, Any], item: Mapping[str, AttributeValue]) -> None:
    """Remember the markers that this write left: the next one tells by them whether others wrote in between."""
    if MARKER in item:
        own[MARKERS] = item[MARKER]


# Requests


def conditional(
    operation: str,
    body: Mapping[str, Any],
    condition: Condition | None,
    schema: EntitySchema,
    renderer: Renderer | None = None,
) -> Request:
    """A write request with its condition rendered, which returns the stored row when the condition fails."""
    if condition is None and renderer is None:
        whole = {**body, "ReturnConsumedCapacity": "TOTAL"}
        return Request(operation, whole, secrets=secret_attributes(schema), entity=schema.name)
    renderer = renderer if renderer is not None else Renderer()
    text = None if condition is None else renderer.render_condition(condition)
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
        secrets=renderer.secrets | secret_attributes(schema),
        entity=schema.name,
    )


def ready_request(
    operation: str, body: Mapping[str, Any], ready: Rendered, schema: EntitySchema, version: int | None
) -> Request:
    """A write request with a condition that was rendered before.

    Parameters:
        version: the version that it checks in place of the one it was rendered with.
    """
    values = ready.values
    if version is not None:
        # The version is the only number in a guard.
        name = next(name for name, value in values.items() if "N" in value)
        values = {**values, name: {"N": str(version)}}
    return Request(
        operation,
        {
            **body,
            "ConditionExpression": ready.text,
            "ExpressionAttributeNames": ready.names,
            "ExpressionAttributeValues": values or None,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "ReturnConsumedCapacity": "TOTAL",
        },
        secrets=secret_attributes(schema),
        entity=schema.name,
    )


def secret_attributes(schema: EntitySchema) -> frozenset[str]:
    """The attributes of a class's secret fields."""
    found: frozenset[str] | None = schema.compiled.get("secrets")
    if found is None:
        found = frozenset(field.attribute for field in schema.fields if field.secret)
        schema.compiled["secrets"] = found
    return found
