"""Await requests over connections of our own: the ``.aio`` form of the direct transport.

Where requests go, how they are signed, how an answer is read, which failures are repeated, and what they are called is
the direct transport's own; sockets are aiohttp's, which comes with the extra ``[async]``. Whatever may block (building
the client that places are learnt from, refreshing credentials, a proxy) runs in a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import io
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from http.client import HTTPException
from typing import Any, Final, NamedTuple

from tablekit.errors import RequestError
from tablekit.operations.async_transport import AwaitingPort
from tablekit.operations.attempts import Call

# Sans I/O, these are what both forms of the direct transport have in common.
from tablekit.operations.direct import (
    DirectPort,
    _attempt,  # pyright: ignore[reportPrivateUsage]
    _Failure,  # pyright: ignore[reportPrivateUsage]
)
from tablekit.operations.direct_capture import Place, tables_of
from tablekit.operations.direct_proxy import ProxyExchange, proxies_for, trusted_certificates
from tablekit.operations.direct_retry import Retries
from tablekit.operations.http_pool import Reply, Unsent, tls_context
from tablekit.operations.loops import PerLoop
from tablekit.operations.process import Process
from tablekit.operations.ready_body import encode_body
from tablekit.operations.settings import Settings
from tablekit.operations.signer import Keys
from tablekit.wire.response import FAST_OPERATIONS

__all__ = ["AioDirectPort", "AioExchange"]

_LARGE: Final = 1 << 20
"""Bytes from which aiohttp warns of a body that is given in one piece."""

_KEPT_SECONDS: Final = 12.0
"""How long a connection is kept that nobody uses."""


class AioDirectPort(AwaitingPort):
    """The port of awaited calls that sends by itself: connections for each event loop, shared by all its tasks.

    Parameters:
        settings: how the table is reached; a session in it is botocore's or boto3's, as for synchronous calls.
        open_exchange: makes what sends to a place, in place of aiohttp; for tests.
        on_client: called with each botocore client that is built.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        open_exchange: Callable[[Place], Any] | None = None,
        on_client: Callable[[Any], None] | None = None,
    ) -> None:
        super().__init__(settings)
        self._learner = _Learner(self.settings, open_exchange=open_exchange, on_client=on_client)

    async def aclose(self) -> None:
        """Close the connections of the running loop. The port opens new ones when it is used again."""
        await self._learner.aclose()

    async def _dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        if call.operation not in FAST_OPERATIONS:
            return await asyncio.to_thread(self._learner.dispatch, call, wire, table)
        if call.operation == "TransactWriteItems":
            # A lost answer must not apply the writes twice.
            wire.setdefault("ClientRequestToken", str(uuid.uuid4()))
        sending = _Sending(_OpenCall(call), tables_of(wire), str(uuid.uuid4()), encode_body(wire))
        return await self._repeat(sending, table)

    async def _repeat(self, sending: _Sending, table: str) -> dict[str, Any]:
        retries = Retries(self.settings.max_attempts)
        while True:
            way = self._learner.known(sending.tables)
            if way is None:
                way = await asyncio.to_thread(self._learner.learn, sending.tables)
            ended = await sending.attempt(way, retries.begin())
            if not isinstance(ended, _Failure):
                return retries.succeeded(ended, way.lines.quota)
            pause = retries.pause_after(ended, way.lines.quota)
            if pause is None:
                raise ended.error(sending.call, table) from ended.cause
            await self.sleep(pause)


class _OpenCall(Call):
    """A call whose attempt was opened before the network was waited for: reading the answer opens it no second time.

    Parameters:
        call: the call, whose attempts these are.
    """

    __slots__ = ("waiting",)

    def __init__(self, call: Call) -> None:
        super().__init__(call.operation, fast=call.fast)
        self.attempts = call.attempts
        self.waiting = False

    def open(self) -> None:
        """An attempt is being given to the network, unless that was said already."""
        if not self.waiting:
            super().open()


class _Way(NamedTuple):
    """How requests on some tables go: what one process has of the port, its keys, and the route."""

    lines: Any
    keys: Any
    route: Any


class _Sending(NamedTuple):
    """A request that is being sent."""

    call: _OpenCall
    tables: tuple[str, ...]
    invocation: str
    body: bytes

    async def attempt(self, way: _Way, attempt: str) -> dict[str, Any] | _Failure:
        """Send it once, and read what came of it."""
        headers = way.route.headers(way.keys, self.call.operation, self.invocation, attempt, self.body)
        self.call.open()
        try:
            came: Reply | Exception = await way.route.exchange.exchange(headers, self.body)
        except Exception as error:
            came = error
        self.call.waiting = True
        try:
            answered: Any = _Answered(way.route.place, _Came(came))
            return _attempt(self.call, answered, way.keys, self.invocation, attempt, self.body)
        finally:
            self.call.waiting = False


class _Came(NamedTuple):
    """What came of a request that was already sent."""

    came: Reply | Exception

    def exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """Give the answer, or raise what came in place of one."""
        if isinstance(self.came, Exception):
            raise self.came
        return self.came


class _Answered(NamedTuple):
    """Stands for the route of a request that was already sent."""

    place: Place
    exchange: _Came

    def headers(self, *_: Any) -> dict[str, str]:
        """It was sent with others."""
        return {}


class _Learner(DirectPort):
    """The synchronous port behind the awaited one: it learns the ways, and sends what is no data operation.

    Its methods but `known` may block, and are called in threads.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        open_exchange: Callable[[Place], Any] | None,
        on_client: Callable[[Any], None] | None,
    ) -> None:
        super().__init__(settings, on_client=on_client, open_exchange=open_exchange or self._open_exchange_for)
        self._ways: dict[tuple[Any, tuple[str, ...], Any], Any] = {}
        self._exchanges: list[AioExchange] = []

    def known(self, tables: tuple[str, ...]) -> _Way | None:
        """The way of requests on some tables, when it is known and its keys need no refresh."""
        state = self._state
        if state is None or state[0] is not Process.current:
            return None
        lines = state[1]
        if _is_refresh_due(self._connect().credentials):
            return None
        keys = lines.keys()
        route = self._ways.get((lines, tables, getattr(keys, "account_id", None)))
        return None if route is None else _Way(lines, keys, route)

    def learn(self, tables: tuple[str, ...]) -> _Way:
        """The way of requests on some tables, learnt when it is not known."""
        session = self.settings.session
        if session is not None and inspect.iscoroutinefunction(session.get_credentials):
            raise RequestError(
                "The session of this table is aiobotocore's, and the direct transport takes one of botocore or boto3 "
                "for awaited calls as well."
            )
        lines = self._lines()
        keys = lines.keys()
        route = lines.route(tables, keys)
        self._ways[lines, tables, getattr(keys, "account_id", None)] = route
        return _Way(lines, keys, route)

    def dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        """Send by botocore."""
        return self._dispatch(call, wire, table)

    async def aclose(self) -> None:
        """Close the connections of the running loop, and what all loops share when no other one uses it."""
        for exchange in list(self._exchanges):
            await exchange.aclose()
        if not any(exchange.in_use for exchange in self._exchanges):
            self._exchanges.clear()
            self._ways.clear()
            await asyncio.to_thread(self.close)

    def _open_exchange_for(self, place: Place) -> AioExchange:
        connection = self._connect()
        verify = connection.ca_bundle or trusted_certificates()
        exchange = AioExchange(place, connection.client.meta.config, verify)
        self._exchanges.append(exchange)
        return exchange


def _is_refresh_due(credentials: Any) -> bool:
    # Credentials that do not end have no such method.
    needed = None if isinstance(credentials, Keys) else getattr(credentials, "refresh_needed", None)
    return needed is not None and needed()


class AioExchange:
    """Connections to one place: what of a port is aiohttp's, and nothing else is.

    Parameters:
        place: where. config: the botocore client's config: timeouts, sockets, proxies. verify: the file of trusted
            certificates.
    """

    def __init__(self, place: Place, config: Any, verify: Any) -> None:
        self._place = place
        self._config = config
        self._verify = verify
        proxies = proxies_for(place.url, config)
        self._proxy = ProxyExchange(place.url, proxies, config, verify) if proxies else None
        self._tls: Any = True
        if place.url.startswith("https:") and self._proxy is None:
            self._tls = tls_context(verify, config.client_cert)
        self._sessions = PerLoop(self._build)

    async def exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """POST a body and read the whole answer.

        Raises `Unsent` when no connection could be made; an ``OSError`` or an ``HTTPException`` later on.
        """
        if self._proxy is not None:
            return await asyncio.to_thread(self._proxy.exchange, headers, body)
        send = await self._sessions.get()
        try:
            async with send(headers, body) as response:
                content = await response.read()
        except Exception as error:
            raise _as_standard(error) from error
        return response.status, {name.lower(): value for name, value in response.headers.items()}, content

    @property
    def in_use(self) -> bool:
        """Whether any loop has connections."""
        return len(self._sessions) > 0

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._sessions.aclose()

    def close(self) -> None:
        """Close what belongs to no loop; a loop's connections end with it, or by `aclose`."""
        if self._proxy is not None:
            self._proxy.close()

    async def _build(self, stack: AsyncExitStack) -> Callable[[Mapping[str, str], bytes], Any]:
        http, config = _aiohttp(), self._config
        session = await stack.enter_async_context(
            http.ClientSession(
                connector=http.TCPConnector(
                    limit=config.max_pool_connections, ssl=self._tls, keepalive_timeout=_KEPT_SECONDS
                ),
                # The time in which a request waits for a free socket is no failure to connect.
                timeout=http.ClientTimeout(
                    total=None, sock_connect=config.connect_timeout, sock_read=config.read_timeout
                ),
                # A cookie of a proxy's page must not travel with signed requests, nor may anything be unpacked before
                # its checksum is checked.
                cookie_jar=http.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
            )
        )
        url = importlib.import_module("yarl").URL(self._place.url, encoded=True)

        def send(headers: Mapping[str, str], body: bytes) -> Any:
            data = body if len(body) < _LARGE else io.BytesIO(body)
            return session.post(url, data=data, headers=headers, allow_redirects=False)

        return send


def _aiohttp() -> Any:
    try:
        return importlib.import_module("aiohttp")
    except ImportError:
        raise RequestError('Awaited calls need the extra: pip install "tablekit[async]".') from None


def _as_standard(error: Any) -> Exception:
    """An error of aiohttp as the standard library would have raised it, and any other as it is."""
    http = _aiohttp()
    reason = _no_connection(error, http)
    if reason is not None:
        return Unsent(reason)
    if isinstance(error, http.ServerTimeoutError):
        return TimeoutError(str(error))
    if isinstance(error, http.ClientResponseError):
        return HTTPException(error.message)
    if isinstance(error, http.ClientError) and not isinstance(error, (OSError, ValueError)):
        return ConnectionError(str(error))  # disconnected, or a body that is not whole
    return error  # type: ignore[no-any-return]


def _no_connection(error: Any, http: Any) -> Any:
    """Why no connection could be made; None for an error that came later."""
    # aiohttp 3.9 has no class for it; as a timeout like that of an answer it is told with less certainty.
    if isinstance(error, getattr(http, "ConnectionTimeoutError", ())):
        return TimeoutError("the connection could not be made in time")
    if isinstance(error, http.ClientConnectorCertificateError):
        return error.certificate_error
    return error.os_error if isinstance(error, http.ClientConnectorError) else None
