"""Planning a delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablekit._types import Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.expressions.conditions import Condition, attribute_not_exists, conjunction
from tablekit.operations.guards import delete_guard
from tablekit.operations.plans import Expectation, WritePlan, decode_stored
from tablekit.operations.put import check_key_unchanged, conditional, key_for, version_check

__all__ = ["plan_delete", "plan_delete_key"]


def plan_delete(entity: EntityBase, *, condition: Condition | None = None, guard: bool = True) -> WritePlan:
    """Plan the deletion of an entity's row; a loaded versioned entity checks its version."""
    schema = schema_of(entity)
    own = entity.__dict__
    check_key_unchanged(entity, schema)
    version = None
    if guard and schema.version is not None and BASE in own and schema.version.name in own:
        version = own[schema.version.name]

    def forget(body: Mapping[str, Any]) -> None:
        # The object lives on as one that was never stored: saving it creates the row anew.
        for name in (BASE, DIRTY, PARTIAL, EXTRA, STORED_KEY, MARKERS):
            own.pop(name, None)

    return _plan(schema, key_for(entity, schema), schema.own_types, version, condition, guard, forget, entity)


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

    def result(body: Mapping[str, Any]) -> Any:
        return decode_stored(schema, body.get("Attributes")) if returning else None

    return _plan(schema, key, schema.types, version, condition, guard, result, target, returning=returning)


def _plan(
    schema: EntitySchema,
    key: Item,
    types: tuple[str, ...],
    version: int | None,
    condition: Condition | None,
    guard: bool,
    apply: Any,
    target: Any,
    *,
    returning: bool = False,
) -> WritePlan:
    checks = delete_guard(schema, types) if guard else None
    if version is not None:
        # Deleting what is gone succeeds, so the version is asked of a row that is there.
        checks = conjunction(checks, attribute_not_exists(schema.registry.pk) | version_check(schema, version))
    body = {"Key": key, "ReturnValues": "ALL_OLD" if returning else None}
    request = conditional("DeleteItem", body, conjunction(condition, checks), schema)
    expectation = Expectation(
        "delete", types=types if guard else None, version=version, condition=condition is not None
    )
    return WritePlan(request, schema, key, expectation, apply, deletes=True, target=target)
