"""How numbers are spelled at the edges, and what is said of those that cannot be."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.resolve import codec_for

TOO_MANY = "has more than 38 significant digits, the most that DynamoDB stores; round it first"
TOO_LARGE = "is larger than DynamoDB's largest number, just under 1E+126"
TOO_SMALL = "is nearer to zero than DynamoDB's smallest number, 1E-130"
NO_NUMBER = "is NaN or infinite, which DynamoDB cannot store"


def refusal(call: Any, value: Any) -> str:
    """The whole text of the problem that a call raises."""
    with pytest.raises(ValueProblem) as caught:
        call(value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1E+39"), "1" + "0" * 39),
        (Decimal("9.5E+39"), "95" + "0" * 38),
        (Decimal("1E+40"), "1E+40"),
        (Decimal("1E-39"), "0." + "0" * 38 + "1"),
        (Decimal("1E-40"), "1E-40"),
        (Decimal("-2.5E-40"), "-2.5E-40"),
        (Decimal("1E-7"), "0.0000001"),
    ],
)
def test_a_number_is_spelled_plainly_up_to_forty_places(value: Decimal, text: str) -> None:
    """Further from 1 it has an exponent."""
    assert codec_for(Decimal).encode(value) == {"N": text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e15, "1000000000000000"),
        (9999999999999998.0, "9999999999999998"),
        (1e16, "10000000000000000"),
        (-1e16, "-10000000000000000"),
        (0.0001, "0.0001"),
        (0.00001, "0.00001"),
        (1e22, "10000000000000000000000"),
        (1e100, "1E+100"),
        (-2.5, "-2.5"),
    ],
)
def test_a_float_is_spelled_as_a_decimal_is(value: float, text: str) -> None:
    """Where Python would write an exponent or a point and a zero, the stored text has none."""
    assert codec_for(float).encode(value) == {"N": text}


@pytest.mark.parametrize("value", [10**38 - 1, 1 - 10**38, 10**38, -(10**38), 0, -1])
def test_an_int_is_spelled_in_full(value: int) -> None:
    """Up to forty digits it is what Python writes."""
    assert codec_for(int).encode(value) == {"N": str(value)}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Decimal("NaN"), NO_NUMBER),
        (Decimal("-Infinity"), NO_NUMBER),
        (Decimal("1E126"), TOO_LARGE),
        (Decimal("-1E126"), TOO_LARGE),
        (Decimal("1E-131"), TOO_SMALL),
        (Decimal("1" * 39), TOO_MANY),
        (Decimal("1." + "1" * 38 + "E125"), TOO_MANY),
        (Decimal("1." + "1" * 38 + "E-130"), TOO_MANY),
    ],
)
def test_a_number_that_dynamodb_cannot_store_is_described(value: Decimal, message: str) -> None:
    """At the largest and the smallest exponent it is the digits that are too many."""
    assert refusal(codec_for(Decimal).encode, value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (5, "the stored number is not a text"),
        ("five", "the stored number cannot be read"),
        ("1E99999", "the stored number cannot be read"),
        ("NaN", "the stored number is NaN or infinite"),
        ("-Infinity", "the stored number is NaN or infinite"),
    ],
)
@pytest.mark.parametrize("annotation", [int, Decimal, float], ids=lambda kind: kind.__name__)
def test_a_stored_number_that_is_none_is_described(annotation: Any, text: Any, message: str) -> None:
    """Each number type says the same."""
    assert refusal(codec_for(annotation).decode, {"N": text}) == message


def test_an_int_has_no_fraction() -> None:
    """A stored fraction is not cut off."""
    assert refusal(codec_for(int).decode, {"N": "1.5"}) == "the stored number has a fraction, and int does not"


def test_an_int_has_at_most_five_hundred_digits_after_the_first() -> None:
    """A short text of a huge exponent does not take memory without end."""
    codec = codec_for(int)
    assert codec.decode({"N": "-9E500"}) == -9 * 10**500
    assert refusal(codec.decode, {"N": "1E501"}) == "the stored number is too large for an int"
