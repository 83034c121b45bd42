"""aiodynamo over aiohttp, awaited: rows are dicts, and nothing is told apart."""

from __future__ import annotations

from typing import Any

import aiohttp
from aiodynamo.client import Client
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.aiohttp import AIOHTTP
from yarl import URL

from benchmarks.data import WORKSPACE, document, plain_item


class Peer:
    """The workloads."""

    moment = str
    number = (int, float)

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.document = plain_item("Document", document(0))
        self.key = {"PK": f"WS#{WORKSPACE}", "SK": "DOC#d0000"}

    async def start(self) -> None:
        """Connect."""
        http = AIOHTTP(aiohttp.ClientSession())
        credentials = StaticCredentials(Key("a", "b"))
        self.table = Client(http, credentials, "eu-west-1", URL(self.endpoint)).table("bench")

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

    def kind(self, found: Any) -> str:
        """Its type attribute."""
        kind: str = found["EntityType"]
        return kind

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return found[name]
