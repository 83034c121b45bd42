"""What a read or a write will be billed, worked out from the number and the size of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.errors import RequestError
from tablekit.operations.queryspec import index_sources
from tablekit.wire.sizes import item_size
from tablekit.wire.units import (
    batch_read_units,
    page_sizes,
    query_units,
    read_units,
    write_units,
    write_units_by_index,
)

__all__ = ["Alternative", "Estimate", "ReadFacts", "WriteEstimate", "estimate_read", "estimate_write"]


@attrs.frozen
class Alternative:
    """Another way to the same rows.

    Attributes:
        name: ``"sparse index"``, ``"disjoint sort keys"`` or ``"type filter"``. read_units: what it would cost.
        text: what it takes.
    """

    name: str
    read_units: float
    text: str


@attrs.frozen(kw_only=True)
class Estimate:
    """What a read is expected to be billed.

    Attributes:
        read_units: capacity units in all. discarded_units: how many of them pay for rows that are not returned.
        rows_read, rows_returned: rows before and after the narrowing. requests: how many are sent.
        consistent: whether the reads are strongly consistent. alternatives: other ways, with their units.
    """

    read_units: float
    discarded_units: float
    rows_read: int
    rows_returned: int
    requests: int
    consistent: bool
    alternatives: tuple[Alternative, ...] = ()

    def alternative(self, name: str) -> Alternative:
        """One of the alternatives. Raises ``KeyError`` where there is none of that name."""
        for each in self.alternatives:
            if each.name == name:
                return each
        raise KeyError(name)

    def __str__(self) -> str:
        how = "strongly consistent" if self.consistent else "eventually consistent"
        requests = f"{self.requests:,} request{'' if self.requests == 1 else 's'}"
        rows = f"{self.rows_read:,} rows read in {requests}, {self.rows_returned:,} returned"
        lines = [
            f"{_units(self.read_units)}, {how}: {rows}",
            f"{self.discarded_units:g} of them for rows that are not returned",
        ]
        lines += [f"{each.name}: {_units(each.read_units)}; {each.text}" for each in self.alternatives]
        return "\n".join(lines)


def _units(units: float) -> str:
    return f"{units:g} read unit{'' if units == 1 else 's'}"


@attrs.frozen(kw_only=True)
class ReadFacts:
    """What is known of a read without knowing its rows.

    Attributes:
        operation: DynamoDB's name. narrowing: how the classes are told from others. filtered: whether a filter is
            sent. consistent: whether the read is strongly consistent. limit: entities in all. page_size: rows in one
            request. index: whether an index is read. sorted: whether what is read has a sort key. hydrate: whether
            the full rows are read afterwards.
    """

    operation: str
    narrowing: Literal["key", "filter", "hydrate", "none"] = "none"
    filtered: bool = False
    consistent: bool = False
    limit: int | None = None
    page_size: int | None = None
    index: bool = False
    sorted: bool = True
    hydrate: bool = False

    def units(self, rows: int, item_bytes: int, *, consistent: bool | None = None) -> float:
        """Read units of so many rows, page by page."""
        strong = self.consistent if consistent is None else consistent
        return sum(query_units(size, consistent=strong) for size in page_sizes(rows, item_bytes, limit=self.page_size))


def estimate_read(facts: ReadFacts, items: int, item_bytes: int, matching: int | None) -> Estimate:
    """What a read of so many rows is billed.

    Parameters:
        items: rows where it reads, of all classes: of the partition, or of the whole table for a scan.
        item_bytes: bytes of each.
        matching: how many of them are of the classes that are asked for; None for all.
    """
    _check(items=items, item_bytes=item_bytes, matching=matching)
    matching = items if matching is None else matching
    if matching > items:
        raise RequestError(f"estimate(matching={matching}) is more than items={items}; it is a part of them.")
    if facts.operation == "GetItem":
        return _estimate_get(facts, items, item_bytes, matching)
    among = matching if facts.narrowing == "key" else items
    rows = _rows(facts, among, matching)
    returned = rows if facts.narrowing == "key" else round(rows * matching / items) if items else 0
    units = facts.units(rows, item_bytes)
    discarded = units - facts.units(returned, item_bytes) if returned < rows else 0.0
    if facts.hydrate:
        # An index without types is told apart only by the full rows, so that all of them are read.
        units += batch_read_units([item_bytes] * (rows if facts.narrowing == "hydrate" else returned))
    return Estimate(
        read_units=units,
        discarded_units=discarded,
        rows_read=rows,
        rows_returned=returned,
        requests=sum(1 for _ in page_sizes(rows, item_bytes, limit=facts.page_size)),
        consistent=facts.consistent,
        alternatives=tuple(_alternatives(facts, items, item_bytes, matching)),
    )


def _check(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise RequestError(f"estimate({name}={value!r}) must be a whole number of at least 0.")


def _estimate_get(facts: ReadFacts, items: int, item_bytes: int, matching: int) -> Estimate:
    found = min(items, 1)
    return Estimate(
        read_units=read_units(item_bytes * found, consistent=facts.consistent),
        discarded_units=0.0,
        rows_read=found,
        rows_returned=min(found, matching),
        requests=1,
        consistent=facts.consistent,
    )


def _rows(facts: ReadFacts, among: int, matching: int) -> int:
    """The rows that are read until the limit is reached, with the matching ones spread evenly."""
    if facts.limit is None:
        return among
    if not facts.filtered or facts.narrowing == "key":
        return min(among, facts.limit)
    return min(among, -(-facts.limit * among // max(1, matching)))


def _alternatives(facts: ReadFacts, items: int, item_bytes: int, matching: int) -> Iterator[Alternative]:
    wanted = matching if facts.limit is None else min(matching, facts.limit)
    if facts.narrowing in ("filter", "hydrate"):
        strong = " It is eventually consistent only." if facts.consistent else ""
        yield Alternative(
            "sparse index",
            facts.units(wanted, item_bytes, consistent=False),
            f"an index whose key only these classes write holds no row of another type.{strong}",
        )
        if facts.sorted:
            yield Alternative(
                "disjoint sort keys",
                facts.units(wanted, item_bytes),
                "with a prefix that no other type's sort keys begin with, a key condition reads these rows alone.",
            )
    elif facts.narrowing == "key":
        yield Alternative(
            "type filter",
            facts.units(items if facts.limit is None else min(items, facts.limit), item_bytes),
            "a filter on the type reads, and bills, every row of the partition.",
        )


# Writes


@attrs.frozen(kw_only=True)
class WriteEstimate:
    """What a write is expected to be billed, at most.

    Attributes:
        units: write units by index name, with the table's own under ``""``. write_units: all of them.
    """

    units: Mapping[str, float]

    @property
    def write_units(self) -> float:
        """All write units."""
        return sum(self.units.values())

    def __str__(self) -> str:
        each = ", ".join(f"{units:g} for {name or 'the table'}" for name, units in self.units.items())
        return f"{self.write_units:g} write units: {each}"


def estimate_write(
    operation: str, wire: Mapping[str, Any], registry: TableDefinition, *, item_bytes: int | None, previous_bytes: int
) -> WriteEstimate:
    """What a write is billed.

    Parameters:
        item_bytes: bytes of a row that the request does not spell whole (an update, a delete); None where it does.
        previous_bytes: bytes of the row that a put replaces; 0 for none.
    """
    _check(item_bytes=item_bytes, previous_bytes=previous_bytes)
    units: Counter[str] = Counter()
    for kind, action in _actions(operation, wire):
        part = _action_units(
            kind, action, registry, item_bytes, previous_bytes, double=operation == "TransactWriteItems"
        )
        units.update(part)
    return WriteEstimate(units=dict(units))


def _actions(operation: str, wire: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if operation == "TransactWriteItems":
        for action in wire["TransactItems"]:
            yield from action.items()
    elif operation == "BatchWriteItem":
        for requests in wire["RequestItems"].values():
            for request in requests:
                yield from ((kind.removesuffix("Request"), inner) for kind, inner in request.items())
    else:
        yield operation.removesuffix("Item"), wire


def _action_units(
    kind: str,
    action: Mapping[str, Any],
    registry: TableDefinition,
    item_bytes: int | None,
    previous_bytes: int,
    *,
    double: bool,
) -> dict[str, float]:
    item: Item | None = action.get("Item")
    if item is not None:
        units = write_units_by_index(
            item,
            None,
            indexes=registry.indexes.values(),
            table_keys=registry.key_names,
            type_attribute=registry.type_attribute,
        )
        units[""] = write_units(item_size(item), before=previous_bytes, transactional=double)
        return units
    if item_bytes is None:
        raise RequestError(
            f"The {kind.lower()} does not spell its row; give estimate() its size as item_bytes=, in bytes."
        )
    units = {"": write_units(item_bytes, transactional=double)}
    if kind in ("Update", "Delete"):
        units.update(_index_units(kind, action, registry, item_bytes))
    return units


def _index_units(
    kind: str, action: Mapping[str, Any], registry: TableDefinition, item_bytes: int
) -> Iterator[tuple[str, float]]:
    """The index writes that an update or a delete makes at most: its row may not be in the index at all."""
    names = set(action.get("ExpressionAttributeNames", {}).values())
    classes = [schema for schema in registry.entities.values() if schema.spelled(action["Key"]) is not None]
    for index in registry.indexes.values():
        if classes and not any(index_sources(schema, index) for schema in classes):
            continue
        if kind == "Delete":
            yield index.name, write_units(item_bytes)
        elif names & set(index.keys):
            # Another key is another place: the old entry is deleted, and a new one is put.
            yield index.name, write_units(item_bytes) * 2
        elif any(index.holds(name, registry.key_names, registry.type_attribute) for name in names):
            yield index.name, write_units(item_bytes)
