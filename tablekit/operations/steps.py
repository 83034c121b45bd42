"""The writes of a transaction or a batch: each as the caller asked for it, before it is known what it must carry along.

A step plans on a copy of the entity, taken when the caller named it. What the caller changes afterwards is not
written with it, and is kept as a local change when the write has succeeded.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tablekit._types import UNSET, Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.definition.uniques import guarded_fields, has_uniques
from tablekit.errors import RequestError
from tablekit.expressions.conditions import Condition, attribute_exists, conjunction
from tablekit.operations.delete import plan_delete, plan_delete_key
from tablekit.operations.guards import passes_untyped, present_guard, version_check
from tablekit.operations.plans import Expectation, WritePlan
from tablekit.operations.put import check_owners, conditional, key_for, plan_put
from tablekit.operations.save import changed_fields, plan_save
from tablekit.operations.unique import Before, Values, after_update, encoded_values
from tablekit.operations.update import Update, plan_update

__all__ = [
    "Step",
    "UniqueChange",
    "carry",
    "check_step",
    "delete_key_step",
    "delete_step",
    "put_step",
    "save_step",
    "update_step",
]

Make = Callable[[datetime, Condition | None], WritePlan | None]
"""Plans a write at a time, with one more condition."""


class UniqueChange:
    """What a write does to unique values.

    Attributes:
        before: the values that the row holds as far as they are known; None when it must be read first.
        after: gives the values that the write leaves, None for a delete; called with those before.
        pinned: whether the write must assert that the values before are still there; a checked version says so.
        absent: whether the write also takes a row that is gone. every: whether it claims unchanged values too.
    """

    __slots__ = ("absent", "after", "before", "every", "pinned")

    def __init__(
        self,
        before: Before | None,
        after: Callable[[Before], Values | None],
        *,
        pinned: bool,
        absent: bool = False,
        every: bool = False,
    ) -> None:
        self.before = before
        self.after = after
        self.pinned = pinned
        self.absent = absent
        self.every = every


class Step:
    """One write.

    Attributes:
        verb: the word for messages. schema: the class. target: the entity or key as the caller gave it.
        plan: the write, without what unique values add to it; None when there is nothing to write.
        make: plans it anew. key: the row's key. subject: the entity that is planned on, a copy of `target` or
            `target` itself. change: what it does to unique values, None for nothing. returning: what an update
            gives back. touched: the attributes that an update's actions set.
    """

    __slots__ = ("change", "key", "make", "plan", "returning", "schema", "subject", "target", "touched", "verb")

    def __init__(
        self,
        verb: str,
        schema: EntitySchema,
        target: Any,
        make: Make,
        now: datetime,
        *,
        key: Item | None = None,
        subject: EntityBase | None = None,
        change: UniqueChange | None = None,
        returning: str | None = None,
        touched: frozenset[str] = frozenset(),
    ) -> None:
        # A singleton is not one row of many, and still a row that others may depend on.
        if schema.refusal is not None and (verb != "check" or schema.internal):
            raise RequestError(schema.refusal)
        self.verb = verb
        self.schema = schema
        self.target = target
        self.make = make
        self.plan = make(now, None)
        self.key: Item = self.plan.key if self.plan is not None else (key or {})
        self.subject = subject
        self.change = change
        self.returning = returning
        self.touched = touched

    def settle(self) -> None:
        """Take the write as done: the caller's entity becomes what was written, and keeps later changes."""
        if isinstance(self.target, EntityBase) and self.subject is not None and self.subject is not self.target:
            carry(self.subject, self.target, self.schema)

    def __repr__(self) -> str:
        return f"Step({self.verb} {self.schema.name} {self.schema.registry.show_key(self.key)})"


def put_step(
    entity: EntityBase,
    now: datetime,
    *,
    create: bool = False,
    condition: Condition | None = None,
    guard: bool = True,
    once: bool = False,
    copy: bool = True,
) -> Step:
    """A put or a create.

    Parameters:
        once: as a transaction of its own, when it is a write alone. copy: plan on a copy of the entity.
    """
    schema = schema_of(entity)
    subject = entity.replace() if copy else entity
    loaded = BASE in subject.__dict__ and not create
    versioned = guard and schema.version is not None

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        return plan_put(subject, at, create=create, condition=conjunction(condition, extra), guard=guard, once=once)

    change = None
    if schema.uniques:
        creates = create or (versioned and not loaded)
        before = Before.nothing(schema) if creates else Before.loaded(schema, subject.__dict__)
        change = UniqueChange(
            before,
            lambda _: encoded_values(schema, subject.__dict__),
            pinned=not creates and not (loaded and versioned),
            absent=True,
            every=True,
        )
    verb = "create" if create else "put"
    return Step(verb, schema, entity, make, now, subject=subject, change=change)


def save_step(
    entity: EntityBase,
    now: datetime,
    *,
    condition: Condition | None = None,
    guard: bool = True,
    copy: bool = True,
) -> Step:
    """A save: what changed since the entity was loaded, or a create."""
    if BASE not in entity.__dict__:
        return put_step(entity, now, create=True, copy=copy)
    schema = schema_of(entity)
    subject = entity.replace() if copy else entity

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        return plan_save(subject, at, condition=conjunction(condition, extra), guard=guard)

    change = None
    if schema.uniques and not {field.name for field in guarded_fields(schema)}.isdisjoint(
        changed_fields(subject, schema)
    ):
        change = UniqueChange(
            Before.loaded(schema, subject.__dict__),
            lambda before: encoded_values(schema, subject.__dict__, before),
            pinned=not guard or schema.version is None,
        )
    return Step("save", schema, entity, make, now, key=key_for(entity, schema), subject=subject, change=change)


def update_step(
    schema: EntitySchema,
    key: Item,
    key_values: dict[str, Any],
    update: Update,
    now: datetime,
    *,
    target: Any,
    entity: EntityBase | None = None,
) -> Step:
    """An update by actions, by key or through an entity."""

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        asked = copying.copy(update)
        asked.condition = conjunction(update.condition, extra)
        return plan_update(schema, key, key_values, asked, at, entity=entity, target=target)

    return Step(
        "update",
        schema,
        target,
        make,
        now,
        subject=entity,
        change=_update_change(schema, key_values, update, entity),
        returning=update.returning,
        touched=frozenset(action.path.attribute for action in update.actions),
    )


def _update_change(
    schema: EntitySchema, key_values: dict[str, Any], update: Update, entity: EntityBase | None
) -> UniqueChange | None:
    if not has_uniques(schema):
        return None
    sets = after_update(schema, update.actions)
    if sets is None and not (update.upsert and schema.uniques):
        return None
    if update.returning == "old":
        raise RequestError(
            f"update of {schema.name} with returning='old' changes a unique value, which takes a transaction, and a "
            "transaction returns no old row. Read the row before, or leave returning= out."
        )
    loaded = None if entity is None else Before.loaded(schema, entity.__dict__)

    def after(before: Before) -> Values:
        known = before.values if before.exists is not False else _defaults(schema, key_values)
        return {**known, **(sets or {})}

    versioned = loaded is not None and update.guard and schema.version is not None
    return UniqueChange(loaded, after, pinned=not versioned, absent=update.upsert, every=update.upsert)


def _defaults(schema: EntitySchema, key_values: dict[str, Any]) -> Values:
    """What an upsert writes into a new row where the update says nothing."""
    found: dict[str, Any] = {}
    for field in guarded_fields(schema):
        value = key_values.get(field.name, field.default)
        found[field.name] = None if value is UNSET else field.encode(value)
    return found


def delete_step(
    entity: EntityBase,
    now: datetime,
    *,
    condition: Condition | None = None,
    guard: bool = True,
    copy: bool = True,
) -> Step:
    """The deletion of an entity's row."""
    schema = schema_of(entity)
    subject = entity.replace() if copy else entity

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        return plan_delete(subject, condition=conjunction(condition, extra), guard=guard)

    change = None
    if schema.uniques:
        before = Before.loaded(schema, subject.__dict__)
        versioned = before is not None and guard and schema.version is not None
        change = UniqueChange(before, lambda _: None, pinned=not versioned, absent=True)
    return Step("delete", schema, entity, make, now, subject=subject, change=change)


def delete_key_step(
    schema: EntitySchema,
    key: Item,
    now: datetime,
    *,
    target: Any,
    condition: Condition | None = None,
    guard: bool = True,
    version: int | None = None,
    returning: bool = False,
) -> Step:
    """A deletion by key."""

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        return plan_delete_key(
            schema,
            key,
            condition=conjunction(condition, extra),
            guard=guard,
            version=version,
            returning=returning,
            target=target,
        )

    change = UniqueChange(None, lambda _: None, pinned=True, absent=True) if has_uniques(schema) else None
    return Step("delete", schema, target, make, now, change=change, returning="old" if returning else None)


def check_step(
    schema: EntitySchema,
    key: Item,
    now: datetime,
    *,
    target: Any,
    types: tuple[str, ...],
    condition: Condition | None = None,
    guard: bool = True,
    version: int | None = None,
) -> Step:
    """A condition on a row that the transaction does not change. `types`: what the row may be."""
    check_owners(schema, condition)
    untyped = guard and passes_untyped(schema, types, key)

    def make(at: datetime, extra: Condition | None) -> WritePlan | None:
        present = present_guard(schema, types, untyped=untyped) if guard else attribute_exists(schema.registry.pk)
        checks = conjunction(condition, present, None if version is None else version_check(schema, version))
        expectation = Expectation(
            "check",
            requires=True,
            types=types if guard else None,
            untyped=untyped,
            version=version,
            condition=condition is not None,
        )
        request = conditional("ConditionCheck", {"Key": key}, checks, schema)
        return WritePlan(request, schema, key, expectation, lambda _: None, target=target)

    return Step("check", schema, target, make, now)


_KEPT = (BASE, EXTRA, STORED_KEY, PARTIAL, MARKERS)


def carry(written: EntityBase, entity: EntityBase, schema: EntitySchema) -> None:
    """Bring an entity to the state of the copy that was written, its changes since then kept as local ones.

    Changes inside lists, dicts and sets need no note: they are told by the copy that stands for what was loaded.
    """
    done, own = written.__dict__, entity.__dict__
    journal: dict[str, Any] = {}
    if BASE in done:
        for field in schema.fields:
            name = field.name
            if not field.given:
                if name in done:
                    own[name] = done[name]
            elif field.codec.copy is None and name in own and _moved(own[name], done.get(name, UNSET)):
                journal[name] = done.get(name, UNSET)
    for name in _KEPT:
        if name in done:
            own[name] = done[name]
        else:
            own.pop(name, None)
    own.pop(DIRTY, None)
    if journal:
        own[DIRTY] = journal


def _moved(now: Any, written: Any) -> bool:
    if now is written:
        return False
    try:
        return bool(now != written) or type(now) is not type(written)
    except Exception:  # a value whose comparison fails is compared as it is stored, by the next save
        return True
