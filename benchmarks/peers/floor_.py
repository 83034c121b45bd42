"""The floor: http.client and json, unsigned and unchecked; with ``decoders``, objects by hand-written functions."""

from __future__ import annotations

import http.client
import json
from datetime import datetime
from typing import Any, ClassVar

from benchmarks.data import (
    BATCH,
    CACHED_READS,
    DOCUMENT,
    TRANSACTION,
    WORKSPACE,
    comment,
    document,
    keys,
    rows,
    stream_event,
    wire_item,
)


class Workspace:
    """The owner of a partition."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.workspace_id = item["workspace_id"]["S"]
        self.name = item["name"]["S"]
        self.plan = item["plan"]["S"]
        self.owner = item["owner"]["S"]
        self.contact = item["contact"]["S"]
        self.seats = int(item["seats"]["N"])
        self.regions = [each["S"] for each in item["regions"]["L"]]
        self.settings = {name: each["S"] for name, each in item["settings"]["M"].items()}
        self.created_at = datetime.fromisoformat(item["created_at"]["S"])
        self.active = item["active"]["BOOL"]


class Document:
    """A document."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.workspace_id = item["workspace_id"]["S"]
        self.doc_id = item["doc_id"]["S"]
        self.title = item["title"]["S"]
        self.status = item["status"]["S"]
        self.author = item["author"]["S"]
        self.size = int(item["size"]["N"])
        self.tags = [each["S"] for each in item["tags"]["L"]]
        self.meta = {name: each["S"] for name, each in item["meta"]["M"].items()}
        self.created_at = datetime.fromisoformat(item["created_at"]["S"])
        self.archived = item["archived"]["BOOL"]


class Comment:
    """A comment on a document."""

    def __init__(self, item: dict[str, Any]) -> None:
        self.workspace_id = item["workspace_id"]["S"]
        self.doc_id = item["doc_id"]["S"]
        self.comment_id = item["comment_id"]["S"]
        self.author = item["author"]["S"]
        self.body = item["body"]["S"]
        self.likes = int(item["likes"]["N"])
        self.mentions = [each["S"] for each in item["mentions"]["L"]]
        self.labels = {name: each["S"] for name, each in item["labels"]["M"].items()}
        self.created_at = datetime.fromisoformat(item["created_at"]["S"])
        self.edited = item["edited"]["BOOL"]


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


class Peer:
    """The workloads."""

    moment: type = datetime

    def __init__(self, endpoint: str, mode: str = "") -> None:
        self.connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
        self.decodes = mode == "decoders"
        self.item = wire_item("Document", document(0))
        self.comments = [comment(number) for number in range(BATCH)]
        self.keys = [keys("Comment", comment(number % 699)) for number in range(BATCH)]
        self.event: Any = None
        if not self.decodes:
            self.moment = str

    flags: ClassVar[dict[str, bool]] = {"signup_enabled": False}

    def singleton(self) -> None:
        """Reads of a flag in a dict."""
        for _ in range(CACHED_READS):
            _ = self.flags["signup_enabled"]

    def _send(self, operation: str, content: dict[str, Any]) -> Any:
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        self.connection.request("POST", "/", json.dumps(content).encode(), headers)
        return json.loads(self.connection.getresponse().read())

    def _object(self, item: dict[str, Any]) -> Any:
        return CLASSES[item["EntityType"]["S"]](item)

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        self._send("PutItem", {"TableName": "bench", "Item": wire_item(kind, values)})

    def query(self, workspace: str) -> list[Any]:
        """All pages."""
        found: list[Any] = []
        request: dict[str, Any] = {
            "TableName": "bench",
            "KeyConditionExpression": "PK = :pk",
            "ExpressionAttributeValues": {":pk": {"S": f"WS#{workspace}"}},
        }
        while True:
            answer = self._send("Query", request)
            found += map(self._object, answer["Items"]) if self.decodes else answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return found
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def get(self) -> Any:
        """One document."""
        key = {"PK": {"S": f"WS#{WORKSPACE}"}, "SK": {"S": f"DOC#{DOCUMENT}"}}
        item = self._send("GetItem", {"TableName": "bench", "Key": key})["Item"]
        return self._object(item) if self.decodes else item

    def put(self) -> None:
        """One document."""
        self._send("PutItem", {"TableName": "bench", "Item": self.item})

    def streams(self) -> list[Any]:
        """Ten thousand images of an event; without decoders there is nothing to do but to take them."""
        if self.event is None:
            self.event = stream_event([wire_item(kind, values) for kind, values in rows()])
        images = [record["dynamodb"]["NewImage"] for record in self.event["Records"]]
        return list(map(self._object, images)) if self.decodes else images

    def batch_write(self) -> None:
        """A thousand comments."""
        for start in range(0, BATCH, 25):
            requests = [
                {"PutRequest": {"Item": wire_item("Comment", each)}} for each in self.comments[start : start + 25]
            ]
            self._send("BatchWriteItem", {"RequestItems": {"bench": requests}})

    def batch_get(self) -> list[Any]:
        """A thousand comments."""
        found: list[Any] = []
        for start in range(0, BATCH, 100):
            wanted = [{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in self.keys[start : start + 100]]
            items = self._send("BatchGetItem", {"RequestItems": {"bench": {"Keys": wanted}}})["Responses"]["bench"]
            found += map(self._object, items) if self.decodes else items
        return found

    def transaction(self) -> None:
        """Twenty-five puts."""
        puts = [
            {"Put": {"TableName": "bench", "Item": wire_item("Comment", each)}} for each in self.comments[:TRANSACTION]
        ]
        self._send("TransactWriteItems", {"TransactItems": puts})

    def kind(self, found: Any) -> str:
        """Its class, or its type attribute."""
        return type(found).__name__ if self.decodes else found["EntityType"]["S"]

    def read(self, found: Any, name: str) -> Any:
        """A field, or what stands in the wire form."""
        if self.decodes:
            return getattr(found, name)
        return _plain(found[name])


def _plain(value: dict[str, Any]) -> Any:
    ((tag, inner),) = value.items()
    if tag == "L":
        return [_plain(each) for each in inner]
    if tag == "M":
        return {name: _plain(each) for name, each in inner.items()}
    return int(inner) if tag == "N" else inner
