"""Planning a save: what changed in a loaded entity, as one update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tablekit._types import UNSET
from tablekit.codecs.base import Codec, ValueProblem
from tablekit.codecs.compare import equal_wire
from tablekit.codecs.nested import NestedCodec
from tablekit.codecs.unions import OptionalCodec
from tablekit.definition.entity import BASE, DIRTY, MARKERS, PARTIAL, EntityBase, schema_of
from tablekit.definition.schema import MARKER, EntitySchema, FieldSchema
from tablekit.errors import PartialEntity
from tablekit.expressions.actions import Action, remove_path, set_path
from tablekit.expressions.conditions import Condition, conjunction
from tablekit.operations.guards import present_guard
from tablekit.operations.index_keys import pin, recompute, touched
from tablekit.operations.plans import Expectation, WritePlan, new_marker, settle
from tablekit.operations.put import (
    check_key_unchanged,
    conditional,
    keep_markers,
    key_for,
    managed_values,
    marker_value,
    version_check,
)
from tablekit.wire.rendering import Renderer

__all__ = ["changed_fields", "plan_save"]

Segments = tuple[str | int, ...]


def changed_fields(entity: EntityBase, schema: EntitySchema) -> dict[str, Any]:
    """The fields that changed since the entity was loaded or last written, with the values they had.

    Set fields are known by their journal; lists, dicts, sets and nested objects are compared with the copy
    that was taken when the row was loaded.
    """
    own = entity.__dict__
    before: dict[str, Any] = {}
    for name, value in own.get(DIRTY, {}).items():
        field = schema.by_name[name]
        if field.codec.copy is None and _differs(field, value, own[name]):
            before[name] = value
    for field, base in zip(schema.mutable, own.get(BASE, ())):
        if field.name in own:
            loaded = base if _was_loaded(own, field) else UNSET
            if _differs(field, loaded, own[field.name]):
                before[field.name] = loaded
    return before


def _was_loaded(own: Mapping[str, Any], field: FieldSchema) -> bool:
    partial = own.get(PARTIAL)
    return partial is None or field.name in partial


def _differs(field: FieldSchema, before: Any, after: Any) -> bool:
    if before is UNSET:
        return True
    return not equal_wire(field.encode(before), field.encode(after))


def plan_save(
    entity: EntityBase, now: datetime, *, condition: Condition | None = None, guard: bool = True
) -> WritePlan | None:
    """Plan the UpdateItem that brings the row to the entity's state; None when nothing changed."""
    schema = schema_of(entity)
    own = entity.__dict__
    check_key_unchanged(entity, schema)
    before = changed_fields(entity, schema)
    if not before:
        return None
    _require_version(schema, own)
    managed = managed_values(schema, own, now, fresh=False)
    if PARTIAL in own and schema.created_at is not None and schema.created_at.name not in own:
        managed.pop(schema.created_at.name, None)
    values = {**own, **managed}
    actions = [
        action for name, old in before.items() for action in _field_actions(schema.by_name[name], old, own[name])
    ]
    actions += [
        set_path((schema.by_name[name].attribute,), _encoded(schema.by_name[name], value), hint=f"{name}_next")
        for name, value in managed.items()
        if schema.by_name[name].kind != "created_at"
    ]
    changed = {*before, *(name for name in managed if schema.by_name[name].kind != "created_at")}
    index_actions, relied = _index_actions(schema, values, changed)
    actions += index_actions
    actions.append(set_path((schema.registry.type_attribute,), {"S": schema.type}, hint=schema.type))
    marker = None
    ring: dict[str, Any] = {}
    if schema.marker:
        marker = new_marker()
        ring = {MARKER: marker_value(schema, marker, own)}
        actions.append(set_path((MARKER,), ring[MARKER], hint="marker"))
    version = own.get(schema.version.name, 0) if schema.version is not None and guard else None
    pins = _pins(schema, own, before, relied) if schema.version is None else {}
    checks = conjunction(
        condition,
        present_guard(schema, schema.own_types) if guard else None,
        None if version is None else version_check(schema, version),
        *(pinned for pinned, _ in pins.values()),
    )
    renderer = Renderer()
    key = key_for(entity, schema)
    body = {"Key": key, "UpdateExpression": renderer.render_update(actions)}
    request = conditional("UpdateItem", body, checks, schema, renderer)

    def apply(answer: Mapping[str, Any]) -> Any:
        settle(schema, own, managed)
        keep_markers(schema, own, ring)
        return entity

    return WritePlan(
        request,
        schema,
        key,
        Expectation(
            "save",
            requires=True,
            types=schema.own_types if guard else None,
            version=version,
            pins={attribute: allowed for attribute, (_, allowed) in pins.items()},
            condition=condition is not None,
        ),
        apply,
        marker=marker,
        base=own.get(MARKERS),
        image=_image(schema, values, changed),
        target=entity,
    )


def _require_version(schema: EntitySchema, own: Mapping[str, Any]) -> None:
    if schema.version is not None and PARTIAL in own and schema.version.name not in own:
        raise PartialEntity(
            f"This {schema.name} was loaded without {schema.version.name}, which a save must check. "
            "Add it to select=, or read the whole row with refresh().",
            entity=schema.name,
            missing=(schema.version.name,),
        )


def _encoded(field: FieldSchema, value: Any) -> Any:
    encoded = field.encode(value)
    assert encoded is not None
    return encoded


def _index_actions(
    schema: EntitySchema, values: Mapping[str, Any], changed: set[str]
) -> tuple[list[Action], tuple[str, ...]]:
    actions: list[Action] = []
    relied: list[str] = []
    for index_key in touched(schema, changed):
        change = recompute(schema, index_key, values, changed)
        actions += change.actions
        relied += change.relied
    return actions, tuple(dict.fromkeys(relied))


def _pins(
    schema: EntitySchema, own: Mapping[str, Any], before: Mapping[str, Any], relied: tuple[str, ...]
) -> dict[str, tuple[Condition, tuple[Any, ...]]]:
    """An index key was made of changed and of loaded fields: two savers of different parts must not both win."""
    return {schema.by_name[name].attribute: pin(schema.by_name[name], own[name]) for name in relied}


def _image(schema: EntitySchema, values: Mapping[str, Any], changed: set[str]) -> dict[str, Any] | None:
    image: dict[str, Any] = {}
    for name in changed:
        encoded = schema.by_name[name].encode(values[name])
        if encoded is not None:
            image[schema.by_name[name].attribute] = encoded
    return image


# What changed inside a field


def _field_actions(field: FieldSchema, before: Any, after: Any) -> Iterator[Action]:
    nested = _nested(field.codec)
    path: Segments = (field.attribute,)
    if nested is not None and before is not UNSET and before is not None and after is not None:
        try:
            yield from _nested_actions(nested, path, before, after, field.name)
        except ValueProblem as problem:
            raise field.refuse(problem.reason, problem.path) from None
        return
    yield set_or_remove(path, field.encode(after), field.name, secret=field.secret)


def set_or_remove(path: Segments, encoded: Any, hint: str, *, secret: bool = False) -> Action:
    """SET of an encoded value; REMOVE where the value is written by leaving the attribute out."""
    if encoded is None:
        return remove_path(path)
    return set_path(path, encoded, hint=hint, secret=secret)


def _nested(codec: Codec[Any]) -> NestedCodec | None:
    if isinstance(codec, OptionalCodec):
        codec = codec.inner
    return codec if isinstance(codec, NestedCodec) else None


def _nested_actions(codec: NestedCodec, path: Segments, before: Any, after: Any, hint: str) -> Iterator[Action]:
    """Changes of a nested object by path, so that attributes its class does not declare stay as they are."""
    if type(before) is not type(after):
        yield set_or_remove(path, codec.encode(after), hint)
        return
    for field in codec.fields():
        old, new = getattr(before, field.name), getattr(after, field.name)
        was, is_ = field.encode(old), field.encode(new)
        if equal_wire(was, is_):
            continue
        inner = _nested(field.codec)
        below = (*path, field.attribute)
        if inner is not None and old is not None and new is not None and was is not None:
            yield from _nested_actions(inner, below, old, new, f"{hint}_{field.name}")
        else:
            yield set_or_remove(below, is_, f"{hint}_{field.name}")
