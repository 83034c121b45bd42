"""Planning a delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tablekit._types import AttributeValue, Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import RequestError
from tablekit.expressions.conditions import Condition, attribute_not_exists, conjunction
from tablekit.operations.guards import delete_guard, passes_untyped, rendered_once, version_check
from tablekit.operations.plans import Expectation, WritePlan, decode_result
from tablekit.operations.put import (
    check_key_unchanged,
    check_owners,
    check_version,
    conditional,
    key_for,
    loaded_version,
    ready_request,
)

__all__ = ["plan_delete", "plan_delete_key"]

Apply = Callable[[Mapping[str, Any]], Any]


def plan_delete(entity: EntityBase, *, condition: Condition | None = None, guard: bool = True) -> WritePlan:
    """Plan the deletion of an entity's row; a loaded versioned entity checks its version."""
    schema = schema_of(entity)
    own = entity.__dict__
    check_key_unchanged(entity, schema)
    version = loaded_version(schema, own, "delete") if guard and BASE in own else None

    def forget(body: Mapping[str, Any]) -> None:
        # The object lives on as one that was never stored: saving it creates the row anew.
        for name in (BASE, DIRTY, PARTIAL, EXTRA, STORED_KEY, MARKERS):
            own.pop(name, None)

    types = schema.own_types if guard else None
    return _plan(
        schema, key_for(entity, schema), types, version, condition, forget, target=entity, base=own.get(MARKERS)
    )


def plan_delete_key(
    schema: EntitySchema,
    key: Item,
    *,
    condition: Condition | None = None,
    guard: bool = True,
    version: int | None = None,
    returning: bool = False,
    target: Any = None,
) -> WritePlan:
    """Plan a deletion by key.

    Parameters:
        version: the version that the row must have. returning: give the row that was deleted.
    """
    check_version(version)
    if version is not None and schema.version is None:
        raise RequestError(f"{schema.name} has no version() field, so that version= can check nothing.")

    def result(body: Mapping[str, Any]) -> Any:
        attributes: Item | None = body.get("Attributes")
        return decode_result(schema, attributes, "delete") if returning and attributes else None

    types = schema.types if guard else None
    return _plan(schema, key, types, version, condition, result, target=target, returning=returning)


def _plan(
    schema: EntitySchema,
    key: Item,
    types: tuple[str, ...] | None,
    version: int | None,
    condition: Condition | None,
    apply: Apply,
    *,
    target: Any,
    returning: bool = False,
    base: AttributeValue | None = None,
) -> WritePlan:
    check_owners(schema, condition)
    untyped = types is not None and passes_untyped(schema, types, key)

    def checks() -> Condition | None:
        # Deleting what is gone succeeds, so the version is asked of a row that is there.
        absent = attribute_not_exists(schema.registry.pk)
        return conjunction(
            None if version is None else absent | version_check(schema, version),
            None if types is None else delete_guard(schema, types, untyped=untyped),
        )

    def needed() -> Condition:
        found = checks()
        assert found is not None
        return found

    body = {"Key": key, "ReturnValues": "ALL_OLD" if returning else None}
    if condition is not None or version == 0 or (types is None and version is None):
        request = conditional("DeleteItem", body, conjunction(condition, checks()), schema)
    else:
        ready = rendered_once(schema, ("delete", types, untyped, version is None), needed)
        request = ready_request("DeleteItem", body, ready, schema, version)
    return WritePlan(
        request,
        schema,
        key,
        Expectation("delete", types=types, untyped=untyped, version=version, condition=condition is not None),
        apply,
        base=base,
        deletes=True,
        needs_attributes=returning,
        needs_old=returning,
        target=target,
    )
