"""What the codecs of times say when they refuse a value, and forms at the edges."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.codegen import fast_decoder
from tablekit.codecs.resolve import codec_for

UTC = timezone.utc
KINDS = [datetime, date, time, timedelta]
NOT_ISO = "the stored string is not a date and time in ISO 8601"
NO_OFFSET = "the stored date and time has no offset from UTC"
NOT_VALID = "the stored string is not a valid date and time"
TOO_FINE = "the stored time is finer than a microsecond, the finest that Python keeps"
NO_TIME = "the stored string is not a time such as 09:30:00"
NO_DATE = "the stored string is not a date such as 2024-01-31"
TOO_LONG = "the stored number of seconds is too large for a timedelta"


def refusal(call: Any, value: Any) -> str:
    """The whole text of the problem that a call raises."""
    with pytest.raises(ValueProblem) as caught:
        call(value)
    return str(caught.value)


@pytest.fixture
def _far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own zone is nine hours from UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XXX-9")
        clock.tzset()
        yield
    clock.tzset()


@pytest.mark.parametrize("annotation", KINDS, ids=lambda kind: kind.__name__)
def test_a_value_of_another_class_is_named(annotation: Any) -> None:
    """Text is not parsed, and None is told apart."""
    name, encode = annotation.__name__, codec_for(annotation).encode
    assert refusal(encode, "2024-01-31") == f"is of type str, not {name}"
    assert refusal(encode, None) == f"is None, and {name} does not take None"


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        (datetime, "datetime is read from a string (S)"),
        (date, "date is read from a string (S)"),
        (time, "time is read from a string (S)"),
        (timedelta, "timedelta is read from a number (N)"),
    ],
)
def test_another_stored_type_is_told_with_the_wanted_one(annotation: Any, wanted: str) -> None:
    """Both types are told in words and by their tags."""
    decode = codec_for(annotation).decode
    assert refusal(decode, {"BOOL": True}) == f"the stored value is a boolean (BOOL); {wanted}"


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (
            datetime,
            datetime(2024, 1, 1),  # noqa: DTZ001  the naive one is the case
            "is a datetime without a time zone; give it one, such as tzinfo=timezone.utc",
        ),
        (datetime, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), "is outside the years 1 to 9999 in UTC"),
        (date, datetime(2024, 1, 1, tzinfo=UTC), "is a datetime, and date has no time of day; write value.date()"),
        (
            time,
            time(9, tzinfo=UTC),
            "is a time with a time zone; store a datetime, or the time and the zone apart",
        ),
    ],
)
def test_a_value_that_is_nearly_right_gets_a_remedy(annotation: Any, value: Any, message: str) -> None:
    """What would be lost or guessed is named."""
    assert refusal(codec_for(annotation).encode, value) == message


@pytest.mark.skipif(not hasattr(clock, "tzset"), reason="the zone of a process can be set on Unix only")
@pytest.mark.usefixtures("_far_east")
def test_the_zone_of_the_machine_does_not_matter() -> None:
    """An instant is stored and read in UTC, wherever the program runs."""
    assert datetime(2024, 1, 1, tzinfo=UTC).astimezone().utcoffset() == timedelta(hours=9)
    wire = codec_for(datetime).encode(datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))))
    assert wire == {"S": "2023-12-31T23:00:00.000000Z"}
    assert codec_for(datetime).decode(wire) == datetime(2023, 12, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (5, NOT_ISO),
        ("yesterday", NOT_ISO),
        ("2024-01-01", NOT_ISO),
        ("2024-01-01T12:00:00.0000000000Z", NOT_ISO),
        ("2024-01-01T12:00:00", NO_OFFSET),
        ("2024-13-01T12:00:00Z", NOT_VALID),
        ("2024-01-01T24:00:00Z", NOT_VALID),
        ("0001-01-01T00:00:00+01:00", NOT_VALID),
        ("2024-01-01T12:00:00.0000001Z", TOO_FINE),
        ("2024-01-01T12:00:00+24:00", "the stored offset from UTC is not under 24 hours"),
        ("2024-01-01T12:00:00-23:60", "the stored offset from UTC is not under 24 hours"),
    ],
)
def test_stored_text_that_is_no_instant_is_described(text: Any, message: str) -> None:
    """Another form, a missing offset, an impossible date, and what is too fine are told apart."""
    assert refusal(codec_for(datetime).decode, {"S": text}) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01T12:00:00+02", datetime(2024, 1, 1, 10, tzinfo=UTC)),
        ("2024-01-01T12:00:00-02", datetime(2024, 1, 1, 14, tzinfo=UTC)),
        ("2024-01-01T12:00:00+0230", datetime(2024, 1, 1, 9, 30, tzinfo=UTC)),
        ("2024-01-01T12:00:00-23:59", datetime(2024, 1, 2, 11, 59, tzinfo=UTC)),
        ("2024-01-01T12:00:07z", datetime(2024, 1, 1, 12, 0, 7, tzinfo=UTC)),
        ("2024-01-01T12:00:00.25Z", datetime(2024, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)),
        ("2024-01-01T12:00:00,000007Z", datetime(2024, 1, 1, 12, 0, 0, 7, tzinfo=UTC)),
        ("2024-01-01T12:00:00.123456000Z", datetime(2024, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_offsets_and_fractions_of_any_length_are_read(text: str, value: datetime) -> None:
    """An offset may lack its minutes, and a fraction counts from the point."""
    assert codec_for(datetime).decode({"S": text}) == value


@pytest.mark.parametrize("text", [5, "2024-02-30", "20240101", "2024-01-01T00:00:00Z"])
def test_stored_text_that_is_no_date_is_described(text: Any) -> None:
    """The message shows the form that is wanted."""
    assert refusal(codec_for(date).decode, {"S": text}) == NO_DATE


@pytest.mark.parametrize(
    ("text", "message"),
    [(5, NO_TIME), ("0930", NO_TIME), ("24:00", NO_TIME), ("09:30Z", NO_TIME), ("09:30:00.0000001", TOO_FINE)],
)
def test_stored_text_that_is_no_time_is_described(text: Any, message: str) -> None:
    """Another form and an impossible hour are told apart from what is too fine."""
    assert refusal(codec_for(time).decode, {"S": text}) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("09:30:07", time(9, 30, 7)),
        ("09:30:00.5", time(9, 30, 0, 500_000)),
        ("09:30:00.000001000", time(9, 30, 0, 1)),
    ],
)
def test_a_time_may_be_spelled_otherwise(text: str, value: time) -> None:
    """Seconds and a fraction may be there or not."""
    assert codec_for(time).decode({"S": text}) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(0), "0"),
        (timedelta(seconds=100), "100"),
        (timedelta(seconds=-100), "-100"),
        (timedelta(microseconds=1), "0.000001"),
        (timedelta(seconds=100, microseconds=100), "100.0001"),
    ],
)
def test_a_length_of_time_has_no_digit_too_many(value: timedelta, text: str) -> None:
    """Zeros before the point stay, those behind it go, and nothing has no sign."""
    assert codec_for(timedelta).encode(value) == {"N": text}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1E14", TOO_LONG),
        ("1E21", TOO_LONG),
        ("-1E21", TOO_LONG),
        ("0.0000005", "the stored number of seconds is finer than a microsecond"),
    ],
)
def test_stored_seconds_that_no_timedelta_holds_are_described(text: str, message: str) -> None:
    """Too large and too fine a number are told apart."""
    assert refusal(codec_for(timedelta).decode, {"N": text}) == message


def test_the_fast_decoder_of_an_old_python_reads_z(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Python 3.11 ``fromisoformat`` does not know ``Z``, and is given an offset."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 10, 14))
        decode = fast_decoder(codec_for(datetime))
    read = decode({"S": "2024-01-31T09:30:00.250000Z"})
    assert read == datetime(2024, 1, 31, 9, 30, 0, 250_000, tzinfo=UTC)
