"""The verbs on entities and keys, written once: coroutines over a session, run by the sync and the async face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tablekit._types import Item
from tablekit.definition.entity import BASE, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.definition.uniques import has_uniques
from tablekit.errors import KeyPartError, RequestError
from tablekit.expressions.actions import Action
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.operations.calls import call
from tablekit.operations.delete import plan_delete, plan_delete_key
from tablekit.operations.execute import execute
from tablekit.operations.hooks import after_write, before_write
from tablekit.operations.put import key_for, plan_put
from tablekit.operations.read import get_entity, not_found
from tablekit.operations.results import Returning, merge_fresh
from tablekit.operations.save import plan_save
from tablekit.operations.session import Session
from tablekit.operations.steps import delete_key_step, delete_step, put_step, save_step, update_step
from tablekit.operations.unique_write import write_alone
from tablekit.operations.update import Update, plan_update

if TYPE_CHECKING:
    from typing_extensions import Never, Self

__all__ = [
    "KeyBase",
    "by_name",
    "create",
    "delete",
    "delete_key",
    "get",
    "get_key",
    "put",
    "refresh",
    "save",
    "update",
    "update_key",
]

E = TypeVar("E", bound=EntityBase)


class KeyBase(Generic[E]):
    """A key of one entity class: which row, without having read it.

    Attributes:
        entity: the class. values: the fields that the key spells. item: the key in DynamoDB JSON.
    """

    __slots__ = ("_item", "_token", "entity", "values")

    def __init__(self, entity: type[E], values: Mapping[str, Any], item: Item | None = None) -> None:
        self.entity = entity
        self.values = dict(values)
        schema = schema_of(entity)
        if item is None:
            _check_names(schema, self.values)
            item = schema.key_of(self.values)
        self._item = item
        self._token = tuple((name, *next(iter(value.items()))) for name, value in item.items())

    @classmethod
    def stored(cls, entity: type[E], item: Item) -> Self:
        """The key of a row that was read: as it is stored, and with the fields that it spells."""
        schema = schema_of(entity)
        values: dict[str, Any] = {}
        for key in schema.keys:
            values.update(key.match(item[key.attribute]) or {})
        return cls(entity, values, {key.attribute: item[key.attribute] for key in schema.keys})

    @property
    def schema(self) -> EntitySchema:
        """The schema of the class."""
        return schema_of(self.entity)

    @property
    def item(self) -> Item:
        """The key in DynamoDB JSON, as a fresh dict."""
        return dict(self._item)

    def identity(self) -> tuple[Any, ...]:
        """What two equal keys have alike: the class and the key."""
        return (self.entity, self._token)

    def __eq__(self, other: object) -> bool:
        return self.identity() == other.identity() if isinstance(other, KeyBase) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity())

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.entity.__name__}.key({parts})"


def _check_names(schema: EntitySchema, values: Mapping[str, Any]) -> None:
    for name in values:
        if name not in schema.key_fields:
            parts = ", ".join(sorted(schema.key_fields)) or "none"
            raise KeyPartError(
                f"{schema.name}: {name!r} is no part of the primary key (parts: {parts}). "
                "Give the parts of the key, and no other field.",
                entity=schema.name,
                template=" / ".join(key.template.text for key in schema.keys),
                part=name,
            )


# Entities


@call("create")
async def create(session: Session, entity: E, *, once: bool = False) -> E:
    """Write a new row. Raises `ItemExists` when there is one under the key."""
    await before_write(session, entity, "create")
    if schema_of(entity).uniques:
        await write_alone(session, put_step(entity, session.now(), create=True, once=once, copy=False))
    else:
        await execute(session, plan_put(entity, session.now(), create=True, once=once))
    await after_write(session, entity, "create")
    return entity


@call("put")
async def put(session: Session, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
    """Write the whole row, in place of what is there."""
    await before_write(session, entity, "put")
    if schema_of(entity).uniques:
        await write_alone(session, put_step(entity, session.now(), condition=condition, guard=guard, copy=False))
    else:
        await execute(session, plan_put(entity, session.now(), condition=condition, guard=guard))
    await after_write(session, entity, "put")
    return entity


@call("save")
async def save(session: Session, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
    """Write what changed since the entity was loaded; a new entity is created."""
    if BASE not in entity.__dict__:
        if condition is not None:
            raise RequestError(
                f"save(condition=) of a {type(entity).__name__} that was never stored: there is no row that the "
                "condition could hold of. Use create(), or put(condition=)."
            )
        return await create(session, entity)
    await before_write(session, entity, "save")
    plan = plan_save(entity, session.now(), condition=condition, guard=guard)
    if plan is not None:
        if schema_of(entity).uniques:
            await write_alone(session, save_step(entity, session.now(), condition=condition, guard=guard, copy=False))
        else:
            await execute(session, plan)
        await after_write(session, entity, "save")
    return entity


@call("update")
async def update(
    session: Session,
    entity: E,
    *actions: Action,
    condition: Condition | None = None,
    guard: bool = True,
    composite: Mapping[str, Any] | None = None,
    once: bool = False,
) -> E:
    """Change the row by actions, and bring the entity up to date."""
    await before_write(session, entity, "update")
    schema = schema_of(entity)
    key = key_for(entity, schema)
    asked = Update(actions, condition=condition, guard=guard, composite=composite, once=once)
    values = _key_values(schema, entity.__dict__)
    if schema.uniques:
        step = update_step(schema, key, values, asked, session.now(), target=entity, entity=entity)
        result = await write_alone(session, step)
    else:
        result = await execute(session, plan_update(schema, key, values, asked, session.now(), entity=entity))
    if result is not None and result is not entity:
        merge_fresh(entity, schema, result)
    await after_write(session, entity, "update")
    return entity


def _key_values(schema: EntitySchema, own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in schema.key_fields if name in own}


@call("delete")
async def delete(
    session: Session, entity: EntityBase, *, condition: Condition | None = None, guard: bool = True
) -> None:
    """Delete the row; one that is gone already is fine."""
    await before_write(session, entity, "delete")
    if schema_of(entity).uniques:
        await write_alone(session, delete_step(entity, session.now(), condition=condition, guard=guard, copy=False))
    else:
        await execute(session, plan_delete(entity, condition=condition, guard=guard))
    await after_write(session, entity, "delete")


@call("refresh")
async def refresh(session: Session, entity: E, *, consistent: bool = True) -> E:
    """Read the row again into this object, its unsaved changes dropped. Raises `ItemNotFound`."""
    schema = schema_of(entity)
    key = key_for(entity, schema)
    fresh = await get_entity(session, schema, key, consistent=consistent)
    if fresh is None:
        raise not_found(schema, key)
    entity.__dict__.clear()
    entity.__dict__.update(fresh.__dict__)
    return entity


# Keys


def by_name(cls: type[EntityBase], verb: str) -> TypeError:
    """The error for parts of a key that are given by position, in which two of them are easily swapped."""
    names = ", ".join(
        f"{name}=..." for name in dict.fromkeys(name for key in schema_of(cls).keys for name in key.names)
    )
    return TypeError(f"{cls.__name__}.{verb} takes the fields of the key by name: {cls.__name__}.{verb}({names}).")


@call("get")
async def get(session: Session, cls: type[E], /, *positional: Never, **key: Any) -> E | None:
    """The entity under a key, or None."""
    if positional:
        raise by_name(cls, "get")
    return await get_entity(session, schema_of(cls), KeyBase(cls, key).item)  # type: ignore[no-any-return]


@call("get")
async def get_or_raise(session: Session, cls: type[E], /, *positional: Never, **key: Any) -> E:
    """The entity under a key. Raises `ItemNotFound`."""
    if positional:
        raise by_name(cls, "get_or_raise")
    handle = KeyBase(cls, key)
    found = await get_entity(session, schema_of(cls), handle.item)
    if found is None:
        raise not_found(schema_of(cls), handle.item)
    return found  # type: ignore[no-any-return]


@call("get")
async def get_key(
    session: Session, key: KeyBase[E], *, consistent: bool | None = None, select: Sequence[Column[Any]] | None = None
) -> E | None:
    """The entity under a key, or None."""
    return await get_entity(  # type: ignore[no-any-return]
        session, key.schema, key.item, consistent=consistent, select=select
    )


@call("get")
async def get_key_or_raise(
    session: Session, key: KeyBase[E], *, consistent: bool | None = None, select: Sequence[Column[Any]] | None = None
) -> E:
    """The entity under a key. Raises `ItemNotFound`."""
    found = await get_key(session, key, consistent=consistent, select=select)
    if found is None:
        raise not_found(key.schema, key.item)
    return found


@call("update")
async def update_key(
    session: Session,
    key: KeyBase[Any],
    *actions: Action,
    condition: Condition | None = None,
    guard: bool = True,
    upsert: bool = False,
    version: int | None = None,
    composite: Mapping[str, Any] | None = None,
    returning: Returning | None = "new",
    once: bool = False,
) -> Any:
    """Change a row by actions, nothing loaded."""
    asked = Update(
        actions,
        condition=condition,
        guard=guard,
        upsert=upsert,
        version=version,
        composite=composite,
        returning=returning,
        once=once,
    )
    if has_uniques(key.schema):
        return await write_alone(
            session, update_step(key.schema, key.item, key.values, asked, session.now(), target=key)
        )
    return await execute(session, plan_update(key.schema, key.item, key.values, asked, session.now()))


@call("delete")
async def delete_key(
    session: Session,
    key: KeyBase[E],
    *,
    condition: Condition | None = None,
    guard: bool = True,
    version: int | None = None,
    returning: Literal["old"] | None = None,
) -> E | None:
    """Delete a row by key; with ``returning="old"`` gives the row that was deleted, or None when there was none."""
    old = returning == "old"
    if has_uniques(key.schema):
        step = delete_key_step(
            key.schema,
            key.item,
            session.now(),
            target=key,
            condition=condition,
            guard=guard,
            version=version,
            returning=old,
        )
        return await write_alone(session, step)  # type: ignore[no-any-return]
    plan = plan_delete_key(key.schema, key.item, condition=condition, guard=guard, version=version, returning=old)
    return await execute(session, plan)  # type: ignore[no-any-return]
