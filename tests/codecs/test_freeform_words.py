"""Values without a declared type: what is refused, in which words, and how they are copied and compared."""

from __future__ import annotations

import collections
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.codegen import Names
from tablekit.codecs.compare import canonical, check_depth, depth, equal_wire
from tablekit.codecs.freeform import decode_free, key_segment
from tablekit.codecs.resolve import codec_for

FREE = codec_for(Any)
UNLIKE = "is a set of other things than only str, only numbers or only bytes (bool is no number)"
NO_DATE = (
    "is of type date, which a free-form value cannot hold since it would not be read back as the same type; "
    "declare the type"
)
NO_EMPTY_SET = "is an empty set, which DynamoDB cannot store and a free-form value cannot stand for"
NO_EMPTY_KEY = "has an empty key; DynamoDB's attribute names have at least one character"
TOO_DEEP = "is nested deeper than the 32 levels that DynamoDB stores"

Pair = collections.namedtuple("Pair", "first second")  # noqa: PYI024  a class without annotations is the case


class Row(list[Any]):
    """A list of a class of its own."""


def refusal(call: Any, value: Any) -> str:
    """The whole text of the problem that a call raises."""
    with pytest.raises(ValueProblem) as caught:
        call(value)
    return str(caught.value)


def nested(levels: int) -> dict[str, Any]:
    """An attribute value of that many levels: lists around a string."""
    av: dict[str, Any] = {"S": "a"}
    for _ in range(levels - 1):
        av = {"L": [av]}
    return av


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            date(2024, 1, 1),
            NO_DATE,
        ),
        ({1: "a"}, "has a key of type int; the keys of a stored map are str"),
        ({"": "a"}, NO_EMPTY_KEY),
        ({"a": {"": "a"}}, f'["a"]: {NO_EMPTY_KEY}'),
        ({"\ud800": 1}, "holds a lone surrogate, which is no Unicode text"),
        (set(), NO_EMPTY_SET),
        ([frozenset()], f"[0]: {NO_EMPTY_SET}"),
        ({"a", 1}, UNLIKE),
        ({True}, UNLIKE),
        ({None}, UNLIKE),
        ({(1, 2)}, UNLIKE),
    ],
)
def test_what_would_not_read_back_is_described(value: Any, message: str) -> None:
    """The message says what is wrong, and where inside the value."""
    assert refusal(FREE.encode, value) == message


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        ({b"b", b"a"}, {"BS": [b"a", b"b"]}),
        ({2, Decimal("1.5")}, {"NS": ["1.5", "2"]}),
        (frozenset({"b", "a"}), {"SS": ["a", "b"]}),
        (bytearray(b"a"), {"B": b"a"}),
        (memoryview(b"a"), {"B": b"a"}),
        ((1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        (Pair(1, 2), {"L": [{"N": "1"}, {"N": "2"}]}),
    ],
)
def test_a_free_value_has_one_stored_form(value: Any, wire: Any) -> None:
    """Sets are sorted, and what is like a list or like bytes is stored as that."""
    assert FREE.encode(value) == wire


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        ({"NS": ["1", "1.5"]}, {1, Decimal("1.5")}),
        ({"BS": [b"a"]}, {b"a"}),
        ({"B": bytearray(b"a")}, b"a"),
        ({"M": {"a": {"L": [{"BOOL": False}]}}}, {"a": [False]}),
        ({"NULL": True}, None),
    ],
)
def test_a_free_value_is_read_by_its_tag(wire: Any, value: Any) -> None:
    """Each stored type has one Python type."""
    read = FREE.decode(wire)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"N": 1.5}, "the stored number is not a text"),
        ({"N": "one"}, "the stored number cannot be read"),
        ({"S": 1}, "the stored string is not a text"),
        ({"V": 1}, "the stored value is of the unknown type 'V'"),
    ],
)
def test_a_stored_value_that_is_none_is_described(wire: Any, message: str) -> None:
    """A JSON number brings no digits of its own along."""
    assert refusal(FREE.decode, wire) == message


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: (inner,), lambda inner: {"a": inner}])
def test_lists_and_maps_take_one_level_each(wrap: Any) -> None:
    """31 of either around a scalar are stored, and 32 are not."""
    value: Any = "a"
    for _ in range(31):
        value = wrap(value)
    wire = FREE.encode(value)
    assert wire is not None
    assert depth(wire) == 32
    assert refusal(FREE.encode, wrap(value)).endswith(TOO_DEEP)


def test_the_depth_of_a_stored_value_is_checked() -> None:
    """32 levels are DynamoDB's most."""
    check_depth(nested(32))
    assert refusal(check_depth, nested(33)) == TOO_DEEP


@pytest.mark.parametrize(
    ("key", "step"),
    [
        ("lang", '["lang"]'),
        ('say "hi"', '["say \\"hi\\""]'),
        ("k" * 40, f'["{"k" * 40}"]'),
        ("k" * 41, f'["{"k" * 40}..."]'),
        (5, '["5"]'),
    ],
)
def test_a_key_stands_in_a_path(key: Any, step: str) -> None:
    """Quotes are marked, and what is over 40 characters is cut."""
    assert key_segment(key) == step


def test_paths_lead_into_a_free_value() -> None:
    """Everything inside is free-form too: a key is its own name, and an index has none."""
    assert FREE.child("a") is FREE
    assert FREE.child(0) is FREE
    assert (FREE.attribute_name("a"), FREE.attribute_name(0)) == ("a", None)
    assert refusal(FREE.attribute_name, "") == NO_EMPTY_KEY


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [1, {"b": {2}}]}, dict),
        ([[1], (2, [3])], list),
        (([1], {"a": 1}), tuple),
        ({1, 2}, set),
        (bytearray(b"a"), bytearray),
        (Row([Row([1])]), list),
        (collections.OrderedDict(a=[1]), dict),
        (Pair([1], [2]), tuple),
    ],
)
def test_a_container_is_copied_as_a_plain_one(value: Any, plain: type[Any]) -> None:
    """A subclass is copied the way it is stored."""
    assert FREE.copy is not None
    copied = FREE.copy(value)
    assert copied is not value
    assert (copied, type(copied)) == (plain(value), plain)


def test_a_copy_shares_nothing_that_can_change() -> None:
    """Lists, maps, sets and byte arrays are new at every depth, inside tuples too."""
    value = {"list": [[1], bytearray(b"a")], "tuple": ([2], {"a": {3}}), "row": Row([[4]])}
    assert FREE.copy is not None
    copied = FREE.copy(value)
    value["list"][0].append(9)
    value["list"][1].append(9)
    value["tuple"][0].append(9)
    value["tuple"][1]["a"].add(9)
    value["row"][0].append(9)
    assert copied == {"list": [[1], bytearray(b"a")], "tuple": ([2], {"a": {3}}), "row": [[4]]}


@pytest.mark.parametrize("value", ["a", 5, b"a", None, frozenset({1}), Decimal(1)])
def test_what_cannot_change_is_shared(value: Any) -> None:
    """The copy of such a value is the value."""
    assert FREE.copy is not None
    assert FREE.copy(value) is value


def test_the_source_that_decodes_is_readable() -> None:
    """It calls the reader of free-form values."""
    names = Names()
    assert FREE.decode_source("av", names.bind) == "decode_free_0(av)"
    assert names.namespace == {"decode_free_0": decode_free}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"BS": [bytearray(b"a"), b"b"]}, {"BS": [b"b", b"a"]}),
        ({"M": {"n": {"N": "1"}, "b": {"B": bytearray(b"a")}}}, {"M": {"b": {"B": b"a"}, "n": {"N": "1.0"}}}),
        ({"N": "nonsense"}, {"N": "nonsense"}),
        ({"NS": ["x", "1"]}, {"NS": ["1.0", "x"]}),
    ],
)
def test_equal_values_have_one_canonical_form(a: Any, b: Any) -> None:
    """A byte array is as good as bytes, and a number that cannot be read equals itself."""
    assert equal_wire(a, b)
    assert hash(canonical(a)) == hash(canonical(b))


@pytest.mark.parametrize(("a", "b"), [({"N": "nonsense"}, {"N": "other"}), ({"B": b"a"}, {"B": bytearray(b"b")})])
def test_different_values_have_different_canonical_forms(a: Any, b: Any) -> None:
    """Two numbers that cannot be read are equal only when they are the same text."""
    assert not equal_wire(a, b)
