"""A DynamoDB that answers from memory what it was told to, as fast as it can, on connections that are kept.

Each library has a port of its own. It first puts the rows of the benchmark, in its own form; ``POST /freeze`` then
makes the answers of them, once, and from there on a request only chooses one. Prints the ports, and ends with its
parent.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import zlib
from typing import Any

from benchmarks.data import PAGES, WORKSPACE_OF_PAGES

CAPACITY = {"TableName": "bench", "CapacityUnits": 0.5}


def http_answer(body: bytes) -> bytes:
    """A 200 answer with the headers that DynamoDB sends."""
    head = (
        "HTTP/1.1 200 OK\r\n"
        "Server: Server\r\n"
        "Date: Mon, 30 Nov 2026 12:00:00 GMT\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: keep-alive\r\n"
        "x-amzn-RequestId: VUQ5CPQIOA5JS49R1QT8SH2N9NVV4KQNSO5AEMVJF66Q9ASUAAJG\r\n"
        f"x-amz-crc32: {zlib.crc32(body)}\r\n\r\n"
    )
    return head.encode() + body


def answer_of(content: dict[str, Any]) -> bytes:
    """A 200 answer with a body."""
    return http_answer(json.dumps(content, separators=(",", ":")).encode())


class Store:
    """What one library put, and the answers made of it."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.by_key: dict[tuple[str, str], bytes] = {}
        self.answers: dict[str, bytes] = {"": answer_of({"ConsumedCapacity": CAPACITY})}
        self.pages: list[bytes] = []
        self.frozen = False
        self.names = ("PK", "SK")

    def freeze(self) -> None:
        """Make the answers."""
        first = self.items[0]
        self.names = ("PK", "SK") if "PK" in first else ("pk", "sk")
        for item in self.items:
            self.by_key[self._key(item)] = json.dumps(item, separators=(",", ":")).encode()
        count = {"Count": len(self.items), "ScannedCount": len(self.items), "ConsumedCapacity": CAPACITY}
        page = {"Items": self.items, **count}
        pk, sk = self.names
        for number in range(1, PAGES):
            last = {pk: {"S": f"WS#{WORKSPACE_OF_PAGES}"}, sk: {"S": f"DOC#page{number:03d}"}}
            self.pages.append(answer_of({**page, "LastEvaluatedKey": last}))
        self.pages.append(answer_of(page))
        self.answers["Query"] = self.pages[-1]
        self.answers["GetItem"] = answer_of({"Item": self.items[1], "ConsumedCapacity": CAPACITY})
        self.answers["BatchWriteItem"] = answer_of({"UnprocessedItems": {}, "ConsumedCapacity": [CAPACITY]})
        self.answers["TransactWriteItems"] = answer_of({"ConsumedCapacity": [CAPACITY]})
        self.answers["all new"] = answer_of({"Attributes": self.items[1], "ConsumedCapacity": CAPACITY})
        self.frozen = True

    def _key(self, item: dict[str, Any]) -> tuple[str, str]:
        pk, sk = self.names
        return item[pk]["S"], item[sk]["S"]

    def answer(self, operation: str, body: bytes) -> bytes:
        """What a request is answered."""
        if operation == "Query" and WORKSPACE_OF_PAGES.encode() in body:
            at = body.find(b"DOC#page")
            return self.pages[0 if at < 0 else int(body[at + 8 : at + 11])]
        if operation == "PutItem" and not self.frozen:
            self.items.append(json.loads(body)["Item"])
        if operation == "BatchGetItem":
            return self._found(body)
        if operation == "UpdateItem" and b"ALL_NEW" in body:
            return self.answers["all new"]
        return self.answers.get(operation, self.answers[""])

    def _found(self, body: bytes) -> bytes:
        ((table, wanted),) = json.loads(body)["RequestItems"].items()
        items = b",".join(self.by_key[self._key(key)] for key in wanted["Keys"])
        head = b'{"Responses":{' + json.dumps(table).encode() + b":[" + items
        return http_answer(
            head + b']},"UnprocessedKeys":{},"ConsumedCapacity":[' + json.dumps(CAPACITY).encode() + b"]}"
        )


class Answering(asyncio.Protocol):
    """One connection."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.buffer = b""
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            length = _field(head, b"content-length:")
            total = end + 4 + int(length or 0)
            if len(self.buffer) < total:
                if b"expect: 100-continue" in head and len(self.buffer) == end + 4:
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            body, target = self.buffer[end + 4 : total], _field(self.buffer[:end], b"x-amz-target:")
            path = self.buffer[: self.buffer.find(b"\r\n")]
            self.buffer = self.buffer[total:]
            if b"/freeze" in path:
                self.store.freeze()
            self.transport.write(self.store.answer(target.partition(".")[2], body))


def _field(head: bytes, name: bytes) -> str:
    at = head.lower().find(b"\r\n" + name)
    if at < 0:
        return ""
    start = at + 2 + len(name)
    end = head.find(b"\r\n", start)
    return head[start : end if end > 0 else None].strip().decode()


async def serve(names: list[str]) -> None:
    """Open a port for each library, say which, and stay until standard input ends."""
    loop = asyncio.get_running_loop()
    ports: dict[str, int] = {}
    for name in names:
        store = Store()
        server = await loop.create_server(lambda store=store: Answering(store), "127.0.0.1", 0, backlog=128)
        ports[name] = server.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
