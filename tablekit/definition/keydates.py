"""Dates and times in keys: the full text, and the fixed-width part of what strftime offers.

``%Y %m %d %H %M %S %f`` and ``%j`` (day of the year) may stand with any literal text between them, or the
ISO week's ``%G %V %u`` in place of year, month and day. Directives that depend on the locale, or whose
width differs, are refused. A format that leaves part of the value out (``%Y-%m``) is *lossy*: it can place
an item, but the value cannot be read back from it.

Datetimes stand in UTC, whatever their own zone is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Final

from tablekit.codecs.base import ValueProblem
from tablekit.definition.keyshape import DIGITS, Bind, KeyText, Run, Shape, exact

__all__ = ["DateFormat", "DateText", "DatetimeText", "datetime_text"]

WIDTHS: Final[Mapping[str, int]] = {
    "Y": 4, "m": 2, "d": 2, "j": 3, "G": 4, "V": 2, "u": 1, "H": 2, "M": 2, "S": 2, "f": 6,
}  # fmt: skip
DATE_SPEC: Final = "%Y-%m-%d"
DATETIME_SPEC: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
_MOST_DAYS: Final = 366
_CLOCK: Final = ("H", "M", "S", "f")
_ORDERS: Final = (("Y", "m", "d", *_CLOCK), ("Y", "j", *_CLOCK), ("G", "V", "u", *_CLOCK))


class DateFormat:
    """A strftime format of fixed width, taken apart once.

    Attributes:
        tokens: directive letters and literal texts in order, as (letter or None, literal).
        letters: the directives' letters in order.
        problem: why the format cannot be used, as the rest of a sentence; None when it can.
    """

    def __init__(self, spec: str) -> None:
        self.spec = spec
        pieces = re.split(r"(%.?)", spec, flags=re.DOTALL)
        self.tokens = tuple(_token(piece) for piece in pieces if piece)
        self.letters = tuple(letter for letter, _ in self.tokens if letter is not None)
        self.problem = self._problem()
        if self.problem is None:
            self.width = sum(WIDTHS[letter] if letter else len(literal) for letter, literal in self.tokens)
            body = (f"([0-9]{{{WIDTHS[letter]}}})" if letter else re.escape(literal) for letter, literal in self.tokens)
            self._regex = re.compile("".join(body), re.ASCII)

    def _problem(self) -> str | None:
        for letter in self.letters:
            if letter not in WIDTHS:
                return (
                    f"%{letter} has no fixed width, or depends on the locale; use %Y %m %d %j %H %M %S %f or %G %V %u"
                )
        letters = set(self.letters)
        if not letters:
            return f"{self.spec!r} holds no directive such as %Y"
        if letters & set("GVu") and letters & set("Ymdj"):
            return "an ISO week (%G %V %u) cannot be mixed with %Y, %m, %d or %j"
        if "j" in letters and letters & set("md"):
            return "%j, the day of the year, cannot be mixed with %m or %d"
        return None

    def keeps(self, letters: str) -> bool:
        """Whether the format keeps the day, and each of the clock's `letters`."""
        present = set(self.letters)
        day = any(present >= set(day) for day in ("Ymd", "Yj", "GVu"))
        return day and present >= set(letters)

    def ordered(self) -> bool:
        """Whether its texts sort as the values: from the largest unit down, none left out between."""
        seen = tuple(dict.fromkeys(self.letters))
        return any(order[: len(seen)] == seen for order in _ORDERS)

    def render(self, value: date) -> str:
        """The text of a date, or of a datetime in UTC."""
        numbers = _numbers(value, self.letters)
        return "".join(f"{numbers[letter]:0{WIDTHS[letter]}d}" if letter else text for letter, text in self.tokens)

    def parse(self, text: str) -> datetime:
        """A datetime in UTC that renders to this text; units that the format leaves out are the least ones.

        Raises ValueError when there is none.
        """
        match = self._regex.fullmatch(text)
        if match is None:
            raise ValueError("not a text of this format")
        value = _build({letter: int(digits) for letter, digits in zip(self.letters, match.groups(), strict=True)})
        if self.render(value) != text:
            raise ValueError("no date has this text")
        return value

    def shape(self) -> Shape:
        """What its texts look like."""
        row: list[Run] = []
        for letter, literal in self.tokens:
            row += [Run(DIGITS, WIDTHS[letter], WIDTHS[letter])] if letter else exact(literal)
        return (tuple(row),)


def _token(piece: str) -> tuple[str | None, str]:
    if piece == "%%":
        return None, "%"
    return (piece[1:], "") if piece.startswith("%") else (None, piece)


def _numbers(value: date, letters: tuple[str, ...]) -> dict[str, int]:
    numbers = {"Y": value.year, "m": value.month, "d": value.day}
    if isinstance(value, datetime):
        numbers |= {"H": value.hour, "M": value.minute, "S": value.second, "f": value.microsecond}
    if "j" in letters:
        numbers["j"] = value.timetuple().tm_yday
    if not {"G", "V", "u"}.isdisjoint(letters):
        numbers["G"], numbers["V"], numbers["u"] = value.isocalendar()
    return numbers


def _build(numbers: Mapping[str, int]) -> datetime:
    # Where the year is left out, one that has the day: 2000 has a 29 February, 2004 a week 53.
    if not {"G", "V", "u"}.isdisjoint(numbers):
        day = date.fromisocalendar(numbers.get("G", 2004), numbers.get("V", 1), numbers.get("u", 1))
    elif "j" in numbers:
        day = date(numbers.get("Y", 2000), 1, 1) + _days(numbers["j"])
    else:
        day = date(numbers.get("Y", 2000), numbers.get("m", 1), numbers.get("d", 1))
    hour, minute, second, micro = (numbers.get(letter, 0) for letter in _CLOCK)
    return datetime(day.year, day.month, day.day, hour, minute, second, micro, tzinfo=timezone.utc)


def _days(day_of_year: int) -> timedelta:
    if not 1 <= day_of_year <= _MOST_DAYS:
        raise ValueError("no such day of the year")
    return timedelta(days=day_of_year - 1)


date_format: Final = lru_cache(maxsize=256)(DateFormat)
"""The format of a spec, taken apart once."""


def datetime_text(value: datetime) -> str:
    """The full text of an aware datetime: ``2024-01-01T00:00:00.000000Z``, in UTC.

    Raises `ValueProblem` for a naive datetime, and where UTC is before year 1 or after 9999.
    """
    if value.tzinfo is not timezone.utc:
        value = in_utc(value)
    return value.isoformat("T", "microseconds")[:26] + "Z"


def in_utc(value: Any) -> datetime:
    """The same instant in UTC. Raises `ValueProblem` for what is no aware datetime."""
    if not isinstance(value, datetime):
        raise ValueProblem(f"wants a datetime, got {type(value).__name__}")
    if value.utcoffset() is None:
        raise ValueProblem("is a naive datetime; give it a time zone, such as timezone.utc")
    try:
        return value.astimezone(timezone.utc)
    except OverflowError:
        raise ValueProblem("is outside the years 1 to 9999 in UTC") from None


class _MomentText(KeyText):
    """What dates and datetimes have in common.

    Attributes:
        full: the format that no spec stands for. clock: the directives that a lossless format needs beside
            those of the day.
    """

    full: str
    clock: str

    def width(self, spec: str = "") -> int | None:
        return date_format(spec or self.full).width

    def lossless(self, spec: str = "") -> bool:
        return date_format(spec or self.full).keeps(self.clock)

    def ordered(self, spec: str = "") -> bool:
        return date_format(spec or self.full).ordered()

    def shape(self, spec: str = "") -> Shape:
        return date_format(spec or self.full).shape()

    def accepts(self, text: str, spec: str = "") -> bool:
        try:
            date_format(spec or self.full).parse(text)
        except ValueError:
            return False
        return True

    def check_spec(self, spec: str) -> str | None:
        return date_format(spec or self.full).problem

    def _parsed(self, text: str, spec: str) -> datetime:
        if not self.lossless(spec):
            raise ValueError(f"the format {spec!r} loses part of the value")
        return date_format(spec or self.full).parse(text)


class DateText(_MomentText):
    """A calendar day."""

    name = "date"
    full = DATE_SPEC
    clock = ""

    def render(self, value: Any, spec: str = "") -> str:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise ValueProblem(f"wants a date, got {type(value).__name__}")
        return date_format(spec).render(value) if spec else value.isoformat()

    def parse(self, text: str, spec: str = "") -> date:
        if spec:
            return self._parsed(text, spec).date()
        if len(text) != 10:  # Python 3.10 says so itself, in other words
            raise ValueError("not a date in full form")
        value = date.fromisoformat(text)
        if value.isoformat() != text:
            raise ValueError("not a date in full form")
        return value

    def check_spec(self, spec: str) -> str | None:
        form = date_format(spec or self.full)
        if form.problem is None and not set(_CLOCK).isdisjoint(form.letters):
            return f"a date has no time of day, which {spec!r} asks for"
        return form.problem

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        guard = f"type({value}) is {bind('date', date)}"
        return guard, super().source(value, spec, bind)[1] if spec else f"{{{value}.isoformat()}}"


class DatetimeText(_MomentText):
    """A moment, in UTC."""

    name = "datetime"
    full = DATETIME_SPEC
    clock = "HMSf"

    def render(self, value: Any, spec: str = "") -> str:
        moment = in_utc(value)
        return date_format(spec).render(moment) if spec else datetime_text(moment)

    def parse(self, text: str, spec: str = "") -> datetime:
        if spec:
            return self._parsed(text, spec)
        value = datetime.fromisoformat(f"{text[:-1]}+00:00")
        if datetime_text(value) != text:
            raise ValueError("not a datetime in full form")
        return value

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        guard = f"type({value}) is {bind('datetime', datetime)}"
        if spec:
            return guard, super().source(value, spec, bind)[1]
        return guard, f"{{{bind('datetime_text', datetime_text)}({value})}}"
