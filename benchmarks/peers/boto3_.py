"""boto3's client with its own serializers: rows are dicts, and nothing is told apart."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from benchmarks.data import BATCH, TRANSACTION, WORKSPACE, comment, document, keys, plain_item, rows, stream_event


class Peer:
    """The workloads."""

    moment = str
    number = Decimal

    def __init__(self, endpoint: str) -> None:
        self.client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        self.serialize = TypeSerializer().serialize
        self.deserialize = TypeDeserializer().deserialize
        self.document = plain_item("Document", document(0))
        self.event: Any = None
        self.key = {"PK": {"S": f"WS#{WORKSPACE}"}, "SK": {"S": "DOC#d0000"}}
        self.comments = [plain_item("Comment", comment(number)) for number in range(BATCH)]
        self.keys = [keys("Comment", comment(number % 699)) for number in range(BATCH)]

    def _encode(self, item: dict[str, Any]) -> dict[str, Any]:
        return {name: self.serialize(value) for name, value in item.items()}

    def _decode(self, item: dict[str, Any]) -> dict[str, Any]:
        return {name: self.deserialize(value) for name, value in item.items()}

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        self.client.put_item(TableName="bench", Item=self._encode(plain_item(kind, values)))

    def query(self, workspace: str) -> list[Any]:
        """All pages."""
        found: list[Any] = []
        request: dict[str, Any] = {
            "TableName": "bench",
            "KeyConditionExpression": "PK = :pk",
            "ExpressionAttributeValues": {":pk": {"S": f"WS#{workspace}"}},
        }
        while True:
            answer = self.client.query(**request)
            found += map(self._decode, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return found
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def get(self) -> Any:
        """One document."""
        return self._decode(self.client.get_item(TableName="bench", Key=self.key)["Item"])

    def put(self) -> None:
        """One document."""
        self.client.put_item(TableName="bench", Item=self._encode(self.document))

    def save(self) -> None:
        """One changed field."""
        self.client.update_item(
            TableName="bench",
            Key=self.key,
            UpdateExpression="SET title = :title",
            ExpressionAttributeValues={":title": {"S": "Title"}},
        )

    def batch_write(self) -> None:
        """A thousand comments."""
        for start in range(0, BATCH, 25):
            requests = [{"PutRequest": {"Item": self._encode(item)}} for item in self.comments[start : start + 25]]
            self.client.batch_write_item(RequestItems={"bench": requests})

    def batch_get(self) -> list[Any]:
        """A thousand comments."""
        found: list[Any] = []
        for start in range(0, BATCH, 100):
            wanted = [{"PK": {"S": pk}, "SK": {"S": sk}} for pk, sk in self.keys[start : start + 100]]
            answer = self.client.batch_get_item(RequestItems={"bench": {"Keys": wanted}})
            found += map(self._decode, answer["Responses"]["bench"])
        return found

    def transaction(self) -> None:
        """Twenty-five puts."""
        actions = [{"Put": {"TableName": "bench", "Item": self._encode(item)}} for item in self.comments[:TRANSACTION]]
        self.client.transact_write_items(TransactItems=actions)

    def streams(self) -> list[Any]:
        """Ten thousand images of an event, to dicts."""
        if self.event is None:
            self.event = stream_event([self._encode(plain_item(kind, values)) for kind, values in rows()])
        return [self._decode(record["dynamodb"]["NewImage"]) for record in self.event["Records"]]

    def kind(self, found: Any) -> str:
        """Its type attribute."""
        kind: str = found["EntityType"]
        return kind

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return found[name]
