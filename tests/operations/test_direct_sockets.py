"""The direct transport over real sockets: connections that are kept, TLS, and a proxy."""

from __future__ import annotations

import gc
import http.server
import json
import socket
import ssl
import threading
from pathlib import Path

import pytest

from tablekit.errors import ConnectionFailed
from tablekit.operations.http_pool import HttpPool, Unsent
from tests.support.calls import get, history, put, send
from tests.support.transports import make_port

CERTIFICATE = Path(__file__).parent.parent / "support" / "tls" / "localhost.pem"
KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers each GetItem with its key, and keeps count of connections."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        """A connection begins."""
        self.server.connections += 1
        super().setup()

    def do_POST(self):
        """Answer."""
        self.server.seen.append((self.path, dict(self.headers)))
        key = json.loads(self.rfile.read(int(self.headers["content-length"])))["Key"]
        body = json.dumps({"Item": key}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-amz-json-1.0")
        self.send_header("content-length", str(len(body)))
        if self.server.closes:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)
        if self.server.hangs_up:
            self.close_connection = True

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def serve():
    """Starts servers; gives each one's address."""
    started = []

    def start(*, tls=False, closes=False, hangs_up=False):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        server.connections, server.seen, server.closes, server.hangs_up = 0, [], closes, hangs_up
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def connect():
    """Makes direct ports, and closes them."""
    made = []

    def make(url, **settings):
        port = make_port(transport="direct", endpoint_url=url, max_attempts=1, **KEYS, **settings)
        made.append(port)
        return port

    yield make
    for port in made:
        port.close()


def url_of(server, scheme="http", host="127.0.0.1"):
    """Where a server listens."""
    return f"{scheme}://{host}:{server.server_port}"


def test_one_connection_serves_calls_one_after_the_other(serve, connect):
    """Ten reads in turn open one connection."""
    server = serve()
    port = connect(url_of(server))
    assert [send(port, get(str(n))).body["Item"]["PK"]["S"] for n in range(10)] == [str(n) for n in range(10)]
    assert server.connections == 1


@pytest.mark.parametrize("how", [{"closes": True}, {"hangs_up": True}])
def test_a_connection_that_the_server_ended_is_not_used_again(serve, connect, how):
    """Announced or not, the next call notices and opens another; no attempt fails."""
    server = serve(**how)
    port = connect(url_of(server))
    for n in range(3):
        assert history(send(port, get(str(n))).attempts) == ["applied"]
        threading.Event().wait(0.05)
    assert server.connections == 3


def test_a_connection_on_which_a_read_timed_out_is_closed():
    """Its answer may still come, and would be taken for the answer to the next question."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        pool = HttpPool(host="127.0.0.1", port=listening.getsockname()[1], read_timeout=0.05)
        with pytest.raises(TimeoutError):
            pool.exchange({"host": "h"}, b"{}")
        assert not pool._idle


def test_small_packets_are_not_delayed(serve):
    """Nagle's algorithm, which would cost 40 ms a call, is off."""
    server = serve()
    pool = HttpPool(host="127.0.0.1", port=server.server_port)
    pool.exchange({"host": "h"}, b'{"Key": {}}')
    assert pool._idle[0].sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    pool.close()


def test_no_more_connections_are_kept_than_the_pool_is_large(serve):
    """What is opened beyond the size is closed after use."""
    server = serve()
    pool = HttpPool(host="127.0.0.1", port=server.server_port, size=2)
    barrier = threading.Barrier(4)

    def work():
        barrier.wait(10)
        pool.exchange({"host": "h"}, b'{"Key": {}}')

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool._idle) <= 2
    pool.close()


def test_a_closed_pool_says_nothing_when_it_is_dropped(serve, connect):
    """Closing leaves no socket for the collector to complain of."""
    server = serve()
    port = connect(url_of(server))
    send(port, get())
    port.close()
    gc.collect()
    assert send(port, get()).body["Item"] == {"PK": {"S": "k"}}


def test_https_is_verified_against_the_configured_certificates(serve, connect, monkeypatch):
    """AWS_CA_BUNDLE is honoured, by the direct transport as by botocore."""
    server = serve(tls=True)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(CERTIFICATE))
    port = connect(url_of(server, "https", "localhost"))
    assert [send(port, get("x")).body["Item"] for _ in range(3)] == [{"PK": {"S": "x"}}] * 3
    assert server.connections == 1


@pytest.mark.parametrize("transport", ["pynamodb", "direct"])
def test_an_untrusted_certificate_is_refused_and_nothing_was_sent(serve, transport):
    """The write is known not to have happened."""
    server = serve(tls=True)
    url = url_of(server, "https", "localhost")
    port = make_port(transport=transport, endpoint_url=url, max_attempts=1, **KEYS)
    with pytest.raises(ConnectionFailed) as caught:
        send(port, put())
    assert (caught.value.code, history(caught.value.history)) == ("SSLError", ["refused"])
    assert server.seen == []
    port.close()


def test_a_refused_connection_sent_nothing():
    """The pool tells that from what goes wrong later."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        pool = HttpPool(host="127.0.0.1", port=taken.getsockname()[1])
        with pytest.raises(Unsent) as caught:
            pool.exchange({"host": "h"}, b"{}")
    assert isinstance(caught.value.reason, ConnectionRefusedError)


def test_a_proxy_of_the_environment_is_used(serve, connect, monkeypatch):
    """The request goes to the proxy, with the whole URL, as botocore would send it."""
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", url_of(proxy))
    monkeypatch.delenv("NO_PROXY", raising=False)
    port = connect("http://dynamodb.internal:8000", region="eu-west-1")
    assert send(port, get("via")).body["Item"] == {"PK": {"S": "via"}}
    assert proxy.seen[0][0] == "http://dynamodb.internal:8000/"


def test_a_proxy_that_is_down_is_told_and_nothing_was_sent(connect, monkeypatch):
    """The attempt is known to have gone nowhere."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        port = connect("http://dynamodb.internal:8000", region="eu-west-1")
        with pytest.raises(ConnectionFailed) as caught:
            send(port, put())
    assert history(caught.value.history) == ["refused"]
