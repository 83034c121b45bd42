"""Update actions: what the methods of a column make, and what is refused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tablekit.errors import EncodeError, ExpressionError
from tablekit.expressions.actions import (
    add_number,
    check_actions,
    remove_attribute,
    remove_path,
    set_attribute,
    set_if_not_exists,
    set_path,
)
from tests.support.columns import column, update_text


@attrs.define
class Address:
    """A nested class, one of whose attributes is stored under another name."""

    city: str
    state: str = attrs.field(default="", metadata={"tablekit": {"name": "st"}})


title = column("title", str)
count = column("count", int)
maybe = column("maybe", int | None)
tags = column("tags", set[str])
items = column("items", list[str])
meta = column("meta", dict[str, Any])
address = column("address", Address | None)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (title.set("a"), "SET title = 'a'"),
        (title.set(column("other", str)), "SET title = other"),
        (count.set(count + 1), "SET count = count + '1'"),
        (count.set(count - 1), "SET count = count - '1'"),
        (count.set(10 - count), "SET count = '10' - count"),
        (count.set(count + column("step", int)), "SET count = count + step"),
        (count.set(count.if_not_exists(0)), "SET count = if_not_exists(count, '0')"),
        (count.set(count.if_not_exists(0) + 1), "SET count = if_not_exists(count, '0') + '1'"),
        (count.add(2), "ADD count '2'"),
        (tags.add({"a"}), "ADD tags ['a']"),
        (tags.delete({"a"}), "DELETE tags ['a']"),
        (title.remove(), "REMOVE title"),
        (maybe.set(None), "REMOVE maybe"),
        (column("kept", int | None, null=True).set(None), "SET kept = True"),
        (items.prepend(["x"]), "SET items = list_append(['x'], if_not_exists(items, []))"),
        (meta["k"].set(None), "SET meta.k = True"),
        (meta["a"]["b"][0].set("x"), "SET meta.a.b[0] = 'x'"),
        (set_attribute("n", {"S": "v"}), "SET n = 'v'"),
        (set_if_not_exists("n", {"S": "v"}), "SET n = if_not_exists(n, 'v')"),
        (add_number("n", 1), "ADD n '1'"),
        (remove_attribute("n"), "REMOVE n"),
        (set_path(("m", "k", 0), {"S": "v"}), "SET m.k[0] = 'v'"),
        (remove_path(("m", "k")), "REMOVE m.k"),
    ],
)
def test_action_gives_dynamodb_words(action: Any, text: str) -> None:
    """Each method gives the clause that DynamoDB has for it."""
    assert update_text(action) == text.replace("['x']", "[{'S': 'x'}]")


def test_r05_set_to_an_empty_set_removes() -> None:
    """R05: setting a set field to an empty set sends REMOVE, never NULL."""
    assert update_text(tags.set(set())) == "REMOVE tags"


def test_r29_nested_set_changes_one_key() -> None:
    """R29: a nested attribute is set alone, under its stored name; its siblings are not mentioned."""
    action = address.at(lambda a: a.state).set("NV")
    assert update_text(action) == "SET address.st = 'NV'"
    assert str(action.path) == "Document.address.state"


def test_r30_several_list_elements_in_one_call() -> None:
    """R30: removals of several elements stand side by side, with the indexes of the list as it is stored."""
    assert update_text(items[1].remove(), items[2].remove()) == "REMOVE items[1], items[2]"


@pytest.mark.parametrize("index", [-1, 1.0, True, "1"])
def test_r30_other_indexes_are_refused(index: Any) -> None:
    """R30: an index that is negative or no int is refused."""
    with pytest.raises(ExpressionError, match=r"Document\.items"):
        items[index]


def test_r31_append_starts_a_missing_list() -> None:
    """R31: append works on a list that is not there yet."""
    text = "SET items = list_append(if_not_exists(items, []), [{'S': 'x'}])"
    assert update_text(items.append(["x"])) == text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (meta.set({}), meta["color"].set("red")),
        (meta["color"].set("red"), meta.set({})),
        (items.set([]), items[0].remove()),
        (title.set("a"), title.remove()),
        (meta["a"]["b"].set(1), meta["a"].remove()),
    ],
)
def test_r27_overlapping_paths_are_refused(first: Any, second: Any) -> None:
    """R27: a path twice, or a path and its child, is refused and both are named as they were written."""
    with pytest.raises(ExpressionError, match="overlap") as caught:
        check_actions([first, second])
    assert caught.value.paths == (str(first.path), str(second.path))


def test_r27_list_and_map_at_one_place_conflict() -> None:
    """R27: one value cannot be taken for a list and for a map."""
    with pytest.raises(ExpressionError, match="conflict"):
        check_actions([meta["a"][0].set(1), meta["a"]["b"].set(1)])


def test_r27_neighbours_are_allowed() -> None:
    """R27: two elements of a list, and keys of which one begins with the other, do not overlap."""
    check_actions([items[0].set("a"), items[1].set("b"), meta["a"].set(1), meta["ab"].set(2)])


def test_r27_managed_and_key_attributes_are_refused() -> None:
    """R27: an attribute that tablekit keeps, or of the primary key, cannot be changed by hand."""
    with pytest.raises(ExpressionError, match=r"Document\.revision is kept by tablekit"):
        check_actions([column("revision", int, managed=True).set(3)])
    with pytest.raises(ExpressionError, match=r"Document\.doc_id makes up the primary key"):
        check_actions([column("doc_id", str, key=True).set("x")])


@pytest.mark.parametrize(
    "refused",
    [
        lambda: title + "a",
        lambda: count.set((count + 1) + 1),  # type: ignore[operator]
        lambda: title.add("a"),
        lambda: count.delete(1),
        lambda: tags.add(set()),
        lambda: tags.delete(set()),
        lambda: items.append("xy"),
        lambda: tags.append(["a"]),
        lambda: address.at(lambda a: "city"),
        lambda: address.at(lambda a: a.town),
        lambda: column("sets", list[set[str]])[0].set(set()),
    ],
)
def test_what_dynamodb_would_refuse_is_refused_at_once(refused: Any) -> None:
    """An action that DynamoDB cannot take is an error on the caller's line."""
    with pytest.raises((ExpressionError, TypeError)):
        refused()


def test_none_for_a_required_field_is_refused() -> None:
    """A field that is never None cannot be set to None."""
    with pytest.raises(EncodeError, match=r"Document\.title"):
        title.set(None)


def test_value_is_kept_as_given() -> None:
    """A set action keeps the caller's value, of which index keys are made."""
    assert title.set("a").operand.python == "a"  # type: ignore[attr-defined]
