"""The rows of every workload: one workspace, 300 documents and 699 comments, ten attributes each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

__all__ = [
    "BATCH",
    "CACHED_READS",
    "DOCUMENT",
    "PAGE",
    "PAGES",
    "RECORDS",
    "TRANSACTION",
    "WORKSPACE",
    "WORKSPACE_OF_PAGES",
    "comment",
    "document",
    "keys",
    "plain_item",
    "rows",
    "stream_event",
    "wire_item",
]

PAGE = 1_000
PAGES = 20
BATCH = 1_000
TRANSACTION = 25
RECORDS = 10_000
"""Records of a stream in one event."""
CACHED_READS = 10_000
"""Reads of a cached singleton in one call of the workload."""
WORKSPACE = "acme"
WORKSPACE_OF_PAGES = "acme-of-many-pages"
"""The same page, twenty times."""
DOCUMENT = "d0000"
_START = datetime(2026, 1, 1, 8, 30, 12, 345678, tzinfo=timezone.utc)


def workspace() -> dict[str, Any]:
    """The values of the workspace."""
    return {
        "workspace_id": WORKSPACE,
        "name": "The workspace of Acme",
        "plan": "enterprise",
        "owner": "ada@example.com",
        "contact": "ops@example.com",
        "seats": 250,
        "regions": ["eu-west-1", "us-east-1"],
        "settings": {"theme": "dark", "locale": "en-GB", "week": "monday"},
        "created_at": _START,
        "active": True,
    }


def document(number: int) -> dict[str, Any]:
    """The values of a document."""
    return {
        "workspace_id": WORKSPACE,
        "doc_id": f"d{number:04d}",
        "title": f"Quarterly report number {number}",
        "status": "draft" if number % 3 else "published",
        "author": f"user{number % 40}@example.com",
        "size": 1_000 + number * 7,
        "tags": ["report", "finance", f"q{number % 4 + 1}"],
        "meta": {"source": "import", "format": "markdown", "checksum": f"{number * 7919:08x}"},
        "created_at": _START + timedelta(minutes=number),
        "archived": number % 5 == 0,
    }


def comment(number: int) -> dict[str, Any]:
    """The values of a comment."""
    return {
        "workspace_id": WORKSPACE,
        "doc_id": f"d{number % 300:04d}",
        "comment_id": f"c{number:05d}",
        "author": f"user{number % 40}@example.com",
        "body": f"I think that paragraph {number} says what it should, and no more than that.",
        "likes": number % 17,
        "mentions": [f"user{number % 7}", f"user{number % 11}"],
        "labels": {"kind": "review", "priority": "low", "thread": f"t{number % 50}"},
        "created_at": _START + timedelta(seconds=number),
        "edited": number % 2 == 0,
    }


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """Class name and values of each row of the page."""
    yield "Workspace", workspace()
    for number in range(300):
        yield "Document", document(number)
    for number in range(699):
        yield "Comment", comment(number)


def keys(kind: str, values: dict[str, Any]) -> tuple[str, str]:
    """The key of a row, for libraries that make none themselves."""
    pk = f"WS#{values['workspace_id']}"
    if kind == "Workspace":
        return pk, "META"
    if kind == "Document":
        return pk, f"DOC#{values['doc_id']}"
    return pk, f"DOC#{values['doc_id']}#CMT#{values['comment_id']}"


def plain_item(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """The row as a dict of plain values, for libraries that have no classes: datetimes are texts."""
    pk, sk = keys(kind, values)
    return {"PK": pk, "SK": sk, "EntityType": kind, **values, "created_at": values["created_at"].isoformat()}


def stream_event(items: list[dict[str, Any]]) -> dict[str, Any]:
    """What a function receives from the table's stream: each row as it was inserted, ten times over.

    Parameters:
        items: rows in DynamoDB JSON, as a library stores them.
    """
    names = ("PK", "SK") if "PK" in items[0] else ("pk", "sk")
    records = [_record(number, items[number % len(items)], names) for number in range(RECORDS)]
    return {"Records": records}


def _record(number: int, item: dict[str, Any], names: tuple[str, str]) -> dict[str, Any]:
    return {
        "eventID": f"{number:032x}",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_767_254_400 + number,
            "Keys": {name: item[name] for name in names},
            "NewImage": item,
            "SequenceNumber": str(number),
            "SizeBytes": 500,
            "StreamViewType": "NEW_IMAGE",
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/bench/stream/2026-01-01T00:00:00.000",
    }


def wire_value(value: Any) -> dict[str, Any]:
    """A plain value in DynamoDB JSON, written by hand."""
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, list):
        return {"L": [wire_value(each) for each in value]}
    return {"M": {name: wire_value(each) for name, each in value.items()}}


def wire_item(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    """The row in DynamoDB JSON, written by hand."""
    return {name: wire_value(value) for name, value in plain_item(kind, values).items()}
