"""Rows of unknown and of old types, and odd attribute names, through real entities on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablekit import (
    DecodeError,
    Entity,
    Field,
    MissingEntityType,
    RawItem,
    Table,
    UnknownEntityType,
    WrongEntityType,
    field,
)
from tests.support.validation import RequestRecorder

types = Table("types")
inferring = Table("inferring", untyped="infer")


class Doc(Entity, table=types, pk="WS#{ws}", sk="DOC#{doc_id}"):
    """A class of the strict table."""

    ws: Field[str] = field(default="w")
    doc_id: Field[str]
    title: Field[str] = field(default="")


class Note(Entity, table=types, pk="WS#{ws}", sk="NOTE#{n}"):
    """Another."""

    ws: Field[str] = field(default="w")
    n: Field[str]


class Renamed(Entity, table=types, pk="WS#{ws}", sk="OLD#{n}", type="Document", aliases=("old", "Old")):
    """A class whose rows were written under other names."""

    ws: Field[str] = field(default="w")
    n: Field[str]


class Odd(Entity, table=types, pk="ODD", sk="META"):
    """Attributes under names that need care."""

    m: Field[dict[str, int]] = field(factory=dict)
    called: Field[str] = field(default="", name="name")
    wide: Field[int] = field(default=0, name="size")
    until: Field[int] = field(default=0, name="_ttl")
    state: Field[str] = field(default="", name="status")
    dotted: Field[str] = field(default="", name="a.b")


class Guessed(Entity, table=inferring, pk="WS#{ws}", sk="DOC#{doc_id}"):
    """A class of the table that infers types."""

    ws: Field[str]
    doc_id: Field[str]
    title: Field[str]


@pytest.fixture
def app(connect: Callable[[Table], Table]) -> Table:
    """The strict table on each engine in turn."""
    return connect(types)


def store(entity: Entity, type_: str | None) -> None:
    """The row of an entity under another type, or under none, as a foreign writer would leave it."""
    from tablekit.definition.entity import schema_of
    from tablekit.operations.driver import run
    from tablekit.operations.session import session_for
    from tablekit.wire.requests import Request

    item: dict[str, Any] = entity.to_item()
    del item["EntityType"]
    if type_ is not None:
        item["EntityType"] = {"S": type_}
    session = session_for(schema_of(entity))
    run(session.send(Request("PutItem", {"Item": item})))


def test_r17_an_untyped_row_is_told_and_never_dropped(app: Table) -> None:
    """R17: mixed query, query of one class and get all raise, naming the key."""
    store(Doc(doc_id="1", title="old"), None)
    for read in (
        lambda: app.query(pk="WS#w").all(),
        lambda: Doc.query(ws="w").all(),
        lambda: Doc.get(ws="w", doc_id="1"),
    ):
        with pytest.raises(MissingEntityType, match="PK='WS#w' SK='DOC#1'"):
            read()


def test_r17_an_untyped_row_may_be_inferred_from_its_key(connect: Callable[[Table], Table]) -> None:
    """R17: with the policy of the table, query and get agree."""
    app = connect(inferring)
    doc = Guessed(ws="w", doc_id="1", title="old")
    store(doc, None)
    assert app.query(pk="WS#w").all() == Guessed.query(ws="w").all() == [doc]
    assert Guessed.get(ws="w", doc_id="1") == doc


def test_r18_an_unknown_type_comes_after_the_rows_before_it(app: Table) -> None:
    """R18: strict raises in its place, naming value and key."""
    doc, _ = Doc(doc_id="1").create(), store(Doc(doc_id="2"), "Invoice2")
    found = iter(app.query(pk="WS#w"))
    assert next(found) == doc
    with pytest.raises(UnknownEntityType, match=r"PK='WS#w' SK='DOC#2'.*'Invoice2'"):
        next(found)


def test_r18_an_unknown_type_may_be_skipped_or_given_raw(app: Table) -> None:
    """R18: skipped rows are counted, raw ones stand in their place."""
    doc, _, note = Doc(doc_id="1").create(), store(Doc(doc_id="2"), "Invoice2"), Note(n="1").create()
    page = app.query(pk="WS#w").unknown("skip").page(10)
    assert (page.items, sum(page.skipped.values())) == ([doc, note], 1)
    first, middle, last = app.query(pk="WS#w").raw().all()
    assert (first, last) == (doc, note)
    assert isinstance(middle, RawItem)
    assert middle["EntityType"] == {"S": "Invoice2"}


def test_r19_a_type_in_another_case_is_told_and_an_alias_is_read(app: Table) -> None:
    """R19: exact spelling with a hint; aliases are read as the class, and rewritten by the next save."""
    store(Doc(doc_id="1"), "doc")
    with pytest.raises(WrongEntityType, match="differ only in case"):
        Doc.get(ws="w", doc_id="1")
    store(Renamed(n="1"), "old")
    read = Renamed.get_or_raise(ws="w", n="1")
    assert Renamed.query(ws="w").all() == [read]
    with app.dry_run() as plan:
        read.put()
    (request,) = plan
    assert request.to_wire()["Item"]["EntityType"] == {"S": "Document"}


ODD = [
    (Odd.m["a.b"].set(2), {"m": {"a.b": 2, "x-y z": 1, "9": 1}}, ["m", "a.b"]),
    (Odd.m["x-y z"].set(2), {"m": {"a.b": 1, "x-y z": 2, "9": 1}}, ["m", "x-y z"]),
    (Odd.m["9"].set(2), {"m": {"a.b": 1, "x-y z": 1, "9": 2}}, ["m", "9"]),
    (Odd.called.set("x"), {"called": "x"}, ["name"]),
    (Odd.wide.set(7), {"wide": 7}, ["size"]),
    (Odd.until.set(7), {"until": 7}, ["_ttl"]),
    (Odd.state.set("x"), {"state": "x"}, ["status"]),
    (Odd.dotted.set("x"), {"dotted": "x"}, ["a.b"]),
]


@pytest.mark.parametrize(("action", "expected", "segments"), ODD, ids=[".".join(case[2]) for case in ODD])
def test_r34_odd_names_are_single_segments(
    app: Table, recorder: RequestRecorder, action: Any, expected: dict[str, Any], segments: list[str]
) -> None:
    """R34: each segment is a name of its own behind a plain placeholder; nothing is split at dots."""
    odd = Odd(m={"a.b": 1, "x-y z": 1, "9": 1}).create()
    odd.update(action)
    names = recorder.requests[-1][1]["ExpressionAttributeNames"]
    assert set(segments) <= set(names.values())
    assert all(name.startswith("#") and name[1:].replace("_", "").isalnum() and name.isascii() for name in names)
    read = Odd.get_or_raise()
    assert {name: getattr(read, name) for name in expected} == expected
    assert "m.a.b" not in read.to_item()


@pytest.mark.parametrize(
    ("column", "value"),
    [(Odd.m["a.b"], 1), (Odd.called, "x"), (Odd.wide, 3), (Odd.until, 4), (Odd.state, "y"), (Odd.dotted, "z")],
    ids=["m.a.b", "name", "size", "_ttl", "status", "a.b"],
)
def test_r34_odd_names_can_be_filtered(app: Table, column: Any, value: Any) -> None:
    """R34: a filter finds the row by each of them, and does not by another value."""
    odd = Odd(m={"a.b": 1}, called="x", wide=3, until=4, state="y", dotted="z").create()
    assert app.query(Odd).where(column == value).all() == [odd]
    assert app.query(Odd).where(column != value).all() == []


class Account(Entity, table=types, pk="ACC#{n}", sk="META"):
    """A class with a secret."""

    n: Field[str]
    token: Field[str] = field(secret=True)
    pin: Field[int] = field(default=0, secret=True)


def test_r61_a_secret_is_in_no_text(app: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """R61: repr, explain, a dry run, a decode error and the table itself hold none of it."""
    account = Account(n="1", token="hush-1").create()
    with app.dry_run() as plan:
        account.put()
    store(account, None)
    texts = [repr(account), str(app), repr(plan), str(Account.key(n="1"))]
    with pytest.raises(MissingEntityType) as missing:
        Account.get(n="1")
    with pytest.raises(DecodeError) as bad:
        Account.from_item({**account.to_item(), "pin": {"S": "hush-2"}})
    texts += [repr(missing.value), str(missing.value), repr(bad.value), str(bad.value)]
    assert not [text for text in texts if "hush" in text]
    assert "pin" in str(bad.value)


def test_a_class_that_was_replaced_is_told_so() -> None:
    """The error of a class that a later one of its name replaced speaks of that, and not of letter case."""
    app = Table("reloaded")

    def define() -> type[Entity]:
        class Row(Entity, table=app, pk="ROW#{n}", sk="ROW"):
            n: Field[str]

        return Row

    old, new = define(), define()
    with pytest.raises(WrongEntityType, match="has taken the place of this Row"):
        old.from_item(new(n="1").to_item())
