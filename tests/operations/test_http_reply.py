"""Reading an HTTP answer: as `http.client` does, however it comes in pieces."""

from __future__ import annotations

import io
from http.client import HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tablekit.operations.http_reply import read_reply

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
TOKENS = st.text("abcXYZ-_0123", min_size=1, max_size=8)
HEADERS = st.lists(st.tuples(TOKENS, st.text("ab c;=/.\t", max_size=9)), max_size=4)


class Pieces:
    """A socket whose answer comes in pieces."""

    def __init__(self, raw, sizes):
        self.stream, self.sizes = io.BytesIO(raw), iter(sizes)

    def recv(self, size):
        """The next piece."""
        return self.stream.read(min(size, next(self.sizes, size)))

    def recv_into(self, buffer):
        """The next piece, into a buffer."""
        piece = self.recv(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def makefile(self, mode):
        """Everything at once, as http.client wants it."""
        return self.stream


def by_http_client(raw):
    """What `http.client` makes of an answer, or the class of what it raises."""
    response = HTTPResponse(Pieces(raw, ()), method="POST")
    try:
        response.begin()
        body = response.read()
    except HTTPException as error:
        return type(error)
    return response.status, {name.lower(): value for name, value in response.headers.items()}, body


def read(raw, sizes=()):
    """What `read_reply` makes of it."""
    try:
        return read_reply(Pieces(raw, sizes))[0]
    except HTTPException as error:
        return type(error)


def raw_answer(status, headers, body, length):
    """The bytes of an answer."""
    lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in headers)]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@given(
    st.sampled_from([200, 201, 204, 304, 400, 413, 500, 503]),
    HEADERS,
    st.binary(max_size=40),
    st.booleans(),
    st.lists(st.integers(1, 30), max_size=8),
)
@example(200, [], b"", True, [])
@example(200, [("a", "1"), ("A", "2")], b"x", True, [3])
def test_an_answer_is_read_as_http_client_reads_it(status, headers, body, length, sizes):
    """Status, headers and body, for any pieces that it comes in."""
    raw = raw_answer(status, headers, body, length)
    assert read(raw, sizes) == by_http_client(raw)


@pytest.mark.parametrize(
    "raw",
    [
        CHUNKED,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nfolded: a\r\n b\r\ncontent-length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\ncontent-length: 1\n\nx",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nx",
        b"HTTP/1.1 abc\r\n\r\n",
        b"SSH-2.0-server\r\n",
        "HTTP/1.1 200 OK\r\nname: é\r\ncontent-length: 1\r\n\r\nx".encode("latin-1"),
    ],
)
@pytest.mark.parametrize("sizes", [(), (1,) * 200, (20, 5, 50)])
def test_what_is_unusual_is_read_by_http_client(raw, sizes):
    """Chunks, interim answers, other versions and ends of lines, and what is no HTTP."""
    assert read(raw, sizes) == by_http_client(raw)


def test_a_connection_that_ends_at_once_is_told():
    """Nothing came: the request may have been taken."""
    with pytest.raises(RemoteDisconnected):
        read_reply(Pieces(b"", ()))


def test_a_body_that_is_cut_is_told():
    """What is missing is named, and nothing is taken for an answer."""
    with pytest.raises(IncompleteRead) as caught:
        read_reply(Pieces(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", ()))
    assert (caught.value.partial, caught.value.expected) == (b"abc", 6)


@pytest.mark.parametrize(
    ("more", "again"), [(b"", True), (b"Connection: keep-alive\r\n", True), (b"Connection: close\r\n", False)]
)
def test_a_connection_is_kept_unless_the_server_ends_it(more, again):
    """As the header says."""
    raw = b"HTTP/1.1 200 OK\r\n" + more + b"content-length: 1\r\n\r\nx"
    assert read_reply(Pieces(raw, ()))[1] is again


def test_a_connection_with_bytes_left_over_is_not_used_again():
    """They would be the beginning of the next answer."""
    (_, _, body), again = read_reply(Pieces(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxyz", ()))
    assert (body, again) == (b"x", False)
