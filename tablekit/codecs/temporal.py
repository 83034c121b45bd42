"""Codecs of datetime, date, time and timedelta; every form sorts in the order of what it means."""

from __future__ import annotations

import re
import sys
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import Bind, Codec, ValueProblem, payload, wrong_type
from tablekit.codecs.numbers import read_decimal, shift

__all__ = ["DateCodec", "DatetimeCodec", "TimeCodec", "TimedeltaCodec", "datetime_text", "read_datetime"]

_DAY_LENGTH = timedelta(days=1)
_LARGEST = 20
_MICROSECOND = timedelta(microseconds=1)
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2})?(?:[.,](\d{1,9}))?([Zz]|[+-]\d{2}(?::?\d{2})?)?", re.ASCII
)
_CLOCK = re.compile(r"(\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def datetime_text(value: datetime) -> str:
    """An aware datetime in UTC, 27 characters wide: ``2024-01-01T00:00:00.000000Z``.

    Raises `ValueProblem` for a naive one, and for an instant outside the years 1 to 9999 of UTC.
    """
    if value.tzinfo is not timezone.utc:
        if value.utcoffset() is None:
            raise ValueProblem("is a datetime without a time zone; give it one, such as tzinfo=timezone.utc")
        try:
            value = value.astimezone(timezone.utc)
        except OverflowError:
            raise ValueProblem("is outside the years 1 to 9999 in UTC") from None
    return f"{value.isoformat('T', 'microseconds')[:26]}Z"


def read_datetime(text: Any) -> datetime:
    """The datetime, in UTC, of an ISO 8601 text with an offset.

    ``Z``, ``+00:00``, ``+0000``, ``+00``, other offsets, a space for the ``T``, and a fraction of one to nine
    digits or none are read. Raises `ValueProblem` for text without an offset, and for a fraction finer than
    a microsecond, which a datetime cannot keep.
    """
    found = _ISO.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueProblem("the stored string is not a date and time in ISO 8601")
    day, minute, second, fraction, offset = found.groups()
    if offset is None:
        raise ValueProblem("the stored date and time has no offset from UTC")
    try:
        plain = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}.{_microseconds(fraction)}")
        return (plain - _offset(offset)).replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError) as error:
        raise _problem(error, "the stored string is not a valid date and time") from None


def _problem(error: Exception, reason: str) -> ValueProblem:
    return error if isinstance(error, ValueProblem) else ValueProblem(reason)


def _microseconds(fraction: str | None) -> str:
    digits = (fraction or "").ljust(6, "0")
    if digits[6:].strip("0"):
        raise ValueProblem("the stored time is finer than a microsecond, the finest that Python keeps")
    return digits[:6]


def _offset(text: str) -> timedelta:
    # Nothing is behind a Z, and minutes may be left out.
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    size = timedelta(hours=hours, minutes=minutes)
    if size >= _DAY_LENGTH:
        raise ValueProblem("the stored offset from UTC is not under 24 hours")
    return -size if text[0] == "-" else size


def _refuse() -> Any:
    raise ValueError("not of the form that tablekit writes")


def _own_form(text: str) -> str:
    """The condition that a text is of the form that tablekit writes, for generated code; it sets `t` to the text.

    ``fromisoformat`` takes any separator, weeks (``2024-W01-1``) and fractions that it cuts off; of 27 characters,
    these four leave one form only.
    """
    return f'(t := {text})[26:] == "Z" and t[10] == "T" and t[7] == "-" and t[19] == "."'


def _parse_utc(text: str, parse: Any = datetime.fromisoformat) -> Any:
    """Before Python 3.11 ``fromisoformat`` does not know ``Z``."""
    return parse(text[:26] + "+00:00")


class DatetimeCodec(Codec[datetime]):
    """An aware `datetime` as ``S`` in UTC, fixed width, so that text order is time order; read back in UTC."""

    name = "datetime"
    tags = frozenset({"S"})
    python_types = (datetime,)
    key_type = "S"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, datetime):
            raise wrong_type(self.name, value)
        return {"S": datetime_text(value)}

    def decode(self, av: AttributeValue) -> datetime:
        return read_datetime(payload(av, "S", self.name))

    def decode_source(self, av: str, bind: Bind) -> str:
        # Of our own form; anything else is for the careful way.
        parse = bind("parse", _parse_utc if sys.version_info < (3, 11) else datetime.fromisoformat)
        own_form = _own_form(f'{av}["S"]')
        return f"({parse}(t) if {own_form} else {bind('refuse', _refuse)}())"

    def encode_source(self, value: str, bind: Bind) -> str:
        encode = super().encode_source(value, bind)
        text = f"{value}.isoformat('T', 'microseconds')[:26] + 'Z'"
        kind, utc = bind("datetime", datetime), bind("utc", timezone.utc)
        return f'({{"S": {text}}} if type({value}) is {kind} and {value}.tzinfo is {utc} else {encode})'


class DateCodec(Codec[date]):
    """A `date` as ``S``: ``2024-01-31``; a datetime is refused, since its time of day would be lost."""

    name = "date"
    tags = frozenset({"S"})
    python_types = (date,)
    key_type = "S"

    def encode(self, value: Any) -> AttributeValue:
        if isinstance(value, datetime):
            raise ValueProblem("is a datetime, and date has no time of day; write value.date()")
        if not isinstance(value, date):
            raise wrong_type(self.name, value)
        return {"S": value.isoformat()}

    def decode(self, av: AttributeValue) -> date:
        text = payload(av, "S", self.name)
        try:
            if isinstance(text, str) and _DAY.fullmatch(text):
                return date.fromisoformat(text)
        except ValueError:
            pass
        raise ValueProblem("the stored string is not a date such as 2024-01-31")


class TimeCodec(Codec[time]):
    """A naive `time` as ``S``, fixed width: ``09:30:00.000000``.

    A time with a zone is refused: without a date its offset is not known, and its text would not sort.
    """

    name = "time"
    tags = frozenset({"S"})
    python_types = (time,)
    key_type = "S"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, time):
            raise wrong_type(self.name, value)
        if value.tzinfo is not None:
            raise ValueProblem("is a time with a time zone; store a datetime, or the time and the zone apart")
        return {"S": value.isoformat("microseconds")}

    def decode(self, av: AttributeValue) -> time:
        text = payload(av, "S", self.name)
        found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ValueProblem("the stored string is not a time such as 09:30:00")
        minute, second, fraction = found.groups()
        try:
            return time.fromisoformat(f"{minute}{second or ':00'}.{_microseconds(fraction)}")
        except ValueError as error:
            raise _problem(error, "the stored string is not a time such as 09:30:00") from None


class TimedeltaCodec(Codec[timedelta]):
    """A `timedelta` as ``N``: its length in seconds, exact to the microsecond, such as ``90.5``."""

    name = "timedelta"
    tags = frozenset({"N"})
    python_types = (timedelta,)
    key_type = "N"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, timedelta):
            raise wrong_type(self.name, value)
        total = value // _MICROSECOND
        seconds, rest = divmod(abs(total), 1_000_000)
        text = f"{seconds}.{rest:06d}".rstrip("0") if rest else str(seconds)
        return {"N": f"-{text}" if total < 0 else text}

    def decode(self, av: AttributeValue) -> timedelta:
        seconds = read_decimal(payload(av, "N", self.name))
        if seconds.adjusted() > _LARGEST:
            raise ValueProblem("the stored number of seconds is too large for a timedelta")
        exact = shift(seconds, 6)
        whole = int(exact)
        if whole != exact:
            raise ValueProblem("the stored number of seconds is finer than a microsecond")
        try:
            return timedelta(microseconds=whole)
        except OverflowError:
            raise ValueProblem("the stored number of seconds is too large for a timedelta") from None
