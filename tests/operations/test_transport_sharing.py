"""One port in many threads and in forked processes, and calls made side by side."""

from __future__ import annotations

import contextvars
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import botocore.session
import pytest

from tablekit.operations.driver import run
from tablekit.operations.transport import SyncPort
from tests.support.calls import get, send
from tests.support.stub import ok
from tests.support.transports import TRANSPORTS

ROOT = Path(__file__).parent.parent.parent
NO_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def together(count, work):
    """What the work returns in each of so many threads, which begin at once."""
    barrier = threading.Barrier(count)

    def begin(_):
        barrier.wait(10)
        return work()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def test_r62_sixteen_threads_share_one_client_and_the_given_session(stub):
    """R62: the first calls of 16 threads build one client, and all are signed with the session's key."""
    session = botocore.session.Session()
    session.set_credentials("theirs", "hush")
    stub.always("GetItem", ok({"Item": {"PK": {"S": "k"}}}))
    port = stub.port(session=session)
    results = together(16, lambda: send(port, get()).body["Item"])
    assert results == [{"PK": {"S": "k"}}] * 16
    assert (len(stub.clients), stub.keys) == (1, ["theirs"] * 16)


def test_r62_sixteen_threads_use_the_given_keys(stub):
    """R62: explicit keys reach every thread."""
    stub.always("GetItem", ok())
    port = stub.port(aws_access_key_id="given", aws_secret_access_key="hush")
    together(16, lambda: send(port, get()))
    assert (len(stub.clients), stub.keys) == (1, ["given"] * 16)


def test_two_tables_of_one_session_build_their_clients_in_turn(stub):
    """Ports that share a session, whose client building is not safe for threads, do not fail."""
    session = botocore.session.Session()
    session.set_credentials("theirs", "hush")
    stub.always("GetItem", ok())
    ports = [stub.port(session=session) for _ in range(8)]
    results = together(8, lambda: send(ports.pop(), get()).body["ResponseMetadata"]["HTTPStatusCode"])
    assert (results, len(stub.clients)) == ([200] * 8, 8)


def test_each_thread_has_its_own_history(stub):
    """Attempts of calls at the same time do not mix."""
    stub.always("GetItem", ok())
    port = stub.port()
    assert together(8, lambda: len(send(port, get()).attempts)) == [1] * 8


def forked(scenario, transport):
    """What the forking program prints for a scenario."""
    command = [sys.executable, "-m", "tests.support.forking", scenario, transport]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


@NO_FORK
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_forked_children_never_get_each_others_answers(transport):
    """Four children and their parent read side by side: no answer is crossed, none is lost."""
    assert forked("shared", transport) == [0, 0, 0, 0, 0]


@NO_FORK
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_fork_while_another_thread_builds_the_client_does_not_hang(transport):
    """The child does not wait for a lock whose holder it does not have."""
    assert forked("locked", transport) == [0]


async def times_ten(number):
    """A call that ends at once."""
    return number * 10


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_gather_returns_results_in_order(limit):
    """Results stand as the calls did, whatever the number of threads."""
    assert run(SyncPort().gather([times_ten(n) for n in range(8)], limit)) == [n * 10 for n in range(8)]


def test_gather_runs_no_more_than_its_limit_at_once():
    """Three calls wait for each other; a fourth is not begun before one of them is done."""
    barrier, running, most = threading.Barrier(3), [], []

    async def call():
        running.append(1)
        most.append(len(running))
        barrier.wait(10)
        running.pop()

    run(SyncPort().gather([call() for _ in range(6)], 3))
    assert max(most) == 3


def test_gather_takes_the_callers_context_along():
    """What a ContextVar holds is seen in the threads."""
    tenant = contextvars.ContextVar("tenant", default="none")

    async def call():
        return tenant.get()

    tenant.set("acme")
    assert run(SyncPort().gather([call(), call()], 2)) == ["acme", "acme"]


@pytest.mark.parametrize("limit", [1, 2])
def test_gather_raises_the_first_error_after_the_running_calls_ended(limit):
    """Calls that were not begun are dropped without a warning; those running end first."""
    done, begun = [], threading.Event()

    async def failing():
        if limit > 1:
            begun.wait(10)
        raise LookupError("first")

    async def running():
        begun.set()
        threading.Event().wait(0.05)
        done.append("running")

    with pytest.raises(LookupError, match="first"):
        run(SyncPort().gather([failing(), running(), *[times_ten(n) for n in range(20)]], limit))
    assert done == (["running"] if limit > 1 else [])


def test_wait_returns_what_another_thread_completes():
    """The port waits for a future of concurrent.futures."""
    future = Future()
    threading.Timer(0.01, future.set_result, [7]).start()
    assert run(SyncPort().wait(future)) == 7


def test_sleep_pauses_by_the_given_clock():
    """A test may put its own clock in place of time.sleep."""
    pauses = []
    run(SyncPort(sleep=pauses.append).sleep(2.5))
    assert pauses == [2.5]
