"""Deriving the awaited face of a verb from the coroutine that is its only source."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, TypeVar

from typing_extensions import ParamSpec

from tablekit.definition.entity import EntityBase, schema_of
from tablekit.operations.session import Session, session_for
from tablekit.operations.verbs import KeyBase

__all__ = ["BoundClass", "BoundEntity", "BoundKey", "class_verb", "entity_verb", "key_verb"]

E = TypeVar("E", bound=EntityBase)
T = TypeVar("T")
P = ParamSpec("P")


class BoundClass(Generic[E]):
    """The ``.aio`` of a class, the `target`."""

    __slots__ = ("target",)

    def __init__(self, target: type[E]) -> None:
        self.target = target


class BoundEntity(Generic[E]):
    """The ``.aio`` of an instance, the `target`."""

    __slots__ = ("target",)

    def __init__(self, target: E) -> None:
        self.target = target


class BoundKey(Generic[E]):
    """The ``.aio`` of a key, the `target`."""

    __slots__ = ("target",)

    def __init__(self, target: KeyBase[E]) -> None:
        self.target = target


def class_verb(
    verb: Callable[Concatenate[Session, type[E], P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BoundClass[E], P], Coroutine[Any, Any, T]]:
    """The awaited method of a verb on a class."""

    @functools.wraps(verb)
    def method(self: BoundClass[E], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return verb(session_for(schema_of(self.target), aio=True), self.target, *args, **kwargs)

    return method


def entity_verb(
    verb: Callable[Concatenate[Session, E, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BoundEntity[E], P], Coroutine[Any, Any, T]]:
    """The awaited method of a verb on an instance."""

    @functools.wraps(verb)
    def method(self: BoundEntity[E], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return verb(session_for(schema_of(self.target), aio=True), self.target, *args, **kwargs)

    return method


def key_verb(
    verb: Callable[Concatenate[Session, KeyBase[E], P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BoundKey[E], P], Coroutine[Any, Any, T]]:
    """The awaited method of a verb on a key."""

    @functools.wraps(verb)
    def method(self: BoundKey[E], /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return verb(session_for(self.target.schema, aio=True), self.target, *args, **kwargs)

    return method
