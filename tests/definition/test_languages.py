"""Whether keys of two templates can meet: never a wrong "could not", and exact for common templates."""

from __future__ import annotations

import enum
import itertools
import uuid
from datetime import date, datetime
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit.definition.languages import Language, could_equal, could_lie_between, could_start_with
from tablekit.definition.templates import Template, next_prefix
from tablekit.errors import KeyPartError, LimitExceeded


class Kind(enum.Enum):
    """An enum of a few texts."""

    A = "a"
    B = "bb"


TYPES: dict[str, Any] = {
    "a": str,
    "b": str | None,
    "n": int,
    "k": Kind,
    "t": bool,
    "w": Literal["META", "X"],
    "u": uuid.UUID,
    "day": date,
    "at": datetime,
}


def template(text: str, separator: str | None = "#") -> Template:
    """A sort key template over the fields above."""
    return Template.parse(text, types=TYPES, separator=separator, role="sk", owner="Doc")


def language(text: str, separator: str | None = "#", **values: Any) -> Language:
    """The keys of a template, with some parts fixed."""
    return Language.of(template(text, separator), values)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("DOC#{a}", "DOC#{a}#CMT#{b}", False),
        ("DOC#{a}", "DOC#{b}", True),
        ("DOC#{a}", "DOC#META", True),
        ("DOC#{a}", "META", False),
        ("{a}", "META", True),
        ("{a}", "DOC#META", False),
        ("USER#{a}", "USERGROUP#{a}", False),
        ("{n:d}", "{a}", True),
        ("{n:d}", "META", False),
        ("{n:03d}", "{n:04d}", False),
        ("{n:04d}", "{n:d}", True),
        ("{day}", "{at}", False),
        ("{day:%Y-%m}", "{day:%Y-%m-%d}", False),
        ("{u}", "{day}", False),
        ("{k}#{a}", "{t}#{a}", False),
        ("{w}", "META", True),
        ("{w}", "METAL", False),
        ("DOC#{a}[#CMT#{b}]", "DOC#{a}#CMT#{b}", True),
        ("DOC#{a}[#CMT#{b}]", "DOC#{a}#REV#{b}", False),
        ("{day:%Y#%m}#{a}", "{a}#{n:02d}#{b}", True),
        ("DOC#{a}#{n:06d}", "DOC#{a}#x{b}", False),
    ],
)
def test_templates_meet_exactly_when_a_key_is_in_both(a: str, b: str, expected: object) -> None:
    """Two templates share a key only where a value can stand for what the other spells."""
    assert could_equal(language(a), language(b)) is expected
    assert could_equal(language(b), language(a)) is expected


def test_without_a_separator_texts_may_hold_anything() -> None:
    """Where the table has no separator, a text part can spell out another template's literals."""
    assert could_equal(language("DOC#{a}", None), language("DOC#{a}#CMT#{b}", None))


@pytest.mark.parametrize(
    ("text", "prefix", "expected"),
    [
        ("DOC#{a}", "DOC#", True),
        ("DOC#{a}", "DOC#1", True),
        ("DOC#{a}", "DOC#1#CMT#", False),
        ("DOC#{a}#CMT#{b}", "DOC#1#CMT#", True),
        ("DOC#{a}#REV#{n:06d}", "DOC#1#CMT#", False),
        ("DOC#{n:06d}", "DOC#1#", False),
        ("META", "", True),
        ("META", "METADATA", False),
    ],
)
def test_a_language_knows_which_beginnings_its_keys_have(text: str, prefix: str, expected: object) -> None:
    """Trap 10 of the prototype: literal beginnings overlap where no key does."""
    assert could_start_with(language(text), prefix) is expected


def test_r09_a_type_prefix_is_not_another_types() -> None:
    """R09: USER# begins no key of USERGROUP#9."""
    assert not could_start_with(language("USERGROUP#{a}"), "USER#")


@pytest.mark.parametrize(
    ("text", "low", "high", "expected"),
    [
        ("DOC#{a}", "DOC#1", "DOC#1#\U0010ffff", True),
        ("DOC#{n:d}", "DOC#1#", "DOC#1#\U0010ffff", False),
        ("DOC#{a}#CMT#{b}", "DOC#1#", "DOC#1$", True),
        ("META", "DOC#1", "DOC#2", False),
        ("META", "META", "META", True),
        ("META", "META\0", "METB", False),
        ("DOC#{n:03d}", "DOC#9", "DOC#:", True),
        ("DOC#{n:03d}", "DOC#:", "DOC#~", False),
        ("{day}", "2024-01-01", "2024-01-01", True),
        ("{a}", "b", "a", False),
        ("{a}", "", "", False),
    ],
)
def test_a_language_knows_which_ranges_it_enters(text: str, low: str, high: str, expected: object) -> None:
    """Both bounds are included, and order is that of UTF-8 bytes."""
    assert could_lie_between(language(text), low, high) is expected


def test_parts_can_be_fixed_to_values() -> None:
    """A known value narrows the language to the keys that have it."""
    one = language("DOC#{a}#CMT#{b}", a="1")
    assert could_start_with(one, "DOC#1#")
    assert not could_start_with(one, "DOC#10")
    assert not could_equal(one, language("DOC#{a}#CMT#{b}", a="2"))


def test_a_tail_can_be_fixed_to_be_absent() -> None:
    """None for a field of the optional tail leaves the keys without it; a value, those with it."""
    without, with_it = language("DOC#{a}[#CMT#{b}]", b=None), language("DOC#{a}[#CMT#{b}]", b="x")
    assert "DOC#1" in without
    assert "DOC#1" not in with_it
    assert not could_equal(without, with_it)


def test_a_value_that_cannot_stand_in_its_part_is_refused() -> None:
    """Fixing a part checks the value as rendering does."""
    with pytest.raises(KeyPartError, match="holds '#'"):
        language("DOC#{a}", a="x#y")


def test_one_key_is_a_language() -> None:
    """A constant key, such as a singleton's, is asked about like a template."""
    assert could_equal(Language.of_text("DOC#1"), language("DOC#{a}"))
    assert not could_equal(Language.of_text("DOC#1#"), language("DOC#{a}"))


TEXTS = st.one_of(
    st.text("ab#-", max_size=4), st.text(max_size=3), st.sampled_from(["META", "\U0010ffff", "\0", "a::"])
)
VALUES = st.fixed_dictionaries(
    {
        "a": TEXTS,
        "b": st.none() | TEXTS,
        "n": st.integers(-5, 10_000),
        "k": st.sampled_from(Kind),
        "t": st.booleans(),
        "w": st.sampled_from(["META", "X"]),
        "u": st.uuids(),
        "day": st.dates(),
        "at": st.datetimes(timezones=st.timezones()),
    }
)
SPELLINGS = [
    "{a}", "X#{a}#{n:04d}", "{a}-{n:d}", "{a}[#{b}]", "{a}#[-{b}]", "{k}--{a}", "{t}#{w}", "{u}{day}",
    "{at}#{day:%G-W%V}", "{a}::{k}", "META",
]  # fmt: skip
LANGUAGES = [
    (made, Language.of(made))
    for text in SPELLINGS
    for separator in ("#", "::", None)
    for made in [template(text, separator)]
]


@settings(max_examples=100, deadline=None)
@given(pick=st.sampled_from(LANGUAGES), values=VALUES, low=TEXTS, high=TEXTS, cut=st.integers(0, 40))
def test_never_a_wrong_could_not(
    pick: tuple[Template, Language], values: dict[str, Any], low: str, high: str, cut: int
) -> None:
    """A key that was rendered is in its language, starts with its beginnings, and lies where it lies."""
    made, keys = pick
    try:
        key = made.render(values, entity="Doc")
    except (KeyPartError, LimitExceeded):
        return
    assert key in keys
    assert could_start_with(keys, key[:cut])
    assert all(could_equal(keys, other) for _, other in LANGUAGES if key in other)
    if low.encode() <= key.encode() <= high.encode():
        assert could_lie_between(keys, low, high)


@settings(max_examples=100, deadline=None)
@given(pick=st.sampled_from(LANGUAGES), prefix=TEXTS)
def test_a_beginning_is_a_range(pick: tuple[Template, Language], prefix: str) -> None:
    """Starting with a text is lying from it up to the next prefix, where that is no key itself."""
    _, keys = pick
    following = next_prefix(prefix)
    if following is not None and following not in keys:
        assert could_start_with(keys, prefix) is could_lie_between(keys, prefix, following)


def test_short_keys_are_told_exactly() -> None:
    """For a one-character separator the language holds exactly the keys that parse, among all short texts."""
    for text in ("{a}", "{a}#{n:02d}", "{a}[#{b}]", "{n:d}-{a}", "{k}#{a}"):
        made, keys = template(text), language(text)
        for letters in itertools.chain.from_iterable(itertools.product("#a0-b", repeat=size) for size in range(6)):
            key = "".join(letters)
            assert (key in keys) is (made.match(key) is not None) or _spelled_otherwise(key)


def _spelled_otherwise(key: str) -> bool:
    # A number with leading zeros, or the negative zero: the language is wider there, as documented.
    return key.lstrip("-").startswith("0")
