"""How the units of one request fall to the types of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Union, cast

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.wire.requests import BatchRequest, Request, TransactionRequest
from tablekit.wire.sizes import item_size
from tablekit.wire.units import read_units, write_units

__all__ = ["UNKNOWN", "rows_of", "shares", "type_name"]

UNKNOWN = "(unknown)"
"""The name under which units are counted of rows whose type is not known: missing ones, deletes by key."""


def rows_of(operation: str, body: Mapping[str, Any]) -> tuple[int, int]:
    """How many rows DynamoDB read for an answer, and how many came; none for a write."""
    if operation in ("Query", "Scan"):
        count = body.get("Count", len(body.get("Items", ())))
        return body.get("ScannedCount", count), count
    rows = sum(1 for _ in _answered(body)) if operation in ("GetItem", "BatchGetItem", "TransactGetItems") else 0
    return rows, rows


def shares(
    request: Union[Request, BatchRequest, TransactionRequest],
    body: Mapping[str, Any],
    registry: TableDefinition,
    units: float,
) -> dict[str, float]:
    """The units of a request by type: all for the one class that it is for, else divided by the rows' own units."""
    if not units:
        return {}
    if request.entity:
        return {_type_of(request.entity, registry): units}
    weights: dict[str, float] = defaultdict(float)
    for name, weight in _weighed(request, body, registry):
        weights[name] += weight
    total = sum(weights.values())
    return {name: units * weight / total for name, weight in weights.items()} if total else {UNKNOWN: units}


def _weighed(
    request: Union[Request, BatchRequest, TransactionRequest], body: Mapping[str, Any], registry: TableDefinition
) -> Iterator[tuple[str, float]]:
    if isinstance(request, Request):
        # The rows of a page are summed before they are rounded.
        yield from ((type_name(item, registry), item_size(item)) for item in _answered(body))
    elif request.operation in ("BatchGetItem", "TransactGetItems"):
        yield from ((type_name(item, registry), read_units(item_size(item))) for item in _answered(body))
    else:
        for written in _written(request):
            item = written.get("Item")
            weight = 1.0 if item is None else write_units(item_size(item))
            yield type_name(item or written.get("Key", {}), registry), weight


def _answered(body: Mapping[str, Any]) -> Iterator[Item]:
    """The rows of an answer to a read."""
    if body.get("Item"):
        yield body["Item"]
    yield from body.get("Items", ())
    responses: Any = body.get("Responses", ())
    if isinstance(responses, Mapping):
        for items in cast("Mapping[str, list[Item]]", responses).values():
            yield from items
    else:
        yield from (response["Item"] for response in responses if response.get("Item"))


def _written(request: Union[BatchRequest, TransactionRequest]) -> Iterator[Mapping[str, Any]]:
    if isinstance(request, TransactionRequest):
        yield from (inner for action in request.actions for inner in action.values())
    else:
        yield from (inner for asked in request.items.values() for write in asked for inner in write.values())


def _type_of(name: str, registry: TableDefinition) -> str:
    return next((schema.type for schema in registry.entities.values() if schema.name == name), name)


def type_name(item: Item, registry: TableDefinition) -> str:
    """A row's type; an old spelling of it gives the present one, and a row without a type is told by its key."""
    stored = item.get(registry.type_attribute, {}).get("S")
    if stored is not None:
        schema = registry.by_type.get(stored)
        return stored if schema is None else schema.type
    try:
        inferred = registry.infer(item)
    except Exception:
        # Whatever a foreign row is like, watching must not fail a request.
        inferred = None
    return UNKNOWN if inferred is None else inferred.type
