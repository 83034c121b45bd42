"""From rows to entities: each row goes to the class of its type, and none is dropped unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal, Union

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition, UnknownPolicy, UntypedPolicy
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, DecodeError, MissingEntityType, WrongEntityType
from tablekit.wire.items import decode_partial, decoder
from tablekit.wire.shape import is_key, misshapen

__all__ = [
    "INTERNAL",
    "Acceptor",
    "BadRows",
    "Counts",
    "Dispatcher",
    "RawItem",
    "Report",
    "decode_as",
    "is_expired",
    "sound_key",
    "untyped_error",
]

INTERNAL = "tablekit:"
"""How the types of tablekit's own rows begin: guards of unique values, operations of counters."""

UNTYPED = "(untyped)"
"""The name under which rows without a type are counted."""

Handle = Callable[[type[Any], Item], Any]

_NOTHING: Mapping[str, Any] = {}

Report = Callable[[DataError], object]
"""What is told of each row that cannot be read: its error, which has entity, attribute and key."""

BadRows = Union[Literal["raise", "skip"], Report]
"""What happens to a row of a known class that its fields cannot read: an error, or it is left out and counted; a
function is told the error of each that is left out."""


class RawItem(dict[str, Any]):
    """A row that is no entity: its attributes in DynamoDB JSON, as they are stored.

    ``B`` and ``BS`` hold bytes. `query.raw()` gives rows of unknown type, rows without a type, and rows that cannot be
    read as their class, so.
    """

    __slots__ = ()


@attrs.define
class Counts:
    """Rows by type.

    Attributes:
        returned: handed out. discarded: of a type that was not asked for, out of the range, or expired.
        skipped: left out by a policy.
    """

    returned: Counter[str] = attrs.Factory(Counter[str])
    discarded: Counter[str] = attrs.Factory(Counter[str])
    skipped: Counter[str] = attrs.Factory(Counter[str])


class Acceptor:
    """Whether a row's sort key lies in the range that is asked for of its class.

    Parameters:
        attribute: the sort key's attribute. prefixes: the classes whose range is all that begins with a text.
        careful: the test for every other class and row.
    """

    __slots__ = ("attribute", "careful", "prefixes")

    def __init__(
        self,
        attribute: str,
        prefixes: Mapping[EntitySchema, str],
        careful: Callable[[EntitySchema | None, Item], bool],
    ) -> None:
        self.attribute = attribute
        self.prefixes = prefixes
        self.careful = careful

    def __call__(self, schema: EntitySchema | None, item: Item) -> bool:
        prefix = None if schema is None else self.prefixes.get(schema)
        if prefix is None or self.attribute not in item:
            return self.careful(schema, item)
        stored = item[self.attribute].get("S")
        return stored is not None and stored.startswith(prefix)


class Dispatcher:
    """Hands each row of one query to the class of its type.

    Parameters:
        registry: the table. schemas: the classes that were asked for; None for whatever is there.
        unknown, untyped: what happens to a row whose type nobody registered, and to one without a type.
        undecodable: what happens to a row that its class cannot read.
        raw: give such rows, and rows that do not decode, as `RawItem`. attributes: the attributes that a projection
            or an index brings, which makes the entities partial; None for whole rows.
        accept: a further test of a row by the sort key, given the class; for ranges whose neighbours come along.
        judge: a further test of a row whose class was inferred. handle: makes a key handle, in place of entities.
        sole: the only class that the rows can be of, where they bring no type.
        now: the time by which expired rows of classes that hide them are left out. counts: where to count.

    Attributes:
        first: which of the last rows became the first entity, when there was one.
    """

    def __init__(
        self,
        registry: TableDefinition,
        schemas: Sequence[EntitySchema] | None,
        *,
        unknown: UnknownPolicy = "raise",
        untyped: UntypedPolicy = "raise",
        undecodable: BadRows = "raise",
        raw: bool = False,
        attributes: frozenset[str] | None = None,
        accept: Acceptor | None = None,
        judge: Callable[[EntitySchema, Item], bool] | None = None,
        handle: Handle | None = None,
        sole: EntitySchema | None = None,
        now: Callable[[], datetime] | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.registry = registry
        self.named = schemas is not None
        self.unknown = unknown
        self.untyped = untyped
        self.undecodable = undecodable
        self.raw = raw
        self.attributes = attributes
        self.accept = accept
        self.counts = counts if counts is not None else Counts()
        self.first = 0
        self._judge = judge
        self._handle = handle
        self._sole = sole
        self._wanted = _by_type(schemas) if schemas is not None else _entities(registry)
        self._decoders = {name: self._decoder(schema) for name, schema in self._wanted.items()}
        self._hides = now is not None and any(hides_expired(schema) for schema in self._wanted.values())
        self._now = now
        checks = self._hides or accept is not None
        self._readers = {name: self._checked(name) for name in self._wanted} if checks else self._decoders

    def _decoder(self, schema: EntitySchema) -> Callable[[Item], Any]:
        handle, attributes, entity = self._handle, self.attributes, schema.entity
        if handle is not None:
            return lambda item: handle(entity, item)
        decode = decoder(schema)
        if attributes is not None:
            # Partial even when every field is held: undeclared attributes are not, and a put would erase them.
            decode = partial(decode_partial, schema, attributes=attributes)
        if self.raw or self.undecodable != "raise":
            # A wrapper only where it is asked for: the way of most rows stays as short as it is.
            return partial(self._or_left, decode, schema.type)
        return decode

    def _or_left(self, decode: Callable[[Item], Any], name: str, item: Item) -> Any:
        """The entity of a row; where it cannot be read it is told, and is a raw row, or is left out and counted."""
        try:
            return decode(item)
        except DecodeError as error:
            if callable(self.undecodable):
                self.undecodable(error)
        if self.raw:
            return RawItem(item)
        self.counts.skipped[name] += 1
        return None

    def _checked(self, name: str) -> Callable[[Item], Any]:
        """What decodes a row of a type that was asked for, and gives None for one that is left out."""
        schema, decode, accept = self._wanted[name], self._decoders[name], self.accept
        prefix = None if accept is None or self._hides else accept.prefixes.get(schema)
        if accept is None or not prefix:
            return lambda item: None if self._drops(schema, item, name) else decode(item)
        attribute, begins = accept.attribute, prefix

        def read(item: Item) -> Any:
            # Most rows begin as they should.
            if item.get(attribute, _NOTHING).get("S", "").startswith(begins) or not self._drops(schema, item, name):
                return decode(item)
            return None

        return read

    def entities(self, items: Sequence[Item], limit: int | None = None) -> tuple[list[Any], int, DataError | None]:
        """The entities of some rows, in order.

        Parameters:
            limit: stop after so many entities.

        Returns the entities, how many rows were gone through, and the error that the next row ended it with: it
        belongs after the entities before it have been handed out.
        """
        found: list[Any] = []
        types: list[str] = []
        position, name, error = 0, "", None
        readers, attribute = self._readers, self.registry.type_attribute
        for item in items:
            try:
                name = item[attribute]["S"]
                read = readers[name]
            except (KeyError, TypeError):
                # Told below: an error that is raised here would drag this one along.
                read = None
            try:
                if read is None:
                    name, entity = self._exception(item)
                else:
                    entity = read(item)
            except DataError as problem:
                error = problem
                break
            except Exception:
                # Hooks and codecs of the user raise what they like; a row that is none of DynamoDB's explains the rest.
                error = _misshapen_error(self.registry, item)
                if error is None:
                    raise
                break
            position += 1
            if entity is not None:
                if not found:
                    self.first = position - 1
                found.append(entity)
                types.append(name)
                if limit is not None and len(found) >= limit:
                    break
        self.counts.returned.update(types)
        return found, position, error

    def _drops(self, schema: EntitySchema, item: Item, name: str) -> bool:
        """Whether a row of a class asked for lies out of the range, or is expired; then it is counted."""
        outside = self.accept is not None and not self.accept(schema, item)
        if outside or (self._hides and self._now is not None and row_is_expired(schema, item, self._now())):
            self.counts.discarded[name] += 1
            return True
        return False

    def _exception(self, item: Item) -> tuple[str, Any]:
        """A row whose type was not asked for, is unknown, or is missing: its type, and an entity, a raw row or None."""
        stored = item.get(self.registry.type_attribute)
        if stored is not None and not isinstance(stored, Mapping):
            raise _shape_error(self.registry, item, self.registry.type_attribute)
        if stored is None or "S" not in stored:
            return UNTYPED, self._untyped(item)
        name: str = stored["S"]
        if not isinstance(name, str):
            raise _shape_error(self.registry, item, self.registry.type_attribute)
        if self.named:
            # The query asked for its classes; other types are dropped alike, whichever request was chosen.
            self.counts.discarded[name] += 1
            return name, None
        if self.raw:
            return name, RawItem(item)
        if name.startswith(INTERNAL) or name in self.registry.by_type:
            # A row of tablekit's own, or of a counter, is no entity; it is counted and left out.
            self.counts.discarded[name] += 1
            return name, None
        if self.unknown == "skip":
            self.counts.skipped[name] += 1
            return name, None
        raise self.registry.unknown_type(name, item)

    def _untyped(self, item: Item) -> Any:
        if self._sole is not None:
            return None if self._drops(self._sole, item, self._sole.type) else self._decoders[self._sole.type](item)
        if self.untyped == "infer":
            schema = self.registry.infer(item)
            if schema is not None:
                return self._inferred(schema, item)
        if self.accept is not None and not self.accept(None, item):
            self.counts.discarded[UNTYPED] += 1
            return None
        if self.raw:
            return RawItem(item)
        if self.untyped == "skip":
            self.counts.skipped[UNTYPED] += 1
            return None
        raise untyped_error(self.registry, item, inferring=self.untyped == "infer")

    def _inferred(self, schema: EntitySchema, item: Item) -> Any:
        wanted = self._wanted.get(schema.type) is schema and (self._judge is None or self._judge(schema, item))
        if not wanted:
            self.counts.discarded[UNTYPED] += 1
            return None
        return None if self._drops(schema, item, UNTYPED) else self._decoders[schema.type](item)


def hides_expired(schema: EntitySchema) -> bool:
    """Whether a class hides its expired rows."""
    return schema.ttl is not None and schema.ttl.hide_expired


def row_is_expired(schema: EntitySchema, item: Item, now: datetime) -> bool:
    """Whether a row's time has come and its class hides expired rows.

    A row expires at its second: ``expires_at <= now`` is hidden. One whose time cannot be read is not hidden;
    decoding it says what is wrong.
    """
    if schema.ttl is None or not schema.ttl.hide_expired:
        return False
    stored = item.get(schema.ttl.attribute)
    if stored is None:
        return False
    try:
        moment = schema.ttl.codec.decode(stored)
    except Exception:
        return False
    return isinstance(moment, datetime) and moment <= now


def is_expired(entity: Any, now: datetime) -> bool:
    """Whether an entity's time has come and its class hides expired rows; as `row_is_expired`."""
    schema: EntitySchema | None = getattr(entity, "__schema__", None)
    if schema is None or schema.ttl is None or not schema.ttl.hide_expired:
        return False
    moment = entity.__dict__.get(schema.ttl.name)
    return moment is not None and moment <= now


def _entities(registry: TableDefinition) -> dict[str, EntitySchema]:
    return {name: schema for name, schema in registry.by_type.items() if not schema.internal}


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


def sound_key(registry: TableDefinition, key: Mapping[str, Any]) -> Item:
    """A key that came with a row, to be sent back or compared. Raises `DecodeError` where it cannot be a key."""
    if is_key(key):
        return dict(key)
    wrong = next((name for name, value in key.items() if not is_key({name: value})), registry.pk)
    raise _shape_error(registry, key, wrong)


def _misshapen_error(registry: TableDefinition, item: Item) -> DecodeError | None:
    """The error for a row that does not have DynamoDB's shape, which a broken proxy or engine sends; else None."""
    # A missing key is as wrong as one that is no attribute value.
    attribute = misshapen({**dict.fromkeys(registry.key_names), **item})
    return None if attribute is None else _shape_error(registry, item, attribute)


def _shape_error(registry: TableDefinition, item: Mapping[str, Any], attribute: str) -> DecodeError:
    pk, sk = registry.plain_key(item)
    return DecodeError(
        f"The row {registry.show_key(item)} of table {registry.label!r} does not have DynamoDB's shape: its "
        f"{attribute!r} is no attribute value there, such as {{'S': 'text'}}. Look for a proxy or a wrong endpoint_url "
        "between here and DynamoDB.",
        attribute=attribute,
        pk=pk,
        sk=sk,
    )


def decode_as(schema: EntitySchema, item: Item, attributes: frozenset[str] | None = None) -> Any:
    """The entity of a row that was asked for by key through one class.

    Raises `WrongEntityType` for a sibling's row, and `MissingEntityType` for an untyped one unless the table
    infers types and the key fits this class; `DecodeError`.
    """
    try:
        return _decode_as(schema, item, attributes)
    except DataError:
        raise
    except Exception:
        error = _misshapen_error(schema.registry, item)
        if error is None:
            raise
    raise error


def _decode_as(schema: EntitySchema, item: Item, attributes: frozenset[str] | None) -> Any:
    registry = schema.registry
    stored = item.get(registry.type_attribute)
    if stored is None:
        found = registry.infer(item) if registry.untyped == "infer" else None
        if found is None:
            raise untyped_error(registry, item, inferring=registry.untyped == "infer")
    else:
        found = registry.by_type.get(stored.get("S", ""))
    if found is None or not issubclass(found.entity, schema.entity):
        raise _wrong_type(schema, item, found.type if stored is None and found is not None else _plain(stored))
    if attributes is None:
        return decoder(found)(item)
    return decode_partial(found, item, attributes)


def _plain(stored: Any) -> str | None:
    return None if stored is None else stored.get("S")


def _wrong_type(schema: EntitySchema, item: Item, found: str | None) -> WrongEntityType:
    registry = schema.registry
    pk, sk = registry.plain_key(item)
    hint = ""
    if found in schema.types:
        hint = f" A class of the same module and name, made later, has taken the place of this {schema.name}: use that."
    elif found is not None and any(found.lower() == name.lower() for name in schema.types):
        hint = f" They differ only in case; if they are the same, add aliases=({found!r},) to the class."
    return WrongEntityType(
        f"The row {registry.show_key(item)} of table {registry.label!r} is a {found!r}, and was read as "
        f"{schema.name} ({', '.join(schema.types)}).{hint} app.get(pk=..., sk=...) gives the row as what it is.",
        expected=schema.types,
        found=found,
        pk=pk,
        sk=sk,
    )
