"""aiodynamo over aiohttp, awaited: rows are dicts, and nothing is told apart."""

from __future__ import annotations

import uuid
from typing import Any

import aiohttp
from aiodynamo.client import Client
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.models import BatchGetRequest, BatchWriteRequest
from aiodynamo.operations import Put
from yarl import URL

from benchmarks.data import BATCH, TRANSACTION, WORKSPACE, comment, document, keys, plain_item


class Peer:
    """The workloads."""

    moment = str
    number = (int, float)

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.document = plain_item("Document", document(0))
        self.comments = [plain_item("Comment", comment(number)) for number in range(BATCH)]
        found = [keys("Comment", comment(number % 699)) for number in range(BATCH)]
        self.keys = [{"PK": pk, "SK": sk} for pk, sk in found]
        self.key = {"PK": f"WS#{WORKSPACE}", "SK": "DOC#d0000"}

    async def start(self) -> None:
        """Connect."""
        http = AIOHTTP(aiohttp.ClientSession())
        credentials = StaticCredentials(Key("a", "b"))
        self.client = Client(http, credentials, "eu-west-1", URL(self.endpoint))
        self.table = self.client.table("bench")

    async def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        await self.table.put_item(plain_item(kind, values))

    async def query(self, workspace: str) -> list[Any]:
        """All pages."""
        return [item async for item in self.table.query(HashKey("PK", f"WS#{workspace}"))]

    async def get(self) -> Any:
        """One document."""
        return await self.table.get_item(self.key)

    async def put(self) -> None:
        """One document."""
        await self.table.put_item(self.document)

    async def save(self) -> None:
        """One changed field."""
        await self.table.update_item(self.key, F("title").set("Title"))

    async def batch_write(self) -> None:
        """A thousand comments."""
        for start in range(0, BATCH, 25):
            request = BatchWriteRequest(items_to_put=self.comments[start : start + 25])
            await self.client.batch_write({"bench": request})

    async def batch_get(self) -> list[Any]:
        """A thousand comments."""
        found: list[Any] = []
        for start in range(0, BATCH, 100):
            answer = await self.client.batch_get({"bench": BatchGetRequest(keys=self.keys[start : start + 100])})
            found += answer.items["bench"]
        return found

    async def transaction(self) -> None:
        """Twenty-five puts."""
        puts = [Put(table="bench", item=each) for each in self.comments[:TRANSACTION]]
        await self.client.transact_write_items(puts, request_token=str(uuid.uuid4()))

    def kind(self, found: Any) -> str:
        """Its type attribute."""
        kind: str = found["EntityType"]
        return kind

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return found[name]
