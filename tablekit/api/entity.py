"""The entity: what users derive their classes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import attrs
from typing_extensions import Never, Self, dataclass_transform

from tablekit.api.aio_face import BoundClass, BoundEntity, class_verb, entity_verb
from tablekit.api.keys import Key
from tablekit.api.pydantic_bridge import core_schema_of
from tablekit.api.query import Query
from tablekit.definition.entity import EXTRA, EntityBase, schema_of
from tablekit.definition.fields import field, ttl
from tablekit.definition.registry import TableDefinition
from tablekit.expressions.actions import Action
from tablekit.expressions.conditions import Condition
from tablekit.operations import verbs
from tablekit.operations.dispatch import decode_as
from tablekit.operations.driver import run
from tablekit.operations.hooks import HookResult
from tablekit.operations.put import key_for, managed_values
from tablekit.operations.queryspec import QuerySpec, Source
from tablekit.operations.scan import ScanProgress
from tablekit.operations.session import Session, session_for
from tablekit.wire.items import encode_item
from tablekit.wire.plain import plain_item, row_of

__all__ = ["AioClass", "AioEntity", "Entity"]

E = TypeVar("E", bound="Entity")


class AioClass(BoundClass[E], Generic[E]):
    """The verbs on a class, awaited."""

    get = class_verb(verbs.get)
    get_or_raise = class_verb(verbs.get_or_raise)


class AioEntity(BoundEntity[E], Generic[E]):
    """The verbs on an entity, awaited."""

    create = entity_verb(verbs.create)
    put = entity_verb(verbs.put)
    save = entity_verb(verbs.save)
    update = entity_verb(verbs.update)
    delete = entity_verb(verbs.delete)
    refresh = entity_verb(verbs.refresh)


class _Aio:
    """Gives the awaited verbs of a class or of an instance."""

    @overload
    def __get__(self, obj: None, owner: type[E]) -> AioClass[E]: ...
    @overload
    def __get__(self, obj: E, owner: type[E]) -> AioEntity[E]: ...
    def __get__(self, obj: E | None, owner: type[E]) -> AioClass[E] | AioEntity[E]:
        return AioClass(owner) if obj is None else AioEntity(obj)


@dataclass_transform(kw_only_default=True, field_specifiers=(field, ttl))
class Entity(EntityBase, root=True):
    """A kind of item of one table.

    ::

        class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}"):
            workspace_id: Field[str]
            doc_id: Field[str]
            title: Field[str]
            revision = version()

    What is annotated is your data, and a keyword of ``__init__``. What is assigned without an annotation is kept
    by tablekit. Class options: `table`, `pk` and `sk` (key templates), `type` (the stored type, the class's name
    otherwise), `aliases` (old spellings of it), `also_keys` (further key templates under which rows of the class are
    recognised; new rows are written under `pk` and `sk`), `abstract`.
    """

    aio: ClassVar[_Aio] = _Aio()

    def __init_subclass__(
        cls,
        *,
        table: TableDefinition | None = None,
        pk: str | None = None,
        sk: str | None = None,
        type: str | None = None,
        aliases: tuple[str, ...] = (),
        also_keys: tuple[tuple[str, ...], ...] = (),
        abstract: bool = False,
        **unknown: Never,
    ) -> None:
        options: dict[str, Any] = {"also_keys": also_keys} if also_keys else {}
        super().__init_subclass__(
            table=table, pk=pk, sk=sk, type=type, aliases=aliases, abstract=abstract, **options, **unknown
        )

    # Writing

    def create(self, *, once: bool = False) -> Self:
        """Write a new row. Raises `ItemExists` when there is one under the key.

        Parameters:
            once: write it as a transaction of one action, which is applied once also when its answer is lost and
                the row is deleted by another before it is sent again. It takes twice the write units.
        """
        return run(verbs.create(_session(self), self, once=once))

    def put(self, *, condition: Condition | None = None, guard: bool = True) -> Self:
        """Write the whole row, in place of what is there.

        Parameters:
            condition: what must hold of the stored row.
            guard: refuse to replace another class's row, and check the version of a loaded entity.

        Raises `WrongEntityType`, `VersionConflict`, `ConditionFailed`; `PartialEntity` for one that was loaded in part.
        """
        return run(verbs.put(_session(self), self, condition=condition, guard=guard))

    def save(self, *, condition: Condition | None = None, guard: bool = True) -> Self:
        """Write what changed since the entity was loaded, in one UpdateItem; a new entity is created.

        Attributes of the row that the class does not declare stay as they are. When nothing changed, nothing is
        sent.

        Raises `ItemNotFound` when the row is gone, `VersionConflict`, `StaleEntity`, `ConditionFailed`, `KeyChanged`.
        """
        return run(verbs.save(_session(self), self, condition=condition, guard=guard))

    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> Self:
        """Change the row by actions, and bring this object up to date; its unsaved changes stay.

        ``doc.update(Document.title.set("Spec"), Document.tags.add({"x"}))``

        Parameters:
            condition: what must hold of the row.
            guard: refuse a row of another class, and check the version of a loaded entity.
            composite: what fields are stored as that an index key is made of and that this object does not hold.
            once: apply the update exactly once, also when its answer is lost: a transaction of one action, which
                takes twice the write units.

        Raises `ItemNotFound`, `VersionConflict`, `StaleEntity`, `ConditionFailed`, `ExpressionError`.
        """
        return run(
            verbs.update(
                _session(self), self, *actions, condition=condition, guard=guard, composite=composite, once=once
            )
        )

    def delete(self, *, condition: Condition | None = None, guard: bool = True) -> None:
        """Delete the row; one that is gone already is fine. A loaded versioned entity checks its version."""
        run(verbs.delete(_session(self), self, condition=condition, guard=guard))

    def refresh(self, *, consistent: bool = True) -> Self:
        """Read the row again into this object, its unsaved changes dropped. Raises `ItemNotFound`."""
        return run(verbs.refresh(_session(self), self, consistent=consistent))

    # Hooks

    def before_write(self, operation: str) -> HookResult:
        """Called before a request that writes this object is built; override it. What it sets is written.

        Parameters:
            operation: ``"create"``, ``"put"``, ``"save"``, ``"update"`` or ``"delete"``. Saving a new object creates.

        An exception stops the write. In a class that is used through ``.aio`` only it may be an ``async def``.
        """
        return None

    def after_write(self, operation: str) -> HookResult:
        """Called when a write of this object was applied, not in a dry run; override it.

        An exception does not undo the write. In a class that is used through ``.aio`` only it may be an ``async def``.
        """
        return None

    def after_load(self) -> None:
        """Called on each object that is made of a whole row; override it. It is never async.

        A field that it sets counts as changed, and the next save writes it.
        """

    # Reading

    @classmethod
    def get(cls, /, *positional: Never, **key: Any) -> Self | None:
        """The entity under a key, or None: ``Document.get(workspace_id="acme", doc_id="d1")``.

        For options use the key: ``Document.key(...).get(consistent=True)``.

        Raises `WrongEntityType` when the row is another class's, `KeyPartError` for a missing part.
        """
        return run(verbs.get(session_for(schema_of(cls)), cls, *positional, **key))

    @classmethod
    def get_or_raise(cls, /, *positional: Never, **key: Any) -> Self:
        """The entity under a key. Raises `ItemNotFound`."""
        return run(verbs.get_or_raise(session_for(schema_of(cls)), cls, *positional, **key))

    @classmethod
    def key(cls, /, *positional: Never, **parts: Any) -> Key[Self]:
        """The key of one row, with the verbs that need nothing loaded."""
        if positional:
            raise verbs.by_name(cls, "key")
        return Key(cls, parts)

    @classmethod
    def query(cls, /, *positional: Never, **parts: Any) -> Query[Self]:
        """The entities of this class in one partition, by the fields of its key."""
        if positional:
            raise verbs.by_name(cls, "query")
        return Query(_spec(cls, parts, scan=False))

    @classmethod
    def scan(
        cls,
        *,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Callable[[ScanProgress], Any] | None = None,
    ) -> Query[Self]:
        """All entities of this class; reads and bills the whole table. Options as for `Table.scan`."""
        spec = _spec(cls, {}, scan=True)
        spec = attrs.evolve(spec, segments=segments, units_per_second=units_per_second, progress=progress)
        spec.check()
        return Query(spec)

    # Items

    def to_item(self, *, plain: bool = False) -> dict[str, Any]:
        """The row that a put of this object would write now, in DynamoDB JSON.

        Managed fields that have no value yet get the ones that a first write would give.

        Parameters:
            plain: as boto3's resource takes it instead: ``{"PK": "WS#acme"}``, with Decimal, bytes and sets.
        """
        schema = schema_of(self)
        managed = managed_values(schema, {}, datetime.now(timezone.utc), fresh=True)
        item = encode_item(
            schema, {**managed, **self.__dict__}, key=key_for(self, schema), extra=self.__dict__.get(EXTRA)
        )
        return plain_item(item) if plain else item

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        """The entity of a row that was read elsewhere; it counts as loaded.

        Parameters:
            item: DynamoDB JSON as a client of boto3 or an export has it (``B`` as bytes or base64), or the plain dict
                of boto3's resource, with Decimal, Binary and sets.

        Raises `WrongEntityType`, `MissingEntityType`, `DecodeError`.
        """
        return decode_as(schema_of(cls), row_of(schema_of(cls), item))  # type: ignore[no-any-return]

    # Not for the checkers: pydantic, if it is there, asks for it by name.
    if not TYPE_CHECKING:

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
            return core_schema_of(cls, handler)


def _session(entity: Entity) -> Session:
    return session_for(schema_of(entity))


def _spec(cls: type[Entity], parts: Mapping[str, Any], *, scan: bool) -> QuerySpec:
    schema = schema_of(cls)
    return QuerySpec(
        registry=schema.registry,
        sources=(Source(schema),),
        parts=parts,
        unknown=schema.registry.unknown,
        untyped=schema.registry.untyped,
        scan=scan,
    )
