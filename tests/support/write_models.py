"""Entities on which each kind of write shows what it does: sparse index keys, nested values, rings, subclasses."""

from __future__ import annotations

from datetime import date, datetime

import attrs

from tablekit import (
    Entity,
    Field,
    GlobalIndex,
    Table,
    created_at,
    field,
    index_key,
    ttl,
    updated_at,
    version,
)

app = Table(
    "writes-app",
    indexes=[
        GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"),
        GlobalIndex("GSI2", pk="GSI2PK", sk="GSI2SK"),
        GlobalIndex("ByOwner", pk="owner", sk="SK"),
    ],
)


@attrs.define
class Place:
    """A nested value."""

    street: str
    city: str
    state: str = ""


@attrs.define
class Contact:
    """A nested value that holds another."""

    name: str
    place: Place = attrs.field(factory=lambda: Place("", ""))
    phones: set[str] = attrs.field(factory=set)


class Task(Entity, table=app, pk="PROJ#{project}", sk="TASK#{task_id}"):
    """Without a version; its board key is made of two fields, one of which may be None."""

    project: Field[str]
    task_id: Field[str]
    title: Field[str] = field(default="")
    status: Field[str] = field(default="open")
    due: Field[date | None] = field(default=None)
    owner: Field[str | None] = field(default=None)
    points: Field[int] = field(default=0)

    board = index_key("GSI1", pk="PROJ#{project}", sk="{status}#{due}")
    by_task = index_key("GSI2", pk="TASK#{task_id}", sk="PROJ#{project}")
    by_owner = index_key("ByOwner")


class Ticket(Entity, table=app, pk="PROJ#{project}", sk="TICKET#{number:06d}"):
    """Versioned; stands in the queue only while it is open."""

    project: Field[str]
    number: Field[int]
    status: Field[str] = field(default="open")
    priority: Field[int] = field(default=3)

    revision = version()
    queue = index_key("GSI1", pk="QUEUE", sk="{priority:02d}#{number:06d}", when={"status": "open"})


class Card(Entity, table=app, pk="CARD#{card_id}", sk="CARD"):
    """Every kind of container, without a version."""

    card_id: Field[str]
    contact: Field[Contact | None] = field(default=None)
    labels: Field[set[str]] = field(factory=set)
    meta: Field[dict[str, str]] = field(factory=dict)
    items: Field[list[str]] = field(factory=list)
    extra_labels: Field[frozenset[str]] = field(default=frozenset({"new"}))
    enabled: Field[bool] = field(default=False)
    secret: Field[str | None] = field(default=None, secret=True)
    expires_at: Field[datetime | None] = ttl(default=None)


class Counter(Entity, table=app, pk="COUNTER#{name}", sk="COUNTER"):
    """A hot row with a ring of markers, and every managed field."""

    name: Field[str]
    n: Field[int] = field(default=0)

    revision = version(ring=4)
    made = created_at()
    changed = updated_at()


class Animal(Entity, table=app, pk="ANIMAL#{animal_id}", sk="ANIMAL"):
    """A base with subclasses."""

    animal_id: Field[str]
    name: Field[str] = field(default="")
    weight: Field[int] = field(default=0)


class Dog(Animal, aliases=("Hound",)):
    """A subclass that needs nothing more than its base."""

    tricks: Field[int] = field(default=0)


class Runner(Entity, table=app, pk="RUNNER#{runner_id}", sk="RUNNER"):
    """A base whose subclass needs more than it does."""

    runner_id: Field[str]
    weight: Field[int] = field(default=0)
    note: Field[str] = field(default="")


class Racer(Runner):
    """A subclass with an index key of its own over a field of the base."""

    by_weight = index_key("GSI1", pk="RACERS", sk="{weight:06d}")
