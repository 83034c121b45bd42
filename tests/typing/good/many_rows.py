"""Right uses of batches, transactions and the reading transaction."""

from __future__ import annotations

from typing_extensions import assert_type

from tablekit import AioTransaction, Batch, Entity, Field, Table, Transaction, field, unique

app = Table("t")


class Workspace(Entity, table=app, pk="WS#{workspace_id}", sk="META"):
    """The owner of a partition."""

    workspace_id: Field[str]
    slug: Field[str | None] = field(default=None, unique=True)
    both = unique("workspace_id", "slug")


class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}"):
    """A row under it."""

    workspace_id: Field[str]
    doc_id: Field[str]
    words: Field[int] = field(default=0)


document, workspace = Document.key(workspace_id="a", doc_id="d"), Workspace.key(workspace_id="a")

assert_type(app.transact_get(document), tuple[Document | None])
assert_type(app.transact_get(document, workspace), tuple[Document | None, Workspace | None])
assert_type(app.transact_get([document]), list[Document | None])
assert_type(app.transact_get(*[document]), tuple[Document | None, ...])

with app.transaction(token="t", retry_conflicts=3) as tx:
    assert_type(tx, Transaction)
    assert_type(tx.create(Workspace(workspace_id="x")), Workspace)
    assert_type(tx.put(Document(workspace_id="x", doc_id="1"), condition=Document.words > 3), Document)
    tx.update(document, Document.words.add(1), condition=Document.words > 3, version=1)
    tx.delete(workspace)
    tx.check(workspace, Workspace.slug.exists())

with app.batch(guarded=True) as batch:
    assert_type(batch, Batch)
    assert_type(batch.put(Document(workspace_id="x", doc_id="1")), Document)
    batch.delete(document)

app.batch_write(puts=(Workspace(workspace_id="x"),), deletes=[document, Document(workspace_id="x", doc_id="1")])


async def awaited(transaction: AioTransaction) -> None:
    """The awaited face has the same calls."""
    async with transaction as same:
        assert_type(same.save(Document(workspace_id="x", doc_id="1")), Document)
    await transaction.resume()
