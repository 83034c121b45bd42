"""Items: what an entity is stored as, and what a row is read as."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs
import pytest

from tablekit import (
    DecodeError,
    EncodeError,
    Entity,
    Field,
    KeyPartError,
    LimitExceeded,
    NotLoaded,
    Table,
    created_at,
    field,
    updated_at,
    version,
)
from tablekit.definition.entity import EXTRA, MARKERS, STORED_KEY
from tablekit.wire.items import decode_carefully, decoder


@attrs.define
class Part:
    """A nested class."""

    n: int


class Row(Entity, table=Table("t"), pk="P#{a}", sk="S#{n:03d}", aliases=("Old",)):
    """Fields of several ways to be missing."""

    a: Field[str]
    n: Field[int]
    plain: Field[set[str]]
    note: Field[str | None] = field(default=None)
    level: Field[int | None] = field(default=3)
    maybe: Field[set[str] | None] = field(default=None)
    some: Field[set[str] | None] = field(factory=set)
    made: Field[set[str]] = field(factory=lambda: {"x"})
    names: Field[list[str]] = field(factory=list, name="name.s")
    odd: Field[str] = field(factory=lambda: "new", on_missing="old")
    part: Field[Part | None] = field(default=None)
    free: Field[Any] = field(default=None)
    revision = version()


def row(**values: Any) -> Row:
    """A row with short arguments."""
    return Row(**{"a": "x", "n": 1, "plain": set(), "odd": "new"} | values)


def again(entity: Any) -> Any:
    """What is read of what is written."""
    return type(entity).from_item(entity.to_item())


def test_an_item_has_its_key_its_type_and_its_fields() -> None:
    """R01: values stand under their own tags; what reads back by being missing is left out."""
    assert row(made={"y"}).to_item() == {
        "PK": {"S": "P#x"},
        "SK": {"S": "S#001"},
        "EntityType": {"S": "Row"},
        "a": {"S": "x"},
        "n": {"N": "1"},
        "level": {"N": "3"},
        "made": {"SS": ["y"]},
        "name.s": {"L": []},
        "odd": {"S": "new"},
        "revision": {"N": "1"},
    }


EMPTY = [
    ("plain", set()),
    ("note", None),
    ("note", ""),
    ("level", None),
    ("maybe", None),
    ("some", None),
    ("some", set()),
    ("names", []),
    ("free", None),
    ("free", {}),
    ("free", []),
    ("free", ""),
]


@pytest.mark.parametrize(("name", "value"), EMPTY, ids=[f"{name}={value!r}" for name, value in EMPTY])
def test_none_and_empty_read_back_as_written(name: str, value: Any) -> None:
    """R05: for each kind of default, what was written is what is read."""
    entity = row(**{name: value})
    assert getattr(again(entity), name) == value
    assert again(entity) == again(again(entity))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("made", set(), "an empty set cannot be stored"),
        ("maybe", set(), "an empty set cannot be stored"),
        ("free", set(), "empty set"),
        ("free", {"a": [set()]}, r"empty set"),
        ("level", True, "is of type bool, not int"),
        ("names", None, r"is None, and list\[str\] does not take None"),
        ("plain", {"a", 1}, r"has a member that is of type int"),
        ("free", {True, False}, "bool is no number"),
        ("free", float("nan"), "NaN"),
        ("free", Decimal("1" * 39), "38"),
    ],
)
def test_a_value_that_would_not_read_back_is_refused(name: str, value: Any, reason: str) -> None:
    """R01, R04, R05: the error names entity, field and reason, and not the value."""
    with pytest.raises(EncodeError, match=rf"Row\.{name}.*{reason}") as caught:
        row(**{name: value}).to_item()
    assert (caught.value.entity, caught.value.field) == ("Row", name)


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_part_of_the_key_is_refused(value: Any) -> None:
    """R11: the error names entity, template and part."""
    with pytest.raises(KeyPartError, match=r"Row: the part 'a' of the partition key 'P#\{a\}'"):
        row(a=value).to_item()


def nest(levels: int) -> Any:
    """Lists in lists."""
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_measured_over_the_whole_attribute() -> None:
    """A free-form value inside a list and a map has that much less room."""

    class Deep(Entity, table=Table("t"), pk="P", sk="S"):
        inside: Field[list[dict[str, Any]]] = field(factory=list)

    assert again(Deep(inside=[{"a": nest(29)}]))
    with pytest.raises(EncodeError, match=r"Deep\.inside: is nested deeper than the 32 levels"):
        Deep(inside=[{"a": nest(30)}]).to_item()


def test_an_item_over_400_kb_is_refused_with_its_heaviest_attributes() -> None:
    """The error names what to move elsewhere."""
    with pytest.raises(LimitExceeded, match=r"This Row is 4\d\d,\d{3} bytes.*The largest attributes: note"):
        row(note="x" * 409_600).to_item()


MISSING = {
    "plain": set(),
    "note": None,
    "level": 3,
    "maybe": None,
    "some": set(),
    "names": [],
    "odd": "old",
    "revision": 0,
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_attribute_reads_as_what_the_field_says(name: str) -> None:
    """The constant default, the empty container, or on_missing; other factories are not run."""
    item = row().to_item()
    item.pop("name.s" if name == "names" else name, None)
    assert getattr(Row.from_item(item), name) == MISSING[name]


@pytest.mark.parametrize("name", ["made"])
def test_a_missing_attribute_without_a_meaning_is_an_error(name: str) -> None:
    """The error names entity, attribute and key, and the remedy."""
    item = row().to_item()
    del item[name]
    with pytest.raises(DecodeError, match=rf"Row\.{name} \(attribute '{name}'\).*SK='S#001'.*is missing.*on_missing="):
        Row.from_item(item)


def test_a_row_from_before_the_times_were_kept_is_read_without_them() -> None:
    """Adding created_at() and updated_at() to a class leaves its old rows readable; the next put sets them."""

    class Kept(Entity, table=Table("t"), pk="P", sk="S#{n}"):
        n: Field[str]
        made_at = created_at()
        changed_at = updated_at()

    item = {"PK": {"S": "P"}, "SK": {"S": "S#1"}, "EntityType": {"S": "Kept"}, "n": {"S": "1"}, "x": {"N": "1"}}
    old = Kept.from_item(item)
    assert old.__dict__ == decode_carefully(Kept.__schema__, item).__dict__
    with pytest.raises(NotLoaded, match=r"Kept\.made_at is not loaded: it is set by the first write"):
        _ = old.made_at
    assert {"made_at", "changed_at", "x"} <= old.to_item().keys()


@pytest.mark.parametrize(
    ("attribute", "stored", "where"),
    [
        ("n", {"S": "1"}, r"Row\.n "),
        ("n", {"N": "1.5"}, r"Row\.n "),
        ("n", {"NULL": True}, r"Row\.n .*NULL"),
        ("note", {"N": "1"}, r"Row\.note "),
        ("plain", {"NS": ["1"]}, r"Row\.plain "),
        ("name.s", {"L": [{"S": "a"}, {"N": "1"}]}, r"Row\.names\[1\] \(attribute 'name\.s'\)"),
        ("part", {"M": {"n": {"S": "x"}}}, r"Row\.part\.n "),
    ],
)
def test_a_bad_stored_value_names_its_place(attribute: str, stored: Any, where: str) -> None:
    """Reading is strict: the first bad attribute is named, with the path inside it."""
    with pytest.raises(DecodeError, match=where) as caught:
        Row.from_item({**row().to_item(), attribute: stored})
    assert (caught.value.attribute, caught.value.pk, caught.value.sk) == (attribute, "P#x", "S#001")


def test_unknown_attributes_are_kept() -> None:
    """They come back with the item, and never hide what the class writes."""
    item = {**row().to_item(), "later": {"M": {"x": {"B": b"\0"}}}, "GSI9PK": {"S": "old"}}
    assert Row.from_item(item).to_item() == item


def test_an_unknown_attribute_of_an_untyped_row_is_kept() -> None:
    """A row without a type has one attribute less and one more: both decoders see it."""

    class Guess(Entity, table=Table("t", untyped="infer"), pk="P", sk="S#{n}"):
        n: Field[str]

    item = {"PK": {"S": "P"}, "SK": {"S": "S#1"}, "n": {"S": "1"}, "later": {"N": "7"}}
    assert Guess.from_item(item).__dict__[EXTRA] == {"later": {"N": "7"}}
    assert Guess.from_item(item).to_item() == {**item, "EntityType": {"S": "Guess"}}


def test_unknown_attributes_inside_nested_values_are_kept() -> None:
    """A newer writer's attribute of a nested class is written again."""
    item = {**row().to_item(), "part": {"M": {"n": {"N": "1"}, "later": {"S": "x"}}}}
    assert Row.from_item(item).to_item() == item


def test_a_row_of_an_alias_is_written_under_the_type() -> None:
    """R19: the old spelling is read, and rewritten by the next write."""
    item = {**row().to_item(), "EntityType": {"S": "Old"}}
    assert Row.from_item(item).to_item()["EntityType"] == {"S": "Row"}


@pytest.mark.parametrize(
    ("key", "foreign"),
    [
        ({"PK": {"S": "P#x"}, "SK": {"S": "S#001"}}, False),
        ({"PK": {"S": "p#x"}, "SK": {"S": "S#001"}}, True),
        ({"PK": {"S": "P#x"}, "SK": {"S": "S#1"}}, True),
        ({"PK": {"S": "P#x"}, "SK": {"S": "other"}}, True),
    ],
)
def test_a_row_under_a_foreign_key_keeps_it(key: Any, foreign: bool) -> None:
    """What the templates would not render is remembered, and written again under the same key."""
    entity = Row.from_item({**row().to_item(), **key})
    assert entity.__dict__.get(STORED_KEY) == (key if foreign else None)
    assert {name: entity.to_item()[name] for name in key} == key


def test_the_marker_of_a_versioned_row_is_no_unknown_attribute() -> None:
    """It is tablekit's own, and kept apart."""
    entity = Row.from_item({**row().to_item(), "_w": {"S": "m"}})
    assert (entity.__dict__[MARKERS], EXTRA in entity.__dict__) == ({"S": "m"}, False)


@pytest.mark.parametrize("spelling", ["1", "1.0", "1E0", "+1", "01"])
def test_a_number_may_be_spelled_otherwise(spelling: str) -> None:
    """R03: what the quick reading does not know, the careful one reads."""
    item = {**row().to_item(), "n": {"N": spelling}}
    assert Row.from_item(item).n == 1
    assert type(Row.from_item(item).n) is int


def test_both_decoders_read_alike() -> None:
    """The generated decoder and the careful one give equal objects, with equal memories."""
    item = {**row(maybe={"a"}, part=Part(3), free={"x": [1, True]}).to_item(), "later": {"N": "1"}}
    item["SK"] = {"S": "foreign"}
    schema = Row.__schema__
    assert decoder(schema)(item).__dict__ == decode_carefully(schema, item).__dict__


def test_generated_code_can_be_seen_in_tracebacks() -> None:
    """Its source is kept for the debugger."""
    import inspect

    assert "def decode(item):" in inspect.getsource(decoder(Row.__schema__))
