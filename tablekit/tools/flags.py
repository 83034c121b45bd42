"""The singletons of an app: what each holds, where the values came from, and changing them."""

from __future__ import annotations

import difflib
import enum
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import attrs

from tablekit.codecs.base import ValueProblem
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import FieldSchema
from tablekit.errors import RequestError
from tablekit.operations.observe import holding
from tablekit.patterns.singleton import Singleton
from tablekit.tools.browse import stored_value
from tablekit.wire.sizes import item_size
from tablekit.wire.units import write_units

__all__ = ["FlagRow", "Flip", "list_flags", "parse_value", "set_flags", "singletons"]


@attrs.frozen
class FlagRow:
    """One value of a singleton.

    Attributes:
        singleton: the class. name: the field. value: as it is stored (an enum's text, a set as a list), masked when
            it is secret. source: ``"table"``,
            ``"default"`` or ``"stale"``. age: seconds since it was read, or None. version: the row's version, or None.
    """

    singleton: str
    name: str
    value: Any
    source: str
    age: float | None
    version: int | None


@attrs.frozen
class Flip:
    """One value that was changed.

    Attributes:
        name: the field. old, new: its values as they are stored, masked when it is secret.
    """

    name: str
    old: Any
    new: Any


def singletons(app: TableDefinition) -> dict[str, type[Singleton]]:
    """The singletons of an app, by the name of their class."""
    found = {schema.name: schema.entity for schema in app.entities.values() if issubclass(schema.entity, Singleton)}
    return dict(sorted(found.items()))


def list_flags(app: TableDefinition) -> list[FlagRow]:
    """Every value of every singleton, read past the cache."""
    return [row for cls in singletons(app).values() for row in _rows(cls)]


def _rows(cls: type[Singleton]) -> list[FlagRow]:
    loaded = cls.load()
    return [
        FlagRow(
            cls.__name__,
            field.name,
            stored_value(field, getattr(loaded, field.name)),
            loaded.source,
            loaded.age,
            loaded.version,
        )
        for field in cls.__schema__.fields
        if field.given
    ]


def set_flags(
    app: TableDefinition,
    name: str,
    values: Mapping[str, str],
    *,
    dry_run: bool = False,
    announce: Callable[[float], Any] | None = None,
) -> list[Flip]:
    """Change values of a singleton, given as text, in one conditional write.

    Parameters:
        dry_run: check the values, and write nothing. announce: called with the write units to expect, before.

    Raises `RequestError` naming what is accepted, for a singleton, a field or a value that is not.
    """
    cls = _known(app, name)
    fields = {field.name: field for field in cls.__schema__.fields if field.given}
    parsed: dict[str, Any] = {}
    for field_name, text in values.items():
        field = fields.get(field_name)
        if field is None:
            raise RequestError(
                f"{name} has no field {field_name!r}; it has: {', '.join(fields)}.{_close(field_name, fields)}"
            )
        parsed[field_name] = parse_value(field, text)
    if not parsed:
        raise RequestError(f"Give what to change: {next(iter(fields), 'field')}=value.")
    before = cls.load()
    flips = [
        Flip(
            field_name,
            stored_value(fields[field_name], getattr(before, field_name)),
            stored_value(fields[field_name], value),
        )
        for field_name, value in parsed.items()
    ]
    if announce is not None or dry_run:
        units = _units(cls, parsed, before)
        if announce is not None:
            announce(units)
    if not dry_run:
        cls.update(**parsed)
    return flips


def _known(app: TableDefinition, name: str) -> type[Singleton]:
    known = singletons(app)
    cls = known.get(name)
    if cls is None:
        raise RequestError(
            f"There is no singleton {name!r}; there are: {', '.join(known) or 'none'}.{_close(name, known)}"
        )
    return cls


def _units(cls: type[Singleton], values: Mapping[str, Any], before: Singleton) -> float:
    """Write units of an update, which is checked without being sent."""
    with holding(cls.__schema__.registry):
        cls.update(**values)
    return write_units(max(_size(cls, before.__dict__), _size(cls, {**before.__dict__, **values})))


def _size(cls: type[Singleton], values: Mapping[str, Any]) -> int:
    schema = cls.__schema__
    fields = [field for field in schema.fields if field.name in values]
    encoded = {field.attribute: field.encode(values[field.name]) for field in fields}
    row = {**schema.key_of({}), schema.registry.type_attribute: {"S": schema.type}}
    return item_size({**row, **{name: value for name, value in encoded.items() if value is not None}})


def _close(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def parse_value(field: FieldSchema, text: str) -> Any:
    """A value given as text, by the field's type. Raises `RequestError` saying what the type takes."""
    for read in (_plain, _by_wire, _by_json):
        try:
            value = read(field, text)
            field.codec.encode(value)
        except (ValueError, TypeError, ArithmeticError, KeyError, ValueProblem):
            continue
        else:
            return value
    given = "what was given" if field.secret else repr(text)
    raise RequestError(f"{field.owner}.{field.name} takes {_takes(field)}, and {given} is none.")


def _takes(field: FieldSchema) -> str:
    annotation = field.annotation
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return " or ".join(repr(str(member.value)) for member in annotation)
    if "BOOL" in field.codec.tags:
        return "true or false"
    json_too = field.codec.tags & {"L", "M", "SS", "NS", "BS"}
    return f"{field.codec.name} (as JSON)" if json_too else field.codec.name


_WORDS = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}


def _plain(field: FieldSchema, text: str) -> Any:
    tags = field.codec.tags
    if "NULL" in tags and text.lower() in ("null", "none"):
        return None
    if "BOOL" in tags:
        return _WORDS[text.lower()]
    if field.annotation is str:
        return text
    if field.annotation is datetime:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    if field.annotation in (int, float, Decimal):
        return field.annotation(text)
    raise KeyError(field.name)


def _by_wire(field: FieldSchema, text: str) -> Any:
    """What the codec reads from the text as it would be stored: enums, UUIDs, dates."""
    for tag in ("S", "N"):
        if tag in field.codec.tags:
            return field.codec.decode({tag: text})
    raise KeyError(field.name)


def _by_json(field: FieldSchema, text: str) -> Any:
    value = json.loads(text, parse_float=Decimal)
    if field.codec.tags & {"SS", "NS", "BS"} and isinstance(value, list):
        members: list[Any] = [*value]
        return set(members)
    return value
