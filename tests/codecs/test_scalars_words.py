"""What scalar codecs say when they refuse a value, word by word."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import Codec, ValueProblem, payload, veiled
from tablekit.codecs.resolve import codec_for

SCALARS = [str, int, Decimal, float, bool, bytes, uuid.UUID]


class Plain:
    """A class that no codec knows."""


def refusal(call: Any, value: Any) -> str:
    """The whole text of the problem that a call raises."""
    with pytest.raises(ValueProblem) as caught:
        call(value)
    return str(caught.value)


@pytest.mark.parametrize("annotation", SCALARS, ids=lambda kind: kind.__name__)
def test_a_value_of_another_class_is_named(annotation: Any) -> None:
    """The message has the class of the value, and the class that is wanted."""
    name = annotation.__name__
    assert refusal(codec_for(annotation).encode, Plain()) == f"is of type Plain, not {name}"


@pytest.mark.parametrize("annotation", SCALARS, ids=lambda kind: kind.__name__)
def test_none_is_refused_by_name(annotation: Any) -> None:
    """A missing value is told apart from one of another class."""
    name = annotation.__name__
    assert refusal(codec_for(annotation).encode, None) == f"is None, and {name} does not take None"


def test_none_alone_refuses_everything_else() -> None:
    """A field of None takes no value."""
    assert refusal(codec_for(None).encode, 5) == "is of type int, not None"
    assert refusal(codec_for(None).decode, {"N": "5"}) == "the stored value is a number (N); None is read from NULL"


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (Decimal, 0.1, "is of type float, not Decimal; write Decimal(str(x)) to say which digits are meant"),
        (str, "a\ud800", "holds a lone surrogate, which is no Unicode text"),
    ],
)
def test_a_value_that_is_nearly_right_gets_a_remedy(annotation: Any, value: Any, message: str) -> None:
    """A float for a Decimal, and a text that is none, have messages of their own."""
    assert refusal(codec_for(annotation).encode, value) == message


@pytest.mark.parametrize("annotation", [Decimal, float], ids=lambda kind: kind.__name__)
def test_an_int_is_an_exact_number(annotation: Any) -> None:
    """Decimal and float fields take an int, and store it as it is."""
    assert codec_for(annotation).encode(12) == {"N": "12"}


@pytest.mark.parametrize(
    ("annotation", "wire", "message"),
    [
        (str, {"S": 5}, "the stored string is not a text"),
        (bool, {"BOOL": "yes"}, "the stored boolean is neither true nor false"),
        (bytes, {"B": "eA=="}, "the stored binary value was not decoded from base64"),
        (uuid.UUID, {"S": "no"}, "the stored string is not a UUID"),
        (uuid.UUID, {"S": 5}, "the stored string is not a UUID"),
    ],
)
def test_a_stored_value_that_is_none_of_the_type_is_described(annotation: Any, wire: Any, message: str) -> None:
    """The tag is right, and what stands under it is not."""
    assert refusal(codec_for(annotation).decode, wire) == message


@pytest.mark.parametrize("annotation", SCALARS, ids=lambda kind: kind.__name__)
def test_a_stored_null_is_refused_by_name(annotation: Any) -> None:
    """NULL is read by a type that takes None only."""
    name = annotation.__name__
    message = f"the stored value is NULL, and {name} does not take None"
    assert refusal(codec_for(annotation).decode, {"NULL": True}) == message


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        (str, "str is read from a string (S)"),
        (int, "int is read from a number (N)"),
        (Decimal, "Decimal is read from a number (N)"),
        (float, "float is read from a number (N)"),
        (bool, "bool is read from a boolean (BOOL)"),
        (bytes, "bytes is read from binary (B)"),
        (uuid.UUID, "UUID is read from a string (S)"),
    ],
)
def test_another_stored_type_is_told_with_the_wanted_one(annotation: Any, wanted: str) -> None:
    """Both types are told in words and by their tags."""
    assert refusal(codec_for(annotation).decode, {"L": []}) == f"the stored value is a list (L); {wanted}"


@pytest.mark.parametrize(
    ("wire", "found"),
    [
        ({"S": ""}, "a string (S)"),
        ({"B": b""}, "binary (B)"),
        ({"BOOL": True}, "a boolean (BOOL)"),
        ({"M": {}}, "a map (M)"),
        ({"SS": ["a"]}, "a string set (SS)"),
        ({"NS": ["1"]}, "a number set (NS)"),
        ({"BS": [b"a"]}, "a binary set (BS)"),
        ({"V": "x"}, "of the unknown type 'V'"),
        ({}, "of the unknown type ''"),
    ],
)
def test_each_stored_type_has_its_words(wire: Any, found: str) -> None:
    """A type that DynamoDB may have one day is told by its tag."""
    assert refusal(codec_for(int).decode, wire) == f"the stored value is {found}; int is read from a number (N)"


def test_what_stands_under_a_tag_is_given_as_it_is() -> None:
    """`payload` neither checks nor copies."""
    inside: list[Any] = []
    assert payload({"L": inside}, "L", "list") is inside


def test_a_problem_names_its_place_first() -> None:
    """The place is left out where the value itself is meant, and grows at the front from level to level."""
    assert str(ValueProblem("is wrong")) == "is wrong"
    problem = ValueProblem("is wrong", ".price").at("[2]")
    assert (str(problem), problem.reason, problem.path) == ("[2].price: is wrong", "is wrong", "[2].price")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("", ""),
        (".a[2].b", ".a[2].b"),
        ('.a["key"]', '.a["***"]'),
        ('["first"].a["second"].b', '["***"]'),
    ],
)
def test_a_key_of_a_secret_map_is_hidden(path: str, shown: str) -> None:
    """The path ends at the first key of a map; fields of classes and indexes are no secret."""
    assert veiled(path) == shown


def test_a_codec_shows_its_kind_and_type() -> None:
    """The repr serves in messages of tests and debuggers."""
    assert repr(codec_for(int)) == "IntCodec(int)"
    assert repr(Codec()) == "Codec(Any)"


def test_a_codec_without_its_two_functions_is_no_codec() -> None:
    """Both ways must be overridden, and say so where they were forgotten."""
    with pytest.raises(AssertionError) as caught:
        Codec().encode("a")
    assert str(caught.value) == "a codec overrides encode"
    with pytest.raises(AssertionError) as caught:
        Codec().decode({"S": "a"})
    assert str(caught.value) == "a codec overrides decode"


def test_a_scalar_has_nothing_inside() -> None:
    """No path leads into it, and what is missing there is no empty set."""
    codec = codec_for(str)
    assert (codec.child("a"), codec.child(0), codec.attribute_name("a")) == (None, None, None)
    assert codec.reads_empty("a") is False


def test_a_step_is_of_the_type_itself() -> None:
    """What an update adds to a number is written as the number is."""
    assert codec_for(Decimal).encode_step(Decimal("1.50")) == {"N": "1.5"}
    assert refusal(codec_for(int).encode_step, "1") == "is of type str, not int"
