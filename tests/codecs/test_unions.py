"""Optional, and unions that the wire can tell apart."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Optional

import attrs
import pytest

from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.resolve import codec_for


@attrs.define
class Card:
    """Told apart by `kind`."""

    number: str
    kind: Literal["card"] = "card"


@attrs.define
class Transfer:
    """Told apart by `kind`."""

    iban: str
    kind: Literal["transfer", "wire"] = "transfer"


@attrs.define
class Plain:
    """Has nothing to be told apart by."""

    n: int


@attrs.define
class And:
    """One of a pair of classes that contain each other."""

    parts: list[And | Leaf]
    kind: Literal["and"] = "and"


@attrs.define
class Leaf:
    """The other of the pair."""

    name: str
    kind: Literal["leaf"] = "leaf"


@pytest.mark.parametrize(
    ("annotation", "value", "wire"),
    [
        (int | None, None, {"NULL": True}),
        (Optional[str], "a", {"S": "a"}),  # noqa: UP045  the older spelling is the case
        (int | str, 1, {"N": "1"}),
        (int | str, "1", {"S": "1"}),
        (bool | int, True, {"BOOL": True}),
        (bool | int, 1, {"N": "1"}),
        (list[int] | set[int] | None, {1}, {"NS": ["1"]}),
        (Literal["all"] | list[str], "all", {"S": "all"}),
        (Plain | str, Plain(1), {"M": {"n": {"N": "1"}}}),
    ],
)
def test_the_tag_tells_which_member_it_is(annotation, value, wire):
    """Each member of a union is written under its own tag, and read by it."""
    codec = codec_for(annotation)
    assert codec.encode(value) == wire
    read = codec.decode(wire)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    "annotation",
    [
        int | Decimal,
        int | float,
        str | datetime,
        date | datetime,
        list[int] | tuple[str, ...],
        set[str] | frozenset[str],
        dict[str, int] | Plain,
        Plain | Card,
        Card | And | Plain,
    ],
)
def test_members_stored_alike_are_refused(annotation):
    """Two types under one tag could not be told apart in a read."""
    with pytest.raises(UnsupportedAnnotation, match="stored as"):
        codec_for(annotation)


@pytest.mark.parametrize("value", [Card("1"), Transfer("DE"), Transfer("DE", "wire")])
def test_a_literal_field_tells_nested_classes_apart(value):
    """Classes with a Literal of their own under one name may stand in a union."""
    codec = codec_for(list[Card | Transfer])
    assert codec.decode(codec.encode([value])) == [value]


def test_classes_that_contain_each_other_are_told_apart():
    """The fields of a class that is still being made are found in the end."""
    value = And([Leaf("a"), And([])])
    codec = codec_for(And)
    assert codec.decode(codec.encode(value)) == value


def test_a_map_that_does_not_say_which_is_refused():
    """A missing or unknown discriminator is a problem."""
    for stored in ({}, {"kind": {"S": "cheque"}}):
        with pytest.raises(ValueProblem, match="which"):
            codec_for(Card | Transfer).decode({"M": stored})


@pytest.mark.parametrize(("annotation", "value"), [(int | str, 1.5), (int | str, True), (int | None, "x")])
def test_a_value_of_no_member_is_refused(annotation, value):
    """The types are named, the value is not."""
    with pytest.raises(ValueProblem, match="int"):
        codec_for(annotation).encode(value)


def test_a_stored_value_of_no_member_is_refused():
    """The tag belongs to no member."""
    with pytest.raises(ValueProblem, match="boolean"):
        codec_for(int | str).decode({"BOOL": True})


def test_none_is_null_once():
    """Any takes None by itself, and a nullable union is not wrapped again."""
    assert codec_for(Any | None) is codec_for(Any)
    assert codec_for(int | None).tags == {"N", "NULL"}
    assert codec_for(int | str | None).nullable
