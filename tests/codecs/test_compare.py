"""Attribute values compared by value."""

from __future__ import annotations

import pytest

from tablekit.codecs.compare import depth, equal_wire


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"N": "1"}, {"N": "1.0"}),
        ({"N": "100"}, {"N": "1E2"}),
        ({"N": "0"}, {"N": "-0.00"}),
        ({"NS": ["1", "2.0"]}, {"NS": ["2", "1"]}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"BS": [b"a", b"b"]}, {"BS": [b"b", b"a"]}),
        ({"M": {"a": {"N": "1"}, "b": {"S": ""}}}, {"M": {"b": {"S": ""}, "a": {"N": "1.0"}}}),
        ({"L": [{"SS": ["a", "b"]}]}, {"L": [{"SS": ["b", "a"]}]}),
        (None, None),
    ],
)
def test_equal_values(a, b):
    """Spelling of numbers and order of sets and maps do not matter, at any depth."""
    assert equal_wire(a, b)
    assert equal_wire(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"N": "1"}, {"S": "1"}),
        ({"N": "1"}, {"N": "1.0000000000000000000000000000000000001"}),
        ({"S": "1"}, {"S": "1.0"}),
        ({"L": [{"N": "1"}, {"N": "2"}]}, {"L": [{"N": "2"}, {"N": "1"}]}),
        ({"BOOL": True}, {"N": "1"}),
        ({"M": {}}, {"M": {"a": {"NULL": True}}}),
        ({"NULL": True}, None),
        (None, {"S": ""}),
        ({"SS": ["a"]}, {"L": [{"S": "a"}]}),
    ],
)
def test_different_values(a, b):
    """A tag, a digit, the order of a list, and a missing attribute matter."""
    assert not equal_wire(a, b)


@pytest.mark.parametrize(
    ("av", "levels"),
    [
        ({"S": "a"}, 1),
        ({"SS": ["a"]}, 1),
        ({"L": []}, 1),
        ({"L": [{"S": "a"}]}, 2),
        ({"M": {"a": {"L": [{"M": {}}]}, "b": {"S": ""}}}, 3),
    ],
)
def test_depth_counts_levels(av, levels):
    """The attribute itself is level 1, and each list or map around the innermost value one more."""
    assert depth(av) == levels
