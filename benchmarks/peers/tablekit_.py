"""tablekit, through the default transport or the direct one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from benchmarks.data import (
    BATCH,
    CACHED_READS,
    DOCUMENT,
    TRANSACTION,
    WORKSPACE,
    comment,
    document,
    rows,
    stream_event,
)
from tablekit import Entity, Field, Singleton, Table, field, version

app = Table("bench")


class Workspace(Entity, table=app, pk="WS#{workspace_id}", sk="META"):
    """The owner of a partition."""

    workspace_id: Field[str]
    name: Field[str]
    plan: Field[str]
    owner: Field[str]
    contact: Field[str]
    seats: Field[int]
    regions: Field[list[str]]
    settings: Field[dict[str, str]]
    created_at: Field[datetime]
    active: Field[bool]


class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}"):
    """A document."""

    workspace_id: Field[str]
    doc_id: Field[str]
    title: Field[str]
    status: Field[str]
    author: Field[str]
    size: Field[int]
    tags: Field[list[str]]
    meta: Field[dict[str, str]]
    created_at: Field[datetime]
    archived: Field[bool]


class Comment(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}#CMT#{comment_id}"):
    """A comment on a document."""

    workspace_id: Field[str]
    doc_id: Field[str]
    comment_id: Field[str]
    author: Field[str]
    body: Field[str]
    likes: Field[int]
    mentions: Field[list[str]]
    labels: Field[dict[str, str]]
    created_at: Field[datetime]
    edited: Field[bool]


class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1", cache_seconds=3600):
    """Switches, read on every request of an application."""

    signup_enabled: Field[bool] = field(default=False)
    maintenance_mode: Field[bool] = field(default=True)
    limit: Field[int] = field(default=10)
    schema_version = version()


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str, transport: Any = "pynamodb") -> None:
        app.connect(
            endpoint_url=endpoint,
            region="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            transport=transport,
        )
        self.document = Document(**document(0))
        self.loaded: Any = None
        self.turn = 0
        self.event: Any = None
        self.comments = [Comment(**comment(number)) for number in range(BATCH)]
        self.keys = [Comment.key(**key_of(number % 699)) for number in range(BATCH)]

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        CLASSES[kind](**values).put()

    def query(self, workspace: str) -> list[Any]:
        """A mixed query."""
        return list(app.query(Workspace, Document, Comment, workspace_id=workspace))

    def get(self) -> Any:
        """One document."""
        return Document.get(workspace_id=WORKSPACE, doc_id=DOCUMENT)

    def put(self) -> None:
        """One document."""
        self.document.put()

    def save(self) -> None:
        """One changed field."""
        if self.loaded is None:
            self.loaded = self.get()
        self.turn += 1
        self.loaded.title = f"Title {self.turn}"
        self.loaded.save()

    def batch_write(self) -> None:
        """A thousand comments."""
        with app.batch() as batch:
            for each in self.comments:
                batch.put(each)

    def batch_get(self) -> Any:
        """A thousand comments, some of them asked for more than once."""
        return app.batch_get(self.keys)

    def transaction(self) -> None:
        """Twenty-five puts."""
        with app.transaction() as tx:
            for each in self.comments[:TRANSACTION]:
                tx.put(each)

    def streams(self) -> list[Any]:
        """Ten thousand changes of an event, decoded to objects."""
        if self.event is None:
            self.event = stream_event([CLASSES[kind](**values).to_item() for kind, values in rows()])
        return [change.new for change in app.decode_stream(self.event)]

    def singleton(self) -> None:
        """Reads of a flag inside the time to live."""
        get = AppFlags.get
        for _ in range(CACHED_READS):
            _ = get().signup_enabled

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """A field."""
        return getattr(found, name)


def key_of(number: int) -> dict[str, str]:
    """The fields of a comment's key."""
    values = comment(number)
    return {name: values[name] for name in ("workspace_id", "doc_id", "comment_id")}
