"""Enum and Literal as attribute values."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import Literal

import pytest

from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.resolve import codec_for


class Status(enum.Enum):
    """Values of str, one of them under two names."""

    DRAFT = "draft"
    DONE = "done"
    FINISHED = "done"  # noqa: PIE796  the second name is the case


class Level(enum.IntEnum):
    """Values of int."""

    LOW = 1
    HIGH = 2


class Right(enum.IntFlag):
    """Flags, which may be combined."""

    READ = 1
    WRITE = 2


class Odd(enum.Enum):
    """Values of several types."""

    NOTHING = None
    YES = True
    ONE_AND_A_HALF = Decimal("1.5")
    PAIR = ("a", 1)


class Forgiving(enum.Enum):
    """An enum that knows an old spelling."""

    DONE = "done"

    @classmethod
    def _missing_(cls, value: object) -> Forgiving | None:
        return cls.DONE if value == "finished" else None


@pytest.mark.parametrize(
    ("member", "wire"),
    [
        (Status.FINISHED, {"S": "done"}),
        (Level.HIGH, {"N": "2"}),
        (Right.READ | Right.WRITE, {"N": "3"}),
        (Odd.NOTHING, {"NULL": True}),
        (Odd.YES, {"BOOL": True}),
        (Odd.ONE_AND_A_HALF, {"N": "1.5"}),
        (Odd.PAIR, {"L": [{"S": "a"}, {"N": "1"}]}),
    ],
)
def test_an_enum_is_stored_by_value(member, wire):
    """A member is written as its value, and the value reads back as the member."""
    codec = codec_for(type(member))
    assert codec.encode(member) == wire
    assert codec.decode(wire) is member


def test_an_enum_refuses_a_bare_value():
    """The value of a member is no member."""
    with pytest.raises(ValueProblem, match="str, not Status"):
        codec_for(Status).encode("draft")


def test_an_unknown_value_is_refused():
    """A stored value of no member is an error that does not show it."""
    with pytest.raises(ValueProblem, match="Status") as caught:
        codec_for(Status).decode({"S": "secret"})
    assert "secret" not in str(caught.value)


def test_a_number_may_be_spelled_otherwise():
    """``2.0`` is the value 2."""
    assert codec_for(Level).decode({"N": "2.0"}) is Level.HIGH


def test_the_enums_own_fallback_is_asked():
    """An enum may map old stored values to members."""
    assert codec_for(Forgiving).decode({"S": "finished"}) is Forgiving.DONE


def test_each_request_gets_its_own_wire_value():
    """A sender may change what it is given without changing the next request."""
    codec = codec_for(Status)
    codec.encode(Status.DRAFT).clear()
    assert codec.encode(Status.DRAFT) == {"S": "draft"}


@pytest.mark.parametrize(("value", "wire"), [("a", {"S": "a"}), (1, {"N": "1"}), (True, {"BOOL": True})])
def test_a_literal_keeps_bool_and_int_apart(value, wire):
    """Values that Python calls equal are stored and read by their own types."""
    codec = codec_for(Literal["a", 1, True])
    assert codec.encode(value) == wire
    read = codec.decode(wire)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("value", ["c", 1, None, ["a"]])
def test_a_literal_refuses_other_values(value):
    """Only the listed values are stored."""
    with pytest.raises(ValueProblem, match="none of the values"):
        codec_for(Literal["a", "b"]).encode(value)


def test_a_literal_may_hold_none():
    """None in a Literal makes it take NULL."""
    codec = codec_for(Literal["a", None])  # noqa: PYI061  None among the values is the case
    assert codec.nullable
    assert codec.decode(codec.encode(None)) is None


def test_what_cannot_be_stored_is_refused_when_the_codec_is_made():
    """An empty enum, and one with a value that has no wire form, are definition errors."""
    for broken in (enum.Enum("Empty", []), enum.Enum("Objects", [("A", object())])):
        with pytest.raises(UnsupportedAnnotation):
            codec_for(broken)


@pytest.mark.parametrize(("annotation", "key_type"), [(Status, "S"), (Level, "N"), (Odd, None), (Literal["a"], "S")])
def test_key_type_is_known_when_all_values_share_it(annotation, key_type):
    """Only values of one scalar type can stand in a key attribute."""
    assert codec_for(annotation).key_type == key_type
