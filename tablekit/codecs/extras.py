"""Attributes of a stored nested value that its class does not declare, kept beside the object."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from tablekit._types import AttributeValue

__all__ = ["extra_of", "keep_extra"]

SLOT = "_tk_extra"

# For objects without a __dict__ (attrs classes have slots unless told otherwise), by identity: they may be
# unhashable. The weak reference removes the entry when the object goes, before its id can be given away again.
_beside: dict[int, tuple[weakref.ref[Any], Mapping[str, AttributeValue]]] = {}


def keep_extra(target: Any, extra: Mapping[str, AttributeValue]) -> None:
    """Keep undeclared attributes with an object.

    They go into its ``__dict__`` under ``_tk_extra``; for a class with slots into a table by weak reference.
    An object that has neither loses them.
    """
    state = getattr(target, "__dict__", None)
    if state is not None:
        state[SLOT] = extra
        return
    key = id(target)
    try:
        reference = weakref.ref(target, lambda _: _beside.pop(key, None))
    except TypeError:
        return
    _beside[key] = reference, extra


def extra_of(target: Any) -> Mapping[str, AttributeValue] | None:
    """The undeclared attributes that came with an object, or None."""
    state = getattr(target, "__dict__", None)
    if state is not None:
        found: Mapping[str, AttributeValue] | None = state.get(SLOT)
        return found
    entry = _beside.get(id(target))
    return entry[1] if entry is not None and entry[0]() is target else None
