"""The conditions that keep one class from touching another's row."""

from __future__ import annotations

from tablekit.definition.schema import EntitySchema
from tablekit.expressions.conditions import (
    Condition,
    attribute_exists,
    attribute_not_exists,
    equals,
    one_of,
)

__all__ = ["delete_guard", "present_guard", "put_guard", "type_condition"]


def type_condition(schema: EntitySchema, types: tuple[str, ...]) -> Condition:
    """The row's type is one of `types`."""
    attribute = schema.registry.type_attribute
    if len(types) == 1:
        return equals(attribute, {"S": types[0]}, hint=types[0])
    return one_of(attribute, [{"S": name} for name in types], hints=types)


def _types_or_untyped(schema: EntitySchema, types: tuple[str, ...]) -> Condition:
    """The type guard, which passes an untyped row exactly when reads would take it for this class."""
    condition = type_condition(schema, types)
    if schema.registry.untyped == "infer":
        condition = condition | attribute_not_exists(schema.registry.type_attribute)
    return condition


def put_guard(schema: EntitySchema) -> Condition:
    """There is no row, or it is this class's own: a put replaces the whole row, subclass rows excepted."""
    return attribute_not_exists(schema.registry.pk) | _types_or_untyped(schema, schema.own_types)


def present_guard(schema: EntitySchema, types: tuple[str, ...]) -> Condition:
    """There is a row, and it is of one of the types."""
    condition = _types_or_untyped(schema, types)
    if schema.registry.untyped == "infer":
        return attribute_exists(schema.registry.pk) & condition
    # A missing row has no type, so that the equality asks for its presence as well.
    return condition


def delete_guard(schema: EntitySchema, types: tuple[str, ...]) -> Condition:
    """There is no row, or it is of one of the types: deleting what is gone succeeds."""
    return attribute_not_exists(schema.registry.pk) | _types_or_untyped(schema, types)
