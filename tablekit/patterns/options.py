"""The class options of a singleton, and the checks that can be made when the class is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DefinitionError

__all__ = ["NAMES", "OnFailure", "Options", "check_literal", "check_shape", "read_options"]

OnFailure = Literal["default", "raise"]
"""What a read that failed gives, where no good value is known: the safe values, or the error."""

HOW_TO = "docs/howto/per-tenant-settings.md"


@attrs.frozen(kw_only=True)
class Options:
    """How a singleton is read and written.

    Parameters:
        cache_seconds: how long a value is served from memory; 0 reads each time.
        jitter: the part of `cache_seconds` by which a value may expire earlier, so that processes do not read
            in step; 0 to 1.
        consistent: refresh by strongly consistent reads, at twice the units.
        on_failure: what a failed read gives while no good value is known.
        max_stale: seconds after its expiry for which the last good value is still served while reads fail;
            None for as long as they fail.
        retry_after: seconds until the next read after a failed one; doubles with each failure, up to
            `cache_seconds`.
        refresh_before: read anew in the background so many seconds before the value expires; 0 for never.
        attempts: how often a write is tried against other writers.
        writes_per_minute: with more writes than this in a minute from this process, a warning is logged.
        migrates_from: the singleton whose row this one replaces.
        clock: monotonic seconds.
    """

    cache_seconds: float = 30.0
    jitter: float = 0.1
    consistent: bool = False
    on_failure: OnFailure = "default"
    max_stale: float | None = None
    retry_after: float = 0.5
    refresh_before: float = 0.0
    attempts: int = 100
    writes_per_minute: int = 60
    migrates_from: type[EntityBase] | None = None
    clock: Callable[[], float] = time.monotonic


NAMES = tuple(attribute.name for attribute in attrs.fields(Options))
"""The names of the options, as class keywords."""


def read_options(cls: type, given: Mapping[str, Any]) -> Options:
    """The options among a class's keywords. Raises `DefinitionError` naming the one that cannot be."""
    options = Options(**{name: given[name] for name in NAMES if name in given})
    for name in ("cache_seconds", "retry_after", "refresh_before"):
        if _number(getattr(options, name)) < 0:
            raise _wrong(cls, f"{name}={getattr(options, name)!r} must be seconds, 0 or more")
    if options.max_stale is not None and _number(options.max_stale) < 0:
        raise _wrong(cls, f"max_stale={options.max_stale!r} must be seconds, 0 or more, or None")
    if not 0 <= _number(options.jitter) <= 1:
        raise _wrong(cls, f"jitter={options.jitter!r} must be a part, 0 to 1")
    if options.refresh_before and options.refresh_before >= options.cache_seconds:
        raise _wrong(cls, "refresh_before must be less than cache_seconds, or every read would refresh")
    if options.on_failure not in ("default", "raise"):
        raise _wrong(cls, f"on_failure={options.on_failure!r} must be 'default' or 'raise'")
    if options.attempts < 1:
        raise _wrong(cls, f"attempts={options.attempts!r} must be 1 or more")
    return options


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else -1.0


def check_literal(cls: type, side: str, text: Any) -> None:
    """Refuse a template where a singleton's key stands."""
    if isinstance(text, str) and "{" in text.replace("{{", ""):
        raise _wrong(
            cls,
            f"{side}={text!r} is a template, and the key of a singleton is a constant: there is one row. A row for "
            f"each tenant, user or region is an entity: class {cls.__name__}(Entity, ..., {side}={text!r}). "
            f"{HOW_TO} shows how",
        )


def check_shape(cls: type[EntityBase], schema: EntitySchema, options: Options, root: type) -> None:
    """Check what makes a class a singleton: defaults, one row for one class, a predecessor that fits."""
    for field in schema.fields:
        if field.required:
            raise _wrong(
                cls,
                "has no default. Give the safe value, the one that is used when the row is missing or cannot be "
                f"read: `{field.name}: Field[...] = field(default=...)`",
                field.name,
            )
        if field.unique:
            raise _wrong(cls, "is unique, and there is only one row. Leave unique out", field.name)
    if schema.uniques or schema.index_keys:
        raise _wrong(cls, "has an index key or unique values, and a singleton is read by its key alone. Leave them out")
    _check_single(cls, schema, root)
    if options.migrates_from is not None:
        _check_predecessor(cls, schema, options.migrates_from, root)


def _check_single(cls: type, schema: EntitySchema, root: type) -> None:
    key = schema.key_of({})
    for other in schema.registry.entities.values():
        same = (other.entity.__module__, other.entity.__qualname__) == (cls.__module__, cls.__qualname__)
        if same or not issubclass(other.entity, root) or other.key_of({}) != key:
            continue
        raise _wrong(
            cls,
            f"has the key of {other.name}, {schema.registry.show_key(key)}. One row is one singleton: put the fields "
            "into one class, or give this one another sk",
        )


def _check_predecessor(cls: type, schema: EntitySchema, previous: Any, root: type) -> None:
    if not isinstance(previous, type) or not issubclass(previous, root):
        raise _wrong(cls, f"migrates_from={previous!r} is no singleton class")
    older = schema_of(previous)
    if older.registry is not schema.registry:
        raise _wrong(cls, f"migrates from {older.name}, which is of another table. Both must be of one table")
    if not callable(getattr(cls, "transform", None)):
        raise _wrong(
            cls,
            f"has migrates_from={older.name} and does not say how the old values become the new ones. Add "
            f"`@classmethod def transform(cls, old: {older.name}) -> {cls.__name__}`",
        )


def _wrong(cls: type, message: str, field: str | None = None) -> DefinitionError:
    where = cls.__name__ if field is None else f"{cls.__name__}.{field}"
    return DefinitionError(f"{where}: {message}.", owner=cls.__name__, field=field)
