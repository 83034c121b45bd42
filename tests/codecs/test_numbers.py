"""Numbers are exact, within what DynamoDB stores."""

from __future__ import annotations

import decimal
import threading
from decimal import Decimal

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.resolve import codec_for

LARGEST = "9." + "9" * 37 + "E+125"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("0.1"), "0.1"),
        (Decimal("1234567890123.12345678901234567890"), "1234567890123.1234567890123456789"),
        (Decimal("-0"), "0"),
        (Decimal("0E-500"), "0"),
        (Decimal("1E+2"), "100"),
    ],
)
def test_r02_a_decimal_keeps_its_value(value, text):
    """R02: no digit is lost, and the shortest spelling is stored."""
    assert codec_for(Decimal).encode(value) == {"N": text}
    assert codec_for(Decimal).decode({"N": text}) == value


def test_r02_a_large_int_is_exact():
    """R02: an int over 2**63 keeps every digit and reads as an int."""
    read = codec_for(int).decode(codec_for(int).encode(2**63 + 1))
    assert read == 2**63 + 1
    assert type(read) is int


@pytest.mark.parametrize("text", ["1" + "0" * 100, "1234567895171680000000000000000000000000"])
@pytest.mark.parametrize("annotation", [int, Decimal])
def test_r03_trailing_zeros_are_no_digits(annotation, text):
    """R03: a long round number is read, and can be written again unchanged."""
    codec = codec_for(annotation)
    value = codec.decode({"N": text})
    assert value == Decimal(text)
    assert Decimal(codec.encode(value)["N"]) == Decimal(text)


@pytest.mark.parametrize(
    ("annotation", "value", "reason"),
    [
        (Decimal, Decimal("1" * 39), "38 significant digits"),
        (int, int("1" * 39), "38 significant digits"),
        (Decimal, Decimal("1E126"), "largest"),
        (int, 10**126, "largest"),
        (Decimal, Decimal("1E-131"), "nearer to zero"),
        (float, 1e-131, "nearer to zero"),
        (float, 1e126, "largest"),
        (float, float("nan"), "NaN"),
        (float, float("-inf"), "infinite"),
        (Decimal, Decimal("NaN"), "NaN"),
        (Decimal, Decimal("sNaN"), "NaN"),
    ],
)
def test_r04_what_dynamodb_cannot_store_is_refused(annotation, value, reason):
    """R04: too many digits, out of range and NaN are refused, each with its reason."""
    with pytest.raises(ValueProblem, match=reason):
        codec_for(annotation).encode(value)


@pytest.mark.parametrize("text", ["9" * 38, LARGEST, "-" + LARGEST, "1E-130", "-1E-130", "1.5E-130", "1E+125"])
def test_r04_the_edges_are_accepted(text):
    """R04: the largest, the smallest and the longest numbers of either sign are stored exactly."""
    codec = codec_for(Decimal)
    assert codec.decode(codec.encode(Decimal(text))) == Decimal(text)


def test_r04_a_negative_zero_reads_as_zero():
    """R04: the sign of a zero is not kept, in Decimal and in float."""
    assert not codec_for(Decimal).decode({"N": "-0"}).is_signed()
    assert codec_for(float).encode(-0.0) == {"N": "0"}


@pytest.mark.parametrize("text", ["1E2", "100.0", "1.00E+2", "+100"])
def test_an_int_may_be_spelled_otherwise(text):
    """Another writer's spelling of a whole number is read as the int that it is."""
    assert codec_for(int).decode({"N": text}) == 100


def test_the_threads_context_does_not_matter():
    """A caller's decimal context of one digit without traps changes nothing."""
    results: list[object] = []

    def work() -> None:
        decimal.setcontext(decimal.Context(prec=1, traps=[], capitals=0))
        codec = codec_for(Decimal)
        results.append(codec.encode(Decimal("1.2345E+60")))
        results.append(codec.decode({"N": "1.2345"}))
        with pytest.raises(ValueProblem):
            codec.decode({"N": "nonsense"})

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [{"N": "1.2345E+60"}, Decimal("1.2345")]


def test_a_float_subclass_is_written_by_its_value():
    """A subclass with a repr of its own (numpy has one) is stored as the number."""

    class Odd(float):
        def __repr__(self) -> str:
            return "Odd(1.5)"

    assert codec_for(float).encode(Odd(1.5)) == {"N": "1.5"}
