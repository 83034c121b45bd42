"""Planning an update: actions on a row, by key or through a loaded entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.entity import BASE, MARKERS, EntityBase
from tablekit.definition.schema import MARKER, EntitySchema, FieldSchema
from tablekit.errors import ExpressionError, KeyChanged, KeyPartError, RequestError
from tablekit.expressions.actions import (
    Action,
    Add,
    Remove,
    Set,
    action_owners,
    arithmetic,
    check_actions,
    if_not_exists,
    set_attribute,
)
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition, attribute_exists, conjunction
from tablekit.expressions.paths import attribute
from tablekit.expressions.values import Value
from tablekit.operations.guards import delete_guard, passes_untyped, present_guard, version_check
from tablekit.operations.index_keys import (
    Pins,
    check_native_keys,
    known_values,
    pin,
    pin_conditions,
    recompute,
    touched,
)
from tablekit.operations.plans import Expectation, WritePlan, new_marker
from tablekit.operations.put import (
    check_key_unchanged,
    check_owners,
    check_version,
    conditional,
    loaded_version,
    marker_value,
)
from tablekit.operations.repeating import adds_up, parents_of, place
from tablekit.operations.results import Returning, UpdateResult
from tablekit.operations.save import changed_fields, stamp
from tablekit.operations.update_types import serves
from tablekit.wire.rendering import Renderer

__all__ = ["Returning", "Update", "plan_update"]


class Update:
    """What the caller asks of an update.

    Attributes:
        actions: on columns of the class. condition: what must hold of the row. guard: refuse another class's row.
        upsert: write the row when it is missing. version: the version that the row must have.
        composite: values of fields that index keys are made of and that this update does not set; asserted in
            the condition. returning: what comes back. once: apply it exactly once, by a transaction of one action.
    """

    __slots__ = ("actions", "composite", "condition", "guard", "once", "returning", "upsert", "version")

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
        once: bool = False,
    ) -> None:
        _check_given(actions, version, composite, returning)
        self.actions = tuple(actions)
        self.condition = condition
        self.guard = guard
        self.upsert = upsert
        self.version = version
        self.composite = dict(composite or {})
        self.returning: Returning | None = returning
        self.once = once or any(isinstance(action, Add) and action.once for action in self.actions)


def _check_given(actions: Sequence[Any], version: Any, composite: Any, returning: Any) -> None:
    """Refuse what is not of the kind that the call takes: a checker would have said so."""
    for action in actions:
        if not isinstance(action, Action):
            raise ExpressionError(
                f"an update takes actions on columns, such as Document.title.set(...), not {_shown(action)}"
            )
    check_version(version)
    if composite is not None and not isinstance(composite, Mapping):
        raise RequestError(f"composite= takes a mapping of field names to values, not a {type(composite).__name__}.")
    if returning is not None and not (isinstance(returning, str) and returning in ("new", "old", "changed")):
        raise RequestError(f'returning={returning!r} is not known; take "new", "old", "changed" or None.')


def _shown(given: Any) -> str:
    """What was given in place of an action, with the remedy where it is plain."""
    if isinstance(given, Condition):
        return "a condition: == compares, and .set(...) assigns; what must hold of the row is condition="
    return "a bare column" if isinstance(given, Column) else f"a {type(given).__name__}"


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
        key_values: the fields that the key spells. entity: the entity that the update goes through; of a loaded one
            the version is checked, its loaded values serve index keys, and it is brought up to date.
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
        self.entity = entity
        self.loaded: dict[str, Any] | None = None
        if entity is not None and BASE in entity.__dict__:
            self.loaded = entity.__dict__
        self.target = target if target is not None else entity
        self.actions: list[Action] = []
        self.set_values: dict[str, Any] = {}
        self.unknown: set[str] = set()
        self.pins: Pins = {}
        self.marker: str | None = None
        self.index_attributes: dict[str, AttributeValue | None] = {}

    def plan(self) -> WritePlan:
        schema, update = self.schema, self.update
        self._check_call()
        for action in sorted(update.actions, key=place):
            self._take(action)
        if not self.actions and not update.upsert:
            raise ExpressionError(f"update of {schema.name} sets nothing but its own key. Give another action.")
        version = self._checked_version()
        self._manage(version)
        if update.upsert:
            self._fill()
        self._index(version)
        expected = self._expectation(version)
        renderer = Renderer()
        result = self._result(version)
        body = {
            "Key": self.key,
            "UpdateExpression": renderer.render_update(self.actions),
            "ReturnValues": result.return_values,
        }
        request = conditional("UpdateItem", body, self._checks(expected), schema, renderer)
        return WritePlan(
            request,
            schema,
            self.key,
            expected,
            result.take,
            marker=self.marker,
            base=None if self.loaded is None else self.loaded.get(MARKERS),
            image=self._whole_image(),
            repeatable=version is not None or not adds_up(update.actions),
            needs_attributes=update.returning is not None,
            needs_old=update.returning == "old",
            once=update.once,
            parents=parents_of(update.actions),
            target=self.target,
        )

    def _check_call(self) -> None:
        schema, update = self.schema, self.update
        if not update.actions:
            raise ExpressionError(
                f"update of {schema.name} has no action. Give at least one, such as {schema.name}.field.set(...)."
            )
        if update.once and update.returning == "old":
            raise RequestError(
                f"update of {schema.name}: once=True sends a transaction, which returns no old row. "
                'Leave out once=True or returning="old".'
            )
        check_actions(update.actions)
        check_owners(schema, update.condition)
        for owner in action_owners(update.actions):
            if not issubclass(schema.entity, owner):
                raise _foreign(schema, next(a for a in update.actions if owner in action_owners([a])), owner)
        if self.entity is not None and self.loaded is not None:
            check_key_unchanged(self.entity, schema)

    # The caller's actions

    def _take(self, action: Action) -> None:
        field = self._field(action)
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

    def _field(self, action: Action) -> FieldSchema:
        found = self.schema.by_attribute.get(action.path.attribute)
        if action.path.owner is None or found is None:
            raise _foreign(self.schema, action, action.path.owner)
        return found

    def _key_field(self, field: FieldSchema, action: Action, whole: bool) -> None:
        """A field of the primary key may be given its own value, which changes nothing; no other."""
        same = (
            whole
            and isinstance(action, Set)
            and isinstance(action.operand, Value)
            and field.name in self.key_values
            and equal_wire(action.operand.av, field.encode(self.key_values[field.name]))
        )
        if not same:
            raise KeyChanged(
                f"{action.path} is part of the primary key, which no update can change. "
                "Create a new entity with the new key and delete this one (in one transaction).",
                entity=self.schema.name,
                field=field.name,
            )

    # What tablekit adds

    def _checked_version(self) -> int | None:
        """The version that the row must have, or None when it is bumped unchecked."""
        schema, update = self.schema, self.update
        if schema.version is None and update.version is not None:
            raise RequestError(f"{schema.name} has no version() field, so that version= can check nothing.")
        if update.version is not None or self.loaded is None or not update.guard:
            return update.version
        return loaded_version(schema, self.loaded, "update")

    def _manage(self, version: int | None) -> None:
        """Type, times, version and marker."""
        schema = self.schema
        # A class with subclasses must not restamp a subclass's row that it reaches by key; an upsert, or a call
        # without the guard, may meet a row of any type.
        keep = self.update.upsert or not self.update.guard or (self.entity is None and bool(schema.subclasses))
        self.actions.append(stamp(schema, keep=keep))
        if schema.updated_at is not None:
            self._set(schema.updated_at, self.now)
        if schema.version is None:
            return
        if schema.marker:
            self.marker = new_marker()
            own = self.loaded if self.loaded is not None and version is not None else {}
            self.actions.append(set_attribute(MARKER, marker_value(schema, self.marker, own), "marker"))
        self._bump(schema.version, version)

    def _bump(self, field: FieldSchema, checked: int | None) -> None:
        if checked is not None:
            self.actions.append(set_attribute(field.attribute, {"N": str(checked + 1)}, f"{field.name}_next"))
            return
        path = attribute(field.attribute)
        zero, one = Value({"N": "0"}, "zero"), Value({"N": "1"}, "one")
        self.actions.append(Set(path, arithmetic(if_not_exists(path, zero), "+", one)))

    def _set(self, field: FieldSchema, value: Any) -> None:
        encoded = field.encode(value)
        assert encoded is not None
        self.actions.append(set_attribute(field.attribute, encoded, f"{field.name}_now"))
        self.set_values[field.name] = value

    # What must hold

    def _types(self) -> tuple[str, ...]:
        """The types that the update may touch: for a key, subclasses that need nothing more than this class does."""
        schema = self.schema
        found = list(schema.own_types)
        values = {**self.key_values, **self.update.composite, **self.set_values}
        changed = self.set_values.keys() | self.unknown
        for subclass in schema.subclasses if self.entity is None else ():
            if serves(schema, subclass, values, changed, self.unknown, self.index_attributes):
                found += subclass.own_types
        return tuple(dict.fromkeys(found))

    def _expectation(self, version: int | None) -> Expectation:
        update = self.update
        types = self._types() if update.guard else None
        return Expectation(
            "update",
            requires=not update.upsert,
            types=types,
            untyped=types is not None and passes_untyped(self.schema, types, self.key),
            version=version,
            pins={name: allowed for name, (_, allowed) in self.pins.items()},
            condition=update.condition is not None,
        )

    def _checks(self, expected: Expectation) -> Condition | None:
        schema, upsert = self.schema, self.update.upsert
        guard: Condition | None = None
        if expected.types is not None:
            make = delete_guard if upsert else present_guard
            guard = make(schema, expected.types, untyped=expected.untyped)
        elif not upsert:
            guard = attribute_exists(schema.registry.pk)
        version = None if expected.version is None else version_check(schema, expected.version)
        return conjunction(self.update.condition, guard, version, *pin_conditions(self.pins))

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
                path = attribute(field.attribute)
                self.actions.append(Set(path, if_not_exists(path, Value(encoded, field.name, field.secret))))
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

    def _index(self, version: int | None) -> None:
        schema, update = self.schema, self.update
        self._check_composite()
        values = {**self._present_values(), **update.composite, **self.set_values}
        changed = self.set_values.keys() | self.unknown
        relied = set(update.composite)
        for index_key in touched(schema, changed):
            change = recompute(schema, index_key, values, changed, unknown=self.unknown)
            self.actions += change.actions
            self.index_attributes.update(change.attributes)
            if version is None:
                relied.update(change.relied)
        for name in schema.by_name:
            if name in relied and name not in schema.key_fields:
                field = schema.by_name[name]
                self.pins[field.attribute] = pin(field, values[name])
        check_native_keys(schema, self._image())
        if update.upsert:
            self._fill_indexes(changed)

    def _present_values(self) -> dict[str, Any]:
        """The fields as the row is known to hold them; local changes that are not saved are none of it."""
        if self.entity is None or self.loaded is None:
            return dict(self.key_values)
        before = changed_fields(self.entity, self.schema)
        return known_values(self.schema, {**self.loaded, **before, **self.key_values})

    def _check_composite(self) -> None:
        for name, value in self.update.composite.items():
            if name not in self.schema.by_name:
                raise RequestError(f"composite= names {name!r}, which {self.schema.name} has not.")
            if name in self.set_values or name in self.unknown:
                raise RequestError(
                    f"composite= says what {name} is stored as, and the update changes {name} itself. "
                    "Leave one of them out."
                )
            if name in self.key_values and self.key_values[name] != value:
                raise RequestError(f"composite= gives {name} another value than the key has. Leave it out.")

    def _fill_indexes(self, changed: set[str]) -> None:
        """A new row must have all its index keys; those that its defaults ask for no if_not_exists can write."""
        schema = self.schema
        known = {**self.key_values, **self.update.composite, **self.set_values}
        for index_key in schema.index_keys.values():
            if not index_key.written or not changed.isdisjoint(index_key.names) or index_key.excludes(known):
                continue
            fed = [name for name in index_key.names if name not in known]
            if not fed:
                # Made of the key alone, and so the same whether or not the row is there.
                self.actions += recompute(schema, index_key, known, ()).actions
                continue
            values = {**known, **{name: self._new_value(schema.by_name[name]) for name in fed}}
            if index_key.applies(values):
                raise KeyPartError(
                    f"update(upsert=True) of {schema.name}: the key of index {index_key.index.name!r} is made of "
                    f"{', '.join(fed)}, whose default only a new row would get. Set it in the update.",
                    entity=schema.name,
                    template=index_key.keys[0].template.text,
                    part=fed[0],
                )

    def _new_value(self, field: FieldSchema) -> Any:
        """What a new row would read as in a field that the update does not set."""
        value = self._filler(field)
        if value is UNSET:
            return None if field.missing is None else field.missing()
        return value

    # What comes of it

    def _image(self) -> dict[str, AttributeValue | None]:
        """The attributes that the update sets, and None for those that it removes."""
        fields = ((self.schema.by_name[name], value) for name, value in self.set_values.items())
        return {field.attribute: None if value is None else field.encode(value) for field, value in fields}

    def _whole_image(self) -> Item | None:
        """What the update leaves of the attributes it touches; None where that cannot be said."""
        image = self._image()
        if self.unknown or None in image.values():
            return None
        return {name: value for name, value in image.items() if value is not None}

    def _result(self, version: int | None) -> UpdateResult:
        return UpdateResult(
            self.schema,
            self.update.returning,
            entity=self.entity if self.loaded is not None else None,
            known=dict(self.set_values),
            unknown=frozenset(self.unknown),
            nested=any(len(action.path.segments) > 1 for action in self.update.actions),
            version=None if version is None else version + 1,
            ring=self._ring(),
        )

    def _ring(self) -> AttributeValue | None:
        for action in self.actions:
            if action.path.attribute == MARKER and isinstance(action, Set) and isinstance(action.operand, Value):
                return action.operand.av
        return None


def _foreign(schema: EntitySchema, action: Action, owner: type[Any] | None) -> ExpressionError:
    name = "a path" if owner is None else f"a column of {owner.__name__}"
    return ExpressionError(
        f"{action.path} speaks of {name}, and the update is of {schema.name}. Use the columns of {schema.name}.",
        paths=(str(action.path),),
    )
