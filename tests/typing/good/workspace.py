"""Right uses: each `assert_type` is what both checkers must infer."""

from __future__ import annotations

import enum
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

from typing_extensions import assert_type

from tablekit import (
    BoundIndex,
    Column,
    Condition,
    Entity,
    Field,
    GlobalIndex,
    Key,
    Page,
    Query,
    Table,
    created_at,
    field,
    index_key,
    ttl,
    updated_at,
    version,
)


class Status(enum.Enum):
    """How far a document is."""

    DRAFT = "draft"
    DONE = "done"


app = Table("t", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])


class Workspace(Entity, table=app, pk="WS#{workspace_id}", sk="META"):
    """The owner of a partition."""

    workspace_id: Field[str]
    name: Field[str]


class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}", type="Document", aliases=("Doc",)):
    """A bit of everything."""

    workspace_id: Field[str]
    doc_id: Field[str]
    title: Field[str]
    tags: Field[set[str]] = field(factory=set)
    plan: Field[int | None] = field(default=None)
    status: Field[Status] = field(default=Status.DRAFT)
    settings: Field[dict[str, int]] = field(factory=dict)
    expires_at: Field[datetime | None] = ttl(default=None)
    revision = version()
    made_at = created_at()
    changed_at = updated_at()
    feed = index_key("GSI1", pk="WS#{workspace_id}", sk="{changed_at}")

    def shout(self) -> str:
        """A method of the user's own sees values."""
        return self.title.upper()


class Note(Document, sk="NOTE#{doc_id}"):
    """A subclass."""

    color: Field[str] = field(default="red")


def instances() -> None:
    """Reading and setting fields."""
    doc = Document(workspace_id="a", doc_id="b", title="t")
    note = Note(workspace_id="a", doc_id="b", title="t", color="blue", tags={"x"}, status=Status.DONE)
    assert_type(doc.title, str)
    assert_type(doc.tags, set[str])
    assert_type(doc.plan, "int | None")
    assert_type(doc.revision, int)
    assert_type(doc.made_at, datetime)
    assert_type(doc.expires_at, "datetime | None")
    assert_type(note.title, str)
    assert_type(note.replace(title="x"), Note)
    assert_type(Document.entity_type, str)
    doc.title = "x"
    doc.plan = 3
    doc.plan = None
    doc.status = Status.DONE


def columns() -> None:
    """The class gives columns, of which conditions and actions are made."""
    assert_type(Document.title, Column[str])
    assert_type(Document.revision, Column[int])
    assert_type(Document.changed_at, Column[datetime])
    assert_type(Document.title == "x", Condition)
    assert_type(Document.revision < 3, Condition)
    assert_type((Document.title == "x") & (Document.revision >= 1), Condition)
    assert_type(~Document.title.begins_with("x"), Condition)


def writes() -> None:
    """Verbs give the entity's own class."""
    doc = Document(workspace_id="a", doc_id="b", title="t")
    assert_type(doc.create(), Document)
    assert_type(doc.put(condition=Document.revision == 3), Document)
    assert_type(doc.save(), Document)
    assert_type(doc.update(Document.title.set("x"), condition=Document.status == Status.DRAFT), Document)
    assert_type(doc.refresh(), Document)
    doc.update(Document.title.set("x"), Document.tags.add({"y"}), Document.revision.add(1))
    doc.delete()


def reads() -> None:
    """Reads by key and by query."""
    assert_type(Document.get(workspace_id="a", doc_id="b"), "Document | None")
    assert_type(Document.get_or_raise(workspace_id="a", doc_id="b"), Document)
    assert_type(Document.query(workspace_id="a"), Query[Document])
    assert_type(Document.query(workspace_id="a").where(Document.title == "x").first(), "Document | None")
    assert_type(Document.query(workspace_id="a").page(10), Page[Document])
    assert_type(Document.feed, BoundIndex[Document])
    assert_type(Note.feed.query(workspace_id="a").first(), "Note | None")
    assert_type(app.query(Workspace, Document, workspace_id="a"), "Query[Workspace | Document]")
    assert_type(app.query(pk="WS#a"), Query[Entity])


def matching() -> None:
    """A mixed query narrows by class and by field."""
    for item in app.query(Workspace, Document, workspace_id="a"):
        match item:
            case Document(title=title, revision=revision):
                assert_type(item, Document)
                assert_type(title, str)
                assert_type(revision, int)
            case Workspace(name=name):
                assert_type(name, str)


def keys() -> None:
    """A key handle's update gives what `returning` says."""
    key = Document.key(workspace_id="a", doc_id="b")
    assert_type(key, Key[Document])
    assert_type(key.get(consistent=True, select=[Document.title]), "Document | None")
    assert_type(key.update(Document.title.set("x")), Document)
    assert_type(key.update(Document.title.set("x"), returning="old"), "Document | None")
    assert_type(key.update(Document.title.set("x"), returning="changed"), dict[str, Any])
    assert_type(key.delete(returning="old"), "Document | None")
    assert_type({key: 1}, dict[Key[Document], int])


async def awaited() -> None:
    """The awaited face has the types of the other."""
    doc = Document(workspace_id="a", doc_id="b", title="t")
    assert_type(await Document.aio.get(workspace_id="a", doc_id="b"), "Document | None")
    assert_type(await doc.aio.save(), Document)
    assert_type(await Document.key(workspace_id="a", doc_id="b").aio.get(), "Document | None")
    assert_type(await doc.aio.update(Document.title.set("x")), Document)
    key = Document.key(workspace_id="a", doc_id="b")
    assert_type(await key.aio.update(Document.title.set("x"), returning="old"), "Document | None")
    async for item in app.query(Workspace, Document, workspace_id="a"):
        assert_type(item, "Workspace | Document")
    waiting: Coroutine[Any, Any, Document] = doc.aio.create()
    await waiting
