"""`Any`: values without a declared type."""

from __future__ import annotations

import enum
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.resolve import codec_for

FREE = codec_for(Any)


def test_r01_bool_and_int_stay_apart():
    """R01: in a free-form map True is BOOL and 1 is N, and both read back as what they were."""
    wire = FREE.encode({"x": True, "y": 1})
    assert wire == {"M": {"x": {"BOOL": True}, "y": {"N": "1"}}}
    read = FREE.decode(wire)
    assert (type(read["x"]), type(read["y"])) == (bool, int)


@pytest.mark.parametrize("value", [{True, False}, {"a", 1}, {(1, 2)}, {None}])
def test_r01_a_set_of_anything_else_is_refused(value):
    """R01: a set holds only str, only numbers or only bytes; a bool is no number."""
    with pytest.raises(ValueProblem, match="set"):
        FREE.encode(value)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (None, {"NULL": True}),
        ("a", {"S": "a"}),
        (Decimal("1.5"), {"N": "1.5"}),
        (2.5, {"N": "2.5"}),
        (b"x", {"B": b"x"}),
        ({"b", "a"}, {"SS": ["a", "b"]}),
        ({1, Decimal("1.5")}, {"NS": ["1", "1.5"]}),
        ([1, ["a"], {}], {"L": [{"N": "1"}, {"L": [{"S": "a"}]}, {"M": {}}]}),
    ],
)
def test_a_free_value_is_written_by_its_class(value, wire):
    """Each class has its tag, and the value reads back equal."""
    assert FREE.encode(value) == wire
    assert FREE.decode(wire) == value


@pytest.mark.parametrize(("text", "kind"), [("12", int), ("1.0", Decimal), ("1E2", Decimal), ("-3", int)])
def test_a_number_written_as_an_int_reads_as_one(text, kind):
    """A point or an exponent makes it a Decimal."""
    assert type(FREE.decode({"N": text})) is kind


@pytest.mark.parametrize(
    "value",
    [
        datetime(2024, 1, 1, tzinfo=timezone.utc),
        object(),
        enum.Enum("Color", ["RED"]).RED,
        {1: "a"},
        {"": 1},
        set(),
        float("nan"),
        "\ud800",
    ],
)
def test_what_would_not_read_back_is_refused(value):
    """Other types, keys that are not str, and the empty set are refused with a reason."""
    with pytest.raises(ValueProblem):
        FREE.encode(value)


def test_a_value_that_contains_itself_is_refused():
    """A cycle is a value nested too deep."""
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ValueProblem, match="32 levels"):
        FREE.encode(cycle)


def test_a_problem_names_its_path():
    """The path leads through maps and lists."""
    with pytest.raises(ValueProblem) as caught:
        FREE.encode({"a": [1, {"b": object()}]})
    assert caught.value.path == '["a"][1]["b"]'


def test_an_unknown_tag_is_refused():
    """A type that DynamoDB may have one day is not guessed at."""
    with pytest.raises(ValueProblem, match="unknown type 'V'"):
        FREE.decode({"V": "x"})
