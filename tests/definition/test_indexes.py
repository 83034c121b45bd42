"""Secondary indexes: how a table declares them, and which keys classes write there."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from tablekit import DefinitionError, Entity, Field, GlobalIndex, LocalIndex, Table, field, index_key
from tablekit.definition.entity import schema_of
from tablekit.definition.registry import ProjectionWarning


class Status(enum.Enum):
    """A state that decides about an index."""

    OPEN = "open"
    DONE = "done"
    LOST = "lost"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GlobalIndex("ab", pk="A"), r"'ab' is not one that DynamoDB takes: 3 to 255"),
        (lambda: GlobalIndex("a b c", pk="A"), "is not one that DynamoDB takes"),
        (lambda: GlobalIndex("abc", pk=()), "has no partition key"),
        (lambda: GlobalIndex("abc", pk=("A", "B", "C", "D", "E")), "has 5 attributes; DynamoDB takes at most 4"),
        (lambda: GlobalIndex("abc", pk="A", sk="A"), r"one attribute stands twice in its key \(A, A\)"),
        (lambda: GlobalIndex("abc", pk=""), "names the attribute ''"),
        (lambda: GlobalIndex("abc", pk="A", projection="SOME"), "projection='SOME' is not known"),  # type: ignore[arg-type]
        (lambda: GlobalIndex("abc", pk=3), "names the attribute 3"),  # type: ignore[arg-type]
        (lambda: GlobalIndex("abc", pk="A", projection=3), "projection=3 is not known"),  # type: ignore[arg-type]
        (lambda: GlobalIndex("abc", pk="A", projects_type=False), "holds all attributes holds the type"),
        (lambda: Table("t", indexes=["GSI1"]), "takes GlobalIndex and LocalIndex, not a str"),  # type: ignore[list-item]
        (lambda: LocalIndex("abc", sk=("A", "B")), "a local index has one sort key attribute"),  # type: ignore[arg-type]
    ],
)
def test_an_index_that_cannot_be_is_refused(make: Any, message: str) -> None:
    """Each error names the index."""
    with pytest.raises(DefinitionError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indexes": [GlobalIndex("abc", pk="A"), GlobalIndex("abc", pk="B")]}, "two indexes named 'abc'"),
        ({"sk": None, "indexes": [LocalIndex("abc", sk="A")]}, "has no sort key, and so can have no local index"),
        ({"indexes": [LocalIndex("abc", sk="PK")]}, "is sorted by the partition key 'PK'"),
    ],
)
def test_an_index_that_does_not_fit_the_table_is_refused(options: dict[str, Any], message: str) -> None:
    """Names are unique, and a local index needs a sort key."""
    with pytest.raises(DefinitionError, match=f"Table 't'.*{message}"):
        Table("t", **options)


def test_one_local_index_may_serve_several_tables() -> None:
    """The declaration is not changed by the table that takes it."""
    local = LocalIndex("abc", sk="L")
    one, two = Table("one", indexes=[local]), Table("two", pk="id", indexes=[local])
    assert (one.indexes["abc"].keys, two.indexes["abc"].keys) == (("PK", "L"), ("id", "L"))


def test_an_index_of_keys_only_is_warned_about() -> None:
    """It holds no type, so that its rows are no entities."""
    with pytest.warns(
        ProjectionWarning, match=r"Index 'abc' of table 't' is KEYS_ONLY and holds no EntityType"
    ) as seen:
        Table("t", indexes=[GlobalIndex("abc", pk="A", projection="KEYS_ONLY")])
    assert seen[0].filename == __file__


def test_an_including_index_gets_the_type_by_itself() -> None:
    """The type need not be named among the attributes."""
    index = GlobalIndex("abc", pk="A", projection=["title", "title"])
    assert index.projection == ("title",)
    held = {
        name for name in ("EntityType", "title", "A", "PK", "other") if index.holds(name, ("PK", "SK"), "EntityType")
    }
    assert held == {"EntityType", "title", "A", "PK"}


@pytest.mark.parametrize("projection", [["title"], "KEYS_ONLY"])
@pytest.mark.filterwarnings("error")
def test_an_index_that_others_made_is_known_to_hold_no_type(projection: Any) -> None:
    """Whoever says so is not warned, and the index is not taken to hold it."""
    index = GlobalIndex("abc", pk="A", projection=projection, projects_type=False)
    Table("t", indexes=[index])
    assert not index.holds("EntityType", ("PK", "SK"), "EntityType")
    assert "projects_type=False" in repr(index)


def keys_of(entity: Any, **values: Any) -> dict[str, Any]:
    """The index attributes of an item, without their tags."""
    item = entity(**values).to_item()
    return {name: value for name, value in item.items() if name.startswith("G")}


def test_the_keys_of_an_index_are_rendered_with_the_item() -> None:
    """Text templates write the index's own attributes."""

    class Row(Entity, table=Table("t", indexes=[GlobalIndex("abc", pk="GP", sk="GS")]), pk="P#{a}", sk="S"):
        a: Field[str]
        n: Field[int]
        by_n = index_key("abc", pk="A#{a}", sk="N#{n:04d}")

    assert keys_of(Row, a="x", n=7) == {"GP": {"S": "A#x"}, "GS": {"S": "N#0007"}}


@pytest.mark.parametrize(
    ("note", "expected"),
    [("x", {"GP": {"S": "A"}, "GS": {"S": "x"}}), (None, {})],
)
def test_a_part_that_is_none_leaves_the_index(note: str | None, expected: dict[str, Any]) -> None:
    """R11: both attributes of the index are left out together."""

    class Row(Entity, table=Table("t", indexes=[GlobalIndex("abc", pk="GP", sk="GS")]), pk="P", sk="S"):
        note: Field[str | None] = field(default=None)
        noted = index_key("abc", pk="A", sk="{note}")

    assert keys_of(Row, note=note) == expected


@pytest.mark.parametrize(
    ("when", "uses", "inside"),
    [
        ({"status": Status.OPEN}, (), {Status.OPEN}),
        ({"status": {Status.OPEN, Status.LOST}}, (), {Status.OPEN, Status.LOST}),
        ({"status": Status.OPEN, "size": 3}, (), {Status.OPEN}),
        ({"status": Status.OPEN, "size": 4}, (), set()),
        (lambda row: row.status is not Status.DONE, ("status",), {Status.OPEN, Status.LOST}),
        (lambda row: row.size > 2 and row.status is Status.DONE, "status", None),
    ],
)
def test_when_decides_which_rows_are_in_the_index(when: Any, uses: Any, inside: set[Status] | None) -> None:
    """By values of fields, by one of several, or by a function of what it declares."""

    class Row(Entity, table=Table("t", indexes=[GlobalIndex("abc", pk="GP", sk="GS")]), pk="P", sk="S"):
        status: Field[Status]
        size: Field[int] = field(default=3)
        sparse = index_key("abc", pk="A", sk="B", when=when, uses=uses)

    if inside is None:
        with pytest.raises(AttributeError, match=r"reads 'size', which uses= does not declare"):
            keys_of(Row, status=Status.DONE)
    else:
        assert {status for status in Status if keys_of(Row, status=status)} == inside


def test_when_takes_a_collection_whole_where_the_field_is_one() -> None:
    """A field of a tuple is compared with the tuple, not with its members."""

    class Row(Entity, table=Table("t", indexes=[GlobalIndex("abc", pk="GP", sk="GS")]), pk="P", sk="S"):
        pair: Field[tuple[int, ...]]
        sparse = index_key("abc", pk="A", sk="B", when={"pair": (1, 2)})

    assert keys_of(Row, pair=(1, 2))
    assert not keys_of(Row, pair=(1,))


def test_an_index_on_fields_writes_nothing_of_its_own() -> None:
    """Business attributes are the key; the types are their own."""
    index = GlobalIndex("abc", pk=("tenant", "region"), sk=("day", "n"))

    class Row(Entity, table=Table("t", indexes=[index]), pk="P#{tenant}", sk="S#{n:03d}"):
        tenant: Field[str]
        region: Field[str]
        when_: Field[str] = field(name="day")
        n: Field[int]
        by_tenant = index_key("abc")

    key = schema_of(Row).index_keys["by_tenant"]
    assert [(each.attribute, each.type) for each in key.keys] == [
        ("tenant", "S"), ("region", "S"), ("day", "S"), ("n", "N"),
    ]  # fmt: skip
    assert (key.written, key.names) == ((), ("tenant", "region", "when_", "n"))
    assert Row.__schema__.registry.key_type("n") == "N"


def test_an_index_may_turn_the_table_s_keys_round() -> None:
    """The templates are those of the table, and nothing is written twice."""

    class Row(Entity, table=Table("t", indexes=[GlobalIndex("abc", pk="SK", sk="PK")]), pk="P#{a}", sk="S#{b}"):
        a: Field[str]
        b: Field[str]
        turned = index_key("abc")

    key = schema_of(Row).index_keys["turned"]
    assert [each.template.text for each in key.keys] == ["S#{b}", "P#{a}"]
    assert key.written == ()


def test_an_index_may_be_keyed_on_the_type() -> None:
    """The type attribute is a key like another, and is written once."""
    app = Table("t", indexes=[GlobalIndex("abc", pk="EntityType", sk="SK")])

    class Row(Entity, table=app, pk="P", sk="S#{b}", type="a{b}"):
        b: Field[str]
        by_type = index_key("abc")

    item = Row(b="1").to_item()
    key = schema_of(Row).index_keys["by_type"]
    assert key.written == ()
    assert item["EntityType"] == {"S": "a{b}"} == key.pk[0].render({}, "Row")
    with pytest.raises(DefinitionError, match=r"Bad\.by_type: index 'abc' is keyed on the type 'EntityType'"):

        class Bad(Entity, table=app, pk="P", sk="T#{b}"):
            b: Field[str]
            by_type = index_key("abc", pk="Other")


def test_a_local_index_shares_the_partition_key() -> None:
    """Only its sort key is written."""

    class Row(Entity, table=Table("t", indexes=[LocalIndex("abc", sk="GL")]), pk="P#{a}", sk="S"):
        a: Field[str]
        n: Field[int]
        by_n = index_key("abc", sk="{n}")

    assert keys_of(Row, a="x", n=7) == {"GL": {"N": "7"}}
