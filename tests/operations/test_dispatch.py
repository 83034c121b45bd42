"""How single rows find their class: what is handed out, what is left out, and how each is counted."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tablekit import DecodeError, Entity, Field, MissingEntityType, NotLoaded, ShardedCounter, Table, ttl
from tablekit.definition.entity import schema_of
from tablekit.errors import UnknownEntityType, WrongEntityType
from tablekit.operations.dispatch import (
    UNTYPED,
    Acceptor,
    Counts,
    Dispatcher,
    RawItem,
    decode_as,
    is_expired,
    row_is_expired,
    sound_key,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
app = Table("shelf")


class Book(Entity, table=app, pk="SHELF#{shelf_id}", sk="BOOK#{book_id}", aliases=("Tome",)):
    """A row that stays."""

    shelf_id: Field[str]
    book_id: Field[str]


class Audio(Book, table=app, pk="SHELF#{shelf_id}", sk="BOOK#{book_id}"):
    """A book of a further class."""

    minutes: Field[int]


class Loan(Entity, table=app, pk="SHELF#{shelf_id}", sk="LOAN#{book_id}"):
    """A row that goes."""

    shelf_id: Field[str]
    book_id: Field[str]
    until: Field[datetime | None] = ttl(default=None, hide_expired=True)


class Visits(ShardedCounter, table=app, pk="VISITS#{shelf_id}", shards=2):
    """What tablekit keeps for itself."""


def row(type: str | None, sk: str = "BOOK#1", **more: Any) -> dict[str, Any]:
    """A stored row."""
    found: dict[str, Any] = {"PK": {"S": "SHELF#a"}, "SK": {"S": sk}, **more}
    return found if type is None else {**found, "EntityType": {"S": type}}


def until(moment: datetime) -> dict[str, Any]:
    """The stored time of a loan."""
    return {"N": str(int(moment.timestamp()))}


def dispatch(
    rows: list[dict[str, Any]], *classes: type[Entity], limit: int | None = None, **options: Any
) -> tuple[list[Any], Counts]:
    """What becomes of some rows, and how they are counted."""
    schemas = [schema_of(each) for each in classes] or None
    dispatcher = Dispatcher(app, schemas, **options)
    found, _, error = dispatcher.entities(rows, limit)
    if error is not None:
        raise error
    return found, dispatcher.counts


BOOK = Book(shelf_id="a", book_id="1")


def test_rows_of_a_type_its_aliases_and_its_subclasses_are_the_class() -> None:
    """Each as its own class, and counted by the type that is stored."""
    rows = [row("Book"), row("Tome"), row("Audio", minutes={"N": "3"})]
    found, counts = dispatch(rows, Book)

    assert found == [BOOK, BOOK, Audio(shelf_id="a", book_id="1", minutes=3)]
    assert counts.returned == Counter(Book=1, Tome=1, Audio=1)


def test_rows_of_classes_that_were_not_asked_for_are_discarded() -> None:
    """Known or not, and each is counted."""
    found, counts = dispatch([row("Loan"), row("Loan"), row("Stranger"), row("Book")], Book)

    assert found == [BOOK]
    assert counts.discarded == Counter(Loan=2, Stranger=1)


def test_a_subclass_alone_does_not_take_rows_of_its_base() -> None:
    """The rows of the base are of another class."""
    found, counts = dispatch([row("Book"), row("Audio", minutes={"N": "3"})], Audio)
    assert ([type(each) for each in found], counts.discarded) == ([Audio], Counter(Book=1))


def test_an_unknown_type_is_an_error_unless_told() -> None:
    """By default, where no class was named."""
    with pytest.raises(UnknownEntityType) as caught:
        dispatch([row("Stranger")])
    assert (caught.value.pk, caught.value.sk) == ("SHELF#a", "BOOK#1")


def test_unknown_types_are_skipped_by_policy_and_counted() -> None:
    """Two are two."""
    found, counts = dispatch([row("Stranger"), row("Stranger"), row("Book")], unknown="skip")
    assert (found, counts.skipped) == ([BOOK], Counter(Stranger=2))


def test_rows_of_tablekit_itself_are_left_out() -> None:
    """Guards of unique values, and the rows of counters."""
    found, counts = dispatch([row("tablekit:unique"), row("tablekit:unique"), row("Visits"), row("Visits")])
    assert (found, counts.discarded) == ([], Counter({"tablekit:unique": 2, "Visits": 2}))


def test_raw_gives_what_no_class_reads() -> None:
    """Rows of unknown type, without a type, and that do not decode, as they are stored."""
    rows = [row("Stranger"), row(None), row("Audio", minutes={"S": "x"})]
    found, counts = dispatch(rows, raw=True)

    assert [type(each) for each in found] == [RawItem] * 3
    assert found == rows
    assert counts.returned == Counter({"Stranger": 1, UNTYPED: 1, "Audio": 1})


def test_a_row_without_a_type_is_an_error_unless_told() -> None:
    """With its key, and three ways on."""
    with pytest.raises(MissingEntityType) as caught:
        dispatch([row(None)], Book)
    assert str(caught.value) == (
        "The row PK='SHELF#a' SK='BOOK#1' of table 'shelf' has no EntityType. Stamp old rows with the backfill, let "
        "their class be told by their key with untyped='infer', or leave them out with untyped='skip'."
    )
    assert (caught.value.pk, caught.value.sk) == ("SHELF#a", "BOOK#1")


def test_a_row_whose_key_fits_no_class_is_an_error_that_says_so() -> None:
    """Where classes are told by keys."""
    with pytest.raises(MissingEntityType, match=r"has no EntityType and its key fits no class, or several\. Stamp"):
        dispatch([row(None, "OTHER#1")], Book, untyped="infer")


@pytest.mark.parametrize("type", [{"N": "1"}, {"NULL": True}])
def test_a_type_that_is_no_text_is_none(type: dict[str, Any]) -> None:
    """The row counts as one without a type."""
    found, counts = dispatch([{**row(None), "EntityType": type}] * 2, Book, untyped="skip")
    assert (found, counts.skipped) == ([], Counter({UNTYPED: 2}))


def test_the_class_of_a_row_without_a_type_is_told_by_its_key() -> None:
    """Of the classes that were asked for; the others are counted."""
    found, counts = dispatch([row(None, "LOAN#1"), row(None, "LOAN#2")], Book, untyped="infer")
    assert (found, counts.discarded) == ([], Counter({UNTYPED: 2}))


def test_an_inferred_row_is_judged_dropped_and_decoded_as_others_are() -> None:
    """Where it is expired or judged away it is counted, under no type."""
    rows = [row(None, "LOAN#1", until=until(NOW)), row(None, "LOAN#2"), row(None, "LOAN#3")]
    found, counts = dispatch(
        rows, Loan, untyped="infer", now=lambda: NOW, judge=lambda _, item: item["SK"] != {"S": "LOAN#3"}
    )

    assert found == [Loan(shelf_id="a", book_id="2")]
    assert (counts.returned, counts.discarded) == (Counter({UNTYPED: 1}), Counter({UNTYPED: 2}))


def test_the_only_class_of_rows_that_bring_no_type_takes_them() -> None:
    """As of an index that holds keys alone; expired ones are counted under the class."""
    rows = [row(None, "LOAN#1"), row(None, "LOAN#2", until=until(NOW)), row(None, "LOAN#3", until=until(NOW))]
    found, counts = dispatch(rows, Loan, sole=schema_of(Loan), now=lambda: NOW)

    assert found == [Loan(shelf_id="a", book_id="1")]
    assert counts.discarded == Counter(Loan=2)


def test_expired_rows_are_left_out_and_counted() -> None:
    """At their second; what has no time, or one that cannot be read, is not expired."""
    rows = [
        row("Loan", "LOAN#1", until=until(NOW)),
        row("Loan", "LOAN#2", until=until(NOW - timedelta(days=1))),
        row("Loan", "LOAN#3", until=until(NOW + timedelta(seconds=1))),
        row("Loan", "LOAN#4"),
    ]
    found, counts = dispatch(rows, Loan, now=lambda: NOW)

    assert [each.book_id for each in found] == ["3", "4"]
    assert counts.discarded == Counter(Loan=2)
    assert not row_is_expired(schema_of(Loan), row("Loan", until={"S": "soon"}), NOW)
    assert not row_is_expired(schema_of(Loan), row("Loan"), NOW)
    assert not row_is_expired(schema_of(Book), row("Book", until=until(NOW)), NOW)
    assert [is_expired(each, NOW + timedelta(seconds=1)) for each in (*found, BOOK, "text")] == [
        True,
        False,
        False,
        False,
    ]


def test_without_a_clock_nothing_is_expired() -> None:
    """Streams and exports show what was there."""
    found, _ = dispatch([row("Loan", "LOAN#1", until=until(NOW))], Loan)
    assert len(found) == 1


def in_range(begins: str) -> Acceptor:
    """Sort keys of books that begin so; all others lie outside, but for those of loans."""
    return Acceptor("SK", {schema_of(Book): begins}, lambda schema, item: schema is schema_of(Loan))


def test_rows_out_of_the_range_are_discarded_and_counted() -> None:
    """By the beginning where a class's range is one, and else by the careful test."""
    rows = [
        row("Book", "BOOK#1"), row("Book", "BOOK#2"), row("Book", "BOOK#3"),
        row("Loan", "LOAN#1"), row("Audio", "BOOK#1", minutes={"N": "1"}),
    ]  # fmt: skip
    found, counts = dispatch(rows, Book, Loan, accept=in_range("BOOK#1"))

    assert found == [BOOK, Loan(shelf_id="a", book_id="1")]
    assert counts.discarded == Counter(Book=2, Audio=1)


@pytest.mark.parametrize("now", [None, lambda: NOW])
def test_a_range_and_a_time_are_asked_together(now: Any) -> None:
    """A class that hides expired rows is asked both, beside one that is asked for its range."""
    rows = [row("Book", "BOOK#1"), row("Book", "BOOK#2"), row("Loan", "LOAN#1", until=until(NOW))]
    found, counts = dispatch(rows, Book, Loan, accept=in_range("BOOK#1"), now=now)

    assert [each.book_id for each in found] == (["1"] if now else ["1", "1"])
    assert counts.discarded == (Counter(Book=1, Loan=1) if now else Counter(Book=1))


def test_a_row_without_the_attribute_of_the_range_is_asked_with_care() -> None:
    """As of an index whose sort key a row lacks, or has of another type."""
    accept = Acceptor("GSI1SK", {schema_of(Book): "B"}, lambda schema, _: schema is schema_of(Book))

    assert accept(schema_of(Book), row("Book"))
    assert not accept(None, row("Book"))
    assert not accept(schema_of(Loan), row("Loan", GSI1SK={"S": "B1"}))
    assert accept(schema_of(Book), row("Book", GSI1SK={"S": "B1"}))
    assert not accept(schema_of(Book), row("Book", GSI1SK={"S": "C1"}))
    assert not accept(schema_of(Book), row("Book", GSI1SK={"N": "1"}))


def test_rows_without_a_type_are_asked_for_the_range_too() -> None:
    """Before any policy; each is counted."""
    accept = Acceptor("SK", {}, lambda schema, item: item["SK"] == {"S": "BOOK#1"})
    found, counts = dispatch([row(None), row(None, "X#1"), row(None, "X#2")], Book, accept=accept, raw=True)

    assert found == [row(None)]
    assert counts.discarded == Counter({UNTYPED: 2})


BAD = row("Audio", minutes={"S": "x"})


def test_a_row_that_its_class_cannot_read_is_an_error_unless_told() -> None:
    """The rows before it are handed out first."""
    dispatcher = Dispatcher(app, [schema_of(Book)])
    found, position, error = dispatcher.entities([row("Book"), BAD, row("Book")])
    assert (found, position, type(error)) == ([BOOK], 1, DecodeError)
    assert dispatcher.counts.returned == Counter(Book=1)


def test_rows_that_cannot_be_read_are_skipped_and_counted() -> None:
    """By their type."""
    found, counts = dispatch([BAD, BAD, row("Book")], Book, undecodable="skip")
    assert (found, counts.skipped) == ([BOOK], Counter(Audio=2))


def test_each_row_that_cannot_be_read_is_told() -> None:
    """With its error, and left out."""
    told: list[DecodeError] = []
    found, counts = dispatch([BAD, row("Book")], Book, undecodable=told.append)
    assert (found, counts.skipped) == ([BOOK], Counter(Audio=1))
    assert [(each.entity, each.field) for each in told] == [("Audio", "minutes")]


def test_the_limit_ends_the_page_after_so_many_entities() -> None:
    """And says how many rows were gone through, and which was the first entity."""
    dispatcher = Dispatcher(app, [schema_of(Book)])
    rows = [row("Loan"), row("Loan"), row("Book"), row("Book"), row("Book")]
    found, position, error = dispatcher.entities(rows, 2)
    assert (found, position, error) == ([BOOK, BOOK], 4, None)
    assert dispatcher.first == 2
    assert Dispatcher(app, None).first == 0


def test_counts_are_added_to_those_that_are_given() -> None:
    """Of several pages, and of several workers."""
    counts = Counts()
    for _ in range(2):
        dispatch([row("Book"), row("Loan")], Book, counts=counts)
    assert (counts.returned, counts.discarded) == (Counter(Book=2), Counter(Loan=2))


@pytest.mark.parametrize("wrong", ["text", "Song", {"S": 3}])
def test_a_row_of_another_shape_says_where_to_look(wrong: Any) -> None:
    """A broken proxy or another service answered."""
    with pytest.raises(DecodeError) as caught:
        dispatch([{"PK": {"S": "a"}, "SK": {"S": "b"}, "EntityType": wrong}], Book)
    assert str(caught.value) == (
        "The row PK='a' SK='b' of table 'shelf' does not have DynamoDB's shape: its 'EntityType' is no attribute "
        "value there, such as {'S': 'text'}. Look for a proxy or a wrong endpoint_url between here and DynamoDB."
    )
    assert (caught.value.attribute, caught.value.pk, caught.value.sk) == ("EntityType", "a", "b")


def test_a_key_that_came_with_a_row_must_be_one() -> None:
    """It is a copy; the message names the attribute that is none."""
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    assert sound_key(app, key) == key
    assert sound_key(app, key) is not key
    with pytest.raises(DecodeError) as caught:
        sound_key(app, {"PK": {"S": "a"}, "SK": {"M": {}}})
    assert caught.value.attribute == "SK"
    with pytest.raises(DecodeError) as caught:
        sound_key(app, {})
    assert caught.value.attribute == "PK"


# One row, by key


def test_a_row_that_was_asked_for_is_of_its_own_class() -> None:
    """A subclass's row is the subclass."""
    assert decode_as(schema_of(Book), row("Tome")) == BOOK
    assert type(decode_as(schema_of(Book), row("Audio", minutes={"N": "3"}))) is Audio


def test_a_siblings_row_says_what_it_is() -> None:
    """With what was expected, and how it is read."""
    with pytest.raises(WrongEntityType) as caught:
        decode_as(schema_of(Book), row("Loan"))
    assert str(caught.value) == (
        "The row PK='SHELF#a' SK='BOOK#1' of table 'shelf' is a 'Loan', and was read as Book (Book, Tome, Audio). "
        "app.get(pk=..., sk=...) gives the row as what it is."
    )
    assert (caught.value.expected, caught.value.found) == (("Book", "Tome", "Audio"), "Loan")
    assert (caught.value.pk, caught.value.sk) == ("SHELF#a", "BOOK#1")


def test_a_type_that_differs_in_case_says_so() -> None:
    """An alias ends it."""
    with pytest.raises(
        WrongEntityType, match=r"They differ only in case; if they are the same, add aliases=\('BOOK',\)"
    ):
        decode_as(schema_of(Book), row("BOOK"))


def test_a_row_by_key_without_a_type_is_an_error() -> None:
    """Unless the table tells classes by keys."""
    with pytest.raises(MissingEntityType, match=r"has no EntityType\. Stamp"):
        decode_as(schema_of(Book), row(None))


def test_a_row_by_key_may_be_told_by_its_key() -> None:
    """Another class's is refused by its type, and one that fits none is untyped."""
    shop = Table("shop", untyped="infer")

    class Order(Entity, table=shop, pk="O#{order_id}", sk="ORDER"):
        order_id: Field[str]

    class Line(Entity, table=shop, pk="O#{order_id}", sk="LINE"):
        order_id: Field[str]

    key = {"PK": {"S": "O#1"}, "SK": {"S": "ORDER"}}
    assert decode_as(schema_of(Order), key) == Order(order_id="1")
    with pytest.raises(WrongEntityType, match="is a 'Order', and was read as Line"):
        decode_as(schema_of(Line), key)
    with pytest.raises(MissingEntityType, match="its key fits no class, or several"):
        decode_as(schema_of(Order), {"PK": {"S": "O#1"}, "SK": {"S": "?"}})


def test_a_part_of_a_row_by_key_is_a_partial_entity() -> None:
    """What was not read is told when it is asked for."""
    found = decode_as(schema_of(Audio), row("Audio"), frozenset({"shelf_id", "book_id"}))
    assert found.book_id == "1"
    with pytest.raises(NotLoaded):
        _ = found.minutes


@pytest.mark.parametrize("attribute", ["PK", "SK", "EntityType", "minutes"])
def test_a_row_by_key_of_another_shape_says_which_attribute_it_is(attribute: str) -> None:
    """A plain value in place of an attribute value, as boto3's resource and JSON have them."""
    with pytest.raises(DecodeError) as caught:
        decode_as(schema_of(Audio), {**row("Audio", minutes={"N": "3"}), attribute: 3})
    assert caught.value.attribute == attribute


def test_what_a_hook_raises_is_not_taken_for_the_rows_fault() -> None:
    """A row of sound shape explains nothing of it."""
    shop = Table("shop")

    class Order(Entity, table=shop, pk="O#{order_id}", sk="ORDER"):
        order_id: Field[str]

        def after_load(self) -> None:
            raise RuntimeError("out of order")

    item = {"PK": {"S": "O#1"}, "SK": {"S": "ORDER"}, "EntityType": {"S": "Order"}}
    with pytest.raises(RuntimeError, match="out of order"):
        decode_as(schema_of(Order), item)
    with pytest.raises(RuntimeError, match="out of order"):
        Dispatcher(shop, None).entities([item])
