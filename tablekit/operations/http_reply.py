"""Read one HTTP answer from a connection.

DynamoDB's answers are of one kind: a status line, some headers with the length of the body, and the body. Such an
answer is read here. `http.client` takes as long for it as everything else in a call together, most of it in a parser of
e-mail headers. Whatever is unusual (no length, chunks, an interim answer, folded or doubled headers, another version)
is read by `http.client` all the same, with the bytes that are here already in front.
"""

from __future__ import annotations

import io
from http.client import HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Any, Final

__all__ = ["Reply", "read_reply"]

Reply = tuple[int, dict[str, str], bytes]
"""Status, headers by their names in lower case, and body."""

_PIECE: Final = 1 << 16
_MOST_HEADERS: Final = 100
_WITHOUT_BODY: Final = (204, 304)


def read_reply(sock: Any) -> tuple[Reply, bool]:
    """The answer to a POST, and whether the connection may be used again.

    Parameters:
        sock: a connected socket, on which a request was sent.

    Raises an ``OSError`` or an ``HTTPException``, as `http.client` does.
    """
    begun = sock.recv(_PIECE)
    if not begun:
        raise RemoteDisconnected("Remote end closed connection without response")
    end = begun.find(b"\r\n\r\n")
    head = None if end < 0 else _parsed(begun[:end])
    if head is None:
        return _by_http_client(sock, begun)
    status, headers = head
    missing = int(headers["content-length"]) - (len(begun) - end - 4)
    body = begun[end + 4 :] if missing == 0 else _rest(sock, begun, end + 4, missing)
    # More than was announced is no part of this answer, and must not become the next one's beginning.
    return (status, headers, body), missing >= 0 and "close" not in headers.get("connection", "").lower()


def _rest(sock: Any, begun: bytes, start: int, missing: int) -> bytes:
    """The body whose first part has come."""
    if missing < 0:
        return begun[start:missing]
    here = len(begun) - start
    whole = bytearray(here + missing)
    whole[:here] = begun[start:]
    view = memoryview(whole)
    while here < len(whole):
        count = sock.recv_into(view[here:])
        if not count:
            raise IncompleteRead(bytes(view[:here]), len(whole) - here)
        here += count
    return bytes(whole)


def _parsed(head: bytes) -> tuple[int, dict[str, str]] | None:
    """Status and headers of an answer of the common kind; None for any other."""
    if not head.isascii():
        return None
    first, *lines = head.decode("ascii").split("\r\n")
    version, code = first[:9], first[9:12]
    if version != "HTTP/1.1 " or not code.isdigit() or first[12:13] not in ("", " ") or len(lines) > _MOST_HEADERS:
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.isprintable() or " " in name or "\n" in line or "\r" in line:
            return None
        headers[name.lower()] = value.lstrip(" \t")
    length = headers.get("content-length", "")
    usual = len(headers) == len(lines) and "" not in headers and "transfer-encoding" not in headers
    status = int(code)
    if not usual or not length.isdigit() or status < 200 or status in _WITHOUT_BODY:
        return None
    return status, headers


def _by_http_client(sock: Any, begun: bytes) -> tuple[Reply, bool]:
    response = HTTPResponse(_Begun(sock, begun), method="POST")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    try:
        response.begin()
        content = response.read()
    finally:
        response.close()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return (response.status, headers, content), not response.will_close


class _Begun:
    """What `HTTPResponse` takes for a socket: gives what was read already, and then what comes."""

    def __init__(self, sock: Any, begun: bytes) -> None:
        self._source = _Source(sock, begun)

    def makefile(self, mode: str) -> io.BufferedReader:
        """The stream to read from."""
        return io.BufferedReader(self._source)


class _Source(io.RawIOBase):
    def __init__(self, sock: Any, begun: bytes) -> None:
        super().__init__()
        self._sock = sock
        self._begun = begun

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._begun:
            return int(self._sock.recv_into(buffer))
        part = self._begun[: len(buffer)]
        self._begun = self._begun[len(part) :]
        buffer[: len(part)] = part
        return len(part)
