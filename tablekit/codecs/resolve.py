"""From an annotation to its codec."""

from __future__ import annotations

import collections.abc
import contextlib
import datetime as dt
import decimal
import enum
import sys
import types
import typing
import uuid
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import typing_extensions

from tablekit.codecs.base import Codec, UnsupportedAnnotation
from tablekit.codecs.choices import EnumCodec, LiteralCodec
from tablekit.codecs.containers import ListCodec, MapCodec, TupleCodec
from tablekit.codecs.freeform import AnyCodec
from tablekit.codecs.inspection import Member, is_frozen, is_nested, members_of
from tablekit.codecs.nested import NestedCodec, NestedField
from tablekit.codecs.scalars import (
    BoolCodec,
    BytesCodec,
    DecimalCodec,
    FloatCodec,
    IntCodec,
    NullCodec,
    StrCodec,
    UuidCodec,
)
from tablekit.codecs.sets import SetCodec
from tablekit.codecs.temporal import DateCodec, DatetimeCodec, TimeCodec, TimedeltaCodec
from tablekit.codecs.unions import LazyCodec, OptionalCodec, UnionCodec

__all__ = ["UnsupportedAnnotation", "codec_for", "register_codec"]

T = TypeVar("T")

_SCALARS: dict[Any, Codec[Any]] = {
    str: StrCodec(),
    int: IntCodec(),
    decimal.Decimal: DecimalCodec(),
    float: FloatCodec(),
    bool: BoolCodec(),
    bytes: BytesCodec(),
    uuid.UUID: UuidCodec(),
    dt.datetime: DatetimeCodec(),
    dt.date: DateCodec(),
    dt.time: TimeCodec(),
    dt.timedelta: TimedeltaCodec(),
    None: NullCodec(),
    type(None): NullCodec(),
    Any: AnyCodec(),
    object: AnyCodec(),
}
_LISTS = {
    list: "list",
    collections.abc.Sequence: "Sequence",
    collections.abc.MutableSequence: "list",
}
_SETS = {
    set: "set",
    frozenset: "frozenset",
    collections.abc.Set: "Set",
    collections.abc.MutableSet: "set",
}
_MAPS = {dict: "dict", collections.abc.Mapping: "Mapping", collections.abc.MutableMapping: "dict"}
_ALIASES = tuple({typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)})

_registered: dict[Any, Codec[Any]] = {}
_cache: dict[Any, Codec[Any]] = {}


def register_codec(type_: type[T], codec: Codec[T]) -> None:
    """Use a codec for a type everywhere in this process.

    It holds for classes made afterwards, also for a type that tablekit has a codec of its own for. Registering a
    type again replaces its codec. For one field, give the codec there: ``field(codec=...)``.
    """
    _registered[type_] = codec
    _cache.clear()


def codec_for(
    annotation: Any,
    *,
    overrides: Mapping[Any, Codec[Any]] = types.MappingProxyType({}),
    namespace: Mapping[str, Any] = types.MappingProxyType({}),
) -> Codec[Any]:
    """The codec of an annotation, made once and kept.

    Parameters:
        annotation: a type as `typing.get_type_hints` gives it, without strings.
        overrides: codecs that take the place of a type's own, also deep inside the annotation.
        namespace: names for the string annotations of nested classes that their module does not know (classes
            made inside a function).

    Raises `UnsupportedAnnotation`, with the reason and what to write instead.
    """
    cached = None if overrides else _lookup(_cache, annotation)
    if cached is not None:
        return cached
    builder = _Builder({**_registered, **overrides}, namespace)
    codec = builder.build(annotation)
    builder.finish()
    if not overrides:
        _keep(annotation, codec)
    return codec


def _lookup(table: Mapping[Any, Codec[Any]], key: Any) -> Codec[Any] | None:
    try:
        return table.get(key)
    except TypeError:
        return None


def _keep(annotation: Any, codec: Codec[Any]) -> None:
    # Annotated[...] is as hashable as its metadata.
    with contextlib.suppress(TypeError):
        _cache[annotation] = codec


def _unsupported(annotation: Any) -> UnsupportedAnnotation:
    name = getattr(annotation, "__qualname__", None) or str(annotation)
    return UnsupportedAnnotation(
        f"{name} has no codec; make it an attrs class, or give one with register_codec() or custom_codec()"
    )


def _only_itself(codec: Codec[Any]) -> UnsupportedAnnotation:
    return UnsupportedAnnotation(f"{codec.name} is defined by nothing but itself")


class _Builder:
    """Makes one codec and those inside it; a class or alias that contains itself finds itself here."""

    def __init__(self, chosen: Mapping[Any, Codec[Any]], namespace: Mapping[str, Any]) -> None:
        self._chosen = chosen
        self._namespace = namespace
        self._nested: dict[Any, NestedCodec] = {}
        self._aliases: dict[Any, LazyCodec] = {}
        self._unions: list[UnionCodec] = []
        self._unions_open: dict[Any, LazyCodec] = {}
        # What is being made, outermost first, and what of it was met again inside itself.
        self._open: list[Any] = []
        self._met: set[Any] = set()

    def finish(self) -> None:
        for union in self._unions:
            union.check()

    def build(self, annotation: Any) -> Codec[Any]:
        chosen = _lookup(self._chosen, annotation)
        if chosen is not None:
            return chosen
        scalar = _lookup(_SCALARS, annotation)
        if scalar is not None:
            return scalar
        origin = typing.get_origin(annotation)
        if isinstance(annotation, _ALIASES) or isinstance(origin, _ALIASES):
            return self._alias(annotation)
        if origin is None:
            return self._plain(annotation)
        return self._generic(annotation, origin, typing.get_args(annotation))

    def _plain(self, annotation: Any) -> Codec[Any]:
        if isinstance(annotation, typing.NewType):
            return self.build(annotation.__supertype__)
        if isinstance(annotation, (str, typing.ForwardRef)):
            raise UnsupportedAnnotation(f"the name in the annotation {annotation!r} could not be resolved")
        if isinstance(annotation, TypeVar):
            raise UnsupportedAnnotation(
                f"the type variable {annotation} stands for no type; give the class its arguments"
            )
        if not isinstance(annotation, type):
            raise _unsupported(annotation)
        if annotation is tuple or annotation in _LISTS or annotation in _SETS or annotation in _MAPS:
            return self._generic(annotation, annotation, ())
        if issubclass(annotation, enum.Enum):
            return EnumCodec(annotation)
        if hasattr(cast("type[Any]", annotation), "__tablekit_entity__"):
            raise UnsupportedAnnotation(
                f"{annotation.__qualname__} is an entity, a row of its own, and cannot stand inside another; keep the "
                "fields of its key"
            )
        if is_nested(annotation):
            return self._class(annotation, cast("type[Any]", annotation))
        raise _unsupported(annotation)

    def _generic(self, annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Codec[Any]:
        if origin in _LISTS or origin in _SETS or origin in _MAPS:
            return self._container(origin, arguments)
        if origin is typing.Annotated:
            return self._annotated(annotation)
        if origin in (typing.Literal, typing_extensions.Literal):
            return LiteralCodec(arguments)
        if origin in (typing.Union, types.UnionType):
            return self._union(annotation, arguments)
        if origin is tuple:
            return self._tuple(annotation, arguments)
        if is_nested(origin):
            return self._class(annotation, origin)
        raise _unsupported(annotation)

    def _container(self, origin: Any, arguments: tuple[Any, ...]) -> Codec[Any]:
        if origin in _LISTS:
            return ListCodec(self.build(*(arguments or (Any,))), _LISTS[origin])
        if origin in _MAPS:
            return self._map(*(arguments or (str, Any)), kind=_MAPS[origin])
        if not arguments:
            raise UnsupportedAnnotation(
                f"{_SETS[origin]} does not say what its members are; write {_SETS[origin]}[str]"
            )
        return SetCodec(self.build(*arguments), _SETS[origin])

    def _annotated(self, annotation: Any) -> Codec[Any]:
        metadata: tuple[Any, ...] = annotation.__metadata__
        given: list[Codec[Any]] = [each for each in metadata if isinstance(each, Codec)]
        return given[-1] if given else self.build(annotation.__origin__)

    def _tuple(self, annotation: Any, arguments: tuple[Any, ...]) -> Codec[Any]:
        if annotation in (tuple, typing.Tuple):  # noqa: UP006  the older spelling, which get_args cannot tell from tuple[()]
            return ListCodec(_SCALARS[Any], "tuple")
        if arguments and arguments[-1] is Ellipsis:
            return ListCodec(self.build(arguments[0]), "tuple")
        return TupleCodec(tuple(self.build(each) for each in arguments if each != ()))

    def _map(self, key: Any, value: Any, *, kind: str) -> Codec[Any]:
        codec = self.build(key)
        if codec.nullable or not (codec.key_type == "S" or codec.name == "int"):
            raise UnsupportedAnnotation(
                f"{kind}[{codec.name}, ...]: the keys of a stored map are strings; use str, int, an enum of str, UUID, "
                "date or datetime"
            )
        return MapCodec(codec, self.build(value), kind)

    def _union(self, annotation: Any, arguments: tuple[Any, ...]) -> Codec[Any]:
        again = _lookup(self._unions_open, annotation)
        if again is not None:
            return again
        given = [each for each in arguments if each is not type(None)]
        members = [self.build(each) for each in given]
        if any(map(self._alias_of, members)):
            # A union needs to know how its members are stored: it looks into an alias that is still being made.
            self._unions_open[annotation] = LazyCodec(" | ".join(member.name for member in members))
            members = [self._looked_into(member) for member in members]
            self._unions_open.pop(annotation).target = made = self._joined(members, len(members) < len(arguments))
            return made
        return self._joined(members, len(members) < len(arguments))

    def _joined(self, members: list[Codec[Any]], nullable: bool) -> Codec[Any]:
        inner = self._members(members)
        return OptionalCodec(inner) if nullable and not inner.nullable else inner

    def _members(self, members: list[Codec[Any]]) -> Codec[Any]:
        if len(members) == 1:
            return members[0]
        for member in members:
            if not member.tags:
                raise UnsupportedAnnotation(f"the codec of {member.name} does not say in `tags` how it is stored")
        union = UnionCodec(tuple(members))
        self._unions.append(union)
        return union

    def _alias_of(self, codec: Codec[Any]) -> Any:
        """The alias that is still being made, for which a codec stands; None for every other codec."""
        return next((alias for alias, lazy in self._aliases.items() if lazy is codec), None)

    def _looked_into(self, member: Codec[Any]) -> Codec[Any]:
        seen: list[Any] = []
        inside = member
        while (alias := self._alias_of(inside)) is not None and alias not in seen:
            seen.append(alias)
            inside = self.build(self._alias_value(alias))
        if isinstance(inside, LazyCodec):
            raise _only_itself(member)
        return inside

    def _alias(self, annotation: Any) -> Codec[Any]:
        if annotation in self._aliases:
            self._met.add(annotation)
            return self._aliases[annotation]
        self._open.append(annotation)
        lazy = self._aliases[annotation] = LazyCodec(str(annotation))
        lazy.target = self.build(self._alias_value(annotation))
        if lazy.target is lazy:
            raise _only_itself(lazy)
        del self._aliases[annotation]
        self._open.pop()
        return lazy.target

    def _alias_value(self, annotation: Any) -> Any:
        """What an alias stands for, with the strings in it resolved: before Python 3.12 only they allow recursion."""
        alias = typing.get_origin(annotation) or annotation
        holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
        module = vars(sys.modules.get(alias.__module__, typing))
        known = {**self._namespace, alias.__name__: alias}
        try:
            hints = typing.get_type_hints(holder, globalns=module, localns=known, include_extras=True)
        except NameError as error:
            raise UnsupportedAnnotation(f"the alias {alias} names {error.name}, which cannot be found") from None
        return hints["value"] if alias is annotation else hints["value"][typing.get_args(annotation)]

    def _class(self, annotation: Any, cls: type[Any]) -> Codec[Any]:
        known = self._nested.get(annotation)
        if known is not None:
            if not known.ready:
                self._met.add(annotation)
            return known
        self._open.append(annotation)
        name = cls.__qualname__ if annotation is cls else str(annotation).rpartition(".")[2]
        codec = self._nested[annotation] = NestedCodec(cls, name)
        fields = tuple(self._field(name, member) for member in members_of(annotation, cls, self._namespace))
        clashes = {field.attribute for field in fields if sum(f.attribute == field.attribute for f in fields) > 1}
        if clashes:
            raise UnsupportedAnnotation(f"{name}: two fields are stored as {min(clashes)!r}")
        codec.complete(fields, frozen=is_frozen(cls), recursive=not self._met.isdisjoint(self._open))
        self._open.pop()
        return codec

    def _field(self, owner: str, member: Member) -> NestedField:
        try:
            codec = member.codec if member.codec is not None else self.build(member.annotation)
        except UnsupportedAnnotation as problem:
            raise UnsupportedAnnotation(f"{owner}.{member.name}: {problem.reason}") from None
        return NestedField(
            member.name,
            member.attribute,
            codec,
            argument=member.argument,
            default=member.default,
            factory=member.factory,
        )
