"""Awaited calls on uvloop, which many servers run on in place of asyncio's own loop."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from collections.abc import Iterator

import pytest

from tablekit import Table
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Workspace

if sys.platform == "win32":
    pytest.skip("uvloop is not made for Windows", allow_module_level=True)

import uvloop


@pytest.fixture(params=["pynamodb", "direct"])
def app(request: pytest.FixtureRequest, full_app: Table, ministack: Engine) -> Iterator[Table]:
    """The workspace app, by each transport."""
    with full_app.bound(name=full_app.name, transport=request.param, **ministack.connect_options()) as app:
        yield app


def test_reads_and_writes_pass(app: Table) -> None:
    """One at a time and many at once; nothing is left open when the loop ends."""

    async def work() -> tuple[int, int]:
        await Workspace(workspace_id="acme", name="Acme").aio.create()
        numbers = range(60)
        await asyncio.gather(
            *(Document(workspace_id="acme", doc_id=str(each), title="Spec").aio.create() for each in numbers)
        )
        async with app.aio.transaction() as tx:
            tx.delete(Document.key(workspace_id="acme", doc_id="0"))
        found = [item async for item in app.query(Workspace, Document, Comment, workspace_id="acme")]
        read = await asyncio.gather(*(Document.aio.get(workspace_id="acme", doc_id=str(each)) for each in numbers))
        return len(found), sum(each is not None for each in read)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert uvloop.run(work()) == (60, 59)
        gc.collect()


def test_a_cancelled_call_leaves_the_connection_usable(app: Table) -> None:
    """The next call on the loop is answered."""

    async def work() -> Workspace | None:
        await Workspace(workspace_id="acme", name="Acme").aio.create()
        call = asyncio.create_task(Workspace.aio.get(workspace_id="acme"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await Workspace.aio.get(workspace_id="acme")

    assert uvloop.run(work()) == Workspace(workspace_id="acme", name="Acme")


def test_a_deadline_holds(app: Table) -> None:
    """Time-outs of uvloop are those of asyncio."""

    async def work() -> bool:
        with app.deadline(seconds=30):
            return await Workspace.aio.get(workspace_id="acme") is None

    assert uvloop.run(work())
