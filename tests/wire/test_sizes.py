"""The size of an item, by DynamoDB's documented rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit.wire.sizes import attribute_sizes, item_size, number_size, size_bound, text_size, value_size


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("漢", 3), ("\U0001f600", 4)])
def test_a_text_has_its_bytes_of_utf_8(text: str, size: int) -> None:
    """Characters do not count, bytes do."""
    assert text_size(text) == value_size({"S": text}) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1), ("0.000", 1), ("1", 2), ("10", 2), ("100", 2), ("12", 2), ("123", 3), ("-1", 3), ("-123", 4),
        ("1234567890", 6), ("1E100", 2), ("0.1", 2), ("0.01", 2), ("1.5", 3), ("9" * 38, 20), ("-" + "9" * 38, 21),
    ],
)  # fmt: skip
def test_a_number_has_half_a_byte_a_digit_and_one_more(text: str, size: int) -> None:
    """Leading and trailing zeros are free, a minus sign costs one."""
    assert number_size(text) == size


@pytest.mark.parametrize("spellings", [("1", "1.0", "1E0", "+1", "01", "10E-1"), ("1E+3", "1000", "1000.00")])
def test_a_number_has_one_size_in_every_spelling(spellings: tuple[str, ...]) -> None:
    """The value counts, not its text."""
    assert len({number_size(text) for text in spellings}) == 1


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"B": b"\0\xff\x10"}, 3),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "10"]}, 4),
        ({"BS": [b"ab", b"c"]}, 3),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 1 + 2 + 1 + 1),
        ({"M": {"k": {"S": "ab"}}}, 3 + 1 + 1 + 2),
    ],
)
def test_a_value_has_its_documented_size(value: dict[str, Any], size: int) -> None:
    """R07: binary counts its raw bytes; lists and maps take 3 bytes, and 1 for each element."""
    assert value_size(value) == size


def test_an_item_counts_the_names_of_its_attributes() -> None:
    """Names and values together, and the heaviest first."""
    item = {"PK": {"S": "a"}, "description": {"S": "x" * 50}}
    assert item_size(item) == 2 + 1 + 11 + 50
    assert attribute_sizes(item) == {"description": 61, "PK": 3}


VALUES = st.recursive(
    st.builds(lambda text: {"S": text}, st.text())
    | st.builds(lambda number: {"N": str(number)}, st.integers() | st.decimals(allow_nan=False, allow_infinity=False))
    | st.builds(lambda raw: {"B": raw}, st.binary())
    | st.builds(lambda texts: {"SS": texts}, st.lists(st.text(), min_size=1, max_size=3))
    | st.builds(lambda raws: {"BS": raws}, st.lists(st.binary(), min_size=1, max_size=3))
    | st.sampled_from([{"BOOL": True}, {"NULL": True}, {"NS": ["1", "-1E-130"]}, {"L": []}, {"M": {}}]),
    lambda inner: (
        st.builds(lambda values: {"L": values}, st.lists(inner, max_size=3))
        | st.builds(lambda values: {"M": values}, st.dictionaries(st.text(min_size=1), inner, max_size=3))
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=5))
def test_the_quick_bound_is_never_below_the_size(item: Any) -> None:
    """What the bound lets pass needs no exact measure."""
    assert size_bound(item) >= item_size(item)


def test_the_same_text_counts_each_time_in_the_bound() -> None:
    """An object that occurs twice is stored twice."""
    text = "x" * 1000
    assert size_bound({"a": {"S": text}, "b": {"L": [{"S": text}, {"S": text}]}}) >= 3000


class Odd(str):
    """A text of a class of its own."""

    __slots__ = ()


def test_a_value_of_another_class_is_measured_exactly() -> None:
    """The bound is the size where the quick way does not know the value."""
    item = {"a": {"S": Odd("abc")}}
    assert size_bound(item) == item_size(item)
