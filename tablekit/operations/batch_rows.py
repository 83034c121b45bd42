"""The rows of a BatchWriteItem, each as it is sent, and how they are put into requests.

A batch takes no condition, so that a row needs no plan: what is sent, and what success changes in memory.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tablekit._types import Item
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import RequestError
from tablekit.operations.batch_get import token_of
from tablekit.operations.dispatch import sound_key
from tablekit.operations.errors_map import invalid_response
from tablekit.operations.put import secret_attributes, unguarded_put
from tablekit.operations.steps import Step
from tablekit.wire.requests import BatchRequest

__all__ = ["ROWS_IN_ONE_REQUEST", "Row", "delete_row", "portions", "put_row", "request_of", "unprocessed"]

ROWS_IN_ONE_REQUEST = 25
BYTES_IN_ONE_REQUEST = 16_000_000
"""A little under DynamoDB's 16 MB, for what stands around the items."""

# JSON writes a byte as at most six, and an empty value as some sixteen where DynamoDB counts one or two.
_INFLATION = 16
_SMALL_ITEM = BYTES_IN_ONE_REQUEST // (ROWS_IN_ONE_REQUEST * _INFLATION)
_LARGEST_KEY = 4096 * _INFLATION


class Row:
    """One row of a BatchWriteItem.

    Attributes:
        verb: ``"put"`` or ``"delete"``. schema: the class. target: the entity or key as the caller gave it.
        place: the key, in a form that is equal for equal keys. wire: such as ``{"PutRequest": {"Item": ...}}``.
        size: at least its bytes in a request. secrets: what must be masked. apply: called with ``{}`` after success.
    """

    __slots__ = ("apply", "place", "schema", "secrets", "size", "target", "verb", "wire")

    def __init__(
        self,
        verb: str,
        schema: EntitySchema,
        target: Any,
        key: Item,
        wire: dict[str, Any],
        apply: Callable[[Mapping[str, Any]], Any],
        *,
        size: int,
        secrets: frozenset[str] = frozenset(),
    ) -> None:
        self.verb = verb
        self.schema = schema
        self.target = target
        self.place = token_of(key)
        self.wire = wire
        self.apply = apply
        self.size = size
        self.secrets = secrets


def put_row(entity: EntityBase, now: datetime) -> Row:
    """The row that puts an entity, as a `put` without its guard. Raises what `put` does before it sends."""
    schema = schema_of(entity)
    if schema.refusal is not None:
        raise RequestError(schema.refusal)
    item, size, apply = unguarded_put(entity, now)
    key = {name: item[name] for name in schema.registry.key_names}
    wire = {"PutRequest": {"Item": item}}
    return Row("put", schema, entity, key, wire, apply, size=_wire_size(item, size), secrets=secret_attributes(schema))


def delete_row(step: Step) -> Row:
    """The row of a deletion without a guard."""
    plan = step.plan
    assert plan is not None

    def apply(body: Mapping[str, Any]) -> None:
        plan.apply(body)
        step.settle()

    wire = {"DeleteRequest": {"Key": step.key}}
    return Row(step.verb, step.schema, step.target, step.key, wire, apply, size=_LARGEST_KEY)


def _wire_size(item: Item, size: int) -> int:
    """At least the bytes of an item in a request, given at least its size; exact for the large ones."""
    if size <= _SMALL_ITEM:
        return size * _INFLATION
    return len(json.dumps(item, default=lambda value: "=" * (len(value) * 4 // 3 + 4)))


def portions(rows: Iterable[Row]) -> Iterable[Sequence[Row]]:
    """Rows in the order given, at most 25 and 16 MB at a time."""
    portion: list[Row] = []
    size = 0
    for row in rows:
        if portion and (len(portion) == ROWS_IN_ONE_REQUEST or size + row.size > BYTES_IN_ONE_REQUEST):
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += row.size
    if portion:
        yield portion


def request_of(rows: Sequence[Row], name_of: Callable[[EntitySchema], str]) -> BatchRequest:
    """The request that writes some rows.

    Parameters:
        name_of: gives the name of a class's table.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault(name_of(row.schema), []).append(row.wire)
    return BatchRequest("BatchWriteItem", tables, secrets=frozenset[str]().union(*{row.secrets for row in rows}))


def unprocessed(
    rows: Sequence[Row], answer: Mapping[str, Sequence[Mapping[str, Any]]], name_of: Callable[[EntitySchema], str]
) -> list[Row]:
    """The rows that DynamoDB gave back, told by their keys. Raises `InvalidResponse` for a table not asked for."""
    back: set[Hashable] = set()
    registries = {name_of(row.schema): row.schema.registry for row in rows}
    for table, entries in answer.items():
        registry = registries.get(table)
        if registry is None:
            raise invalid_response("UnreadableBody", "BatchWriteItem", ())
        for entry in entries:
            item = entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
            key = sound_key(registry, {name: item.get(name) for name in registry.key_names})
            back.add((table, token_of(key)))
    return [row for row in rows if (name_of(row.schema), row.place) in back]
