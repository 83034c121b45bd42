"""One table as operations see it: a name, a port, and what watches the requests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol, TypeVar, cast

import attrs

from tablekit._types import Answer, Port
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import ServiceError
from tablekit.operations.calls import calling, watched
from tablekit.operations.deadline import overdue, time_left
from tablekit.operations.observe import (
    WRITES,
    AnyRequest,
    Meter,
    active_meters,
    dry_run_of,
    observed,
)
from tablekit.wire.requests import BatchRequest, Request, TransactionRequest
from tablekit.wire.response import FAST_OPERATIONS

__all__ = ["Capabilities", "Session", "SessionSource", "session_for"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Capabilities:
    """What the engine behind an endpoint can do, where it is not DynamoDB itself.

    Parameters:
        old_item: a failed condition returns the stored item. Without it, tablekit reads the row to say why.
        transactions: TransactWriteItems and TransactGetItems are there.
        index_capacity: ``ReturnConsumedCapacity=INDEXES`` is understood. ttl: tables have a time to live.
    """

    old_item: bool = True
    transactions: bool = True
    index_capacity: bool = True
    ttl: bool = True


class Session:
    """One table, under one name, through one port.

    Parameters:
        registry: the table's definition. port: how requests leave. name: the physical table's name.
        capabilities: what the engine can do. awaited: whether the calls are awaited in an event loop.
    """

    __slots__ = ("awaited", "capabilities", "listeners", "name", "port", "registry")

    def __init__(
        self,
        registry: TableDefinition,
        port: Port,
        name: str,
        capabilities: Capabilities,
        listeners: list[Callable[[str, dict[str, Any]], Any]] | None = None,
        *,
        awaited: bool = False,
    ) -> None:
        self.registry = registry
        self.port = port
        self.name = name
        self.capabilities = capabilities
        self.listeners = listeners if listeners is not None else []
        self.awaited = awaited

    async def send(self, request: AnyRequest) -> Answer:
        """Send a request, or record it when a dry run holds writes back."""
        if request.operation in WRITES:
            plan = dry_run_of(self.registry)
            if plan is not None:
                plan.record(request, self.name, self.registry)
                return Answer({}, sent=False)
        if watched(self.registry):
            # A call that says nothing of itself is seen as the request that it sends.
            with calling(self.registry, self.name, request.operation, (request.entity,) if request.entity else ()):
                return await self._send(request)
        return await self._send(request)

    async def _send(self, request: AnyRequest) -> Answer:
        left = time_left()
        if left is not None and left <= 0:
            raise overdue(request.operation, self.name)
        meters = active_meters(self.registry)
        request = self.prepared(request)
        for listener in self.listeners:
            listener(request.operation, request.to_wire(self.name))
        if not meters:
            return await self.port.send(request, self.name)
        return await self._metered(request, meters)

    def prepared(self, request: AnyRequest) -> AnyRequest:
        """A request as it is sent: a meter asks for the capacity of each index."""
        if not self.capabilities.index_capacity or not active_meters(self.registry):
            return request
        # Operations on tables take no such member, and are billed nothing.
        return _with_index_capacity(request) if request.operation in FAST_OPERATIONS else request

    async def _metered(self, request: AnyRequest, meters: tuple[Meter, ...]) -> Answer:
        began = time.perf_counter()
        body: dict[str, Any] = {}
        error: str | None = None
        attempts = 1
        try:
            answer = await self.port.send(request, self.name)
            body, attempts = answer.body, len(answer.attempts) or 1
        except ServiceError as failure:
            error, attempts = failure.code, len(failure.history) or 1
            raise
        except BaseException as stopped:
            error = type(stopped).__name__
            raise
        else:
            return answer
        finally:
            seconds = time.perf_counter() - began
            seen = observed(request, self.name, self.registry, body, attempts=attempts, seconds=seconds, error=error)
            for meter in meters:
                meter.observe(seen)

    async def rest(self, seconds: float) -> bool:
        """Pause for some seconds; False, and at once, where the deadline comes first."""
        left = time_left()
        if left is not None and left <= seconds:
            return False
        await self.port.sleep(seconds)
        return True

    async def wait(self, future: Any) -> Any:
        """Wait for what another thread or task completes. Raises `DeadlineExceeded` where the deadline comes first."""
        left = time_left()
        if left is None:
            return await self.port.wait(future)
        if self.awaited:
            import asyncio

            # It is waited for and not cancelled: the work goes on for those who have the time.
            await asyncio.wait([asyncio.wrap_future(future)], timeout=max(0.0, left))
        else:
            from concurrent.futures import wait

            wait([future], max(0.0, left))
        if not future.done():
            raise overdue("GetItem", self.name)
        return future.result()

    async def gather(self, calls: Sequence[Awaitable[T]], limit: int) -> list[T]:
        """Run calls with at most `limit` at once, and return their results in order."""
        return await self.port.gather(list(calls), limit)

    def now(self) -> datetime:
        """The time that this write carries, aware and in UTC."""
        return datetime.now(timezone.utc)


def _with_index_capacity(request: AnyRequest) -> AnyRequest:
    if isinstance(request, Request):
        return request.replace(ReturnConsumedCapacity="INDEXES")
    if isinstance(request, BatchRequest):
        return BatchRequest(request.operation, request.items, capacity="INDEXES", secrets=request.secrets)
    return TransactionRequest(
        request.operation, request.actions, token=request.token, capacity="INDEXES", secrets=request.secrets
    )


class SessionSource(Protocol):
    """What a table's face offers to the operations below it."""

    def session(self) -> Session:
        """The session of synchronous calls."""
        ...

    def aio_session(self) -> Session:
        """The session of the running event loop."""
        ...


def session_for(schema: EntitySchema, *, aio: bool = False) -> Session:
    """The present session of an entity's table."""
    source = cast(SessionSource, schema.registry)
    return source.aio_session() if aio else source.session()
