"""Requests: frozen values that render themselves to the shape of DynamoDB's API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["BatchRequest", "Request", "TransactionRequest", "on_tables", "table_label", "table_names"]


class Request:
    """One request on one table.

    Attributes:
        operation: DynamoDB's name of the operation. body: everything but the table's name.
        secrets: value placeholders, and attribute names of an item, that must not be shown.
        entity: the name of the class that the request is for. index: the index, when it reads one.
    """

    __slots__ = ("body", "entity", "index", "operation", "secrets")

    def __init__(
        self,
        operation: str,
        body: Mapping[str, Any],
        *,
        secrets: frozenset[str] = frozenset(),
        entity: str = "",
        index: str | None = None,
    ) -> None:
        self.operation = operation
        self.body: dict[str, Any] = {key: value for key, value in body.items() if value is not None}
        self.secrets = secrets
        self.entity = entity
        self.index = index

    def to_wire(self, table_name: str) -> dict[str, Any]:
        """A fresh dict; the transport may add to it. The values inside are shared and must not be changed."""
        return {"TableName": table_name, **self.body}

    def replace(self, **changes: Any) -> Request:
        """The same request with other top-level members; None takes one away."""
        return Request(
            self.operation,
            {**self.body, **changes},
            secrets=self.secrets,
            entity=self.entity,
            index=self.index,
        )

    def part(self, table_name: str) -> dict[str, Any]:
        """The request as one action of a transaction, which takes no return values of success."""
        left_out = ("ReturnValues", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics")
        return {"TableName": table_name, **{k: v for k, v in self.body.items() if k not in left_out}}

    def __repr__(self) -> str:
        return f"Request({self.operation}, entity={self.entity!r})"


class BatchRequest:
    """A BatchGetItem or BatchWriteItem over one or several tables.

    Attributes:
        operation: DynamoDB's name of the operation. items: table name to what is asked of it.
    """

    __slots__ = ("capacity", "entity", "index", "items", "operation", "secrets")

    def __init__(
        self,
        operation: str,
        items: Mapping[str, Any],
        *,
        capacity: str = "TOTAL",
        secrets: frozenset[str] = frozenset(),
    ) -> None:
        self.operation = operation
        self.items = dict(items)
        self.capacity = capacity
        self.secrets = secrets
        self.entity = ""
        self.index: str | None = None

    def to_wire(self, table_name: str) -> dict[str, Any]:
        """A fresh dict; the names of the tables are in it already."""
        return {"RequestItems": dict(self.items), "ReturnConsumedCapacity": self.capacity}

    def __repr__(self) -> str:
        return f"BatchRequest({self.operation}, tables={sorted(self.items)})"


class TransactionRequest:
    """A TransactWriteItems or TransactGetItems, its actions in the caller's order.

    Attributes:
        operation: DynamoDB's name of the operation. actions: such as ``{"Put": {...}}``.
        token: the client request token of a write; the same over every retry, with the same body.
    """

    __slots__ = ("actions", "capacity", "entity", "index", "operation", "secrets", "token")

    def __init__(
        self,
        operation: str,
        actions: Sequence[Mapping[str, Any]],
        *,
        token: str | None = None,
        capacity: str = "TOTAL",
        secrets: frozenset[str] = frozenset(),
    ) -> None:
        self.operation = operation
        self.actions = tuple(actions)
        self.token = token
        self.capacity = capacity
        self.secrets = secrets
        self.entity = ""
        self.index: str | None = None

    def to_wire(self, table_name: str) -> dict[str, Any]:
        """A fresh dict; the names of the tables are in it already."""
        wire: dict[str, Any] = {
            "TransactItems": [dict(action) for action in self.actions],
            "ReturnConsumedCapacity": self.capacity,
        }
        if self.token is not None:
            wire["ClientRequestToken"] = self.token
        return wire

    def __repr__(self) -> str:
        return f"TransactionRequest({self.operation}, {len(self.actions)} actions)"


def table_names(wire: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables that a request in wire form names, each once, in its order."""
    name = wire.get("TableName")
    if name is not None:
        return (name,)
    if "RequestItems" in wire:
        return tuple(wire["RequestItems"])
    actions = (action for entry in wire.get("TransactItems", ()) for action in entry.values())
    return tuple(dict.fromkeys(action["TableName"] for action in actions))


def table_label(wire: Mapping[str, Any], name: str) -> str:
    """The tables of a request for a message, by commas; `name` where it has one, or names none."""
    if "TableName" in wire:
        return name
    return ", ".join(table_names(wire)) or name


def on_tables(label: str) -> str:
    """Where a request went, as it stands in a message after the operation."""
    if not label:
        return ""
    names = label.split(", ")
    return f" on {'table' if len(names) == 1 else 'tables'} {', '.join(map(repr, names))}"
