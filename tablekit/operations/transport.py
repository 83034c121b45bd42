"""Send requests through pynamodb's connection: the only module that imports pynamodb.connection and botocore.

Both are imported on the first call, so that defining entities stays cheap. botocore's and pynamodb's own DEBUG
loggers print whole requests and answers; tablekit's, named ``tablekit.transport``, prints no values.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from tablekit._types import Answer, WireRequest
from tablekit.errors import TablekitError
from tablekit.operations.attempts import CURRENT, Call, register
from tablekit.operations.deadline import in_time, overdue, time_left
from tablekit.operations.driver import run
from tablekit.operations.errors_map import attach_history, invalid_response, is_transport_error, map_error
from tablekit.operations.listening import Listener, Listening
from tablekit.operations.process import Process, leave_behind
from tablekit.operations.ready_body import register_bodies
from tablekit.operations.settings import Settings, client_options
from tablekit.operations.signer import Keys
from tablekit.wire.requests import table_label

__all__ = ["Listener", "Settings", "SyncPort"]

_log = logging.getLogger("tablekit.transport")

T = TypeVar("T")


class SyncPort(Listening):
    """The port of synchronous calls: it never suspends, and may be shared by any number of threads.

    Parameters:
        settings: how the table is reached.
        sleep: pauses for a number of seconds; for tests.
        on_client: called with each botocore client that is built, the first one and one after a fork.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        on_client: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings if settings is not None else Settings()
        self._sleep = sleep
        self._on_client = on_client
        self._built: tuple[Process, Any] | None = None

    def __repr__(self) -> str:
        return f"SyncPort({self.settings!r})"

    @property
    def client(self) -> Any:
        """The botocore client, built when first asked for. Raises `ServiceError` when it cannot be."""
        try:
            return self._connect().client
        except Exception as exc:
            if is_transport_error(exc):
                raise map_error(exc, "Connect") from exc
            raise

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send one request to the table of that name and return its answer.

        botocore retries throttles, 5xx answers and connection errors; the answer tells what became of each
        attempt. Raises `ServiceError` or one of its kind, with the history. ``KeyboardInterrupt`` stays what
        it is, with ``history`` attached.
        """
        call = Call(request.operation, fast=self.settings.fast_parse)
        wire = request.to_wire(table)
        table = table_label(wire, table)
        self._tell(call.operation, wire)
        started = time.perf_counter()
        body = self._in_time(call, wire, table)
        _log.debug(
            "%s on %s: %d attempts, %.1f ms",
            call.operation,
            table,
            len(call.attempts),
            (time.perf_counter() - started) * 1000,
        )
        return Answer(body, tuple(call.attempts))

    async def sleep(self, seconds: float) -> None:
        """Block this thread for that many seconds."""
        self._sleep(seconds)

    async def wait(self, future: Any) -> Any:
        """Block this thread until the future is done, and return its result."""
        return future.result()

    async def gather(self, calls: list[Awaitable[T]], limit: int) -> list[T]:
        """Run calls in at most `limit` threads, each in a copy of this thread's context; results in order.

        When one raises, those not begun are dropped, those running are waited for, and the error is raised.
        """
        if limit <= 1 or len(calls) <= 1:
            return await _in_turn(calls)
        with ThreadPoolExecutor(min(limit, len(calls)), thread_name_prefix="tablekit") as pool:
            futures = [pool.submit(contextvars.copy_context().run, _finish, call) for call in calls]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:
                _drop(calls, futures)
                raise
            failed = next((future for future in futures if future in done and future.exception()), None)
            if failed is not None:
                _drop(calls, futures)
        return [future.result() for future in (futures if failed is None else [failed])]

    def close(self) -> None:
        """Close the connections. The port builds a new client when it is used again."""
        built, self._built = self._built, None
        if built is not None and built[0] is Process.current:
            built[1].client.close()

    def _in_time(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        left = time_left()
        if left is None:
            return self._dispatch(call, wire, table)
        # No client takes a time-out for the whole of one call, with its retries and their pauses.
        try:
            return in_time(left, lambda: self._dispatch(call, wire, table))
        except TablekitError:
            raise
        except TimeoutError as error:
            raise overdue(call.operation, table, call.attempts) from error
        except BaseException as error:
            attach_history(error, call.attempts)
            raise

    def _dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        token = CURRENT.set(call)
        try:
            # A copy: listeners may keep the wire form, and the parameters are taken apart on their way.
            body: dict[str, Any] = self._connect().dispatch(call.operation, dict(wire))
        except BaseException as exc:
            if isinstance(exc, Exception) and is_transport_error(exc):
                raise map_error(exc, call.operation, call.attempts, table) from exc
            attach_history(exc, call.attempts)
            raise
        finally:
            CURRENT.reset(token)
        if call.problem:
            raise invalid_response(call.problem, call.operation, call.attempts, table)
        return body

    def _connect(self) -> Any:
        process = Process.current
        built = self._built
        if built is not None and built[0] is process:
            return built[1]
        with process.lock:
            built = self._built
            if built is None or built[0] is not process:
                if built is not None:
                    leave_behind(built)
                built = process, _build_connection(self.settings, self._on_client)
                self._built = built
            return built[1]


async def _in_turn(calls: Sequence[Awaitable[T]]) -> list[T]:
    results: list[T] = []
    try:
        for call in calls:
            results.append(await call)  # noqa: PERF401 - a failure must know how far it came
    except BaseException:
        for call in calls[len(results) + 1 :]:
            _close(call)
        raise
    return results


async def _awaited(call: Awaitable[T]) -> T:
    return await call


def _finish(call: Awaitable[T]) -> T:
    return run(_awaited(call))


def _drop(calls: Sequence[Awaitable[Any]], futures: Sequence[Future[Any]]) -> None:
    for call, future in zip(calls, futures, strict=True):
        if future.cancel():
            _close(call)


def _close(call: Awaitable[Any]) -> None:
    # A coroutine that is dropped unclosed warns that it was never awaited.
    if isinstance(call, Coroutine):
        call.close()


def _build_connection(settings: Settings, on_client: Callable[[Any], None] | None) -> Any:
    session = settings.session if settings.session is not None else _own_session(settings)
    # Everything is passed, so that the global settings file of pynamodb changes nothing.
    connection = _connection_class()(
        host=settings.endpoint_url,
        connect_timeout_seconds=settings.connect_timeout,
        read_timeout_seconds=settings.read_timeout,
        max_retry_attempts=settings.max_attempts - 1,
        retry_configuration={"total_max_attempts": settings.max_attempts, "mode": settings.retry_mode},
        max_pool_connections=settings.max_pool_connections,
        extra_headers={},
    )
    credentials = None if settings.static_keys else session.get_credentials()
    options = client_options(
        settings,
        has_region=bool(_session_region(session)),
        has_credentials=bool(settings.static_keys) or credentials is not None,
    )
    connection.credentials = credentials if credentials is not None else _static(options)
    connection.ca_bundle = _ca_bundle(session)
    connection.region = options.pop("region_name")
    connection.factory = _ClientFactory(session, options)
    client = connection.client
    register(client.meta.events)
    register_bodies(client.meta.events)
    if on_client is not None:
        on_client(client)
    return connection


def _session_region(session: Any) -> str | None:
    # A boto3 session has the first, a botocore session the second.
    found: str | None = (
        session.region_name if hasattr(session, "region_name") else session.get_config_variable("region")
    )
    return found


def _static(options: Mapping[str, Any]) -> Keys:
    return Keys(options["aws_access_key_id"], options["aws_secret_access_key"], options.get("aws_session_token"))


def _ca_bundle(session: Any) -> str | None:
    # botocore reads the setting from the environment and from the profile; boto3 hides the session that knows it.
    inner = session if hasattr(session, "get_config_variable") else getattr(session, "_session", None)
    found: str | None = None if inner is None else inner.get_config_variable("ca_bundle")
    return found or os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE")


def _own_session(settings: Settings) -> Any:
    import botocore.session

    session: Any = botocore.session.Session(profile=settings.profile)
    if settings.is_local:
        # An engine on this machine takes any keys: asking the metadata service for some would cost seconds.
        session.get_component("credential_provider").remove("iam-role")
    return session


class _ClientFactory:
    """What pynamodb takes for its session: makes the client from the session that was given."""

    def __init__(self, session: Any, options: dict[str, Any]) -> None:
        self._session = session
        self._options = options

    def create_client(self, service: str, region: str | None, *, endpoint_url: str | None, config: Any) -> Any:
        create = getattr(self._session, "create_client", None) or self._session.client  # botocore, boto3
        return create(service, region_name=region, endpoint_url=endpoint_url, config=config, **self._options)


@functools.cache
def _connection_class() -> Any:
    """Make the connection class, once pynamodb is needed."""
    from pynamodb.connection import Connection

    class SessionConnection(Connection):
        """A connection that makes its client from the session it was given."""

        factory: _ClientFactory
        credentials: Any
        ca_bundle: str | None

        @property
        def session(self) -> Any:
            return self.factory

        def get_consumed_capacity_map(self, return_consumed_capacity: str) -> dict[str, str]:
            # dispatch() would add ReturnConsumedCapacity to requests that do not ask for it.
            return {}

    return SessionConnection
