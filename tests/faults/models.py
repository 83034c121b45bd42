"""Entities with as few fields as a fault needs: what is simulated a million times should cost little."""

from __future__ import annotations

from tablekit import Entity, Field, ShardedCounter, Singleton, Table, field, unique, version

__all__ = ["Doc", "Flags", "Hot", "Note", "User", "Visits", "app"]

app = Table("faults")


class Hot(Entity, table=app, pk="HOT#{name}", sk="HOT"):
    """A row that many write at once: a ring of markers."""

    name: Field[str]
    n: Field[int] = field(default=0)
    revision = version(ring=4)


class Doc(Entity, table=app, pk="DOC#{name}", sk="DOC"):
    """A versioned row with one marker."""

    name: Field[str]
    n: Field[int] = field(default=0)
    revision = version()


class Note(Entity, table=app, pk="NOTE#{name}", sk="NOTE#{part}"):
    """A row without a version."""

    name: Field[str]
    part: Field[str] = field(default="0")
    n: Field[int] = field(default=0)
    tags: Field[set[str]] = field(factory=set)
    lines: Field[list[str]] = field(factory=list)


class User(Entity, table=app, pk="USER#{name}", sk="USER"):
    """A row with a unique value."""

    name: Field[str]
    email: Field[str | None] = field(default=None)
    one_email = unique("email")


class Flags(Singleton, table=app, pk="FLAGS", sk="FLAGS"):
    """A row of which there is one."""

    a: Field[int] = field(default=0)
    b: Field[int] = field(default=0)
    revision = version()


class Visits(ShardedCounter, table=app, pk="VISITS#{page}", shards=3):
    """A counter in three rows."""
