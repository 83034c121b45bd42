"""Pages and cursors: exactly once each, forward and back, bound to their query."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablekit import CursorError, Entity, Field, Page, Query, QueryError, Table
from tablekit.operations.cursors import decode_cursor, encode_cursor
from tablekit.operations.queryplan import plan_query
from tests.support.engines import Engine
from tests.support.reading import Book, Note, Shelf, State, row, shared
from tests.support.validation import RequestRecorder

NOW = datetime.now(timezone.utc)
BOOKS = [
    Book.from_item(
        Book(
            shelf_id="p",
            book_id=f"{n:02d}",
            owner="eve",
            words=n // 3,
            state=State.DONE if n % 2 else State.OPEN,
            title=f"T{n:02d}",
        ).to_item()
    )
    for n in range(20)
]
NOTES = [Note(shelf_id="p", book_id=f"{n:02d}", number=1, owner="eve") for n in range(0, 20, 3)]


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """Twenty books of one owner with notes among them, and another shelf."""
    with shared(engine, __name__, [*BOOKS, *NOTES, Shelf(shelf_id="p"), Book(shelf_id="q", book_id="1")]) as app:
        yield app


def walked(query: Query[Any], size: int | None) -> list[Any]:
    """Every entity, page by page, each page through the text of its cursor."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page = query.page(size, cursor=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def walked_back(query: Query[Any], size: int) -> list[Any]:
    """Every entity, from the last page back to the first."""
    last: Page[Any] = query.page(size)
    while last.cursor is not None:
        following = query.page(size, cursor=last.cursor)
        if not following.items:
            break
        last = following
    found = list(last.items)
    while last.previous is not None:
        last = query.page(size, before=last.previous)
        found = [*last.items, *found]
    return found


# Exactly once


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("filtered", [False, True])
def test_r39_limits_inside_a_page_resume_exactly(table: Table, reverse: bool, filtered: bool) -> None:
    """R39: with pages of 8 rows, a limit of 5, a filter or none, and either direction, nothing is lost or repeated."""
    query = Book.query(shelf_id="p").reverse(reverse).page_size(8)
    if filtered:
        query = query.where(Book.state == State.DONE)

    assert walked(query.limit(5), None) == query.all()


def test_r38_a_limit_counts_entities_that_pass(table: Table) -> None:
    """R38: limit(10) gives ten books, however many rows the filter drops before them."""
    query = table.query(Book, Shelf, shelf_id="p").where(Book.state == State.DONE)

    assert len(query.limit(10).all()) == 10
    assert len(query.limit(1_000).all()) == 11


def test_r38_an_empty_page_with_a_cursor_is_not_the_end(table: Table) -> None:
    """R38: a request whose rows are all dropped gives an empty page, and the cursors lead to every book."""
    query = table.query(Shelf, Book, shelf_id="p").where(Book.title == "T19").page_size(5)
    first = query.page()

    assert first.items == []
    assert first.cursor is not None
    assert [type(item) for item in walked(query, None)] == [Book, Shelf]


def test_a_query_with_a_limit_is_paged_to_its_limit(table: Table) -> None:
    """pages() of a limited query end with the limit."""
    pages = [len(page) for page in Book.query(shelf_id="p").limit(10).pages(4)]

    assert pages == [4, 4, 2]


def test_pages_begin_at_a_cursor(table: Table) -> None:
    """pages(cursor=) goes on from there."""
    query = Book.query(shelf_id="p")
    cursor = query.page(15).cursor

    assert [item for page in query.pages(3, cursor=cursor) for item in page] == BOOKS[15:]


QUERIES: dict[str, Callable[[], Query[Any]]] = {
    "partition": lambda: Book.query(shelf_id="p").untyped("skip"),
    "mixed": lambda: Book.__schema__.registry.query(Book, Note, Shelf, shelf_id="p"),
    "index": lambda: Book.by_owner.query(owner="eve"),
    "equal index keys": lambda: Book.by_key.query(shelf_id="p").hydrate(),
    "local": lambda: Book.latest.query(shelf_id="p"),
    "keys": lambda: Book.by_key.query(shelf_id="p").keys(),
    "book and notes": lambda: Book.__schema__.registry.query(Book, Note, shelf_id="p", book_id="03"),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("reverse", [False, True])
def test_every_kind_of_query_pages_forward_and_back(table: Table, name: str, reverse: bool) -> None:
    """Pages of three through cursors, and back through previous, give what the query gives."""
    query = QUERIES[name]().reverse(reverse)
    whole = query.all()

    assert walked(query, 3) == whole
    assert walked_back(query, 3) == whole


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(QUERIES)),
    reverse=st.booleans(),
    filtered=st.booleans(),
    page_size=st.one_of(st.none(), st.integers(1, 25)),
    sizes=st.lists(st.one_of(st.none(), st.integers(1, 12)), min_size=1, max_size=6),
)
def test_any_sequence_of_pages_is_the_whole(
    table: Table, name: str, reverse: bool, filtered: bool, page_size: int | None, sizes: list[int | None]
) -> None:
    """Any sizes, page sizes, filter and direction, resumed by cursors, concatenate to the full answer."""
    query = QUERIES[name]().reverse(reverse)
    if filtered and name not in ("equal index keys", "keys"):
        query = query.where(Book.state == State.DONE)
    whole = query.all()
    found: list[Any] = []
    cursor: str | None = None
    for turn in range(200):
        page = query.page_size(page_size).page(sizes[turn % len(sizes)], cursor=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break

    assert found == whole


# Back


def test_the_first_page_has_none_before_it(table: Table) -> None:
    """Previous is None at the beginning, also when one came back to it."""
    query = Book.query(shelf_id="p")
    first = query.page(5)
    second = query.page(5, cursor=first.cursor)
    again = query.page(5, before=second.previous)

    assert first.previous is None
    assert again.items == first.items
    assert again.previous is None
    assert query.page(5, cursor=again.cursor).items == second.items


def test_a_page_before_the_beginning_is_empty_and_leads_on(table: Table) -> None:
    """Where nothing stands before, the page is empty and its cursor is the beginning."""
    query = Book.query(shelf_id="p")
    first = query.page(5, cursor=query.cursor_after(Book(shelf_id="p", book_id="!")))
    before = query.page(5, before=first.previous)

    assert first.items == BOOKS[:5]
    assert (before.items, before.previous) == ([], None)
    assert query.page(5, cursor=before.cursor).items == BOOKS[:5]


def test_cursor_and_before_are_not_taken_together(table: Table) -> None:
    """A page goes on after one place or ends before another."""
    cursor = Book.query(shelf_id="p").page(5).cursor

    with pytest.raises(QueryError, match="one of them"):
        Book.query(shelf_id="p").page(cursor=cursor, before=cursor)
    with pytest.raises(CursorError, match="given as before="):
        Book.query(shelf_id="p").page(before=cursor)


# From an entity


@pytest.mark.parametrize("name", ["partition", "mixed", "index", "local"])
def test_a_cursor_is_made_from_an_entity(table: Table, name: str) -> None:
    """cursor_after(entity) goes on with the entity that follows it."""
    query = QUERIES[name]()
    whole = query.all()
    place = whole.index(BOOKS[7])

    assert query.page(4, cursor=query.cursor_after(BOOKS[7])).items == whole[place + 1 : place + 5]


def test_a_cursor_from_an_entity_of_elsewhere_is_refused(table: Table) -> None:
    """Another partition, another class, and one that is not in the index."""
    with pytest.raises(CursorError, match="another partition"):
        Book.query(shelf_id="p").cursor_after(Book(shelf_id="q", book_id="1"))
    with pytest.raises(CursorError, match="not asked for"):
        Book.query(shelf_id="p").cursor_after(NOTES[0])
    with pytest.raises(CursorError, match="not in the index"):
        Book.by_owner.query(owner="eve").cursor_after(Book(shelf_id="p", book_id="x"))


# Bound to the query


def others() -> dict[str, Query[Any]]:
    """Queries that differ from the books of shelf p in one thing each."""
    query = Book.query(shelf_id="p")
    table = Book.__schema__.registry
    return {
        "partition": Book.query(shelf_id="q"),
        "index": Book.latest.query(shelf_id="p"),
        "direction": query.reverse(),
        "condition": query.where(Book.title == "T01"),
        "classes": table.query(Book, Note, shelf_id="p"),
        "no classes": table.query(pk="S#p"),
        "range": query.begins_with(book_id="0"),
        "scan": Book.scan(),
    }


@pytest.mark.parametrize("secret", [(), (b"a long secret",)], ids=["plain", "encrypted"])
@pytest.mark.parametrize("name", list(others()))
def test_r41_a_cursor_of_another_query_is_refused(
    table: Table, recorder: RequestRecorder, monkeypatch, name: str, secret: Any
) -> None:
    """R41: partition, index, direction, condition, classes, range: refused before any request."""
    monkeypatch.setattr(table, "cursor_secrets", secret)
    cursor = Book.query(shelf_id="p").page(5).cursor
    sent = len(recorder.requests)

    with pytest.raises(CursorError, match="another query"):
        others()[name].page(cursor=cursor)
    assert len(recorder.requests) == sent


def test_r41_a_cursor_fits_the_same_query_with_another_way_of_reading(table: Table) -> None:
    """R41: sizes, policies, selections and consistency do not make it another query."""
    cursor = Book.query(shelf_id="p").page(5).cursor
    same = Book.query(shelf_id="p").page_size(3).consistent().untyped("infer").select(Book.title)

    assert [book.book_id for book in same.page(2, cursor=cursor)] == ["05", "06"]


def test_r41_conditions_on_other_values_or_classes_are_others(table: Table) -> None:
    """R41: the values of a condition count, and the class whose field it names."""
    query = table.query(Book, Note, shelf_id="p")
    cursor = query.where(Book.text == "").page(3).cursor

    assert query.where(Book.text == "").page(3, cursor=cursor).items
    for other in (query.where(Book.text == "x"), query.where(Note.text == ""), query):
        with pytest.raises(CursorError):
            other.page(3, cursor=cursor)


@pytest.mark.parametrize("secret", [(), (b"a long secret",)], ids=["plain", "encrypted"])
def test_r41_a_cursor_that_is_cut_or_altered_is_refused(
    table: Table, recorder: RequestRecorder, monkeypatch, secret: Any
) -> None:
    """R41: every cut and every changed character."""
    monkeypatch.setattr(table, "cursor_secrets", secret)
    query = Book.query(shelf_id="p")
    cursor = query.page(5).cursor
    assert cursor is not None
    sent = len(recorder.requests)
    altered = [
        cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :] for place in range(len(cursor))
    ]
    cut = [cursor[:length] for length in range(len(cursor))]

    for text in ["", "=", "é", "!" * 9, cursor * 400, *altered, *cut]:
        with pytest.raises(CursorError):
            query.page(cursor=text)
    assert len(recorder.requests) == sent


def test_r41_a_key_of_another_type_is_refused(table: Table) -> None:
    """R41: a cursor that was forged with a number for the sort key, or a key of another partition or shape."""
    session = table.session()
    query = Book.query(shelf_id="p")
    plan = plan_query(query.spec, session.now())
    good = row("S#p", "BOOK#01")
    for bad in (
        {**good, "SK": {"N": "1"}},
        {**good, "PK": {"S": "S#q"}},
        {**good, "SK": {"S": "NOTE"}},
        {"PK": good["PK"]},
        {**good, "OPK": {"S": "x"}},
    ):
        with pytest.raises(CursorError):
            query.page(cursor=encode_cursor(plan, bad, session.name, ()))
    assert query.page(1, cursor=encode_cursor(plan, good, session.name, ())).items == [BOOKS[2]]


def test_r41_an_encrypted_cursor_shows_no_keys(table: Table, monkeypatch) -> None:
    """R41: with a secret the text holds nothing readable; without one it is opaque to nobody, as the docs say."""
    plain = Book.query(shelf_id="p").page(5).cursor
    monkeypatch.setattr(table, "cursor_secrets", (b"a long secret",))
    sealed = Book.query(shelf_id="p").page(5).cursor
    assert plain is not None
    assert sealed is not None

    raw = [base64.urlsafe_b64decode(text + "==") for text in (plain, sealed)]
    assert b"BOOK#04" in raw[0]
    assert b"BOOK" not in raw[1]


def test_secrets_are_rotated(table: Table, monkeypatch) -> None:
    """The newest secret encrypts, older ones still open; one that is gone does not, and neither does a plain cursor."""
    query = Book.query(shelf_id="p")
    plain = query.page(5).cursor
    monkeypatch.setattr(table, "cursor_secrets", (b"old",))
    old = query.page(5).cursor

    monkeypatch.setattr(table, "cursor_secrets", (b"new", b"old"))
    assert query.page(1, cursor=old).items == [BOOKS[5]]
    with pytest.raises(CursorError, match="not encrypted"):
        query.page(cursor=plain)
    monkeypatch.setattr(table, "cursor_secrets", (b"new",))
    with pytest.raises(CursorError):
        query.page(cursor=old)
    monkeypatch.setattr(table, "cursor_secrets", ())
    with pytest.raises(CursorError, match="no cursor_secret"):
        query.page(cursor=old)


def test_a_cursor_outlives_another_class() -> None:
    """A cursor does not depend on which other classes a process has imported."""
    app = Table("outlives")

    class One(Entity, table=app, pk="P", sk="A#{name}"):
        name: Field[str]

    spec, key = One.query().spec, row("P", "A#1")
    cursor = encode_cursor(plan_query(spec, NOW), key, "t", ())

    class Two(Entity, table=app, pk="P", sk="A#{name}#B"):
        name: Field[str]

    assert plan_query(spec, NOW).narrowing == "filter"
    assert decode_cursor(plan_query(spec, NOW), cursor, "t", ()) == key


def test_a_cursor_is_url_safe(table: Table) -> None:
    """It stands in a query string as it is."""
    cursor = Book.by_owner.query(owner="eve").page(5).cursor

    assert cursor is not None
    assert set(json.dumps(cursor)[1:-1]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_page_says_what_it_read(table: Table) -> None:
    """A page says what it read, what the filter dropped, and what came and was not asked for."""
    page = table.query(Book, Shelf, shelf_id="p").where(Book.state == State.OPEN).page()

    assert len(page) == 11
    assert (page.scanned, page.filtered) == (28, 17)
    assert sum(page.consumed.values()) > 0
