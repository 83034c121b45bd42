"""Wrong uses of conditions, actions and results: each marked line is an error in the checkers that the mark names."""

from __future__ import annotations

from tablekit import Entity, Field, Table, field, version

app = Table("t")


class Workspace(Entity, table=app, pk="P", sk="META"):
    """Another class."""

    name: Field[str]


class Document(Entity, table=app, pk="P", sk="{doc_id}"):
    """A class to misuse."""

    doc_id: Field[str]
    title: Field[str]
    tags: Field[set[str]] = field(factory=set)
    revision = version()


doc = Document(doc_id="a", title="t")

Document.title.set(3)  # E: arg-type | reportArgumentType
doc.update(Document.title == "x")  # E: arg-type | reportArgumentType
doc.update("SET title = 3")  # E: arg-type | reportArgumentType
doc.save(condition=Document.title == 3)  # E: arg-type | reportArgumentType
doc.save(condition=Document.title.set("x"))  # E: arg-type | reportArgumentType
doc.save(conditon=Document.title == "x")  # E: call-arg | reportCallIssue
repr(Document.title < 3)  # E: operator | reportOperatorIssue
repr(Document.revision > "x")  # E: operator | reportOperatorIssue
repr(Document.get(doc_id="a").title)  # E: union-attr | reportOptionalMemberAccess
text: str = Document.get_or_raise(doc_id="a")  # E: assignment | reportAssignmentType
workspace: Workspace = Document.get_or_raise(doc_id="a")  # E: assignment | reportAssignmentType
Document.key(doc_id="a").update(returning="newest")  # E: call-overload | reportCallIssue
number: int = Document.key(doc_id="a").update(Document.title.set("x"))  # E: assignment | reportAssignmentType
for found in app.query(Workspace, Document):
    repr(found.title)  # E: union-attr | reportAttributeAccessIssue
Document.get("a")  # E: arg-type | reportArgumentType
Document.key("a", "b")  # E: arg-type | reportArgumentType
app.query("Document")  # E: call-overload,arg-type | reportCallIssue,reportArgumentType


async def awaits() -> None:
    """What is not awaited was never done."""
    doc.aio.save()  # E: unused-coroutine | reportUnusedCoroutine
    Document.key(doc_id="a").aio.delete()  # E: unused-coroutine | reportUnusedCoroutine
    repr((Document.aio.get(doc_id="a")).title)  # E: attr-defined | reportAttributeAccessIssue
    await doc.aio.save(conditon=None)  # E: call-arg | reportCallIssue
    await doc.aio.update(Document.title == "x")  # E: arg-type | reportArgumentType
