"""Key templates: what is refused when a class is made, and how keys are rendered."""

from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import attrs
import pytest

from tablekit.definition.templates import Template, bare_field, require_lossless
from tablekit.errors import DefinitionError, KeyPartError, LimitExceeded


@attrs.define
class Owner:
    """A nested value."""

    id: str
    rank: int = 0


class Status(enum.Enum):
    """An enum whose second value holds the separator."""

    DRAFT = "draft"
    ODD = "a#b"


TYPES: dict[str, Any] = {
    "left": str,
    "right": str,
    "rev": int,
    "price": Decimal,
    "blob": bytes,
    "day": date,
    "at": datetime,
    "uid": uuid.UUID,
    "status": Status,
    "owner": Owner | None,
}


def template(text: str, *, role: Any = "sk", separator: str | None = "#", **options: Any) -> Template:
    """A template over the fields above."""
    return Template.parse(text, types=TYPES, separator=separator, role=role, owner="Doc", **options)


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("DOC#{lefty}", "lefty", "'left' is the closest"),
        ("DOC#{owner.idd}", "owner.idd", "'id' is the closest"),
        ("DOC#{left.id}", "left.id", "no attrs class"),
        ("DOC#{left}{right}", "left", "side by side"),
        ("DOC#{rev}", "rev", "{rev:06d}"),
        ("DOC#{price}", "price", "order does not matter"),
        ("DOC#{blob}", "blob", "has no text"),
        ("DOC#{rev:6d}", "rev", "wrong format"),
        ("DOC#{at:%b}", "at", "fixed width"),
        ("DOC#{left:>8}", "left", "takes no format"),
        ("", None, "empty"),
        ("DOC#{left", None, "'{{'"),
        ("DOC#left}", None, "'}}'"),
        ("DOC#{}", None, "without a name"),
        ("DOC#{0}", None, "no name of a field"),
        ("DOC#{left!r}", None, "no name of a field"),
        ("DOC#[X", None, "'[['"),
        ("DOC#X]", None, "']]'"),
        ("DOC#[X]", None, "without a field"),
        ("DOC#[{left}]#X", None, "must end it"),
        ("[{left}]", None, "nothing but an optional tail"),
        ("{left}[#{right}[#{rev:d}]]", None, "one optional tail"),
        ("{left}[#{left}]", "left", "both before its optional tail"),
        ("X" * 1025, None, "1024"),
        ("DOC#\ud800", None, "surrogate"),
    ],
)
def test_a_wrong_template_is_told_when_the_class_is_made(text: str, field: str | None, words: str) -> None:
    """A wrong template is a DefinitionError that names class, template, field and remedy."""
    with pytest.raises(DefinitionError) as caught:
        template(text)
    assert (caught.value.owner, caught.value.field) == ("Doc", field)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"Doc: the sort key template {text!r} ")


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("{rev}#x", "pk"),
        ("{rev}#x", "index_pk"),
        ("{rev:d}#x", "sk"),
        ("{rev:06d}#x", "index_sk"),
        ("{price:d}#", "sk"),
    ],
)
def test_r13_a_number_needs_a_width_only_where_it_sorts(text: str, role: str) -> None:
    """R13: a partition key takes a plain number, a sort key one with a width or the word that order is no matter."""
    assert template(text, role=role).text == text


def test_a_bare_field_may_keep_its_native_type() -> None:
    """A template of one bare field passes whatever its type; only as text it is refused."""
    bare = template("{blob}")
    assert bare.native
    assert template("{rev}", key_type="N").native
    with pytest.raises(DefinitionError, match="no text"):
        bare.require_text()
    with pytest.raises(DefinitionError, match="width"):
        template("{rev}", key_type="S")


def test_a_native_key_is_one_bare_field() -> None:
    """A number or binary key cannot take a template that renders text."""
    with pytest.raises(DefinitionError, match="one bare field"):
        template("DOC#{left}", key_type="N")


@pytest.mark.parametrize(
    ("text", "name"), [("{left}", "left"), ("{left:d}", None), ("A{left}", None), ("{{left}}", None)]
)
def test_bare_fields_are_seen_without_types(text: str, name: str | None) -> None:
    """Only a template that is one part without a format is a bare field."""
    assert bare_field(text) == name


def test_doubled_braces_and_brackets_are_literal() -> None:
    """The characters of the grammar stand for themselves when doubled."""
    assert template("{{[[{left}]]}}").render({"left": "a"}, entity="Doc") == "{[a]}"


def test_a_lossy_format_must_be_completed_in_the_primary_key() -> None:
    """A lossy part is fine beside its full form, in either key, and a DefinitionError alone."""
    month, full = template("{day:%Y-%m}", role="pk"), template("{day}#{left}")
    require_lossless("Doc", month, full)
    with pytest.raises(DefinitionError, match="'day'") as caught:
        require_lossless("Doc", month, template("{left}"))
    assert caught.value.field == "day"


@pytest.mark.parametrize(
    ("text", "values", "key"),
    [
        ("WS#{left}#DOC#{right}", {"left": "acme", "right": "d1"}, "WS#acme#DOC#d1"),
        ("DOC#{rev:06d}", {"rev": 42}, "DOC#000042"),
        ("DOC#{rev:d}", {"rev": -5}, "DOC#-5"),
        ("{at:%Y#%m}{left}", {"at": datetime(2024, 1, 2, tzinfo=timezone.utc), "left": "x"}, "2024#01x"),
        ("DOC#{status}", {"status": Status.DRAFT}, "DOC#draft"),
        ("OWNER#{owner.id}", {"owner": Owner("o1")}, "OWNER#o1"),
        ("OWNER#{owner.id}", {"owner.id": "o1"}, "OWNER#o1"),
        ("DOC#{left}[#CMT#{right}]", {"left": "1", "right": "2"}, "DOC#1#CMT#2"),
        ("DOC#{left}[#CMT#{right}]", {"left": "1", "right": None}, "DOC#1"),
        ("DOC#{left}#[CMT#{right}]", {"left": "1"}, "DOC#1#"),
        ("ключ#{left}\"'\\\n", {"left": "é 日本%"}, "ключ#é 日本%\"'\\\n"),
    ],
)
def test_keys_are_rendered_exactly(text: str, values: dict[str, Any], key: str) -> None:
    """Values stand in the key as they are, formatted as the template says."""
    made = template(text)
    assert made.render(values, entity="Doc") == key


def test_r12_keys_keep_their_case() -> None:
    """R12: two ids that differ in case are two keys, read back in their exact case."""
    made = template("DOC#{left}")
    keys = [made.render({"left": one}, entity="Doc") for one in ("AbC-9_x", "abc-9_x")]
    assert keys == ["DOC#AbC-9_x", "DOC#abc-9_x"]
    assert made.match(keys[0]) == {"left": "AbC-9_x"}


@pytest.mark.parametrize(("left", "right", "part"), [("a#b", "c", "left"), ("a", "b#c", "right")])
def test_r10_a_value_that_holds_the_separator_is_refused(left: str, right: str, part: str) -> None:
    """R10: ("a#b", "c") and ("a", "b#c") would share a key, so the part is named and refused."""
    with pytest.raises(KeyPartError, match="holds '#'") as caught:
        template("X#{left}#{right}").render({"left": left, "right": right}, entity="Doc")
    assert (caught.value.entity, caught.value.template, caught.value.part) == ("Doc", "X#{left}#{right}", part)
    assert "a#b" not in str(caught.value)


@pytest.mark.parametrize("value", ["a-b", "a-", "-"])
def test_r10_a_value_that_runs_into_the_next_literal_is_refused(value: str) -> None:
    """R10: a literal other than the separator ends a part just as well, and may not stand in it."""
    with pytest.raises(KeyPartError, match="runs into '-'"):
        template("{left}-{right}").render({"left": value, "right": "c"}, entity="Doc")


def test_r10_a_value_that_completes_the_next_literal_early_is_refused() -> None:
    """R10: "a#CMT" before "#CMT#" would be read as "a", since the literal is found one step early."""
    made = template("{left}#CMT#{right}", separator=None)
    with pytest.raises(KeyPartError, match="runs into"):
        made.render({"left": "a#CMT", "right": "y"}, entity="Doc")
    assert made.match("a#CMT#CMT#y") == {"left": "a", "right": "CMT#y"}


@pytest.mark.parametrize(
    ("text", "values", "part", "word"),
    [
        ("DOC#{left}", {}, "left", "is missing"),
        ("DOC#{left}", {"left": None}, "left", "is None"),
        ("DOC#{left}", {"left": ""}, "left", "is empty"),
        ("DOC#{left}", {"left": 7}, "left", "wants a str"),
        ("DOC#{rev:06d}", {"rev": True}, "rev", "wants an int"),
        ("DOC#{owner.id}", {"owner": None}, "owner.id", "is None"),
        ("DOC#{owner.id}", {}, "owner.id", "is missing"),
        ("DOC#{left}[#{right}#{rev:d}]", {"left": "1", "right": "2", "rev": None}, "rev", "is None"),
        ("DOC#{status}", {"status": Status.ODD}, "status", "holds '#'"),
        ("DOC#{rev:d}-{left}", {"rev": -5, "left": "x"}, "rev", "runs into '-'"),
    ],
)
def test_r11_a_part_without_a_value_is_refused(text: str, values: dict[str, Any], part: str, word: str) -> None:
    """R11: a missing, None, empty or wrong part names entity, template and part; nothing is rendered."""
    with pytest.raises(KeyPartError, match=word) as caught:
        template(text).render(values, entity="Doc")
    assert (caught.value.entity, caught.value.template, caught.value.part) == ("Doc", text, part)


@pytest.mark.parametrize(("role", "limit"), [("pk", 2048), ("sk", 1024), ("index_pk", 2048), ("index_sk", 1024)])
def test_keys_over_the_limit_are_refused(role: str, limit: int) -> None:
    """DynamoDB's limits count bytes of UTF-8: a key of exactly the limit passes, one more byte does not."""
    made = template("{left}", role=role)
    assert len(made.render({"left": "é" * (limit // 2)}, entity="Doc").encode()) == limit
    with pytest.raises(LimitExceeded) as caught:
        made.render({"left": "é" * (limit // 2) + "a"}, entity="Doc")
    assert (caught.value.limit, caught.value.actual) == (limit, limit + 1)


def test_nested_parts_take_their_type_from_the_class() -> None:
    """The annotation inside an attrs class or dataclass decides how a dotted part is written."""
    made = template("O#{owner.rank:04d}")
    assert made.match(made.render({"owner": Owner("o", 12)}, entity="Doc")) == {"owner.rank": 12}


@dataclass
class Pair:
    """A dataclass that holds an attrs class."""

    owner: Owner


def test_types_may_be_a_function() -> None:
    """A function that raises KeyError serves as well as a mapping, and nested classes still resolve."""

    def types(name: str) -> Any:
        return {"pair": Pair}[name]

    made = Template.parse("{pair.owner.id}", types=types, separator="#", role="pk", owner="Doc")
    assert made.render({"pair": Pair(Owner("x"))}, entity="Doc") == "x"
    with pytest.raises(DefinitionError, match="no such field"):
        Template.parse("{pear}", types=types, separator="#", role="pk", owner="Doc")
