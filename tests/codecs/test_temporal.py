"""datetime, date, time and timedelta as attribute values."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.codegen import fast_decoder
from tablekit.codecs.resolve import codec_for

UTC = timezone.utc
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def test_r06_a_naive_datetime_is_refused():
    """R06: no zone is guessed."""
    with pytest.raises(ValueProblem, match="time zone"):
        codec_for(datetime).encode(datetime(2024, 1, 1))  # noqa: DTZ001  the naive one is the case


def test_r06_an_aware_datetime_reads_back_in_utc():
    """R06: the same instant comes back, in UTC."""
    codec = codec_for(datetime)
    wire = codec.encode(datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))))
    assert wire == {"S": "2023-12-31T23:00:00.000000Z"}
    read = codec.decode(wire)
    assert (read, read.tzinfo) == (datetime(2023, 12, 31, 23, tzinfo=UTC), UTC)


def test_an_instant_outside_of_utcs_years_is_refused():
    """The first hours of year 1 in the east lie before the first year of UTC."""
    with pytest.raises(ValueProblem, match="years"):
        codec_for(datetime).encode(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))))


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T12:00:00Z",
        "2024-01-01T12:00:00+00:00",
        "2024-01-01T12:00:00+0000",
        "2024-01-01T12:00Z",
        "2024-01-01 12:00:00.000Z",
        "2024-01-01T12:00:00.000000000Z",
        "2024-01-01T14:00:00+02:00",
        "2024-01-01T08:30:00-03:30",
        "2024-01-01t12:00:00z",
    ],
)
def test_other_writers_spellings_are_read(text):
    """The usual ISO forms with an offset give the instant in UTC."""
    assert codec_for(datetime).decode({"S": text}) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-01T12:00:00",
        "2024-01-01",
        "2024-13-01T12:00:00Z",
        "2024-01-01T12:00:00.0000001Z",
        "2024-01-01T12:00:00+24:00",
        "0001-01-01T00:00:00+01:00",
        "yesterday",
        "",
    ],
)
def test_stored_text_that_is_no_instant_is_refused(text):
    """A missing offset, an impossible date, and a fraction that would be lost are errors."""
    with pytest.raises(ValueProblem):
        codec_for(datetime).decode({"S": text})


def test_a_date_refuses_a_datetime():
    """The time of day is not dropped silently."""
    assert codec_for(date).encode(date(2024, 1, 31)) == {"S": "2024-01-31"}
    with pytest.raises(ValueProblem, match="datetime"):
        codec_for(date).encode(NOON)


@pytest.mark.parametrize("text", ["2024-02-30", "20240101", "2024-W01-1", "2024-01-01T00:00:00Z"])
def test_stored_text_that_is_no_date_is_refused(text):
    """Only the form that tablekit writes is a date."""
    with pytest.raises(ValueProblem):
        codec_for(date).decode({"S": text})


def test_a_time_has_fixed_width_and_no_zone():
    """Times sort as text; a zone without a date is refused."""
    codec = codec_for(time)
    assert codec.encode(time(9, 30)) == {"S": "09:30:00.000000"}
    assert codec.decode({"S": "09:30"}) == time(9, 30)
    with pytest.raises(ValueProblem, match="zone"):
        codec.encode(time(9, tzinfo=UTC))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(seconds=90, milliseconds=500), "90.5"),
        (timedelta(microseconds=-1), "-0.000001"),
        (timedelta(days=1), "86400"),
        (timedelta.max, "86399999999999.999999"),
        (timedelta.min, "-86399999913600"),
    ],
)
def test_a_timedelta_is_its_seconds(value, text):
    """A length of time is a number of seconds, exact to the microsecond."""
    codec = codec_for(timedelta)
    assert codec.encode(value) == {"N": text}
    assert codec.decode({"N": text}) == value


@pytest.mark.parametrize("text", ["0.0000001", "1E30", "1E14"])
def test_stored_seconds_that_no_timedelta_holds_are_refused(text):
    """Too fine and too large a number of seconds are errors."""
    with pytest.raises(ValueProblem):
        codec_for(timedelta).decode({"N": text})


OWN_FORM = "2024-01-31T09:30:00.250000Z"
PIECES = [*"-+:.,;TtZz W0179\u0662\x00", "T", "2024-W01-1", "20240131", "093000.25", "+00", "+01:00", "24:00", "24:60"]
NEAR_MISSES = st.builds(
    lambda at, drop, piece, end: (OWN_FORM[:at] + piece + OWN_FORM[at + drop :])[:end],
    st.integers(0, len(OWN_FORM)),
    st.integers(0, 12),
    st.sampled_from(["", *PIECES]),
    st.sampled_from([26, 27, 28, 99]),
)


def careful(kind, wire):
    """What the careful decoder gives, or that it refuses."""
    try:
        return codec_for(kind).decode(wire)
    except ValueProblem:
        return "refused"


def fast(kind, wire):
    """What the fast decoder gives, and the careful one where that gives up."""
    try:
        return fast_decoder(codec_for(kind))(wire)
    except Exception:
        return careful(kind, wire)


@settings(max_examples=2_000, deadline=None)
@given(NEAR_MISSES)
@example("2024-01-01;00:00:00.000000Z")
@example("2024-W01-1T00:00:00.000000Z")
@example("2024-01-01T000000.00000000Z")
@example("2024-01-01T00:00:00.0000+00")
@example("2024-01-01T00:00:00.0000000")
@example("2024-01-01T00:00:00.000000Z\0")
def test_the_fast_decoder_reads_what_the_careful_one_reads(text):
    """Other separators, weeks, cut fractions and texts of another end are not read in another way."""
    assert fast(datetime, {"S": text}) == careful(datetime, {"S": text})
