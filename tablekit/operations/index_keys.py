"""Recomputing index keys when a write touches a field that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tablekit._types import AttributeValue
from tablekit.definition.schema import EntitySchema, FieldSchema, IndexKeySchema
from tablekit.errors import KeyPartError
from tablekit.expressions.actions import Action, remove_attribute, set_attribute
from tablekit.expressions.conditions import Condition, attribute_not_exists, equals

__all__ = ["IndexChange", "pin", "recompute", "touched"]


class IndexChange:
    """What a write does to one index key.

    Attributes:
        actions: setting or removing the key attributes.
        relied: fields whose present values the key was made of, though this write does not set them.
    """

    __slots__ = ("actions", "relied")

    def __init__(self, actions: list[Action], relied: tuple[str, ...]) -> None:
        self.actions = actions
        self.relied = relied


def touched(schema: EntitySchema, changed: Collection[str]) -> list[IndexKeySchema]:
    """The index keys that are made of a changed field and that tablekit writes itself."""
    return [key for key in schema.index_keys.values() if key.written and not set(key.names).isdisjoint(changed)]


def recompute(
    schema: EntitySchema,
    index_key: IndexKeySchema,
    values: Mapping[str, Any],
    changed: Collection[str],
    *,
    unknown: Collection[str] = (),
) -> IndexChange:
    """The new attributes of an index key after a change.

    Parameters:
        values: the fields as they will be, as far as they are known. changed: the fields that this write sets.
        unknown: changed fields whose new value only DynamoDB will know (``add``, arithmetic).

    Raises `KeyPartError` naming what is missing: a key made of half-known parts would lie.
    """
    missing = [name for name in index_key.names if name not in values or name in unknown]
    if missing:
        raise _unknown_parts(schema, index_key, missing, unknown)
    relied = tuple(name for name in index_key.names if name not in changed and name not in schema.key_fields)
    rendered = index_key.render(values, schema.name)
    if rendered is None:
        removed: list[Action] = [remove_attribute(key.attribute) for key in index_key.written]
        return IndexChange(removed, relied)
    return IndexChange([set_attribute(name, value, hint=name) for name, value in rendered.items()], relied)


def _unknown_parts(
    schema: EntitySchema, index_key: IndexKeySchema, missing: list[str], unknown: Collection[str]
) -> KeyPartError:
    names = ", ".join(missing)
    computed = [name for name in missing if name in unknown]
    if computed:
        remedy = f"{', '.join(computed)} would get a value that only DynamoDB knows; load the entity, set it and save()"
    else:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        remedy = (
            f"set {names} in the same update, load the entity and update that, or say what they are stored as with "
            f"composite={{{example}}}, which is asserted in the condition"
        )
    templates = " / ".join(repr(key.template.text) for key in index_key.keys)
    return KeyPartError(
        f"update of {schema.name}: the key of index {index_key.index.name!r} ({templates}) is made of a changed "
        f"field and of {names}, which is not known here, so that it would go stale: {remedy}.",
        entity=schema.name,
        template=templates,
        part=missing[0],
    )


def pin(field: FieldSchema, value: Any) -> tuple[Condition, tuple[AttributeValue | None, ...]]:
    """The condition that a field is still stored as `value`, and the stored values that satisfy it."""
    encoded = field.encode(value)
    if encoded is None:
        return attribute_not_exists(field.attribute), (None,)
    condition = equals(field.attribute, encoded, hint=f"{field.name}_before")
    if field.missing is not None and field.missing() == value:
        # A row that lacks the attribute reads as this very value.
        return condition | attribute_not_exists(field.attribute), (encoded, None)
    return condition, (encoded,)
