"""Recomputing index keys when a write touches a field that they are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.definition.schema import EntitySchema, FieldSchema, IndexKeySchema, KeyAttribute
from tablekit.definition.templates import check_key_size
from tablekit.errors import EncodeError, KeyPartError
from tablekit.expressions.actions import Action, remove_attribute, set_attribute
from tablekit.expressions.conditions import Condition, attribute_not_exists, equals
from tablekit.expressions.values import Value

__all__ = ["IndexChange", "Pin", "Pins", "check_native_keys", "pin", "pin_conditions", "recompute", "touched"]

Pin = tuple[Condition, tuple[AttributeValue | None, ...]]
"""The condition that an attribute is still stored as it was, and the stored values that satisfy it."""

Pins = dict[str, Pin]
"""By the stored name of the attribute."""


class IndexChange:
    """What a write does to one index key.

    Attributes:
        attributes: the key attributes and their values; None for one that is removed.
        relied: fields whose present values the key was made of, though this write does not set them.
    """

    __slots__ = ("attributes", "relied")

    def __init__(self, attributes: Mapping[str, AttributeValue | None], relied: tuple[str, ...]) -> None:
        self.attributes = dict(attributes)
        self.relied = relied

    @property
    def actions(self) -> list[Action]:
        """Setting or removing the key attributes."""
        return [
            remove_attribute(name) if value is None else set_attribute(name, value, hint=name)
            for name, value in self.attributes.items()
        ]


def touched(schema: EntitySchema, changed: Collection[str]) -> list[IndexKeySchema]:
    """The index keys that are made of a changed field and that tablekit writes itself."""
    return [key for key in schema.index_keys.values() if key.written and not set(key.names).isdisjoint(changed)]


def recompute(
    schema: EntitySchema,
    index_key: IndexKeySchema,
    values: Mapping[str, Any],
    changed: Collection[str],
    *,
    verb: str = "update",
    unknown: Collection[str] = (),
) -> IndexChange:
    """The new attributes of an index key after a change.

    Parameters:
        values: the fields as they will be, as far as they are known. changed: the fields that this write sets.
        verb: the word for messages. unknown: changed fields whose new value only DynamoDB will know (``add``,
            arithmetic, a part of a document).

    Raises `KeyPartError` naming what is missing: a key made of half-known parts would lie.
    """
    settled = {name: values[name] for name in changed if name in values and name not in unknown}
    if index_key.excludes(settled):
        # What this write sets takes the row out of the index, whatever the other parts are.
        return IndexChange({key.attribute: None for key in index_key.written}, ())
    missing = [name for name in index_key.names if name not in values or name in unknown]
    if missing:
        raise _unknown_parts(schema, index_key, missing, unknown, verb)
    relied = tuple(name for name in index_key.names if name not in changed and name not in schema.key_fields)
    rendered = index_key.render(values, schema.name)
    if rendered is None:
        return IndexChange({key.attribute: None for key in index_key.written}, relied)
    return IndexChange(rendered, relied)


def _unknown_parts(
    schema: EntitySchema, index_key: IndexKeySchema, missing: list[str], unknown: Collection[str], verb: str
) -> KeyPartError:
    names = ", ".join(missing)
    computed = [name for name in missing if name in unknown]
    if computed:
        remedy = f"{', '.join(computed)} would get a value that only DynamoDB knows; load the entity, set it and save()"
    elif verb == "save":
        remedy = f"the entity was loaded in part; read the whole row with refresh(), or set {names} as well"
    else:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        remedy = (
            f"set {names} in the same update, load the entity and update that, or say what they are stored as with "
            f"composite={{{example}}}, which is asserted in the condition"
        )
    templates = " / ".join(repr(key.template.text) for key in index_key.keys)
    return KeyPartError(
        f"{verb} of {schema.name}: the key of index {index_key.index.name!r} ({templates}) is made of a changed "
        f"field and of {names}, which is not known here, so that it would go stale: {remedy}.",
        entity=schema.name,
        template=templates,
        part=missing[0],
    )


def pin(field: FieldSchema, value: Any) -> Pin:
    """The condition that a field is still stored as `value`, and the stored values that satisfy it."""
    encoded = field.encode(value)
    if encoded is None:
        return attribute_not_exists(field.attribute), (None,)
    condition = equals(field.attribute, Value(encoded, f"{field.name}_before", field.secret))
    if field.missing is not None and field.missing() == value:
        # A row that lacks the attribute reads as this very value.
        return condition | attribute_not_exists(field.attribute), (encoded, None)
    return condition, (encoded,)


def pin_conditions(pins: Pins) -> list[Condition]:
    """The conditions of some pins."""
    return [condition for condition, _ in pins.values()]


# Index keys that are fields of the user's own


def check_native_keys(schema: EntitySchema, item: Mapping[str, AttributeValue | None]) -> None:
    """Refuse values that DynamoDB would refuse in a field that is itself the key of an index.

    Parameters:
        item: stored names and encoded values; None for an attribute that is left out, which is allowed.

    Raises `EncodeError` for an empty text or binary and for NULL, `LimitExceeded` for one that is too long.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
    """
    for name, (key, field, index) in _native_keys(schema).items():
        value = item.get(name)
        if value is None:
            continue
        ((tag, inner),) = value.items()
        if tag == "NULL" or (tag in ("S", "B") and len(inner) == 0):
            state = "None" if tag == "NULL" else "empty"
            raise EncodeError(
                f"{schema.name}.{field.name}: is {state}, and it is a key of index {index!r}, which DynamoDB does not "
                "store so. Give it a value, or make the field optional with default=None: then the row is left out "
                "of the index.",
                entity=schema.name,
                field=field.name,
            )
        check_key_size(value, key.template.role, f"{schema.name}.{field.name}, a key of index {index!r},")


def _native_keys(schema: EntitySchema) -> dict[str, tuple[KeyAttribute, FieldSchema, str]]:
    found: dict[str, tuple[KeyAttribute, FieldSchema, str]] | None = schema.compiled.get("native_index_keys")
    if found is None:
        primary = {key.attribute for key in schema.keys}
        found = schema.compiled["native_index_keys"] = {
            key.attribute: (key, key.field, index_key.index.name)
            for index_key in schema.index_keys.values()
            for key in index_key.keys
            if key.field is not None and not key.written and key.attribute not in primary
        }
    return found


def known_values(schema: EntitySchema, own: Mapping[str, Any]) -> Item:
    """The fields of an entity that have a value: those of a partial one that were not loaded are left out."""
    return {item.name: own[item.name] for item in schema.fields if own.get(item.name, UNSET) is not UNSET}
