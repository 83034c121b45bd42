"""The table and the entities in it.

One partition holds a workspace: its documents, the comments below each, its members, and its own row.

======================  ==========  ===================================
entity                  PK          SK
======================  ==========  ===================================
`Workspace`             ``WS#...``  ``META``
`Member`                ``WS#...``  ``MEMBER#{email}``
`Document`              ``WS#...``  ``DOC#{doc_id}``
`Comment`               ``WS#...``  ``DOC#{doc_id}#CMT#{comment_id}``
======================  ==========  ===================================

Beside them stand one row for the whole app, `AppFlags`, and the counter `PageViews`, in partitions of its own.

Only documents have keys in the index ``GSI1``, so that reading it bills documents alone. ``GSI2`` finds by name: the
workspaces that there are, and a document by its slug.
"""

from __future__ import annotations

import enum
from datetime import datetime

from tablekit import (
    Entity,
    Field,
    GlobalIndex,
    ShardedCounter,
    Singleton,
    Table,
    created_at,
    field,
    index_key,
    unique,
    updated_at,
    version,
)

__all__ = ["AppFlags", "Comment", "Document", "Member", "PageViews", "Status", "Workspace", "app"]

app = Table(
    "workspace-app",
    indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"), GlobalIndex("GSI2", pk="GSI2PK", sk="GSI2SK")],
)


class Status(enum.Enum):
    """How far a document is."""

    DRAFT = "draft"
    PUBLISHED = "published"


class Workspace(Entity, table=app, pk="WS#{workspace_id}", sk="META"):
    """What owns a partition."""

    workspace_id: Field[str]
    name: Field[str]

    listed = index_key("GSI2", pk="WORKSPACES", sk="WS#{workspace_id}")


class Member(Entity, table=app, pk="WS#{workspace_id}", sk="MEMBER#{email}"):
    """A person in a workspace."""

    workspace_id: Field[str]
    email: Field[str]
    name: Field[str]
    role: Field[str] = field(default="reader")
    code_hash: Field[str] = field(default="", secret=True)
    """The SHA-256 of the code with which the member signs in; a secret, so that no tool shows it."""


class Document(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}"):
    """A text. Its version is checked by each write, so that no editor undoes another's work unseen."""

    workspace_id: Field[str]
    doc_id: Field[str]
    title: Field[str]
    slug: Field[str | None] = field(default=None)
    body: Field[str] = field(default="")
    words: Field[int] = field(default=0)
    tags: Field[set[str]] = field(factory=set)
    status: Field[Status] = field(default=Status.DRAFT)

    revision = version()
    created_at = created_at()
    updated_at = updated_at()
    feed = index_key("GSI1", pk="WS#{workspace_id}", sk="{updated_at}")
    by_slug = index_key("GSI2", pk="WS#{workspace_id}", sk="SLUG#{slug}")
    slug_in_workspace = unique("workspace_id", "slug")


class Comment(Entity, table=app, pk="WS#{workspace_id}", sk="DOC#{doc_id}#CMT#{comment_id}"):
    """A remark on a document."""

    workspace_id: Field[str]
    doc_id: Field[str]
    comment_id: Field[str]
    author: Field[str]
    body: Field[str]
    written_at: Field[datetime]


class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1", cache_seconds=30):
    """Switches of the whole app. Each default is the safe value: what holds when the row is missing or unreadable."""

    signup_enabled: Field[bool] = field(default=False)
    maintenance_mode: Field[bool] = field(default=True)
    ai_search_enabled: Field[bool] = field(default=False)

    schema_version = version()


class PageViews(ShardedCounter, table=app, pk="COUNTER#views#{page}", shards=4):
    """How often a page was looked at, over four rows, so that one busy page meets no partition's limit."""
