"""pydynox: models with a discriminator, read through a collection; the synchronous calls."""

from __future__ import annotations

from typing import Any

from pydynox import (
    Collection,
    DynamoDBClient,
    Model,
    ModelConfig,
    SyncBatchWriter,
    SyncTransaction,
    set_default_client,
)
from pydynox.attributes import (
    BooleanAttribute,
    DatetimeAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    StringAttribute,
)

from benchmarks.data import BATCH, DOCUMENT, TRANSACTION, WORKSPACE, comment, document, keys


class Workspace(Model):
    """The owner of a partition."""

    model_config = ModelConfig(table="bench")
    pk = StringAttribute(partition_key=True, template="WS#{workspace_id}")
    sk = StringAttribute(sort_key=True, default="META")
    kind = StringAttribute(discriminator=True)
    workspace_id = StringAttribute()
    name = StringAttribute()
    plan = StringAttribute()
    owner = StringAttribute()
    contact = StringAttribute()
    seats = NumberAttribute()
    regions = ListAttribute()
    settings = MapAttribute()
    created_at = DatetimeAttribute()
    active = BooleanAttribute()


class Document(Model):
    """A document."""

    model_config = ModelConfig(table="bench")
    pk = StringAttribute(partition_key=True, template="WS#{workspace_id}")
    sk = StringAttribute(sort_key=True, template="DOC#{doc_id}")
    kind = StringAttribute(discriminator=True)
    workspace_id = StringAttribute()
    doc_id = StringAttribute()
    title = StringAttribute()
    status = StringAttribute()
    author = StringAttribute()
    size = NumberAttribute()
    tags = ListAttribute()
    meta = MapAttribute()
    created_at = DatetimeAttribute()
    archived = BooleanAttribute()


class Comment(Model):
    """A comment on a document."""

    model_config = ModelConfig(table="bench")
    pk = StringAttribute(partition_key=True, template="WS#{workspace_id}")
    sk = StringAttribute(sort_key=True, template="DOC#{doc_id}#CMT#{comment_id}")
    kind = StringAttribute(discriminator=True)
    workspace_id = StringAttribute()
    doc_id = StringAttribute()
    comment_id = StringAttribute()
    author = StringAttribute()
    body = StringAttribute()
    likes = NumberAttribute()
    mentions = ListAttribute()
    labels = MapAttribute()
    created_at = DatetimeAttribute()
    edited = BooleanAttribute()


CLASSES: dict[str, Any] = {"Workspace": Workspace, "Document": Document, "Comment": Comment}


class SyncPeer:
    """The workloads, by the synchronous calls."""

    number = (int, float)

    def __init__(self, endpoint: str) -> None:
        self.client = DynamoDBClient(region="eu-west-1", access_key="a", secret_key="b", endpoint_url=endpoint)
        set_default_client(self.client)
        self.collection = Collection(list(CLASSES.values()))
        self.document = Document(**document(0))
        self.loaded: Any = None
        self.turn = 0
        self.comments = [Comment(**comment(number)) for number in range(BATCH)]
        found = [keys("Comment", comment(number % 699)) for number in range(BATCH)]
        self.keys = [{"pk": pk, "sk": sk} for pk, sk in found]

    def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        CLASSES[kind](**values).sync_save()

    def query(self, workspace: str) -> list[Any]:
        """A query of the collection; the results stand by class."""
        found = self.collection.sync_query(workspace_id=workspace)
        return [*found.get(Workspace), *found.get(Document), *found.get(Comment)]

    def get(self) -> Any:
        """One document."""
        return Document.sync_get(pk=f"WS#{WORKSPACE}", sk=f"DOC#{DOCUMENT}")

    def put(self) -> None:
        """One document."""
        self.document.sync_save()

    def save(self) -> None:
        """One changed field."""
        if self.loaded is None:
            self.loaded = self.get()
        self.turn += 1
        self.loaded.sync_update(title=f"Title {self.turn}")

    def batch_write(self) -> None:
        """A thousand comments, as the dicts that this library's batches take."""
        with SyncBatchWriter(self.client, "bench") as batch:
            for each in self.comments:
                batch.put(each.to_dict())

    def batch_get(self) -> list[Any]:
        """A thousand comments, some of them asked for more than once."""
        return Comment.sync_batch_get(self.keys)

    def transaction(self) -> None:
        """Twenty-five puts."""
        with SyncTransaction(self.client) as tx:
            for each in self.comments[:TRANSACTION]:
                tx.save_model(each)

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """An attribute."""
        return getattr(found, name)


class AioPeer(SyncPeer):
    """The workloads, awaited: this library's first choice."""

    async def store(self, kind: str, values: dict[str, Any]) -> None:  # type: ignore[override]
        """Put one row."""
        await CLASSES[kind](**values).save()

    async def query(self, workspace: str) -> list[Any]:  # type: ignore[override]
        """A query of the collection; the results stand by class."""
        found = await self.collection.query(workspace_id=workspace)
        return [*found.get(Workspace), *found.get(Document), *found.get(Comment)]

    async def get(self) -> Any:
        """One document."""
        return await Document.get(pk=f"WS#{WORKSPACE}", sk=f"DOC#{DOCUMENT}")

    async def put(self) -> None:  # type: ignore[override]
        """One document."""
        await self.document.save()

    async def save(self) -> None:  # type: ignore[override]
        """One changed field."""
        if self.loaded is None:
            self.loaded = await self.get()
        self.turn += 1
        await self.loaded.update(title=f"Title {self.turn}")

    batch_write = batch_get = transaction = None  # type: ignore[assignment]


def Peer(endpoint: str, mode: str = "") -> SyncPeer:  # noqa: N802 - every module here has a Peer
    """The workloads, awaited where the mode is ``"aio"``."""
    return AioPeer(endpoint) if mode == "aio" else SyncPeer(endpoint)
