"""What a nested class declares: the fields of an attrs class or a dataclass, their types and defaults."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import attrs

from tablekit._types import UNSET
from tablekit.codecs.base import Codec, UnsupportedAnnotation

__all__ = ["Member", "is_frozen", "is_nested", "members_of"]

Bindings = dict[type[Any], dict[Any, Any]]


class Member:
    """One field as its class declares it.

    Attributes:
        name: the Python name. attribute: the stored name. argument: the name in ``__init__``.
        annotation: the type. default: the constant default, or UNSET. factory: what makes the default, or UNSET; not
            callable when it needs the instance.
        codec: the codec given in the field's metadata, or None.
    """

    __slots__ = ("annotation", "argument", "attribute", "codec", "default", "factory", "name")

    def __init__(
        self,
        name: str,
        argument: str,
        annotation: Any,
        *,
        default: Any,
        factory: Any,
        metadata: Mapping[Any, Any],
    ) -> None:
        options: Mapping[str, Any] = metadata.get("tablekit", {})
        self.name = name
        self.attribute: str = options.get("name", name)
        self.argument = argument
        self.annotation = annotation
        self.default = default
        self.factory = factory
        self.codec: Codec[Any] | None = options.get("codec")


def is_nested(cls: Any) -> bool:
    """Whether a class is an attrs class or a dataclass."""
    return isinstance(cls, type) and (attrs.has(cls) or dataclasses.is_dataclass(cls))


def is_frozen(cls: type[Any]) -> bool:
    """Whether instances refuse assignment to their fields; a class that does not say so counts as changeable."""
    if attrs.has(cls):
        return cls.__setattr__.__name__ == "_frozen_setattrs"
    # A plain subclass of a dataclass has its base's.
    made: Any = cls
    return bool(made.__dataclass_params__.frozen)


def members_of(annotation: Any, cls: type[Any], namespace: Mapping[str, Any]) -> tuple[Member, ...]:
    """The fields that ``__init__`` takes, in order.

    Parameters:
        annotation: the class, or a generic class with its arguments. cls: the class itself.
        namespace: more names for string annotations.

    Raises `UnsupportedAnnotation` when an annotation is missing or cannot be resolved, or a default is shared.
    """
    hints = _hints(annotation, cls, namespace)
    declared = _attrs_fields(cls) if attrs.has(cls) else _dataclass_fields(cls)
    members: list[Member] = []
    for name, argument, type_, default, factory, metadata in declared:
        found = hints.get(name, type_)
        if found is None and name not in hints:
            raise UnsupportedAnnotation(f"{cls.__qualname__}.{name} has no annotation")
        kind: str = type(default).__name__
        if isinstance(default, (list, dict, set, bytearray)):
            raise UnsupportedAnnotation(
                f"{cls.__qualname__}.{name} has a {kind} as its default, which all instances would share; "
                f"write factory={kind}"
            )
        members.append(Member(name, argument, found, default=default, factory=factory, metadata=metadata))
    return tuple(members)


Declared = tuple[str, str, Any, Any, Any, Mapping[Any, Any]]


def _attrs_fields(cls: type[Any]) -> Iterator[Declared]:
    for field in attrs.fields(cls):
        if not field.init:
            continue
        default: Any = field.default
        factory: Any = UNSET
        if default is attrs.NOTHING:
            default = UNSET
        elif hasattr(default, "takes_self"):
            # One that takes the half-made instance is called by the class alone.
            factory = default if default.takes_self else default.factory
            default = UNSET
        yield field.name, field.alias, field.type, default, factory, field.metadata


def _dataclass_fields(cls: type[Any]) -> Iterator[Declared]:
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        default = UNSET if field.default is dataclasses.MISSING else field.default
        factory = UNSET if field.default_factory is dataclasses.MISSING else field.default_factory
        yield field.name, field.name, None, default, factory, field.metadata


def _hints(annotation: Any, cls: type[Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    bindings: Bindings = {}
    _bind(annotation, bindings, {})
    known = {each.__name__: each for each in reversed(cls.__mro__[:-1])}
    hints: dict[str, Any] = {}
    for owner in reversed(cls.__mro__[:-1]):
        # Each class by itself: two of them may use one type variable for different things.
        own = inspect.get_annotations(owner)
        found = _resolve(owner, known, namespace) if own else {}
        chosen = bindings.get(owner, {})
        hints.update({name: _substitute(found[name], chosen) for name in own if name in found})
    return hints


def _resolve(owner: type[Any], known: Mapping[str, Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    own = {owner.__name__: owner}
    # Local names come first for a class that was made among them, and last for one of a module.
    scopes: list[Mapping[str, Any]] = [own, {**known, **namespace, **own}]
    if "<locals>" in owner.__qualname__:
        scopes.reverse()
    missing = NameError()
    for scope in scopes:
        try:
            return typing.get_type_hints(owner, localns=dict(scope), include_extras=True)
        except NameError as error:
            missing = error
    raise UnsupportedAnnotation(
        f"an annotation of {owner.__qualname__} names {missing.name}, which cannot be found; define it in the "
        "module, and not under TYPE_CHECKING only"
    )


def _bind(annotation: Any, bindings: Bindings, outer: Mapping[Any, Any]) -> None:
    """What each class's type variables stand for, from the annotation up through its bases."""
    origin = typing.get_origin(annotation) or annotation
    arguments = [_substitute(each, outer) for each in typing.get_args(annotation)]
    own = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
    bindings.setdefault(origin, own)
    for base in _bases(origin):
        _bind(base, bindings, own)


def _bases(cls: type[Any]) -> tuple[Any, ...]:
    """The bases as they are written. A class whose bases are plain has no list of its own: getattr finds another's."""
    bases: tuple[Any, ...] = vars(cls).get("__orig_bases__", cls.__bases__)
    return bases


def _substitute(annotation: Any, chosen: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return chosen.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    # On Python 3.10 list[T] calls itself a type.
    if not parameters or not typing.get_args(annotation):
        return annotation
    return annotation[tuple(chosen.get(each, each) for each in parameters)]
