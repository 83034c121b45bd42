"""Laws of every codec, on values that nobody thought of."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit.codecs.codegen import Names, compile_function, fast_decoder
from tablekit.codecs.compare import equal_wire
from tablekit.codecs.resolve import codec_for


class Color(enum.Enum):
    """A small enum."""

    RED = "red"
    BLUE = "blue"


@attrs.define
class Part:
    """A small nested class."""

    n: int
    tags: set[str] = attrs.field(factory=set)
    note: str | None = None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.builds(
    lambda sign, digits, exponent: Decimal((sign, digits, exponent)),
    st.integers(0, 1),
    st.lists(st.integers(0, 9), min_size=1, max_size=38).map(tuple),
    st.integers(-130, 88),
)
INSTANTS = st.datetimes(
    dt.datetime(1, 1, 3),  # noqa: DTZ001  hypothesis adds the zone
    dt.datetime(9999, 12, 29),  # noqa: DTZ001
    timezones=st.integers(-1439, 1439).map(lambda m: dt.timezone(dt.timedelta(minutes=m))),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or 1e-130 <= abs(x) < 1e126)
KINDS = {
    str: TEXT,
    int: st.integers(-(10**38) + 1, 10**38 - 1),
    Decimal: NUMBERS,
    float: FLOATS,
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    uuid.UUID: st.uuids(),
    dt.datetime: INSTANTS,
    dt.date: st.dates(),
    dt.time: st.times(),
    dt.timedelta: st.timedeltas(),
    Color: st.sampled_from(Color),
    Literal["a", 1]: st.sampled_from(["a", 1]),
    list[int]: st.lists(st.integers(-9, 9)),
    tuple[str, int]: st.tuples(TEXT, st.integers(-9, 9)),
    dict[str, list[str]]: st.dictionaries(TEXT.filter(bool), st.lists(TEXT, max_size=3), max_size=3),
    set[str]: st.sets(TEXT, min_size=1),
    frozenset[Decimal]: st.frozensets(NUMBERS, min_size=1, max_size=5),
    int | None: st.none() | st.integers(-9, 9),
    int | str: st.integers(-9, 9) | TEXT,
    Part: st.builds(Part, st.integers(-9, 9), st.sets(TEXT, max_size=3), st.none() | TEXT),
    list[Part | None]: st.lists(st.none() | st.builds(Part, st.integers(-9, 9)), max_size=3),
    Any: st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | TEXT | st.binary(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT.filter(bool), inner, max_size=3),
        max_leaves=8,
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: codec_for(kind).name)


@each_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_value_reads_back_as_it_was_written(kind, data):
    """Decoding the encoding gives the value, of the same class."""
    codec = codec_for(kind)
    value = data.draw(KINDS[kind])
    wire = codec.encode(value)
    assert wire is not None
    read = codec.decode(wire)
    assert (read, type(read)) == (value, type(value))


@each_kind
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_generated_code_does_what_the_codec_does(kind, data):
    """The fast expressions give what `decode` and `encode` give, on everything that tablekit writes."""
    codec = codec_for(kind)
    value = data.draw(KINDS[kind])
    wire = codec.encode(value)
    assert wire is not None
    assert fast_decoder(codec)(wire) == codec.decode(wire)
    names = Names()
    source = f"def encode(value):\n    return {codec.encode_source('value', names.bind)}\n"
    assert compile_function("encode", source, names.namespace)(value) == wire


@each_kind
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_copy_equals_its_original(kind, data):
    """Where a codec copies, the copy is equal."""
    codec = codec_for(kind)
    value = data.draw(KINDS[kind])
    if codec.copy is not None:
        assert codec.copy(value) == value


@given(INSTANTS, INSTANTS)
def test_the_text_of_instants_sorts_in_time(one, other):
    """Text order is time order, whatever the zones."""
    codec = codec_for(dt.datetime)
    assert (codec.encode(one)["S"] < codec.encode(other)["S"]) == (one < other)


@given(NUMBERS, st.integers(0, 3))
def test_equal_numbers_are_equal_on_the_wire(number, zeros):
    """A number equals its other spellings."""
    text = codec_for(Decimal).encode(number)["N"]
    plain = format(number, "f")
    other = plain + ("" if "." in plain else ".") + "0" * zeros
    assert equal_wire({"N": text}, {"N": other})


@settings(max_examples=50, deadline=None)
@given(KINDS[Any], KINDS[Any])
def test_equality_on_the_wire_is_an_equivalence(one, other):
    """It is reflexive and symmetric, and different values differ."""
    a, b = codec_for(Any).encode(one), codec_for(Any).encode(other)
    assert equal_wire(a, codec_for(Any).encode(one))
    assert equal_wire(a, b) == equal_wire(b, a) == (a == b)
