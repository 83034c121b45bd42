"""What an update gives back, and what it does to the entity that it went through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.definition.entity import BASE, DIRTY, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, copied
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import DecodeError
from tablekit.operations.plans import decode_result
from tablekit.operations.save import changed_fields

__all__ = ["Returning", "UpdateResult", "merge_fresh"]

Returning = Literal["new", "old", "changed"]
"""What an update gives back: the row after it, the row before it, or the fields that it changed."""


class UpdateResult:
    """Takes the answer of an update.

    Parameters:
        returning: what the caller wants. entity: the loaded entity that the update went through, or None.
        known: the fields that the update set, with their new values. unknown: fields whose new value only DynamoDB
            knows. nested: whether it changed parts of documents. version: the entity's next version. ring: the
            markers that the write left.
    """

    __slots__ = ("entity", "known", "nested", "returning", "ring", "schema", "unknown", "version")

    def __init__(
        self,
        schema: EntitySchema,
        returning: Returning | None,
        *,
        entity: EntityBase | None,
        known: Mapping[str, Any],
        unknown: frozenset[str],
        nested: bool,
        version: int | None,
        ring: AttributeValue | None,
    ) -> None:
        self.schema = schema
        self.returning = returning
        self.entity = entity
        self.known = known
        self.unknown = unknown
        self.nested = nested
        self.version = version
        self.ring = ring

    @property
    def return_values(self) -> str:
        """DynamoDB's word for what is to be returned."""
        if self.returning == "changed":
            # UPDATED_NEW gives only the changed part of a document, which need not be a whole value.
            return "ALL_NEW" if self.nested else "UPDATED_NEW"
        return {"new": "ALL_NEW", "old": "ALL_OLD", None: "NONE"}[self.returning]

    def take(self, body: Mapping[str, Any]) -> Any:
        """The result of an update that was applied; the entity is brought up to date."""
        attributes: Item | None = body.get("Attributes")
        if self.entity is not None:
            self._refresh(self.entity, attributes)
            return self.entity
        if self.returning == "changed":
            return self._changed(attributes or {})
        if self.returning is None or not attributes:
            return None
        return decode_result(self.schema, attributes, "update")

    def _changed(self, attributes: Item) -> dict[str, Any]:
        """The fields that the update changed, managed ones included; removed ones as a read would give them."""
        names = {*self.known, *self.unknown}
        if not self.nested:
            names |= {self.schema.by_attribute[name].name for name in attributes if name in self.schema.by_attribute}
        elif self.schema.version is not None:
            names.add(self.schema.version.name)
        found: dict[str, Any] = {}
        for field in self.schema.fields:
            if field.name in names:
                value = self._value(field, attributes)
                if value is not UNSET:
                    found[field.name] = value
        return found

    def _value(self, field: FieldSchema, attributes: Item) -> Any:
        stored = attributes.get(field.attribute)
        if stored is None:
            return UNSET if field.missing is None else field.missing()
        try:
            return field.codec.decode(stored)
        except Exception as error:
            raise DecodeError(
                f"The update was applied, and {self.schema.name}.{field.name}, which it returned, cannot be read "
                f"({type(error).__name__}).",
                entity=self.schema.name,
                field=field.name,
                attribute=field.attribute,
            ) from None

    def _refresh(self, entity: EntityBase, attributes: Item | None) -> None:
        if attributes:
            merge_fresh(entity, self.schema, decode_result(self.schema, attributes, "update", exact=True))
        else:
            self._assume(entity.__dict__)

    def _assume(self, own: dict[str, Any]) -> None:
        """Bring the entity up to date without the row: a transaction returns none.

        What only DynamoDB knows is taken away, so that touching it says that it is not loaded.
        """
        schema = self.schema
        values = dict(self.known)
        if schema.version is not None and self.version is not None:
            values[schema.version.name] = self.version
        base = dict(zip((field.name for field in schema.mutable), own[BASE]))
        dirty: dict[str, Any] = own.get(DIRTY, {})
        for name, value in values.items():
            field = schema.by_name[name]
            if name in dirty:
                dirty[name] = value
            elif field.codec.copy is None or own.get(name) == base.get(name):
                own[name] = copied(field, value)
            if field.codec.copy is not None:
                base[name] = value
        own[BASE] = tuple(base.values())
        if self.ring is not None:
            own[MARKERS] = self.ring
        if self.unknown:
            for name in self.unknown:
                own.pop(name, None)
                dirty.pop(name, None)
            own[PARTIAL] = frozenset(field.name for field in schema.fields if field.name in own)


def merge_fresh(entity: EntityBase, schema: EntitySchema, fresh: EntityBase) -> None:
    """Bring a loaded entity up to the row's state, and keep its local changes that are not saved."""
    own, new = entity.__dict__, fresh.__dict__
    local = changed_fields(entity, schema) if BASE in own else {}
    journal = {}
    for field in schema.fields:
        if field.name in local:
            journal[field.name] = new.get(field.name, UNSET)
        elif field.name in new:
            own[field.name] = new[field.name]
        else:
            own.pop(field.name, None)
    own[BASE] = new[BASE]
    for name in (EXTRA, STORED_KEY, PARTIAL, MARKERS):
        if name in new:
            own[name] = new[name]
        else:
            own.pop(name, None)
    own.pop(DIRTY, None)
    if journal:
        own[DIRTY] = journal
