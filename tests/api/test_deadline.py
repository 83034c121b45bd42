"""Calls that have a deadline: ``with app.deadline(seconds=...)``."""

from __future__ import annotations

import asyncio
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tablekit import (
    BatchIncomplete,
    Capabilities,
    DeadlineExceeded,
    Table,
    Throttled,
    TransactionCancelled,
    WriteOutcomeUnknown,
)
from tablekit.operations import deadline as deadlines
from tests.support.flag_models import AppFlags
from tests.support.flag_models import app as flag_app
from tests.support.models import Document, Workspace
from tests.support.models import app as workspace_app
from tests.support.stub import StubTransport, error, ok

TRANSPORTS = ["pynamodb", "direct"]
LONG = 20.0
"""Seconds that a call would take by its time-outs, were it not for the deadline."""


@pytest.fixture
def arrived() -> Iterator[list[socket.socket]]:
    """The connections that were made to `hole`: one for each attempt, since none is of use again."""
    found: list[socket.socket] = []
    yield found
    for connection in found:
        connection.close()


@pytest.fixture
def hole(arrived: list[socket.socket]) -> Iterator[dict[str, Any]]:
    """The options of an engine that takes every request and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    arrived.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        yield {"endpoint_url": address, "region": "us-east-1", "read_timeout": LONG, "max_attempts": 3, **keys}
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture(params=TRANSPORTS)
def app(hole: dict[str, Any], request: pytest.FixtureRequest) -> Iterator[Table]:
    """The workspace app on that engine, by each transport."""
    with workspace_app.bound(name="t", transport=request.param, capabilities=Capabilities(), **hole) as app:
        yield app


@pytest.fixture
def stubbed(stub: StubTransport) -> Iterator[StubTransport]:
    """The workspace app on a scripted DynamoDB."""
    with workspace_app.bound(name="t", port=stub.port(), capabilities=Capabilities()):
        yield stub


class Clock:
    """A clock that the tests move. Requests are waited for by the real one: give them a minute."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Takes the place of the deadline's clock."""
    clock = Clock()
    monkeypatch.setattr(deadlines, "clock", clock)
    return clock


def spent(since: float) -> float:
    """Seconds since then."""
    return time.monotonic() - since


def test_a_read_without_an_answer_ends_with_the_deadline(app: Table) -> None:
    """Long before the read timeout; it is a TimeoutError for those who know no other."""
    began = time.monotonic()

    with pytest.raises(TimeoutError) as caught, app.deadline(seconds=0.5):
        Workspace.get(workspace_id="acme")

    assert isinstance(caught.value, DeadlineExceeded)
    assert spent(began) < LONG / 2


def test_a_write_that_was_on_its_way_is_unknown(app: Table) -> None:
    """It may have been applied, and the deadline must not call that a failure."""
    workspace = Workspace(workspace_id="acme", name="Acme")

    with pytest.raises(WriteOutcomeUnknown) as caught, app.deadline(seconds=3):
        workspace.create()

    assert isinstance(caught.value.__cause__, DeadlineExceeded)


def test_an_awaited_read_ends_with_the_deadline(app: Table) -> None:
    """The block is the same one, in a task."""

    async def work() -> None:
        with app.deadline(seconds=0.5):
            await Workspace.aio.get(workspace_id="acme")

    async def whole() -> None:
        try:
            await work()
        finally:
            await app.aio.aclose()

    began = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        asyncio.run(whole())
    assert spent(began) < LONG / 2


def test_an_awaited_write_that_was_on_its_way_is_unknown(app: Table) -> None:
    """As without await."""

    async def work() -> None:
        try:
            with app.deadline(seconds=3):
                await Workspace(workspace_id="acme", name="Acme").aio.create()
        finally:
            await app.aio.aclose()

    with pytest.raises(WriteOutcomeUnknown):
        asyncio.run(work())


def test_what_begins_too_late_is_not_sent(stubbed: StubTransport, clock: Clock) -> None:
    """A write after the end is a DeadlineExceeded without attempts: it was certainly not applied."""
    with workspace_app.deadline(seconds=3):
        clock.now += 3
        with pytest.raises(DeadlineExceeded) as caught:
            Workspace(workspace_id="acme", name="Acme").put()

    assert (caught.value.history, stubbed.requests) == ((), [])


def test_pages_end_between_requests(stubbed: StubTransport, clock: Clock) -> None:
    """The iterator gives what it has, and then says that the time is over."""

    def page(_wire: dict[str, Any]) -> Any:
        clock.now += 36
        item = Document(workspace_id="acme", doc_id="1", title="x").to_item()
        return ok(
            {"Items": [item], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": {n: item[n] for n in ("PK", "SK")}}
        )

    stubbed.always("Query", page)
    seen = []

    with pytest.raises(DeadlineExceeded), workspace_app.deadline(seconds=60):
        seen += [document.doc_id for document in Document.query(workspace_id="acme")]

    assert len(stubbed.requests) == 2


def test_a_batch_that_has_no_time_to_wait_says_what_is_left(stubbed: StubTransport, clock: Clock) -> None:
    """A pause that would end after the deadline is not begun."""

    def unprocessed(wire: dict[str, Any]) -> Any:
        clock.now += 59.99
        return ok({"UnprocessedItems": wire["RequestItems"]})

    stubbed.always("BatchWriteItem", unprocessed)

    with (
        pytest.raises(BatchIncomplete) as caught,
        workspace_app.deadline(seconds=60),
        workspace_app.batch() as batch,
    ):
        batch.put(Workspace(workspace_id="acme", name="Acme"))

    assert len(caught.value.unprocessed) == 1
    assert len(stubbed.requests) < 4


def test_a_transaction_is_not_tried_again_after_the_deadline(stubbed: StubTransport, clock: Clock) -> None:
    """The conflict is what is raised, since it is what DynamoDB said last."""

    def conflict(_wire: dict[str, Any]) -> Any:
        clock.now += 300
        reasons = [{"Code": "TransactionConflict"}]
        return error("TransactionCanceledException", CancellationReasons=reasons)

    stubbed.always("TransactWriteItems", conflict)

    with (
        pytest.raises(TransactionCancelled),
        workspace_app.deadline(seconds=60),
        workspace_app.transaction(retry_conflicts=5) as tx,
    ):
        tx.create(Workspace(workspace_id="acme", name="Acme"))

    assert len(stubbed.requests) == 1


def test_the_nearer_of_two_deadlines_counts(clock: Clock) -> None:
    """An inner block can take time away, and gives none."""
    with workspace_app.deadline(seconds=1):
        with workspace_app.deadline(seconds=10):
            assert deadlines.time_left() == pytest.approx(1)
        with workspace_app.deadline(seconds=0.5):
            assert deadlines.time_left() == pytest.approx(0.5)
        assert deadlines.time_left() == pytest.approx(1)
    assert deadlines.time_left() is None


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_deadline_lies_ahead(seconds: float) -> None:
    """Anything else is a mistake in the program."""
    with pytest.raises(ValueError, match="some seconds from now"), workspace_app.deadline(seconds=seconds):
        pass


def test_no_deadline_is_left_behind(stubbed: StubTransport, clock: Clock) -> None:
    """After the block, and after an error in it, calls take the time they take."""
    stubbed.always("GetItem", ok())
    with pytest.raises(ZeroDivisionError), workspace_app.deadline(seconds=1):
        raise ZeroDivisionError
    clock.now += 100

    assert Workspace.get(workspace_id="acme") is None


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_abandoned_call_is_not_sent_again(hole: Any, arrived: list[socket.socket], transport: str) -> None:
    """The thread that is left behind makes no further attempt: after the deadline nobody writes."""
    with workspace_app.bound(name="t", transport=transport, **{**hole, "read_timeout": 4.0}) as app:
        with pytest.raises(WriteOutcomeUnknown), app.deadline(seconds=3):
            Workspace(workspace_id="acme", name="Acme").put()
        for thread in threading.enumerate():
            if thread.name == "tablekit-deadline":
                thread.join(LONG)

    assert len(arrived) == 1


def test_a_reader_without_time_does_not_spoil_the_cache(stub: StubTransport, clock: Clock) -> None:
    """One caller's deadline is no failed read for the others: the next one reads."""
    with flag_app.bound(name="t", port=stub.port(), capabilities=Capabilities()):
        with flag_app.deadline(seconds=1):
            clock.now += 2
            hasty = AppFlags.get()
        row = {"PK": {"S": "SETTINGS#APP"}, "SK": {"S": "FLAGS#V1"}, "EntityType": {"S": "AppFlags"}}
        stub.always("GetItem", ok({"Item": {**row, "signup_enabled": {"BOOL": True}}}))
        patient = AppFlags.get()

    assert (hasty.source, type(hasty.problem)) == ("default", DeadlineExceeded)
    assert (patient.source, patient.signup_enabled) == ("table", True)


def test_a_throttle_that_ends_in_time_is_what_it_was(stubbed: StubTransport) -> None:
    """A deadline that is far away changes no error."""
    stubbed.always("GetItem", error("ThrottlingException"))

    with pytest.raises(Throttled), workspace_app.deadline(seconds=60):
        Workspace.get(workspace_id="acme")


def test_the_error_can_be_pickled() -> None:
    """With all that it holds, as other errors can."""
    with workspace_app.deadline(seconds=1):
        found = deadlines.overdue("GetItem", "t")

    copied = pickle.loads(pickle.dumps(found))
    assert (type(copied), str(copied), copied.operation) == (DeadlineExceeded, str(found), "GetItem")
