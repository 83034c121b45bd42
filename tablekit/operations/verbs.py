"""The verbs on entities and keys, written once: coroutines over a session, run by the sync and the async face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tablekit._types import Item
from tablekit.definition.entity import BASE, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import KeyPartError
from tablekit.expressions.actions import Action
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.operations.delete import plan_delete, plan_delete_key
from tablekit.operations.execute import execute
from tablekit.operations.put import key_for, plan_put
from tablekit.operations.read import get_entity, not_found
from tablekit.operations.save import plan_save
from tablekit.operations.session import Session
from tablekit.operations.update import Returning, Update, merge_fresh, plan_update

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "KeyBase",
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyBase):
            return NotImplemented
        return self.entity is other.entity and self._token == other._token

    def __hash__(self) -> int:
        return hash((self.entity, self._token))

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


async def create(session: Session, entity: E) -> E:
    """Write a new row. Raises `ItemExists` when there is one under the key."""
    await execute(session, plan_put(entity, session.now(), create=True))
    return entity


async def put(session: Session, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
    """Write the whole row, in place of what is there."""
    await execute(session, plan_put(entity, session.now(), condition=condition, guard=guard))
    return entity


async def save(session: Session, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
    """Write what changed since the entity was loaded; a new entity is created."""
    if BASE not in entity.__dict__:
        return await create(session, entity)
    plan = plan_save(entity, session.now(), condition=condition, guard=guard)
    if plan is not None:
        await execute(session, plan)
    return entity


async def update(
    session: Session,
    entity: E,
    *actions: Action,
    condition: Condition | None = None,
    guard: bool = True,
    composite: Mapping[str, Any] | None = None,
) -> E:
    """Change the row by actions, and bring the entity up to date."""
    schema = schema_of(entity)
    key = key_for(entity, schema)
    asked = Update(actions, condition=condition, guard=guard, composite=composite)
    plan = plan_update(schema, key, _key_values(schema, entity.__dict__), asked, session.now(), entity=entity)
    result = await execute(session, plan)
    if result is not None and result is not entity:
        merge_fresh(entity, schema, result)
    return entity


def _key_values(schema: EntitySchema, own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in schema.key_fields if name in own}


async def delete(
    session: Session, entity: EntityBase, *, condition: Condition | None = None, guard: bool = True
) -> None:
    """Delete the row; one that is gone already is fine."""
    await execute(session, plan_delete(entity, condition=condition, guard=guard))


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


async def get(session: Session, cls: type[E], /, **key: Any) -> E | None:
    """The entity under a key, or None."""
    return await get_entity(session, schema_of(cls), KeyBase(cls, key).item)  # type: ignore[no-any-return]


async def get_or_raise(session: Session, cls: type[E], /, **key: Any) -> E:
    """The entity under a key. Raises `ItemNotFound`."""
    handle = KeyBase(cls, key)
    found = await get_entity(session, schema_of(cls), handle.item)
    if found is None:
        raise not_found(schema_of(cls), handle.item)
    return found  # type: ignore[no-any-return]


async def get_key(
    session: Session, key: KeyBase[E], *, consistent: bool = False, select: Sequence[Column[Any]] | None = None
) -> E | None:
    """The entity under a key, or None."""
    return await get_entity(  # type: ignore[no-any-return]
        session, key.schema, key.item, consistent=consistent, select=select
    )


async def get_key_or_raise(
    session: Session, key: KeyBase[E], *, consistent: bool = False, select: Sequence[Column[Any]] | None = None
) -> E:
    """The entity under a key. Raises `ItemNotFound`."""
    found = await get_key(session, key, consistent=consistent, select=select)
    if found is None:
        raise not_found(key.schema, key.item)
    return found


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
    )
    return await execute(session, plan_update(key.schema, key.item, key.values, asked, session.now()))


async def delete_key(
    session: Session,
    key: KeyBase[E],
    *,
    condition: Condition | None = None,
    guard: bool = True,
    version: int | None = None,
) -> E | None:
    """Delete a row by key; gives the row that was deleted, or None when there was none."""
    plan = plan_delete_key(key.schema, key.item, condition=condition, guard=guard, version=version, returning=True)
    return await execute(session, plan)  # type: ignore[no-any-return]
