"""The clients of awaited calls: one for each loop, closed with it, usable after cancellation and errors."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tablekit import ConnectionFailed, RequestError, Table
from tablekit.operations.async_transport import AioPort
from tablekit.operations.settings import Settings
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Workspace


def test_two_loops_have_two_clients(full_app: Table) -> None:
    """asyncio.run twice works: the second loop does not get the first one's sockets."""
    Workspace(workspace_id="acme", name="Acme").create()

    async def read() -> Workspace | None:
        return await Workspace.aio.get(workspace_id="acme")

    assert asyncio.run(read()) == asyncio.run(read())


def test_a_client_that_nobody_closed_ends_with_its_loop(full_app: Table) -> None:
    """No socket and no session is left behind when asyncio.run ends."""

    async def read() -> None:
        await Workspace.aio.get(workspace_id="acme")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(read())
        gc.collect()


def test_many_first_calls_build_one_client(ministack: Engine, full_app: Table) -> None:
    """A hundred tasks that begin at once share one client of aiobotocore, whichever transport the run is for."""
    full_app.connect(name=full_app.name, transport="pynamodb", **ministack.connect_options())
    port = full_app.binding.aio_port
    assert isinstance(port, AioPort)

    async def read() -> int:
        await asyncio.gather(*(Workspace.aio.get(workspace_id="acme") for _ in range(100)))
        return len(port._clients)

    assert asyncio.run(read()) == 1


def test_connected_closes_at_the_end_of_its_block(full_app: Table) -> None:
    """The binding of the block is used inside it only."""

    async def work() -> tuple[str, str]:
        async with full_app.aio.connected(name="other") as app:
            inside = app.name
        return inside, full_app.name

    inside, outside = asyncio.run(work())
    assert inside == "other"
    assert outside != "other"


def test_a_closed_port_opens_again(full_app: Table) -> None:
    """After aclose the next call builds a new client."""

    async def work() -> None:
        await Workspace(workspace_id="acme", name="Acme").aio.create()
        await full_app.aio.aclose()
        assert await Workspace.aio.get(workspace_id="acme") is not None

    asyncio.run(work())


def test_a_cancelled_read_leaves_the_connection_usable(full_app: Table) -> None:
    """A task that is cancelled in the middle of a request disturbs no other."""

    async def work() -> Any:
        await Workspace(workspace_id="acme", name="Acme").aio.create()
        ended = []
        for pause in (0, 0, 0.0005, 0.001, 0.002, 0.004):
            task = asyncio.create_task(Workspace.aio.get(workspace_id="acme"))
            await asyncio.sleep(pause)
            task.cancel()
            ended += await asyncio.gather(task, return_exceptions=True)
        assert any(isinstance(each, asyncio.CancelledError) for each in ended)
        return await Workspace.aio.get(workspace_id="acme")

    assert asyncio.run(work()).name == "Acme"


def test_a_cancelled_iteration_goes_on_from_the_same_place(full_app: Table) -> None:
    """Cancelling one step of a query loses no row: the next step reads the page again."""
    for number in range(30):
        Comment(workspace_id="acme", doc_id="d1", comment_id=f"{number:02}", body="x").create()

    async def work() -> list[str]:
        seen: list[str] = []
        entities = aiter_of(Comment.query(workspace_id="acme", doc_id="d1").page_size(7))
        while True:
            step = asyncio.ensure_future(entities.__anext__())
            if len(seen) % 5 == 0:
                await asyncio.sleep(0.0005)
                step.cancel()
            try:
                seen.append((await step).comment_id)
            except asyncio.CancelledError:
                seen.append((await entities.__anext__()).comment_id)
            except StopAsyncIteration:
                return seen

    def aiter_of(query: Any) -> Any:
        return query.__aiter__()

    assert asyncio.run(work()) == [f"{number:02}" for number in range(30)]


def test_two_hundred_updates_at_once_stay_within_the_sockets(ministack: Engine, full_app: Table) -> None:
    """A fan-out of updates on one loop is bounded by max_pool_connections, and all are applied."""
    full_app.connect(name=full_app.name, max_pool_connections=8, **ministack.connect_options())
    for number in range(20):
        Document(workspace_id="acme", doc_id=f"{number}", title="x").create()

    async def work() -> Any:
        keys = [Document.key(workspace_id="acme", doc_id=f"{number % 20}") for number in range(200)]
        return await asyncio.gather(*(key.aio.update(Document.words.add(1)) for key in keys))

    _, sockets = asyncio.run(_watched(work()))
    assert sockets <= 8
    assert sum(doc.words for doc in Document.query(workspace_id="acme")) == 200


async def _watched(work: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """The result of some work, and how many sockets it had open at once."""
    before = most = _sockets()

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, _sockets())
            await asyncio.sleep(0.001)

    watcher = asyncio.create_task(watch())
    result = await work
    watcher.cancel()
    return result, most - before


def _sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            count += str(descriptor.readlink()).startswith("socket:")
        except OSError:
            continue
    return count


def test_a_thousand_gets_at_once_all_come_back(ministack: Engine, full_app: Table) -> None:
    """A thousand tasks on one loop each get their own row, over as many sockets as were allowed."""
    full_app.connect(name=full_app.name, max_pool_connections=16, **ministack.connect_options())
    for number in range(10):
        Workspace(workspace_id=f"w{number}", name=f"n{number}").create()

    async def work() -> list[Any]:
        return await asyncio.gather(*(Workspace.aio.get(workspace_id=f"w{n % 10}") for n in range(1000)))

    found, sockets = asyncio.run(_watched(work()))
    assert [each.name for each in found] == [f"n{n % 10}" for n in range(1000)]
    assert sockets <= 16


def test_an_unreachable_engine_is_a_connection_error() -> None:
    """The error map is the synchronous one."""
    port = AioPort(Settings(endpoint_url="http://127.0.0.1:9", max_attempts=1, connect_timeout=0.5))
    table = Table("nowhere")
    table.connect(endpoint_url="http://127.0.0.1:9", max_attempts=1, connect_timeout=0.5)
    assert port.settings.is_local

    with pytest.raises(ConnectionFailed):
        asyncio.run(table.aio.describe_table())


def test_a_synchronous_session_is_refused_with_the_remedy() -> None:
    """A botocore session cannot be awaited."""
    import botocore.session

    table = Table("nowhere")
    table.connect(session=botocore.session.Session(), region="eu-west-1")

    with pytest.raises(RequestError, match="aiobotocore session"):
        asyncio.run(table.aio.describe_table())
