"""Reading many keys: aligned, of several classes, repeated, more than one request takes, and left unprocessed."""

from __future__ import annotations

from typing import Any

import pytest

from tablekit import BatchIncomplete, Entity, Field, RequestError, Table, WrongEntityType
from tests.support.engines import Engine
from tests.support.reading import Book, Note, Shelf, insert, row, shelf
from tests.support.stub import StubTransport, ok
from tests.support.tables import Connect
from tests.support.validation import RequestRecorder


def asked(wire: dict[str, Any]) -> list[str]:
    """The sort keys that a BatchGetItem asks for."""
    ((_, request),) = wire["RequestItems"].items()
    return [key["SK"]["S"] for key in request["Keys"]]


def test_a_tuple_is_typed_and_aligned(connect: Connect, engine: Engine) -> None:
    """Keys of several classes, one missing, one twice: each position has its own."""
    app = connect(shelf)
    insert(engine, [Shelf(shelf_id="a", name="A"), Note(shelf_id="a", book_id="1", number=1)])
    note = Note.key(shelf_id="a", book_id="1", number=1)

    owner, gone, first, second = app.batch_get(Shelf.key(shelf_id="a"), Book.key(shelf_id="a", book_id="x"), note, note)

    assert isinstance(owner, Shelf)
    assert gone is None
    assert isinstance(first, Note)
    assert first == second
    assert first is not second


def test_a_list_gives_a_list(connect: Connect, engine: Engine) -> None:
    """A list of one class's keys gives a list, and no keys send nothing."""
    app = connect(shelf)
    insert(engine, [Shelf(shelf_id="a")])

    assert app.batch_get([Shelf.key(shelf_id=name) for name in "ab"]) == [Shelf(shelf_id="a"), None]
    assert app.batch_get([]) == []
    assert app.batch_get() == ()


def test_over_a_hundred_keys_and_sixteen_megabytes(connect: Connect, engine: Engine, recorder: RequestRecorder) -> None:
    """100 rows of 200 KB are over 16 MB: what DynamoDB leaves out of an answer is asked for again."""
    app = connect(shelf)
    notes = [Note(shelf_id="big", book_id="1", number=n, text="x" * 200_000) for n in range(110)]
    insert(engine, notes)
    keys = [Note.key(shelf_id="big", book_id="1", number=n) for n in reversed(range(110))]

    found = app.batch_get(keys)

    assert [note.number for note in found if note is not None] == list(reversed(range(110)))
    assert all(len(asked(wire)) <= 100 for wire in recorder.sent("BatchGetItem"))
    assert len(recorder.sent("BatchGetItem")) >= 2


def test_keys_of_another_table_and_what_is_no_key_are_refused(connect: Connect, engine: Engine) -> None:
    """One call reads one table, by keys."""
    app = connect(shelf)
    insert(engine, [Shelf(shelf_id="a")])

    class Twin(Entity, table=Table("twin"), pk="S#{shelf_id}", sk="META"):
        shelf_id: Field[str]

    with pytest.raises(RequestError, match="of table 'twin'"):
        app.batch_get(Twin.key(shelf_id="a"))
    with pytest.raises(RequestError, match="takes keys"):
        app.batch_get([Shelf(shelf_id="a")])


def test_a_wrong_row_is_named(stub: StubTransport) -> None:
    """The error names what was expected and what was found."""
    stub.script("BatchGetItem", ok({"Responses": {"t": [row("S#a", "META", "Book")]}}))

    with shelf.bound(name="t", port=stub.port()) as app, pytest.raises(WrongEntityType) as caught:
        app.batch_get(Shelf.key(shelf_id="a"))
    assert caught.value.found == "Book"


def test_unprocessed_keys_are_asked_for_again(stub: StubTransport) -> None:
    """What a request leaves out is asked for again, and nothing else."""
    rows = [row("S#a", "META", "Shelf", shelf_id="a"), row("S#b", "META", "Shelf", shelf_id="b")]
    left = {"t": {"Keys": [row("S#b", "META")]}}
    stub.script("BatchGetItem", ok({"Responses": {"t": rows[:1]}, "UnprocessedKeys": left}))
    stub.script("BatchGetItem", ok({"Responses": {"t": rows[1:]}}))

    with shelf.bound(name="t", port=stub.port()) as app:
        assert app.batch_get([Shelf.key(shelf_id="a"), Shelf.key(shelf_id="b")]) == [
            Shelf(shelf_id="a", name=""),
            Shelf(shelf_id="b", name=""),
        ]
    assert len(asked(stub.sent("BatchGetItem")[1])) == 1


def test_keys_that_stay_unprocessed_are_reported(stub: StubTransport) -> None:
    """After eight requests without progress the keys are in the error."""
    left = {"t": {"Keys": [row("S#a", "META")]}}
    stub.always("BatchGetItem", ok({"Responses": {}, "UnprocessedKeys": left}))

    with shelf.bound(name="t", port=stub.port()) as app, pytest.raises(BatchIncomplete) as caught:
        app.batch_get(Shelf.key(shelf_id="a"))
    assert caught.value.unprocessed == (row("S#a", "META"),)
    assert len(stub.sent("BatchGetItem")) == 8


def test_a_row_is_got_by_its_bare_key(connect: Connect, engine: Engine) -> None:
    """get(pk=, sk=) gives the row as what it is; a key that no row can have is refused."""
    app = connect(shelf)
    insert(engine, [Shelf(shelf_id="a", name="A")])

    assert app.get(pk="S#a", sk="META") == Shelf(shelf_id="a", name="A")
    assert app.get(pk="S#a", sk="NONE") is None
    for wrong in ({"pk": "S#a"}, {"pk": 1, "sk": "META"}, {"pk": "", "sk": "META"}):
        with pytest.raises(RequestError):
            app.get(**wrong)
