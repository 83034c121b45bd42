"""Lost answers over real sockets: what urllib3 makes of them is what the history has to understand."""

from __future__ import annotations

import socket
import threading

import pytest

from tablekit.errors import ConnectionFailed, InvalidResponse
from tests.support.calls import get, history, put, send
from tests.support.transports import TRANSPORTS, make_port

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\n"


@pytest.fixture(params=TRANSPORTS, autouse=True)
def transport(request, monkeypatch):
    """Every test of this module, over both transports."""
    monkeypatch.setattr(Server, "transport", request.param)


class Server:
    """Takes a request on each connection, and does with it what the test says."""

    transport = "pynamodb"

    def __init__(self, answer, *, wait=False):
        self._answer, self._wait, self._end = answer, wait, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return make_port(
            endpoint_url=f"http://127.0.0.1:{self._socket.getsockname()[1]}",
            max_attempts=1,
            read_timeout=0.2,
            aws_access_key_id="a",
            aws_secret_access_key="b",
            transport=Server.transport,
        )

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self._socket.close()

    def _serve(self):
        connection, _ = self._socket.accept()
        with connection:
            self._read(connection)
            connection.sendall(self._answer)
            if self._wait:
                self._end.wait(10)

    def _read(self, connection):
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(65536)
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(body) < length:
            body += connection.recv(65536)


@pytest.mark.parametrize(
    ("answer", "wait", "reason"),
    [
        (b"", False, "ConnectionClosedError"),
        (b"", True, "ReadTimeoutError"),
        (b"HTTP/1", False, "ConnectionClosedError"),
        (HEAD + b'content-length: 50\r\n\r\n{"Attr', True, "ReadTimeoutError"),
    ],
)
def test_a_write_whose_answer_does_not_arrive_is_maybe(answer, wait, reason):
    """A closed connection, a timeout and half a body are no refusal."""
    with Server(answer, wait=wait) as port, pytest.raises(ConnectionFailed) as caught:
        send(port, put())
    assert history(caught.value.history) == ["maybe"]
    assert caught.value.history[0].reason == caught.value.code
    port.close()


def test_half_a_body_is_no_refusal():
    """Botocore itself takes a cut body for an error up to 1.43.116, and hands it over since; both leave it open."""
    answer = HEAD + b'content-length: 50\r\n\r\n{"Attr'
    with Server(answer) as port, pytest.raises((ConnectionFailed, InvalidResponse)) as caught:
        send(port, put())
    outcome = "maybe" if isinstance(caught.value, ConnectionFailed) else "applied"
    assert history(caught.value.history) == [outcome]
    port.close()


@pytest.mark.parametrize(
    ("answer", "outcome"), [(b"HTTP/1.1 200 OK\r\n", "maybe"), (HEAD, "applied"), (HEAD + b"\r\n{", "applied")]
)
@pytest.mark.parametrize("request_", [get(), put()])
def test_an_answer_that_ends_in_its_head_is_not_an_empty_answer(answer, outcome, request_):
    """http.client takes a cut head for a whole one: the missing body must not become a missing row."""
    with Server(answer) as port, pytest.raises(InvalidResponse) as caught:
        send(port, request_)
    assert history(caught.value.history) == [outcome]
    port.close()


def test_a_page_of_a_captive_portal_is_no_missing_row():
    """A login page with status 200 is an error, for reads as for writes."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"
    with Server(answer) as port, pytest.raises(InvalidResponse, match="NotDynamoDB"):
        send(port, get())
    port.close()


def test_an_answer_of_dynamodbs_form_is_read():
    """The same server with a whole answer shows that the others fail by what they send."""
    body = b'{"Item": {"x": {"B": "YQ=="}}}'
    with Server(HEAD + b"content-length: %d\r\n\r\n%s" % (len(body), body)) as port:
        assert send(port, get()).body["Item"] == {"x": {"B": b"a"}}
    port.close()
