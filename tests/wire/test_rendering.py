"""Rendering: placeholders, limits and the grammar of what is sent."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit.errors import ExpressionError, LimitExceeded
from tablekit.expressions.actions import Remove, remove_attribute, set_attribute, set_path
from tablekit.expressions.conditions import Condition, between, equals
from tablekit.expressions.paths import attribute
from tablekit.wire.rendering import Renderer
from tests.support.columns import column, condition_text, update_text
from tests.support.expressions import HOSTILE, conditions

title = column("title", str)
count = column("count", int)
meta = column("meta", dict[str, str])

CONDITION_TOKENS = re.compile(
    r"(?:#[A-Za-z0-9_]+(?:\.#[A-Za-z0-9_]+|\[\d+\])*|:[A-Za-z0-9_]+|<=|>=|<>|[=<>(),]"
    r"|AND|OR|NOT|BETWEEN|IN|attribute_exists|attribute_not_exists|begins_with|contains|size| )*"
)


@given(conditions())
def test_r34_text_is_of_a_closed_grammar(condition: Condition) -> None:
    """R34: whatever the names, the text holds placeholders, keywords and punctuation only, all of them defined."""
    renderer = Renderer()
    text = renderer.render_condition(condition)
    assert CONDITION_TOKENS.fullmatch(text)
    assert set(re.findall(r"#\w+", text)) == set(renderer.names or {})
    assert set(re.findall(r":\w+", text)) == set(renderer.values or {})
    assert not doubled_parentheses(text)


def doubled_parentheses(text: str) -> bool:
    """Whether one pair of parentheses holds nothing but another, which DynamoDB refuses as redundant."""
    opened: list[int] = []
    pairs: set[tuple[int, int]] = set()
    for position, character in enumerate(text):
        if character == "(":
            opened.append(position)
        elif character == ")":
            pairs.add((opened.pop(), position))
    return any((start + 1, end - 1) in pairs for start, end in pairs)


@given(st.lists(HOSTILE, min_size=1, max_size=8, unique=True))
def test_r34_each_name_keeps_its_own_placeholder(names: list[str]) -> None:
    """R34: distinct names get distinct placeholders, and each stands for exactly its name."""
    renderer = Renderer()
    text = renderer.render_update([remove_attribute(name) for name in names])
    shown = [(renderer.names or {})[alias] for alias in text.removeprefix("REMOVE ").split(", ")]
    assert shown == names


def test_r34_a_key_with_a_dot_is_one_segment() -> None:
    """R34: a map key with a dot is one segment of the path, not two."""
    renderer = Renderer()
    assert renderer.render_condition(meta["a.b"] == "x") == "#meta.#a_b = :a_b"
    assert renderer.names == {"#meta": "meta", "#a_b": "a.b"}


def test_r20_or_cannot_escape() -> None:
    """R20: the caller's OR is enclosed when the type condition is added."""
    condition = ((title == "a") | (title == "b")) & equals("EntityType", {"S": "Document"})
    assert condition_text(condition) == "(title = 'a' OR title = 'b') AND EntityType = 'Document'"


def test_and_inside_or_needs_no_parentheses() -> None:
    """AND binds closer than OR, and DynamoDB refuses parentheses that are doubled."""
    assert condition_text((title == "a") | ((title == "b") & (count == 1))) == (
        "title = 'a' OR title = 'b' AND count = '1'"
    )


def test_not_encloses_a_group() -> None:
    """A negated group is enclosed once, inside a conjunction too."""
    condition = (count == 1) & ~((title == "a") | (title == "b"))
    assert condition_text(condition) == "count = '1' AND NOT (title = 'a' OR title = 'b')"


def test_r25_set_and_removals_in_one_update() -> None:
    """R25: sets and removals of one call stand in one update, each clause once."""
    actions = [remove_attribute("due"), title.set("t2"), remove_attribute("G1P"), remove_attribute("G1S")]
    assert update_text(*actions) == "SET title = 't2' REMOVE due, G1P, G1S"


def test_clauses_have_one_order() -> None:
    """The clauses follow SET, REMOVE, ADD, DELETE, whatever the order of the actions."""
    tags, more = column("tags", set[str]), column("more", set[str])
    text = update_text(tags.delete({"a"}), count.add(1), title.remove(), more.set({"b"}))
    assert text == "SET more = ['b'] REMOVE title ADD count '1' DELETE tags ['a']"


def test_r26_no_actions_are_refused() -> None:
    """R26: an update of nothing is refused, never sent malformed."""
    with pytest.raises(ExpressionError, match="no actions"):
        Renderer().render_update([])


def test_r26_values_are_absent_when_there_are_none() -> None:
    """R26: an update that only removes has no values, and they are None, not {}."""
    renderer = Renderer()
    renderer.render_update([title.remove()])
    assert renderer.values is None
    assert renderer.names == {"#title": "title"}


def test_r31_an_update_without_append_has_no_spare_value() -> None:
    """R31: the empty list is a value only where something is appended."""
    renderer = Renderer()
    renderer.render_update([title.set("a")])
    assert renderer.values == {":title": {"S": "a"}}


def test_expressions_of_one_request_share_names_and_values() -> None:
    """Names, and equal values under one word, are shared; other values get a number."""
    renderer = Renderer()
    guard = equals("EntityType", {"S": "Document"}, hint="document")
    update = renderer.render_update([title.set("a"), set_attribute("EntityType", {"S": "Document"}, hint="document")])
    condition = renderer.render_condition(guard & (title == "b"))
    assert update == "SET #title = :title, #EntityType = :document"
    assert condition == "#EntityType = :document AND #title = :title_2"


def test_secret_placeholders_are_told() -> None:
    """The placeholders of secret fields are known, so that what shows the request can mask them."""
    renderer = Renderer()
    renderer.render_condition((column("token", str, secret=True) == "x") & (title == "y"))
    assert renderer.secrets == {":token"}


def test_projection_drops_what_lies_inside() -> None:
    """A projection names each path once, and no path inside another, in the caller's order."""
    renderer = Renderer()
    assert renderer.render_projection([meta["a"].path, "title", meta.path, title.path]) == "#title, #meta"


def test_projection_conflict_is_refused() -> None:
    """A projection cannot take one value for a list and for a map."""
    with pytest.raises(ExpressionError, match="conflict"):
        Renderer().render_projection([attribute("m", 0), attribute("m", "x")])


def test_key_condition_takes_what_dynamodb_takes() -> None:
    """A key condition is an equality, with a range of the sort key."""
    text = Renderer().render_key_condition(equals("PK", {"S": "a"}) & between("SK", {"S": "a"}, {"S": "b"}))
    assert text == "#PK = :PK AND #SK BETWEEN :SK_low AND :SK_high"


@pytest.mark.parametrize("condition", [title != "a", (title == "a") | (title == "b"), ~(title == "a"), title.exists()])
def test_key_condition_refuses_the_rest(condition: Condition) -> None:
    """OR, NOT, <> and functions do not stand in a key condition."""
    with pytest.raises(ExpressionError, match="filter"):
        Renderer().render_key_condition(condition)


def test_300_operators_pass_and_301_do_not() -> None:
    """The limit of 300 operators counts comparisons and the ANDs between them."""
    condition = count == 0
    for number in range(1, 150):
        condition &= count == number
    assert condition.operators == 299
    Renderer().render_condition(~condition)
    with pytest.raises(LimitExceeded) as caught:
        Renderer().render_condition(condition & (count == 150))
    assert (caught.value.limit, caught.value.actual) == (300, 301)


def test_ten_thousand_terms_are_refused_by_size() -> None:
    """A condition of ten thousand terms is refused by the limit, not by Python's recursion."""
    condition = count == 0
    for number in range(1, 10_000):
        condition |= count == number
    with pytest.raises(LimitExceeded):
        Renderer().render_condition(condition)


def test_long_text_falls_back_to_short_placeholders() -> None:
    """Text over 4 KB with readable placeholders is sent with short ones, and no readable one is left over."""
    renderer = Renderer()
    text = renderer.render_update([set_attribute(f"{'attribute' * 4}{n}", {"N": str(n)}) for n in range(100)])
    assert len(text) <= 4096
    assert text.startswith("SET #0 = :0, #1 = :1")
    assert len(renderer.names or {}) == len(renderer.values or {}) == 100
    assert set(re.findall(r"[#:]\w+", text)) == {*(renderer.names or {}), *(renderer.values or {})}


def test_short_placeholders_do_not_meet_names_that_are_numbers() -> None:
    """An attribute that is itself called 0 keeps its placeholder when a later expression is shortened."""
    renderer = Renderer()
    first = renderer.render_condition(equals("0", {"S": "zero"}))
    renderer.render_update([set_attribute(f"{'x' * 39}{n}", {"N": str(n)}) for n in range(120)])
    assert first == "#0 = :0"
    assert ((renderer.names or {})["#0"], (renderer.values or {})[":0"]) == ("0", {"S": "zero"})


def test_text_over_4_kb_is_refused_and_leaves_nothing() -> None:
    """Text over 4 KB even with short placeholders is refused, and adds no names that nothing mentions."""
    renderer = Renderer()
    actions = [set_path(("a", "b", "c", "d", n), {"N": "1"}) for n in range(250)]
    with pytest.raises(LimitExceeded, match="4096"):
        renderer.render_update(actions)
    assert renderer.names is None


def test_rendering_is_repeatable() -> None:
    """Conditions and actions are not changed by being rendered."""
    condition = (title == "a") & (count > 1)
    assert Renderer().render_condition(condition) == Renderer().render_condition(condition)


def test_hints_are_cut_to_the_grammar() -> None:
    """A word that is no placeholder as it stands is spelled with underscores."""
    renderer = Renderer()
    value: Any = {"S": "x"}
    assert renderer.render_condition(equals("EntityType", value, hint="a b)")) == "#EntityType = :a_b_"


def test_remove_of_a_path_object() -> None:
    """Actions made from a path render like those made from a column."""
    assert update_text(Remove(meta["k"].path)) == "REMOVE meta.k"
