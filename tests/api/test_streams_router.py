"""Handlers of a stream, and what Lambda is answered."""

from __future__ import annotations

import asyncio

import pytest

from tablekit import (
    DefinitionError,
    Entity,
    Field,
    InvalidStreamRecord,
    RequestError,
    StreamChange,
    StreamRouter,
    Table,
)
from tests.support.models import Document, Member, Workspace
from tests.support.models import app as workspace_app
from tests.support.stream_events import event, number_of, record

other = Table("other")


class Elsewhere(Entity, table=other, pk="E#{id_}", sk="META"):
    """Lives in another table."""

    id_: Field[str]


def member(kind="insert", name="a", **changes):
    """A record of a member."""
    keys = {"PK": {"S": "WS#acme"}, "SK": {"S": f"MEMBER#{name}"}}
    image = {**keys, "EntityType": {"S": "Member"}, "workspace_id": {"S": "acme"}, "email": {"S": name}, **changes}
    return record(kind, keys, **({"old": image} if kind == "remove" else {"new": image}))


def foreign():
    """A record of a row that is no entity."""
    keys = {"PK": {"S": "X"}, "SK": {"S": "Y"}}
    return record("insert", keys, new=keys)


def failed(*records):
    """What Lambda is answered when these records failed."""
    return {"batchItemFailures": [{"itemIdentifier": number_of(each)} for each in records]}


def recording(router, cls, *kinds):
    """The emails that a handler was called with; it fails for names that begin with ``bad``."""
    seen = []

    @router.on(cls, *kinds)
    def handle(change):
        seen.append((change.kind, (change.new or change.old).email))
        if seen[-1][1].startswith("bad"):
            raise RuntimeError("no")

    return seen


def test_changes_go_to_the_handlers_of_class_and_kind():
    """A handler sees the changes of its class and kinds; what nobody asks for is passed over."""
    router = StreamRouter(workspace_app)
    members, removed = recording(router, Member, "insert", "modify"), recording(router, Member, "remove")
    recording(router, Workspace)
    assert router(event(member(), member("remove"), foreign())) == failed()
    assert (members, removed) == ([("insert", "a")], [("remove", "a")])


def test_every_handler_that_fits_is_called():
    """A handler of the base class sees the changes of every class, in the order of registration."""
    router = StreamRouter(workspace_app)
    order = []
    router.on(Entity)(lambda change: order.append("any"))
    router.on(Member)(lambda change: order.append("member"))
    router(event(member()))
    assert order == ["any", "member"]


def test_the_decorated_function_stays_itself():
    """A handler can still be called, by a test say."""
    router = StreamRouter(workspace_app)

    @router.on(Member)
    def handle(change: StreamChange[Member]) -> str:
        return change.kind

    (change,) = workspace_app.decode_stream(member())
    assert handle(change) == "insert"


def test_it_stops_at_the_first_failure(caplog):
    """What comes after the first failure is not tried: Lambda begins again there."""
    router = StreamRouter(workspace_app)
    seen = recording(router, Member)
    records = [member(name="a"), member(name="bad"), member(name="c")]
    assert router(event(*records)) == failed(records[1])
    assert [name for _, name in seen] == ["a", "bad"]
    assert records[1]["eventID"] in caplog.text


def test_it_can_go_on_and_keeps_each_row_in_order():
    """With "continue" other rows are handled; later changes of a failed row are failed too, untried."""
    router = StreamRouter(workspace_app, on_failure="continue")
    seen = recording(router, Member)
    records = [member(name="bad"), member(name="b"), member("remove", name="bad"), member(name="d")]
    assert router(event(*records)) == failed(records[0], records[2])
    assert [name for _, name in seen] == ["bad", "b", "d"]


def test_a_row_that_cannot_be_read_fails_alone():
    """A record whose row does not decode is reported by its number, like a handler's failure."""
    router = StreamRouter(workspace_app)
    seen = recording(router, Member)
    records = [member(name="a"), member(name="b", role={"N": "1"})]
    assert router(event(*records)) == failed(records[1])
    assert [name for _, name in seen] == ["a"]


def test_foreign_rows_have_a_handler_of_their_own():
    """Rows that are no entities go to on_foreign; tablekit's own do not."""
    router = StreamRouter(workspace_app)
    rows = []
    router.on_foreign("insert")(lambda change: rows.append(change.new))
    own = foreign()
    own["dynamodb"]["NewImage"] = {**own["dynamodb"]["NewImage"], "EntityType": {"S": "tablekit:unique"}}
    router(event(foreign(), member(), own))
    assert rows == [{"PK": {"S": "X"}, "SK": {"S": "Y"}}]


def test_a_failure_without_a_number_fails_the_batch():
    """An empty identifier would hide why: the handler's own error comes out."""
    router = StreamRouter(workspace_app)
    recording(router, Member)
    bad = member(name="bad")
    del bad["dynamodb"]["SequenceNumber"]
    with pytest.raises(RuntimeError):
        router(event(bad))


def test_what_is_no_event_is_refused():
    """A wrong trigger is an error of the whole call."""
    with pytest.raises(InvalidStreamRecord):
        StreamRouter(workspace_app)({"version": "2.0"})


def test_coroutine_handlers_are_awaited():
    """Sync and async handlers live together, called from Lambda's synchronous handler."""
    router = StreamRouter(workspace_app)
    seen = []

    @router.on(Member)
    async def slowly(change: StreamChange[Member]) -> None:
        await asyncio.sleep(0)
        seen.append(change.kind)

    router.on(Member)(lambda change: seen.append("sync"))
    assert router(event(member()), None) == failed()
    assert seen == ["insert", "sync"]


def test_in_an_event_loop_it_is_awaited():
    """An application with a loop awaits router.aio; calling it there says so."""
    router = StreamRouter(workspace_app)

    @router.on(Member)
    async def slowly(change: StreamChange[Member]) -> None:
        raise RuntimeError("no")

    given = member()

    async def main():
        with pytest.raises(RequestError, match="aio"):
            router(event(given))
        return await router.aio(event(given))

    assert asyncio.run(main()) == failed(given)


def test_an_interrupt_is_no_failed_record():
    """Stopping the process stops it."""
    router = StreamRouter(workspace_app)

    @router.on(Member)
    def stop(change: StreamChange[Member]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        router(event(member()))


def test_a_class_of_another_table_is_refused():
    """Its changes would never come, and nobody would know why."""
    with pytest.raises(DefinitionError, match="never come here"):
        StreamRouter(workspace_app).on(Elsewhere)


def test_a_misspelt_kind_is_refused():
    """A handler for "update" would never be called."""
    with pytest.raises(RequestError, match="modify"):
        StreamRouter(workspace_app).on(Document, "update")
