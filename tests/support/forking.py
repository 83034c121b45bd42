"""Forks a process that has used its port, and counts what the children got; run as a program by the tests.

Its server answers each GetItem with the key that was asked for, after a moment, so that two processes which
share a connection get each other's answers.
"""

from __future__ import annotations

import http.server
import json
import os
import random
import signal
import sys
import threading
import time
from typing import Any

from tablekit.errors import TablekitError
from tablekit.operations.direct import DirectPort
from tablekit.operations.transport import Settings, SyncPort
from tests.support.calls import get, send

PORT: type[SyncPort] = {"direct": DirectPort}.get("".join(sys.argv[2:3]), SyncPort)
CHILDREN = 4
READS = 25


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers GetItem with its own key."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer after a moment, on a connection that is kept."""
        key = json.loads(self.rfile.read(int(self.headers["content-length"])))["Key"]
        time.sleep(random.uniform(0, 0.004))
        body = json.dumps({"Item": key}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-amz-json-1.0")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def wrong_answers(port: SyncPort, name: str) -> int:
    """How many of the reads failed or brought another key."""
    wrong = 0
    for number in range(READS):
        key = f"{name}-{number}"
        try:
            wrong += send(port, get(key)).body["Item"] != {"PK": {"S": key}}
        except TablekitError:
            wrong += 1
    return wrong


def fork(work: Any) -> int:
    """A child that does the work and ends with its number, or with SIGALRM when it hangs."""
    child = os.fork()
    if child:
        return child
    signal.alarm(20)
    os._exit(work())


def status(child: int) -> int:
    """What the child's work returned; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def shared(endpoint: str) -> list[int]:
    """Wrong answers of children that were forked from a process with open connections, and of the parent."""
    port = PORT(Settings(endpoint_url=endpoint, max_attempts=1, read_timeout=3))
    wrong_answers(port, "warm")
    children = [fork(lambda name=f"child{number}": wrong_answers(port, name)) for number in range(CHILDREN)]
    in_parent = wrong_answers(port, "parent")
    return [in_parent, *map(status, children)]


def locked(endpoint: str) -> list[int]:
    """Wrong answers of a child that was forked while another thread was building the client."""
    building, built = threading.Event(), threading.Event()

    def slow(_client: Any) -> None:
        building.set()
        built.wait()

    port = PORT(Settings(endpoint_url=endpoint, max_attempts=1, read_timeout=3), on_client=slow)
    builder = threading.Thread(target=wrong_answers, args=(port, "builder"))
    builder.start()
    building.wait()

    def work() -> int:
        built.set()  # the child's copy: its own build must not wait
        return wrong_answers(port, "child")

    child = fork(work)
    result = status(child)
    built.set()
    builder.join()
    return [result]


def main() -> None:
    """Print the wrong answers of the scenario that the argument names."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scenario = {"shared": shared, "locked": locked}[sys.argv[1]]
    sys.stdout.write(json.dumps(scenario(f"http://127.0.0.1:{server.server_port}")))


if __name__ == "__main__":
    main()
