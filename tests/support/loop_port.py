"""A port for synchronous calls that sends through the asynchronous transport, on a loop of its own.

With it every test of the synchronous faces is a test of the awaited transport too: the operations are the same
coroutines, and only the port differs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Coroutine
from typing import Any

from tablekit._types import Answer, WireRequest
from tablekit.operations.async_transport import AioPort
from tablekit.operations.driver import run


class LoopPort:
    """Runs each request of a thread on one event loop, and waits for it there."""

    def __init__(self, port: AioPort) -> None:
        self.port = port
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="loop-port", daemon=True)
        self._thread.start()

    def _finish(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send through the asynchronous transport."""
        answer: Answer = self._finish(self.port.send(request, table))
        return answer

    async def sleep(self, seconds: float) -> None:
        """Pause this thread."""
        time.sleep(seconds)

    async def wait(self, future: Any) -> Any:
        """Block this thread until the future is done."""
        return future.result()

    async def gather(self, calls: list[Awaitable[Any]], limit: int) -> list[Any]:
        """Run the calls at the same time on the loop, each in a thread that the loop waits for."""

        async def one(call: Awaitable[Any]) -> Any:
            context = contextvars.copy_context()
            return await asyncio.to_thread(context.run, run, _awaited(call))

        gathered: list[Any] = self._finish(self.port.gather([one(call) for call in calls], limit))
        return gathered

    def close(self) -> None:
        """Close the connections and end the loop."""
        self._finish(self.port.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call
