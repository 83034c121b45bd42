"""Times of expiry: what a field takes, what is stored, and what is said of the rest."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tablekit import DecodeError, EncodeError, Entity, Field, Table, ttl
from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.codegen import fast_decoder
from tablekit.codecs.resolve import codec_for
from tablekit.codecs.ttl import TtlCodec

UTC = timezone.utc
NOW = datetime(2024, 1, 1, 12, tzinfo=UTC)
EASTERN = timezone(timedelta(hours=9))
MILLISECONDS = "wants epoch seconds, and this number reads as milliseconds; divide it by 1000"
TOO_EARLY = "wants epoch seconds of a time after 1973"
TOO_FAR = "wants a time within the years 1 to 9999 in UTC"
ALWAYS = TtlCodec(nullable=False)
MAYBE = TtlCodec(nullable=True)


class Session(Entity, table=Table("t"), pk="SESSION", sk="S"):
    """A row that expires."""

    expires_at: Field[datetime | None] = ttl(default=None)


def refusal(call: Any, *values: Any) -> str:
    """The whole text of the problem that a call raises."""
    with pytest.raises(ValueProblem) as caught:
        call(*values)
    return str(caught.value)


@pytest.fixture
def _far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose own zone is nine hours from UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XXX-9")
        clock.tzset()
        yield
    clock.tzset()


@pytest.mark.parametrize(
    ("annotation", "name", "nullable", "tags"),
    [
        (datetime, "datetime", False, {"N"}),
        (datetime | None, "datetime | None", True, {"N", "NULL"}),
        (None | datetime, "datetime | None", True, {"N", "NULL"}),
    ],
)
def test_a_time_of_expiry_is_a_datetime(annotation: Any, name: str, nullable: bool, tags: set[str]) -> None:
    """The name, whether None is taken, and the stored types follow the annotation."""
    codec = TtlCodec.over(codec_for(annotation))
    assert (codec.name, codec.nullable, codec.tags) == (name, nullable, tags)


@pytest.mark.parametrize("annotation", [int, str, datetime | int | None, list[datetime]])
def test_another_annotation_is_refused(annotation: Any) -> None:
    """The message shows both that are taken."""
    codec = codec_for(annotation)
    with pytest.raises(UnsupportedAnnotation) as caught:
        TtlCodec.over(codec)
    wanted = "annotate Field[datetime] or Field[datetime | None]"
    assert caught.value.reason == f"a ttl() field holds a time: {wanted}, not {codec.name}."


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (None, None),
        (timedelta(hours=1), NOW + timedelta(hours=1)),
        (timedelta(seconds=-1.5), NOW - timedelta(seconds=2)),
        (1_700_000_000, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        (datetime(2024, 1, 1, 9, 0, 0, 999_999, tzinfo=EASTERN), datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_field_holds_a_whole_second_in_utc(value: Any, moment: datetime | None) -> None:
    """A span counts from now, a number from 1970, and a datetime of any zone is turned."""
    held = MAYBE.normalise(value, NOW)
    assert held == moment
    if held is not None:
        assert (held.tzinfo, held.microsecond) == (UTC, 0)


@pytest.mark.skipif(not hasattr(clock, "tzset"), reason="the zone of a process can be set on Unix only")
@pytest.mark.usefixtures("_far_east")
def test_the_zone_of_the_machine_does_not_matter() -> None:
    """What is held, written and read is in UTC wherever the program runs."""
    assert MAYBE.normalise(1_700_000_000, NOW) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    for held in (MAYBE.normalise(datetime(2024, 1, 1, tzinfo=EASTERN), NOW), MAYBE.decode({"N": "1700000000"})):
        assert held.tzinfo is UTC
    assert MAYBE.decode({"N": "1700000000"}) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2024-01-01", "wants an aware datetime, a timedelta from now, or whole epoch seconds, not str"),
        (True, "wants an aware datetime, a timedelta from now, or whole epoch seconds, not bool"),
        (1.7e9, "wants an aware datetime, a timedelta from now, or whole epoch seconds, not float"),
        (
            datetime(2024, 1, 1),  # noqa: DTZ001  the naive one is the case
            "wants an aware datetime; give it a tzinfo, such as timezone.utc",
        ),
        (1_700_000_000_000, MILLISECONDS),
        (100_000_000_001, MILLISECONDS),
        (99_999_999, TOO_EARLY),
        (0, TOO_EARLY),
        (timedelta.max, TOO_FAR),
        (timedelta.min, TOO_FAR),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), TOO_FAR),
        (datetime.min.replace(tzinfo=EASTERN), TOO_FAR),
    ],
)
def test_what_is_no_time_of_expiry_is_described(value: Any, message: str) -> None:
    """Other types, naive datetimes, and numbers that mean another unit have a remedy each."""
    assert refusal(MAYBE.normalise, value, NOW) == message


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (NOW, 1_704_110_400),
        (NOW + timedelta(microseconds=999_999), 1_704_110_400),
        (1_700_000_000, 1_700_000_000),
        (100_000_000, 100_000_000),
        (100_000_000_000, 100_000_000_000),
    ],
)
def test_epoch_seconds_are_stored(value: Any, seconds: int) -> None:
    """They are whole, and lie from 1973 to 5138 with both ends."""
    wire = ALWAYS.encode(value)
    assert wire == {"N": str(seconds)}
    assert ALWAYS.decode(wire) == datetime.fromtimestamp(seconds, UTC)


def test_a_span_is_stored_from_now() -> None:
    """A timedelta in a condition or a write is counted from the moment of the call."""
    before = clock.time()
    wire = ALWAYS.encode(timedelta(hours=1))
    assert wire is not None
    assert int(before) <= int(wire["N"]) - 3600 <= clock.time()


def test_none_is_stored_where_the_annotation_takes_it() -> None:
    """An optional time that is not there is NULL, and reads back as None."""
    assert MAYBE.encode(None) == {"NULL": True}
    assert MAYBE.decode({"NULL": True}) is None
    assert MAYBE.decode({"N": "1700000000"}) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert refusal(ALWAYS.encode, None) == "None is no time; annotate the field as optional"
    assert refusal(ALWAYS.decode, {"NULL": True}) == "the stored value is NULL, and datetime does not take None"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (datetime(1973, 3, 3, 9, 46, 39, tzinfo=UTC), TOO_EARLY),
        (datetime(5138, 11, 16, 9, 46, 41, tzinfo=UTC), MILLISECONDS),
    ],
)
def test_a_datetime_beyond_the_years_of_epoch_seconds_is_not_stored(value: datetime, message: str) -> None:
    """Its number would be taken for another unit."""
    assert refusal(ALWAYS.encode, value) == message


@pytest.mark.parametrize(("step", "seconds"), [(timedelta(hours=1), "3600"), (timedelta(days=-1), "-86400")])
def test_a_stored_time_is_moved_by_a_span(step: timedelta, seconds: str) -> None:
    """An update adds whole seconds."""
    assert ALWAYS.encode_step(step) == {"N": seconds}


def test_a_stored_time_is_moved_by_nothing_else() -> None:
    """A number could be of any unit."""
    assert refusal(ALWAYS.encode_step, 3600) == "is moved by a timedelta, not by int"


@pytest.mark.parametrize("text", ["1700000000", "1700000000.0", "1700000000.999", "1.7E9", "17E8", "+1700000000"])
def test_other_writers_spellings_are_read(text: str) -> None:
    """A fraction is ignored, as DynamoDB does, and an exponent is read."""
    assert ALWAYS.decode({"N": text}) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"S": "1700000000"}, "the stored value is a string (S); datetime is read from a number (N)"),
        ({"N": "soon"}, "the stored number cannot be read"),
        ({"N": "1700000000000"}, "the stored number is no time in epoch seconds, within the years 1 to 9999"),
        ({"N": "1E125"}, "the stored number is no time in epoch seconds, within the years 1 to 9999"),
    ],
)
def test_a_stored_value_that_is_no_time_is_described(wire: Any, message: str) -> None:
    """Text, nonsense, and milliseconds are refused."""
    assert refusal(ALWAYS.decode, wire) == message


def test_generated_code_reads_the_same() -> None:
    """The decoder of a class reads a time, and None where that is taken."""
    decode = fast_decoder(MAYBE)
    assert decode({"NULL": True}) is None
    assert decode({"N": "1700000000"}) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "message"),
    [(timedelta.max, TOO_FAR), (1_700_000_000_000, MILLISECONDS)],
)
def test_an_entity_refuses_a_time_that_cannot_be(value: Any, message: str) -> None:
    """A new object and an assignment both name the field."""
    row = Session()
    with pytest.raises(EncodeError) as caught:
        Session(expires_at=value)
    assert str(caught.value) == f"Session.expires_at: {message}."
    with pytest.raises(EncodeError):
        row.expires_at = value
    assert row.expires_at is None


def test_an_entity_says_why_a_stored_time_cannot_be_read() -> None:
    """The field and the reason are in the message."""
    item = {**Session().to_item(), "expires_at": {"N": "1700000000000"}}
    with pytest.raises(DecodeError, match=r"Session\.expires_at .* the stored number is no time in epoch seconds"):
        Session.from_item(item)
