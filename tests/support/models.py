"""The workspace app: one table, four entities, one index; the models that most tests speak of."""

from __future__ import annotations

import enum

from tablekit import (
    Entity,
    Field,
    GlobalIndex,
    Table,
    created_at,
    field,
    index_key,
    updated_at,
    version,
)


class Status(enum.Enum):
    """How far a document is."""

    DRAFT = "draft"
    PUBLISHED = "published"


app = Table("workspace-app", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])


class Workspace(Entity, table=app, pk="WS#{workspace_id}", sk="META"):
    """The owner of a partition."""

    workspace_id: Field[str]
    name: Field[str]


class Member(Entity, table=app, pk="WS#{workspace_id}", sk="MEMBER#{email}"):
    """A person in a workspace; without a version."""

    workspace_id: Field[str]
    email: Field[str]
    role: Field[str] = field(default="reader")


class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}"):
    """A versioned entity that stands in the feed."""

    workspace_id: Field[str]
    doc_id: Field[str]
    title: Field[str]
    tags: Field[set[str]] = field(factory=set)
    status: Field[Status] = field(default=Status.DRAFT)
    words: Field[int] = field(default=0)

    revision = version()
    created_at = created_at()
    updated_at = updated_at()
    feed = index_key("GSI1", pk="WS#{workspace_id}", sk="{updated_at}")


class Comment(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}#CMT#{comment_id}"):
    """A row under a document, whose keys begin like the document's."""

    workspace_id: Field[str]
    doc_id: Field[str]
    comment_id: Field[str]
    body: Field[str]
