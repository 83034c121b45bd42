"""The same scenarios over every transport, in both colours; the whole suite runs so with TABLEKIT_TEST_TRANSPORT."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tablekit import ItemExists, Key, RawItem, Table, TransactionCancelled, VersionConflict, WrongEntityType
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Member, Workspace
from tests.support.models import app as workspace_app
from tests.support.tables import connector

WAYS = [(transport, awaited) for transport in ("pynamodb", "direct") for awaited in (False, True)]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{'awaited' if way[1] else 'sync'}")
def app(request: Any, ministack: Engine, table_name: str, recorder: Any) -> Iterator[Table]:
    """The workspace app, whose synchronous calls go by each transport in both colours."""
    transport, awaited = request.param
    with_table = connector(ministack, table_name, transport=transport, awaited=awaited)
    yield next(with_table)(workspace_app)
    next(with_table, None)


def test_an_entity_lives_its_life(app: Table) -> None:
    """Made, read, changed in each way, and deleted."""
    doc = Document(workspace_id="acme", doc_id="d1", title="Spec").create()
    doc.title = "Spec 2"
    doc.save()
    doc.update(Document.tags.add({"x"}), Document.words.add(7))
    found = Document.get_or_raise(workspace_id="acme", doc_id="d1")
    assert (found.title, found.tags, found.words, found.revision) == ("Spec 2", {"x"}, 7, 3)
    found.delete()
    assert Document.get(workspace_id="acme", doc_id="d1") is None


def test_failures_are_named(app: Table) -> None:
    """A row that exists, a version that moved, and a sibling under the key."""
    doc = Document(workspace_id="acme", doc_id="d1", title="Spec").create()
    with pytest.raises(ItemExists):
        Document(workspace_id="acme", doc_id="d1", title="Other").create()
    Document.key(workspace_id="acme", doc_id="d1").update(Document.words.add(1))
    with pytest.raises(VersionConflict) as caught:
        doc.update(Document.words.add(1))
    assert caught.value.stored is not None
    Workspace(workspace_id="acme", name="Acme").create()
    with pytest.raises(WrongEntityType):
        Key(Comment, {}, {"PK": {"S": "WS#acme"}, "SK": {"S": "META"}}).get()


def test_many_rows_are_written_and_read(app: Table) -> None:
    """A batch, pages of a mixed query, a scan in segments, a batch read."""
    comments = [Comment(workspace_id="acme", doc_id="d", comment_id=f"{n:02}", body="x") for n in range(30)]
    with app.batch() as batch:
        for comment in comments:
            batch.put(comment)
    Workspace(workspace_id="acme", name="Acme").create()
    query = app.query(Workspace, Comment, workspace_id="acme")
    expected = [*comments, Workspace.get(workspace_id="acme")]
    assert [row for page in query.pages(7) for row in page] == list(query) == expected
    assert len(list(app.scan(Comment, segments=4))) == 30
    keys = [Comment.key(workspace_id="acme", doc_id="d", comment_id=f"{n:02}") for n in range(3)]
    assert app.batch_get(keys) == comments[:3]


def test_a_transaction_is_all_or_nothing(app: Table) -> None:
    """One action that fails cancels the others, with its reason in place."""
    Member(workspace_id="acme", email="a").create()
    with pytest.raises(TransactionCancelled) as caught, app.transaction() as tx:
        tx.create(Member(workspace_id="acme", email="b"))
        tx.create(Member(workspace_id="acme", email="a"))
    assert [type(reason.error) for reason in caught.value.reasons] == [type(None), ItemExists]
    assert Member.get(workspace_id="acme", email="b") is None


def test_bytes_come_back_as_they_were_written(app: Table) -> None:
    """Binary values, alone, in sets and nested, by the fast reading path."""
    item: dict[str, Any] = {
        "PK": {"S": "WS#acme"},
        "SK": {"S": "RAW"},
        "B": {"B": b"\x00\xff"},
        "BS": {"BS": [b"\x01"]},
    }
    item["deep"] = {"M": {"B": {"L": [{"B": b"x"}]}}}
    client: Any = app.session().port
    client.client.put_item(TableName=app.name, Item=item)
    (found,) = app.query(pk="WS#acme").raw()
    assert isinstance(found, RawItem)
    assert dict(found) == item


def test_both_colours_share_a_table(app: Table) -> None:
    """What one face wrote the other reads, and deletes."""

    async def work() -> None:
        assert (await Workspace.aio.get_or_raise(workspace_id="acme")).name == "Acme"
        await Workspace.key(workspace_id="acme").aio.delete()

    Workspace(workspace_id="acme", name="Acme").create()
    asyncio.run(work())
    assert Workspace.get(workspace_id="acme") is None
