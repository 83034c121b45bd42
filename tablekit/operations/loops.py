"""What belongs to one event loop: sockets work only in the loop they were opened in, and end with it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from tablekit.operations.process import Process, leave_behind

__all__ = ["PerLoop"]


class _Opened:
    """What one event loop has, and what closes it."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.value: Any = None
        self.stack = AsyncExitStack()
        self.closer: AsyncGenerator[None, None] | None = None
        self.process = Process.current

    async def open(self, build: Callable[[AsyncExitStack], Awaitable[Any]]) -> Any:
        """It, built once however many tasks ask at the same time."""
        async with self.lock:
            if self.value is None:
                value = await build(self.stack)
                self.closer = _close_with_loop(self.stack)
                await self.closer.__anext__()
                self.value = value
        return self.value

    async def close(self) -> None:
        """Close it."""
        self.value = None
        if self.closer is not None:
            await self.closer.aclose()
            self.closer = None


async def _close_with_loop(stack: AsyncExitStack) -> AsyncGenerator[None, None]:
    # asyncio.run() ends the async generators that are open before it closes the loop: the one hook by which a
    # client that nobody closed still gives its sockets back in its own loop.
    try:
        yield
    finally:
        await stack.aclose()


class PerLoop:
    """One client for each event loop, built when it is first asked for.

    Parameters:
        build: makes it in the running loop, and puts on the stack what closes it.
    """

    def __init__(self, build: Callable[[AsyncExitStack], Awaitable[Any]]) -> None:
        self._build = build
        self._opened: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Opened] = weakref.WeakKeyDictionary()

    async def get(self) -> Any:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        opened = self._opened.get(loop)
        # A forked child must not share its parent's sockets: it would read answers to the parent's questions.
        if opened is None or opened.process is not Process.current:
            if opened is not None:
                leave_behind(opened)
            opened = self._opened[loop] = _Opened()
        return opened.value if opened.value is not None else await opened.open(self._build)

    async def aclose(self) -> None:
        """Close the running loop's own; the next `get` builds another."""
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None and opened.process is Process.current:
            await opened.close()

    def __len__(self) -> int:
        return sum(opened.value is not None for opened in self._opened.values())
