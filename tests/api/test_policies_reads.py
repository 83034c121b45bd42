"""Rows of unknown type, without a type, of old spellings, and expired ones: alike in every read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from tablekit import (
    Entity,
    Field,
    GlobalIndex,
    MissingEntityType,
    QueryError,
    RawItem,
    Table,
    UnknownEntityType,
    index_key,
    ttl,
)
from tablekit.definition.entity import schema_of
from tablekit.operations.dispatch import row_is_expired
from tests.support.engines import Engine
from tests.support.reading import Book, Loan, Note, Shelf, insert, insert_items, row, shared
from tests.support.tables import Connect
from tests.support.validation import RequestRecorder

NOW = datetime.now(timezone.utc)
LOANS = {
    "past": NOW - timedelta(hours=1),
    "later": NOW + timedelta(hours=1),
    "never": None,
}
FILLING = [Loan(shelf_id="ttl", day=day, expires_at=moment) for day, moment in LOANS.items()]
ROWS = [
    row("S#u", "BOOK#1", "Book", shelf_id="u", book_id="1"),
    row("S#u", "BOOK#2", "Booklet", shelf_id="u"),
    row("S#u", "BOOK#3", "Book", shelf_id="u", book_id="3"),
    row("S#o", "BOOK#1", None, shelf_id="o", book_id="1", title="old"),
    row("S#o", "BOOK#2", "Book", shelf_id="o", book_id="2"),
    row("S#o", "ODD", None),
]


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """Shelf u with a row of unknown type, o with rows without a type, ttl with an expired loan."""
    with shared(engine, __name__, FILLING) as app:
        if app.get(pk="S#u", sk="BOOK#1") is None:
            insert_items(engine, ROWS)
        yield app


def test_r18_an_unknown_type_raises_after_the_rows_before_it(table: Table) -> None:
    """R18: the error names value and key, and comes when the rows before it have been given."""
    rows = iter(table.query(pk="S#u"))

    assert next(rows).entity_type == "Book"
    with pytest.raises(UnknownEntityType) as caught:
        next(rows)
    assert (caught.value.found, caught.value.pk, caught.value.sk) == ("Booklet", "S#u", "BOOK#2")


def test_r18_an_unknown_type_is_skipped_and_counted(table: Table) -> None:
    """R18: the policy leaves the row out, and the page says so."""
    page = table.query(pk="S#u").unknown("skip").page()

    assert [type(item) for item in page] == [Book, Book]
    assert page.skipped == {"Booklet": 1}


def test_r18_an_unknown_type_is_given_raw(table: Table) -> None:
    """R18: raw() gives the row as it is stored, in its place."""
    found = table.query(pk="S#u").raw().all()

    assert [type(item) for item in found] == [Book, RawItem, Book]
    assert isinstance(found[1], RawItem)
    assert found[1]["EntityType"] == {"S": "Booklet"}


def test_r18_paging_is_the_same_under_every_policy(table: Table) -> None:
    """R18: pages of one row end at the same rows, whatever the policy makes of them."""
    skipping = [[item.book_id for item in page] for page in table.query(pk="S#u").unknown("skip").page_size(1).pages()]
    raw = [len(page) for page in table.query(pk="S#u").raw().page_size(1).pages()]

    assert skipping[:3] == [["1"], [], ["3"]]
    assert raw[:3] == [1, 1, 1]


def test_r18_a_page_ends_before_a_row_that_raises(table: Table) -> None:
    """R18: no cursor leads past the row unseen: the page before it is whole, and the next one raises."""
    query = table.query(pk="S#u")
    page = query.page()

    assert len(page) == 1
    for _ in range(2):
        with pytest.raises(UnknownEntityType):
            query.page(cursor=page.cursor)


def test_r18_a_query_of_classes_drops_unknown_types(table: Table) -> None:
    """R18: a query of books gives books; the other type is not asked for, in both forms of the request."""
    assert [book.book_id for book in Book.query(shelf_id="u")] == ["1", "3"]
    assert Book.query(shelf_id="u").count() == 2
    page = table.query(Book, Note, shelf_id="u", book_id="2").page()
    assert page.items == []
    assert page.discarded == {"Booklet": 1}


def test_r17_a_row_without_a_type_raises_in_every_read(table: Table) -> None:
    """R17: nothing is dropped unseen: query of classes or of a partition, scan, get and batch get all say so."""
    key = Book.key(shelf_id="o", book_id="1")
    reads = [
        Book.query(shelf_id="o").all,
        table.query(pk="S#o").all,
        table.query(Book, Shelf, shelf_id="o").all,
        Book.scan().all,
        key.get,
        lambda: table.batch_get(key),
        lambda: table.get(pk="S#o", sk="BOOK#1"),
    ]

    for read in reads:
        with pytest.raises(MissingEntityType, match="backfill"):
            read()


def test_r17_a_row_without_a_type_is_inferred_from_its_key(table: Table) -> None:
    """R17: infer gives the old row as the class whose template its key fits."""
    found = Book.query(shelf_id="o").untyped("infer").all()

    assert [(book.book_id, book.title) for book in found] == [("1", "old"), ("2", "untitled")]
    assert Book.query(shelf_id="o").untyped("infer").count() == 2


def test_r17_a_key_that_fits_no_class_raises_under_infer(table: Table) -> None:
    """R17: what cannot be told is not dropped."""
    with pytest.raises(MissingEntityType, match="fits no class"):
        table.query(pk="S#o").untyped("infer").all()


def test_r17_a_row_without_a_type_is_skipped_when_told_to(table: Table, recorder: RequestRecorder) -> None:
    """R17: skip leaves it out of the query of a partition, counted, and out of the filter of a class."""
    page = table.query(pk="S#o").untyped("skip").page()

    assert [item.sk if isinstance(item, RawItem) else item.book_id for item in page] == ["2"]
    assert page.skipped == {"(untyped)": 2}
    assert [book.book_id for book in Book.query(shelf_id="o").untyped("skip")] == ["2"]
    assert recorder.sent("Query")[-1]["FilterExpression"] == "#EntityType = :Book"


@pytest.mark.parametrize(("policy", "found"), [("skip", False), ("infer", True)])
def test_r17_get_follows_the_tables_policy(table: Table, policy: str, found: bool, monkeypatch) -> None:
    """R17: a row that a query would skip is no row for get and batch get; one that it would infer is one."""
    monkeypatch.setattr(table, "untyped", policy)
    key = Book.key(shelf_id="o", book_id="1")

    assert (key.get() is not None) is found
    assert (table.batch_get(key)[0] is not None) is found
    assert (table.get(pk="S#o", sk="BOOK#1") is not None) is found


def test_r17_conditions_of_a_mixed_query_reach_inferred_rows(table: Table) -> None:
    """R17: a row whose class is inferred is judged by the conditions on that class."""
    query = table.query(Book, Shelf, shelf_id="o").untyped("infer")

    assert [book.book_id for book in query.where(Book.title == "old", Shelf.name == "x")] == ["1"]
    assert query.where(Book.title == "new").all() == []


def test_r19_types_are_exact_and_the_case_is_hinted_at(connect: Connect, engine: Engine) -> None:
    """R19: a type that differs only in case is another type, and the error says what to do."""
    app = Table("r19")

    class Doc(Entity, table=app, pk="D", sk="{n}"):
        n: Field[str]

    connect(app)
    insert_items(engine, [row("D", "1", "doc", n="1")], app)

    assert Doc.query().all() == []
    with pytest.raises(UnknownEntityType, match="only in case"):
        app.query(pk="D").all()


def test_r19_aliases_are_read_matched_and_rewritten(
    connect: Connect, engine: Engine, recorder: RequestRecorder
) -> None:
    """R19: old spellings load as the class, stand in its filter, and the next save writes the new one."""
    app = Table("r19b")

    class Document(Entity, table=app, pk="D", sk="D{n}", aliases=("Doc", "doc")):
        n: Field[str]
        title: Field[str]

    class Other(Entity, table=app, pk="D", sk="D{n}#O"):
        n: Field[str]

    connect(app)
    insert_items(engine, [row("D", "D1", "Doc", n="1", title="a"), row("D", "D2", "doc", n="2", title="b")], app)

    found = Document.query().all()

    assert [item.title for item in found] == ["a", "b"]
    assert "IN (:Document, :Doc, :doc)" in recorder.sent("Query")[-1]["FilterExpression"]
    found[0].title = "c"
    found[0].save()
    assert engine.client().get_item(TableName=app.name, Key=row("D", "D1"))["Item"]["EntityType"] == {"S": "Document"}


def test_a_subclass_is_returned_for_its_base(connect: Connect, engine: Engine) -> None:
    """A query of the base gives rows of the subclass too, also those with keys of another template."""
    app = Table("family")

    class Pet(Entity, table=app, pk="P", sk="PET#{name}"):
        name: Field[str]

    class Cat(Pet, sk="CAT#{name}"):
        lives: Field[int]

    connect(app)
    insert(engine, [Pet(name="rex"), Cat(name="tom", lives=9)], app)

    assert Pet.query().all() == [Cat(name="tom", lives=9), Pet(name="rex")]
    assert Cat.query().all() == [Cat(name="tom", lives=9)]
    assert Pet.query().where(Cat.lives > 9).all() == [Pet(name="rex")]


def test_a_class_that_is_registered_later_changes_the_plan(connect: Connect, engine: Engine) -> None:
    """A query narrowed by key alone filters by type once another class may lie where it reads."""
    app = Table("later")

    class One(Entity, table=app, pk="P", sk="A#{name}"):
        name: Field[str]

    connect(app)
    query = One.query().page_size(1)
    insert(engine, [One(name="1"), One(name="2"), One(name="3")], app)
    pages = query.pages()
    first, cursor = next(pages), query.page().cursor

    class Two(Entity, table=app, pk="P", sk="A#{name}#B"):
        name: Field[str]

    assert first.items == [One(name="1")]
    assert query.explain().narrowing == "filter"
    assert [item for page in pages for item in page] == [One(name="2"), One(name="3")]
    assert query.page(cursor=cursor).items == [One(name="2")]


# Expired rows


def test_r48_expired_rows_are_hidden_in_every_read(table: Table) -> None:
    """R48: get, batch get, query, scan and count leave out what has expired."""
    keys = [Loan.key(shelf_id="ttl", day=day, reader=None) for day in LOANS]

    assert [key.get() is not None for key in keys] == [False, True, True]
    assert [item is not None for item in table.batch_get(keys)] == [False, True, True]
    assert {loan.day for loan in Loan.query(shelf_id="ttl")} == {"later", "never"}
    assert {loan.day for loan in Loan.scan().untyped("skip") if loan.shelf_id == "ttl"} == {"later", "never"}
    assert {getattr(item, "day", "") for item in table.query(pk="S#ttl")} == {"later", "never"}
    assert Loan.query(shelf_id="ttl").count() == 2
    assert table.query(Loan, Shelf, shelf_id="ttl").count() == 2


def test_r48_expired_rows_are_hidden_when_only_keys_or_columns_are_read(table: Table) -> None:
    """R48: the time comes along with a selection, and with keys."""
    assert {loan.day for loan in Loan.query(shelf_id="ttl").select(Loan.day)} == {"later", "never"}
    assert len(Loan.query(shelf_id="ttl").keys().all()) == 2
    assert Loan.key(shelf_id="ttl", day="past", reader=None).get(select=[Loan.day]) is None


def test_r48_the_second_of_expiry_counts_as_past(engine: Engine, table: Table, monkeypatch) -> None:
    """R48: a row expires at its second, in the filter and in the check of the rows alike."""
    moment = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=2)
    insert(engine, [Loan(shelf_id="edge", day="x", expires_at=moment)])
    monkeypatch.setattr("tablekit.operations.session.Session.now", lambda self: moment)

    assert Loan.query(shelf_id="edge").all() == []
    assert Loan.get(shelf_id="edge", day="x", reader=None) is None
    item = row("S#edge", "LOAN#x", "Loan") | {"expires_at": {"N": str(int(moment.timestamp()))}}
    assert row_is_expired(schema_of(Loan), item, moment)


def test_r48_an_index_without_the_time_is_refused() -> None:
    """R48: an index that does not hold the time cannot hide what has expired; the full rows can."""
    app = Table("r48", indexes=[GlobalIndex("IDX", pk="IPK", projection=["title"])])

    class Token(Entity, table=app, pk="T#{name}", sk="T"):
        name: Field[str]
        expires_at: Field[datetime | None] = ttl(default=None, hide_expired=True)
        all = index_key("IDX", pk="ALL")

    with pytest.raises(QueryError, match="hydrate"):
        Token.all.query().all()
