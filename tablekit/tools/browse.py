"""A page of a table as a person looks at it: rows lined up under their type, and the request behind them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.api.query import Query
from tablekit.api.table import Table
from tablekit.definition.entity import EXTRA, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import EncodeError, RequestError
from tablekit.operations.dispatch import Dispatcher, RawItem
from tablekit.operations.driver import run
from tablekit.operations.read import get_request
from tablekit.wire.plain import json_item

__all__ = ["BrowsePage", "BrowseRow", "browse", "browse_query", "browse_row", "stored_value"]

MASK = "***"


@attrs.frozen
class BrowseRow:
    """One row.

    Attributes:
        type: its type, of an alias the one that it stands for; ``""`` for a row without one. known: whether a class
            has the type.
        pk, sk: its key. values: its fields as they are stored (an enum's text, a time's ISO text, numbers), or for a
            row that is no entity its attributes in DynamoDB JSON; values of secret fields are masked.
        others: what an entity's row holds beside its fields, in DynamoDB JSON: attributes that the class does not
            declare, and of a row that was read by its key its index keys and stored type too.
    """

    type: str
    known: bool
    pk: Any
    sk: Any
    values: Mapping[str, Any]
    others: Mapping[str, Any] = attrs.Factory(dict[str, Any])

    @property
    def label(self) -> str:
        """The type column: the type, marked when no class has it, or that there is none."""
        if self.known:
            return self.type
        return f"{self.type} (unknown)" if self.type else "(untyped)"


@attrs.frozen
class BrowsePage:
    """One page.

    Attributes:
        rows: in DynamoDB's order. operation: ``"Query"`` or ``"Scan"``. request: the request behind the page, for
            reading. consumed: capacity units. scanned: rows that were read for it. cursor: for the next page, or None.
        previous: for the page before, or None.
    """

    rows: tuple[BrowseRow, ...]
    operation: str
    request: str
    consumed: float
    scanned: int
    cursor: str | None
    previous: str | None = None


def browse_query(
    app: Table, *, pk: Any = None, index: str | None = None, type: str | None = None, scan: bool = False
) -> Query[Any]:
    """The query behind a page: of one partition, or of the whole table or index when `scan` says so.

    Parameters:
        pk: the partition key as it is stored; of the index, when one is named. index: an index's name.
            Of an index that does not hold the type the full rows are read, by a BatchGetItem a page.
        type: only rows of this class, and those without a type that lie where it reads.

    Rows that are no entity come as `RawItem`, whatever the table's policies. Raises `RequestError` when neither a
    partition nor a scan is asked for.
    """
    if pk is None and not scan:
        raise RequestError("Name a partition with pk=, or say scan=True: a scan reads and bills the whole table.")
    if type is None:
        return _as_stored(app, app.scan(index=index) if scan else app.query(pk=pk, index=index), index)
    schema = app.by_type.get(type)
    if schema is None:
        known = ", ".join(sorted(app.entities)) or "none"
        raise RequestError(f"No class has the type {type!r} (types: {known}).")
    # The schema holds the class as a plain type; that it is an entity of this table is known of it.
    entity: Any = schema.entity
    query = app.scan(entity, index=index) if scan else app.query(entity, index=index, **_parts(schema, pk, index))
    return _as_stored(app, query, index)


def _as_stored(app: Table, query: Query[Any], index: str | None) -> Query[Any]:
    """The query with every row as it is; of an index that does not hold the type, by reading the full rows."""
    query = query.untyped("raise").raw()
    holds = index is None or app.indexes[index].holds(app.type_attribute, app.key_names, app.type_attribute)
    return query if holds else query.hydrate()


def _parts(schema: EntitySchema, pk: Any, index: str | None) -> dict[str, Any]:
    """The fields that a partition key of a class spells."""
    key = schema.pk
    if index is not None:
        found = [each for each in schema.index_keys.values() if each.index.name == index]
        if not found:
            raise RequestError(f"{schema.name} is not in index {index!r}.")
        key = found[0].pk[0]
    parts = key.match({key.type: pk})
    if parts is None:
        raise RequestError(f"{schema.name} has no rows under {pk!r}: its partition key is {key.template.text!r}.")
    return parts


def browse(
    app: Table,
    *,
    pk: Any = None,
    index: str | None = None,
    type: str | None = None,
    scan: bool = False,
    limit: int = 20,
    reverse: bool = False,
    cursor: str | None = None,
    before: str | None = None,
) -> BrowsePage:
    """A page of rows; as `browse_query`, with a number of rows and a cursor.

    Parameters:
        limit: rows on the page. reverse: in descending order. cursor, before: from the page before or after.
    """
    query = browse_query(app, pk=pk, index=index, type=type, scan=scan)
    if reverse and not scan:
        query = query.reverse()
    # A page reads one row more than it gives, and so knows whether it is the last.
    explanation = query.limit(limit + 1).explain()
    page = query.page(limit, cursor=cursor, before=before)
    return BrowsePage(
        tuple(row_of(app, item) for item in page.items),
        explanation.operation,
        explanation.text,
        sum(page.consumed.values()),
        page.scanned,
        page.cursor,
        getattr(page, "previous", None),
    )


def browse_row(app: Table, *, pk: str, sk: str | None = None) -> BrowseRow | None:
    """The row under a key, whatever it is, by one strongly consistent GetItem; None when there is none.

    Parameters:
        pk, sk: the key as it is stored; a number as its text.
    """
    given = {app.pk: pk} if app.sk is None else {app.pk: pk, app.sk: sk or ""}
    key: Item = {name: {app.key_type(name): text} for name, text in given.items()}
    session = app.session()
    item = run(session.send(get_request(key, consistent=True))).body.get("Item")
    if not item:
        return None
    # No policy of the table's, and no clock: what it would leave out or infer is shown as it is stored.
    (found,), _, _ = Dispatcher(app, None, unknown="raise", untyped="raise", raw=True).entities([item])
    row = row_of(app, found)
    return row if isinstance(found, RawItem) else attrs.evolve(row, others=_others(schema_of(found), item))


def _others(schema: EntitySchema, item: Item) -> dict[str, Any]:
    """What a row holds beside its keys and fields; no secret field stands in an index key."""
    shown = {*schema.registry.key_names, *(field.attribute for field in schema.fields)}
    return {name: value for name, value in item.items() if name not in shown}


def row_of(app: Table, item: Any) -> BrowseRow:
    """A row for display, of an entity or of a raw item."""
    if isinstance(item, RawItem):
        raw: Item = dict(item)
        pk, sk = app.plain_key(raw)
        stored = raw.get(app.type_attribute, {}).get("S", "")
        secret = _secrets(app, stored)
        shown = {name: MASK if name in secret else value for name, value in raw.items() if name not in app.key_names}
        return BrowseRow(stored, stored in app.by_type, pk, sk, shown)
    assert isinstance(item, EntityBase)
    schema: EntitySchema = type(item).__schema__
    key = item.__dict__.get("_tk_key") or schema.key_of(item.__dict__)
    pk, sk = app.plain_key(key)
    values = {
        field.name: stored_value(field, item.__dict__[field.name])
        for field in schema.fields
        if field.name in item.__dict__
    }
    others = item.__dict__.get(EXTRA, {})
    return BrowseRow(schema.type, known=True, pk=pk, sk=sk, values=values, others=dict(others))


def _secrets(app: Table, stored: str) -> frozenset[str]:
    """The attributes of secret fields: of the row's class, or of every class where it cannot be told."""
    schema = app.by_type.get(stored)
    schemas = app.entities.values() if schema is None else (schema,)
    return frozenset(field.attribute for each in schemas for field in each.fields if field.secret)


def stored_value(field: FieldSchema, value: Any) -> Any:
    """A field's value for display: as its row holds it, in terms of JSON, and masked where it is secret."""
    return MASK if field.secret else _stored(field, value)


def _stored(field: FieldSchema, value: Any) -> Any:
    """A field's value as its row holds it, in terms of JSON; where it is left out None, or an empty list."""
    try:
        encoded = field.encode(value)
    except EncodeError:
        # A row may have been read with a value that could not be written.
        return value
    if encoded is None:
        return [] if isinstance(value, (set, frozenset)) else None
    return _readable(encoded)


def _readable(av: AttributeValue) -> Any:
    ((tag, inner),) = av.items()
    if tag == "M":
        return {name: _readable(value) for name, value in inner.items()}
    if tag == "L":
        return [_readable(value) for value in inner]
    if tag in ("SS", "NS"):
        return sorted(inner) if tag == "SS" else sorted(map(_number, inner))
    if tag in ("B", "BS"):
        return next(iter(json_item({"": av})[""].values()))
    if tag == "N":
        return _number(inner)
    return None if tag == "NULL" else inner


def _number(text: str) -> Any:
    """The number, or its text where a float would not give all of its digits."""
    exact = Decimal(text)
    if exact == exact.to_integral_value():
        return int(exact)
    return float(exact) if Decimal(repr(float(exact))) == exact else text
