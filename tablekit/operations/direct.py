"""Send requests over connections of our own: the transport that ``connect(transport="direct")`` chooses.

botocore spends half a millisecond on a call. Here a request is rendered, signed and sent by what it needs of that
and no more, in a fifth of the time. What botocore decides once stays botocore's: credentials and their refresh, the
endpoint, the signing region, the user agent and headers added by a session's handlers are learnt from one request that
it builds. Data operations go this way; all others through botocore.

The history of attempts, the errors, the listeners and the outcomes are those of the default transport. One thing
differs: handlers of the botocore session see that first request, and not each one.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from tablekit.errors import RequestError, TablekitError
from tablekit.operations.attempts import ONCE, Call, classify_answer, classify_exception
from tablekit.operations.direct_capture import Place, capture, register_capture, tables_of
from tablekit.operations.direct_proxy import ProxyExchange, proxies_for, trusted_certificates
from tablekit.operations.direct_retry import Quota, Retries, is_retryable
from tablekit.operations.errors_map import (
    attach_history,
    error_of_response,
    invalid_response,
    is_transport_error,
    map_error,
)
from tablekit.operations.process import Process, leave_behind
from tablekit.operations.ready_body import encode_body
from tablekit.operations.settings import Settings
from tablekit.operations.signer import Keys, KeysLike, Signer, Stamp, stamp_at
from tablekit.operations.transport import SyncPort
from tablekit.wire.response import FAST_OPERATIONS, body_problem, is_dynamodb, parse_error

__all__ = ["DirectPort"]


_KEYS_KEPT = 1.0
"""Seconds for which keys are used before the credentials are asked again, which refresh minutes before they end."""


class DirectPort(SyncPort):
    """The port of synchronous calls that sends by itself. It is shared by threads, and every fork has its own part.

    Parameters:
        settings: how the table is reached. sleep: pauses for a number of seconds; for tests.
        on_client: called with each botocore client that is built. open_exchange: makes what sends to a place, in place
            of the pool of connections; for tests.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        on_client: Callable[[Any], None] | None = None,
        open_exchange: Callable[[Place], Any] | None = None,
    ) -> None:
        def prepare(client: Any) -> None:
            register_capture(client.meta.events)
            if on_client is not None:
                on_client(client)

        super().__init__(settings, sleep=sleep, on_client=prepare)
        self._open_exchange = open_exchange
        self._state: tuple[Process, _Lines] | None = None

    def __repr__(self) -> str:
        return f"DirectPort({self.settings!r})"

    def close(self) -> None:
        """Close the connections. The port opens new ones when it is used again."""
        state, self._state = self._state, None
        if state is not None and state[0] is Process.current:
            state[1].close()
        super().close()

    def _dispatch(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        if call.operation not in FAST_OPERATIONS:
            return super()._dispatch(call, wire, table)
        try:
            return self._send_and_retry(call, wire, table)
        except TablekitError:
            raise
        except BaseException as exc:
            if isinstance(exc, Exception) and is_transport_error(exc):
                raise map_error(exc, call.operation, call.attempts, table) from exc
            attach_history(exc, call.attempts)
            raise

    def _lines(self) -> _Lines:
        process = Process.current
        state = self._state
        if state is not None and state[0] is process:
            return state[1]
        connection = self._connect()
        with process.lock:
            state = self._state
            if state is None or state[0] is not process:
                if state is not None:
                    leave_behind(state)
                state = self._state = process, _Lines(connection, self._open_exchange)
            return state[1]

    def _send_and_retry(self, call: Call, wire: dict[str, Any], table: str) -> dict[str, Any]:
        lines = self._lines()
        if call.operation == "TransactWriteItems":
            # botocore would add a token as well: a lost answer must not apply the writes twice.
            wire.setdefault("ClientRequestToken", str(uuid.uuid4()))
        body = encode_body(wire)
        tables = tables_of(wire)
        invocation = str(uuid.uuid4())
        retries = Retries(self.settings.max_attempts)
        while True:
            keys = lines.keys()
            route = lines.route(tables, keys)
            ended = _attempt(call, route, keys, invocation, retries.begin(), body)
            if not isinstance(ended, _Failure):
                return retries.succeeded(ended, lines.quota)
            pause = retries.pause_after(ended, lines.quota)
            if pause is None:
                raise ended.error(call, table) from ended.cause
            self._sleep(pause)


class _Failure(NamedTuple):
    """How an attempt failed.

    Attributes:
        retryable: whether another attempt is worth it. code: why. timeout: whether it was a timeout.
        response: DynamoDB's error answer in botocore's shape. cause: the network's error.
    """

    retryable: bool
    code: str = ""
    timeout: bool = False
    response: Mapping[str, Any] | None = None
    cause: Exception | None = None

    def error(self, call: Call, table: str) -> TablekitError:
        """The error to raise when this was the last attempt."""
        if self.cause is not None:
            return map_error(self.cause, call.operation, call.attempts, table)
        if self.response is not None:
            return error_of_response(self.response, call.operation, call.attempts, table)
        return invalid_response(call.problem, call.operation, call.attempts, table)


def _attempt(
    call: Call, route: _Route, keys: KeysLike, invocation: str, attempt: str, body: bytes
) -> dict[str, Any] | _Failure:
    headers = route.headers(keys, call.operation, invocation, attempt, body)
    call.open()
    try:
        status, answered, content = route.exchange.exchange(headers, body)
    except Exception as error:
        return _network_failure(call, error, route.place.url)
    if status < HTTPStatus.MULTIPLE_CHOICES:
        parsed = call.read(answered, content)
        outcome, reason = classify_answer(status, "", genuine=is_dynamodb(answered))
        call.close(outcome, call.problem or reason)
        if call.problem:
            # Only a read, or a batch whose answer says what is left, may be sent again after DynamoDB's own 200.
            repeat = call.problem == "ChecksumMismatch" and not (outcome == "applied" and call.operation in ONCE)
            return _Failure(repeat, call.problem)
        parsed["ResponseMetadata"] = _metadata(status, answered)
        return parsed
    response = {**parse_error(content, status), "ResponseMetadata": _metadata(status, answered)}
    code = response["Error"]["Code"]
    call.close(*classify_answer(status, code, genuine=is_dynamodb(answered)))
    repeat = is_retryable(status, code) or bool(body_problem(answered, content))
    return _Failure(repeat, code, response=response)


def _metadata(status: int, headers: dict[str, str]) -> dict[str, Any]:
    """What botocore adds to an answer."""
    found: dict[str, Any] = {"HTTPStatusCode": status, "HTTPHeaders": headers, "RetryAttempts": 0}
    request_id = headers.get("x-amzn-requestid")
    if request_id is not None:
        found["RequestId"] = request_id
    return found


def _network_failure(call: Call, error: Exception, url: str) -> _Failure:
    """Close the attempt that a network error ended, and name the error as botocore does. Raises other errors."""
    from botocore import exceptions

    cause = _as_botocore(error, url, exceptions)
    if cause is None:
        raise error
    from tablekit.operations.http_pool import Unsent

    outcome, reason = classify_exception(cause)
    call.close("refused" if isinstance(error, Unsent) else outcome, reason)
    timeout = isinstance(cause, (exceptions.ConnectTimeoutError, exceptions.ReadTimeoutError))
    return _Failure(retryable=True, code=reason, timeout=timeout, cause=cause)


def _as_botocore(error: Exception, url: str, exceptions: Any) -> Any:
    import ssl
    from http.client import HTTPException, IncompleteRead

    from tablekit.operations.http_pool import Unsent

    if isinstance(error, (exceptions.ConnectionError, exceptions.HTTPClientError)):
        return error
    reason: Exception = error.reason if isinstance(error, Unsent) else error
    if isinstance(reason, ssl.SSLError):
        found = exceptions.SSLError(endpoint_url=url, error=reason)
    elif isinstance(reason, TimeoutError):
        kind = exceptions.ConnectTimeoutError if isinstance(error, Unsent) else exceptions.ReadTimeoutError
        found = kind(endpoint_url=url, error=reason)
    elif isinstance(error, Unsent):
        found = exceptions.EndpointConnectionError(endpoint_url=url, error=reason)
    elif isinstance(reason, IncompleteRead):
        found = exceptions.ResponseStreamingError(error=reason)
    elif isinstance(reason, (OSError, HTTPException)):
        found = exceptions.ConnectionClosedError(endpoint_url=url, error=reason, request=None)
    else:
        return None
    found.__cause__ = reason
    return found


class _Route:
    """A place with what signs and what sends the requests to it."""

    __slots__ = ("_signer", "exchange", "place")

    def __init__(self, place: Place, exchange: Any) -> None:
        self.place = place
        self.exchange = exchange
        self._signer = Signer(region=place.region, service=place.service, path=place.path, headers=place.headers)

    def headers(self, keys: KeysLike, operation: str, invocation: str, attempt: str, body: bytes) -> dict[str, str]:
        """All headers of a request but its length."""
        stamp = _stamp(int(time.time()))
        target = f"{self.place.target}.{operation}"
        headers = {
            **self.place.headers,
            "amz-sdk-invocation-id": invocation,
            "amz-sdk-request": attempt,
            "x-amz-date": stamp.moment,
            "x-amz-target": target,
            "authorization": self._signer.authorization(
                keys, stamp, invocation=invocation, attempt=attempt, target=target, body=body
            ),
        }
        if keys.token:
            headers["x-amz-security-token"] = keys.token
        trace = os.environ.get("_X_AMZN_TRACE_ID")
        if trace and "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
            # Lambda changes it with each invocation, and stops endless loops by it.
            headers["x-amzn-trace-id"] = quote(trace, safe="-=;:+&[]{}\"',")
        return headers


@functools.lru_cache(maxsize=4)
def _stamp(second: int) -> Stamp:
    return stamp_at(second)


class _Lines:
    """What one process has of a port: the routes that were learnt, their connections, and the quota of retries."""

    def __init__(self, connection: Any, open_exchange: Callable[[Place], Any] | None) -> None:
        self.quota = Quota()
        self._connection = connection
        self._open = open_exchange if open_exchange is not None else self._open_pool
        self._routes: dict[Any, _Route] = {}
        self._exchanges: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._kept: tuple[float, KeysLike] | None = None

    def keys(self) -> KeysLike:
        """The keys to sign with, refreshed by botocore when they are about to end."""
        credentials = self._connection.credentials
        if isinstance(credentials, Keys):
            return credentials
        now = time.monotonic()
        kept = self._kept
        if kept is None or now - kept[0] > _KEYS_KEPT:
            kept = self._kept = now, credentials.get_frozen_credentials()
        return kept[1]

    def route(self, tables: tuple[str, ...], keys: KeysLike) -> _Route:
        """The route of requests on some tables: none for tables given by name.

        It is learnt once, and again for the keys of another account.
        """
        key = tables, getattr(keys, "account_id", None)
        found = self._routes.get(key)
        if found is None:
            with self._lock:
                found = self._routes.get(key)
                if found is None:
                    found = self._routes[key] = self._learn(tables, keys)
        return found

    def _learn(self, tables: tuple[str, ...], keys: KeysLike) -> _Route:
        client = self._connection.client
        if client.meta.config.endpoint_discovery_enabled is True:
            raise RequestError(
                "The direct transport does not follow endpoint discovery. Switch it off in the configuration of the "
                "session, or connect with transport='pynamodb'."
            )
        place = capture(client, tables or ("a-table",))
        if place.access_key not in (keys.access_key, self._connection_keys().access_key):
            raise RequestError(
                "The session's client signs with other keys than the session's own get_credentials() gives, which are "
                "those the direct transport signs with. Give a session that has its keys, or connect with "
                "transport='pynamodb'."
            )
        exchange = self._exchanges.get(place.url)
        if exchange is None:
            exchange = self._exchanges[place.url] = self._open(place)
        return _Route(place, exchange)

    def _connection_keys(self) -> KeysLike:
        self._kept = None  # they may have been refreshed in between
        return self.keys()

    def _open_pool(self, place: Place) -> Any:
        from tablekit.operations.http_pool import HttpPool, tls_context

        config = self._connection.client.meta.config
        verify = self._connection.ca_bundle or trusted_certificates()
        proxies = proxies_for(place.url, config)
        if proxies:
            return ProxyExchange(place.url, proxies, config, verify)
        url = urlsplit(place.url)
        secure = url.scheme == "https"
        return HttpPool(
            host=url.hostname or "",
            port=url.port or (443 if secure else 80),
            path=url.path or "/",
            tls=tls_context(verify, config.client_cert) if secure else None,
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            size=config.max_pool_connections,
            keepalive=bool(config.tcp_keepalive),
        )

    def close(self) -> None:
        """Close the connections."""
        for exchange in self._exchanges.values():
            exchange.close()
