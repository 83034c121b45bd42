"""Keys at DynamoDB's limits, and each refusal of a key word by word."""

from __future__ import annotations

import enum
import re
import time
import uuid
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.definition.keyshape import CharSet, Run
from tablekit.definition.keytext import key_text_for
from tablekit.definition.templates import Template, check_key_size
from tablekit.errors import DefinitionError, KeyPartError, LimitExceeded


class Level(enum.Enum):
    """Two values of text."""

    LOW = "low"
    HIGH = "high"


TYPES: dict[str, Any] = {
    "a": str,
    "b": str,
    "n": int,
    "price": Decimal,
    "day": date,
    "end": date,
    "at": datetime,
    "blob": bytes,
    "uid": uuid.UUID,
    "level": Level,
    "flag": bool,
}
DIGITS = "0123456789"
AT = datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))
LIMITS = {"pk": 2048, "sk": 1024, "index_pk": 2048, "index_sk": 1024}


def template(text: str, role: Any = "sk", separator: str | None = "#") -> Template:
    """A template over the fields above."""
    return Template.parse(text, types=TYPES, separator=separator, role=role, owner="Doc")


# Limits


@pytest.mark.parametrize(("role", "limit"), LIMITS.items())
def test_a_key_may_be_as_long_as_dynamodb_allows(role: str, limit: int) -> None:
    """2,048 bytes of UTF-8 in a partition key and 1,024 in a sort key are rendered, and read back."""
    doc = template("D#{a}", role)
    values = {"a": "x" * (limit - 4) + "é"}
    key = doc.render(values, entity="Doc")

    assert len(key.encode()) == limit
    assert doc.match(key) == values
    assert doc.prefix(values, entity="Doc") == (key, 1, True)


@pytest.mark.parametrize(("role", "limit"), LIMITS.items())
def test_a_key_of_one_byte_more_is_refused(role: str, limit: int) -> None:
    """By all ways to make one; none is read back either."""
    doc, values = template("D#{a}", role), {"a": "x" * (limit - 1)}

    for make in (doc.render, doc.prefix):
        with pytest.raises(LimitExceeded) as caught:
            make(values, entity="Doc")
        assert (caught.value.limit, caught.value.actual) == (limit, limit + 1)
        assert str(caught.value).startswith(f"Doc: the {'index ' if 'index' in role else ''}")
        assert f"renders has {limit + 1} bytes of UTF-8; DynamoDB allows {limit}. Shorten" in str(caught.value)
    assert doc.match("D#" + values["a"]) is None


@pytest.mark.parametrize("tag", ["S", "B"])
@pytest.mark.parametrize(("role", "limit"), LIMITS.items())
def test_a_value_that_is_a_key_has_the_limits_of_keys(tag: str, role: Any, limit: int) -> None:
    """A field of its own that is a key, as text and as bytes."""
    for size, fits in ((limit, True), (limit + 1, False)):
        value: Any = {"S": "x" * size} if tag == "S" else {"B": b"x" * size}
        if fits:
            check_key_size(value, role, "Doc.a")
        else:
            with pytest.raises(LimitExceeded, match=rf"^Doc\.a has {size} bytes"):
                check_key_size(value, role, "Doc.a")


def test_a_number_has_no_size_that_matters() -> None:
    """DynamoDB limits a number by its digits."""
    check_key_size({"N": "1" * 3000}, "sk", "Doc.n")


# Parts


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("D#{a}#{b}", {"a": "1"}, "is missing; every part of a key needs a value"),
        ("D#{a}#{b}", {"a": "1", "b": None}, "is None; every part of a key needs a value"),
        ("D#{a}#{b}", {"a": "1", "b": ""}, "is empty; every part of a key needs a value"),
        ("D#{a}#{b}", {"a": "1", "b": 2}, "wants a str, got int"),
    ],
)
def test_a_part_that_cannot_be_rendered_says_why(text: str, values: dict[str, Any], reason: str) -> None:
    """Class, part, template and reason, and no value."""
    with pytest.raises(KeyPartError) as caught:
        template(text).render(values, entity="Doc")
    assert str(caught.value) == f"Doc: the part 'b' of the sort key {text!r} {reason}."
    assert (caught.value.entity, caught.value.template, caught.value.part) == ("Doc", text, "b")


def test_a_part_with_the_separator_in_it_says_what_to_do() -> None:
    """The remedy depends on the text: an empty one needs a value, this one an escape."""
    with pytest.raises(KeyPartError) as caught:
        template("D#{a}#{b}").render({"a": "x#y", "b": "1"}, entity="Doc")
    assert str(caught.value).endswith(
        "; a key made of it could be read in two ways. Escape the value before it is stored."
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: template("D#{a}#{b}").prefix({"b": "1"}, entity="Doc"),
            "Doc: the part 'a' of the sort key 'D#{a}#{b}' is missing, and 'b', which comes after it, is given.",
        ),
        (
            lambda: template("D#{a}[#C#{b}]").prefix({"a": "1"}, entity="Doc"),
            (
                "Doc: the part 'b' of the sort key 'D#{a}[#C#{b}]' is missing, and a key without the optional tail "
                "also begins others; give it a value, or None."
            ),
        ),
        (
            lambda: template("D#{a}[#C#{b}]").prefix({"a": 1, "b": None}, entity="Doc"),
            "Doc: the part 'a' of the sort key 'D#{a}[#C#{b}]' wants a str, got int.",
        ),
        (
            lambda: template("D#{a}#{b}").prefix({"a": 1}, entity="Doc"),
            "Doc: the part 'a' of the sort key 'D#{a}#{b}' wants a str, got int.",
        ),
    ],
)
def test_a_search_that_cannot_be_made_says_why(call: Any, message: str) -> None:
    """A gap, an open end, and a value of the wrong type."""
    with pytest.raises(KeyPartError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("beginning", ["x#y", "#"])
def test_a_beginning_that_runs_into_the_separator_is_refused(beginning: str) -> None:
    """With the name of the class; the table's separator counts where no literal follows."""
    doc = template("D#{a}")
    with pytest.raises(KeyPartError, match=r"^Doc: the part 'a' of the sort key 'D#\{a\}' \S+"):
        doc.begin_part(doc.parts[0], beginning, entity="Doc")
    assert template("D#{a}", separator=None).begin_part(doc.parts[0], "xy", entity="Doc") == "xy"


@pytest.mark.parametrize(
    ("text", "beginning", "reason"),
    [
        ("D#{a}", 7, "wants the beginning of its text as a str, got int"),
        ("D#{n:03d}", "0", "is a number, which has no beginning; ask for a range of it"),
        ("D#{a}", "", "wants a beginning that is not empty and holds no lone surrogate"),
        ("D#{a}", "\ud800", "wants a beginning that is not empty and holds no lone surrogate"),
        ("D#{a}", "x#", "holds '#', which separates the part from what follows it"),
        ("D#{a}-C", "x-C", "holds '-C', which separates the part from what follows it"),
    ],
)
def test_a_beginning_that_no_text_has_says_why(text: str, beginning: Any, reason: str) -> None:
    """What no key of the class can begin with is no question to DynamoDB."""
    doc = template(text)
    with pytest.raises(KeyPartError) as caught:
        doc.begin_part(doc.parts[0], beginning, entity="Doc")
    assert str(caught.value) == f"Doc: the part {doc.names[0]!r} of the sort key {text!r} {reason}."


def test_a_field_of_a_type_without_text_is_rendered_by_nobody() -> None:
    """It is a key by itself, of its own type."""
    blob = template("{blob}")
    with pytest.raises(KeyPartError, match=r"is of type bytes, which has no text for a key\.$"):
        blob.render({"blob": b"x"}, entity="Doc")
    assert blob.match("x") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty; give it a text such as 'DOC#{doc_id}'"),
        ("D#{a}]", "has a closing bracket ']' without its '['; write ']]' for the character itself"),
        ("D#{a}[#X]", "has an optional tail without a field, so that nothing says when it is there"),
        ("D#{a}[#{b}", "has an opening bracket '[' without its ']'; write '[[' for the character itself"),
        ("D#{a}[#{b}[#{n:d}]]", "has brackets inside brackets; one optional tail is all there can be"),
        ("D[#{a}]#", "goes on after its optional tail; the brackets [...] must end it"),
        ("D#{a", "has a brace '{' without its other half; write '{{' for the character itself"),
        ("D#{}", "has a part without a name; write the name of a field between the braces"),
        ("D#{a!r}", "has the part 'a!r', which is no name of a field; conversions and indexes are not understood"),
        ("[#{a}]", "is nothing but an optional tail; without it the key would be empty"),
        ("D#{a}[#{a}]", "has 'a' both before its optional tail and in it"),
        ("D#{a}{b}", "has the parts 'a' and 'b' side by side; put a text such as '#' between them"),
    ],
)  # fmt: skip
def test_a_template_that_is_none_says_why(text: str, reason: str) -> None:
    """Class, template and reason, when the class is made."""
    with pytest.raises(DefinitionError) as caught:
        template(text)
    assert str(caught.value) == f"Doc: the sort key template {text!r} {reason}."


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("n:6d", "'6d' is no format of an int; give a width such as '06d' (1 to 38 digits), or 'd'"),
        ("n:039d", "'039d' is no format of an int; give a width such as '06d' (1 to 38 digits), or 'd'"),
        ("price:.2f", "'.2f' is no format of a Decimal; it takes none, or 'd'"),
        ("day:%H", "a date has no time of day, which '%H' asks for"),
        ("day:x", "'x' holds no directive such as %Y"),
        ("at:%b", "%b has no fixed width, or depends on the locale; use %Y %m %d %j %H %M %S %f or %G %V %u"),
        ("at:%G%m", "an ISO week (%G %V %u) cannot be mixed with %Y, %m, %d or %j"),
        ("at:%j%V", "an ISO week (%G %V %u) cannot be mixed with %Y, %m, %d or %j"),
        ("at:%j%m", "%j, the day of the year, cannot be mixed with %m or %d"),
    ],
)
def test_a_format_that_is_none_says_why(part: str, reason: str) -> None:
    """With the name of the field, and what can stand there."""
    with pytest.raises(DefinitionError) as caught:
        template(f"D#{{{part}}}")
    name = part.partition(":")[0]
    assert str(caught.value).endswith(f"has a wrong format for the part {name!r}: {reason}.")
    assert caught.value.field == name


def test_a_number_without_a_width_says_both_ways_out() -> None:
    """A width, or the word that the order does not matter."""
    with pytest.raises(DefinitionError) as caught:
        template("D#{n}")
    assert str(caught.value).endswith(
        "has the number 'n' without a width, and text sorts '10' before '2'; give it one, such as {n:06d}, or write "
        "{n:d} to say that the order does not matter."
    )


# Dates in parts


@pytest.mark.parametrize(
    ("text", "key", "fits"),
    [
        ("{day}#{day:%Y}", "2024-02-29#2024", True),
        ("{day}#{day:%Y}", "2024-02-29#2023", False),
        ("{day:%Y}#{day:%m-%d}", "2024#02-29", True),
        ("{day:%Y}#{day:%m-%d}", "2023#02-29", False),
        ("{end:%Y}#{day:%Y}#{day:%m-%d}#{end:%m-%d}", "2023#2024#02-29#02-28", True),
        ("{end:%Y}#{day:%Y}#{day:%m-%d}#{end:%m-%d}", "2023#2024#02-28#02-29", False),
        ("{day:%j}", "366", True),
        ("{day:%j}", "367", False),
        ("{day:%j}", "000", False),
        ("{day:%G-%V}", "2020-53", True),
        ("{day:%G-%V}", "2021-53", False),
        ("{day:%V-%u}", "53-7", True),
        ("{day:%u}", "7", True),
        ("{day:%u}", "8", False),
        ("{day:%V}", "53", True),
        ("{day:%V}", "54", False),
        ("{day:%G}", "2024", True),
        ("{day:%G}", "0000", False),
        ("{day:%d}", "31", True),
        ("{day:%m}", "02", True),
        ("{at:%H:%M}", "23:59", True),
        ("{at:%H:%M}", "24:00", False),
        ("{at:%Y%%%f}", "2024%000000", True),
        ("{at:%Y%%%f}", "2024%%00000", False),
    ],
)
def test_a_key_in_parts_of_a_date_fits_a_day_that_there_is(text: str, key: str, fits: bool) -> None:
    """All parts of one field are of one value, and the least units stand for those that are left out."""
    role = "index_sk"
    assert (template(text, role).match(key) is not None) is fits


@pytest.mark.parametrize(
    ("spec", "value", "text"),
    [
        ("%Y-%m-%d", date(2024, 2, 29), "2024-02-29"),
        ("%Y%j", date(2024, 12, 31), "2024366"),
        ("%G-W%V-%u", date(2024, 12, 30), "2025-W01-1"),
        ("%%%Y", date(7, 1, 1), "%0007"),
        ("%Y\n%m", date(2024, 1, 1), "2024\n01"),
    ],
)
def test_a_date_in_a_format_is_exact(spec: str, value: date, text: str) -> None:
    """Each directive with its width, and a doubled percent sign as one."""
    found = key_text_for(date)
    assert found is not None
    assert found.check_spec(spec) is None
    assert found.render(value, spec) == text
    assert found.width(spec) == len(text)
    assert found.accepts(text, spec)
    assert not found.accepts(text + "0", spec)


# Texts of values


@pytest.mark.parametrize(
    ("kind", "value", "spec", "reason"),
    [
        (str, 1, "", "wants a str, got int"),
        (str, "\ud800", "", "holds a lone surrogate, which UTF-8 cannot hold"),
        (int, "1", "", "wants an int, got str"),
        (int, True, "", "wants an int, got bool"),
        (int, 10**38, "", "has more than the 38 digits that DynamoDB keeps of a number"),
        (int, -1, "03d", "is negative, and a number padded by '03d' cannot be: it would sort wrongly"),
        (int, 1000, "03d", "has more digits than the 3 of its format '03d', and would sort wrongly"),
        (Decimal, 1.5, "", "wants a Decimal, got float"),
        (Decimal, True, "", "wants a Decimal, got bool"),
        (Decimal, Decimal("NaN"), "", "is not a finite number"),
        (Decimal, Decimal("9e-131"), "", "is outside DynamoDB's range of 1E-130 to 9.99E+125"),
        (Decimal, Decimal("1e126"), "", "is outside DynamoDB's range of 1E-130 to 9.99E+125"),
        (Decimal, Decimal("1." + "1" * 38), "", "has more than 38 significant digits"),
        (uuid.UUID, "1", "", "wants a UUID, got str"),
        (bool, 1, "", "wants one of the values of bool, got int"),
        (Level, "low", "", "wants one of the values of Level, got str"),
        (datetime, date(2026, 1, 1), "", "wants a datetime, got date"),
        (datetime, datetime(2026, 1, 1), "", "is a naive datetime; give it a time zone, such as timezone.utc"),  # noqa: DTZ001
        (datetime, datetime(1, 1, 1, tzinfo=AT.tzinfo), "", "is outside the years 1 to 9999 in UTC"),
        (date, "1", "", "wants a date, got str"),
        (date, datetime(2026, 1, 1, tzinfo=timezone.utc), "", "wants a date, got datetime"),
    ],
)
def test_a_value_that_is_no_text_of_a_key_says_why(kind: Any, value: Any, spec: str, reason: str) -> None:
    """The reason of the message, word by word."""
    text = key_text_for(kind)
    assert text is not None
    with pytest.raises(ValueProblem) as caught:
        text.render(value, spec)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("kind", "value", "spec", "text"),
    [
        (int, 10**38 - 1, "", "9" * 38),
        (int, 1 - 10**38, "", "-" + "9" * 38),
        (int, 0, "03d", "000"),
        (int, 999, "03d", "999"),
        (Decimal, Decimal("1e-130"), "", "0." + "0" * 129 + "1"),
        (Decimal, Decimal("9e125"), "", "9" + "0" * 125),
        (Decimal, Decimal("-1.50"), "", "-1.5"),
        (Decimal, Decimal("-0"), "", "0"),
        (Decimal, 7, "", "7"),
        (bool, True, "", "true"),
        (bool, False, "", "false"),
        (Level, Level.HIGH, "", "high"),
    ],
)
def test_the_text_of_a_value_is_exact(kind: Any, value: Any, spec: str, text: str) -> None:
    """At the ends of what DynamoDB keeps too; it is read back as the value."""
    found = key_text_for(kind)
    assert found is not None
    assert found.render(value, spec) == text
    assert found.parse(text, spec) == value


@pytest.mark.parametrize(
    ("kind", "spec", "text", "reason"),
    [
        (int, "", "01", "not a number in plain form"),
        (int, "", "9" * 39, "not a number in plain form"),
        (int, "03d", "0001", "not a number of 3 digits"),
        (int, "03d", "01", "not a number of 3 digits"),
        (Decimal, "", "1E+2", "not a decimal number in plain form"),
        (Decimal, "", "1.0", "not a decimal number in plain form"),
        (Decimal, "", "-0", "not a decimal number in canonical form"),
        (uuid.UUID, "", "12345678123456781234567812345678", "not a UUID in canonical form"),
        (bool, "", "True", "not a value of bool"),
        (Level, "", "LOW", "not a value of Level"),
        (date, "", "20240229", "not a date in full form"),
        (date, "%Y", "2024", "the format '%Y' loses part of the value"),
        (date, "%Y%j", "2023-366", "not a text of this format"),
        (date, "%Y%m%d", "00000101", "year 0 is out of range"),
        (date, "%Y%j", "2023366", "no date has this text"),
        (date, "%Y%j", "2024367", "no such day of the year"),
        (datetime, "", "2024-01-01T00:00:00Z", "not a datetime in full form"),
        (str, "", "\ud800", "a lone surrogate"),
    ],
)
def test_a_text_in_another_spelling_is_no_text_of_a_key(kind: Any, spec: str, text: str, reason: str) -> None:
    """Two spellings of one value would be two rows."""
    found = key_text_for(kind)
    assert found is not None
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        found.parse(text, spec)


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("{a}", {"a": "x"}, "x"),
        ("{n:d}#{a}", {"n": 10**18, "a": "x"}, f"{10**18}#x"),
        ("{n:d}#{a}", {"n": 1 - 10**18, "a": "x"}, f"{1 - 10**18}#x"),
        ("{n:d}#{a}", {"n": 11, "a": "x"}, "11#x"),
        ("{n:03d}", {"n": 999}, "999"),
        ("{n:03d}", {"n": 0}, "000"),
        ("{price:d}#", {"price": Decimal("1.50")}, "1.5#"),
        ("{day}", {"day": date(2024, 2, 29)}, "2024-02-29"),
        ("{day:%Y%m}#{day}", {"day": date(2024, 2, 29)}, "202402#2024-02-29"),
        ("{at}", {"at": AT}, "2024-01-01T23:00:00.000000Z"),
        ("{at:%d/%H}", {"at": AT}, "01/23"),
        ("{uid}", {"uid": uuid.UUID(int=1)}, "00000000-0000-0000-0000-000000000001"),
        ("{level}#{flag}", {"level": Level.HIGH, "flag": False}, "high#false"),
        ("{level}#{flag}", {"level": Level.LOW, "flag": True}, "low#true"),
    ],
)
def test_a_key_is_exact_for_each_type(text: str, values: dict[str, Any], key: str) -> None:
    """As it is rendered, quickly and with care, and as generated code compares it."""
    found = template(text, "index_sk")
    assert found.render(values, entity="Doc") == key
    assert found._careful(values, "Doc") == key
    scope: dict[str, Any] = {}

    def bind(name: str, value: Any) -> str:
        scope[f"{name}_{len(scope)}"] = value
        return next(reversed(scope))

    source = found.equals_source(bind, lambda name: name)
    assert source is not None
    quick = eval(source, scope, values)
    assert quick == key or (quick is None and abs(values.get("n", 0)) >= 10**18)


@pytest.mark.parametrize("wrong", [3, None, "x", True, [], date(2024, 1, 1)])
@pytest.mark.parametrize(
    "text", ["{n:d}", "{n:03d}", "{day}", "{day:%Y}", "{at}", "{at:%Y}", "{uid}", "{level}", "{flag}"]
)
def test_generated_code_refuses_what_render_refuses(text: str, wrong: Any) -> None:
    """A value of another type is no key, and no error either: `render` says what is wrong."""
    found = template(text, "index_sk")
    name = found.names[0]
    scope: dict[str, Any] = {}

    def bind(label: str, value: Any) -> str:
        scope[f"{label}_{len(scope)}"] = value
        return next(reversed(scope))

    source = found.equals_source(bind, lambda _: "value")
    assert source is not None
    try:
        expected: str | None = found.render({name: wrong}, entity="Doc")
    except KeyPartError:
        expected = None
    assert eval(source, scope, {"value": wrong}) == expected


@pytest.mark.parametrize(
    ("kind", "spec", "shape"),
    [
        (int, "", [[("-", 0, 1), (DIGITS, 1, None)]]),
        (int, "03d", [[(DIGITS, 3, 3)]]),
        (Decimal, "", [[("-", 0, 1), (DIGITS, 1, None), (".", 0, 1), (DIGITS, 0, None)]]),
        (bool, "", [[(each, 1, 1) for each in "true"], [(each, 1, 1) for each in "false"]]),
        (date, "%Y-%m", [[(DIGITS, 4, 4), ("-", 1, 1), (DIGITS, 2, 2)]]),
    ],
)
def test_the_shape_of_the_texts_of_a_type(kind: Any, spec: str, shape: list[list[tuple[str, int, int | None]]]) -> None:
    """By it two classes are told apart whose keys can never coincide."""
    found = key_text_for(kind)
    assert found is not None
    assert found.shape(spec) == tuple(tuple(Run(CharSet.of(chars), *ends) for chars, *ends in row) for row in shape)


def test_a_uuid_is_four_dashes_between_hexadecimal_digits() -> None:
    """In groups of 8, 4, 4, 4 and 12."""
    found = key_text_for(uuid.UUID)
    assert found is not None
    (row,) = found.shape()
    assert [run.most for run in row] == [8, 1, 4, 1, 4, 1, 4, 1, 12]
    assert found.width() == 36


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process is set on POSIX only")
def test_the_zone_of_the_machine_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys stand in UTC, wherever the program runs."""
    found = key_text_for(datetime)
    assert found is not None
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert found.render(AT) == "2024-01-01T23:00:00.000000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_decimal_does_not_sort_as_its_text() -> None:
    """Nor does a number without a width, which a sort key therefore refuses."""
    assert [key_text_for(kind).ordered("") for kind in (Decimal, int, str)] == [False, False, True]  # type: ignore[union-attr]
