"""A DynamoDB that is scripted: everything of botocore runs but the socket.

What no engine produces is tested with it: throttles, 5xx answers, lost answers, foreign pages, bad checksums.

    stub = StubTransport()
    stub.script("GetItem", lost(), ok({"Item": {...}}))
    port = stub.port()
    ...
    stub.requests  # what was sent, checked against botocore's service model
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import botocore.endpoint
import botocore.exceptions
import pytest
from botocore.awsrequest import AWSResponse

from tablekit.operations.direct import DirectPort
from tablekit.operations.direct_capture import Place
from tablekit.operations.transport import Settings, SyncPort
from tests.support.transports import TRANSPORT
from tests.support.validation import input_shape, validate_request

ENDPOINT = "http://127.0.0.1:1"
"""Nothing listens there: a request that slips past the stub fails at once."""


@dataclass
class Reply:
    """What the scripted DynamoDB does with one attempt: an answer, or an exception in place of one."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    raises: BaseException | None = None


Responder = Callable[[dict[str, Any]], Reply]


def ok(body: dict[str, Any] | None = None, **headers: str) -> Reply:
    """DynamoDB's own 200; bytes in the body are sent in base64, and the checksum is right."""
    raw = json.dumps(body or {}, default=_base64).encode()
    return Reply(200, raw, {**_dynamodb_headers(raw), **headers})


def error(code: str, status: int = 400, message: str = "scripted", **fields: Any) -> Reply:
    """DynamoDB's own error, with its modelled fields, such as ``Item`` or ``CancellationReasons``."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **fields}
    raw = json.dumps(body, default=_base64).encode()
    return Reply(status, raw, _dynamodb_headers(raw))


def page(status: int = 200, text: str = "<html>Please sign in</html>") -> Reply:
    """The page of a proxy or a captive portal, which never was at DynamoDB."""
    return Reply(status, text.encode(), {"content-type": "text/html"})


def cut(body: dict[str, Any]) -> Reply:
    """DynamoDB's own 200 whose body ends in the middle and brings no checksum."""
    raw = ok(body).body
    return Reply(200, raw[: len(raw) // 2], {"content-type": "application/x-amz-json-1.0"})


def bad_checksum(body: dict[str, Any]) -> Reply:
    """DynamoDB's own 200 whose body is readable and not what DynamoDB sent."""
    return ok(body, **{"x-amz-crc32": "1"})


def raises(exception: BaseException) -> Reply:
    """No answer: the exception comes out of the network."""
    return Reply(raises=exception)


def lost() -> Reply:
    """The answer is lost: the read times out."""
    return raises(botocore.exceptions.ReadTimeoutError(endpoint_url=ENDPOINT))


def closed() -> Reply:
    """The answer is lost: the connection is closed."""
    return raises(botocore.exceptions.ConnectionClosedError(endpoint_url=ENDPOINT))


def unconnected() -> Reply:
    """The request never left: the connection could not be made in time."""
    return raises(botocore.exceptions.ConnectTimeoutError(endpoint_url=ENDPOINT))


class StubTransport:
    """Scripted answers by operation, and the requests that came.

    Attributes:
        requests: operation and wire dict of each attempt, in order, with bytes as bytes.
        keys: the access key id that signed each attempt.
        clients: the botocore clients it is attached to. places: where the direct transport opened connections.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self.clients: list[Any] = []
        self.places: list[Place] = []
        self._scripts: dict[str, deque[Reply | Responder]] = defaultdict(deque)
        self._always: dict[str, Reply | Responder] = {}

    def script(self, operation: str, *replies: Reply | Responder) -> None:
        """What the next attempts of an operation are answered, one reply each; a function is given the request."""
        self._scripts[operation].extend(replies)

    def always(self, operation: str, reply: Reply | Responder) -> None:
        """What an operation is answered once its script is at its end."""
        self._always[operation] = reply

    def sent(self, operation: str) -> list[dict[str, Any]]:
        """The requests of one operation."""
        return [wire for name, wire in self.requests if name == operation]

    def port(self, **settings: Any) -> SyncPort:
        """A port whose client answers from the script; settings as for `Settings`."""
        given = Settings(**{"endpoint_url": ENDPOINT, "transport": TRANSPORT, **settings})
        if given.transport == "direct":
            return DirectPort(given, on_client=self.attach, sleep=_no_pause, open_exchange=self.exchange_at)
        return SyncPort(given, on_client=self.attach, sleep=_no_pause)

    def exchange_at(self, place: Place) -> StubExchange:
        """What stands in place of the direct transport's connections to a place."""
        self.places.append(place)
        return StubExchange(self)

    def attach(self, client: Any) -> None:
        """Put the script between a botocore DynamoDB client and its socket."""
        self.clients.append(client)
        # After tablekit's own handler, which has to see the attempt begin.
        client.meta.events.register_last("before-send.dynamodb", self._answer)

    def _answer(self, request: Any, **_: Any) -> AWSResponse:
        reply = self.reply_to(request.headers["X-Amz-Target"], request.headers["Authorization"], request.body)
        return AWSResponse(request.url, reply.status, _Headers(reply.headers), _Raw(reply.body))

    def reply_to(self, target: Any, authorization: Any, body: bytes) -> Reply:
        """What a request is answered; raises what its reply raises."""
        operation = _text(target).partition(".")[2]
        wire = _with_bytes(json.loads(body), input_shape(operation))
        validate_request(operation, wire)
        self.requests.append((operation, wire))
        self.keys.append(_text(authorization).partition("Credential=")[2].partition("/")[0])
        reply = self._next(operation)
        reply = reply if isinstance(reply, Reply) else reply(wire)
        if reply.raises is not None:
            raise reply.raises
        return reply

    def _next(self, operation: str) -> Reply | Responder:
        script = self._scripts[operation]
        if script:
            return script.popleft()
        assert operation in self._always, f"{operation} was sent once more than scripted"
        return self._always[operation]


class StubExchange:
    """Stands in place of the direct transport's connections.

    Attributes:
        headers: of each request.
    """

    def __init__(self, stub: StubTransport) -> None:
        self._stub = stub
        self.headers: list[dict[str, str]] = []

    def exchange(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """The scripted answer."""
        self.headers.append(headers)
        reply = self._stub.reply_to(headers["x-amz-target"], headers["authorization"], body)
        return reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.body

    def close(self) -> None:
        """Nothing is open."""


def _no_pause(_seconds: float) -> None:
    """Tests do not wait."""


@pytest.fixture
def stub(quick_retries: None) -> StubTransport:
    """A scripted DynamoDB."""
    return StubTransport()


@pytest.fixture
def quick_retries() -> Iterator[None]:
    """Botocore's retries without the pauses between them."""
    with patch.object(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _seconds: None)):
        yield


class _Headers(dict[str, str]):
    """Headers that are found in any case, as urllib3's are."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.lower(), default)


class _Raw:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _dynamodb_headers(raw: bytes) -> dict[str, str]:
    return {
        "content-type": "application/x-amz-json-1.0",
        "x-amzn-requestid": "scripted-request",
        "x-amz-crc32": str(zlib.crc32(raw)),
    }


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode()


def _text(header: Any) -> str:
    return header.decode() if isinstance(header, bytes) else str(header)


def _with_bytes(value: Any, shape: Any) -> Any:
    """A request's JSON with its binary values decoded, by the service model."""
    if shape.type_name == "structure":
        return {name: _with_bytes(inner, shape.members[name]) for name, inner in value.items()}
    if shape.type_name == "map":
        return {name: _with_bytes(inner, shape.value) for name, inner in value.items()}
    if shape.type_name == "list":
        return [_with_bytes(inner, shape.member) for inner in value]
    return base64.b64decode(value) if shape.type_name == "blob" else value
