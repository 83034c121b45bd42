"""Key templates read the other way: keys parsed back, prefixes of keys, and what follows a prefix."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from tablekit.definition.templates import Template, check_key_size, next_prefix
from tablekit.errors import KeyPartError, LimitExceeded

TYPES: dict[str, Any] = {"a": str, "b": str | None, "c": str, "rev": int, "day": date, "at": datetime}


def template(text: str, separator: str | None = "#") -> Template:
    """A sort key template over the fields above."""
    return Template.parse(text, types=TYPES, separator=separator, role="sk", owner="Doc")


@pytest.mark.parametrize(
    ("text", "key", "values"),
    [
        ("DOC#{a}", "DOC#1", {"a": "1"}),
        ("DOC#{a}#REV#{rev:06d}", "DOC#1#REV#000002", {"a": "1", "rev": 2}),
        ("DOC#{a}#{a}", "DOC#1#1", {"a": "1"}),
        ("{day:%Y-%m}#{day}", "2024-02#2024-02-29", {"day": date(2024, 2, 29)}),
        ("{day:%Y-%m}#{a}", "2024-02#x", {"a": "x"}),
        ("{at}{a}", "2024-01-01T00:00:00.000000Zx", {"at": datetime(2024, 1, 1, tzinfo=timezone.utc), "a": "x"}),
        ("DOC#{a}[#CMT#{b}]", "DOC#1", {"a": "1", "b": None}),
        ("DOC#{a}[#CMT#{b}]", "DOC#1#CMT#2", {"a": "1", "b": "2"}),
        ("DOC#{rev:03d}[{b}]", "DOC#001", {"rev": 1, "b": None}),
        ("DOC#{rev:03d}[{b}]", "DOC#001x", {"rev": 1, "b": "x"}),
        ("META[#{b}]", "META", {"b": None}),
        ("META", "META", {}),
    ],
)
def test_a_key_gives_its_values_back(text: str, key: str, values: dict[str, Any]) -> None:
    """A key that the template rendered reads back as its fields, without those in a lossy format."""
    assert template(text).match(key) == values


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("DOC#{a}", "DOC#"),
        ("DOC#{a}", "doc#1"),
        ("DOC#{a}", "DOC#1#CMT#2"),
        ("DOC#{a}#CMT#{c}", "DOC#1"),
        ("DOC#{a}#CMT#{c}", "DOC##CMT#2"),
        ("DOC#{a}#END", "DOC#1#ENDS"),
        ("DOC#{rev:06d}", "DOC#2"),
        ("DOC#{rev:06d}", "DOC#00000\u0661"),
        ("DOC#{a}#{a}", "DOC#1#2"),
        ("{day:%Y-%m}#{day}", "2024-03#2024-02-29"),
        ("{day:%Y-%m}#{a}", "2024-13#x"),
        ("{day:%Y-%m}#{day:%Y}#{a}", "2024-01#2023#x"),
        ("DOC#{a}[#CMT#{b}]", "DOC#1#CMT#"),
        ("DOC#{a}[#CMT#{b}]", "DOC#1#CM"),
        ("DOC#{a}", "DOC#" + "x" * 1021),
        ("DOC#{a}", "DOC#\ud800"),
        ("META", "METADATA"),
    ],
)
def test_a_key_that_the_template_cannot_have_rendered_is_none(text: str, key: str) -> None:
    """Parsing is exact: whatever rendering would not give is no match."""
    assert template(text).match(key) is None


def test_r09_a_partial_key_ends_before_the_next_part() -> None:
    """R09: revisions of doc 1 begin with DOC#1#REV#, which no revision of doc 10 does."""
    made = template("DOC#{a}#REV#{rev:06d}")
    prefix, consumed, whole = made.prefix({"a": "1"}, entity="Doc")
    assert (prefix, consumed, whole) == ("DOC#1#REV#", 1, False)
    assert not made.render({"a": "10", "rev": 1}, entity="Doc").startswith(prefix)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ("REGION#", 0, False)),
        ({"other": 1}, ("REGION#", 0, False)),
        ({"a": "eu"}, ("REGION#eu#CITY#", 1, False)),
        ({"a": "eu", "c": "rome"}, ("REGION#eu#CITY#rome", 2, True)),
    ],
)
def test_a_prefix_goes_as_far_as_the_values(values: dict[str, Any], expected: tuple[str, int, bool]) -> None:
    """A prefix holds the literal before the first missing part; with all parts it is the key."""
    assert template("REGION#{a}#CITY#{c}").prefix(values, entity="Doc") == expected


@pytest.mark.parametrize(
    ("values", "part", "word"),
    [
        ({"c": "rome"}, "a", "'c', which comes after it"),
        ({"a": None}, "a", "is None"),
        ({"a": ""}, "a", "is empty"),
        ({"a": "e#u"}, "a", "holds '#'"),
    ],
)
def test_r11_a_prefix_with_a_gap_is_refused(values: dict[str, Any], part: str, word: str) -> None:
    """R11: a part that is skipped, None, empty or holds a separator is named; None is not "missing"."""
    with pytest.raises(KeyPartError, match=word) as caught:
        template("REGION#{a}#CITY#{c}").prefix(values, entity="Doc")
    assert caught.value.part == part


def test_r09_a_key_without_its_tail_is_no_safe_prefix() -> None:
    """R09: DOC#1 also begins DOC#10, so the tail must be named or left out by None, or the caller says loose."""
    made = template("DOC#{a}[#CMT#{b}]")
    with pytest.raises(KeyPartError, match="also begins others"):
        made.prefix({"a": "1"}, entity="Doc")
    assert made.prefix({"a": "1"}, entity="Doc", loose=True) == ("DOC#1", 1, False)
    assert made.prefix({"a": "1", "b": None}, entity="Doc") == ("DOC#1", 1, True)
    assert made.prefix({"a": "1", "b": "2"}, entity="Doc") == ("DOC#1#CMT#2", 2, True)


@pytest.mark.parametrize(("text", "prefix"), [("R#{rev:03d}[#{b}]", "R#001"), ("R#{rev:d}#[{b}]", "R#1#")])
def test_a_tail_after_a_known_end_is_a_safe_prefix(text: str, prefix: str) -> None:
    """Where a fixed width or a literal ends the part before the tail, its key begins no other's."""
    assert template(text).prefix({"rev": 1}, entity="Doc") == (prefix, 1, False)


def test_the_part_after_says_how_it_sorts() -> None:
    """The next part tells its field, width and whether a range by it is a range of keys."""
    made = template("{a}#{rev:06d}#{c}#{rev:d}")
    following = made.part_after({"a": "1"})
    assert following is not None
    assert (following.name, following.width, following.last, following.ordered) == ("rev", 6, False, True)
    assert [part.ordered for part in made.parts] == [False, True, False, False]
    assert made.part_after({"a": "1", "rev": 2, "c": "x"}) is None


@pytest.mark.parametrize(
    ("text", "ordered"),
    [("{day}", True), ("{day:%Y-%m}", True), ("{day:%d.%m.%Y}", False), ("{day:%Y-%d}", False), ("{at:%m-%d}", False)],
)
def test_only_formats_from_the_largest_unit_down_sort(text: str, ordered: object) -> None:
    """A date sorts by its text when no larger unit is missing or comes later."""
    assert template(text).parts[0].ordered is ordered


def test_the_beginning_of_a_part_is_checked() -> None:
    """A search by the beginning of a text part takes text without separators; a number has no beginning."""
    made = template("{a}#{day}#{rev:03d}")
    a, day, rev = made.parts
    assert made.begin_part(a, "2026-", entity="Doc") == "2026-"
    assert made.begin_part(day, "2026-", entity="Doc") == "2026-"
    for part, beginning in [(a, "x#"), (a, ""), (a, "\ud800"), (rev, "00")]:
        with pytest.raises(KeyPartError):
            made.begin_part(part, beginning, entity="Doc")


@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("DOC#", "DOC$"),
        ("a\U0010ffff", "b"),
        ("\ud7ff", "\ue000"),
        ("\uffff", "\U00010000"),
        ("", None),
        ("\U0010ffff\U0010ffff", None),
    ],
)
def test_next_prefix_steps_over_surrogates(text: str, following: str | None) -> None:
    """The bound above a prefix is the next code point that UTF-8 can hold."""
    assert next_prefix(text) == following


def bound_expression(made: Template, values: dict[str, Any]) -> Any:
    """What the template's generated expression gives for decoded values."""
    scope: dict[str, Any] = {f"d_{name}": value for name, value in values.items()}

    def bind(hint: str, value: Any) -> str:
        scope[f"{hint}_{len(scope)}"] = value
        return f"{hint}_{len(scope) - 1}"

    source = made.equals_source(bind, lambda name: f"d_{name}")
    assert source is not None
    return eval(source, scope)


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("WS#{a}#DOC#{c}", {"a": "acme", "c": "d1"}, "WS#acme#DOC#d1"),
        ("WS#{a}", {"a": "ac#me"}, None),
        ("WS#{a}", {"a": ""}, None),
        ("WS#{a}", {"a": None}, None),
        ("R#{rev:03d}#{day}", {"rev": 7, "day": date(2024, 1, 2)}, "R#007#2024-01-02"),
        ("R#{rev:03d}", {"rev": 1000}, None),
        ("R#{rev:03d}", {"rev": None}, None),
        ("D#{a}[#C#{b}]", {"a": "1", "b": None}, "D#1"),
        ("D#{a}[#C#{b}]", {"a": "1", "b": "2"}, "D#1#C#2"),
        ("META", {}, "META"),
    ],
)
def test_the_generated_expression_gives_the_key_or_none(text: str, values: dict[str, Any], key: str | None) -> None:
    """The expression for decoders agrees with render, and is None where render refuses."""
    assert bound_expression(template(text), values) == key


def test_there_is_no_quick_expression_for_dotted_parts() -> None:
    """A part inside a nested value is left to render."""
    made = Template.parse("{o.id}", types={"o.id": str}, separator="#", role="sk", owner="Doc")
    assert made.equals_source(lambda hint, value: hint, lambda name: name) is None


@pytest.mark.parametrize(("value", "limit"), [({"S": "é" * 512 + "x"}, 1024), ({"B": bytes(1025)}, 1024)])
def test_a_native_key_is_measured_in_bytes(value: dict[str, Any], limit: int) -> None:
    """The limit is of bytes, for text and for binary; numbers have none."""
    check_key_size({"N": "1" * 38}, "sk", "Row.n")
    with pytest.raises(LimitExceeded, match=r"Row\.n has 1025 bytes") as caught:
        check_key_size(value, "sk", "Row.n")
    assert (caught.value.limit, caught.value.actual) == (limit, 1025)
