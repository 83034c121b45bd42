"""A table with every kind of index, its entities, and ways to fill it past tablekit."""

from __future__ import annotations

import enum
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any

from tablekit import Entity, Field, GlobalIndex, LocalIndex, Table, field, index_key, ttl, version
from tablekit.operations.transport import Settings, SyncPort
from tests.support.engines import Engine
from tests.support.tables import CAPABILITIES


class State(enum.Enum):
    """How far a task is."""

    OPEN = "open"
    DONE = "done"


with warnings.catch_warnings():
    # KEYS warns that it holds no type, which is what its tests are about.
    warnings.simplefilter("ignore")
    shelf = Table(
        "shelf",
        key_types={"words": "N"},
        indexes=[
            GlobalIndex("OWNER", pk="OPK", sk="OSK"),
            GlobalIndex("TITLES", pk="TPK", sk="TSK", projection=["title"]),
            GlobalIndex("KEYS", pk="KPK", sk="KSK", projection="KEYS_ONLY"),
            GlobalIndex("TURNED", pk="SK", sk="PK"),
            GlobalIndex("STATES", pk="state", sk="words"),
            LocalIndex("LATEST", sk="LSK"),
        ],
    )


class Shelf(Entity, table=shelf, pk="S#{shelf_id}", sk="META"):
    """The owner of a partition."""

    shelf_id: Field[str]
    name: Field[str] = field(default="")


class Book(Entity, table=shelf, pk="S#{shelf_id}", sk="BOOK#{book_id}"):
    """An entity in every index."""

    shelf_id: Field[str]
    book_id: Field[str]
    title: Field[str] = field(default="untitled")
    owner: Field[str | None] = field(default=None)
    state: Field[State] = field(default=State.OPEN)
    words: Field[int] = field(default=0)
    text: Field[str] = field(default="")
    tags: Field[set[str]] = field(factory=set)
    revision = version()

    by_owner = index_key("OWNER", pk="OWNER#{owner}", sk="BOOK#{book_id}")
    by_title = index_key("TITLES", pk="T#{shelf_id}", sk="{title}#{book_id}", when={"state": State.OPEN})
    by_key = index_key("KEYS", pk="K#{shelf_id}", sk="{words:06d}")
    latest = index_key("LATEST", sk="{words:06d}")


class Note(Entity, table=shelf, pk="S#{shelf_id}", sk="BOOK#{book_id}#NOTE#{number:04d}"):
    """A row under a book, in its owner's partition too."""

    shelf_id: Field[str]
    book_id: Field[str]
    number: Field[int]
    owner: Field[str | None] = field(default=None)
    text: Field[str] = field(default="")
    state: Field[str] = field(default="new")

    by_owner = index_key("OWNER", pk="OWNER#{owner}", sk="NOTE#{book_id}#{number:04d}")
    latest = index_key("LATEST", sk="{number:06d}")


class Loan(Entity, table=shelf, pk="S#{shelf_id}", sk="LOAN#{day}[#TO#{reader}]"):
    """A row whose key has an optional tail, and that expires."""

    shelf_id: Field[str]
    day: Field[str]
    reader: Field[str | None] = field(default=None)
    expires_at: Field[datetime | None] = ttl(default=None, hide_expired=True)


_shared: dict[str, tuple[str, SyncPort]] = {}


@contextmanager
def shared(engine: Engine, filled_by: str, entities: Iterable[Entity]) -> Iterator[Table]:
    """One physical shelf for the tests of a module, made and filled once: for tests that only read.

    Parameters:
        filled_by: the module's name. entities: what is in the table.
    """
    key = f"{filled_by} {engine.endpoint_url}"
    known = key in _shared
    if not known:
        port = SyncPort(Settings(**engine.connect_options()))
        _shared[key] = (f"shelf-{uuid.uuid4().hex[:12]}", port)
    name, port = _shared[key]
    with shelf.bound(name=name, port=port, capabilities=CAPABILITIES.get(engine.name)):
        if not known:
            shelf.create_table()
            insert(engine, entities)
        yield shelf


def insert(engine: Engine, entities: Iterable[Entity], table: Table = shelf) -> None:
    """Write entities in batches, past tablekit."""
    insert_items(engine, [entity.to_item() for entity in entities], table)


@cache
def _client(engine: Engine) -> Any:
    return engine.client()


def insert_items(engine: Engine, items: Iterable[dict[str, Any]], table: Table = shelf) -> None:
    """Write rows in batches, as they are."""
    client = _client(engine)
    rows = list(items)
    for start in range(0, len(rows), 25):
        puts = [{"PutRequest": {"Item": row}} for row in rows[start : start + 25]]
        left = {table.name: puts}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def row(pk: str, sk: str, kind: str | None = None, **attributes: Any) -> dict[str, Any]:
    """A row of texts; without a type when `kind` is None."""
    texts = {name: {"S": value} for name, value in attributes.items()}
    typed = {} if kind is None else {"EntityType": {"S": kind}}
    return {"PK": {"S": pk}, "SK": {"S": sk}, **typed, **texts}
