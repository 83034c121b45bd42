"""A DynamoDB in memory that knows what really happened: the ground truth of the simulations.

It answers the writes and reads by key that tablekit sends, with DynamoDB's rules for conditions, old items,
transactions and their tokens. Each change that it makes is noted at the write that asked for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tablekit._types import Answer, Attempt, Item, WireRequest
from tablekit.operations.errors_map import error_of_response
from tests.faults.expressions import holds, updated

__all__ = ["CANCELLED", "FAILED", "Memory", "MemoryPort", "Refused", "Write"]

FAILED = "ConditionalCheckFailedException"
CANCELLED = "TransactionCanceledException"

RowKey = tuple[str, ...]


@dataclass(eq=False)
class Write:
    """One call of a client, and what the engine did for it.

    Attributes:
        what: the call, in words. sent: how many attempts were made. applied: the old and the new row of each change,
            None for no row. clock: the engine's count of changes at each change. idle: how often it deleted what was
            not there. refused: how often a condition of it did not hold.
    """

    what: str
    sent: int = 0
    idle: int = 0
    applied: list[tuple[Item | None, Item | None]] = field(default_factory=list)
    refused: int = 0
    clock: list[int] = field(default_factory=list)


class Refused(Exception):
    """An error of DynamoDB's own: its code, and the fields that come with it."""

    def __init__(self, code: str, **fields: Any) -> None:
        super().__init__(code)
        self.code = code
        self.fields = fields


class Memory:
    """The rows of one or several tables.

    Attributes:
        rows: the present rows by table and key. changes: how many changes were made. deletions: by row, the count of
            changes at each deletion. tokens: the bodies of the transactions that were applied, by their token.
        busy: tokens of transactions that are being worked on, which are answered as such.
    """

    def __init__(self, keys: Sequence[str] = ("PK", "SK")) -> None:
        self._keys = tuple(keys)
        self.rows: dict[RowKey, Item] = {}
        self.changes = 0
        self.deletions: dict[RowKey, list[int]] = {}
        self.tokens: dict[str, str] = {}
        self.busy: set[str] = set()

    def handle(self, operation: str, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:
        """The body of the answer to a request. Raises `Refused`."""
        body: dict[str, Any] = getattr(self, f"_{operation}")(wire, write)
        return body

    def find(self, key: Item, table: str = "t") -> Item | None:
        """The row under a key, as it is now."""
        return self.rows.get(self._row(table, key))

    # Operations

    def _GetItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        item = self.find(wire["Key"], wire["TableName"])
        return {} if item is None else {"Item": dict(item)}

    def _PutItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        return self._single("Put", wire, write)

    def _UpdateItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        return self._single("Update", wire, write)

    def _DeleteItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        return self._single("Delete", wire, write)

    def _BatchWriteItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        for table, requests in wire["RequestItems"].items():
            for request in requests:
                ((_, inner),) = request.items()
                self._store(self._row(table, inner.get("Item") or inner["Key"]), inner.get("Item"), write)
        return {"UnprocessedItems": {}}

    def _BatchGetItem(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        found: dict[str, list[Item]] = {}
        for table, asked in wire["RequestItems"].items():
            rows = (self.find(key, table) for key in asked["Keys"])
            found[table] = [dict(row) for row in rows if row is not None]
        return {"Responses": found, "UnprocessedKeys": {}}

    def _TransactWriteItems(self, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:  # noqa: N802
        token, body = wire.get("ClientRequestToken"), _bytes(wire["TransactItems"])
        if token in self.busy:
            raise Refused("TransactionInProgressException")
        if token in self.tokens:
            if self.tokens[token] != body:
                raise Refused("IdempotentParameterMismatchException")
            return {}
        actions = [next(iter(action.items())) for action in wire["TransactItems"]]
        reasons = [self._reason(kind, inner) for kind, inner in actions]
        if any(reasons):
            write.refused += 1
            raise Refused(CANCELLED, CancellationReasons=[reason or {"Code": "None"} for reason in reasons])
        for kind, inner in actions:
            if kind != "ConditionCheck":
                self._apply(kind, inner, write)
        if token is not None:
            self.tokens[token] = body
        return {}

    # Parts of them

    def _row(self, table: str, key: Item) -> RowKey:
        return (table, *(key[name]["S"] for name in self._keys if name in key))

    def _single(self, kind: str, wire: Mapping[str, Any], write: Write) -> dict[str, Any]:
        old = self._found(wire)
        if not self._passes(wire, old):
            write.refused += 1
            returns = old is not None and wire.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
            raise Refused(FAILED, **({"Item": dict(old)} if returns and old is not None else {}))
        new = self._apply(kind, wire, write)
        asked = wire.get("ReturnValues", "NONE")
        shown = {"ALL_OLD": old, "ALL_NEW": new, "NONE": None}[asked]
        return {} if shown is None else {"Attributes": dict(shown)}

    def _reason(self, kind: str, wire: Mapping[str, Any]) -> dict[str, Any] | None:
        old = self._found(wire)
        if self._passes(wire, old):
            return None
        returns = old is not None and wire.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        return {"Code": "ConditionalCheckFailed", **({"Item": dict(old)} if returns and old is not None else {})}

    def _found(self, wire: Mapping[str, Any]) -> Item | None:
        return self.find(wire.get("Key") or wire["Item"], wire["TableName"])

    def _passes(self, wire: Mapping[str, Any], old: Item | None) -> bool:
        text = wire.get("ConditionExpression")
        names, values = wire.get("ExpressionAttributeNames", {}), wire.get("ExpressionAttributeValues", {})
        return text is None or holds(text, old or {}, names, values)

    def _apply(self, kind: str, wire: Mapping[str, Any], write: Write) -> Item | None:
        row = self._row(wire["TableName"], wire.get("Key") or wire["Item"])
        new: Item | None = None
        if kind == "Put":
            new = wire["Item"]
        elif kind == "Update":
            names, values = wire.get("ExpressionAttributeNames", {}), wire.get("ExpressionAttributeValues", {})
            before = self.rows.get(row) or dict(wire["Key"])
            new = updated(wire["UpdateExpression"], before, names, values) if "UpdateExpression" in wire else before
        self._store(row, new, write)
        return new

    def _store(self, row: RowKey, new: Item | None, write: Write) -> None:
        old = self.rows.get(row)
        if old is None and new is None:
            write.idle += 1
            return
        self.changes += 1
        write.applied.append((old, new))
        write.clock.append(self.changes)
        if new is None:
            self.rows.pop(row, None)
            self.deletions.setdefault(row, []).append(self.changes)
        else:
            self.rows[row] = new


class MemoryPort:
    """A port over a perfect network: each request is carried out, and answered."""

    settings = None

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Carry a request out."""
        try:
            body = self.memory.handle(request.operation, request.to_wire(table), Write("a rival"))
        except Refused as refused:
            response = {"Error": {"Code": refused.code}, **refused.fields}
            raise error_of_response(response, request.operation, ()) from None
        return Answer(body, (Attempt("applied", "200"),))


def _bytes(value: Any) -> str:
    # Order counts: DynamoDB takes another order for another request.
    return json.dumps(value, default=repr)
