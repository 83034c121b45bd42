"""A port for synchronous calls that sends through the asynchronous transport, on a loop of its own.

With it every test of the synchronous faces is a test of the awaited transport too: the operations are the same
coroutines, and only the port differs. ``TABLEKIT_TEST_TRANSPORT=aio`` puts it under the tables of the fixtures.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from tablekit._types import Answer, WireRequest
from tablekit.operations.async_transport import AwaitingPort
from tablekit.operations.binding import aio_port_of
from tablekit.operations.driver import run
from tablekit.operations.transport import Settings, SyncPort

# A call that waits for the loop holds a thread; calls of calls must find one as well.
_THREADS = 64


class LoopPort:
    """Runs each request of a thread on one event loop, and waits for it there.

    Parameters:
        port: the awaited port.
    """

    def __init__(self, port: AwaitingPort) -> None:
        self.port = port
        self.settings = port.settings
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="loop-port"))
        self._thread = threading.Thread(target=self.loop.run_forever, name="loop-port", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, **options: Any) -> LoopPort:
        """The port over the awaited transport that `Table.connect` would make of some options."""
        return cls(cast("AwaitingPort", aio_port_of(Settings(**options))))

    @property
    def client(self) -> Any:
        """A synchronous botocore client of the same settings: what tests use to look past tablekit."""
        return SyncPort(self.settings).client

    def on_request(self, listener: Callable[[str, dict[str, Any]], None]) -> Callable[[], None]:
        """Call `listener` with each request; the result takes it off again."""
        return self.port.on_request(listener)

    def _finish(self, work: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupt of this thread ends its request too
            raise

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send through the asynchronous transport."""
        answer: Answer = self._finish(self.port.send(request, table))
        return answer

    async def sleep(self, seconds: float) -> None:
        """Pause this thread."""
        time.sleep(seconds)  # noqa: ASYNC251 - this coroutine blocks a thread and no loop

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
        if self.loop.is_closed():
            return
        self._finish(self.port.aclose())
        self._finish(self.loop.shutdown_asyncgens())
        self._finish(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _awaited(call: Awaitable[Any]) -> Any:
    return await call
