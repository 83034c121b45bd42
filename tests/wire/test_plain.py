"""Rows in other forms: DynamoDB JSON of a client or an export, plain dicts of boto3's resource."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit import DecodeError, Entity, Field, Table, field
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.compare import equal_wire
from tablekit.wire.plain import as_item, json_item, plain_item, wire_item

shelf = Table("shelf")
NUMBERS = st.integers(-(10**30), 10**30).map(Decimal) | st.decimals(-1000, 1000, places=3)
SCALARS = st.text(max_size=5) | st.booleans() | st.none() | NUMBERS | st.binary(max_size=5)
SETS = st.sets(st.text(min_size=1, max_size=3), min_size=1) | st.sets(NUMBERS, min_size=1)
VALUES = st.recursive(
    SCALARS | SETS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)


class Book(Entity, table=shelf, pk="B#{book_id}", sk="META"):
    """A row with every kind of scalar."""

    book_id: Field[str]
    price: Field[Decimal | None] = field(default=None)
    cover: Field[bytes | None] = field(default=None)
    tags: Field[set[str]] = field(factory=set)


def row(**more: Any) -> dict[str, Any]:
    """A row as boto3's resource gives it."""
    return {"PK": "B#1", "SK": "META", "EntityType": "Book", "book_id": "1", **more}


@given(VALUES)
@settings(max_examples=100)
def test_plain_values_are_what_boto3_makes_of_them(value: Any) -> None:
    """A plain row becomes the DynamoDB JSON that boto3 sends, and comes back as the values that boto3 gives."""
    item = as_item({"PK": "a", "value": value}, "PK")

    assert equal_wire(item["value"], TypeSerializer().serialize(value))
    given_back = TypeDeserializer().deserialize(item["value"])
    assert plain_item(item)["value"] == _without_binary(given_back)


def _without_binary(value: Any) -> Any:
    if isinstance(value, Binary):
        return value.value
    if isinstance(value, dict):
        return {name: _without_binary(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_binary(inner) for inner in value]
    return value


def test_from_item_takes_what_the_resource_gives() -> None:
    """Decimal, Binary and sets, and what the class does not declare stays."""
    book = Book.from_item(row(price=Decimal("1.50"), cover=Binary(b"\x00\xff"), tags={"a"}, other={"n": [1, None]}))

    assert (book.price, book.cover, book.tags) == (Decimal("1.50"), b"\x00\xff", {"a"})
    assert book.to_item(plain=True)["other"] == {"n": [Decimal(1), None]}


@pytest.mark.parametrize("cover", [b"\x00\xff", base64.b64encode(b"\x00\xff").decode()])
def test_from_item_takes_dynamodb_json_with_bytes_or_base64(cover: Any) -> None:
    """A client has bytes, an export and a stream of Lambda base64."""
    wire = {name: {"S": value} for name, value in row().items()}

    assert Book.from_item({**wire, "cover": {"B": cover}}).cover == b"\x00\xff"


def test_a_file_of_dynamodb_json_is_read_back() -> None:
    """Bytes at any depth are base64 in the file."""
    item = {"PK": {"S": "a"}, "m": {"M": {"l": {"L": [{"B": b"\x00"}, {"BS": [b"\x01"]}]}}}}

    assert wire_item(json_item(item)) == item
    assert json_item(item)["m"]["M"]["l"]["L"][0] == {"B": "AA=="}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"M": {"a": True}}, r"\.x\.a: is no attribute value: a bare bool"),
        ({"M": {"HP": {"HP": {"N": "1"}}}}, r"\.x\.HP: is no attribute value: the entry 'HP'"),
        ({"L": [{"S": "a", "N": "1"}]}, r"\.x\[0\]: is no attribute value: a map with 2 entries"),
        ({"M": []}, "of type M and holds a list"),
        ({"N": "twelve"}, "number cannot be read"),
        ({"B": "not base64!"}, "no base64"),
        ({"SS": []}, "empty SS"),
        ({"NULL": False}, "NULL, which holds true alone"),
        ({"BOOL": "true"}, "BOOL and holds a str"),
    ],
)
def test_what_is_no_attribute_value_is_named_with_its_path(value: Any, reason: str) -> None:
    """The path leads to it, at any depth, and no value is shown."""
    with pytest.raises(ValueProblem, match=reason):
        wire_item({"PK": {"S": "a"}, "x": value})


def test_from_item_of_a_bad_row_names_attribute_and_key() -> None:
    """A row that is malformed is a DecodeError as one of a wrong type is."""
    with pytest.raises(DecodeError, match="attribute 'other' of the row B#1 / META") as caught:
        Book.from_item(row(other=object()))
    assert (caught.value.attribute, caught.value.pk) == ("other", "B#1")
