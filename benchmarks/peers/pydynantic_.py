"""pydynantic: pydantic entities, read through a collection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import boto3
from pydynantic import Collection, Entity, Table, key, transaction

from benchmarks.data import BATCH, TRANSACTION, WORKSPACE, comment, document

table = Table(name="bench", pk="PK", sk="SK", client=None)


class Workspace(Entity, table=table, name="workspace"):
    """The owner of a partition."""

    workspace_id: str
    name: str
    plan: str
    owner: str
    contact: str
    seats: int
    regions: list[str]
    settings: dict[str, str]
    created_at: datetime
    active: bool

    class Meta:
        """Its key."""

        primary = key(pk="WS#{workspace_id}", sk="META")


class Document(Entity, table=table, name="document"):
    """A document."""

    workspace_id: str
    doc_id: str
    title: str
    status: str
    author: str
    size: int
    tags: list[str]
    meta: dict[str, str]
    created_at: datetime
    archived: bool

    class Meta:
        """Its key."""

        primary = key(pk="WS#{workspace_id}", sk="DOC#{doc_id}")


class Comment(Entity, table=table, name="comment"):
    """A comment on a document."""

    workspace_id: str
    doc_id: str
    comment_id: str
    author: str
    body: str
    likes: int
    mentions: list[str]
    labels: dict[str, str]
    created_at: datetime
    edited: bool

    class Meta:
        """Its key."""

        primary = key(pk="WS#{workspace_id}", sk="DOC#{doc_id}#CMT#{comment_id}")


class Partition(Collection):
    """All that stands in a partition."""

    members = [Workspace, Document, Comment]  # noqa: RUF012 - as its documentation writes it


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str) -> None:
        table.client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        self.document = Document(**document(0))
        self.comments = [Comment(**comment(number)) for number in range(BATCH)]
        self.keys = [_key(number) for number in range(699)]
        self.turn = 0

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        CLASSES[kind].put(CLASSES[kind](**values))

    def query(self, workspace: str) -> list[Any]:
        """A query of the collection; the results stand by class."""
        return list(Partition.query(workspace_id=workspace).all().all())

    def get(self) -> Any:
        """One document."""
        return Document.get(workspace_id=WORKSPACE, doc_id="d0000")

    def put(self) -> None:
        """One document."""
        Document.put(self.document)

    def save(self) -> None:
        """One changed field."""
        self.turn += 1
        Document.update(workspace_id=WORKSPACE, doc_id="d0000", set={"title": f"Title {self.turn}"})

    def batch_write(self) -> None:
        """A thousand comments."""
        Comment.batch_write(puts=self.comments)

    def batch_get(self) -> list[Any]:
        """A thousand comments; what is asked for twice comes once, so that the last 301 are asked for apart."""
        return [*Comment.batch_get(self.keys), *Comment.batch_get(self.keys[: BATCH - len(self.keys)])]

    def transaction(self) -> None:
        """Twenty-five puts."""
        with transaction(table) as tx:
            for each in self.comments[:TRANSACTION]:
                tx.put(each)

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """A field."""
        return getattr(found, name)


def _key(number: int) -> dict[str, str]:
    values = comment(number)
    return {name: values[name] for name in ("workspace_id", "doc_id", "comment_id")}
