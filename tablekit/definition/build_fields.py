"""From the fields that a class body declares to their frozen records, each checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs

from tablekit._types import UNSET
from tablekit.codecs.base import Codec, ValueProblem, is_a
from tablekit.codecs.inspection import is_frozen, is_nested
from tablekit.codecs.resolve import UnsupportedAnnotation, codec_for
from tablekit.codecs.ttl import TtlCodec
from tablekit.definition.collect import Collected, CollectedField
from tablekit.definition.problems import wrong
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import MARKER, FieldSchema

__all__ = ["build_fields"]

_EMPTY_FACTORIES = (list, dict, set, frozenset, tuple)
_OWN = "_tk_"
"""How the names begin under which an instance keeps what is not its fields."""


def build_fields(
    cls: type[Any], collected: Collected, registry: TableDefinition, reserved: frozenset[str]
) -> tuple[FieldSchema, ...]:
    """The fields of a class, in the order of declaration. Raises `DefinitionError`."""
    fields = tuple(_field(cls, found, collected.names, reserved) for found in collected.fields.values())
    _check_attributes(cls, fields, registry)
    _check_single(cls, fields)
    return fields


def _field(cls: type[Any], found: CollectedField, names: Mapping[str, Any], reserved: frozenset[str]) -> FieldSchema:
    name, declared = found.name, found.declaration
    _check_name(cls, name, reserved)
    codec = _codec(cls, found, names)
    attribute: Any = declared.name if declared.name is not None else name
    _check_attribute_name(cls, name, attribute)
    _check_callables(cls, found)
    default = _default(cls, found, codec)
    missing = _missing(found, default, codec)
    result = FieldSchema(
        cls.__name__,
        name,
        attribute,
        found.annotation,
        codec,
        declared.kind,
        default=default,
        factory=declared.factory,
        missing=missing,
        omits_none=codec.nullable and missing is not None and _is_none(missing),
        omits_empty=missing is not None and _is_empty(missing),
        validators=declared.validators,
        secret=declared.secret,
        unique=declared.unique,
        marker=declared.marker,
        ring=declared.ring,
        hide_expired=declared.hide_expired,
    )
    if not 1 <= declared.ring <= 8:
        raise wrong(cls, f"version(ring={declared.ring}) must be 1 to 8 markers.", name)
    if default is not UNSET:
        _check_constant(cls, result, default, "default")
    if declared.on_missing is not UNSET and not callable(declared.on_missing):
        _check_constant(cls, result, declared.on_missing, "on_missing")
    return result


def _check_name(cls: type[Any], name: str, reserved: frozenset[str]) -> None:
    if name in reserved or name == "self":
        raise wrong(
            cls,
            f"{name!r} is a name of the library's own on entities. Call the field otherwise and keep the stored name: "
            f'`{name}_: Field[...] = field(name="{name}")`.',
            name,
        )
    if name.startswith(_OWN):
        raise wrong(cls, f"names that begin with {_OWN!r} are tablekit's own. Call the field otherwise.", name)


def _codec(cls: type[Any], found: CollectedField, names: Mapping[str, Any]) -> Codec[Any]:
    given: Any = found.declaration.codec
    if given is not None:
        if not is_a(given, Codec):
            raise wrong(
                cls, f"codec= is a {type(given).__name__}. Give a Codec, such as custom_codec(...) makes.", found.name
            )
        return given  # type: ignore[no-any-return]
    try:
        codec = codec_for(found.annotation, namespace=names)
    except UnsupportedAnnotation as problem:
        raise wrong(cls, f"{problem}. Use a supported type, or give a codec: field(codec=...).", found.name) from None
    if found.declaration.kind == "ttl":
        try:
            return TtlCodec.over(codec)
        except UnsupportedAnnotation as problem:
            raise wrong(cls, str(problem), found.name) from None
    return codec


def _check_callables(cls: type[Any], found: CollectedField) -> None:
    declared = found.declaration
    if declared.factory is not UNSET and not callable(declared.factory):
        raise wrong(cls, "factory= is not callable. Give a function without arguments, such as list.", found.name)
    for validator in declared.validators:
        if not callable(validator):
            raise wrong(cls, "validator= is not callable. Give an attrs validator, or several in a list.", found.name)


# Defaults


def _default(cls: type[Any], found: CollectedField, codec: Codec[Any]) -> Any:
    default = found.declaration.default
    if found.declaration.factory is not UNSET and default is not UNSET:
        raise wrong(cls, "has both default= and factory=. Keep one.", found.name)
    if isinstance(codec, TtlCodec) and default is not UNSET and not isinstance(default, timedelta):
        try:
            return codec.normalise(default, datetime.now(timezone.utc))
        except ValueProblem as problem:
            raise wrong(cls, f"its default {problem}.", found.name) from None
    return default


def _changeable(value: Any) -> bool:
    """Whether a value, or one inside it, can be changed in place, so that instances must not share it."""
    if is_a(value, (list, dict, set, bytearray)):
        return True
    if is_a(value, (tuple, frozenset)):
        return any(map(_changeable, value))
    cls: type[Any] = value.__class__
    if not is_nested(cls):
        return False
    names = [each.name for each in (attrs.fields(cls) if attrs.has(cls) else dataclasses.fields(cls))]
    return not is_frozen(cls) or any(_changeable(getattr(value, name)) for name in names)


def _check_constant(cls: type[Any], schema: FieldSchema, value: Any, option: str) -> None:
    """A default, or what a missing attribute reads as, is a value of the field that instances may share."""
    if _changeable(value):
        kind = type(value).__name__
        empty = kind if not value and isinstance(value, (list, dict, set)) else f"lambda: {kind}(...)"
        instead = f"field(factory={empty})" if option == "default" else f"field(on_missing={empty})"
        raise wrong(cls, f"a {kind} as its {option} would be shared by all instances. Use {instead}.", schema.name)
    if value is None and not schema.codec.nullable:
        raise wrong(
            cls,
            f"its {option} is None, and {schema.codec.name} does not take None. "
            f"Annotate it Field[{schema.codec.name} | None].",
            schema.name,
        )
    try:
        schema.codec.encode(value)
    except ValueProblem as problem:
        raise wrong(cls, f"its {option} is no value of {schema.codec.name}: {problem}.", schema.name) from None
    except Exception as error:
        # A codec of the user's own may raise anything.
        raise wrong(
            cls, f"its {option} is no value of {schema.codec.name} ({type(error).__name__}).", schema.name
        ) from error


def _missing(found: CollectedField, default: Any, codec: Codec[Any]) -> Callable[[], Any] | None:
    """What makes the value that a missing attribute reads as."""
    on_missing, factory = found.declaration.on_missing, found.declaration.factory
    if on_missing is not UNSET:
        return on_missing if callable(on_missing) else (lambda: on_missing)
    if isinstance(default, timedelta) and isinstance(codec, TtlCodec):
        # "From now" is said to new rows; a row without the attribute does not expire.
        return (lambda: None) if codec.nullable else None
    if found.declaration.kind == "version":
        # Rows from before the class had a version; their first write makes it 1.
        default = 0
    if default is not UNSET:
        return lambda: default
    if factory is not UNSET:
        return factory if factory in _EMPTY_FACTORIES else None
    return (lambda: None) if codec.nullable else codec.empty


def _is_none(missing: Callable[[], Any]) -> bool:
    """Whether None is written by leaving the attribute out: only where a missing attribute reads as None."""
    try:
        return missing() is None
    except Exception:
        return False


def _is_empty(missing: Callable[[], Any]) -> bool:
    try:
        return len(missing()) == 0
    except Exception:
        return False


# Stored names


def _check_attribute_name(cls: type[Any], name: str, attribute: Any) -> None:
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Limits.html
    if not isinstance(attribute, str) or not attribute:
        raise wrong(cls, f"name={attribute!r} is no attribute name. Give a string that is not empty.", name)
    if "[" in attribute or "]" in attribute:
        raise wrong(
            cls,
            f"the attribute name {attribute!r} has a bracket, which reads as a list index. Give it another name=.",
            name,
        )
    if len(attribute.encode("utf-8", "replace")) > 65535:
        raise wrong(cls, "its attribute name is over 64 KB. Give it a shorter name=.", name)


def _check_attributes(cls: type[Any], fields: tuple[FieldSchema, ...], registry: TableDefinition) -> None:
    seen: dict[str, str] = {}
    for item in fields:
        other = seen.setdefault(item.attribute, item.name)
        if other != item.name:
            raise wrong(
                cls, f"is stored as {item.attribute!r}, and so is {other!r}. Give one another name=.", item.name
            )
        if item.attribute in (registry.type_attribute, MARKER):
            raise wrong(
                cls,
                f"is stored as {item.attribute!r}, which tablekit writes itself. Give it another name=, "
                "or the table another type_attribute=.",
                item.name,
            )


def _check_single(cls: type[Any], fields: tuple[FieldSchema, ...]) -> None:
    for kind in ("version", "created_at", "updated_at", "ttl"):
        found = [item.name for item in fields if item.kind == kind]
        if len(found) > 1:
            raise wrong(cls, f"has two {kind}() fields, {found[0]!r} and {found[1]!r}. Keep one.")
