"""Wrong uses of fields: each marked line is an error in the checkers that the mark names."""

from __future__ import annotations

from tablekit import Entity, Field, Table, field, version

app = Table("t")


class Document(Entity, table=app, pk="P", sk="{doc_id}"):
    """A class to misuse."""

    doc_id: Field[str]
    title: Field[str]
    plan: Field[int | None] = field(default=None)
    revision = version()


doc = Document(doc_id="a", title="t")

Document(doc_id="a", title="t", titel=3)  # E: call-arg | reportCallIssue
Document(doc_id="a")  # E: call-arg | reportCallIssue
Document(doc_id="a", title=3)  # E: arg-type | reportArgumentType
Document("a", "t")  # E: call-arg | reportCallIssue
Document(doc_id="a", title="t", revision=3)  # E: call-arg | reportCallIssue
doc.title = 3  # E: assignment | reportAttributeAccessIssue
doc.title = None  # E: assignment | reportAttributeAccessIssue
doc.revision = 3  # E: assignment | reportAttributeAccessIssue
doc.entity_type = "Other"  # E: misc | reportAttributeAccessIssue
doc.titel = "x"  # E: attr-defined | reportAttributeAccessIssue
repr(doc.titel)  # E: attr-defined | reportAttributeAccessIssue
repr(Document.titel)  # E: attr-defined | reportAttributeAccessIssue
doc.plan + 1  # E: operator | reportOptionalOperand


class Defaults(Entity, table=app, pk="P", sk="D"):
    """Defaults of another type."""

    wrong: Field[str] = field(default=3)  # E: arg-type | reportAssignmentType
    none: Field[str] = field(default=None)  # E: arg-type | reportAssignmentType
    made: Field[list[str]] = field(factory=dict)  # E: arg-type | reportAssignmentType
    plain: Field[str] = "x"  # E: assignment | reportAssignmentType


class Options(Entity, tabel=app, pk="P", sk="O"):  # E: arg-type | reportArgumentType
    """A class option that is not there."""

    name: Field[str]
