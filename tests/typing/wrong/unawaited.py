"""Wrong uses of what is awaited: each marked line is an error in the checkers that the mark names."""

from __future__ import annotations

from tablekit import Entity, Field, Singleton, Table, field

app = Table("t")


class Document(Entity, table=app, pk="P", sk="{doc_id}"):
    """A class to misuse."""

    doc_id: Field[str]
    title: Field[str]


class Flags(Singleton, table=app, pk="FLAGS", sk="V1"):
    """A singleton to misuse."""

    on: Field[bool] = field(default=False)


async def work(doc: Document) -> None:
    """Each forgets its await, or mixes the colours."""
    doc.aio.save()  # E: unused-coroutine | reportUnusedCoroutine
    Document.aio.get(doc_id="a")  # E: unused-coroutine | reportUnusedCoroutine
    Document.key(doc_id="a").aio.delete()  # E: unused-coroutine | reportUnusedCoroutine
    Document.key(doc_id="a").aio.update(Document.title.set("x"))  # E: unused-coroutine | reportUnusedCoroutine
    app.aio.batch_write([doc])  # E: unused-coroutine | reportUnusedCoroutine
    Flags.aio.update(on=True)  # E: unused-coroutine | reportUnusedCoroutine
    found: Document | None = Document.aio.get(doc_id="a")  # E: assignment | reportAssignmentType
    repr(found)
    repr((await Document.aio.get(doc_id="a")).title)  # E: union-attr | reportOptionalMemberAccess
    repr(Flags.aio.get().on)  # E: attr-defined | reportAttributeAccessIssue
    await doc.save()  # E: misc | reportGeneralTypeIssues
    with app.aio.transaction() as tx:  # E: attr-defined | reportGeneralTypeIssues,reportAttributeAccessIssue
        tx.create(doc)  # E: - | reportUnknownMemberType
    async with app.transaction() as tx_:  # E: attr-defined | reportGeneralTypeIssues,reportAttributeAccessIssue
        tx_.create(doc)  # E: - | reportUnknownMemberType
    async for each in app.query(Document):
        len(each)  # E: arg-type | reportArgumentType
    await doc.aio.save(conditon=Document.title == "x")  # E: call-arg | reportCallIssue
