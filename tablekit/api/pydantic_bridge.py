"""Entities in pydantic: a core schema for validation, serialisation and JSON Schema, and models made of entities.

Pydantic asks a class for its schema when a model or a route of FastAPI names it; only then is pydantic imported.
https://docs.pydantic.dev/latest/concepts/types/#customizing-validation-with-__get_pydantic_core_schema__
"""

from __future__ import annotations

import importlib
import types
import typing
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, cast

import attrs

from tablekit._types import UNSET
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import DefinitionError, EncodeError

__all__ = ["core_schema_of", "pydantic_model"]


def core_schema_of(cls: type[EntityBase], handler: Any) -> Any:
    """The core schema of an entity class.

    It takes an instance as it is, and a mapping by field names as ``__init__`` takes it; other names are refused, and
    managed fields are taken and left to tablekit, so that what was sent out can come back. Out go all fields that are
    loaded but secret ones.
    """
    core = importlib.import_module("pydantic_core.core_schema")
    schema = schema_of(cls)
    inner = core.typed_dict_schema(
        {item.name: _input(core, item, handler) for item in schema.fields},
        extra_behavior="forbid",
        config={"title": cls.__name__},
    )
    out = core.typed_dict_schema(
        {item.name: _output(core, item, handler) for item in schema.fields if not item.secret},
        config={"title": cls.__name__},
    )

    def validated(value: Any, validate: Callable[[Any], Any]) -> Any:
        return _validated(cls, schema, value, validate)

    # Pydantic's messages begin with it.
    validated.__name__ = validated.__qualname__ = cls.__name__
    return core.no_info_wrap_validator_function(
        validated,
        inner,
        metadata={"pydantic_js_updates": {"title": cls.__name__}},
        ref=f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
        serialization=core.plain_serializer_function_ser_schema(_plain, return_schema=out),
    )


def _input(core: Any, item: FieldSchema, handler: Any) -> Any:
    inner = handler.generate_schema(_known(item.annotation))
    if item.given:
        inner = core.no_info_after_validator_function(_storable(item), inner)
    extra: dict[str, Any] = {"readOnly": True} if not item.given else {"writeOnly": True} if item.secret else {}
    if item.given and item.default is not UNSET and not isinstance(item.default, timedelta):
        inner = core.with_default_schema(inner, default=item.default)
    metadata = {"pydantic_js_updates": extra} if extra else None
    return core.typed_dict_field(inner, required=item.required, metadata=metadata)


def _storable(item: FieldSchema) -> Callable[[Any], Any]:
    """Refuses, in the place of the field, what pydantic takes and no row can hold, such as a time without a zone."""

    def stored(value: Any) -> Any:
        try:
            item.encode(value)
        except EncodeError as error:
            raise _refused(error) from None
        return value

    return stored


def _refused(error: Exception) -> Exception:
    """What validators and tablekit refuse, as pydantic tells its own."""
    problem = importlib.import_module("pydantic_core").PydanticCustomError
    found: Exception = problem("tablekit", "{reason}", {"reason": str(error)})
    return found


def _output(core: Any, item: FieldSchema, handler: Any) -> Any:
    inner = handler.generate_schema(_known(item.annotation))
    # A partly loaded entity has some fields only, and one that was never written has no version.
    metadata = None if item.given else {"pydantic_js_updates": {"readOnly": True}}
    return core.typed_dict_field(inner, required=item.given, metadata=metadata)


def _validated(cls: type[Any], schema: EntitySchema, value: Any, handler: Callable[[Any], Any]) -> Any:
    if isinstance(value, cls):
        return value
    found: Mapping[str, Any] = handler(value)
    try:
        return cls(**{name: each for name, each in found.items() if schema.by_name[name].given})
    except (TypeError, ValueError) as error:
        raise _refused(error) from None


def _plain(entity: Any) -> dict[str, Any]:
    """The fields of an entity that go out."""
    own: dict[str, Any] = entity.__dict__
    return {item.name: own[item.name] for item in schema_of(entity).fields if item.name in own and not item.secret}


# Types that pydantic does not know


class _AttrsSchema:
    """Says to pydantic what an attrs class inside a field is."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        core = importlib.import_module("pydantic_core.core_schema")
        hints = typing.get_type_hints(source, include_extras=True)
        fields = {
            each.name: core.typed_dict_field(
                handler.generate_schema(_known(hints[each.name])), required=each.default is attrs.NOTHING
            )
            for each in attrs.fields(source)
            if each.init
        }
        inner = core.typed_dict_schema(fields, config={"title": source.__name__})

        def made(value: Any, validate: Callable[[Any], Any]) -> Any:
            return value if isinstance(value, source) else source(**validate(value))

        def taken_apart(value: Any) -> dict[str, Any]:
            return {name: getattr(value, name) for name in fields}

        serializer = core.plain_serializer_function_ser_schema(taken_apart, return_schema=inner)
        return core.no_info_wrap_validator_function(made, inner, serialization=serializer)


def _known(annotation: Any) -> Any:
    """The annotation with attrs classes in it marked."""
    if isinstance(annotation, type) and attrs.has(annotation):
        return typing.Annotated[annotation, _AttrsSchema()]
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if not arguments or origin is typing.Annotated or origin is typing.Literal:
        return annotation
    known = tuple(_known(each) for each in arguments)
    if known == arguments:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return cast(Any, typing.Union)[known]
    return cast(Any, origin)[known]


# Models of pydantic


def pydantic_model(
    entity: type[EntityBase], name: str | None = None, *, exclude: Collection[str] = (), optional: bool = False
) -> Any:
    """A pydantic model with the fields of an entity that are the user's data, such as for the body of a request.

    ``Document(**body.model_dump())`` makes an entity of it; with `optional` ``model_dump(exclude_unset=True)`` gives
    what the caller sent, for an update.

    Parameters:
        name: the model's name; the entity's with ``Model`` otherwise. exclude: fields that it leaves out.
        optional: whether each field may be left out.

    Raises `DefinitionError` for a name in `exclude` that is no field.
    """
    schema = schema_of(entity)
    unknown = sorted(set(exclude) - set(schema.by_name))
    if unknown:
        raise DefinitionError(
            f"{schema.name} has no field {unknown[0]!r} to leave out. It has: {', '.join(schema.by_name)}.",
            owner=schema.name,
            field=unknown[0],
        )
    pydantic = importlib.import_module("pydantic")
    fields: dict[str, Any] = {}
    for item in schema.fields:
        if item.given and item.name not in exclude:
            fields[item.name] = (_known(item.annotation), _default(pydantic, item, optional=optional))
    return pydantic.create_model(name or f"{schema.name}Model", **fields)


def _default(pydantic: Any, item: FieldSchema, *, optional: bool) -> Any:
    if item.default is not UNSET and not isinstance(item.default, timedelta):
        return item.default
    if item.factory is not UNSET:
        return pydantic.Field(default_factory=item.factory)
    return None if optional or not item.required else ...
