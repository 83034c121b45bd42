"""dyntastic: pydantic models; its hook for single tables chooses the class."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dyntastic import A, Dyntastic, transaction

from benchmarks.data import BATCH, TRANSACTION, WORKSPACE, comment, document, keys


class Base(Dyntastic):
    """A row of the table."""

    __table_name__ = "bench"
    __hash_key__ = "PK"
    __range_key__ = "SK"
    __table_region__ = "eu-west-1"

    PK: str
    SK: str
    EntityType: str
    workspace_id: str
    created_at: datetime

    @classmethod
    def get_model(cls, item: dict[str, Any]) -> Any:
        """The class of a row."""
        return CLASSES[item["EntityType"]]


class Workspace(Base):
    """The owner of a partition."""

    name: str
    plan: str
    owner: str
    contact: str
    seats: int
    regions: list[str]
    settings: dict[str, str]
    active: bool


class Document(Base):
    """A document."""

    doc_id: str
    title: str
    status: str
    author: str
    size: int
    tags: list[str]
    meta: dict[str, str]
    archived: bool


class Comment(Base):
    """A comment on a document."""

    doc_id: str
    comment_id: str
    author: str
    body: str
    likes: int
    mentions: list[str]
    labels: dict[str, str]
    edited: bool


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


def made(kind: str, values: dict[str, Any]) -> Any:
    """A model of a row."""
    pk, sk = keys(kind, values)
    return CLASSES[kind](PK=pk, SK=sk, EntityType=kind, **values)


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str) -> None:
        import os

        os.environ.update(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
        for each in (Base, *CLASSES.values()):
            each.__table_host__ = endpoint
        self.document = made("Document", document(0))
        self.loaded: Any = None
        self.turn = 0
        self.comments = [made("Comment", comment(number)) for number in range(BATCH)]
        self.keys = [keys("Comment", comment(number % 699)) for number in range(BATCH)]

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        made(kind, values).save()

    def query(self, workspace: str) -> list[Any]:
        """A query of the base class."""
        return list(Base.query(f"WS#{workspace}"))

    def get(self) -> Any:
        """One document."""
        return Document.get(f"WS#{WORKSPACE}", "DOC#d0000")

    def put(self) -> None:
        """One document."""
        self.document.save()

    def save(self) -> None:
        """One changed field."""
        if self.loaded is None:
            self.loaded = self.get()
        self.turn += 1
        self.loaded.update(A.title.set(f"Title {self.turn}"))

    def batch_write(self) -> None:
        """A thousand comments."""
        with Comment.batch_writer():
            for each in self.comments:
                each.save()

    def batch_get(self) -> list[Any]:
        """A thousand comments, a hundred at a time."""
        portions = (self.keys[start : start + 100] for start in range(0, BATCH, 100))
        return [each for portion in portions for each in Comment.batch_get(portion)]

    def transaction(self) -> None:
        """Twenty-five puts."""
        with transaction():
            for each in self.comments[:TRANSACTION]:
                each.save()

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """A field."""
        return getattr(found, name)
