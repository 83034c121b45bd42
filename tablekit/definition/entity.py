"""The class machinery under `Entity` and `Singleton`: what makes an annotated class a mapped one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any, ClassVar

import attrs
from typing_extensions import Self

from tablekit._types import UNSET
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.ttl import TtlCodec
from tablekit.definition.build import build_schema
from tablekit.definition.collect import Collected, collect
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import DefinitionError, NotLoaded, RequestError
from tablekit.expressions.columns import Column

__all__ = ["BASE", "DIRTY", "EXTRA", "MARKERS", "PARTIAL", "STORED_KEY", "EntityBase", "FieldDescriptor", "schema_of"]

# What an instance keeps beside its fields, in its __dict__. Rare things are there only when they are needed,
# for memory: a loaded entity with scalar fields carries one entry, BASE, that holds an empty tuple.
BASE = "_tk_base"
"""Copies of the mutable fields' values as they were loaded or last written; its presence marks a loaded entity."""
DIRTY = "_tk_dirty"
"""Field name to the value that it had before user code set it."""
EXTRA = "_tk_extra"
"""Attributes of the row that the class does not declare, in DynamoDB JSON."""
STORED_KEY = "_tk_key"
"""The key under which the row was read, where the templates would render another."""
MARKERS = "_tk_markers"
"""The write markers that the row held when it was loaded or last written, as stored."""
PARTIAL = "_tk_partial"
"""The names of the fields that a projection or an index brought."""

Guard = Callable[[Any, str, Any], Any]


class FieldDescriptor:
    """Gives the column on the class; an instance's value is found in its ``__dict__`` before this is asked.

    It has no ``__set__`` on purpose: a non-data descriptor lets an instance read be a plain dict hit.
    """

    __slots__ = ("columns", "schema")

    def __init__(self, schema: FieldSchema) -> None:
        self.schema = schema
        self.columns: dict[type, Column[Any]] = {}

    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            column = self.columns.get(owner)
            if column is None:
                column = self.columns[owner] = Column(self.schema.path(owner))
            return column
        return self.absent(obj)

    def absent(self, obj: Any) -> Any:
        """What an instance answers for a field that it does not hold."""
        name = self.schema.name
        if self.schema.kind == "version" and PARTIAL not in obj.__dict__:
            return 0
        owner = type(obj).__name__
        if not self.schema.given and PARTIAL not in obj.__dict__:
            reason = "it is set by the first write"
        else:
            reason = "the projection or the index did not bring it; read the whole row with refresh()"
        raise NotLoaded(f"{owner}.{name} is not loaded: {reason}.", entity=owner, field=name)


class EntityBase:
    """What `Entity` and `Singleton` share: the class machinery, setting, equality, repr and `replace`."""

    __schema__: ClassVar[EntitySchema]
    __guards__: ClassVar[dict[str, Guard | None]] = {}
    __root__: ClassVar[type]
    __abstract__: ClassVar[bool] = True
    __options__: ClassVar[dict[str, Any]] = {}
    entity_type: ClassVar[str]
    """The stored type of the class."""

    def __init_subclass__(
        cls,
        *,
        root: bool = False,
        table: TableDefinition | None = None,
        pk: str | None = None,
        sk: str | None = None,
        type: str | None = None,
        aliases: tuple[str, ...] = (),
        abstract: bool = False,
        **options: Any,
    ) -> None:
        super().__init_subclass__()
        if root:
            cls.__root__ = cls
            return
        given = dict(cls.__options__)
        given.update({k: v for k, v in (("table", table), ("pk", pk), ("sk", sk)) if v is not None}, **options)
        cls.__options__ = given
        collected = collect(cls, root=cls.__root__)
        _check_members(cls, collected)
        cls.__abstract__ = abstract
        if abstract:
            return
        schema = _schema(cls, collected, given, type, aliases)
        cls.__schema__ = schema
        cls.entity_type = schema.type
        _define(cls, schema)
        cls.__defined__(schema, given)
        schema.registry.register(schema, _registered_bases(cls))

    @classmethod
    def __defined__(cls, schema: EntitySchema, options: dict[str, Any]) -> None:
        """Called when a class is made and checked, before it is registered; a root may add its own checks."""
        unknown = set(options) - {"table", "pk", "sk"}
        if unknown:
            raise DefinitionError(
                f"{cls.__name__}: the class option {min(unknown)!r} is not known. "
                "Known: table, pk, sk, type, aliases, abstract.",
                owner=cls.__name__,
            )

    def __setattr__(self, name: str, value: Any) -> None:
        guard = self.__guards__.get(name, _unknown)
        if guard is not None:
            value = guard(self, name, value)
            if guard is _unknown:
                self.__dict__[name] = value
                return
        own = self.__dict__
        if BASE in own:
            own.setdefault(DIRTY, {}).setdefault(name, own.get(name, UNSET))
        own[name] = value

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{type(self).__name__}.{name} cannot be deleted. Set it to None, or use "
            f"{type(self).__name__}.{name}.remove() in an update."
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(mine.get(item.name, UNSET) == theirs.get(item.name, UNSET) for item in type(self).__schema__.fields)

    # Entities are mutable, so that a hash of their values could change while they sit in a set.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(self.__shown__())
        return f"{type(self).__name__}({shown})"

    def __shown__(self) -> Iterator[str]:
        for item in type(self).__schema__.fields:
            if item.name in self.__dict__:
                yield f"{item.name}={'***' if item.secret else repr(self.__dict__[item.name])}"

    def __rich_repr__(self) -> Iterator[tuple[str, Any]]:
        for item in type(self).__schema__.fields:
            if item.name in self.__dict__:
                yield item.name, "***" if item.secret else self.__dict__[item.name]

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if DIRTY in twin.__dict__:
            twin.__dict__[DIRTY] = dict(twin.__dict__[DIRTY])
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def replace(self, **changes: Any) -> Self:
        """A copy with other values in some fields, which keeps version and loaded image.

        Mutable values are copied at every depth, so that the copy and the original share nothing.
        """
        twin = self.__copy__()
        for item in type(self).__schema__.mutable:
            if item.name in twin.__dict__:
                twin.__dict__[item.name] = copied(item, twin.__dict__[item.name])
        for name, value in changes.items():
            setattr(twin, name, value)
        return twin


def schema_of(entity: type | EntityBase) -> EntitySchema:
    """The schema of a class or an instance. Raises `DefinitionError` for an abstract base."""
    cls = entity if isinstance(entity, type) else type(entity)
    schema = cls.__dict__.get("__schema__")
    if schema is None:
        raise DefinitionError(
            f"{cls.__name__} is abstract: it is no entity of a table, and only its subclasses are.", owner=cls.__name__
        )
    return schema  # type: ignore[no-any-return]


def copied(item: FieldSchema, value: Any) -> Any:
    """An independent copy of a field's value."""
    copy = item.codec.copy
    return value if copy is None or value is None else copy(value)


def _schema(
    cls: type[EntityBase], collected: Collected, options: dict[str, Any], type: str | None, aliases: tuple[str, ...]
) -> EntitySchema:
    table = options.get("table")
    if table is None:
        raise DefinitionError(
            f"{cls.__name__} has no table. Give one, `class {cls.__name__}({cls.__root__.__name__}, table=app, ...)`, "
            "or say abstract=True for a base that is no entity itself.",
            owner=cls.__name__,
        )
    if not isinstance(table, TableDefinition):
        raise DefinitionError(f"{cls.__name__}: table={table!r} is no Table.", owner=cls.__name__)
    pk = options.get("pk")
    if pk is None:
        raise DefinitionError(
            f"{cls.__name__} has no pk=. Give the template of its partition key, such as 'WS#{{workspace_id}}'.",
            owner=cls.__name__,
        )
    return build_schema(
        cls,
        collected,
        table,
        pk=pk,
        sk=options.get("sk"),
        type=type if type is not None else cls.__name__,
        aliases=aliases,
        reserved=_reserved(cls),
    )


def _reserved(cls: type[EntityBase]) -> frozenset[str]:
    return frozenset(name for name in dir(cls.__root__) if not name.startswith("_")) | {"aio", "entity_type", "source"}


def _check_members(cls: type[EntityBase], collected: Collected) -> None:
    """A member that shadows a public name of the root breaks every caller that holds the class."""
    reserved = _reserved(cls)
    for name in (*cls.__dict__, *collected.fields):
        if name not in reserved or name == "entity_type":
            continue
        if name not in collected.fields and callable(cls.__dict__.get(name)) and name in _OVERRIDABLE:
            continue
        raise DefinitionError(
            f"{cls.__name__}.{name}: {name!r} is a name of the library's own on entities. Call it otherwise"
            f"{_keep_name(name) if name in collected.fields else ''}.",
            owner=cls.__name__,
            field=name,
        )


_OVERRIDABLE = frozenset({"before_write", "after_write", "after_load"})


def _keep_name(name: str) -> str:
    return f' and keep the stored name: `{name}_: Field[...] = field(name="{name}")`'


def _define(cls: type[EntityBase], schema: EntitySchema) -> None:
    """Let attrs write ``__init__``, then put the descriptors where the declarations stood."""
    these = {item.name: _attribute(item) for item in schema.fields if item.given}
    attrs.define(
        cls,
        these=these,
        slots=False,
        kw_only=True,
        init=True,
        eq=False,
        repr=False,
        order=False,
        # The inherited __setattr__ is ours; attrs would replace it by one of its own.
        on_setattr=attrs.setters.NO_OP,
    )
    for item in schema.fields:
        type.__setattr__(cls, item.name, FieldDescriptor(item))
    cls.__guards__ = {item.name: _guard(item) for item in schema.fields}


def _attribute(item: FieldSchema) -> Any:
    if item.factory is not UNSET:
        return attrs.field(factory=item.factory, alias=item.name)
    if item.default is not UNSET:
        return attrs.field(default=item.default, alias=item.name)
    return attrs.field(alias=item.name)


def _guard(item: FieldSchema) -> Guard | None:
    """What stands between user code and a field; None for a field that takes what it is given."""
    if not item.given:
        return _refuse_managed
    if isinstance(item.codec, TtlCodec):
        return _ttl_guard(item, item.codec)
    if item.validators:
        return _validating(item)
    return None


def _ttl_guard(item: FieldSchema, codec: TtlCodec) -> Guard:
    validate = _validating(item)

    def guard(entity: Any, name: str, value: Any) -> Any:
        try:
            moment = codec.normalise(value, datetime.now(timezone.utc))
        except ValueProblem as problem:
            raise item.refuse(problem.reason) from None
        return validate(entity, name, moment)

    return guard


def _validating(item: FieldSchema) -> Guard:
    def guard(entity: Any, name: str, value: Any) -> Any:
        for validator in item.validators:
            validator(entity, item, value)
        return value

    return guard


def _refuse_managed(entity: Any, name: str, value: Any) -> Any:
    raise RequestError(f"{type(entity).__name__}.{name} is kept by tablekit and cannot be set.")


def _unknown(entity: Any, name: str, value: Any) -> Any:
    if name.startswith("_"):
        return value
    close = difflib.get_close_matches(name, [item.name for item in type(entity).__schema__.fields], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise AttributeError(f"{type(entity).__name__} has no field {name!r}.{hint}")


def _registered_bases(cls: type[EntityBase]) -> list[EntitySchema]:
    return [base.__dict__["__schema__"] for base in cls.__mro__[1:] if "__schema__" in base.__dict__]
