"""Queries of several classes: narrowing, ranges, conditions that belong to one class, partial entities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablekit import Entity, Field, ItemNotFound, KeyPartError, NotLoaded, QueryError, SeveralItems, Table
from tests.support.engines import Engine
from tests.support.reading import Book, Loan, Note, Shelf, State, insert_items, row, shared
from tests.support.validation import RequestRecorder

BOOKS = [
    # As they are read: with the version that the first write gives.
    Book.from_item(Book(shelf_id="a", book_id=name, title=f"T{name}", state=state, words=words).to_item())
    for name, state, words in (("1", State.OPEN, 5), ("10", State.DONE, 1), ("2", State.DONE, 9))
]
NOTES = [Note(shelf_id="a", book_id=book, number=n, text=f"n{n}") for book, n in (("1", 1), ("1", 2), ("10", 1))]


LOANS = [Loan(shelf_id="a", day="2026-01-01"), Loan(shelf_id="a", day="2026-01-01", reader="ann")]
NUMBERED = [Note(shelf_id="b", book_id="1", number=number) for number in range(1, 6)]
BESIDE = [
    Book(shelf_id="n", book_id="1"),
    Book(shelf_id="n", book_id="1!"),
    Note(shelf_id="n", book_id="1", number=1),
    Loan(shelf_id="n", day="2026-01-01"),
    Loan(shelf_id="n", day="2026-01-01b"),
    Loan(shelf_id="n", day="2026-01-01!", reader="bob"),
]
FILLING = [Shelf(shelf_id="a", name="A"), *BOOKS, *NOTES, *LOANS, *NUMBERED, *BESIDE]


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """Shelf a with three books, three notes and two loans; b with five notes; n with rows that lie side by side."""
    with shared(engine, __name__, FILLING) as app:
        yield app


def test_a_mixed_query_drops_other_types(table: Table) -> None:
    """A query of two classes gives only theirs, in the order of the sort key."""
    found = table.query(Shelf, Book, shelf_id="a").all()

    assert [type(item) for item in found] == [Book, Book, Book, Shelf]


def test_r09_one_book_and_its_notes_leaves_the_tenth_out(table: Table) -> None:
    """R09: book 1 and its notes is a BETWEEN, and neither book 10 nor its notes come with it."""
    found = table.query(Book, Note, shelf_id="a", book_id="1").all()

    assert found == [BOOKS[0], NOTES[0], NOTES[1]]


def test_r09_neighbours_are_parsed_and_counted(table: Table) -> None:
    """R09: a book whose key lies between book 1 and its notes is dropped by exact parsing, and counted."""
    page = table.query(Book, Note, shelf_id="n", book_id="1").page()

    assert [type(item) for item in page] == [Book, Note]
    assert page.discarded == {"Book": 1}


def test_r09_a_partial_key_is_a_prefix_up_to_the_next_part(table: Table, recorder: RequestRecorder) -> None:
    """R09: the notes of book 1 are asked for by the text up to the number, which begins no key of book 10."""
    assert Note.query(shelf_id="a", book_id="1").all() == NOTES[:2]
    sent = recorder.sent("Query")[-1]
    assert sent["ExpressionAttributeValues"][":SK"] == {"S": "BOOK#1#NOTE#"}


def test_a_gap_in_the_key_parts_is_refused(table: Table) -> None:
    """A part is not taken without the one before it."""
    with pytest.raises(KeyPartError, match="book_id"):
        Note.query(shelf_id="a", number=1).all()


def test_a_part_that_no_class_has_is_refused(table: Table) -> None:
    """A misspelt part would widen the query unseen."""
    with pytest.raises(QueryError, match="bookid"):
        table.query(Book, Note, shelf_id="a", bookid="1").all()


def test_classes_of_different_partitions_are_refused(table: Table) -> None:
    """One query reads one partition of an index."""
    with pytest.raises(QueryError, match="different partitions"):
        table.query(Book, Note, index="TURNED", book_id="1", number=1).all()


def test_an_optional_tail_is_asked_for_with_and_without(table: Table) -> None:
    """Without the tail's field both kinds of key come; None asks for the key without it, a value for the one with."""
    both = [item.reader for item in Loan.query(shelf_id="a", day="2026-01-01")]

    assert both == [None, "ann"]
    assert [item.reader for item in Loan.query(shelf_id="a", day="2026-01-01", reader=None)] == [None]
    assert [item.reader for item in Loan.query(shelf_id="a", day="2026-01-01", reader="ann")] == ["ann"]


def test_an_optional_tail_leaves_longer_values_out(table: Table) -> None:
    """The loans of a day do not bring those of a day whose text begins alike."""
    page = Loan.query(shelf_id="n", day="2026-01-01").page()

    assert [loan.day for loan in page] == ["2026-01-01"]
    assert page.discarded == {"Loan": 1}


@pytest.mark.parametrize(
    ("operator", "value", "numbers"),
    [
        ("between", (2, 4), [2, 3, 4]),
        ("after", 3, [4, 5]),
        ("at_least", 3, [3, 4, 5]),
        ("before", 3, [1, 2]),
        ("at_most", 3, [1, 2, 3]),
    ],
)
def test_ranges_are_in_terms_of_fields(table: Table, operator: str, value: object, numbers: list[int]) -> None:
    """Each range takes the values of the next part of the sort key, padded as the template pads."""
    query = getattr(Note.query(shelf_id="b", book_id="1"), operator)(number=value)

    assert [note.number for note in query] == numbers
    assert query.count() == len(numbers)


def test_two_ranges_meet(table: Table) -> None:
    """Ranges of one field are both kept to."""
    query = Note.query(shelf_id="b", book_id="1").after(number=1).before(number=4)

    assert [note.number for note in query] == [2, 3]


def test_a_range_that_is_empty_is_refused(table: Table) -> None:
    """DynamoDB refuses a BETWEEN whose ends are swapped."""
    with pytest.raises(QueryError, match="Swap them"):
        Note.query(shelf_id="a", book_id="1").between(number=(3, 1)).all()


def test_a_range_of_a_whole_partition_without_classes_is_refused(table: Table) -> None:
    """A range names a field, and no field is known without a class."""
    with pytest.raises(QueryError, match="names no class"):
        table.query(pk="S#a").begins_with(book_id="1")


def test_begins_with_speaks_of_the_part(table: Table) -> None:
    """A beginning of the book's id finds books 1 and 10."""
    assert Book.query(shelf_id="a").begins_with(book_id="1").all() == BOOKS[:2]


# Conditions


def test_a_condition_judges_only_its_own_class(table: Table) -> None:
    """A condition on books drops books, and leaves notes and the shelf."""
    found = table.query(Shelf, Book, Note, shelf_id="a").where(Book.state == State.DONE).all()

    assert [item for item in found if isinstance(item, Book)] == BOOKS[1:]
    assert sum(isinstance(item, Note) for item in found) == 3
    assert sum(isinstance(item, Shelf) for item in found) == 1


def test_a_condition_over_two_classes_counts_for_each(table: Table) -> None:
    """In an OR over books and notes each part judges its own class, and the shelf passes."""
    query = table.query(Shelf, Book, Note, shelf_id="a").where((Book.words > 4) | (Note.text == "n1"))

    found = query.all()

    assert [item.book_id for item in found if isinstance(item, Book)] == ["1", "2"]
    assert [(item.book_id, item.number) for item in found if isinstance(item, Note)] == [("1", 1), ("10", 1)]
    assert isinstance(found[-1], Shelf)


def test_a_negation_over_two_classes_counts_for_each(table: Table) -> None:
    """NOT of an AND over two classes is taken apart by class as well."""
    query = table.query(Book, Note, shelf_id="a").where(~((Book.words > 4) & (Note.text == "n1")))

    assert [(type(item).__name__, item.book_id) for item in query] == [("Note", "1"), ("Book", "10")]


def test_an_and_is_split_by_class(table: Table) -> None:
    """Each term of an AND judges its own class."""
    query = table.query(Book, Note, shelf_id="a").where((Book.words > 4) & (Note.text == "n2"))

    assert [(type(item).__name__, item.book_id) for item in query] == [("Book", "1"), ("Note", "1"), ("Book", "2")]


def test_equal_names_of_two_classes_are_apart(table: Table) -> None:
    """Both classes have a `state`, and a condition on one does not touch the other."""
    query = table.query(Book, Note, shelf_id="a").where(Note.state == "new", Book.state == State.OPEN)

    assert [type(item) for item in query] == [Book, Note, Note, Note]


def test_r20_an_or_does_not_escape_the_type(table: Table, recorder: RequestRecorder) -> None:
    """R20: the caller's OR stands in parentheses beside the type."""
    Book.query(shelf_id="a").where((Book.title == "a") | (Book.title == "b")).untyped("skip").all()

    text = recorder.sent("Query")[-1]["FilterExpression"]
    assert text == "(#title = :title OR #title = :title_2) AND #EntityType = :Book"


def test_a_condition_on_a_class_that_is_not_asked_for_is_refused(table: Table) -> None:
    """It would judge nothing."""
    with pytest.raises(QueryError, match="Note"):
        Book.query(shelf_id="a").where(Note.text == "x").all()


def test_a_comparison_of_two_classes_is_refused(table: Table) -> None:
    """No item has the fields of both."""
    with pytest.raises(QueryError, match="no item has both"):
        table.query(Book, Note, shelf_id="a").where(Book.title == Note.text).all()


def test_a_filter_on_the_key_that_is_read_is_refused(table: Table) -> None:
    """DynamoDB takes no filter on the key of the index."""
    with pytest.raises(QueryError, match="takes no filter"):
        table.query(Book, index="STATES", state=State.OPEN).where(Book.words > 3).all()


def test_a_whole_partition_takes_conditions_of_its_classes(table: Table) -> None:
    """Without classes a condition judges the rows of its own class."""
    found = table.query(pk="S#a").where(Book.words > 100).all()

    assert {type(item) for item in found} == {Shelf, Note, Loan}


# Partial entities


def test_select_makes_partial_entities_of_each_class(table: Table) -> None:
    """Each class brings the columns that are its own; keys come along, other fields are not loaded."""
    book, note, *_ = table.query(Book, Note, shelf_id="a", book_id="1").select(Book.title, Note.text).all()

    assert (book.title, book.book_id, note.text, note.number) == ("T1", "1", "n1", 1)
    with pytest.raises(NotLoaded):
        _ = book.words
    with pytest.raises(NotLoaded):
        _ = note.state


def test_select_of_a_part_or_another_class_is_refused(table: Table) -> None:
    """An entity holds a field whole or not at all, and only fields of classes that are asked for."""
    with pytest.raises(QueryError, match="Note"):
        Book.query(shelf_id="a").select(Note.text).all()


def test_a_key_is_read_in_part(table: Table) -> None:
    """get(select=) reads the named columns."""
    key = Book.key(shelf_id="a", book_id="1")

    found = key.get(select=[Book.title])

    assert found is not None
    assert found.title == "T1"
    with pytest.raises(NotLoaded):
        _ = found.words


def test_a_partial_entity_with_every_field_cannot_be_put(table: Table, engine: Engine) -> None:
    """Attributes that the class does not declare were not read, and a put would erase them."""
    insert_items(engine, [row("S#c", "META", "Shelf", shelf_id="c", name="C", colour="red")])
    found = Shelf.key(shelf_id="c").get_or_raise(select=[Shelf.shelf_id, Shelf.name])

    with pytest.raises(ValueError, match="loaded in part"):
        found.put()


# Asking for a number, one, or some


def test_grouped_gives_a_list_for_each_class(table: Table) -> None:
    """The entities of one class are got by the class; a class that was not asked for is refused."""
    grouped = table.query(Book, Note, shelf_id="a").grouped()

    assert grouped[Book] == BOOKS
    assert grouped[Note] == NOTES
    assert list(grouped.by_type) == ["Book", "Note"]
    with pytest.raises(QueryError, match="Loan"):
        _ = grouped[Loan]


def test_one_wants_exactly_one(table: Table) -> None:
    """None is ItemNotFound, several are SeveralItems; both are LookupErrors."""
    assert Book.query(shelf_id="a", book_id="2").one() == BOOKS[2]
    with pytest.raises(ItemNotFound):
        Book.query(shelf_id="none").one()
    with pytest.raises(SeveralItems):
        Book.query(shelf_id="a").one()


def test_one_wants_no_more_than_the_limit(table: Table) -> None:
    """A query that is limited to one row gives one."""
    assert Book.query(shelf_id="a").limit(1).one() == BOOKS[0]


def test_exists_and_first(table: Table) -> None:
    """Both look no further than the first entity."""
    assert Book.query(shelf_id="a").exists()
    assert not Book.query(shelf_id="none").exists()
    assert Book.query(shelf_id="a").reverse().first() == BOOKS[2]
    assert Book.query(shelf_id="none").first() is None


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_r38_a_limit_below_one_is_refused(table: Table, limit: int) -> None:
    """R38: zero and negative limits are errors, not "everything"."""
    with pytest.raises(QueryError, match="at least 1"):
        Book.query(shelf_id="a").limit(limit)


def test_a_scan_takes_no_range_and_no_order(table: Table) -> None:
    """What a scan cannot do is refused, not ignored."""
    with pytest.raises(QueryError, match="range"):
        Book.scan().between(book_id=("1", "2"))
    with pytest.raises(QueryError, match="order"):
        Book.scan().reverse()


def test_a_misspelt_part_is_told_before_the_missing_one() -> None:
    """With the name that is meant."""
    with pytest.raises(QueryError, match="Did you mean 'shelf_id'"):
        list(Book.query(shelf="a"))


def test_classes_whose_partitions_have_other_parts_are_refused() -> None:
    """It is said that the partitions differ, not that a part is missing."""
    shop = Table("shop")

    class Order(Entity, table=shop, pk="C#{who}", sk="ORDER"):
        who: Field[str]

    class Visit(Entity, table=shop, pk="V#{token}", sk="META"):
        token: Field[str]

    for first, second in ((Order, Visit), (Visit, Order)):
        with pytest.raises(QueryError, match="different partitions"):
            list(shop.query(first, second, who="ann"))


@pytest.mark.parametrize("size", [0, "3", True])
def test_the_size_of_a_page_is_a_whole_number(size: Any) -> None:
    """The message speaks of the page, not of a limit."""
    with pytest.raises(QueryError, match="size of a page"):
        Book.query(shelf_id="a").page(size)


def test_select_of_a_name_is_refused_at_once() -> None:
    """Columns are taken, not their names."""
    with pytest.raises(QueryError, match=r"not 'title'"):
        Book.query(shelf_id="a").select("title")  # type: ignore[arg-type]
