"""dynamoxy: typed models with a core in Rust, awaited."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import dynamoxy
from dynamoxy import Attr, Model, partition_key, sort_key

from benchmarks.data import BATCH, TRANSACTION, WORKSPACE, comment, document, keys


class Workspace(Model, table="bench", entity="Workspace"):
    """The owner of a partition."""

    pk: Attr[str] = partition_key(template="WS#{workspace_id}")
    sk: Attr[str] = sort_key(template="META")
    workspace_id: Attr[str]
    name: Attr[str]
    plan: Attr[str]
    owner: Attr[str]
    contact: Attr[str]
    seats: Attr[int]
    regions: Attr[list[str]]
    settings: Attr[dict[str, str]]
    created_at: Attr[datetime]
    active: Attr[bool]


class Document(Model, table="bench", entity="Document"):
    """A document."""

    pk: Attr[str] = partition_key(template="WS#{workspace_id}")
    sk: Attr[str] = sort_key(template="DOC#{doc_id}")
    workspace_id: Attr[str]
    doc_id: Attr[str]
    title: Attr[str]
    status: Attr[str]
    author: Attr[str]
    size: Attr[int]
    tags: Attr[list[str]]
    meta: Attr[dict[str, str]]
    created_at: Attr[datetime]
    archived: Attr[bool]


class Comment(Model, table="bench", entity="Comment"):
    """A comment on a document."""

    pk: Attr[str] = partition_key(template="WS#{workspace_id}")
    sk: Attr[str] = sort_key(template="DOC#{doc_id}#CMT#{comment_id}")
    workspace_id: Attr[str]
    doc_id: Attr[str]
    comment_id: Attr[str]
    author: Attr[str]
    body: Attr[str]
    likes: Attr[int]
    mentions: Attr[list[str]]
    labels: Attr[dict[str, str]]
    created_at: Attr[datetime]
    edited: Attr[bool]


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.document = Document(**document(0))
        self.comments = [Comment(**comment(number)) for number in range(BATCH)]
        self.keys = [keys("Comment", comment(number % 699)) for number in range(BATCH)]
        self.loaded: Any = None
        self.turn = 0

    async def start(self) -> None:
        """Connect."""
        credentials = dynamoxy.Credentials("a", "b")
        self.client = dynamoxy.Client(region="eu-west-1", endpoint_url=self.endpoint, credentials=credentials)
        await self.client.__aenter__()
        self.documents = self.client.repository(Document)
        self.collection = self.client.collection(Workspace, Document, Comment)
        self.repositories = {kind: self.client.repository(each) for kind, each in CLASSES.items()}

    async def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        await self.repositories[kind].put(CLASSES[kind](**values))

    async def query(self, workspace: str) -> list[Any]:
        """A query of the collection."""
        return list(await self.collection.query(workspace_id=workspace).all())

    async def get(self) -> Any:
        """One document."""
        return await self.documents.get(workspace_id=WORKSPACE, doc_id="d0000")

    async def put(self) -> None:
        """One document."""
        await self.documents.put(self.document)

    async def save(self) -> None:
        """One changed field, sent as an update."""
        if self.loaded is None:
            self.loaded = await self.get()
        self.turn += 1
        await self.documents.update(self.loaded, Document.title.set(f"Title {self.turn}"))

    async def batch_write(self) -> None:
        """A thousand comments."""
        await self.repositories["Comment"].batch_put(self.comments)

    async def batch_get(self) -> list[Any]:
        """A thousand comments, some of them asked for more than once."""
        found: list[Any] = await self.repositories["Comment"].batch_get(self.keys)
        return found

    async def transaction(self) -> None:
        """Twenty-five puts."""
        async with self.client.transaction() as tx:
            for each in self.comments[:TRANSACTION]:
                tx.put(each)

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return getattr(found, name)
