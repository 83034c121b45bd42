"""Send requests through aiobotocore: the port of awaited calls.

The names, the error map, the attempt history and the reading of answers are those of the synchronous
transport; only waiting differs. aiobotocore is imported on the first call; it comes with the extra ``[async]``.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from tablekit._types import Answer, WireRequest
from tablekit.errors import RequestError, TablekitError
from tablekit.operations.attempts import CURRENT, Call, register
from tablekit.operations.deadline import overdue, time_left
from tablekit.operations.errors_map import attach_history, invalid_response, is_transport_error, map_error
from tablekit.operations.listening import Listening
from tablekit.operations.loops import PerLoop
from tablekit.operations.ready_body import register_bodies
from tablekit.operations.settings import Settings, client_options
from tablekit.wire.requests import table_label

__all__ = ["AioPort", "AwaitingPort"]

_log = logging.getLogger("tablekit.transport")

T = TypeVar("T")


class AwaitingPort(Listening):
    """What the ports of awaited calls have in common: how they pause, wait, and run calls at the same time.

    Parameters:
        settings: how the table is reached.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.settings = settings if settings is not None else Settings()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings!r})"

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send one request to the table of that name and return its answer.

        Raises `ServiceError` or one of its kind, with the history. ``CancelledError`` stays what it is, with
        ``history`` attached: a write that was cancelled while it was sent may have been applied.
        """
        call = Call(request.operation, fast=self.settings.fast_parse)
        wire = request.to_wire(table)
        table = table_label(wire, table)
        self._tell(call.operation, wire)
        try:
            body = await self._in_time(call, wire, table)
        except TablekitError:
            raise
        except BaseException as exc:
            if isinstance(exc, Exception) and is_transport_error(exc):
                raise map_error(exc, call.operation, call.attempts, table) from exc
            attach_history(exc, call.attempts)
            raise
        if call.problem:
            raise invalid_response(call.problem, call.operation, call.attempts, table)
        _log.debug("%s on %s: %d attempts", call.operation, table, len(call.attempts))
        return Answer(body, tuple(call.attempts))

    async def _in_time(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        left = time_left()
        if left is None:
            return await self._dispatch(call, wire, table)
        try:
            return await asyncio.wait_for(self._dispatch(call, wire, table), left)
        except TablekitError:
            raise
        except (TimeoutError, asyncio.TimeoutError) as error:
            if (time_left() or 0.0) > 0:
                raise
            raise overdue(call.operation, table, call.attempts) from error

    @abstractmethod
    async def _dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        """Send it with its retries, and give the parsed body."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections of the running loop. The port opens new ones when it is used again."""

    async def sleep(self, seconds: float) -> None:
        """Pause this task for that many seconds."""
        await asyncio.sleep(seconds)

    async def wait(self, future: Any) -> Any:
        """Wait until a `concurrent.futures.Future` is done, and return its result.

        Shielded: a cancelled waiter must not cancel the work that others wait for as well.
        """
        return await asyncio.shield(asyncio.wrap_future(future))

    async def gather(self, calls: list[Awaitable[T]], limit: int) -> list[T]:
        """Run calls with at most `limit` at once; results in order.

        When one raises, those not begun are dropped, those running are waited for, and the error is raised.
        When this task is cancelled, those running are cancelled too, and ``CancelledError.history`` has the attempts
        of them all.
        """
        results: dict[int, T] = {}
        queue = iter(enumerate(calls))
        failures: list[BaseException] = []

        async def worker() -> None:
            for number, call in queue:
                if failures:
                    _drop(call)
                    continue
                try:
                    results[number] = await call
                except BaseException as error:
                    failures.append(error)
                    if isinstance(error, asyncio.CancelledError):
                        raise

        tasks = [asyncio.ensure_future(worker()) for _ in range(max(1, min(limit, len(calls))))]
        try:
            await asyncio.gather(*tasks)
        except BaseException as error:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for _, call in queue:
                _drop(call)
            attach_history(error, [attempt for failure in failures for attempt in getattr(failure, "history", ())])
            raise
        if failures:
            raise failures[0]
        return [results[number] for number in range(len(calls))]


class AioPort(AwaitingPort):
    """The port of awaited calls: one client for each event loop, shared by all its tasks.

    Parameters:
        settings: how the table is reached; a session in it must be aiobotocore's.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self._clients = PerLoop(self._build)

    async def aclose(self) -> None:
        """Close the connections of the running loop. The port opens new ones when it is used again."""
        await self._clients.aclose()

    async def _dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        token = CURRENT.set(call)
        try:
            client = await self._clients.get()
            body: dict[str, Any] = await getattr(client, _method(call.operation))(**wire)
            return body
        finally:
            CURRENT.reset(token)

    async def _build(self, stack: AsyncExitStack) -> Any:
        settings = self.settings
        session = _session(settings)
        options = client_options(
            settings,
            has_region=bool(session.get_config_variable("region")),
            has_credentials=bool(settings.static_keys) or await session.get_credentials() is not None,
        )
        client = await stack.enter_async_context(
            session.create_client("dynamodb", endpoint_url=settings.endpoint_url, config=_config(settings), **options)
        )
        register(client.meta.events)
        register_bodies(client.meta.events)
        return client


def _drop(call: Awaitable[Any]) -> None:
    # A coroutine that is dropped unclosed warns that it was never awaited.
    if isinstance(call, Coroutine):
        call.close()


def _session(settings: Settings) -> Any:
    try:
        sessions = importlib.import_module("aiobotocore.session")
    except ImportError:
        raise RequestError('Awaited calls need the extra: pip install "tablekit[async]".') from None
    if settings.session is None:
        session = sessions.AioSession(profile=settings.profile)
        if settings.is_local:
            # An engine on this machine takes any keys: asking the metadata service for some would cost seconds.
            session.get_component("credential_provider").remove("iam-role")
        return session
    if not isinstance(settings.session, sessions.AioSession):
        raise RequestError(
            "The session of this table is a synchronous one, which an event loop cannot wait for. Give an aiobotocore "
            "session to app.aio.connect(session=...), or a profile, or keys."
        )
    return settings.session


def _config(settings: Settings) -> Any:
    config = importlib.import_module("aiobotocore.config")
    return config.AioConfig(
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        max_pool_connections=settings.max_pool_connections,
        retries={"total_max_attempts": settings.max_attempts, "mode": settings.retry_mode},
        parameter_validation=False,
    )


@functools.cache
def _method(operation: str) -> str:
    name: str = importlib.import_module("botocore").xform_name(operation)
    return name
