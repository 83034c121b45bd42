"""Entities for batches, transactions and unique values: with and without versions, in two tables."""

from __future__ import annotations

from datetime import datetime

from tablekit import Entity, Field, Table, field, ttl, unique, updated_at, version

store = Table("store")
ledger = Table("ledger", pk="id", sk=None)


class Account(Entity, table=store, pk="ACC#{account_id}", sk="ACCOUNT"):
    """A row without a version, with sets and a list."""

    account_id: Field[str]
    balance: Field[int] = field(default=0)
    tags: Field[set[str]] = field(factory=set)
    history: Field[list[str]] = field(factory=list)


class Order(Entity, table=store, pk="ACC#{account_id}", sk="ORDER#{order_id}"):
    """A versioned row."""

    account_id: Field[str]
    order_id: Field[str]
    title: Field[str] = field(default="")
    total: Field[int] = field(default=0)
    secret: Field[str] = field(default="", secret=True)
    revision = version()
    changed = updated_at()


class Entry(Entity, table=ledger, pk="ENTRY#{entry_id}"):
    """A row of another table, without a sort key."""

    entry_id: Field[str]
    amount: Field[int] = field(default=0)


class User(Entity, table=store, pk="USER#{user_id}", sk="USER"):
    """A row with a unique value, without a version."""

    user_id: Field[str]
    email: Field[str | None] = field(default=None, unique=True)
    name: Field[str] = field(default="")


class Page(Entity, table=store, pk="SITE#{site_id}", sk="PAGE#{page_id}"):
    """A versioned row whose slug is unique within its site, and which may expire."""

    site_id: Field[str]
    page_id: Field[str]
    slug: Field[str | None] = field(default=None)
    body: Field[str] = field(default="")
    expires_at: Field[datetime | None] = ttl(default=None)
    revision = version()
    slug_in_site = unique("site_id", "slug")
