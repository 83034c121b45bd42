"""Indexes: several classes, partial entities, keys and full rows, local and turned round, what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablekit import Entity, Field, GlobalIndex, KeyPartError, NotLoaded, PartialEntity, QueryError, Table, index_key
from tests.support.engines import Engine
from tests.support.reading import Book, Note, Shelf, State, insert, insert_items, row, shared
from tests.support.tables import Connect
from tests.support.validation import RequestRecorder

BOOKS = [
    Book.from_item(
        Book(shelf_id="i", book_id=str(n), title=f"T{n}", owner="ann", words=10 - n, state=State.OPEN).to_item()
    )
    for n in (1, 2, 3)
]
NOTES = [Note(shelf_id="i", book_id="1", number=n, owner="ann") for n in (1, 2)]
UNOWNED = Book.from_item(Book(shelf_id="i", book_id="9", state=State.DONE).to_item())


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """Three books of one owner and two notes, and a book without an owner."""
    with shared(engine, __name__, [*BOOKS, *NOTES, UNOWNED, Shelf(shelf_id="i")]) as app:
        yield app


def test_an_index_gives_several_classes(table: Table, recorder: RequestRecorder) -> None:
    """A query of two classes reads one partition of the index, told apart by their sort keys."""
    found = table.query(Book, Note, index="OWNER", owner="ann").all()

    assert found == [*BOOKS, *NOTES]
    assert recorder.sent("Query")[-1]["IndexName"] == "OWNER"


def test_r20_an_index_query_of_one_class_gives_no_sibling(table: Table) -> None:
    """R20: notes stand in the same partition of the index, and are not given for books."""
    assert Book.by_owner.query(owner="ann").all() == BOOKS
    assert Book.by_owner.query(owner="ann").where((Book.title == "T1") | (Book.title == "T3")).count() == 2


def test_a_whole_partition_of_an_index(table: Table) -> None:
    """Without classes an index partition gives each row as what it is."""
    assert table.query(pk="OWNER#ann", index="OWNER").all() == [*BOOKS, *NOTES]


def test_a_sparse_index_is_scanned_for_its_rows_alone(table: Table, recorder: RequestRecorder) -> None:
    """A scan of an index that only books are in sends no type filter."""
    found = Book.by_title.scan().all()

    assert sorted(book.title for book in found) == ["T1", "T2", "T3"]
    assert "FilterExpression" not in recorder.sent("Scan")[-1]
    assert len(table.scan(Book, Note, index="OWNER").all()) == 5


def test_a_class_that_is_not_in_an_index_is_refused(table: Table) -> None:
    """The error says how a class comes into an index."""
    with pytest.raises(QueryError, match="is not in index 'OWNER'"):
        table.query(Shelf, index="OWNER")
    with pytest.raises(QueryError, match="no index 'NONE'"):
        table.query(Book, index="NONE", owner="ann")


def test_r21_an_include_index_gives_partial_entities(table: Table) -> None:
    """R21: projected fields and those that the keys spell are there; others raise, and a put is refused."""
    first = Book.by_title.query(shelf_id="i").all()[0]

    assert (first.title, first.book_id, first.shelf_id) == ("T1", "1", "i")
    with pytest.raises(NotLoaded, match="words"):
        _ = first.words
    with pytest.raises(PartialEntity):
        first.put()


def test_r21_a_filter_on_what_an_index_lacks_is_refused(table: Table) -> None:
    """R21: it would drop every row."""
    with pytest.raises(QueryError, match="is not in index 'TITLES'"):
        Book.by_title.query(shelf_id="i").where(Book.words > 1).all()
    with pytest.raises(QueryError, match="not in index 'TITLES'"):
        Book.by_title.query(shelf_id="i").select(Book.words).all()


def test_r21_an_index_without_the_type_says_so(table: Table) -> None:
    """R21: its rows are not untyped, and not an empty list; even where the untyped policy is skip."""
    for query in (Book.by_key.query(shelf_id="i"), Book.by_key.query(shelf_id="i").untyped("skip")):
        with pytest.raises(QueryError, match="does not project EntityType"):
            query.all()


def test_r21_keys_are_given_as_handles(table: Table) -> None:
    """R21: an index that one class uses gives its keys, in the index's order."""
    keys = Book.by_key.query(shelf_id="i").keys().all()

    assert keys == [Book.key(shelf_id="i", book_id=name) for name in ("9", "3", "2", "1")]
    assert keys[1].get() == BOOKS[2]
    assert Book.by_key.query(shelf_id="i").count() == 4


def test_r21_full_rows_come_in_the_indexs_order(table: Table, recorder: RequestRecorder) -> None:
    """R21: hydrate reads the rows of a page with one BatchGetItem."""
    found = Book.by_key.query(shelf_id="i").hydrate().all()

    assert found == [UNOWNED, *reversed(BOOKS)]
    assert recorder.operations[-2:] == ["Query", "BatchGetItem"]


def test_hydrate_pages_and_selects(table: Table) -> None:
    """A limit, cursors and a selection work on hydrated rows."""
    query = Book.by_key.query(shelf_id="i").hydrate().select(Book.title)

    titles = [[book.title for book in page] for page in query.pages(3)]

    assert titles == [["untitled", "T3", "T2"], ["T1"]]
    with pytest.raises(NotLoaded):
        _ = query.all()[0].words


def test_hydrate_leaves_out_rows_that_are_gone(table: Table, monkeypatch) -> None:
    """A row that was deleted after the index was read is left out, and paging goes on after it."""
    from tablekit.operations import pager

    read = pager.read_items

    async def without_second(session, keys, **options):
        rows = await read(session, keys, **options)
        return [None if key["SK"] == {"S": "BOOK#3"} else found for key, found in zip(keys, rows)]

    monkeypatch.setattr(pager, "read_items", without_second)
    query = Book.by_key.query(shelf_id="i").hydrate()

    assert [book.book_id for page in query.pages(1) for book in page] == ["9", "2", "1"]


def test_keys_of_an_index_that_several_classes_use(connect: Connect, engine: Engine) -> None:
    """Without a type the keys of two classes cannot be told apart; hydrate can."""
    with pytest.warns(UserWarning, match="KEYS_ONLY"):
        app = Table("r21", indexes=[GlobalIndex("IDX", pk="IPK", projection="KEYS_ONLY")])

    class One(Entity, table=app, pk="P", sk="ONE#{n}"):
        n: Field[str]
        all = index_key("IDX", pk="ALL")

    class Two(Entity, table=app, pk="P", sk="TWO#{n}"):
        n: Field[str]
        all = index_key("IDX", pk="ALL")

    connect(app)
    insert(engine, [One(n="1"), Two(n="2")], app)

    for read in (One.all.query().keys().all, One.all.query().count, One.all.query().exists):
        with pytest.raises(QueryError, match="does not project"):
            read()
    page = One.all.query().hydrate().page()
    assert page.items == [One(n="1")]
    assert page.discarded == {"Two": 1}
    assert One.all.query().hydrate().count() == 1


# Consistent reads


def test_r43_consistent_reads_are_refused_on_a_global_index(table: Table) -> None:
    """R43: the error names the index, for queries and scans."""
    with pytest.raises(QueryError, match="'OWNER' is global"):
        Book.by_owner.query(owner="ann").consistent()
    with pytest.raises(QueryError, match="'OWNER' is global"):
        Book.by_owner.scan().consistent()


def test_r43_consistent_reads_are_sent_to_the_table_and_local_indexes(table: Table, recorder: RequestRecorder) -> None:
    """R43: both take the flag."""
    assert Book.query(shelf_id="i").consistent().count() == 4
    assert [book.words for book in Book.latest.query(shelf_id="i").consistent()] == [0, 7, 8, 9]

    assert all(sent["ConsistentRead"] for sent in recorder.sent("Query")[-2:])


def test_r43_a_tables_default_does_not_reach_global_indexes(
    table: Table, recorder: RequestRecorder, monkeypatch
) -> None:
    """R43: reads are consistent by default where they can be; a query may still say otherwise."""
    monkeypatch.setattr(table, "consistent_reads", True)

    Book.by_owner.query(owner="ann").all()
    Book.latest.query(shelf_id="i").all()
    Book.query(shelf_id="i").consistent(False).all()
    Book.get(shelf_id="i", book_id="1")

    flags = [sent.get("ConsistentRead", False) for _, sent in recorder.requests[-4:]]
    assert flags == [False, True, False, True]


# Other shapes of index


def test_an_index_of_the_tables_keys_turned_round(table: Table) -> None:
    """The sort key is the partition of such an index; no class declares a key of its own for it."""
    assert table.query(Book, index="TURNED", book_id="1").all() == [BOOKS[0]]
    assert table.query(pk="META", index="TURNED").all() == [Shelf(shelf_id="i")]


def test_an_index_on_business_attributes(table: Table) -> None:
    """A class is in it by what it stores anyway; ranges are of native numbers."""
    query = table.query(Book, index="STATES", state=State.OPEN)

    assert [book.words for book in query] == [7, 8, 9]
    assert [book.words for book in query.between(words=(8, 20))] == [8, 9]
    assert query.where(Book.title == "T1").first() == BOOKS[0]


def test_a_part_of_an_index_key_that_is_missing_is_refused(table: Table) -> None:
    """A partition key is given whole."""
    with pytest.raises(KeyPartError, match="owner"):
        table.query(Book, Note, index="OWNER").all()


def test_multi_attribute_keys(connect_full: Connect, ministack: Engine) -> None:
    """Up to four attributes make a key, in their native types: equalities from the left, then a range."""
    app = Table(
        "multi",
        key_types={"year": "N", "month": "N"},
        indexes=[GlobalIndex("MULTI", pk=("country", "city"), sk=("year", "month"))],
    )

    class Visit(Entity, table=app, pk="V#{visit_id}", sk="V"):
        visit_id: Field[str]
        country: Field[str]
        city: Field[str]
        year: Field[int]
        month: Field[int]
        when = index_key("MULTI")

    connect_full(app)
    visits = [
        Visit(visit_id=f"{year}-{month}", country="IT", city="Rome", year=year, month=month)
        for year in (2025, 2026)
        for month in (1, 2, 11)
    ]
    insert(ministack, visits, app)
    rome = {"country": "IT", "city": "Rome"}

    assert Visit.when.query(**rome).all() == visits
    assert Visit.when.query(**rome, year=2026).at_least(month=2).all() == visits[4:]
    assert Visit.when.query(**rome).between(year=(2026, 2030)).all() == visits[3:]
    assert app.query(pk=("IT", "Rome"), index="MULTI").count() == 6
    assert [len(page) for page in Visit.when.query(**rome).pages(4)] == [4, 2]
    with pytest.raises(QueryError, match="without gaps"):
        Visit.when.query(**rome, month=2).all()
    with pytest.raises(QueryError, match="2 value"):
        app.query(pk="IT", index="MULTI")


def test_an_index_on_the_type(connect: Connect, engine: Engine) -> None:
    """An index keyed on the type holds one class in a partition, without a filter."""
    app = Table("typed", indexes=[GlobalIndex("TYPE", pk="EntityType", sk="SK")])

    class One(Entity, table=app, pk="P#{n}", sk="ONE#{n}"):
        n: Field[str]

    class Two(Entity, table=app, pk="P#{n}", sk="TWO#{n}"):
        n: Field[str]

    connect(app)
    insert(engine, [One(n="1"), Two(n="2"), One(n="3")], app)

    query = app.query(One, index="TYPE")
    assert query.all() == [One(n="1"), One(n="3")]
    assert query.count() == 2
    assert query.explain().narrowing == "key"


def test_a_foreign_row_in_an_index_is_counted(table: Table, engine: Engine) -> None:
    """A row of unknown type is dropped from a query of a class, alike in index and table."""
    insert_items(engine, [row("S#f", "X", "Strange", OPK="OWNER#f", OSK="BOOK#1")])

    page = Book.by_owner.query(owner="f").page()

    assert page.items == []
    assert page.discarded == {"Strange": 1}
