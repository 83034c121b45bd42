"""tablekit, awaited: through aiobotocore, or through the direct transport's aiohttp."""

from __future__ import annotations

from typing import Any

from benchmarks.data import BATCH, DOCUMENT, TRANSACTION, WORKSPACE, comment, document
from benchmarks.peers.tablekit_ import CLASSES, Comment, Document, Workspace, app, key_of


class Peer:
    """The workloads."""

    def __init__(self, endpoint: str, transport: Any = "pynamodb") -> None:
        app.connect(
            endpoint_url=endpoint,
            region="eu-west-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            max_pool_connections=64,
            transport=transport,
        )
        self.document = Document(**document(0))
        self.loaded: Any = None
        self.turn = 0
        self.comments = [Comment(**comment(number)) for number in range(BATCH)]
        self.keys = [Comment.key(**key_of(number % 699)) for number in range(BATCH)]

    async def store(self, kind: str, values: dict[str, Any]) -> None:
        """Put one row."""
        await CLASSES[kind](**values).aio.put()

    async def query(self, workspace: str) -> list[Any]:
        """A mixed query."""
        return [each async for each in app.query(Workspace, Document, Comment, workspace_id=workspace)]

    async def get(self) -> Any:
        """One document."""
        return await Document.aio.get(workspace_id=WORKSPACE, doc_id=DOCUMENT)

    async def put(self) -> None:
        """One document."""
        await self.document.aio.put()

    async def save(self) -> None:
        """One changed field."""
        if self.loaded is None:
            self.loaded = await self.get()
        self.turn += 1
        self.loaded.title = f"Title {self.turn}"
        await self.loaded.aio.save()

    async def batch_write(self) -> None:
        """A thousand comments."""
        async with app.aio.batch() as batch:
            for each in self.comments:
                batch.put(each)

    async def batch_get(self) -> Any:
        """A thousand comments, some of them asked for more than once."""
        return await app.aio.batch_get(self.keys)

    async def transaction(self) -> None:
        """Twenty-five puts."""
        async with app.aio.transaction() as tx:
            for each in self.comments[:TRANSACTION]:
                tx.put(each)

    def kind(self, found: Any) -> str:
        """Its class."""
        return type(found).__name__

    def read(self, found: Any, name: str) -> Any:
        """A field."""
        return getattr(found, name)
