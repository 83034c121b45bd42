"""What the calls of users are, as watchers see them: one ``Document.get`` or ``query.all()``, however many requests."""

from __future__ import annotations

import contextvars
import functools
import time
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar, cast

from tablekit.definition.registry import TableDefinition
from tablekit.operations.observe import Meter, Observation, metering

__all__ = ["Call", "Watcher", "call", "calling", "watch", "watched"]

F = TypeVar("F", bound=Callable[..., Coroutine[Any, Any, Any]])


class Call:
    """One call of a user, while it runs and after it.

    Attributes:
        verb: such as ``"get"``, or DynamoDB's name of the operation. entities: the names of the classes that it is
            for; empty for whatever is there. table: the table's name. requests: what was sent, each when it was
            answered. meter: the sums over them. seconds: how long it took, once it has ended.
    """

    def __init__(self, verb: str, entities: tuple[str, ...], table: str) -> None:
        self.verb = verb
        self.entities = entities
        self.table = table
        self.requests: list[Observation] = []
        self.meter = Meter(self.requests.append)
        self.seconds = 0.0

    @property
    def summary(self) -> str:
        """The call in a few words, of which an application has few: ``"Document.get"``."""
        return f"{' | '.join(self.entities)}.{self.verb}" if self.entities else self.verb

    def __repr__(self) -> str:
        return f"Call({self.summary!r}, requests={len(self.requests)})"


Watcher = Callable[[Call], AbstractContextManager[None]]
"""Called when a call begins; the context it gives is left when the call ends, with its exception if it failed."""

_watchers: weakref.WeakKeyDictionary[TableDefinition, tuple[Watcher, ...]] = weakref.WeakKeyDictionary()
_inside: contextvars.ContextVar[tuple[object, ...]] = contextvars.ContextVar("tablekit_calls", default=())


def watch(registry: TableDefinition, watcher: Watcher) -> Callable[[], None]:
    """Let a watcher see every call on a table; the result takes it off again."""
    _watchers[registry] = (*_watchers.get(registry, ()), watcher)

    def remove() -> None:
        left = tuple(each for each in _watchers.get(registry, ()) if each is not watcher)
        if left:
            _watchers[registry] = left
        else:
            _watchers.pop(registry, None)

    return remove


def watched(registry: TableDefinition) -> bool:
    """Whether a call on a table that begins here is to be told to watchers; not inside another one."""
    return bool(_watchers) and registry in _watchers and not any(each is registry for each in _inside.get())


@contextmanager
def calling(registry: TableDefinition, table: str, verb: str, entities: tuple[str, ...]) -> Generator[Call, None, None]:
    """Tell the watchers of a table of a call, which is what runs in the block."""
    seen = Call(verb, entities, table)
    began = time.perf_counter()
    token = _inside.set((*_inside.get(), registry))
    try:
        with ExitStack() as stack:
            for watcher in _watchers.get(registry, ()):
                stack.enter_context(watcher(seen))
            stack.callback(lambda: setattr(seen, "seconds", time.perf_counter() - began))
            stack.enter_context(metering(registry, seen.meter))
            yield seen
    finally:
        _inside.reset(token)


def call(verb: str) -> Callable[[F], F]:
    """Make a coroutine function a call that watchers see, and by what name.

    One of its first two arguments is the session, or has it; the other one tells the classes.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            session = _session(args)
            if session is None or not watched(session.registry):
                return await function(*args, **kwargs)
            with calling(session.registry, session.name, verb, _entities(args)):
                return await function(*args, **kwargs)

        return cast(F, wrapped)

    return decorate


def _session(args: tuple[object, ...]) -> Any:
    for given in args[:2]:
        if hasattr(given, "port"):
            return given
        found = getattr(given, "session", None)
        if found is not None and hasattr(found, "port"):
            return found
    return None


def _entities(args: tuple[object, ...]) -> tuple[str, ...]:
    for given in args[:2]:
        schema = getattr(given, "__schema__", None) or getattr(given, "schema", None)
        if schema is not None:
            return (cast(str, schema.name),)
        spec = getattr(given, "spec", given)
        schemas = getattr(spec, "schemas", None)
        if schemas is not None:
            return tuple(each.name for each in schemas)
    return ()
