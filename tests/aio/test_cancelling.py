"""Cancelled in the middle, and held to a number of requests: nothing half-reported, the port usable after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tablekit import Capabilities, NotLoaded, Table
from tablekit.operations.binding import Binding, bound_to
from tests.support.aio_stub import AWAITED_TRANSPORTS
from tests.support.calls import history_of_cancelled, told_by_cancelled
from tests.support.models import Comment, Document, Workspace
from tests.support.models import app as workspace_app
from tests.support.stub import error, ok


@pytest.fixture(params=AWAITED_TRANSPORTS)
def app(aio_stub: Any, request: pytest.FixtureRequest) -> Any:
    """The workspace app on a scripted DynamoDB, by each awaited transport."""
    port = aio_stub.aio_port(transport=request.param)
    binding = Binding(workspace_app, "t", port.settings, Capabilities(), aio_port=port)
    with bound_to(workspace_app, binding):
        yield workspace_app


def comment(number: int) -> Comment:
    """A comment of one partition."""
    return Comment(workspace_id="acme", doc_id="d", comment_id=f"{number:03}", body="x")


async def cancelled(task: asyncio.Task[Any]) -> asyncio.CancelledError:
    """Cancel a task, and give what it raised."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    return caught.value


def pages(wire: dict[str, Any]) -> Any:
    """Three rows a page, twelve in all."""
    start = int(wire["ExclusiveStartKey"]["SK"]["S"][-3:]) + 1 if "ExclusiveStartKey" in wire else 0
    items = [comment(number).to_item() for number in range(start, start + 3)]
    more = {"LastEvaluatedKey": {name: items[-1][name] for name in ("PK", "SK")}} if start < 9 else {}
    return ok({"Items": items, "Count": 3, "ScannedCount": 3, **more})


def test_a_cancelled_page_is_read_again(app: Table, aio_stub: Any) -> None:
    """The iterator goes on with the page that was cancelled: no row is lost, none comes twice."""
    aio_stub.always("Query", pages)
    aio_stub.answered = 2

    async def work() -> list[str]:
        rows = aiter(Comment.query(workspace_id="acme", doc_id="d"))
        seen = [await anext(rows) for _ in range(6)]
        step = asyncio.ensure_future(anext(rows))
        await aio_stub.come(3)
        await cancelled(step)
        aio_stub.answered = None
        seen += [row async for row in rows]
        return [row.comment_id for row in seen]

    assert asyncio.run(work()) == [f"{number:03}" for number in range(12)]


def test_a_cancelled_batch_ends_all_its_requests(app: Table, aio_stub: Any) -> None:
    """No request goes on behind the caller's back, the error tells of them, and no entity claims to be written."""
    aio_stub.always("BatchWriteItem", ok({"UnprocessedItems": {}}))
    aio_stub.answered = 1
    docs = [Document(workspace_id="acme", doc_id=f"{number}", title="x") for number in range(100)]

    async def work() -> Any:
        task = asyncio.create_task(app.aio.batch_write(docs, unversioned=True, parallel=3))
        await aio_stub.come(4)
        raised = await cancelled(task)
        before = aio_stub.arrived
        await asyncio.sleep(0.02)
        assert aio_stub.arrived == before
        return raised

    assert history_of_cancelled(asyncio.run(work())) == ["maybe"] * 3
    assert {doc.revision for doc in docs} == {0}


@pytest.mark.parametrize(("answered", "parallel", "unknown"), [(0, 1, 25), (1, 1, 25), (1, 3, 75), (2, 2, 50)])
def test_a_cancelled_batch_says_what_is_left(
    app: Table, aio_stub: Any, answered: int, parallel: int, unknown: int
) -> None:
    """Of the rows that were on their way nothing is known; those that were not sent are named as they were given."""
    aio_stub.always("BatchWriteItem", ok({"UnprocessedItems": {}}))
    aio_stub.answered = answered
    docs = [Document(workspace_id="acme", doc_id=f"{number}", title="x") for number in range(100)]

    async def work() -> Any:
        task = asyncio.create_task(app.aio.batch_write(docs, unversioned=True, parallel=parallel))
        await aio_stub.come(answered + parallel)
        return await cancelled(task)

    left = told_by_cancelled(asyncio.run(work()), "incomplete")
    assert (len(left.unknown), len(left.unprocessed)) == (unknown, 100 - unknown - 25 * answered)
    assert {id(doc) for doc in (*left.unknown, *left.unprocessed)} <= {id(doc) for doc in docs}


def test_a_cancelled_transaction_is_unknown_and_can_be_resumed(app: Table, aio_stub: Any) -> None:
    """It keeps its token and its body, and asking again settles it."""
    aio_stub.always("TransactWriteItems", ok())
    aio_stub.answered = 0
    doc = Document(workspace_id="acme", doc_id="d", title="x")

    async def work() -> Any:
        tx = app.aio.transaction()
        tx.create(doc)
        task = asyncio.create_task(tx.commit())
        await aio_stub.come(1)
        raised = await cancelled(task)
        assert (tx.state, doc.revision) == ("unknown", 0)
        aio_stub.answered = None
        await tx.resume()
        return raised

    assert history_of_cancelled(asyncio.run(work())) == ["maybe"]
    assert doc.revision == 1


def test_a_cancelled_write_leaves_its_entity_as_it_was(app: Table, aio_stub: Any) -> None:
    """Version, timestamps and index keys are set when the write is known to be applied, and not before."""
    aio_stub.script("PutItem", error("ThrottlingException"))
    aio_stub.answered = 1
    doc = Document(workspace_id="acme", doc_id="d", title="x")

    async def work() -> Any:
        task = asyncio.create_task(doc.aio.create())
        await aio_stub.come(2)
        return await cancelled(task)

    assert history_of_cancelled(asyncio.run(work())) == ["refused", "maybe"]
    assert doc.revision == 0
    with pytest.raises(NotLoaded):
        _ = doc.updated_at


def batch(app: Table) -> Any:
    """A batch of 200 rows, three requests at once."""
    return app.aio.batch_write((comment(number) for number in range(200)), parallel=3)


async def scan(app: Table) -> None:
    """A scan of three segments."""
    async for _ in app.aio.scan(Comment, segments=3):
        pass


@pytest.mark.parametrize("work", [batch, scan])
def test_no_more_requests_are_under_way_than_asked_for(app: Table, aio_stub: Any, work: Callable[[Table], Any]) -> None:
    """A reader or writer of many rows keeps to its number of requests at once."""
    aio_stub.always("BatchWriteItem", ok({"UnprocessedItems": {}}))
    aio_stub.always("Scan", pages)
    aio_stub.answered = 0

    async def whole() -> None:
        task = asyncio.ensure_future(work(app))
        await aio_stub.come(3)  # they wait for their answers, so that all are under way at once
        await asyncio.sleep(0.02)
        aio_stub.answered = None
        await task

    asyncio.run(whole())
    assert (aio_stub.most, aio_stub.arrived >= 8) == (3, True)


def test_a_scan_reads_no_further_than_its_reader_asks(app: Table, aio_stub: Any) -> None:
    """A loop that is slow, or left early, holds the requests back: no more than a page for each segment waits."""
    aio_stub.always("Scan", pages)

    async def work() -> None:
        async for _ in app.aio.scan(Comment, segments=3):
            await asyncio.sleep(0.01)
            break
        await asyncio.sleep(0.01)

    asyncio.run(work())
    assert aio_stub.arrived == 3


def test_the_first_failure_of_many_calls_ends_the_others(app: Table, aio_stub: Any) -> None:
    """A scan of which one segment fails raises that failure, and sends nothing after it."""
    aio_stub.script("Scan", error("ValidationException"))
    aio_stub.always("Scan", pages)

    async def work() -> None:
        with pytest.raises(Exception, match="ValidationException"):
            await scan(app)
        sent = aio_stub.arrived
        await asyncio.sleep(0.02)
        assert aio_stub.arrived == sent <= 3

    asyncio.run(work())


def test_several_loops_in_threads_share_a_port(app: Table, aio_stub: Any) -> None:
    """Loops that run at the same time in several threads each have their own client."""
    aio_stub.always("GetItem", ok({"Item": Workspace(workspace_id="acme", name="x").to_item()}))
    port = app.aio_session().port

    async def work() -> list[Any]:
        def in_a_thread() -> Any:
            binding = Binding(app, "t", port.settings, Capabilities(), aio_port=port)
            with bound_to(app, binding):
                return asyncio.run(read())

        return await asyncio.gather(*(asyncio.to_thread(in_a_thread) for _ in range(4)), read())

    async def read() -> str:
        return (await Workspace.aio.get_or_raise(workspace_id="acme")).name

    assert asyncio.run(work()) == ["x"] * 5
