"""A port that really suspends, over any synchronous one: what is awaited on it runs as it would on a network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any
from unittest.mock import patch

from tablekit._types import Answer, Port, WireRequest
from tablekit.operations.session import Session


class SuspendingPort:
    """Gives the loop a turn before each request, and sends it by a synchronous port."""

    def __init__(self, inner: Port) -> None:
        self.inner = inner
        self.settings = getattr(inner, "settings", None)

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send after a turn of the loop."""
        await asyncio.sleep(0)
        return await self.inner.send(request, table)

    async def sleep(self, seconds: float) -> None:
        """Pause the task."""
        await asyncio.sleep(0)

    async def wait(self, future: Any) -> Any:
        """Await the future."""
        return await asyncio.wrap_future(future)

    async def gather(self, calls: list[Awaitable[Any]], limit: int) -> list[Any]:
        """Run the calls as tasks."""
        return list(await asyncio.gather(*calls))


def on_a_loop(table: Any, work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine whose awaited calls on `table` go through a port that suspends."""

    def aio_session() -> Session:
        session = table.session()
        return Session(session.registry, SuspendingPort(session.port), session.name, session.capabilities, awaited=True)

    with patch.object(table, "aio_session", aio_session):
        return asyncio.run(work)
