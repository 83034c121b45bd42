"""The direct transport, awaited, over real sockets: what aiohttp must not do by itself, and what ends a connection."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import threading
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import botocore.credentials
import botocore.session
import pytest

from tablekit.errors import ConnectionFailed, InvalidResponse, RequestError, ServiceError
from tablekit.operations.async_direct import AioDirectPort
from tablekit.operations.settings import Settings
from tests.support.calls import get, history, put

CERTIFICATE = Path(__file__).parent.parent / "support" / "tls" / "localhost.pem"
KEYS: dict[str, Any] = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
DYNAMODB = {"content-type": "application/x-amz-json-1.0"}
ITEM = b'{"Item":{"PK":{"S":"k"}}}'


def answer(body: bytes = ITEM, status: str = "200 OK", **headers: str) -> bytes:
    """An HTTP answer, as bytes."""
    given = {**DYNAMODB, "content-length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


class Server:
    """Answers requests with what it was given, in order, the last one again and again; b"" ends the connection.

    Attributes:
        heads: the head of each request. connections: how many were opened.
    """

    def __init__(self, *answers: bytes | None) -> None:
        self._answers = list(answers)
        self.heads: list[str] = []
        self.connections = 0
        self.url = ""

    async def run(self, work: Callable[[Server], Coroutine[Any, Any, Any]], tls: Any = None) -> Any:
        """Serve while some work runs."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{server.sockets[0].getsockname()[1]}"
        try:
            return await work(self)
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                self.heads.append(head)
                await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
                given = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                if given is None:
                    await asyncio.sleep(5)
                writer.write(given or b"")
                if not given or b"connection: close" in given:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def port(server: Server, **settings: Any) -> AioDirectPort:
    """An awaited direct port that reaches a server."""
    return AioDirectPort(Settings(**{"endpoint_url": server.url, "max_attempts": 1, **KEYS, **settings}))


def served(server: Server, work: Callable[[Server], Coroutine[Any, Any, Any]], tls: Any = None) -> Any:
    """Run some work beside its server."""
    return asyncio.run(server.run(work, tls))


async def read(server: Server, **settings: Any) -> Any:
    """Read twice."""
    sending = port(server, **settings)
    try:
        await sending.send(get(), "t")
        return (await sending.send(get(), "t")).body["Item"]
    finally:
        await sending.aclose()


def test_nothing_travels_that_was_not_signed_for() -> None:
    """A cookie is not sent back, no packing is asked for, and one connection serves both requests."""
    server = Server(answer(set_cookie="a=b; Path=/"))

    assert served(server, read) == {"PK": {"S": "k"}}
    assert server.connections == 1
    assert all("cookie" not in head for head in server.heads)
    assert all(head.count("accept-encoding: identity") == 1 and "gzip" not in head for head in server.heads)
    assert all(head.count("host:") == head.count("content-length:") == 1 for head in server.heads)


def test_a_redirect_is_not_followed() -> None:
    """A signed request goes where it was signed for, and nowhere else."""
    server = Server(answer(b"", "302 Found", location="/elsewhere"))

    with pytest.raises(ServiceError):
        served(server, read)
    assert len(server.heads) == 1


def test_a_packed_answer_is_not_unpacked() -> None:
    """The checksum is that of the bytes on the wire; whoever packed them was not DynamoDB."""
    server = Server(answer(gzip.compress(ITEM), content_encoding="gzip"))

    with pytest.raises(InvalidResponse):
        served(server, read)


@pytest.mark.parametrize("first", [b"", answer()[:-5] + b""], ids=["no answer", "half an answer"])
def test_an_answer_that_breaks_off_is_asked_for_again(first: bytes) -> None:
    """The attempt may have been applied; the next one opens a connection of its own."""
    server = Server(first.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1), answer())

    async def work(server: Server) -> Any:
        return (await port(server, max_attempts=2).send(put(), "t")).attempts

    assert history(served(server, work)) == ["maybe", "applied"]
    assert server.connections == 2


def test_a_connection_that_the_server_ended_is_not_used_again() -> None:
    """The next call opens another, and no attempt fails."""
    server = Server(answer(connection="close"))

    assert served(server, read) == {"PK": {"S": "k"}}
    assert server.connections == 2


def test_an_answer_that_does_not_come_is_a_timeout() -> None:
    """The write may have been applied, and the port can be used again."""
    server = Server(None, answer())

    async def work(server: Server) -> Any:
        sending = port(server, read_timeout=0.05)
        with pytest.raises(ConnectionFailed) as caught:
            await sending.send(put(), "t")
        assert (await sending.send(get(), "t")).body["Item"]
        return caught.value

    failure = served(server, work)
    assert (failure.code, history(failure.history)) == ("ReadTimeoutError", ["maybe"])


def test_a_port_where_nobody_listens_refuses() -> None:
    """Nothing was sent, and the history says so."""

    async def work() -> None:
        await AioDirectPort(Settings(endpoint_url="http://127.0.0.1:9", max_attempts=2, **KEYS)).send(put(), "t")

    with pytest.raises(ConnectionFailed) as caught:
        asyncio.run(work())
    assert history(caught.value.history) == ["refused", "refused"]


def test_a_certificate_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that nobody vouches for gets no request; one in the bundle does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server = Server(answer())

    with pytest.raises(ConnectionFailed) as caught:
        served(server, read, context)
    assert (history(caught.value.history), server.heads) == (["refused"], [])
    monkeypatch.setenv("AWS_CA_BUNDLE", str(CERTIFICATE))
    assert served(server, read, context) == {"PK": {"S": "k"}}


def test_a_large_request_is_sent_whole() -> None:
    """Four megabytes leave with their length and without a warning."""
    server = Server(answer(b"{}"))

    async def work(server: Server) -> Any:
        return await port(server).send(put(text="x" * 4_000_000), "t")

    assert history(served(server, work).attempts) == ["applied"]


def test_waiting_for_a_socket_is_no_failure_to_connect() -> None:
    """A hundred requests share two sockets for longer than a connection may take to be made."""
    server = Server(answer())

    async def work(server: Server) -> Any:
        sending = port(server, max_pool_connections=2, connect_timeout=0.5)
        return await asyncio.gather(*(sending.send(get(), "t") for _ in range(100)))

    assert len(served(server, work)) == 100
    assert server.connections == 2


def test_credentials_are_refreshed_beside_the_loop() -> None:
    """A refresh that takes its time holds up no other task, and the next request has the new keys."""
    session, server = botocore.session.Session(), Server(answer())
    late = datetime.now(timezone.utc)
    turned = threading.Event()

    def fetch() -> dict[str, Any]:
        turned.wait(timeout=10)
        soon = (late + timedelta(hours=1)).isoformat()
        return {"access_key": "AKID1", "secret_key": "s", "token": "t", "expiry_time": soon}

    session._credentials = botocore.credentials.RefreshableCredentials("AKID0", "s", "t", late, fetch, "test")

    async def work(server: Server) -> int:
        sending = AioDirectPort(Settings(endpoint_url=server.url, session=session, region="us-east-1"))
        task = asyncio.ensure_future(sending.send(get(), "t"))
        turns = 0
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
            if turns == 10:
                turned.set()
        await task
        return turns

    assert served(server, work) >= 10
    assert "credential=akid1/" in server.heads[0]


def test_a_session_of_aiobotocore_is_refused_with_the_remedy() -> None:
    """Both faces of the direct transport take the same session."""
    from aiobotocore.session import AioSession

    async def work() -> None:
        await AioDirectPort(Settings(session=AioSession(), region="us-east-1")).send(get(), "t")

    with pytest.raises(RequestError, match="botocore or boto3"):
        asyncio.run(work())
