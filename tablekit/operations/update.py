"""Planning an update: actions on a row, by key or through a loaded entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase
from tablekit.definition.schema import MARKER, EntitySchema, FieldSchema
from tablekit.errors import ExpressionError, KeyChanged, KeyPartError, RequestError
from tablekit.expressions.actions import (
    Action,
    Add,
    Operand,
    Remove,
    Set,
    arithmetic,
    check_actions,
    if_not_exists,
    set_attribute,
    set_if_not_exists,
)
from tablekit.expressions.conditions import Condition, attribute_exists, conjunction
from tablekit.expressions.paths import Path, attribute
from tablekit.expressions.values import Value
from tablekit.operations.guards import delete_guard, present_guard
from tablekit.operations.index_keys import pin, recompute, touched
from tablekit.operations.plans import Expectation, WritePlan, decode_stored, new_marker
from tablekit.operations.put import conditional, marker_value, version_check
from tablekit.operations.save import changed_fields
from tablekit.wire.items import decoder
from tablekit.wire.rendering import Renderer

__all__ = ["Returning", "Update", "plan_update"]

Returning = Literal["new", "old", "changed"]
"""What an update gives back: the row after it, the row before it, or the attributes that it changed."""

_RETURN_VALUES = {"new": "ALL_NEW", "old": "ALL_OLD", "changed": "UPDATED_NEW", None: "NONE"}


class Update:
    """What the caller asks of an update.

    Attributes:
        actions: on columns of the class. condition: what must hold of the row. guard: refuse another class's row.
        upsert: write the row when it is missing. version: the version that the row must have.
        composite: values of fields that index keys are made of and that this update does not set; asserted in
            the condition. returning: what comes back.
    """

    __slots__ = ("actions", "composite", "condition", "guard", "returning", "upsert", "version")

    def __init__(
        self,
        actions: Sequence[Action],
        *,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        returning: Returning | None = "new",
    ) -> None:
        self.actions = tuple(actions)
        self.condition = condition
        self.guard = guard
        self.upsert = upsert
        self.version = version
        self.composite = dict(composite or {})
        self.returning: Returning | None = returning


def plan_update(
    schema: EntitySchema,
    key: Item,
    key_values: Mapping[str, Any],
    update: Update,
    now: datetime,
    *,
    entity: EntityBase | None = None,
    target: Any = None,
) -> WritePlan:
    """Plan an UpdateItem of the caller's actions.

    Parameters:
        key_values: the fields that the key spells. entity: the loaded entity that the update goes through;
            its version is checked, its loaded values serve index keys, and it is brought up to date.
    """
    return _Planner(schema, key, key_values, update, now, entity, target).plan()


class _Planner:
    """Gathers the actions and checks of one update."""

    def __init__(
        self,
        schema: EntitySchema,
        key: Item,
        key_values: Mapping[str, Any],
        update: Update,
        now: datetime,
        entity: EntityBase | None,
        target: Any,
    ) -> None:
        self.schema = schema
        self.key = key
        self.key_values = key_values
        self.update = update
        self.now = now
        self.entity = entity if entity is not None and BASE in entity.__dict__ else None
        self.target = target if target is not None else entity
        self.actions: list[Action] = []
        self.set_values: dict[str, Any] = {}
        self.unknown: set[str] = set()
        self.pins: dict[str, tuple[Condition, tuple[AttributeValue | None, ...]]] = {}
        self.marker: str | None = None

    def plan(self) -> WritePlan:
        schema, update = self.schema, self.update
        if not update.actions:
            raise ExpressionError(
                f"update of {schema.name} has no action. Give at least one, such as {schema.name}.field.set(...)."
            )
        check_actions(update.actions)
        for action in update.actions:
            self._take(action)
        version = self._manage()
        if update.upsert:
            self._fill()
        self._index()
        types = schema.own_types if self.entity is not None else schema.types
        checks = conjunction(
            update.condition,
            self._guard(types),
            None if version is None else version_check(schema, version),
            *(condition for condition, _ in self.pins.values()),
        )
        renderer = Renderer()
        body = {
            "Key": self.key,
            "UpdateExpression": renderer.render_update(self.actions),
            "ReturnValues": _RETURN_VALUES[update.returning],
        }
        request = conditional("UpdateItem", body, checks, schema, renderer)
        return WritePlan(
            request,
            schema,
            self.key,
            Expectation(
                "update",
                requires=not update.upsert,
                types=types if update.guard else None,
                version=version,
                pins={name: allowed for name, (_, allowed) in self.pins.items()},
                condition=update.condition is not None,
            ),
            self._apply,
            marker=self.marker,
            base=None if self.entity is None else self.entity.__dict__.get(MARKERS),
            repeatable=version is not None or not any(map(_adds_up, update.actions)),
            needs_attributes=update.returning is not None,
            target=self.target,
        )

    # The caller's actions

    def _take(self, action: Action) -> None:
        field = self._field(action.path)
        whole = len(action.path.segments) == 1
        if field.name in self.schema.key_fields:
            self._key_field(field, action, whole)
            return
        if isinstance(action, Remove) and whole and field.missing is None:
            raise ExpressionError(
                f"{action.path} is required: without it the row could not be read. Set it to another value.",
                paths=(str(action.path),),
            )
        if whole and isinstance(action, Set) and isinstance(action.operand, Value):
            self.set_values[field.name] = field.codec.decode(action.operand.av)
        elif whole and isinstance(action, Remove):
            self.set_values[field.name] = None if field.missing is None else field.missing()
        else:
            self.unknown.add(field.name)
        self.actions.append(action)

    def _field(self, path: Path) -> FieldSchema:
        owner = path.owner
        found = self.schema.by_attribute.get(path.attribute)
        if owner is None or found is None or not issubclass(self.schema.entity, owner):
            name = "a path" if owner is None else owner.__name__
            raise ExpressionError(
                f"{path} is a column of {name}, and the update is of {self.schema.name}. "
                f"Use the columns of {self.schema.name}.",
                paths=(str(path),),
            )
        return found

    def _key_field(self, field: FieldSchema, action: Action, whole: bool) -> None:
        """A field of the primary key may be given its own value, which changes nothing; no other."""
        same = (
            whole
            and isinstance(action, Set)
            and isinstance(action.operand, Value)
            and field.name in self.key_values
            and field.codec.decode(action.operand.av) == self.key_values[field.name]
        )
        if not same:
            raise KeyChanged(
                f"{action.path} is part of the primary key, which no update can change. "
                "Create a new entity with the new key and delete this one (in one transaction).",
                entity=self.schema.name,
                field=field.name,
            )

    # What tablekit adds

    def _manage(self) -> int | None:
        """Type, times, version and marker; gives the version that is to be checked."""
        schema = self.schema
        if not self.actions and not self.update.upsert:
            raise ExpressionError(f"update of {schema.name} sets nothing but its own key. Give another action.")
        self._stamp()
        if schema.updated_at is not None:
            self._set(schema.updated_at, self.now)
        if schema.version is None:
            if self.update.version is not None:
                raise RequestError(f"{schema.name} has no version() field, so that version= can check nothing.")
            return None
        if schema.marker:
            self.marker = new_marker()
            own = self.entity.__dict__ if self.entity is not None else {}
            self.actions.append(set_attribute(MARKER, marker_value(schema, self.marker, own), "marker"))
        return self._bump(schema.version)

    def _bump(self, version: FieldSchema) -> int | None:
        checked = self.update.version
        if checked is None and self.entity is not None and self.update.guard:
            checked = self.entity.__dict__.get(version.name)
        if checked is not None:
            self.actions.append(set_attribute(version.attribute, {"N": str(checked + 1)}, f"{version.name}_next"))
            return checked
        path = attribute(version.attribute)
        zero, one = Value({"N": "0"}, "zero"), Value({"N": "1"}, "one")
        self.actions.append(Set(path, arithmetic(if_not_exists(path, zero), "+", one)))
        return None

    def _stamp(self) -> None:
        schema = self.schema
        attribute_name, value = schema.registry.type_attribute, {"S": schema.type}
        # A class with subclasses must not restamp a subclass's row that it reaches by key.
        if self.update.upsert or (self.entity is None and schema.subclasses):
            self.actions.append(set_if_not_exists(attribute_name, value, schema.type))
        else:
            self.actions.append(set_attribute(attribute_name, value, schema.type))

    def _set(self, field: FieldSchema, value: Any) -> None:
        encoded = field.encode(value)
        assert encoded is not None
        self.actions.append(set_attribute(field.attribute, encoded, f"{field.name}_now"))
        self.set_values[field.name] = value

    def _guard(self, types: tuple[str, ...]) -> Condition | None:
        schema, update = self.schema, self.update
        if update.upsert:
            return delete_guard(schema, types) if update.guard else None
        return present_guard(schema, types) if update.guard else attribute_exists(schema.registry.pk)

    # An upsert must leave a whole row

    def _fill(self) -> None:
        touched_fields = self.set_values.keys() | self.unknown
        missing: list[str] = []
        for field in self.schema.fields:
            if field.name in touched_fields or field.kind == "version":
                continue
            value = self._filler(field)
            if value is UNSET:
                if field.missing is None:
                    missing.append(field.name)
                continue
            encoded = field.encode(value)
            if encoded is not None and field.attribute not in self.key:
                self.actions.append(set_if_not_exists(field.attribute, encoded, field.name))
        if missing:
            raise RequestError(
                f"update(upsert=True) of {self.schema.name} does not set {', '.join(missing)}, which a new row must "
                "have. Set them in the same update."
            )

    def _filler(self, field: FieldSchema) -> Any:
        if field.name in self.key_values:
            return self.key_values[field.name]
        if field.kind == "created_at":
            return self.now
        if field.default is not UNSET:
            return field.default
        if field.factory is not UNSET and field.missing is None:
            return field.factory()
        return UNSET

    # Index keys

    def _index(self) -> None:
        schema, update = self.schema, self.update
        values = dict(self.key_values)
        if self.entity is not None:
            own = self.entity.__dict__
            journal = changed_fields(self.entity, schema)
            values.update({f.name: journal.get(f.name, own.get(f.name)) for f in schema.fields if f.name in own})
        self._check_composite()
        values.update(update.composite)
        values.update(self.set_values)
        changed = self.set_values.keys() | self.unknown
        for index_key in touched(schema, changed):
            change = recompute(schema, index_key, values, changed, unknown=self.unknown)
            self.actions += change.actions
            for name in change.relied:
                if schema.version is None or name in update.composite:
                    field = schema.by_name[name]
                    self.pins[field.attribute] = pin(field, values[name])
        if update.upsert:
            self._check_upsert_indexes(changed)

    def _check_composite(self) -> None:
        for name in self.update.composite:
            if name not in self.schema.by_name:
                raise RequestError(f"composite= names {name!r}, which {self.schema.name} has not.")

    def _check_upsert_indexes(self, changed: set[str]) -> None:
        """A new row must have the index keys that its defaults ask for, and those no if_not_exists can write."""
        schema = self.schema
        known = changed | self.key_values.keys() | self.update.composite.keys()
        for index_key in schema.index_keys.values():
            if not index_key.written or any(name in changed for name in index_key.names):
                continue
            fed = [name for name in index_key.names if name not in known]
            created = {name: self._filler(schema.by_name[name]) for name in fed}
            values = {**self.key_values, **{k: v for k, v in created.items() if v is not UNSET}}
            if index_key.applies(values):
                raise KeyPartError(
                    f"update(upsert=True) of {schema.name}: the key of index {index_key.index.name!r} is made of "
                    f"{', '.join(fed) or 'the key'}, whose default only a new row would get. Set it in the update.",
                    entity=schema.name,
                    template=index_key.keys[0].template.text,
                    part=fed[0] if fed else "",
                )

    # After success

    def _apply(self, body: Mapping[str, Any]) -> Any:
        attributes = body.get("Attributes")
        returning = self.update.returning
        if returning == "changed":
            return self._changed(attributes or {})
        if self.entity is not None:
            return self._refresh(self.entity, attributes, returning)
        if returning is None:
            return None
        return decode_stored(self.schema, attributes)

    def _changed(self, attributes: Item) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, value in attributes.items():
            field = self.schema.by_attribute.get(name)
            if field is not None:
                result[field.name] = field.codec.decode(value)
        return result

    def _refresh(self, entity: EntityBase, attributes: Item | None, returning: Returning | None) -> Any:
        if returning == "old":
            return decode_stored(self.schema, attributes)
        if not attributes:
            return entity
        merge_fresh(entity, self.schema, decoder(self.schema)(attributes))
        return entity


def merge_fresh(entity: EntityBase, schema: EntitySchema, fresh: EntityBase) -> None:
    """Bring a loaded entity up to the row's state, and keep its local changes that are not saved."""
    own, new = entity.__dict__, fresh.__dict__
    local = changed_fields(entity, schema) if BASE in own else {}
    journal = {}
    for field in schema.fields:
        if field.name in local:
            journal[field.name] = new.get(field.name, UNSET)
        elif field.name in new:
            own[field.name] = new[field.name]
        else:
            own.pop(field.name, None)
    own[BASE] = new[BASE]
    for name in (EXTRA, STORED_KEY, PARTIAL, MARKERS):
        if name in new:
            own[name] = new[name]
        else:
            own.pop(name, None)
    own.pop(DIRTY, None)
    if journal:
        own[DIRTY] = journal


def _adds_up(action: Action) -> bool:
    """Whether doing the action twice differs from doing it once."""
    if isinstance(action, Add):
        return "N" in action.value.av
    return isinstance(action, Set) and isinstance(action.operand, Operand)
