"""A pool of the standard library's HTTP connections to one place.

A request leaves in one piece, so that neither Nagle's algorithm nor a second packet delays it. A connection that
the other side has closed in the meantime is noticed before it is used, and never used again after anything went
wrong on it, an interrupt included: its next answer could be the answer to another question.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol

from tablekit.operations.http_reply import Reply, read_reply

__all__ = ["Exchange", "HttpPool", "Reply", "Unsent", "tls_context"]


class Exchange(Protocol):
    """What sends a request and reads its answer."""

    def exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """POST a body. Raises `Unsent`, or what went wrong once it may have left."""
        ...

    def close(self) -> None:
        """Close the connections that are not in use."""
        ...


class Unsent(Exception):
    """There was no connection to send on: nothing of the request has left this machine.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: OSError | HTTPException) -> None:
        super().__init__(str(reason))
        self.reason = reason


class HttpPool:
    """Connections to one host, shared by threads: each is used by one at a time, the last one used first.

    Parameters:
        host, port: where. path: of each request. tls: the context of an https connection, None for plain http.
        connect_timeout, read_timeout: seconds. size: how many connections are kept; more are opened when they are
            needed, and closed after use. keepalive: let the system probe idle connections.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        path: str = "/",
        tls: ssl.SSLContext | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        size: int = 32,
        keepalive: bool = False,
    ) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._connect_timeout, self._read_timeout = connect_timeout, read_timeout
        self._size = size
        self._keepalive = keepalive
        self._head = f"POST {path} HTTP/1.1\r\n"
        # append and pop of a deque are atomic: no lock, and so none that a fork could leave locked.
        self._idle: deque[_Link] = deque()

    def exchange(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """POST a body and read the whole answer.

        Raises `Unsent` when no connection could be made; an ``OSError`` or an ``HTTPException`` later on.
        """
        payload = self._payload(headers, body)
        link = self._idle_link() or self._open()
        try:
            link.sock.sendall(payload)
            reply, again = read_reply(link.sock)
        except BaseException:
            link.close()
            raise
        if not again or len(self._idle) >= self._size:
            link.close()
        else:
            self._idle.append(link)
        return reply

    def close(self) -> None:
        """Close the connections that are not in use; new ones are opened when the pool is used again."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread took the last one
                return

    def _payload(self, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        head = f"{self._head}{''.join(lines)}content-length: {len(body)}\r\n\r\n"
        # A line break inside a value would be a header, or a request, of somebody else's making.
        ends = len(lines) + 3
        if head.count("\n") != ends or head.count("\r") != ends:
            raise ValueError("A header of the request holds a line break; look at the user agent and the credentials.")
        return head.encode() + body

    def _idle_link(self) -> _Link | None:
        while True:
            try:
                link = self._idle.pop()
            except IndexError:
                return None
            if not link.is_stale():
                return link
            link.close()

    def _open(self) -> _Link:
        timeout = self._connect_timeout
        connection = (
            HTTPConnection(self._host, self._port, timeout=timeout)
            if self._tls is None
            else HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
        )
        try:
            connection.connect()  # it sets TCP_NODELAY
        except (OSError, HTTPException) as error:
            connection.close()
            raise Unsent(error) from error
        except BaseException:
            connection.close()
            raise
        connection.sock.settimeout(self._read_timeout)
        if self._keepalive:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return _Link(connection)


class _Link:
    """One open connection."""

    __slots__ = ("_connection", "_has_input", "sock")

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self.sock: socket.socket = connection.sock
        self._has_input = _watcher(self.sock)

    def is_stale(self) -> bool:
        """Whether there is something to read before anything was asked: an end of file, or an answer too many."""
        return self._has_input()

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def _watcher(sock: socket.socket) -> Callable[[], bool]:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return lambda: bool(poll.poll(0))
    return lambda: bool(select.select([sock], [], [], 0)[0])  # Windows


def tls_context(verify: Any, client_cert: Any = None) -> ssl.SSLContext:
    """The context of an https connection.

    Parameters:
        verify: the file of trusted certificates; False trusts everything. client_cert: botocore's setting: a file, or a
            certificate and its key.
    """
    context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if client_cert:
        given = (client_cert,) if isinstance(client_cert, str) else tuple(client_cert)
        context.load_cert_chain(*given)
    return context
