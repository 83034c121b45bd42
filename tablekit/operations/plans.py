"""A write that is ready to be sent: the request, what success changes in memory, and what a failure means."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from tablekit._types import UNSET, AttributeValue, Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.entity import BASE, DIRTY, PARTIAL, copied
from tablekit.definition.schema import MARKER, EntitySchema
from tablekit.errors import (
    ConditionFailed,
    DecodeError,
    ItemExists,
    ItemNotFound,
    MissingEntityType,
    StaleEntity,
    TablekitError,
    VersionConflict,
    WrongEntityType,
)
from tablekit.operations.outcome import Evidence, markers_in
from tablekit.wire.items import decoder
from tablekit.wire.requests import Request

__all__ = ["Expectation", "Sent", "WritePlan", "decode_result", "decode_stored", "new_marker", "settle"]


def new_marker() -> str:
    """A random write marker: 8 characters, 48 bits."""
    return secrets.token_urlsafe(6)


class Expectation:
    """What a write's condition asked for, by which its failure is told.

    Attributes:
        verb: the word for messages. creates: the row had to be missing. requires: it had to be there.
        types: the types that the guard let pass; None without a guard. version: the version that was
            checked, or None. pins: for each attribute that the write relied on, the stored values that its
            condition takes, None for absent. condition: whether the caller gave one. untyped: whether the guard
            let a row without a type pass.
    """

    __slots__ = ("condition", "creates", "pins", "requires", "types", "untyped", "verb", "version")

    def __init__(
        self,
        verb: str,
        *,
        creates: bool = False,
        requires: bool = False,
        types: tuple[str, ...] | None = None,
        version: int | None = None,
        pins: Mapping[str, tuple[AttributeValue | None, ...]] | None = None,
        condition: bool = False,
        untyped: bool = False,
    ) -> None:
        self.verb = verb
        self.creates = creates
        self.requires = requires
        self.types = types
        self.version = version
        self.pins = dict(pins or {})
        self.condition = condition
        self.untyped = untyped


class WritePlan:
    """One write, built without touching the entity and without sending anything.

    Attributes:
        request: what is sent. schema: the class. key: the row's key, in DynamoDB JSON.
        expectation: what its condition asked for. apply: called with the answer's body after success; changes
            the entity in memory and gives the call's result. marker: the write marker that is sent. base: the
            markers that were loaded.
        image: the attributes that the write leaves, where they are known. repeatable: whether doing it twice
            leaves what doing it once does. target: the entity or key as the caller gave it.
        needs_attributes: whether the result is made of the answer's attributes. needs_old: whether they are
            those of the row that the write replaced. once: send it as a transaction of one action, whose token
            makes DynamoDB apply it once however often it is sent. parents: maps and lists that the row must have
            for the update's paths, as the caller named them.
    """

    __slots__ = (
        "apply",
        "base",
        "deletes",
        "expectation",
        "image",
        "key",
        "marker",
        "needs_attributes",
        "needs_old",
        "once",
        "parents",
        "repeatable",
        "request",
        "schema",
        "target",
        "whole",
    )

    def __init__(
        self,
        request: Request,
        schema: EntitySchema,
        key: Item,
        expectation: Expectation,
        apply: Callable[[Mapping[str, Any]], Any],
        *,
        marker: str | None = None,
        base: AttributeValue | None = None,
        image: Item | None = None,
        whole: bool = False,
        deletes: bool = False,
        repeatable: bool = True,
        needs_attributes: bool = False,
        needs_old: bool = False,
        once: bool = False,
        parents: tuple[str, ...] = (),
        target: Any = None,
    ) -> None:
        self.request = request
        self.schema = schema
        self.key = key
        self.expectation = expectation
        self.apply = apply
        self.marker = marker
        self.base = base
        self.image = image
        self.whole = whole
        self.deletes = deletes
        self.repeatable = repeatable
        self.needs_attributes = needs_attributes
        self.needs_old = needs_old
        self.once = once
        self.parents = parents
        self.target = target

    def evidence(self, item: Item | None) -> Evidence:
        """What there is to decide the outcome of this write by, after its condition failed."""
        version = self.schema.version
        return Evidence(
            deletes=self.deletes,
            item=item,
            image=self.image,
            whole=self.whole,
            marker=self.marker,
            base_marker=next(iter(markers_in(self.base)), None),
            marker_attribute=MARKER,
            version_attribute=None if version is None else version.attribute,
            expected_version=self.expectation.version,
        )

    def explain(self, item: Item | None) -> TablekitError:
        """The named failure of a condition, told by the row that DynamoDB sent with it."""
        expected = self.expectation
        if item is None:
            return self._explain_missing()
        if expected.creates:
            return self._exists(item)
        wrong = self._wrong_type(item)
        if wrong is not None:
            return wrong
        conflict = self._conflict(item)
        if conflict is not None:
            return conflict
        stale = self._stale(item)
        if stale is not None:
            return stale
        return self._failure(ConditionFailed, item, "the condition did not hold", "read .stored and decide")

    def _explain_missing(self) -> TablekitError:
        expected = self.expectation
        if expected.creates and not expected.condition:
            return self._exists(None)
        if expected.requires:
            pk, sk = self.schema.registry.plain_key(self.key)
            return ItemNotFound(
                f"{expected.verb} of {self.where}: there is no row under the key. {self.schema.creating}"
                + (", or say upsert=True." if expected.verb == "update" else "."),
                entity=self.schema.name,
                pk=pk,
                sk=sk,
            )
        if expected.version is not None:
            return self._version_conflict(None, None)
        return self._failure(ConditionFailed, None, "the condition did not hold, and there is no row", "")

    def _exists(self, item: Item | None) -> ConditionFailed:
        remedy = "use put() or update()"
        if self.schema.version is not None:
            remedy = "get() it and save() the change, or use update()"
        if self.expectation.verb == "put":
            remedy = "an entity that was not loaded would reset its version: get() it first, or change it by update()"
        return self._failure(ItemExists, item, "there is a row under the key already", remedy)

    def _wrong_type(self, item: Item) -> TablekitError | None:
        types = self.expectation.types
        if types is None:
            return None
        registry = self.schema.registry
        pk, sk = registry.plain_key(self.key)
        stored = item.get(registry.type_attribute)
        if stored is None:
            if self.expectation.untyped:
                return None
            return MissingEntityType(
                f"{self.expectation.verb} of {self.where}: the row has no {registry.type_attribute}, and its class "
                "cannot be told by its key. Give the table untyped='infer', run the backfill, or switch the guard off "
                "for this call with guard=False.",
                pk=pk,
                sk=sk,
            )
        found = stored.get("S")
        if found in types:
            return None
        return WrongEntityType(
            f"{self.expectation.verb} of {self.where}: the row is a {found!r}, not a {self.schema.type!r}. "
            f"Nothing was changed.{self._narrowed(found)}",
            expected=types,
            found=found,
            pk=pk,
            sk=sk,
        )

    def _narrowed(self, found: str | None) -> str:
        """Why a subclass's row was not taken, where others are."""
        if found not in self.schema.types or found in self.schema.own_types:
            return ""
        return f" {found} keeps more than {self.schema.name} does of what this write changes; write it through {found}."

    def _conflict(self, item: Item) -> TablekitError | None:
        version = self.schema.version
        if version is None or self.expectation.version is None:
            return None
        if version.attribute not in item:
            # A row that has no version yet was loaded as 0.
            return None if self.expectation.version == 0 else self._version_conflict(item, None)
        found: int | None = None
        # Other writers may have left what is no whole number: then the version is not the one that was loaded.
        with contextlib.suppress(Exception):
            found = version.codec.decode(item[version.attribute])
        return None if found == self.expectation.version else self._version_conflict(item, found)

    def _version_conflict(self, item: Item | None, found: int | None) -> VersionConflict:
        state = "the row is gone" if item is None else f"its version is {found}"
        error = self._failure(
            VersionConflict,
            item,
            f"another writer was first: version {self.expectation.version} was expected and {state}",
            "read the row again (.stored), apply the change to it and write once more",
        )
        assert isinstance(error, VersionConflict)
        error.expected = self.expectation.version
        error.found = found
        return error

    def _stale(self, item: Item) -> TablekitError | None:
        moved: list[str] = []
        for attribute, allowed in self.expectation.pins.items():
            if not any(equal_wire(item.get(attribute), value) for value in allowed):
                owner = self.schema.by_attribute.get(attribute)
                moved.append(attribute if owner is None else owner.name)
        if not moved:
            return None
        error = self._failure(
            StaleEntity,
            item,
            f"{', '.join(moved)} is not stored as this write relied on: another writer changed it",
            "read the row again and repeat the change",
        )
        assert isinstance(error, StaleEntity)
        error.fields = tuple(moved)
        return error

    def _failure(self, kind: type[ConditionFailed], item: Item | None, reason: str, remedy: str) -> ConditionFailed:
        pk, sk = self.schema.registry.plain_key(self.key)
        end = f"; {remedy}." if remedy else "."
        return kind(
            f"{self.expectation.verb} of {self.where}: {reason}{end}",
            entity=self.schema.name,
            pk=pk,
            sk=sk,
            item=item,
            stored=decode_stored(self.schema, item),
        )

    @property
    def where(self) -> str:
        """The row, for a message."""
        return f"{self.schema.name} {self.schema.registry.show_key(self.key)}"


def decode_stored(schema: EntitySchema, item: Item | None) -> Any:
    """The stored row as the class of its own type, or None when there is none or it does not decode.

    It serves the errors that carry the row; nothing that goes wrong here may hide them.
    """
    if item is None:
        return None
    registry = schema.registry
    stored = item.get(registry.type_attribute)
    try:
        found = registry.by_type.get(stored.get("S", "")) if stored is not None else registry.infer(item)
        return None if found is None else decoder(found)(item)
    except Exception:
        return None


def decode_result(schema: EntitySchema, item: Item, verb: str, *, exact: bool = False) -> Any:
    """The row that a write returned, as the class of its own type.

    Parameters:
        exact: as this very class, whatever the row says (without the guard it may be another's).

    Raises `DecodeError`, which says that the write itself was applied.
    """
    registry = schema.registry
    stored = item.get(registry.type_attribute, {}).get("S")
    # A row that was untyped before this write, or of a type nobody registered (guard=False), was taken for this class.
    found = schema if exact or stored is None else registry.by_type.get(stored, schema)
    try:
        return decoder(found)(item)
    except DecodeError as error:
        error.message = f"The {verb} was applied, and the row that it returned cannot be read. {error.message}"
        error.args = (error.message,)
        raise


class Sent:
    """The values that a write sends, kept while it is on its way: user code may change the entity meanwhile.

    Attributes:
        values: field name to value, the managed fields included. base: copies of the mutable ones.
    """

    __slots__ = ("base", "values")

    def __init__(self, schema: EntitySchema, values: Mapping[str, Any]) -> None:
        self.values = values
        self.base = tuple(copied(field, values.get(field.name)) for field in schema.mutable)


def settle(schema: EntitySchema, own: dict[str, Any], sent: Sent, managed: Mapping[str, Any]) -> None:
    """Make the values that were sent the loaded ones, after a write that left the row with them.

    A field that was set again since the request was built stays a change that is not saved.
    """
    values = sent.values
    own.update(managed)
    own[BASE] = sent.base
    later = {
        field.name: values.get(field.name, UNSET)
        for field in schema.fields
        if own.get(field.name, UNSET) is not values.get(field.name, UNSET)
    }
    if later:
        own[DIRTY] = later
    else:
        own.pop(DIRTY, None)
    if PARTIAL in own:
        own[PARTIAL] = frozenset(field.name for field in schema.fields if field.name in values)
