"""Unique values: the guard rows that a write claims and releases, planned and without I/O."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.definition.entity import BASE, DIRTY, PARTIAL
from tablekit.definition.schema import EntitySchema, FieldSchema, UniqueSchema
from tablekit.definition.uniques import GUARD_TYPE, OWNER, guard_keys, guarded_fields, owner_of, values_of
from tablekit.errors import RequestError, StaleEntity, TablekitError, UniqueViolation
from tablekit.expressions.actions import Action, Remove, Set
from tablekit.expressions.conditions import Condition, any_of, attribute_not_exists, conjunction, equals
from tablekit.expressions.values import Value
from tablekit.operations.batch_get import token_of
from tablekit.operations.index_keys import pin
from tablekit.operations.put import conditional
from tablekit.wire.requests import Request

__all__ = [
    "Before",
    "Guard",
    "GuardAction",
    "after_update",
    "encoded_values",
    "guard_actions",
    "guards_of",
    "rivals_of",
    "violation",
]

Values = Mapping[str, AttributeValue | None]
Pins = Mapping[str, tuple[Condition, tuple[AttributeValue | None, ...]]]


class Before:
    """The values of a row on which its guard rows depend, as they are before a write.

    Attributes:
        schema: the row's own class. values: attribute values by field name. exists: whether there is a row; None
            when it was loaded and may be gone by now. read: whether the row was read for this write.
        pins: by attribute, the condition that its value is still this one, and the stored values that satisfy it.
        item: the row that was read.
    """

    __slots__ = ("exists", "item", "pins", "read", "schema", "values")

    def __init__(
        self,
        schema: EntitySchema,
        values: Values,
        pins: Pins,
        *,
        exists: bool | None,
        read: bool,
        item: Item | None = None,
    ) -> None:
        self.schema = schema
        self.values = values
        self.pins = pins
        self.exists = exists
        self.read = read
        self.item = item

    @classmethod
    def nothing(cls, schema: EntitySchema, *, read: bool = False) -> Before:
        """There is no row."""
        return cls(schema, {}, {}, exists=False, read=read)

    @classmethod
    def loaded(cls, schema: EntitySchema, own: Mapping[str, Any]) -> Before | None:
        """What a loaded entity knows of its row; None where a value was not loaded."""
        if BASE not in own:
            return None
        journal = own.get(DIRTY, {})
        values: dict[str, AttributeValue | None] = {}
        pins: dict[str, Any] = {}
        for field in guarded_fields(schema):
            loaded = journal.get(field.name, own.get(field.name, UNSET))
            if loaded is UNSET or not _was_loaded(own, field):
                return None
            values[field.name] = field.encode(loaded)
            pins[field.attribute] = pin(field, loaded)
        return cls(schema, values, pins, exists=None, read=False)

    @classmethod
    def stored(cls, schema: EntitySchema, item: Item | None) -> Before:
        """What a row holds that was read for this write; its own class may be a subclass."""
        if not item:
            return cls.nothing(schema, read=True)
        registry = schema.registry
        found = registry.by_type.get(item.get(registry.type_attribute, {}).get("S", ""), schema)
        values: dict[str, AttributeValue | None] = {}
        pins: dict[str, Any] = {}
        for field in guarded_fields(found):
            stored = item.get(field.attribute)
            values[field.name] = stored if stored is not None else _missing(field)
            condition = (
                attribute_not_exists(field.attribute)
                if stored is None
                else equals(field.attribute, Value(stored, f"{field.name}_before", field.secret))
            )
            pins[field.attribute] = condition, (stored,)
        return cls(found, values, pins, exists=True, read=True, item=item)

    def condition(self, *, absent: bool) -> Condition | None:
        """What a write must assert so that these values are still the row's.

        Parameters:
            absent: whether the write also takes a row that is gone by now: a delete does.
        """
        gone = attribute_not_exists(self.schema.registry.pk)
        if self.exists is False:
            return gone
        pinned = conjunction(*(condition for condition, _ in self.pins.values()))
        if pinned is None or not absent or self.exists:
            return pinned
        return any_of(gone, pinned)

    def same_as(self, other: Before) -> bool:
        """Whether two readings of a row agree, so that a failure has another reason than a race."""
        if bool(self.exists) != bool(other.exists) or self.schema is not other.schema:
            return False
        return _tokens(self.values) == _tokens(other.values)


def _was_loaded(own: Mapping[str, Any], field: FieldSchema) -> bool:
    partial = own.get(PARTIAL)
    return partial is None or field.name in partial


def _missing(field: FieldSchema) -> AttributeValue | None:
    return None if field.missing is None else field.encode(field.missing())


def _tokens(values: Values) -> dict[str, Hashable]:
    return {name: None if value is None else token_of({name: value}) for name, value in values.items()}


def encoded_values(schema: EntitySchema, own: Mapping[str, Any], before: Before | None = None) -> Values:
    """The values that an entity holds now; those that it was not loaded with are as they were before."""
    known: Values = before.values if before is not None else {}
    return {
        field.name: field.encode(own[field.name]) if field.name in own else known.get(field.name)
        for field in guarded_fields(schema)
    }


def after_update(schema: EntitySchema, actions: Sequence[Action]) -> Values | None:
    """The guarded values that an update sets; None when it touches none.

    A subclass's unique value may be made of a field that the class shares with it.

    Raises `RequestError` for one whose new value only DynamoDB would know: no guard row can be written for it.
    """
    fields = {field.attribute: field for each in (*schema.subclasses, schema) for field in guarded_fields(each)}
    found: dict[str, AttributeValue | None] = {}
    for action in actions:
        field = fields.get(action.path.attribute)
        if field is None:
            continue
        if isinstance(action, Set) and isinstance(action.operand, Value):
            found[field.name] = action.operand.av
        elif isinstance(action, Remove):
            found[field.name] = _missing(field)
        else:
            raise RequestError(
                f"{action.path}: only DynamoDB would know the new value, and the guard row of a unique value is made "
                f"of it. Set it to a value: load the {schema.name}, set it and save()."
            )
    return found or None


@attrs.frozen
class Guard:
    """One unique value of one row, to be claimed or released.

    Attributes:
        schema, unique: whose value. owner: the row's key. key: the guard row's key. claim: else it is released.
        alias: whether the guard stands under an old spelling of the type, which is looked at and never written.
        expiry: the attribute by which the row expires, with its value; its guards expire with it.
        step: the place of the write that it belongs to.
    """

    schema: EntitySchema
    unique: UniqueSchema
    owner: Item
    key: Item
    claim: bool
    alias: bool
    expiry: tuple[str, AttributeValue] | None
    step: int

    @property
    def token(self) -> Hashable:
        """The guard row, in a form that is equal for equal rows."""
        return id(self.schema.registry), token_of(self.key)


def guards_of(
    schema: EntitySchema, owner: Item, before: Before, after: Values | None, *, step: int = 0, every: bool = False
) -> list[Guard]:
    """What a write claims and releases.

    Parameters:
        schema: the class that is written. owner: the row's key. after: the values that it leaves; None for a delete.
        every: claim values that stay as they are too, as a put does; so rows come by guards that they lack.
    """
    guards: list[Guard] = []
    ttl = schema.ttl
    moved = ttl is not None and _token(before.values.get(ttl.name)) != _token((after or {}).get(ttl.name))
    for unique in before.schema.uniques:
        old = values_of(unique, before.values)
        new = None if after is None else values_of(unique, after)
        if old is not None and _same(old, new) is False:
            guards += _each(before.schema, unique, owner, old, step, claim=False)
    for unique in schema.uniques if after is not None else ():
        assert after is not None
        old, new = values_of(unique, before.values), values_of(unique, after)
        if new is not None and (every or moved or _same(new, old) is False):
            stored = None if ttl is None else after.get(ttl.name)
            expiry = None if ttl is None or stored is None else (ttl.attribute, stored)
            guards += _each(schema, unique, owner, new, step, claim=True, expiry=expiry)
    return guards


def _token(value: AttributeValue | None) -> Hashable:
    return None if value is None else token_of({"": value})


def _same(one: Sequence[AttributeValue], other: Sequence[AttributeValue] | None) -> bool:
    return other is not None and list(map(_token, one)) == list(map(_token, other))


def _each(
    schema: EntitySchema,
    unique: UniqueSchema,
    owner: Item,
    values: Sequence[AttributeValue],
    step: int,
    *,
    claim: bool,
    expiry: tuple[str, AttributeValue] | None = None,
) -> Iterable[Guard]:
    for place, key in enumerate(guard_keys(schema, unique, values)):
        yield Guard(schema, unique, owner, key, claim, place > 0, expiry, step)


class GuardAction:
    """One action on one guard row; a value that moves from one row to another in a transaction is one action.

    Attributes:
        kind: ``"Put"``, ``"Delete"`` or ``"ConditionCheck"``. request: the write. guard: whose it is.
    """

    __slots__ = ("guard", "kind", "request")

    def __init__(self, kind: str, request: Request, guard: Guard) -> None:
        self.kind = kind
        self.request = request
        self.guard = guard

    def explain(self, item: Item | None, target: TablekitError | None = None) -> TablekitError:
        """The failure of the write that the guard row belongs to."""
        return self._violation(item) if self.guard.claim else self._stale(item)

    def _violation(self, item: Item | None) -> UniqueViolation:
        return violation(self.guard, owner_of(item), item)

    def _stale(self, item: Item | None) -> StaleEntity:
        guard, registry = self.guard, self.guard.schema.registry
        pk, sk = registry.plain_key(guard.owner)
        names = tuple(field.name for field in guard.unique.fields)
        error = StaleEntity(
            f"write of {guard.schema.name} {registry.show_key(guard.owner)}: the old value of {', '.join(names)} "
            "belongs to another row by now. Read the row again and repeat the change.",
            entity=guard.schema.name,
            pk=pk,
            sk=sk,
            item=item,
        )
        error.fields = names
        return error


def violation(guard: Guard, owner: Item | None, item: Item | None = None, *, wanted: bool = False) -> UniqueViolation:
    """The error for a value that another row holds, or is to get by another write that is sent together with it."""
    registry = guard.schema.registry
    pk, sk = registry.plain_key(guard.owner)
    names = tuple(field.name for field in guard.unique.fields)
    holder = "another row" if owner is None else f"the row {registry.show_key(owner)}"
    state = "is given by the same request to" if wanted else "belongs to"
    error = UniqueViolation(
        f"write of {guard.schema.name} {registry.show_key(guard.owner)}: the value of {', '.join(names)} is unique and "
        f"{state} {holder}. Give another value, or change that row first.",
        entity=guard.schema.name,
        pk=pk,
        sk=sk,
        item=item,
    )
    error.fields = names
    error.owner = None if owner is None else registry.plain_key(owner)
    return error


def rivals_of(guards: Sequence[Guard]) -> dict[int, UniqueViolation]:
    """The writes that claim a value which an earlier one claims for another row, by their places."""
    holders: dict[Hashable, Guard] = {}
    found: dict[int, UniqueViolation] = {}
    for step in dict.fromkeys(guard.step for guard in guards):
        claims = [guard for guard in guards if guard.claim and guard.step == step]
        for guard in claims:
            holder = holders.get(guard.token)
            if holder is not None and token_of(holder.owner) != token_of(guard.owner):
                found.setdefault(step, violation(guard, holder.owner, wanted=True))
        if step not in found:
            holders.update((guard.token, guard) for guard in claims)
    return found


def guard_actions(guards: Sequence[Guard]) -> list[GuardAction]:
    """The actions on guard rows: one for each row, whoever claims and releases it.

    Raises `UniqueViolation` when two writes of the transaction claim one value.
    """
    rows: dict[Hashable, list[Guard]] = {}
    for guard in guards:
        rows.setdefault(guard.token, []).append(guard)
    return [_action(each) for each in rows.values()]


def _action(guards: Sequence[Guard]) -> GuardAction:
    claims = [guard for guard in guards if guard.claim]
    owners = {token_of(guard.owner): guard.owner for guard in claims}
    if len(owners) > 1:
        raise violation(claims[1], claims[0].owner, wanted=True)
    guard = claims[0] if claims else guards[0]
    allowed = {token_of(each.owner): each.owner for each in guards}
    registry = guard.schema.registry
    free = any_of(
        attribute_not_exists(registry.pk),
        *(equals(OWNER, {"M": owner}, "owner") for owner in allowed.values()),
    )
    if not guard.claim or (guard.alias and len(claims) < len(guards)):
        return GuardAction("Delete", conditional("DeleteItem", {"Key": guard.key}, free, guard.schema), guard)
    if guard.alias:
        return GuardAction(
            "ConditionCheck", conditional("ConditionCheck", {"Key": guard.key}, free, guard.schema), guard
        )
    return GuardAction("Put", conditional("PutItem", {"Item": _row(guard)}, free, guard.schema), guard)


def _row(guard: Guard) -> Item:
    row: Item = {
        **guard.key,
        guard.schema.registry.type_attribute: {"S": GUARD_TYPE},
        OWNER: {"M": guard.owner},
        "_of": {"S": f"{guard.schema.type}.{guard.unique.name}"},
    }
    if guard.expiry is not None:
        name, value = guard.expiry
        row[name] = value
    return row
