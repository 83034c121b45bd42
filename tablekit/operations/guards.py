"""The conditions that keep one class from touching another's row, and the texts that are the same for every write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.definition.schema import EntitySchema
from tablekit.expressions.conditions import (
    Condition,
    attribute_exists,
    attribute_not_exists,
    equals,
    one_of,
)
from tablekit.wire.rendering import Renderer

__all__ = [
    "Rendered",
    "delete_guard",
    "passes_untyped",
    "present_guard",
    "put_guard",
    "rendered_once",
    "type_condition",
    "version_check",
]


def type_condition(schema: EntitySchema, types: tuple[str, ...]) -> Condition:
    """The row's type is one of `types`."""
    attribute = schema.registry.type_attribute
    if len(types) == 1:
        return equals(attribute, {"S": types[0]}, hint=types[0])
    return one_of(attribute, [{"S": name} for name in types], hints=types)


def passes_untyped(schema: EntitySchema, types: tuple[str, ...], key: Item) -> bool:
    """Whether a row without a type under `key` counts as one of the types: exactly when reads would take it so."""
    registry = schema.registry
    if registry.untyped != "infer":
        return False
    found = registry.infer(key)
    return found is not None and found.type in types


def _of_types(schema: EntitySchema, types: tuple[str, ...], *, untyped: bool) -> Condition:
    condition = type_condition(schema, types)
    return condition | attribute_not_exists(schema.registry.type_attribute) if untyped else condition


def put_guard(schema: EntitySchema, types: tuple[str, ...], *, untyped: bool = False) -> Condition:
    """There is no row, or it is of one of the types."""
    return attribute_not_exists(schema.registry.pk) | _of_types(schema, types, untyped=untyped)


def delete_guard(schema: EntitySchema, types: tuple[str, ...], *, untyped: bool = False) -> Condition:
    """There is no row, or it is of one of the types: deleting what is gone succeeds."""
    return put_guard(schema, types, untyped=untyped)


def present_guard(schema: EntitySchema, types: tuple[str, ...], *, untyped: bool = False) -> Condition:
    """There is a row, and it is of one of the types."""
    condition = _of_types(schema, types, untyped=untyped)
    # A missing row has no type, so that the equality alone asks for its presence as well.
    return attribute_exists(schema.registry.pk) & condition if untyped else condition


def version_check(schema: EntitySchema, version: int) -> Condition:
    """The stored version is the one that was loaded; 0 stands for a row that is there and has none yet."""
    assert schema.version is not None
    attribute = schema.version.attribute
    if version == 0:
        return attribute_exists(schema.registry.pk) & attribute_not_exists(attribute)
    return equals(attribute, {"N": str(version)}, hint=f"{schema.version.name}_before")


# Most puts and deletes carry a guard and no condition of the caller. Its text is rendered once for a class.


@attrs.frozen
class Rendered:
    """A condition as it is sent.

    Parameters:
        text, names, values: the expression and its placeholders, shared by requests and never changed.
    """

    text: str
    names: Mapping[str, str]
    values: Mapping[str, AttributeValue]


def rendered_once(schema: EntitySchema, name: tuple[Any, ...], make: Callable[[], Condition]) -> Rendered:
    """The rendered condition of that name, made at the first call for the class."""
    kept: dict[tuple[Any, ...], Rendered] = schema.compiled.setdefault("guards", {})
    found = kept.get(name)
    if found is None:
        renderer = Renderer()
        text = renderer.render_condition(make())
        found = kept[name] = Rendered(text, renderer.names or {}, renderer.values or {})
    return found
