"""The scripted DynamoDB of `tests.support.stub` under the awaited transports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from botocore.retries.standard import ExponentialBackoff

from tablekit.operations import direct_retry
from tablekit.operations.async_direct import AioDirectPort
from tablekit.operations.async_transport import AioPort, AwaitingPort
from tablekit.operations.settings import Settings
from tests.support.stub import ENDPOINT, StubTransport, _Headers

AWAITED_TRANSPORTS = ("pynamodb", "direct")


class AioStub(StubTransport):
    """Scripted answers for awaited requests.

    Attributes:
        arrived: how many requests came in. most: the largest number that waited for their answers at once.
        answered: how many requests are answered; those that come after them wait. None for all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.arrived = 0
        self.most = 0
        self.answered: int | None = None
        self._waiting = 0

    def aio_port(self, **settings: Any) -> AwaitingPort:
        """An awaited port that is answered from the script; settings as for `Settings`."""
        given = Settings(**{"endpoint_url": ENDPOINT, **settings})
        if given.transport == "direct":
            return AioDirectPort(given, on_client=self.attach, open_exchange=lambda _place: _Exchange(self))
        return _StubbedPort(given, self)

    async def hold(self) -> None:
        """Keep a request waiting for a turn of the loop, or for as long as it is not to be answered."""
        self.arrived += 1
        number = self.arrived
        self._waiting += 1
        self.most = max(self.most, self._waiting)
        try:
            await asyncio.sleep(0)
            while self.answered is not None and number > self.answered:  # noqa: ASYNC110  (the stub has many loops)
                await asyncio.sleep(0.001)
        finally:
            self._waiting -= 1

    async def come(self, number: int) -> None:
        """Wait until so many requests have come in."""
        deadline = time.monotonic() + 10
        while self.arrived < number:
            assert time.monotonic() < deadline, f"{self.arrived} requests came, and not {number}"
            await asyncio.sleep(0)


class _StubbedPort(AioPort):
    def __init__(self, settings: Settings, stub: AioStub) -> None:
        super().__init__(settings)
        self._stub = stub

    async def _build(self, stack: AsyncExitStack) -> Any:
        client = await super()._build(stack)
        client.meta.events.register_last("before-send.dynamodb", self._answer)
        return client

    async def _answer(self, request: Any, **_: Any) -> Any:
        await self._stub.hold()
        headers = request.headers
        reply = self._stub.reply_to(headers["X-Amz-Target"], headers["Authorization"], request.body)
        return _Response(request.url, reply.status, _Headers(reply.headers), reply.body)


class _Response:
    """What aiobotocore takes for an answer."""

    def __init__(self, url: str, status: int, headers: Any, body: bytes) -> None:
        self.url = url
        self.status_code = status
        self.headers = headers
        # Older releases of aiobotocore read the headers from aiohttp's answer.
        self.raw = SimpleNamespace(raw_headers=[(name.encode(), value.encode()) for name, value in headers.items()])
        self._body = body

    @property
    def content(self) -> Awaitable[bytes]:
        async def read() -> bytes:
            return self._body

        return read()


class _Exchange:
    """Stands in place of aiohttp."""

    def __init__(self, stub: AioStub) -> None:
        self._stub = stub

    async def exchange(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        await self._stub.hold()
        reply = self._stub.reply_to(headers["x-amz-target"], headers["authorization"], body)
        return reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.body

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def aio_stub(quick_retries: None) -> Iterator[AioStub]:
    """A scripted DynamoDB for awaited requests, without pauses between attempts."""
    with (
        patch.object(ExponentialBackoff, "delay_amount", lambda _self, _context: 0),
        patch.object(direct_retry, "pause", lambda _number, _code: 0),
    ):
        yield AioStub()
