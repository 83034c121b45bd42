"""Values through real entities on both engines: what is written is what is read, and what is refused is not sent."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest

from tablekit import EncodeError, Entity, Field, KeyPartError, RequestError, Table, field
from tests.support.validation import RequestRecorder


class Mood(enum.Enum):
    """A default that cannot change."""

    CALM = "calm"


@attrs.define
class Box:
    """A nested class with a list of its own."""

    things: list[str] = attrs.field(factory=list)


values = Table("values")


class Doc(Entity, table=values, pk="WS#{ws}", sk="DOC#{doc_id}"):
    """One field for each family of values."""

    ws: Field[str] = field(default="w")
    doc_id: Field[str]
    pinned: Field[bool] = field(default=False)
    free: Field[Any] = field(default=None)
    price: Field[Decimal] = field(default=Decimal(0))
    big: Field[int] = field(default=0)
    ratio: Field[float] = field(default=0.0)
    tags: Field[set[str]] = field(factory=set)
    due_at: Field[datetime | None] = field(default=None)
    digest: Field[bytes] = field(default=b"")
    parts: Field[list[bytes]] = field(factory=list)
    blobs: Field[set[bytes]] = field(factory=set)
    mood: Field[Mood] = field(default=Mood.CALM)
    box: Field[Box] = field(factory=Box)
    boxes: Field[list[dict[str, Box]]] = field(factory=list)


class Revision(Entity, table=values, pk="WS#{ws}", sk="REV#{rev:06d}"):
    """A number in a sort key."""

    ws: Field[str]
    rev: Field[int]


class Pair(Entity, table=values, pk="PAIR", sk="X#{left}#{right}"):
    """Two texts in a sort key."""

    left: Field[str]
    right: Field[str]


@pytest.fixture
def app(connect: Callable[[Table], Table]) -> Table:
    """The table of this module on each engine in turn."""
    return connect(values)


def again(doc: Doc) -> Doc:
    """Written, and read."""
    doc.put()
    return Doc.key(ws=doc.ws, doc_id=doc.doc_id).get_or_raise(consistent=True)


def test_r01_true_is_no_number(app: Table) -> None:
    """R01: booleans keep their type, alone and inside a free-form map."""
    read = again(Doc(doc_id="1", pinned=True, free={"x": True, "y": 1}))
    assert read.pinned is True
    assert (type(read.free["x"]), type(read.free["y"])) == (bool, int)
    assert read.to_item()["free"] == {"M": {"x": {"BOOL": True}, "y": {"N": "1"}}}


@pytest.mark.parametrize("value", [{True, False}, {True, 2}])
def test_r01_a_set_of_booleans_is_not_sent(app: Table, recorder: RequestRecorder, value: set[Any]) -> None:
    """R01: the error names the attribute, and no request is made."""
    sent = len(recorder.requests)
    doc = Doc(doc_id="1", free=value)
    with pytest.raises(EncodeError, match=r"Doc\.free"):
        doc.put()
    assert len(recorder.requests) == sent


def test_r02_numbers_are_exact(app: Table) -> None:
    """R02: no number passes through a binary float."""
    price = Decimal("1234567890123.12345678901234567890")
    read = again(Doc(doc_id="1", price=price, big=2**63 + 1))
    assert (read.price, type(read.price)) == (price, Decimal)
    assert (read.big, type(read.big)) == (2**63 + 1, int)
    assert again(Doc(doc_id="2", price=Decimal("0.1"))).to_item()["price"] == {"N": "0.1"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1" + "0" * 100, Decimal("1E+100")),
        ("1234567895171680000000000000000000000000", Decimal("1.23456789517168E+39")),
    ],
)
def test_r03_large_round_numbers_are_read(app: Table, text: str, number: Decimal) -> None:
    """R03: trailing zeros are no precision; saving the unchanged entity works too."""
    read = Doc.from_item({**Doc(doc_id="1").to_item(), "price": {"N": text}})
    assert read.price == number
    assert again(read).price == number
    assert read.save().price == number


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("price", Decimal("1" * 39)),
        ("price", Decimal("1E126")),
        ("price", Decimal("1E-131")),
        ("price", Decimal("NaN")),
        ("ratio", float("nan")),
        ("ratio", float("inf")),
    ],
)
def test_r04_numbers_out_of_range_are_not_sent(app: Table, recorder: RequestRecorder, name: str, value: Any) -> None:
    """R04: emulators take them and DynamoDB does not, so they are refused here."""
    sent = len(recorder.requests)
    with pytest.raises(EncodeError, match=rf"Doc\.{name}"):
        Doc(**{"doc_id": "1", name: value}).put()
    assert len(recorder.requests) == sent


@pytest.mark.parametrize("text", ["9" * 38, "9.9999999999999999999999999999999999999E+125", "1E-130", "-0"])
def test_r04_numbers_at_the_edge_are_stored(app: Table, text: str) -> None:
    """R04: the largest, the smallest, and a zero with a sign."""
    assert again(Doc(doc_id="1", price=Decimal(text))).price == Decimal(text)


def test_r05_an_empty_set_is_left_out(app: Table) -> None:
    """R05: it reads as empty, and adding to it makes a set again; empty lists and maps are stored."""
    doc = again(Doc(doc_id="1", tags={"a"}, free={}))
    doc.tags = set()
    doc.save()
    read = Doc.get_or_raise(ws="w", doc_id="1")
    assert read.tags == set()
    assert {"tags"}.isdisjoint(read.to_item())
    assert read.to_item()["free"] == {"M": {}}
    assert read.update(Doc.tags.add({"b"})).tags == {"b"}


def test_r06_naive_datetimes_are_refused(app: Table) -> None:
    """R06: nothing is guessed; an aware one reads back as the same instant in UTC, and its text sorts."""
    with pytest.raises(EncodeError, match=r"Doc\.due_at"):
        Doc(doc_id="1", due_at=datetime(2024, 1, 1)).put()  # noqa: DTZ001
    east = timezone(timedelta(hours=2))
    read = again(Doc(doc_id="1", due_at=datetime(2024, 1, 1, 1, 0, tzinfo=east)))
    assert read.due_at == datetime(2023, 12, 31, 23, 0, tzinfo=timezone.utc)
    assert read.due_at.tzinfo is timezone.utc
    assert read.to_item()["due_at"]["S"] < again(Doc(doc_id="2", due_at=datetime(2024, 1, 1, tzinfo=timezone.utc))).to_item()["due_at"]["S"]  # fmt: skip  # noqa: E501


def test_r07_binary_stays_as_it_is_over_three_rounds(app: Table) -> None:
    """R07: alone, in a map, in a list and in a set, byte for byte."""
    raw = b"\x00\xff\x10"
    doc = Doc(doc_id="1", digest=raw, free={"b": raw}, parts=[raw], blobs={raw})
    for _ in range(3):
        doc = again(doc)
    assert (doc.digest, doc.free, doc.parts, doc.blobs) == (raw, {"b": raw}, [raw], {raw})
    assert doc.to_item()["digest"] == {"B": raw}


def test_r08_defaults_are_not_shared(app: Table) -> None:
    """R08: neither lists and sets nor those of nested values are one object for two entities, read or new."""
    one = again(Doc(doc_id="1", boxes=[{"k": Box()}]))
    one.tags.add("x")
    one.box.things.append("x")
    one.boxes[0]["k"].things.append("x")
    for other in (Doc(doc_id="2"), again(Doc(doc_id="3", boxes=[{"k": Box()}]))):
        assert (other.tags, other.box.things, other.mood) == (set(), [], Mood.CALM)
        assert other.boxes in ([], [{"k": Box([])}])


def test_r10_a_separator_inside_a_value_is_refused(app: Table, recorder: RequestRecorder) -> None:
    """R10: the two pairs cannot meet in one key; values without it keep their plain spelling."""
    sent = len(recorder.requests)
    for left, right in (("a#b", "c"), ("a", "b#c")):
        with pytest.raises(KeyPartError, match=r"Pair: the part '(left|right)'"):
            Pair(left=left, right=right).put()
    assert len(recorder.requests) == sent
    Pair(left="ü %", right="x y").put()
    (read,) = Pair.query().all()
    assert (read.left, read.right, read.to_item()["SK"]) == ("ü %", "x y", {"S": "X#ü %#x y"})


@pytest.mark.parametrize("doc_id", [None, ""])
def test_r11_a_part_that_is_missing_is_not_sent(app: Table, recorder: RequestRecorder, doc_id: Any) -> None:
    """R11: neither a put, a get nor a key takes it; the error names entity, template and part."""
    sent = len(recorder.requests)
    for call in (lambda: Doc(doc_id=doc_id).put(), lambda: Doc.get(ws="w", doc_id=doc_id), lambda: Doc.get(ws="w")):
        with pytest.raises(KeyPartError, match=r"Doc.*'doc_id'.*'DOC#\{doc_id\}'|'DOC#\{doc_id\}'.*'doc_id'"):
            call()
    assert len(recorder.requests) == sent


def test_r12_keys_keep_their_case(app: Table) -> None:
    """R12: two rows that differ in case are two rows, after an update too."""
    upper, lower = Doc(doc_id="AbC-9_x").create(), Doc(doc_id="abc-9_x").create()
    upper.update(Doc.big.set(1))
    read = Doc.get_or_raise(ws="w", doc_id="AbC-9_x")
    assert (read.doc_id, read.big) == ("AbC-9_x", 1)
    assert Doc.get_or_raise(ws="w", doc_id="abc-9_x") == lower


def test_r13_numbers_in_a_sort_key_sort_as_numbers(app: Table) -> None:
    """R13: padded, they come back in order, as ints; too wide or negative ones are refused."""
    for rev in (10, 100, 2):
        Revision(ws="w", rev=rev).put()
    assert [item.rev for item in Revision.query(ws="w")] == [2, 10, 100]
    for rev in (1_000_000, -1):
        with pytest.raises(RequestError, match=r"Revision: the part 'rev'"):
            Revision(ws="w", rev=rev).put()
