"""Unique values: which rows guard them, and under which keys.

DynamoDB keeps one thing unique, the primary key. A unique value is therefore a row of its own, the *guard*, whose
key is made of the value and which names the row that owns it. It is written in one transaction with that row.
https://aws.amazon.com/blogs/database/simulating-amazon-dynamodb-unique-constraints-using-transactions/
"""

from __future__ import annotations

import base64
import decimal
import hashlib
from collections.abc import Mapping, Sequence

from tablekit._types import AttributeValue, Item
from tablekit.codecs.numbers import read_decimal
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema, UniqueSchema
from tablekit.errors import DefinitionError

__all__ = [
    "GUARD_TYPE",
    "OWNER",
    "check_unique",
    "guard_keys",
    "guarded_fields",
    "has_uniques",
    "owner_of",
    "unique_scope",
    "values_of",
]

GUARD_TYPE = "tablekit:unique"
"""The type of a guard row. It is no entity's: reads of entities leave such rows out."""

OWNER = "_owner"
"""The attribute of a guard row that holds the primary key of the row whose value it guards."""

_SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})
# A partition key takes 2048 bytes and a sort key 1024; the type and the names stand in the key as well.
_LONGEST_VALUE = 800
# The thread's own context may round; a number has at most 38 digits.
_EXACT = decimal.Context(prec=50, Emin=-999999, Emax=999999, traps=[decimal.Inexact])


def check_unique(owner: str, registry: TableDefinition, fields: Sequence[FieldSchema], name: str) -> None:
    """Refuse a unique value that no guard row can keep. Raises `DefinitionError` with the remedy."""
    for attribute in registry.key_names:
        tag = registry.key_type(attribute)
        if tag != "S":
            raise DefinitionError(
                f"{owner}.{name} is unique, and the key attribute {attribute!r} of table {registry.label!r} is of type "
                f"{tag}: the guard row of a unique value needs text keys. Write the key as text in the template "
                "('USER#{user_id:d}'), or keep the value unique as the key of an entity in another table.",
                owner=owner,
                field=name,
            )
    for field in fields:
        if not field.codec.tags or not field.codec.tags <= _SCALARS:
            raise DefinitionError(
                f"{owner}.{field.name} is unique and holds {field.codec.name}. A unique value is a scalar: text, a "
                "number, bytes, a date, an enum. For several fields together use unique('a', 'b').",
                owner=owner,
                field=field.name,
            )


def has_uniques(schema: EntitySchema) -> bool:
    """Whether rows that are reached through a class may have unique values: its own, or a subclass's."""
    return bool(schema.uniques) or any(subclass.uniques for subclass in schema.subclasses)


def guarded_fields(schema: EntitySchema) -> tuple[FieldSchema, ...]:
    """The fields on which guard rows depend: those of unique values, and the one by which rows expire."""
    found = {field.name: field for unique in schema.uniques for field in unique.fields}
    if found and schema.ttl is not None:
        found[schema.ttl.name] = schema.ttl
    return tuple(found.values())


def unique_scope(schema: EntitySchema, unique: UniqueSchema) -> EntitySchema:
    """The class among whose rows a value is unique: the outermost registered base that declares it."""
    found = schema
    for base in schema.entity.__mro__:
        other: EntitySchema | None = base.__dict__.get("__schema__")
        if other is not None and any(each.name == unique.name for each in other.uniques):
            found = other
    return found


def values_of(unique: UniqueSchema, values: Mapping[str, AttributeValue | None]) -> tuple[AttributeValue, ...] | None:
    """The attribute values that are unique together; None when one of them is missing or NULL, as in SQL."""
    found: list[AttributeValue] = []
    for field in unique.fields:
        value = values.get(field.name)
        if value is None or "NULL" in value:
            return None
        found.append(value)
    return tuple(found)


def guard_keys(schema: EntitySchema, unique: UniqueSchema, values: Sequence[AttributeValue]) -> list[Item]:
    """The keys of the guard rows of one value: under the stored type first, then under each alias.

    ``PK="UNIQUE#User#email#S=a@example.org"``, and ``SK="UNIQUE"`` where the table has a sort key. Two values
    never give one key: names and values are escaped. A long or secret value stands as its digest.
    """
    registry: TableDefinition = schema.registry
    separator = _separator(registry)
    rendered = separator.join(_escape(_text(value), separator) for value in values)
    if len(rendered.encode("utf-8", "surrogatepass")) > _LONGEST_VALUE or any(field.secret for field in unique.fields):
        rendered = "sha256=" + hashlib.sha256(rendered.encode("utf-8", "surrogatepass")).hexdigest()
    keys: list[Item] = []
    for name in unique_scope(schema, unique).own_types:
        text = separator.join(("UNIQUE", _escape(name, separator), _escape(unique.name, separator), rendered))
        key: Item = {registry.pk: {"S": text}}
        if registry.sk is not None:
            key[registry.sk] = {"S": "UNIQUE"}
        keys.append(key)
    return keys


def owner_of(item: Item | None) -> Item | None:
    """The key of the row that a guard row names; None for a row that is no guard."""
    owner: Item | None = (item or {}).get(OWNER, {}).get("M")
    return owner


def _separator(registry: TableDefinition) -> str:
    given = registry.separator or ""
    # It must be told from what stands in names and in escapes.
    return given if len(given) == 1 and given.isascii() and not given.isalnum() and given not in "%=" else "#"


def _escape(text: str, separator: str) -> str:
    return text.replace("%", "%25").replace(separator, f"%{ord(separator):02X}")


def _text(value: AttributeValue) -> str:
    ((tag, inner),) = value.items()
    if tag == "N":
        # 1, 1.0 and 1E0 are one number to DynamoDB.
        return f"N={read_decimal(inner).normalize(_EXACT)}"
    if tag == "B":
        return f"B={base64.urlsafe_b64encode(bytes(inner)).decode()}"
    return f"{tag}={inner}"
