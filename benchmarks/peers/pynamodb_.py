"""pynamodb's models with a discriminator attribute."""

from __future__ import annotations

from typing import Any

from pynamodb.attributes import (
    BooleanAttribute,
    DiscriminatorAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from benchmarks.data import BATCH, DOCUMENT, TRANSACTION, WORKSPACE, comment, document, keys, rows, stream_event


class Base(Model):
    """A row of the table."""

    class Meta:
        """Where it is."""

        table_name = "bench"
        region = "eu-west-1"
        aws_access_key_id = "a"
        aws_secret_access_key = "b"

    PK = UnicodeAttribute(hash_key=True)
    SK = UnicodeAttribute(range_key=True)
    kind = DiscriminatorAttribute(attr_name="EntityType")
    workspace_id = UnicodeAttribute()
    created_at = UTCDateTimeAttribute()


class Workspace(Base, discriminator="Workspace"):
    """The owner of a partition."""

    name = UnicodeAttribute()
    plan = UnicodeAttribute()
    owner = UnicodeAttribute()
    contact = UnicodeAttribute()
    seats = NumberAttribute()
    regions = ListAttribute(of=UnicodeAttribute)
    settings = MapAttribute()
    active = BooleanAttribute()


class Document(Base, discriminator="Document"):
    """A document."""

    doc_id = UnicodeAttribute()
    title = UnicodeAttribute()
    status = UnicodeAttribute()
    author = UnicodeAttribute()
    size = NumberAttribute()
    tags = ListAttribute(of=UnicodeAttribute)
    meta = MapAttribute()
    archived = BooleanAttribute()


class Comment(Base, discriminator="Comment"):
    """A comment on a document."""

    doc_id = UnicodeAttribute()
    comment_id = UnicodeAttribute()
    author = UnicodeAttribute()
    body = UnicodeAttribute()
    likes = NumberAttribute()
    mentions = ListAttribute(of=UnicodeAttribute)
    labels = MapAttribute()
    edited = BooleanAttribute()


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


def made(kind: str, values: dict[str, Any]) -> Any:
    """A model of a row."""
    pk, sk = keys(kind, values)
    return CLASSES[kind](PK=pk, SK=sk, **values)


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str) -> None:
        for each in (Base, *CLASSES.values()):
            each.Meta.host = endpoint
        self.connection = Connection(region="eu-west-1", host=endpoint)
        self.connection.session.set_credentials("a", "b")
        self.document = made("Document", document(0))
        self.loaded: Any = None
        self.turn = 0
        self.event: Any = None
        self.comments = [made("Comment", comment(number)) for number in range(BATCH)]
        self.keys = [keys("Comment", comment(number)) for number in range(699)]

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        made(kind, values).save()

    def query(self, workspace: str) -> list[Any]:
        """A query of the base class."""
        return list(Base.query(f"WS#{workspace}"))

    def get(self) -> Any:
        """One document."""
        return Document.get(f"WS#{WORKSPACE}", f"DOC#{DOCUMENT}")

    def put(self) -> None:
        """One document."""
        self.document.save()

    def save(self) -> None:
        """One changed field."""
        if self.loaded is None:
            self.loaded = self.get()
        self.turn += 1
        self.loaded.update(actions=[Document.title.set(f"Title {self.turn}")])

    def batch_write(self) -> None:
        """A thousand comments."""
        with Comment.batch_write() as batch:
            for each in self.comments:
                batch.save(each)

    def batch_get(self) -> list[Any]:
        """A thousand comments; a request of pynamodb's may not ask twice, so that the last 301 are asked for apart."""
        return [*Comment.batch_get(self.keys), *Comment.batch_get(self.keys[: BATCH - len(self.keys)])]

    def transaction(self) -> None:
        """Twenty-five puts."""
        with TransactWrite(connection=self.connection) as transaction:
            for each in self.comments[:TRANSACTION]:
                transaction.save(each)

    def streams(self) -> list[Any]:
        """Ten thousand images of an event; what stands around them is for the caller to read."""
        if self.event is None:
            self.event = stream_event([made(kind, values).to_dynamodb_dict() for kind, values in rows()])
        return [Base.from_raw_data(record["dynamodb"]["NewImage"]) for record in self.event["Records"]]

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return getattr(found, name)
