"""str, int, Decimal, float, bool, bytes and UUID as attribute values."""

from __future__ import annotations

import enum
import uuid
from decimal import Decimal

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.codegen import fast_decoder
from tablekit.codecs.resolve import codec_for


class Word(str, enum.Enum):
    """A str that has a repr and a str() of its own."""

    HELLO = "hello"


@pytest.mark.parametrize(
    ("annotation", "value", "wire"),
    [
        (str, "é", {"S": "é"}),
        (str, "", {"S": ""}),
        (int, -7, {"N": "-7"}),
        (Decimal, Decimal("1.50"), {"N": "1.5"}),
        (float, 0.1, {"N": "0.1"}),
        (float, 100.0, {"N": "100"}),
        (bool, False, {"BOOL": False}),
        (bytes, b"\x00\xff", {"B": b"\x00\xff"}),
        (uuid.UUID, uuid.UUID(int=1), {"S": "00000000-0000-0000-0000-000000000001"}),
        (None, None, {"NULL": True}),
    ],
)
def test_a_scalar_has_its_own_tag(annotation, value, wire):
    """Each scalar is written under the tag of its type, and reads back equal."""
    codec = codec_for(annotation)
    assert codec.encode(value) == wire
    assert codec.decode(wire) == value


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, 5),
        (str, b"a"),
        (int, True),
        (int, 1.0),
        (int, "1"),
        (Decimal, 0.1),
        (Decimal, True),
        (float, True),
        (float, Decimal(1)),
        (bool, 1),
        (bytes, "a"),
        (uuid.UUID, "00000000-0000-0000-0000-000000000001"),
        (str, None),
    ],
)
def test_a_value_of_another_type_is_refused(annotation, value):
    """Nothing is converted silently on the way out."""
    with pytest.raises(ValueProblem, match=r"not|None"):
        codec_for(annotation).encode(value)


@pytest.mark.parametrize(
    ("annotation", "wire"),
    [
        (str, {"N": "1"}),
        (int, {"S": "1"}),
        (int, {"BOOL": True}),
        (int, {"NULL": True}),
        (int, {"N": "1.5"}),
        (int, {"N": "NaN"}),
        (int, {"N": "1E9999999"}),
        (Decimal, {"N": "Infinity"}),
        (Decimal, {"N": "abc"}),
        (float, {"N": "NaN"}),
        (bool, {"N": "1"}),
        (bytes, {"B": "AAE="}),
        (uuid.UUID, {"S": "no"}),
        (None, {"S": ""}),
        (str, {"X": ""}),
        (str, {}),
    ],
)
def test_a_stored_value_of_another_type_is_refused(annotation, wire):
    """Reading is strict about the tag and about what stands under it."""
    with pytest.raises(ValueProblem):
        codec_for(annotation).decode(wire)


def test_r01_a_bool_is_never_a_number():
    """R01: bool fields are BOOL, and numbers refuse bools alone and in sets."""
    assert codec_for(bool).encode(True) == {"BOOL": True}
    for annotation, value in [(int, True), (set[int], {True}), (set[float], {False}), (list[int], [True])]:
        with pytest.raises(ValueProblem, match="bool"):
            codec_for(annotation).encode(value)


def test_a_lone_surrogate_is_refused():
    """Text that UTF-8 cannot hold is refused before it reaches the wire."""
    with pytest.raises(ValueProblem, match="surrogate"):
        codec_for(str).encode("a\ud800")


def test_subclasses_are_stored_as_the_plain_value():
    """A StrEnum member given to a str field is stored as its text."""
    wire = codec_for(str).encode(Word.HELLO)
    assert wire == {"S": "hello"}
    assert type(wire["S"]) is str


@pytest.mark.parametrize("value", [bytearray(b"\x01"), memoryview(b"\x01")])
def test_other_buffers_are_stored_as_bytes(value):
    """A bytearray and a memoryview are taken, and do not stay shared with the caller."""
    wire = codec_for(bytes).encode(value)
    assert wire == {"B": b"\x01"}
    assert type(wire["B"]) is bytes


def test_r07_binary_is_never_encoded_twice():
    """R07: raw bytes stay the same through three rounds, alone, in a map, a list and a set."""
    raw = b"\x00\xff\x10"
    for annotation, value in [
        (bytes, raw),
        (dict[str, bytes], {"b": raw}),
        (list[bytes], [raw]),
        (set[bytes], {raw}),
    ]:
        codec, current = codec_for(annotation), value
        for _ in range(3):
            wire = codec.encode(current)
            current = codec.decode(wire)
        assert current == value
        assert wire == codec.encode(value)


def test_a_problem_never_shows_the_value():
    """Neither the text of a refused value nor that of a stored one is in the message."""
    for call, value in [(codec_for(int).encode, "s3cret"), (codec_for(int).decode, {"N": "s3cret"})]:
        with pytest.raises(ValueProblem) as caught:
            call(value)
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "wire"),
    [
        (str, {"S": {}}),
        (str, {"S": 1}),
        (str, {"S": None}),
        (bool, {"BOOL": "no"}),
        (bool, {"BOOL": 1}),
        (bool, {"BOOL": None}),
        (bytes, {"B": "x"}),
        (int, {"N": 1.5}),
        (Decimal, {"N": 1.5}),
        (set[str], {"SS": [1]}),
    ],
)
def test_a_stored_value_of_the_wrong_kind_is_refused_on_the_fast_way_too(annotation, wire):
    """What no engine answers becomes no value: the fast decoder gives up, and the careful one says why."""
    with pytest.raises((TypeError, ValueError)):
        fast_decoder(codec_for(annotation))(wire)
    with pytest.raises(ValueProblem):
        codec_for(annotation).decode(wire)
