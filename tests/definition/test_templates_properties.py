"""Laws of key templates, tried with hostile values: separators, NUL, astral characters, long texts."""

from __future__ import annotations

import enum
import itertools
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit.definition.templates import Template, next_prefix
from tablekit.errors import KeyPartError, LimitExceeded


class Kind(enum.Enum):
    """An enum with values that begin alike, one of them holding a separator."""

    A = "a"
    AB = "ab"
    ODD = "a#b"


TYPES: dict[str, Any] = {
    "a": str,
    "b": str,
    "c": str | None,
    "n": int,
    "k": Kind,
    "p": Decimal,
    "t": bool,
    "day": date,
    "at": datetime,
}
# Few characters, so that separators, literals and their beginnings meet often.
PIECES = st.sampled_from(
    ["#", "-", ":", "CMT", "#CMT#", "a", "b", "\0", "é", "\U0001f600", "\U0010ffff", "\ue000", "x" * 300]
)
TEXTS = st.one_of(
    st.text("abx", min_size=1, max_size=3), st.lists(PIECES, max_size=4).map("".join), st.text(max_size=4)
)
VALUES = st.fixed_dictionaries(
    {
        "a": TEXTS,
        "b": TEXTS,
        "c": st.none() | TEXTS,
        "n": st.integers(-3, 1200),
        "k": st.sampled_from(Kind),
        "p": st.decimals(-5, 5, places=2),
        "t": st.booleans(),
        "day": st.dates(),
        "at": st.datetimes(timezones=st.just(timezone.utc)),
    }
)
TEMPLATES = [
    ("{a}", "#"),
    ("X#{a}#{b}", "#"),
    ("X#{a}#CMT#{b}", "#"),
    ("X#{a}#CMT#{b}", None),
    ("{a}-{b}", "#"),
    ("{a}--{b}-", "#"),
    ("{a}::{b}", "::"),
    ("{a}aba{b}ab", None),
    ("{a}[#CMT#{c}]", "#"),
    ("{a}[#CMT#{c}]", None),
    ("{a}#[{c}]", "#"),
    ("{a}-x[-{c}-{b}]", "#"),
    ("{day}{n:03d}{a}", "#"),
    ("{n:03d}[{c}]", "#"),
    ("{n:d}-{a}", "#"),
    ("{n:d}0{n:03d}1{a}", None),
    ("{k}#{a}", "#"),
    ("{k}b{a}", None),
    ("{t}|{a}", None),
    ("{p:d}.{a}", None),
    ("{at:%Y#%m}#{at}#{a}", "#"),
]
PARSED = [Template.parse(text, types=TYPES, separator=sep, role="sk", owner="Doc") for text, sep in TEMPLATES]
FEW = settings(max_examples=30, deadline=None)
EACH = pytest.mark.parametrize("template", PARSED, ids=[f"{text} {sep}" for text, sep in TEMPLATES])


def rendered(template: Template, values: dict[str, Any]) -> str | None:
    """The key, or None where the values may not stand in it."""
    try:
        return template.render(values, entity="Doc")
    except (KeyPartError, LimitExceeded):
        return None


def used(template: Template, values: dict[str, Any]) -> dict[str, Any]:
    """The values that a key is made of: fields of an absent tail count as None."""
    if "c" in template.names and values["c"] is None:
        values = values | {part.name: None for part in template.parts if part.optional}
    return {name: values[name] for name in template.names}


def with_tail_whole(template: Template, values: dict[str, Any]) -> dict[str, Any]:
    """The values with every field of the tail None, when the one that decides is None."""
    return values | used(template, values)


@EACH
@FEW
@given(values=VALUES)
def test_a_rendered_key_reads_back(template: Template, values: dict[str, Any]) -> None:
    """Parsing a key is the inverse of rendering it."""
    values = with_tail_whole(template, values)
    key = rendered(template, values)
    assert key is None or template.match(key) == used(template, values)


@EACH
@FEW
@given(one=VALUES, other=VALUES)
def test_r10_two_rows_of_values_never_share_a_key(
    template: Template, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """R10: a template is injective over all values that it takes."""
    one, other = with_tail_whole(template, one), with_tail_whole(template, other)
    key, other_key = rendered(template, one), rendered(template, other)
    if key is not None and other_key is not None:
        assert (key == other_key) is (used(template, one) == used(template, other))


SHORT = ["".join(letters) for length in range(5) for letters in itertools.product("#-C", repeat=length)]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("{a}#{b}", "#"),
        ("{a}#C#{b}", None),
        ("{a}-C-{b}", "#"),
        ("{a}--{b}", "##"),
        ("{a}[#C#{b}]", None),
        ("{a}-[C{b}]", "#"),
        ("{a}[CC{b}]", "CC"),
    ],
)
def test_r10_no_two_short_rows_share_a_key(text: str, separator: str | None) -> None:
    """R10: of all pairs of texts of up to four separators and letters, no two that are taken share a key."""
    types = {"a": str, "b": str | None}
    template = Template.parse(text, types=types, separator=separator, role="sk", owner="Doc")
    rows = [{"a": a, "b": b} for a in SHORT for b in [*SHORT, None]]
    keys = [key for row in rows if (key := rendered(template, row)) is not None]
    assert len(keys) == len(set(keys)) > 0


@EACH
@FEW
@given(
    key=st.lists(st.sampled_from(["X", "#", "-", "CMT", "a", "b", "::", "0", "1", "true", "e", "."]), max_size=12).map(
        "".join
    )
)
def test_a_matched_key_is_rendered_again(template: Template, key: str) -> None:
    """Whatever match reads, render writes: no foreign key is taken for one of the template's."""
    values = template.match(key)
    if values is not None:
        assert template.render(values, entity="Doc") == key


@EACH
@FEW
@given(values=VALUES)
def test_a_key_is_its_literals_and_checked_parts(template: Template, values: dict[str, Any]) -> None:
    """The generated code gives the literals and the checked parts in turn, and refuses what a part refuses."""
    values = with_tail_whole(template, values)
    tail = any(values[part.name] is not None for part in template.parts if part.optional)
    literals = template.literals
    if template.base_end is not None and not tail:
        literals = (*literals[: template.required], template.base_end)
    try:
        texts = [
            template.render_part(part, values[part.name], entity="Doc") for part in template.parts[: len(literals) - 1]
        ]
    except KeyPartError:
        assert rendered(template, values) is None
        return
    key = "".join(itertools.chain.from_iterable(itertools.zip_longest(literals, texts, fillvalue="")))
    assert rendered(template, values) == (key if len(key.encode()) <= template.limit else None)


@EACH
@FEW
@given(values=VALUES, count=st.integers(0, 3), other=VALUES)
def test_r09_a_prefix_begins_the_keys_of_its_values_only(
    template: Template, values: dict[str, Any], count: int, other: dict[str, Any]
) -> None:
    """R09: a key begins with the prefix of some values (or is it, when whole) exactly when it is made of them."""
    part_values = {name: values[name] for name in template.names[: min(count, template.required)]}
    try:
        prefix, consumed, whole = template.prefix(part_values, entity="Doc")
    except (KeyPartError, LimitExceeded):
        return
    names = [part.name for part in template.parts[:consumed]]
    for candidate in (with_tail_whole(template, one) for one in (other, other | part_values)):
        key = rendered(template, candidate)
        same = all(candidate[name] == values[name] for name in names)
        if key is not None:
            assert (key == prefix if whole else key.startswith(prefix)) is same


@given(prefix=TEXTS, rest=TEXTS, other=TEXTS)
def test_next_prefix_is_the_least_bound(prefix: str, rest: str, other: str) -> None:
    """A text lies from the prefix up to its bound exactly when it starts with the prefix."""
    following = next_prefix(prefix)
    for text in (prefix + rest, other):
        above = following is not None and text.encode() >= following.encode()
        assert (text.encode() >= prefix.encode() and not above) is text.startswith(prefix)
