"""Planning a save: what changed in a loaded entity, as one update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.codecs.base import Codec, ValueProblem
from tablekit.codecs.compare import equal_wire
from tablekit.codecs.nested import NestedCodec, NestedField
from tablekit.codecs.unions import OptionalCodec
from tablekit.definition.entity import BASE, DIRTY, MARKERS, PARTIAL, EntityBase, schema_of
from tablekit.definition.schema import MARKER, EntitySchema, FieldSchema
from tablekit.expressions.actions import Action, Set, if_not_exists, remove_path, set_attribute, set_path
from tablekit.expressions.conditions import Condition, attribute_exists, conjunction
from tablekit.expressions.paths import attribute
from tablekit.expressions.values import Value
from tablekit.operations.guards import passes_untyped, present_guard, version_check
from tablekit.operations.index_keys import (
    Pins,
    check_native_keys,
    known_values,
    pin,
    pin_conditions,
    recompute,
    touched,
)
from tablekit.operations.plans import Expectation, Sent, WritePlan, new_marker, settle
from tablekit.operations.put import (
    check_key_unchanged,
    check_owners,
    conditional,
    keep_markers,
    key_for,
    loaded_version,
    managed_values,
    marker_value,
)
from tablekit.wire.rendering import Renderer

__all__ = ["changed_fields", "plan_save", "stamp"]

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
    """Plan the UpdateItem that brings the row to the entity's state; None when nothing changed.

    Parameters:
        condition: what else must hold of the row. guard: refuse another class's row, and check the version.
    """
    return _Saver(entity, now, condition, guard=guard).plan()


class _Saver:
    """Gathers the actions and checks of one save."""

    def __init__(self, entity: EntityBase, now: datetime, condition: Condition | None, *, guard: bool) -> None:
        self.entity = entity
        self.own = entity.__dict__
        self.schema = schema_of(entity)
        self.now = now
        self.condition = condition
        self.guard = guard
        self.before: dict[str, Any] = {}
        self.managed: dict[str, Any] = {}
        self.ring: dict[str, AttributeValue] = {}
        self.marker: str | None = None

    def plan(self) -> WritePlan | None:
        schema, own = self.schema, self.own
        check_owners(schema, self.condition)
        check_key_unchanged(self.entity, schema)
        self.before = changed_fields(self.entity, schema)
        if not self.before:
            return None
        version = loaded_version(schema, own, "save") if self.guard else None
        self.managed = self._managed()
        values = {**own, **self.managed}
        changed = {*self.before, *self.managed}
        image = self._image(values, changed)
        actions = [*self._changes(), *self._settings(image)]
        index_actions, relied = self._index_actions(values, changed)
        actions += index_actions
        actions += self._stamps(version)
        pins: Pins = {}
        if version is None:
            # Nothing else tells of a saver of another part of the same index key.
            pins = {schema.by_name[name].attribute: pin(schema.by_name[name], own[name]) for name in relied}
        key = key_for(self.entity, schema)
        expectation = self._expectation(key, version, pins)
        renderer = Renderer()
        body = {"Key": key, "UpdateExpression": renderer.render_update(actions)}
        request = conditional("UpdateItem", body, self._checks(expectation, pins), schema, renderer)
        sent = Sent(schema, values)

        def apply(answer: Mapping[str, Any]) -> Any:
            settle(schema, own, sent, self.managed)
            keep_markers(own, self.ring)
            return self.entity

        return WritePlan(
            request,
            schema,
            key,
            expectation,
            apply,
            marker=self.marker,
            base=own.get(MARKERS),
            # An image says nothing of attributes that are gone.
            image=None if None in image.values() else {n: v for n, v in image.items() if v is not None},
            target=self.entity,
        )

    def _managed(self) -> dict[str, Any]:
        managed = managed_values(self.schema, self.own, self.now, fresh=False)
        if self.schema.created_at is not None:
            # It belongs to the first write.
            managed.pop(self.schema.created_at.name, None)
        return managed

    def _changes(self) -> Iterator[Action]:
        for name, old in self.before.items():
            yield from _field_actions(self.schema.by_name[name], old, self.own[name])

    def _settings(self, image: Mapping[str, AttributeValue | None]) -> Iterator[Action]:
        for name in self.managed:
            field = self.schema.by_name[name]
            encoded = image[field.attribute]
            assert encoded is not None
            yield set_path((field.attribute,), encoded, hint=f"{name}_next")

    def _image(self, values: Mapping[str, Any], changed: set[str]) -> dict[str, AttributeValue | None]:
        """The changed attributes as the row will have them; None for those that are removed."""
        image = {
            self.schema.by_name[name].attribute: self.schema.by_name[name].encode(values[name]) for name in changed
        }
        check_native_keys(self.schema, image)
        return image

    def _index_actions(self, values: Mapping[str, Any], changed: set[str]) -> tuple[list[Action], tuple[str, ...]]:
        actions: list[Action] = []
        relied: list[str] = []
        known = known_values(self.schema, values)
        for index_key in touched(self.schema, changed):
            change = recompute(self.schema, index_key, known, changed, verb="save")
            actions += change.actions
            relied += change.relied
        return actions, tuple(dict.fromkeys(relied))

    def _stamps(self, version: int | None) -> Iterator[Action]:
        schema = self.schema
        # Without the guard the row may be another class's, and no write changes a type.
        yield stamp(schema, keep=not self.guard)
        if schema.marker:
            self.marker = new_marker()
            self.ring = {MARKER: marker_value(schema, self.marker, self.own if version is not None else {})}
            yield set_attribute(MARKER, self.ring[MARKER], "marker")

    def _expectation(self, key: Item, version: int | None, pins: Pins) -> Expectation:
        types = self.schema.own_types if self.guard else None
        return Expectation(
            "save",
            requires=True,
            types=types,
            untyped=types is not None and passes_untyped(self.schema, types, key),
            version=version,
            pins={attribute: allowed for attribute, (_, allowed) in pins.items()},
            condition=self.condition is not None,
        )

    def _checks(self, expected: Expectation, pins: Pins) -> Condition | None:
        schema = self.schema
        guard = (
            attribute_exists(schema.registry.pk)
            if expected.types is None
            else present_guard(schema, expected.types, untyped=expected.untyped)
        )
        version = None if expected.version is None else version_check(schema, expected.version)
        return conjunction(self.condition, guard, version, *pin_conditions(pins))


def stamp(schema: EntitySchema, *, keep: bool) -> Action:
    """The action that writes the type.

    Parameters:
        keep: leave a type that the row has already.
    """
    path = attribute(schema.registry.type_attribute)
    value = Value({"S": schema.type}, schema.type)
    return Set(path, if_not_exists(path, value) if keep else value)


# What changed inside a field


def _field_actions(field: FieldSchema, before: Any, after: Any) -> Iterator[Action]:
    nested = _nested(field.codec)
    path: Segments = (field.attribute,)
    absent = UNSET if field.missing is None else field.missing()
    if nested is not None and _is_stored(field, before, absent) and after is not None:
        try:
            yield from _nested_actions(nested, path, before, after, field.name, secret=field.secret)
        except ValueProblem as problem:
            raise field.refuse(problem.reason, problem.path) from None
        return
    yield set_or_remove(path, field.encode(after), field.name, secret=field.secret)


def _is_stored(field: FieldSchema | NestedField, before: Any, absent: Any) -> bool:
    """Whether the row is sure to hold an object, so that its parts can be set by path.

    An object that equals what a missing attribute reads as may not be there; it holds nothing that the class
    does not know, and is written as a whole.
    """
    if before is UNSET or before is None:
        return False
    return absent is UNSET or absent is None or not equal_wire(field.encode(before), field.encode(absent))


def set_or_remove(path: Segments, encoded: AttributeValue | None, hint: str, *, secret: bool = False) -> Action:
    """SET of an encoded value; REMOVE where the value is written by leaving the attribute out."""
    if encoded is None:
        return remove_path(path)
    return set_path(path, encoded, hint=hint, secret=secret)


def _nested(codec: Codec[Any]) -> NestedCodec | None:
    if isinstance(codec, OptionalCodec):
        codec = codec.inner
    return codec if isinstance(codec, NestedCodec) else None


def _nested_actions(
    codec: NestedCodec, path: Segments, before: Any, after: Any, hint: str, *, secret: bool
) -> Iterator[Action]:
    """Changes of a nested object by path, so that attributes its class does not declare stay as they are."""
    if type(before) is not type(after):
        yield set_or_remove(path, codec.encode(after), hint, secret=secret)
        return
    for field in codec.fields():
        old, new = getattr(before, field.name), getattr(after, field.name)
        encoded = field.encode(new)
        if equal_wire(field.encode(old), encoded):
            continue
        inner = _nested(field.codec)
        below, name = (*path, field.attribute), f"{hint}_{field.name}"
        if inner is not None and new is not None and _is_stored(field, old, _absent(field)):
            yield from _nested_actions(inner, below, old, new, name, secret=secret)
        else:
            yield set_or_remove(below, encoded, name, secret=secret)


def _absent(field: NestedField) -> Any:
    """What a missing attribute of a nested class reads as; `UNSET` where it cannot be read."""
    if field.default is not UNSET:
        return field.default
    return UNSET if field.absent is None else field.absent()
