"""Every operation over real sockets to a real engine, through a proxy that spoils its requests.

``TABLEKIT_TEST_FAULT_ROUNDS=20`` tries each operation under each fault twenty times in place of once. What fails is
named with its seed, which decides how many requests are let through before the fault and how often it is met.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
import time
import uuid
from types import SimpleNamespace

import botocore.endpoint
import botocore.retries.quota
import pytest
from botocore.retries.standard import ExponentialBackoff

from tablekit import Capabilities, TablekitError, WriteOutcomeUnknown
from tablekit.errors import BatchIncomplete
from tablekit.operations import batch_get, direct_retry
from tablekit.operations.binding import aio_port_of
from tablekit.operations.direct import DirectPort
from tablekit.operations.transport import Settings, SyncPort
from tests.faults.calls import CALLS, Told
from tests.faults.models import Note, app
from tests.faults.proxy import FAULTS, REFUSED, FaultProxy
from tests.support.calls import Request, send
from tests.support.loop_port import LoopPort

ROUNDS = int(os.environ.get("TABLEKIT_TEST_FAULT_ROUNDS", "1"))
ATTEMPTS = 3
TRANSPORTS = ("pynamodb", "direct", "aiobotocore", "aiohttp")


@pytest.fixture(scope="module", autouse=True)
def at_once():
    """Attempts follow each other without pauses, and those of one call are not paid by the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _: None))
        patch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0)
        patch.setattr(botocore.retries.quota.RetryQuota, "acquire", lambda *_: True)
        patch.setattr(direct_retry.Quota, "take", lambda *_: True)
        patch.setattr(direct_retry, "pause", lambda *_: 0)
        patch.setattr(batch_get, "backoff", lambda *_: 0)
        yield


def port_to(url, transport, read_timeout):
    """A port of that transport, awaited ones on a loop of their own."""
    settings = Settings(
        endpoint_url=url,
        region="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        connect_timeout=20,
        read_timeout=read_timeout,
        max_attempts=ATTEMPTS,
        transport="direct" if transport in ("direct", "aiohttp") else "pynamodb",
    )
    if transport in ("aiobotocore", "aiohttp"):
        return LoopPort(aio_port_of(settings))
    kind = DirectPort if transport == "direct" else SyncPort
    return kind(settings, sleep=lambda _: None)


class Batch(Request):
    """A request whose wire dict names its tables by itself."""

    def to_wire(self, table_name):
        """The wire dict."""
        return dict(self.wire)


class Bench:
    """A table behind the proxy, and the way past it."""

    def __init__(self, endpoint, name, proxy, transport):
        self.name = name
        self.proxy = proxy
        self.transport = transport
        self.patient = port_to(proxy.url, transport, 20)
        self.hasty = port_to(proxy.url, transport, 0.2)
        options = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        self.truth = DirectPort(Settings(endpoint_url=endpoint, transport="direct", **options))
        with app.bound(name=name, port=self.truth):
            app.create_table()
            Note(name="there", n=1).put()

    def under(self, fault, name=None):
        """A block whose calls go through the proxy; with a short time-out only where no answer will come."""
        port = self.hasty if fault.startswith("black hole") else self.patient
        return app.bound(name=name or self.name, port=port, capabilities=Capabilities())

    def put(self, rows):
        """Store rows, past the proxy."""
        if rows:
            wire = {"RequestItems": {self.name: [{"PutRequest": {"Item": row}} for row in rows]}}
            send(self.truth, Batch("BatchWriteItem", wire), self.name)

    def read(self, keys):
        """The rows under some keys, past the proxy."""
        wire = {"RequestItems": {self.name: {"Keys": list(keys.values()), "ConsistentRead": True}}}
        rows = send(self.truth, Batch("BatchGetItem", wire), self.name).body["Responses"][self.name]
        names = {(key["PK"]["S"], key["SK"]["S"]): short for short, key in keys.items()}
        return {names[row["PK"]["S"], row["SK"]["S"]]: row for row in rows}

    def close(self):
        """Close all but the proxy."""
        self.patient.close()
        self.hasty.close()
        with app.bound(name=self.name, port=self.truth):
            app.delete_table()
        self.truth.close()


@pytest.fixture(scope="module", params=TRANSPORTS)
def bench(request, ministack_endpoint, at_once):
    """A table behind the proxy, over each transport; afterwards nothing is left of the connections."""
    before = set(threading.enumerate())
    with FaultProxy(ministack_endpoint) as proxy:
        made = Bench(ministack_endpoint, f"faults-{uuid.uuid4().hex}", proxy, request.param)
        yield made
        made.close()
        gc.collect()  # urllib3 closes a pool when it is dropped, and botocore's errors of retries keep it in a circle
        assert proxy.idle(5), f"{len(proxy.connections)} connections were left open"
    left = [thread for thread in threading.enumerate() if thread not in before and thread.is_alive()]
    assert not left


def tell(work):
    """What a call's caller is told."""
    try:
        result = work()
    except WriteOutcomeUnknown as error:
        return Told("unknown", error=error)
    except BatchIncomplete as error:
        return Told("unknown" if error.unknown else "failed", error=error)
    except TablekitError as error:
        return Told("failed", error=error)
    return Told("success", result)


def plan_of(fault, seed):
    """What the requests of one call meet: one to four meet the fault, in odd rounds some after others were served."""
    chance = random.Random(f"{fault} {seed}")
    served = chance.choice((1, 1, 2)) if seed % 2 else 0
    return ["none"] * served + [fault] * chance.choice((1, 1, 1, 2, 2, ATTEMPTS, ATTEMPTS + 1))


def attempt(bench, call, fault, seed):
    """Make one call under a fault, and compare what was told with what there is."""
    name = f"{call.name}-{fault}-{seed}"
    bench.put(call.before(name))
    plan = plan_of(fault, seed)
    with bench.under(fault):
        bench.proxy.meet(*plan)
        told = tell(lambda: call.work(name))
        bench.proxy.meet()
        problem = call.judge(bench.read(call.keys(name)), told, name) or unfounded(fault, told)
        if not problem and call.settled is not None:
            served(lambda: call.settled(name))
            problem = call.judge(bench.read(call.keys(name)), Told("success"), name)
        if not problem and served(lambda: Note.get(name="there", part="0")) != Note(name="there", n=1):
            problem = "the next call got another answer"
    return f"{call.name} under {plan} (seed {seed}), told {told}: {problem}" if problem else ""


def unfounded(fault, told):
    """Whether nothing can be unknown: each attempt was refused, and it is not told that the write was applied."""
    open_end = told.outcome == "unknown" and not getattr(told.error, "matches", None)
    return "it was told unknown, though each attempt was refused" if fault in REFUSED and open_end else ""


def served(work):
    """What a call gives that meets no fault; again where a busy engine is slower than a short time-out."""
    for _ in range(20):
        told = tell(work)
        if told.outcome == "success":
            return told.result
    raise AssertionError(f"the next call was not served: {told.error!r}")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_what_is_told_is_what_there_is(bench, call):
    """Success, a documented error or unknown, each as the table has it; and the next call is served."""
    bench.proxy.met.clear()
    # With one round, two transports meet the fault at their first request and two at a later one.
    first = TRANSPORTS.index(bench.transport)
    problems = [attempt(bench, call, fault, seed) for fault in FAULTS for seed in range(first, first + ROUNDS)]
    assert not any(problems), "\n".join(filter(None, problems))
    assert first % 2 or all(bench.proxy.met[fault] for fault in FAULTS)


def test_a_scan_gives_each_row_or_an_error(bench, table_name):
    """Pages of a scan are asked for again, and none is left out or given twice."""
    with app.bound(name=table_name, port=bench.truth):
        app.create_table()
        app.batch_write([Note(name="scan", part=str(number), n=number) for number in range(6)])
    problems = []
    for fault in FAULTS:
        with bench.under(fault, table_name):
            bench.proxy.meet(*plan_of(fault, TRANSPORTS.index(bench.transport)))
            told = tell(lambda: Note.scan().page_size(2).all())
            bench.proxy.meet()
        found = sorted(note.part for note in told.result) if told.outcome == "success" else None
        if told.outcome == "unknown" or found not in (None, list("012345")):
            problems.append(f"{fault}: {told}")
    with app.bound(name=table_name, port=bench.truth):
        app.delete_table()
    assert not problems


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_connections_do_not_grow_with_faults(ministack_endpoint, table_name, transport):
    """After many faults no more connections are open than calls are made at once."""
    with FaultProxy(ministack_endpoint) as proxy:
        made = Bench(ministack_endpoint, table_name, proxy, transport)
        with made.under("any"):
            for number in range(40):
                proxy.meet(*plan_of(list(FAULTS)[number % 14], number))
                tell(lambda: Note.get(name="there", part="0"))
            proxy.meet()
            assert Note.get(name="there", part="0") is not None
            deadline = time.monotonic() + 5
            while len(proxy.connections) > 1 and time.monotonic() < deadline:
                time.sleep(0.005)
            assert len(proxy.connections) == 1
        made.close()
        gc.collect()
        assert proxy.idle(5)


def test_a_fault_is_what_it_says(ministack_endpoint, table_name):
    """The proxy itself: what reached the engine and what did not."""
    with FaultProxy(ministack_endpoint) as proxy:
        made = Bench(ministack_endpoint, table_name, proxy, "direct")
        stored = {}
        for fault in FAULTS:
            key = {"PK": {"S": fault}, "SK": {"S": "x"}}
            proxy.meet(*[fault] * ATTEMPTS)
            with contextlib.suppress(TablekitError):
                send(made.hasty, Request("PutItem", {"Item": key}), made.name)
            stored[fault] = bool(made.read({"row": key}))
        made.close()
    kept_out = {fault for fault in FAULTS if fault.endswith("before") or fault in ("portal", *REFUSED)}
    assert {fault for fault, there in stored.items() if not there} == kept_out
