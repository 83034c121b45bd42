"""Every name of the library, awaited: patterns, streams, meters, dry runs, hooks, batches, transactions, scans."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tablekit import Entity, Field, ShardedCounter, StreamRouter, Table, TransactionCancelled, UniqueViolation
from tests.patterns.flags import make_flags
from tests.support.many_models import User, store
from tests.support.models import Comment, Document, Member, Workspace
from tests.support.models import app as workspace_app
from tests.support.stream_events import event, record


def comments(number: int) -> list[Comment]:
    """That many comments of one partition."""
    return [Comment(workspace_id="acme", doc_id="d", comment_id=f"{n:03}", body="x") for n in range(number)]


def test_a_singleton_is_awaited_and_shares_its_cache_with_threads(connect_full: Any, recorder: Any) -> None:
    """Flags that a task changed are what a thread gets, and neither reads the row again."""
    flags = make_flags(connect_full(Table("flags")), cache_seconds=60)
    seen: list[bool] = []
    sent: list[int] = []

    async def work() -> None:
        assert (await flags.aio.get()).source == "default"
        assert (await flags.aio.update(signup=True)).signup
        await flags.aio.edit(lambda each: each.limits.update(a=1))
        sent.append(recorder.operations.count("GetItem"))
        thread = threading.Thread(target=lambda: seen.append(flags.get().signup))
        thread.start()
        await asyncio.to_thread(thread.join)
        assert (await flags.aio.get()).limits == {"a": 1}

    asyncio.run(work())
    assert seen == [True]
    assert recorder.operations.count("GetItem") == sent[0]


def test_many_tasks_and_threads_make_one_get_item(connect_full: Any, recorder: Any) -> None:
    """A hundred tasks that find the cache cold share one request."""
    flags = make_flags(connect_full(Table("flags")), cache_seconds=60)

    async def work() -> list[Any]:
        return await asyncio.gather(*(flags.aio.get() for _ in range(100)))

    assert len({id(each) for each in asyncio.run(work())}) == 100
    assert recorder.operations.count("GetItem") == 1


def test_a_counter_is_awaited(connect_full: Any) -> None:
    """Fifty additions at once, ten of them the same operation."""
    table = Table("counters")

    class Views(ShardedCounter, table=table, pk="VIEWS#{page}", shards=4):
        """Counts views."""

    connect_full(table)

    async def work() -> int:
        await asyncio.gather(*(Views.aio.add(1, page="home") for _ in range(40)))
        made = [await Views.aio.add(5, operation_id="one", page="home") for _ in range(10)]
        assert made == [True] + [False] * 9
        return await Views.aio.value(page="home")

    assert asyncio.run(work()) == 45


def test_a_unique_value_is_claimed_by_one_task(connect_full: Any) -> None:
    """Of several tasks that want a value at once, one gets it."""
    connect_full(store)

    async def claim(number: int) -> bool:
        try:
            await User(user_id=f"{number}", email="a@x").aio.create()
        except (UniqueViolation, TransactionCancelled):
            return False
        return True

    async def work() -> list[bool]:
        return await asyncio.gather(*(claim(number) for number in range(6)))

    assert sum(asyncio.run(work())) == 1


def test_a_stream_handler_may_write_awaited(full_app: Table) -> None:
    """router.aio awaits a coroutine handler, which awaits the table."""
    router = StreamRouter(workspace_app)

    @router.on(Member, "insert")
    async def welcome(change: Any) -> None:
        await Workspace(workspace_id="acme", name=change.new.email).aio.put()

    keys = {"PK": {"S": "WS#acme"}, "SK": {"S": "MEMBER#a"}}
    image = {**keys, "EntityType": {"S": "Member"}, "workspace_id": {"S": "acme"}, "email": {"S": "a"}}

    async def work() -> str:
        assert await router.aio(event(record("insert", keys, new=image))) == {"batchItemFailures": []}
        return (await Workspace.aio.get_or_raise(workspace_id="acme")).name

    assert asyncio.run(work()) == "a"


def test_a_meter_counts_its_own_task_and_those_it_starts(full_app: Table) -> None:
    """A task that runs beside the block is not metered; tasks of the block are."""
    for comment in comments(3):
        comment.create()

    async def beside(begun: asyncio.Event) -> None:
        begun.set()
        for _ in range(5):
            await Workspace.aio.get(workspace_id="acme")

    operations: list[str] = []

    async def work() -> None:
        begun = asyncio.Event()
        other = asyncio.create_task(beside(begun))
        await begun.wait()
        with full_app.meter(lambda seen: operations.append(seen.operation)):
            await asyncio.gather(*(Workspace.aio.get(workspace_id="acme") for _ in range(2)))
            assert len([row async for row in full_app.aio.query(Comment, workspace_id="acme", doc_id="d")]) == 3
        await other

    asyncio.run(work())
    assert operations == ["GetItem", "GetItem", "Query"]


def test_a_dry_run_holds_back_the_writes_of_its_own_task(full_app: Table) -> None:
    """Tasks of the block are held back; a task beside it writes."""

    async def beside(go: asyncio.Event) -> None:
        await go.wait()
        await Workspace(workspace_id="beside", name="x").aio.create()

    async def work() -> list[str]:
        go = asyncio.Event()
        other = asyncio.create_task(beside(go))
        with full_app.dry_run() as plan:
            go.set()
            await asyncio.gather(*(Workspace(workspace_id=f"{n}", name="x").aio.create() for n in range(2)))
            await other
            async with full_app.aio.batch() as batch:
                batch.put(Member(workspace_id="held", email="x"))
            async with full_app.aio.transaction() as tx:
                tx.create(Member(workspace_id="held", email="y"))
        assert await Workspace.aio.get(workspace_id="beside") is not None
        assert [row async for row in full_app.aio.scan(Workspace, Member)] == [
            Workspace(workspace_id="beside", name="x")
        ]
        return [each.operation for each in plan.requests]

    assert asyncio.run(work()) == ["PutItem", "PutItem", "BatchWriteItem", "TransactWriteItems"]


def test_hooks_are_awaited(connect_full: Any) -> None:
    """An async before_write and after_write run around the write, in its task."""
    table = Table("hooks")
    told: list[str] = []

    class Note(Entity, table=table, pk="N#{id_}", sk="META"):
        """Tells of its writes."""

        id_: Field[str]

        async def before_write(self, operation: str) -> None:
            await asyncio.sleep(0)
            told.append(f"before {operation}")

        async def after_write(self, operation: str) -> None:
            assert await Note.aio.get(id_=self.id_) is not None
            told.append(f"after {operation}")

    connect_full(table)

    async def work() -> None:
        await Note(id_="1").aio.create()
        async with table.aio.batch() as batch:
            batch.put(Note(id_="2"))
        async with table.aio.transaction() as tx:
            tx.create(Note(id_="3"))

    asyncio.run(work())
    assert told == [f"{when} {verb}" for verb in ("create", "put", "create") for when in ("before", "after")]


def test_batches_and_transactions_are_awaited(full_app: Table) -> None:
    """Sixty rows in a batch, three of them in one transaction, read back in a batch and in a transaction."""

    async def work() -> None:
        async with full_app.aio.batch() as batch:
            for comment in comments(60):
                batch.put(comment)
        keys = [Comment.key(workspace_id="acme", doc_id="d", comment_id=f"{n:03}") for n in range(60)]
        async with full_app.aio.transaction() as tx:
            tx.update(keys[0], Comment.body.set("y"))
            tx.delete(keys[1])
            tx.check(keys[2])
        found = await full_app.aio.batch_get(keys)
        assert [each is None for each in found] == [n == 1 for n in range(60)]
        first, second = await full_app.aio.transact_get(keys[0], keys[1])
        assert first is not None
        assert (first.body, second) == ("y", None)

    asyncio.run(work())


def test_a_transaction_that_raises_sends_nothing(full_app: Table, recorder: Any) -> None:
    """An error of the block's own ends the transaction unsent."""

    async def work() -> None:
        async with full_app.aio.transaction() as tx:
            tx.create(Workspace(workspace_id="acme", name="x"))
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(work())
    assert recorder.sent("TransactWriteItems") == []


def test_a_scan_in_segments_is_iterated_over(full_app: Table, recorder: Any) -> None:
    """Each of eight segments is read, and every row comes once."""

    async def work() -> list[str]:
        await full_app.aio.batch_write(comments(100))
        return [comment.comment_id async for comment in full_app.aio.scan(Comment, segments=8)]

    assert sorted(asyncio.run(work())) == [f"{n:03}" for n in range(100)]
    assert {wire["Segment"] for wire in recorder.sent("Scan")} == set(range(8))


def test_pages_come_one_after_the_other(full_app: Table) -> None:
    """Async pages, by iteration and by cursor, are those without await."""
    query = Document.query(workspace_id="acme")

    async def work() -> list[list[str]]:
        await asyncio.gather(*(Document(workspace_id="acme", doc_id=f"{n}", title="x").aio.create() for n in range(5)))
        return [[doc.doc_id for doc in page] async for page in query.aio.pages(2)]

    assert asyncio.run(work()) == [[doc.doc_id for doc in page] for page in query.pages(2)]
