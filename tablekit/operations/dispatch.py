"""From rows to entities: each row goes to the class of its type, and none is dropped unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition, UnknownPolicy, UntypedPolicy
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, MissingEntityType, WrongEntityType
from tablekit.wire.items import decode_partial, decoder

__all__ = ["Dispatcher", "RawItem", "decode_as"]

UNTYPED = "(untyped)"
"""The name under which rows without a type are counted."""


class RawItem(dict[str, Any]):
    """A row that is no entity: its attributes in DynamoDB JSON, as they are stored.

    ``B`` and ``BS`` hold bytes. `query.raw()` gives rows of unknown type, and rows without a type, so.
    """

    __slots__ = ()


class Dispatcher:
    """Hands each row of one query to the class of its type.

    Parameters:
        registry: the table. schemas: the classes that were asked for; None for whatever is there.
        unknown, untyped: what happens to a row whose type nobody registered, and to one without a type.
        raw: give such rows as `RawItem` in place of either. attributes: the attributes that a projection or an
            index brings, which makes the entities partial; None for whole rows.
        accept: a further test of a row by the sort key, given the class; for ranges whose neighbours come along.
        now: the time by which expired rows of classes that hide them are left out.

    Attributes:
        returned, discarded, skipped: rows by type: handed out, of a type that was not asked for (or out of
            the range), and left out by a policy.
    """

    def __init__(
        self,
        registry: TableDefinition,
        schemas: Sequence[EntitySchema] | None,
        *,
        unknown: UnknownPolicy = "raise",
        untyped: UntypedPolicy = "raise",
        raw: bool = False,
        attributes: frozenset[str] | None = None,
        accept: Callable[[EntitySchema | None, Item], bool] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.registry = registry
        self.named = schemas is not None
        self.unknown = unknown
        self.untyped = untyped
        self.raw = raw
        self.attributes = attributes
        self.accept = accept
        self.returned: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._wanted = _by_type(schemas) if schemas is not None else registry.by_type
        self._decoders = {name: self._decoder(schema) for name, schema in self._wanted.items()}
        self._hides = now is not None and any(hides_expired(schema) for schema in self._wanted.values())
        self._now = now

    def _decoder(self, schema: EntitySchema) -> Callable[[Item], Any]:
        attributes = self.attributes
        if attributes is None or all(field.attribute in attributes for field in schema.fields):
            return decoder(schema)
        return lambda item: decode_partial(schema, item, attributes)

    def entities(self, items: Sequence[Item], limit: int | None = None) -> tuple[list[Any], int, DataError | None]:
        """The entities of some rows, in order.

        Parameters:
            limit: stop after so many entities.

        Returns the entities, how many rows were gone through, and the error that ended it early: it belongs
        after the entities before it have been handed out.
        """
        found: list[Any] = []
        decoders, attribute = self._decoders, self.registry.type_attribute
        types: list[str] = []
        position = 0
        try:
            for position, item in enumerate(items, 1):
                try:
                    name = item[attribute]["S"]
                    decode = decoders[name]
                except KeyError:
                    entity = self._exception(item)
                    if entity is None:
                        continue
                    name = getattr(entity, "entity_type", UNTYPED)
                else:
                    if self.accept is not None and not self.accept(self._wanted[name], item):
                        self.discarded[name] += 1
                        continue
                    entity = decode(item)
                if self._hides and self._now is not None and is_expired(entity, self._now()):
                    self.discarded[name] += 1
                    continue
                found.append(entity)
                types.append(name)
                if limit is not None and len(found) >= limit:
                    break
        except DataError as error:
            return self._done(found, types), position, error
        return self._done(found, types), position, None

    def _done(self, found: list[Any], types: list[str]) -> list[Any]:
        self.returned.update(types)
        return found

    def _exception(self, item: Item) -> Any:
        """A row whose type was not asked for, is unknown, or is missing: an entity, a raw row, or None."""
        stored = item.get(self.registry.type_attribute)
        if stored is None or "S" not in stored:
            return self._untyped(item)
        name = stored["S"]
        if self.named:
            # The query asked for its classes; other types are dropped alike, whichever request was chosen.
            self.discarded[name] += 1
            return None
        if self.raw:
            return RawItem(item)
        if self.unknown == "skip":
            self.skipped[name] += 1
            return None
        raise self.registry.unknown_type(name, item)

    def _untyped(self, item: Item) -> Any:
        if self.untyped == "infer":
            schema = self.registry.infer(item)
            if schema is not None:
                return self._inferred(schema, item)
        if self.accept is not None and not self.accept(None, item):
            self.discarded[UNTYPED] += 1
            return None
        if self.raw:
            return RawItem(item)
        if self.untyped == "skip":
            self.skipped[UNTYPED] += 1
            return None
        raise untyped_error(self.registry, item, inferring=self.untyped == "infer")

    def _inferred(self, schema: EntitySchema, item: Item) -> Any:
        wanted = self._wanted.get(schema.type)
        if wanted is not schema or (self.accept is not None and not self.accept(schema, item)):
            self.discarded[UNTYPED] += 1
            return None
        return self._decoders[schema.type](item)


def hides_expired(schema: EntitySchema) -> bool:
    """Whether a class hides its expired rows."""
    return schema.ttl is not None and schema.ttl.hide_expired


def is_expired(entity: Any, now: datetime) -> bool:
    """Whether an entity's time has come and its class hides expired rows.

    A row expires at its second: ``expires_at <= now`` is hidden.
    """
    schema: EntitySchema | None = getattr(type(entity), "__schema__", None)
    if schema is None or schema.ttl is None or not schema.ttl.hide_expired:
        return False
    moment = entity.__dict__.get(schema.ttl.name)
    return moment is not None and moment <= now


def _by_type(schemas: Iterable[EntitySchema]) -> dict[str, EntitySchema]:
    found: dict[str, EntitySchema] = {}
    for schema in schemas:
        for each in (schema, *schema.subclasses):
            for name in each.own_types:
                found.setdefault(name, each)
    return found


def untyped_error(registry: TableDefinition, item: Item, *, inferring: bool = False) -> MissingEntityType:
    """The error for a row without a type."""
    pk, sk = registry.plain_key(item)
    reason = " and its key fits no class, or several" if inferring else ""
    return MissingEntityType(
        f"The row {registry.show_key(item)} of table {registry.label!r} has no {registry.type_attribute}{reason}. "
        "Stamp old rows with the backfill, let their class be told by their key with untyped='infer', or leave them "
        "out with untyped='skip'.",
        pk=pk,
        sk=sk,
    )


def decode_as(schema: EntitySchema, item: Item, attributes: frozenset[str] | None = None) -> Any:
    """The entity of a row that was asked for by key through one class.

    Raises `WrongEntityType` for a sibling's row, and `MissingEntityType` for an untyped one unless the table
    infers types and the key fits this class.
    """
    registry = schema.registry
    stored = item.get(registry.type_attribute)
    if stored is None:
        found = registry.infer(item) if registry.untyped == "infer" else None
        if found is None:
            raise untyped_error(registry, item, inferring=registry.untyped == "infer")
    else:
        found = registry.by_type.get(stored.get("S", ""))
    if found is None or not issubclass(found.entity, schema.entity):
        raise _wrong_type(schema, item, None if stored is None else stored.get("S"))
    if attributes is None or all(field.attribute in attributes for field in found.fields):
        return decoder(found)(item)
    return decode_partial(found, item, attributes)


def _wrong_type(schema: EntitySchema, item: Item, found: str | None) -> WrongEntityType:
    registry = schema.registry
    pk, sk = registry.plain_key(item)
    hint = ""
    if found is not None and any(found.lower() == name.lower() for name in schema.types):
        hint = f" They differ only in case; if they are the same, add aliases=({found!r},) to the class."
    return WrongEntityType(
        f"The row {registry.show_key(item)} of table {registry.label!r} is a {found!r}, and was read as "
        f"{schema.name} ({', '.join(schema.types)}).{hint} app.get(pk=..., sk=...) gives the row as what it is.",
        expected=schema.types,
        found=found,
        pk=pk,
        sk=sk,
    )
