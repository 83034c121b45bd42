"""A TCP proxy between tablekit and an engine that knows requests, and spoils those it is told to spoil.

with FaultProxy(engine.endpoint_url) as proxy:
    app.connect(endpoint_url=proxy.url, ...)
    proxy.meet("none", "reset after")  # what the next two requests meet; those after them are let through
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
import zlib
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from typing_extensions import Self

__all__ = ["FAULTS", "REFUSED", "FaultProxy"]

# What each fault is, the request being handed on to the engine or not.
FAULTS: Final = {
    "delay": "the answer comes late, and in time",
    "reset before": "the connection is reset, and the engine never had the request",
    "reset after": "the connection is reset when the engine has carried the request out",
    "half an answer": "the connection ends in the middle of the body",
    "cut": "the answer is shorter than JSON, and whole as HTTP",
    "500 before": "an internal error in place of the request",
    "500 after": "an internal error in place of the answer",
    "503 before": "a load balancer's page in place of the request",
    "503 after": "a load balancer's page in place of the answer",
    "portal": "a page with status 200 in place of the request",
    "throttled": "ThrottlingException",
    "over capacity": "ProvisionedThroughputExceededException",
    "unprocessed": "half of a batch is given back; other requests are let through",
    "checksum": "the answer's checksum is another's",
    "black hole before": "no answer, and the engine never had the request",
    "black hole after": "no answer, though the engine has carried the request out",
}

REFUSED: Final = ("throttled", "over capacity")
"""The faults that say that nothing happened."""

_PAGE = b"<html>This is not the page you are looking for.</html>"


@dataclass
class Message:
    """A request or an answer: the first line without its end, headers by lower-case name, the body."""

    first: str
    headers: dict[str, str]
    body: bytes

    def rendered(self) -> bytes:
        """As it goes over the wire."""
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers.items()), "", ""]
        return "\r\n".join(lines).encode() + self.body


class _Ended(Exception):
    """The connection with the client is at its end."""


class FaultProxy:
    """The proxy, in threads of its own while the block runs.

    Parameters:
        url: the engine's.

    Attributes:
        met: how often each fault was met by a request. connections: those that clients hold open now.
    """

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._server = socket.create_server(("127.0.0.1", 0))
        self._plan: deque[str] = deque()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self.met: Counter[str] = Counter()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def meet(self, *faults: str) -> None:
        """What the next requests meet, one each, in place of what was left of an earlier plan."""
        with self._lock:
            self._plan = deque(faults)

    def idle(self, seconds: float) -> bool:
        """Whether all clients have closed their connections, at the latest after that long."""
        deadline = time.monotonic() + seconds
        while self.connections and time.monotonic() < deadline:
            time.sleep(0.005)
        return not self.connections

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Any, *given: Any) -> None:
        thread = threading.Thread(target=work, args=given, daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        assert self._target.hostname is not None
        engine = http.client.HTTPConnection(self._target.hostname, self._target.port, timeout=30)
        try:
            with contextlib.suppress(_Ended, OSError):
                while True:
                    request = _read(connection)
                    self._handle(connection, engine, request)
        finally:
            engine.close()
            self.connections.discard(connection)
            connection.close()

    def _handle(self, connection: socket.socket, engine: http.client.HTTPConnection, request: Message) -> None:
        with self._lock:
            fault = self._plan.popleft() if self._plan else "none"
        if fault.endswith(" before") or fault in ("portal", *REFUSED):
            answer = Message("HTTP/1.1 200 OK", {}, b"")
        elif fault == "unprocessed":
            answer = _in_part(engine, request)
        else:
            answer = _hand_on(engine, request)
        self.met[fault] += 1  # what is handed on has been carried out by now
        self._answer(connection, fault, answer)

    def _answer(self, connection: socket.socket, fault: str, answer: Message) -> None:
        if fault.startswith("reset"):
            # No linger: the client gets a reset, and not an end.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise _Ended
        if fault.startswith("black hole"):
            _wait_for_the_end(connection)
            raise _Ended
        if fault == "delay":
            time.sleep(0.02)
        spoilt = _spoilt(fault, answer).rendered()
        if fault == "half an answer":
            connection.sendall(spoilt[: len(spoilt) - len(answer.body) // 2 - 1])
            raise _Ended
        connection.sendall(spoilt)


def _read(connection: socket.socket) -> Message:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < int(headers.get("content-length", "0")):
        body += _more(connection)
    return Message(first, headers, body)


def _more(connection: socket.socket) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise _Ended
    return part


def _wait_for_the_end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(1 << 16):
            pass


def _hand_on(engine: http.client.HTTPConnection, request: Message) -> Message:
    headers = {**request.headers, "content-length": str(len(request.body))}
    engine.request("POST", "/", body=request.body, headers=headers)
    response = engine.getresponse()
    body = response.read()
    kept = {name.lower(): value for name, value in response.headers.items()}
    for name in ("transfer-encoding", "connection", "keep-alive"):
        kept.pop(name, None)
    kept.update({"content-length": str(len(body)), "x-amz-crc32": str(zlib.crc32(body))})
    return Message(f"HTTP/1.1 {response.status} {response.reason}", kept, body)


def _in_part(engine: http.client.HTTPConnection, request: Message) -> Message:
    """Hand on half of a batch, and give the other half back."""
    operation = request.headers["x-amz-target"].partition(".")[2]
    if operation not in ("BatchWriteItem", "BatchGetItem"):
        return _hand_on(engine, request)
    wire = json.loads(request.body)
    left: dict[str, Any] = {}
    asked: dict[str, Any] = {}
    for table, rows in wire["RequestItems"].items():
        keys = rows if operation == "BatchWriteItem" else rows["Keys"]
        half = len(keys) // 2
        for into, part in ((asked, keys[half:]), (left, keys[:half])):
            if part:
                into[table] = part if operation == "BatchWriteItem" else {**rows, "Keys": part}
    body = json.dumps({**wire, "RequestItems": asked}).encode()
    answer = _hand_on(engine, Message(request.first, request.headers, body))
    member = "UnprocessedItems" if operation == "BatchWriteItem" else "UnprocessedKeys"
    return _with_body(answer, json.dumps({**json.loads(answer.body), member: left}).encode())


def _spoilt(fault: str, answer: Message) -> Message:
    if fault in _INSTEAD:
        return _INSTEAD[fault]
    if fault == "cut":
        return _with_body(answer, answer.body[: len(answer.body) // 2])
    if fault == "checksum":
        return Message(answer.first, {**answer.headers, "x-amz-crc32": "1"}, answer.body)
    return answer


def _with_body(answer: Message, body: bytes) -> Message:
    return Message(answer.first, _headers(body), body)


def _error(status: int, code: str) -> Message:
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "from the proxy"}).encode()
    return Message(f"HTTP/1.1 {status} Error", _headers(body), body)


def _page(status: str) -> Message:
    return Message(f"HTTP/1.1 {status}", {"content-type": "text/html", "content-length": str(len(_PAGE))}, _PAGE)


def _headers(body: bytes) -> dict[str, str]:
    return {
        "content-type": "application/x-amz-json-1.0",
        "content-length": str(len(body)),
        "x-amz-crc32": str(zlib.crc32(body)),
    }


_INSTEAD = {
    "500 before": _error(500, "InternalServerError"),
    "500 after": _error(500, "InternalServerError"),
    "503 before": _page("503 Service Unavailable"),
    "503 after": _page("503 Service Unavailable"),
    "portal": _page("200 OK"),
    "throttled": _error(400, "ThrottlingException"),
    "over capacity": _error(400, "ProvisionedThroughputExceededException"),
}
