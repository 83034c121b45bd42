"""list, tuple, dict and set as attribute values."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.resolve import codec_for


class Color(enum.Enum):
    """An enum of str."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("annotation", "value", "wire"),
    [
        (list[str], [], {"L": []}),
        (list[int | None], [1, None], {"L": [{"N": "1"}, {"NULL": True}]}),
        (tuple[int, ...], (1, 2), {"L": [{"N": "1"}, {"N": "2"}]}),
        (tuple[int, str], (1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (tuple[()], (), {"L": []}),
        (Sequence[str], ["a"], {"L": [{"S": "a"}]}),
        (dict[str, int], {}, {"M": {}}),
        (dict[str, list[bool]], {"a": [True]}, {"M": {"a": {"L": [{"BOOL": True}]}}}),
        (dict[Color, int], {Color.RED: 1}, {"M": {"red": {"N": "1"}}}),
        (dict[int, str], {-3: "x"}, {"M": {"-3": {"S": "x"}}}),
        (Mapping[str, int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
        (set[str], {"b", "a", ""}, {"SS": ["", "a", "b"]}),
        (set[int], {2, 1}, {"NS": ["1", "2"]}),
        (frozenset[bytes], frozenset({b"x"}), {"BS": [b"x"]}),
        (AbstractSet[str], frozenset({"a"}), {"SS": ["a"]}),
        (set[Color], {Color.BLUE}, {"SS": ["blue"]}),
    ],
)
def test_a_container_has_its_own_tag(annotation, value, wire):
    """Each container is written under its tag and reads back equal and of the same class."""
    codec = codec_for(annotation)
    assert codec.encode(value) == wire
    read = codec.decode(wire)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        (list[int], [1, "x"], "[1]"),
        (list[list[int]], [[], [None]], "[1][0]"),
        (dict[str, list[int]], {"a": [1.5]}, '["a"][0]'),
        (tuple[int, str], (1, 2), "[1]"),
        (list[set[str]], [set()], "[0]"),
        (dict[str, set[str]], {"a": set()}, '["a"]'),
    ],
)
def test_a_problem_names_its_path(annotation, value, path):
    """What is wrong deep inside says where it stands."""
    with pytest.raises(ValueProblem) as caught:
        codec_for(annotation).encode(value)
    assert caught.value.path == path


def test_a_stored_problem_names_its_path():
    """A bad stored value inside a map in a list says where it stands."""
    wire = {"L": [{"M": {"a": {"N": "1"}}}, {"M": {"b": {"S": "1"}}}]}
    with pytest.raises(ValueProblem) as caught:
        codec_for(list[dict[str, int]]).decode(wire)
    assert caught.value.path == '[1]["b"]'


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (list[int], (1,)),
        (tuple[int, ...], [1]),
        (Sequence[str], "abc"),
        (tuple[int, str], (1,)),
        (set[int], [1]),
        (dict[str, int], [("a", 1)]),
        (dict[str, int], {1: 1}),
        (dict[str, int], {"": 1}),
        (dict[int, int], {True: 1}),
    ],
)
def test_another_container_is_refused(annotation, value):
    """A list is no tuple, a str no sequence, and a map has keys of its type that are not empty."""
    with pytest.raises(ValueProblem):
        codec_for(annotation).encode(value)


def test_r05_an_empty_set_is_left_out():
    """R05: DynamoDB has no empty set; a missing one reads as empty, and empty lists and maps are stored."""
    codec = codec_for(set[str])
    assert codec.encode(set()) is None
    assert codec.empty is not None
    assert codec.empty() == set()
    assert codec_for(list[str]).encode([]) == {"L": []}
    assert codec_for(dict[str, str]).encode({}) == {"M": {}}


@pytest.mark.parametrize("annotation", [set[bool], set[list[int]], set[str | None], set[Any], set, dict[float, int]])
def test_sets_and_keys_dynamodb_does_not_have_are_refused(annotation):
    """DynamoDB has sets of strings, numbers and binary; map keys are strings."""
    with pytest.raises(UnsupportedAnnotation):
        codec_for(annotation)


def test_a_number_key_in_another_spelling_is_refused():
    """``"01"`` would be the same int key as ``"1"``."""
    with pytest.raises(ValueProblem, match="key"):
        codec_for(dict[int, int]).decode({"M": {"01": {"N": "1"}}})


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (list[list[int]], [[1], [2]]),
        (dict[str, list[int]], {"a": [1]}),
        (tuple[list[int], ...], ([1],)),
        (tuple[int, dict[str, int]], (1, {"a": 1})),
        (list[dict[str, set[str]]], [{"a": {"x"}}]),
        (Any, {"a": [{"b"}, [1], (2, [3])]}),
        (Sequence[list[int]], ([1],)),
        (list[int] | None, [1]),
        (list[int] | str, [1]),
    ],
)
def test_r08_a_copy_shares_nothing_that_changes(annotation, value):
    """R08: copies are equal, and independent at every depth."""
    codec = codec_for(annotation)
    assert codec.copy is not None
    copied = codec.copy(value)
    assert copied == value
    assert not mutable_ids(copied) & mutable_ids(value)


def mutable_ids(value: Any) -> set[int]:
    """The identities of every list, dict and set inside a value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    own = {id(value)} if isinstance(value, (list, dict, set)) else set()
    return own.union(*map(mutable_ids, inside))


@pytest.mark.parametrize("annotation", [str, Decimal, tuple[int, ...], tuple[int, str], frozenset[str], Color])
def test_immutable_values_are_not_copied(annotation):
    """What cannot change may be shared."""
    assert codec_for(annotation).copy is None


def test_child_gives_the_codec_inside():
    """Paths find the codec of what they lead to."""
    assert codec_for(list[int]).child(3) is codec_for(int)
    assert codec_for(dict[str, bool]).child("x") is codec_for(bool)
    assert codec_for(tuple[int, str]).child(1) is codec_for(str)
    assert codec_for(tuple[int, str]).child(2) is None
    assert codec_for(str).child("x") is None
    assert codec_for(dict[Color, int]).attribute_name(Color.RED) == "red"
