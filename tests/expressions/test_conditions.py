"""Conditions: what the operators of a column make."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tablekit.errors import EncodeError, ExpressionError
from tablekit.expressions.conditions import all_of, any_of, conjunction, leaves, one_of, owners, paths
from tests.support.columns import Document, column, condition_text

title = column("title", str)
count = column("count", int)
maybe = column("maybe", int | None)
tags = column("tags", set[str])
items = column("items", list[int])
meta = column("meta", dict[str, str])
at = column("at", datetime)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (title == "a", "title = 'a'"),
        (title != "a", "title <> 'a'"),
        (count < 3, "count < '3'"),
        (count <= 3, "count <= '3'"),
        (count > 3, "count > '3'"),
        (count >= 3, "count >= '3'"),
        (count.between(1, 3), "count BETWEEN '1' AND '3'"),
        (title.is_in(["a", "b"]), "title IN ('a', 'b')"),
        (title.is_in(["a"]), "title = 'a'"),
        (title.begins_with("a"), "begins_with(title, 'a')"),
        (title.contains("a"), "contains(title, 'a')"),
        (tags.contains("a"), "contains(tags, 'a')"),
        (items.contains(3), "contains(items, '3')"),
        (title.exists(), "attribute_exists(title)"),
        (title.not_exists(), "attribute_not_exists(title)"),
        (title.is_type("S"), "attribute_type(title, 'S')"),
        (tags.size() > 2, "size(tags) > '2'"),
        (tags.size() == items.size(), "size(tags) = size(items)"),
        (tags.size().between(1, 2), "size(tags) BETWEEN '1' AND '2'"),
        (title == column("other", str), "title = other"),
        (meta["lang"] == "en", "meta.lang = 'en'"),
        (items[0] == 3, "items[0] = '3'"),
        (at.begins_with("2026-"), "begins_with(at, '2026-')"),
        (~(title == "a"), "NOT title = 'a'"),
        (~~(title == "a"), "title = 'a'"),
    ],
)
def test_operator_gives_dynamodb_words(condition: Any, text: str) -> None:
    """Each operator and method gives the comparison or function that DynamoDB has for it."""
    assert condition_text(condition) == text


def test_equal_none_means_null_or_missing() -> None:
    """On a field that may be None, == None holds of a missing attribute and of NULL."""
    assert condition_text(maybe == None) == "attribute_not_exists(maybe) OR maybe = True"  # noqa: E711


def test_unequal_none_is_the_opposite() -> None:
    """!= None is the negation of == None."""
    assert condition_text(maybe != None) == "NOT (attribute_not_exists(maybe) OR maybe = True)"  # noqa: E711


def test_none_of_a_field_that_is_never_none_is_refused() -> None:
    """Comparing a field that is never None with None names the method that was meant."""
    with pytest.raises(ExpressionError, match=r"Document\.title: .*\.not_exists\(\)"):
        title == None  # noqa: B015, E711


def test_equal_empty_set_means_missing() -> None:
    """DynamoDB has no empty set, so == set() asks for a missing attribute and != set() for a present one."""
    assert condition_text(tags == set()) == "attribute_not_exists(tags)"
    assert condition_text(tags != set()) == "attribute_exists(tags)"


def test_wrong_value_is_named_where_it_is_written() -> None:
    """A value of the wrong type is an EncodeError that names class and field, and not the value."""
    with pytest.raises(EncodeError, match=r"^Document\.title: ") as caught:
        title == 31337  # noqa: B015
    assert (caught.value.entity, caught.value.field) == ("Document", "title")
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: title.is_in([]),
        lambda: title.is_in("abc"),
        lambda: count.between(3, 1),
        lambda: count.begins_with("1"),
        lambda: title.contains(3),
        lambda: count.contains("3"),
        lambda: tags.contains({"a"}),
        lambda: meta.contains("a"),
        lambda: tags < {"a"},
        count.size,
        lambda: tags.size() > True,
        lambda: title.is_type("TEXT"),
        lambda: title == column("title", str),
        lambda: count == count + 1,
        lambda: title["a"],
        lambda: title[0],
        lambda: meta[""],
        lambda: meta[0],
        lambda: items[-1],
        lambda: items[True],
        lambda: items[1.0],
    ],
)
def test_what_dynamodb_would_refuse_is_refused_at_once(refused: Any) -> None:
    """A condition that DynamoDB cannot take is an ExpressionError on the caller's line, naming the path."""
    with pytest.raises(ExpressionError) as caught:
        refused()
    assert caught.value.paths[0].startswith("Document.")


@pytest.mark.parametrize("value", [title, title == "a", tags.size()])
def test_truth_value_is_an_error(value: Any) -> None:
    """`and`, `or` and `if` on a column or condition raise, since they would drop half of the condition."""
    with pytest.raises(TypeError, match=r"&|compare it"):
        bool(value)


def test_in_and_iteration_are_errors() -> None:
    """`x in column` names .contains, and a column cannot be iterated without end."""
    with pytest.raises(TypeError, match=r"\.contains"):
        "a" in tags  # noqa: B015
    with pytest.raises(TypeError, match="not iterable"):
        list(tags)  # type: ignore[call-overload]


def test_is_in_with_none_asks_for_it_as_equality_does() -> None:
    """None among the values of is_in matches a missing attribute and NULL."""
    assert condition_text(maybe.is_in([1, None])) == "maybe = '1' OR attribute_not_exists(maybe) OR maybe = True"


def test_is_in_over_100_is_split() -> None:
    """More than 100 values become several INs, since DynamoDB takes 100 operands in one."""
    found = list(leaves(count.is_in(range(250))))
    assert [leaf.operator for leaf in found] == ["IN", "IN", "IN"]


def test_groups_are_flat() -> None:
    """Ten thousand terms joined one by one are one flat group, and walking it does not recurse."""
    condition = count == 0
    for number in range(1, 10_000):
        condition |= count == number
    assert len(paths(condition)) == 10_000


def test_deep_alternation_is_walked_without_recursion() -> None:
    """Conditions nested ten thousand deep are walked, counted and let go of."""
    condition = count == 0
    for number in range(5_000):
        condition = ~((condition & (count == number)) | (title == "a"))
    assert condition.operators == 1 + 5_000 * 5
    assert owners(condition) == {Document}


def test_joining_helpers() -> None:
    """all_of and any_of join what they are given; conjunction leaves out what is None."""
    a, b = title == "a", count == 1
    assert condition_text(all_of(a, b)) == "title = 'a' AND count = '1'"
    assert condition_text(any_of(a, b)) == "title = 'a' OR count = '1'"
    assert conjunction(None, a) is a
    assert conjunction(None) is None


def test_one_of_takes_encoded_values() -> None:
    """Other layers name attributes by their stored name and give values encoded."""
    assert condition_text(one_of("EntityType", [{"S": "A"}, {"S": "B"}])) == "EntityType IN ('A', 'B')"


def test_repr_shows_paths_and_no_values() -> None:
    """The repr of a condition names the paths and never a value."""
    assert repr(title == "secret") == "<Condition on Document.title>"


def test_datetime_is_encoded_by_the_codec() -> None:
    """Values go through the field's codec, so that they compare as they are stored."""
    assert "2026-01-01T00:00:00" in condition_text(at > datetime(2026, 1, 1, tzinfo=timezone.utc))


def test_is_in_of_several_arguments_says_how_it_is_written() -> None:
    """The values come in one collection."""
    with pytest.raises(ExpressionError, match=r"is_in\(\[a, b\]\)"):
        title.is_in("a", "b")


def test_joining_what_is_no_condition_is_refused() -> None:
    """A bool among the terms is told with the remedy."""
    with pytest.raises(ExpressionError, match="'is None' write == None"):
        all_of(title == "x", True)
