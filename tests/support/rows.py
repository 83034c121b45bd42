"""Rows as DynamoDB holds them, read and written past the entities."""

from __future__ import annotations

from typing import Any

from tablekit import Table
from tablekit._types import Item
from tablekit.operations.driver import run
from tablekit.wire.requests import Request


def stored(table: Table, pk: str, sk: str) -> Item | None:
    """The row under a key in DynamoDB JSON, or None."""
    key = {"PK": {"S": pk}, "SK": {"S": sk}}
    answer = run(table.session().send(Request("GetItem", {"Key": key, "ConsistentRead": True})))
    found: Item | None = answer.body.get("Item")
    return found


def store(table: Table, item: Item) -> None:
    """Write a row as it is."""
    run(table.session().send(Request("PutItem", {"Item": item})))


def rows(table: Table) -> list[Item]:
    """Every row of the table."""
    found: list[Item] = run(table.session().send(Request("Scan", {}))).body["Items"]
    return found


def only(requests: list[dict[str, Any]]) -> dict[str, Any]:
    """The only request of a list."""
    assert len(requests) == 1, f"{len(requests)} requests were sent"
    return requests[0]


def assigned(request: dict[str, Any]) -> dict[str, str]:
    """What an UpdateItem's SET assigns: the target's stored path to the text of its operand, names spelled out."""
    names = request.get("ExpressionAttributeNames", {})
    clause = request["UpdateExpression"].partition("SET ")[2].partition(" REMOVE ")[0].partition(" ADD ")[0]
    found: dict[str, str] = {}
    depth, start = 0, 0
    for place, letter in enumerate(clause + ","):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0 and clause[start:place].strip():
            target, _, operand = clause[start:place].strip().partition(" = ")
            found[spelled(target, names)] = spelled(operand, names)
            start = place + 1
    return found


def removed(request: dict[str, Any]) -> set[str]:
    """The paths that an UpdateItem's REMOVE names."""
    names = request.get("ExpressionAttributeNames", {})
    clause = request["UpdateExpression"].partition("REMOVE ")[2].partition(" SET ")[0]
    clause = clause.partition(" ADD ")[0].partition(" DELETE ")[0]
    return {spelled(path.strip(), names) for path in clause.split(",") if path.strip()}


def spelled(text: str, names: dict[str, str]) -> str:
    """An expression with its name placeholders replaced, the longest first."""
    for placeholder in sorted(names, key=len, reverse=True):
        text = text.replace(placeholder, names[placeholder])
    return text


def data_calls(recorder: Any) -> list[str]:
    """The operations on items that were sent, in order; those that make a table are left out."""
    tables = ("CreateTable", "DescribeTable", "DeleteTable", "UpdateTimeToLive", "DescribeTimeToLive")
    return [operation for operation in recorder.operations if operation not in tables]
