"""How typed values stand in keys as text."""

from __future__ import annotations

import enum
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from typing import Annotated, Any, Literal, NewType, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit.codecs.base import Codec, ValueProblem
from tablekit.definition.keytext import CodecText, KeyText, key_text_for

Slug = NewType("Slug", str)


class Status(enum.Enum):
    """A str-valued enum, one of its names unlike its value."""

    DRAFT = "draft"
    LIVE = "live"


class Level(enum.IntEnum):
    """An int-valued enum."""

    LOW = 1
    HIGH = 20


def text_for(annotation: Any) -> KeyText:
    """The key text of an annotation that has one."""
    found = key_text_for(annotation)
    assert found is not None
    return found


def moments() -> st.SearchStrategy[datetime]:
    """Datetimes in UTC."""
    return st.datetimes(timezones=st.just(timezone.utc))


def sort_key(value: Any) -> Any:
    """What a value sorts by: members of an Enum by their value, UUIDs by their number."""
    if isinstance(value, enum.Enum):
        return value.value
    return value.int if isinstance(value, uuid.UUID) else value


VALUES: list[tuple[Any, str, st.SearchStrategy[Any]]] = [
    (str, "", st.text(st.characters(exclude_categories=["Cs"]))),
    (int, "", st.integers(-(10**38) + 1, 10**38 - 1)),
    (int, "06d", st.integers(0, 999_999)),
    (Decimal, "", st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20)),
    (bool, "", st.booleans()),
    (uuid.UUID, "", st.uuids()),
    (date, "", st.dates()),
    (date, "%d.%m.%Y", st.dates()),
    (date, "%Y%j", st.dates()),
    (date, "%G-W%V-%u", st.dates()),
    (datetime, "", moments()),
    (datetime, "%Y%m%dT%H%M%S.%f", moments()),
    (Status, "", st.sampled_from(Status)),
    (Level, "03d", st.sampled_from(Level)),
    (Literal["a", "b"], "", st.sampled_from(["a", "b"])),
]


@pytest.mark.parametrize(("annotation", "spec", "values"), VALUES)
@given(data=st.data())
def test_parse_is_the_inverse_of_render(annotation: Any, spec: str, values: Any, data: st.DataObject) -> None:
    """Every value reads back from its text, which has the promised width and characters."""
    text = text_for(annotation)
    value = data.draw(values)
    rendered = text.render(value, spec)
    assert text.check_spec(spec) is None
    assert text.parse(rendered, spec) == value
    assert text.width(spec) in (None, len(rendered))
    assert all(character in text.charclass(spec) for character in rendered)


@pytest.mark.parametrize(("annotation", "spec", "values"), [row for row in VALUES if text_for(row[0]).ordered(row[1])])
@given(data=st.data())
def test_ordered_texts_sort_as_values(annotation: Any, spec: str, values: Any, data: st.DataObject) -> None:
    """Where a text calls itself ordered, UTF-8 bytes sort as values do."""
    text = text_for(annotation)
    a, b = data.draw(values), data.draw(values)
    assert (text.render(a, spec).encode() < text.render(b, spec).encode()) == (sort_key(a) < sort_key(b))


@pytest.mark.parametrize(
    ("annotation", "spec", "text"),
    [
        (int, "", "007"),
        (int, "", "-0"),
        (int, "", "+1"),
        (int, "", " 1"),
        (int, "", "1_000"),
        (int, "", "\u0661"),
        (int, "06d", "1000000"),
        (int, "06d", "-00001"),
        (int, "03d", "\u0661\u0661\u0661"),
        (Decimal, "", "1.0"),
        (Decimal, "", "-0"),
        (Decimal, "", "1E2"),
        (bool, "", "True"),
        (uuid.UUID, "", "{12345678-1234-5678-1234-567812345678}"),
        (uuid.UUID, "", "12345678-1234-5678-1234-56781234567A"),
        (date, "", "2024-02-30"),
        (date, "", "2024-1-1"),
        (date, "%G-%V-%u", "2023-53-1"),
        (date, "%Y%j", "2023366"),
        (date, "%Y-%m", "2024-01"),
        (datetime, "", "2024-01-01T00:00:00Z"),
        (datetime, "", "2024-01-01T24:00:00.000000Z"),
        (datetime, "", "2024-01-01T00:00:00.000000+00:00"),
        (Status, "", "DRAFT"),
        (Literal["a"], "", "b"),
        (str, "", "\ud800"),
    ],
)
def test_parse_refuses_what_render_does_not_give(annotation: Any, spec: str, text: str) -> None:
    """A text that no value renders to is a ValueError, and so is one that a lossy format wrote."""
    with pytest.raises(ValueError):  # noqa: PT011 - the reason is no part of the promise
        text_for(annotation).parse(text, spec)


@pytest.mark.parametrize(
    ("annotation", "spec", "value"),
    [
        (str, "", 5),
        (str, "", "a\ud800"),
        (int, "", True),
        (int, "", "1"),
        (int, "", 10**38),
        (int, "06d", 1_000_000),
        (int, "06d", -1),
        (Decimal, "", Decimal("NaN")),
        (Decimal, "", Decimal("1E+999999999")),
        (Decimal, "", Decimal("1" * 39)),
        (Decimal, "", True),
        (bool, "", 1),
        (bool, "", []),
        (uuid.UUID, "", "12345678-1234-5678-1234-567812345678"),
        (date, "", datetime(2024, 1, 1, tzinfo=timezone.utc)),
        (datetime, "", date(2024, 1, 1)),
        (datetime, "", datetime(2024, 1, 1)),  # noqa: DTZ001 - naive on purpose
        (datetime, "", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        (Status, "", "draft"),
        (Literal["a"], "", Status.DRAFT),
        (Literal[1], "", True),
    ],
)
def test_render_refuses_other_values(annotation: Any, spec: str, value: Any) -> None:
    """A value of another type, out of range, or without an exact text is a ValueProblem."""
    with pytest.raises(ValueProblem):
        text_for(annotation).render(value, spec)


def test_r13_padded_numbers_sort_and_read_back_as_ints() -> None:
    """R13: with a width, 2, 10 and 100 sort by size, and are read back as ints."""
    text = text_for(int)
    texts = [text.render(number, "06d") for number in (2, 10, 100)]
    assert texts == sorted(texts) == ["000002", "000010", "000100"]
    assert [text.parse(one, "06d") for one in texts] == [2, 10, 100]


@pytest.mark.parametrize(("value", "word"), [(1_000_000, "digits"), (-1, "negative")])
def test_r13_a_number_that_would_sort_wrongly_is_refused(value: int, word: str) -> None:
    """R13: a number wider than its padding, or negative, is an error that does not print the value."""
    with pytest.raises(ValueProblem, match=word) as caught:
        text_for(int).render(value, "06d")
    assert str(value) not in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "spec"),
    [
        (str, "s"),
        (int, "6d"),
        (int, "00d"),
        (int, "039d"),
        (int, "x"),
        (Decimal, ".2f"),
        (bool, "d"),
        (uuid.UUID, "x"),
        (date, "%H"),
        (date, "day"),
        (datetime, "%b"),
        (datetime, "%Y %p"),
        (datetime, "%Y-%V"),
        (datetime, "%j-%m"),
        (datetime, "%Y%"),
        (Status, "06d"),
        (Level, "01d"),
    ],
)
def test_a_wrong_spec_has_a_reason(annotation: Any, spec: str) -> None:
    """A format that the type does not have, or whose width varies, is told."""
    assert text_for(annotation).check_spec(spec)


@pytest.mark.parametrize(
    ("annotation", "spec", "lossless"),
    [
        (date, "%Y-%m-%d", True),
        (date, "%Y-%m", False),
        (date, "%m-%d", False),
        (datetime, "%Y-%m-%d", False),
        (datetime, "%Y-%m-%dT%H", False),
        (datetime, "%Y%j%H%M%S%f", True),
    ],
)
def test_a_format_knows_whether_it_loses(annotation: Any, spec: str, lossless: object) -> None:
    """Only a format that spells the whole value is lossless."""
    assert text_for(annotation).lossless(spec) is lossless


@given(value=moments(), spec=st.sampled_from(["%Y-%m", "%m-%d", "%H:%M", "%j", "%G-%V", "%d", "%u", "%Y-%d"]))
def test_a_lossy_format_accepts_its_own_texts(value: datetime, spec: str) -> None:
    """Every text that a lossy format writes is accepted, also 29 February and week 53 without a year."""
    text = text_for(datetime)
    assert text.accepts(text.render(value, spec), spec)


def test_datetimes_stand_in_utc() -> None:
    """A datetime of any zone is written as the same instant in UTC, with a fixed width."""
    value = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert text_for(datetime).render(value) == "2024-01-01T00:00:00.000000Z"
    assert text_for(datetime).render(value, "%Y-%m-%dT%H") == "2024-01-01T00"


def test_years_before_1000_keep_their_width() -> None:
    """A year of fewer than four digits is padded, which the platform's strftime does not promise."""
    assert text_for(date).render(date(7, 1, 2), "%Y-%m") == "0007-01"


def test_equal_decimals_have_one_text() -> None:
    """Numbers that are equal render alike, whatever the thread's decimal context says."""
    with localcontext() as context:
        context.prec = 2
        texts = {text_for(Decimal).render(Decimal(spelling)) for spelling in ("1234.50", "1.2345E3", "1234.5")}
    assert texts == {"1234.5"}


@pytest.mark.parametrize(
    "annotation",
    [
        Optional[str],  # noqa: UP045 - both spellings are in use
        str | None,
        Slug,
        Annotated[str, "note"],
        Annotated[Slug | None, 1],
    ],
)
def test_wrappers_are_looked_through(annotation: Any) -> None:
    """Optional, NewType and Annotated do not change how a value stands in a key."""
    assert text_for(annotation).name == "str"


@pytest.mark.parametrize(
    "annotation", [float, bytes, list[str], str | int, Any, object, Literal["a", 1], Literal[True]]
)
def test_other_types_are_no_key_types(annotation: Any) -> None:
    """A type whose values have no exact text of their own has no key text."""
    assert key_text_for(annotation) is None


def test_a_str_enum_member_in_a_str_field_is_its_value() -> None:
    """A member of a str Enum renders as its value, not as the member's name."""

    class Kind(str, enum.Enum):
        NOTE = "note"

    assert text_for(str).render(Kind.NOTE) == "note"


class Upper(Codec[str]):
    """A codec of a user's own, which writes upper case and reads any case."""

    name = "Upper"
    key_type = "S"

    def encode(self, value: str) -> dict[str, Any]:
        return {"S": value.upper()}

    def decode(self, av: dict[str, Any]) -> str:
        return str(av["S"]).lower()


def test_a_codec_of_its_own_can_stand_in_a_key() -> None:
    """A custom codec renders and parses, and a text that it would write otherwise is refused."""
    text = CodecText(Upper())
    assert (text.render("ab"), text.parse("AB")) == ("AB", "ab")
    with pytest.raises(ValueError):  # noqa: PT011 - the reason is no part of the promise
        text.parse("Ab")
