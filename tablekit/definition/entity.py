"""The class machinery under `Entity` and `Singleton`: what makes an annotated class a mapped one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from typing_extensions import Self

from tablekit._types import UNSET
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.ttl import TtlCodec
from tablekit.definition.build import build_schema
from tablekit.definition.collect import Collected, collect
from tablekit.definition.problems import suggest
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

    __tablekit_entity__: ClassVar[bool] = True
    __schema__: ClassVar[EntitySchema]
    __guards__: ClassVar[dict[str, Guard | None]] = {}
    __root__: ClassVar[type]
    __abstract__: ClassVar[bool] = True
    __options__: ClassVar[dict[str, Any]] = {}
    entity_type: ClassVar[str]
    """The stored type of the class."""

    # Hidden from the checkers, which would else take any name for one that can be set.
    if not TYPE_CHECKING:

        def __init__(self, **_values: Any) -> None:
            # Every class that is an entity has an __init__ of its own, written by attrs.
            raise _abstract(type(self))

        def __setattr__(self, name: str, value: Any) -> None:
            guards = self.__guards__
            if name not in guards:
                _set_other(self, name, value)
                return
            guard = guards[name]
            if guard is not None:
                value = guard(self, name, value)
            own = self.__dict__
            if BASE in own:
                own.setdefault(DIRTY, {}).setdefault(name, own.get(name, UNSET))
            own[name] = value

        def __delattr__(self, name: str) -> None:
            if name not in type(self).__schema__.by_name:
                object.__delattr__(self, name)
                return
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be deleted. Set it to None, or use "
                f"{type(self).__name__}.{name}.remove() in an update."
            )

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
            if type is not None or aliases:
                raise DefinitionError(
                    f"{cls.__name__} is abstract and so has no rows: leave type= and aliases= to its subclasses.",
                    owner=cls.__name__,
                )
            return
        registry = _table(cls, given)
        with registry.defining(cls):
            schema = _schema(cls, collected, registry, given, type, aliases)
            cls.__schema__ = schema
            cls.entity_type = schema.type
            _define(cls, schema)
            cls.__defined__(schema, given)
            registry.register(schema, _registered_bases(cls))

    @classmethod
    def __defined__(cls, schema: EntitySchema, options: dict[str, Any]) -> None:
        """Called when a class is made and checked, before it is registered; a root may add its own checks."""
        known = ("table", "pk", "sk", "type", "aliases", "also_keys", "abstract")
        for name in sorted(set(options) - set(known)):
            raise DefinitionError(
                f"{cls.__name__}: the class option {name!r} is not known.{suggest(name, known)} "
                f"Known: {', '.join(known)}.",
                owner=cls.__name__,
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

        Mutable values are copied at every depth, so that the copy and the original share nothing. Values that a
        ``functools.cached_property`` computed are not taken along.
        """
        schema = type(self).__schema__
        twin = object.__new__(type(self))
        own = twin.__dict__
        known = schema.by_name
        own.update({name: value for name, value in self.__dict__.items() if name in known or name[0] == "_"})
        if DIRTY in own:
            own[DIRTY] = dict(own[DIRTY])
        for item in schema.mutable:
            if item.name in own:
                own[item.name] = copied(item, own[item.name])
        for name, value in changes.items():
            setattr(twin, name, value)
        return twin


def schema_of(entity: type | EntityBase) -> EntitySchema:
    """The schema of a class or an instance. Raises `DefinitionError` for an abstract base."""
    cls = entity if isinstance(entity, type) else type(entity)
    schema = cls.__dict__.get("__schema__")
    if schema is None:
        raise _abstract(cls)
    return schema  # type: ignore[no-any-return]


def _abstract(cls: type) -> DefinitionError:
    return DefinitionError(
        f"{cls.__name__} is abstract: it is no entity of a table, and only its subclasses are. Use one of them.",
        owner=cls.__name__,
    )


def copied(item: FieldSchema, value: Any) -> Any:
    """An independent copy of a field's value."""
    copy = item.codec.copy
    return value if copy is None or value is None else copy(value)


def _table(cls: type[EntityBase], options: Mapping[str, Any]) -> TableDefinition:
    table = options.get("table")
    if table is None:
        raise DefinitionError(
            f"{cls.__name__} has no table. Give one, `class {cls.__name__}({cls.__root__.__name__}, table=app, ...)`, "
            "or say abstract=True for a base that is no entity itself.",
            owner=cls.__name__,
        )
    if not isinstance(table, TableDefinition):
        raise DefinitionError(
            f"{cls.__name__}: table={table!r} is no Table. Give the object that Table(...) made.", owner=cls.__name__
        )
    return table


def _schema(
    cls: type[EntityBase],
    collected: Collected,
    table: TableDefinition,
    options: Mapping[str, Any],
    type: str | None,
    aliases: tuple[str, ...],
) -> EntitySchema:
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
        also_keys=options.get("also_keys", ()),
    )


def _reserved(cls: type[EntityBase]) -> frozenset[str]:
    return frozenset(name for name in dir(cls.__root__) if not name.startswith("_")) | {"aio", "entity_type", "source"}


def _check_members(cls: type[EntityBase], collected: Collected) -> None:
    """A member that shadows a public name of the root breaks every caller that holds the class."""
    reserved = _reserved(cls)
    bases: tuple[type[Any], ...] = cls.__mro__
    for base in bases[: bases.index(cls.__root__)]:
        # Entities among the bases were checked when they were made.
        if base is not cls and issubclass(base, EntityBase):
            continue
        for name, member in base.__dict__.items():
            hook = name in _HOOKS and callable(member)
            if not hook and (name in reserved or name in _GENERATED):
                raise _shadows(cls, base, name, is_field=name in collected.fields)
    for name in collected.fields:
        if name in reserved:
            raise _shadows(cls, cls, name, is_field=True)


_HOOKS = frozenset({"before_write", "after_write", "after_load"})
_GENERATED = {
    "__init__": "__init__ is generated from the fields. Write a classmethod that makes the entity",
    "__attrs_post_init__": "it would run for new entities and not for rows that are read. Use field(factory=...), or "
    "a classmethod that makes the entity",
    "__attrs_pre_init__": "it would run for new entities and not for rows that are read. Write a classmethod that "
    "makes the entity",
}


def _shadows(cls: type, base: type, name: str, *, is_field: bool) -> DefinitionError:
    if name == "entity_type":
        reason = 'the stored type is a class option: `type="..."`'
    elif name in _GENERATED:
        reason = _GENERATED[name]
    else:
        reason = f"{name!r} is a name of the library's own on entities. Call it otherwise"
    if is_field:
        reason = (
            f"{name!r} is a name of the library's own on entities. Call it otherwise and keep the stored name: "
            f'`{name}_: Field[...] = field(name="{name}")`'
        )
    where = "" if base is cls else f" (from {base.__qualname__})"
    return DefinitionError(f"{cls.__name__}.{name}{where}: {reason}.", owner=cls.__name__, field=name)


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
    # As its own, so that @dataclass on the class finds them and does not put there a repr that shows secrets.
    for name in ("__repr__", "__eq__", "__hash__"):
        type.__setattr__(cls, name, getattr(cls, name))


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


def _set_other(entity: EntityBase, name: str, value: Any) -> None:
    """Setting what is no field: a private attribute, or a property with a setter of the user's own."""
    cls = type(entity)
    if name.startswith("_") or hasattr(getattr(cls, name, None), "__set__"):
        object.__setattr__(entity, name, value)
        return
    if name == "entity_type":
        raise AttributeError(
            f"{cls.__name__}.entity_type is the stored type; every write stamps it, and it cannot be set. "
            'It is a class option: `type="..."`.'
        )
    raise AttributeError(f"{cls.__name__} has no field {name!r}.{suggest(name, cls.__schema__.by_name)}")


def _registered_bases(cls: type[EntityBase]) -> list[EntitySchema]:
    return [base.__dict__["__schema__"] for base in cls.__mro__[1:] if "__schema__" in base.__dict__]
