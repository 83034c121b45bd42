"""What engines never do: exact last pages, empty pages in between, throttled pages, counts over several pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablekit import DecodeError, RawItem, Table, Throttled
from tests.support.reading import Book, Note, Shelf, row, shelf
from tests.support.stub import Reply, StubTransport, error, ok


def key(number: int) -> dict[str, Any]:
    """The key of a book."""
    return row("S#s", f"BOOK#{number}")


def book(number: int) -> dict[str, Any]:
    """The row of a book."""
    return row("S#s", f"BOOK#{number}", "Book", shelf_id="s", book_id=str(number))


def page(*numbers: int, last: int | None = None, scanned: int | None = None) -> Reply:
    """A page of books, with the key after which it goes on."""
    body: dict[str, Any] = {"Items": [book(n) for n in numbers], "Count": len(numbers)}
    body["ScannedCount"] = len(numbers) if scanned is None else scanned
    if last is not None:
        body["LastEvaluatedKey"] = key(last)
    return ok(body)


@pytest.fixture
def table(stub: StubTransport) -> Iterator[Table]:
    """A shelf whose DynamoDB is scripted."""
    with shelf.bound(name="t", port=stub.port()) as app:
        yield app


def ids(books: list[Book]) -> list[str]:
    """The ids of books."""
    return [each.book_id for each in books]


def test_an_exact_last_page_is_followed_by_an_empty_one(table: Table, stub: StubTransport) -> None:
    """DynamoDB gives a LastEvaluatedKey when the limit meets the end: the next request finds nothing, and ends it."""
    stub.script("Query", page(1, 2, last=2), page())

    assert ids(Book.query(shelf_id="s").page_size(2).all()) == ["1", "2"]
    assert stub.sent("Query")[1]["ExclusiveStartKey"] == key(2)


def test_a_limit_that_is_met_asks_no_further(table: Table, stub: StubTransport) -> None:
    """The second request is not sent when the limit is reached with the page."""
    stub.script("Query", page(1, 2, last=2))

    assert ids(Book.query(shelf_id="s").limit(2).all()) == ["1", "2"]


def test_empty_pages_with_a_key_are_gone_through(table: Table, stub: StubTransport) -> None:
    """A page whose rows the filter dropped is not the end."""
    stub.script("Query", page(last=5, scanned=100), page(last=9, scanned=100), page(11))

    assert ids(Book.query(shelf_id="s").where(Book.title == "x").all()) == ["11"]


def test_r42_a_count_goes_through_every_page(table: Table, stub: StubTransport) -> None:
    """R42: pages that count 4, 0 and 3 are 7, in three requests with Select=COUNT and the same filter."""
    counts = [{"Count": 4, "LastEvaluatedKey": key(4)}, {"Count": 0, "LastEvaluatedKey": key(8)}, {"Count": 3}]
    stub.script("Query", *(ok({"ScannedCount": 9, **each}) for each in counts))

    assert Book.query(shelf_id="s").where(Book.title == "x").count() == 7

    sent = stub.sent("Query")
    assert [wire["Select"] for wire in sent] == ["COUNT"] * 3
    assert len({wire["FilterExpression"] for wire in sent}) == 1
    assert [wire.get("ExclusiveStartKey") for wire in sent] == [None, key(4), key(8)]


def test_a_count_sends_no_projection(table: Table, stub: StubTransport) -> None:
    """Names that no expression mentions would be refused."""
    stub.script("Query", ok({"Count": 1}))

    Book.query(shelf_id="s").select(Book.title).count()

    wire = stub.sent("Query")[0]
    assert "ProjectionExpression" not in wire
    assert "title" not in wire["ExpressionAttributeNames"].values()


def test_a_throttled_page_is_sent_again(table: Table, stub: StubTransport) -> None:
    """The transport retries the page, and the query goes on where it was."""
    stub.script("Query", page(1, last=1), error("ProvisionedThroughputExceededException"), page(2))

    assert ids(Book.query(shelf_id="s").all()) == ["1", "2"]


def test_a_page_that_stays_throttled_loses_nothing(table: Table, stub: StubTransport) -> None:
    """The error comes out, and the cursor of the page before still leads to the rest."""
    throttled = error("ProvisionedThroughputExceededException")
    stub.script("Query", page(1, last=1), *[throttled] * 4, page(2))
    query = Book.query(shelf_id="s")
    first = query.page()

    with pytest.raises(Throttled):
        query.page(cursor=first.cursor)
    assert ids(query.page(cursor=first.cursor).items) == ["2"]


def test_r38_page_sizes_grow_while_a_filter_drops_rows(table: Table, stub: StubTransport) -> None:
    """R38: a small limit with a selective filter takes few requests: each reads twice as many rows."""
    stub.script("Query", *(page(last=n) for n in range(1, 5)), page(9))

    assert Book.query(shelf_id="s").where(Book.title == "x").first() is not None
    assert [wire["Limit"] for wire in stub.sent("Query")] == [100, 200, 400, 800, 1600]


def test_page_sizes_grow_while_rows_are_dropped_here(table: Table, stub: StubTransport) -> None:
    """Rows that a policy skips make the next request larger too, not one row at a time."""
    foreign = ok({"Items": [row("S#s", "X", "Foreign")], "Count": 1, "LastEvaluatedKey": row("S#s", "X")})
    stub.script("Query", foreign, foreign, page(1))

    assert table.query(pk="S#s").unknown("skip").untyped("raise").first() is not None
    assert [wire["Limit"] for wire in stub.sent("Query")] == [100, 200, 400]


def test_an_unfiltered_limit_reads_just_as_many(table: Table, stub: StubTransport) -> None:
    """Without a filter the limit is what DynamoDB reads; a page size is kept to."""
    stub.script("Query", page(1, 2, 3), page(1, 2, last=2), page(3))

    Book.query(shelf_id="s", book_id="1").limit(3).all()
    Book.query(shelf_id="s", book_id="1").limit(3).page_size(2).all()

    assert [wire["Limit"] for wire in stub.sent("Query")] == [3, 2, 1]


def test_a_key_handle_query_asks_for_keys_alone(table: Table, stub: StubTransport) -> None:
    """exists() reads no more than keys and type."""
    stub.script("Query", ok({"Items": [row("S#s", "META", "Shelf")], "Count": 1}))

    assert Shelf.query(shelf_id="s").exists()
    wire = stub.sent("Query")[0]
    assert sorted(wire["ExpressionAttributeNames"].values()) == ["EntityType", "PK", "SK"]


def test_a_page_reads_one_row_more_to_see_the_end(table: Table, stub: StubTransport) -> None:
    """DynamoDB gives a key with an exactly full page, so that the page asks for one row more than it gives."""
    rows = [row("S#s", f"BOOK#1#NOTE#000{n}", "Note", shelf_id="s", book_id="1") for n in (1, 2, 3)]
    rows = [{**each, "number": {"N": "1"}} for each in rows]
    stub.script(
        "Query", ok({"Items": rows, "LastEvaluatedKey": row("S#s", rows[2]["SK"]["S"])}), ok({"Items": rows[2:]})
    )
    query = Note.query(shelf_id="s", book_id="1")
    first = query.page(2)
    second = query.page(2, cursor=first.cursor)

    assert (len(first), len(second), second.cursor) == (2, 1, None)
    assert [wire["Limit"] for wire in stub.sent("Query")] == [3, 3]
    assert stub.sent("Query")[1]["ExclusiveStartKey"]["SK"] == rows[1]["SK"]


def test_a_row_that_cannot_be_read_is_given_raw(table: Table, stub: StubTransport) -> None:
    """One bad row does not block its partition: raw() gives it as it is stored, in its place, as the error says."""
    bad = {**book(2), "title": {"N": "7"}}
    stub.always("Query", ok({"Items": [book(1), bad, book(3)], "Count": 3, "ScannedCount": 3}))
    with pytest.raises(DecodeError, match=r"query\.raw\(\)"):
        Book.query(shelf_id="s").all()

    found = Book.query(shelf_id="s").raw().all()

    assert [type(item) for item in found] == [Book, RawItem, Book]
    assert found[1] == bad
