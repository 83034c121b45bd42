"""Calling the hooks that a class may override: before and after a write of one of its entities.

A hook is a plain method, or an ``async def`` in classes that are used through ``.aio`` only. `after_load` is
called by the generated decoder and is always plain: decoding awaits nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Union

from tablekit.definition.entity import EntityBase
from tablekit.errors import RequestError
from tablekit.operations.observe import dry_run_of
from tablekit.operations.session import Session

__all__ = ["HookResult", "after_write", "before_write", "has_hook"]

HookResult = Union[Awaitable[None], None]
"""What a hook gives: nothing, or a coroutine that gives nothing."""


def has_hook(entity: EntityBase, name: str) -> bool:
    """Whether the entity's class overrides a hook, or may have one by other means."""
    cls = type(entity)
    return getattr(cls, name, None) is not getattr(cls.__root__, name, None) or name in entity.__dict__


async def before_write(session: Session, entity: EntityBase, operation: str) -> None:
    """Call an entity's ``before_write``, before the request is built."""
    await _call(session, entity, "before_write", operation)


async def after_write(session: Session, entity: EntityBase, operation: str) -> None:
    """Call an entity's ``after_write``, when the write was applied and the entity is up to date; not in a dry run."""
    if dry_run_of(session.registry) is None:
        await _call(session, entity, "after_write", operation)


async def _call(session: Session, entity: EntityBase, name: str, operation: str) -> None:
    hook: Callable[[str], HookResult] | None = getattr(entity, name, None)
    result: Any = None if hook is None else hook(operation)
    if result is None:
        return
    if not session.awaited:
        if inspect.iscoroutine(result):
            result.close()
        raise RequestError(
            f"{type(entity).__name__}.{name} is async, and this is a synchronous {operation}. "
            "Write through .aio, or make the hook a plain method."
        )
    await result
