"""What `adopt` concludes from rows, and what it leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from tablekit import GlobalIndex
from tablekit.tools.adopt import Adoption, adopt_tables
from tablekit.tools.adopt_check import loaded
from tablekit.tools.adopt_rows import read_rows
from tablekit.tools.adopt_tables import AdoptError, SourceTable
from tablekit.wire.plain import as_item


def adopted(*rows: dict[str, Any], type_attribute: str | None = None, **table: Any) -> Adoption:
    """The classes of plain rows."""
    read = read_rows([(f"row {number}", row) for number, row in enumerate(rows, 1)], ("PK", "SK"))
    source = SourceTable(name="shop", pk="PK", sk="SK", rows=read.rows, bad=read.bad, **table)
    return adopt_tables([source], type_attribute=type_attribute)


def options(found: Adoption, name: str) -> Any:
    """The schema of a written class."""
    with loaded(found.source) as module:
        return getattr(module, name).__schema__


def keys(found: Adoption, name: str) -> tuple[str, ...]:
    """The templates of a written class."""
    return tuple(key.template.text for key in options(found, name).keys)


ORDERS = [{"PK": f"USER#{n % 3}x", "SK": f"ORDER#{n:04d}", "user": f"{n % 3}x", "number": n} for n in range(9)]


def test_a_part_is_tied_to_the_attribute_that_holds_it() -> None:
    """Also a number, with the width that it is written in."""
    assert keys(adopted(*ORDERS), "UserOrder") == ("USER#{user}", "ORDER#{number:04d}")


def test_a_part_that_no_attribute_holds_is_read_from_the_key() -> None:
    """It is a field of its own, and the comment says so."""
    found = adopted(*[{"PK": f"USER#{n}", "SK": "META", "age": 40 + n} for n in range(3)])

    assert keys(found, "User") == ("USER#{user_id}", "META")
    assert "user_id: Field[str]  # in the key only" in found.source
    assert found.complete


def test_the_type_attribute_is_found_and_its_spellings_are_aliases() -> None:
    """What differs in case and signs only is one type; the most frequent spelling is kept."""
    rows = [{"PK": f"O#{n}", "SK": "A", "kind": "purchase_order"} for n in range(3)]
    found = adopted(*rows, {"PK": "O#9", "SK": "A", "kind": "PurchaseOrder"})

    schema = options(found, "PurchaseOrder")
    assert (schema.type, schema.aliases) == ("purchase_order", ("PurchaseOrder",))
    assert schema.registry.type_attribute == "kind"
    assert "spelt in several ways" in found.source


@pytest.mark.parametrize("name", ["__typename", "_et", "__edb_e__", "cls"])
def test_type_attributes_of_other_libraries_are_known(name: str) -> None:
    """Amplify's, dynamodb-toolbox's, ElectroDB's, and the discriminator of pynamodb's documentation."""
    rows = [{"PK": f"O#{n}", "SK": "A", name: "Order"} for n in range(3)]
    assert options(adopted(*rows), "Order").registry.type_attribute == name


def test_a_type_of_the_business_is_left_alone() -> None:
    """Few rows have it, and rows of one shape differ in it: a field like others."""
    heroes = [{"PK": f"U#{n}", "SK": "HERO", "type": kind} for n, kind in enumerate(["mage", "bard"])]
    found = adopted(*heroes, *[{"PK": f"U#{n}", "SK": "ASSETS", "gold": n} for n in range(4)])

    assert options(found, "UHero").by_name["type"].attribute == "type"
    assert "'type' is not taken for the type: 2 of 6 rows have it" in found.source


def test_two_attributes_that_may_be_the_type_are_asked_about() -> None:
    """Nothing is chosen silently, and the answer is an option."""
    rows = [{"PK": f"A#{n}", "SK": "META", "type": "a", "kind": "b"} for n in range(3)]
    with pytest.raises(AdoptError, match=r"'kind', 'type'.*--type-attribute"):
        adopted(*rows)
    assert options(adopted(*rows, type_attribute="kind"), "B").type == "b"


def test_a_row_without_the_type_is_told_by_its_key() -> None:
    """It is read by the class whose keys look alike, and named in a comment."""
    rows = [{"PK": f"A#{n}", "SK": "META", "type": "alpha"} for n in range(3)]
    found = adopted(*rows, {"PK": "A#9", "SK": "META"})

    assert found.tables[0].read == {"Alpha": 4}
    assert "PK='A#9' SK='META' has no type" in found.source


def test_an_optional_last_part_is_one_template() -> None:
    """TOTAL#a and TOTAL#a#b, with attributes that say so, are one class."""
    rows = [{"PK": "C#1", "SK": f"TOTAL#{a}", "a": a, "sum": 1} for a in ("x", "y")]
    rows += [{"PK": "C#1", "SK": f"TOTAL#{a}#{b}", "a": a, "b": b, "sum": 1} for a in ("x", "y") for b in ("p", "q")]

    assert keys(adopted(*rows), "CTotal") == ("C#{c_id}", "TOTAL#{a}[#{b}]")


def test_a_label_with_a_stray_sign_is_a_further_key() -> None:
    """Rows under ` config#` and `config#` are one class, and each keeps its key."""
    rows = [{"PK": f"config#{n}", "SK": f"{n}0", "n": 1} for n in range(3)]
    found = adopted(*rows, {"PK": " config#8", "SK": "80", "n": 1})

    assert found.tables[0].read == {"Config": 4}
    assert 'also_keys=((" config#{' in found.source


def test_keys_without_any_shape_are_one_class_that_reads_them() -> None:
    """Where nothing tells rows apart, nothing is made up."""
    found = adopted({"PK": "bob", "SK": "1", "a": 1}, {"PK": "library", "SK": "x", "b": "2"})

    assert keys(found, "Shop") == ("{pk}", "{sk}")
    assert found.complete


def test_an_index_key_is_a_template_only_where_every_row_agrees() -> None:
    """Else it is an attribute of the row, and a save leaves it as it is."""
    index = (GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"),)
    rows = [
        {"PK": f"U#{n}", "SK": "META", "mail": f"m{n}", "GSI1PK": f"MAIL#m{n}", "GSI1SK": "x" * (n + 1)}
        for n in range(3)
    ]
    found = adopted(*rows, indexes=index)

    assert 'by_gsi1 = index_key("GSI1", pk="MAIL#{mail}")' in found.source
    assert options(found, "U").by_attribute["GSI1SK"].name == "gsi1_sk"

    sparse = adopted({name: rows[0][name] for name in rows[0] if name != "GSI1PK"}, *rows[1:], indexes=index)
    assert 'by_gsi1 = index_key("GSI1")' in sparse.source


def test_few_values_that_come_back_are_an_enum() -> None:
    """Twenty rows and more; the comment says that others fail to be read."""
    rows = [{"PK": f"T#{n}", "SK": "META", "state": "OPEN" if n % 3 else "DONE"} for n in range(30)]
    found = adopted(*rows)

    assert 'OPEN = "OPEN"' in found.source
    assert "state: Field[TState]" in found.source
    assert "enum" not in adopted(*rows[:10]).source


@pytest.mark.parametrize(
    ("values", "annotation"),
    [
        ((1, 2), "int"),
        ((1, 2.5), "Decimal"),
        (("a", 1), "int | str"),
        ((["a"], ["b", "c"]), "list[str]"),
        ((["a", 1], []), "list[int | str]"),
        (({"a": 1}, {}), "dict[str, Any]"),
        (({"a": 1}, "b"), "Any"),
        ((b"a", b"b"), "bytes"),
        (({"a"}, {"b"}), "set[str]"),
        (("a", None), "str | None"),
        ((True, False), "bool"),
    ],
)
def test_the_annotation_is_the_narrowest_that_all_values_are_of(values: tuple[Any, ...], annotation: str) -> None:
    """By the wire types that were seen."""
    found = adopted(*[{"PK": f"T#{n}", "SK": "META", "v": value} for n, value in enumerate(values)])

    assert f"    v: Field[{annotation}]" in found.source
    assert found.complete


def test_a_bad_row_is_reported_and_the_others_are_read() -> None:
    """With where it stands, its key and the reason; in the report and in the module."""
    found = adopted(
        {"PK": "A#1", "SK": "META"},
        {"PK": {"S": "A#2"}, "SK": {"S": "META"}, "x": {"M": {"y": {"S": 1}}}},
        {"PK": "A#3"},
        {},
    )

    (table,) = found.tables
    assert [str(row) for row in table.bad] == [
        "row 2, PK='A#2' SK='META': x.y is of type S and holds a int",
        "row 3, PK='A#3': the key attribute 'SK' is missing",
        "row 4, no key: the row is empty",
    ]
    assert sum(table.read.values()) == 1
    assert "no row: row 3, PK='A#3'" in found.source


def test_names_that_python_or_tablekit_has_are_avoided() -> None:
    """Stored names stay, and the fields are called otherwise."""
    found = adopted(
        {"PK": "T#1", "SK": "META", "from": "x", "Status#Time": "y", "field": "z", "query": "q", "2nd": "w"}
    )

    stored = {name: item.attribute for name, item in options(found, "T").by_name.items()}
    names = {"from_": "from", "status_time": "Status#Time", "field_": "field", "query_": "query", "n_2nd": "2nd"}
    assert names.items() <= stored.items()


def test_texts_of_rows_cannot_break_out_of_the_module() -> None:
    """Quotes, backslashes, line ends and braces in keys, names and types are data."""
    evil = 'x"""\n\'\\{a}[b]\u2028'
    rows = [{"PK": f"{evil}#{n}", "SK": "META", evil.replace("[b]", ""): 1, "type": evil} for n in range(2)]

    assert adopted(*rows).complete


def test_rows_that_other_keys_match_are_parted_by_their_values() -> None:
    """`a::b` and `park::b`: the values of the general template are listed, and the comment says why."""
    days = [{"PK": f"{park}::{kind}", "SK": f"2022{n}", "park": park, "sport": kind, "n": n}
            for park in ("p1", "p2") for n, kind in enumerate(["Day Use", "Boating", "Camping"])]  # fmt: skip
    found = adopted(*days, {"PK": "park::p1", "SK": "p1", "park": "p1", "roles": ["x"]})

    assert found.complete
    assert 'Literal["Boating", "Camping", "Day Use"]' in found.source


def test_a_class_that_cannot_be_made_is_a_comment_and_the_others_are_made() -> None:
    """DynamoDB has no attribute without a name, a file may: the rows are named, and the class stands there to mend."""
    good = [{"PK": f"A#{n}", "SK": "META", "n": n} for n in range(3)]
    found = adopted(*good, *[{"PK": f"B#{n}", "SK": "ITEM", "": n} for n in range(2)])

    (table,) = found.tables
    assert table.read == {"AMeta": 3}
    assert "# BItem is left out, for it cannot be made: BItem.attribute: name=''" in found.source
    assert '\n# class BItem(Entity, table=app, pk="B#{attribute:d}", sk="ITEM"):' in found.source
    assert [row.key for row in table.unread] == ["PK='B#0' SK='ITEM'", "PK='B#1' SK='ITEM'"]
    assert table.unread[0].reason.startswith("BItem is left out: BItem.attribute")


def test_maps_that_look_alike_are_classes_also_in_maps() -> None:
    """Each becomes an attrs class, the inner one first; what few have is optional, and what none declares is kept."""
    rows = [
        {
            "PK": f"U#{n}",
            "SK": "META",
            "home": {"street": "x", "at": {"lat": n, "lon": n}, **({"zip": "1"} if n else {})},
        }
        for n in range(2)
    ]
    found = adopted(*rows)

    assert found.complete
    source = found.source
    assert source.index("class UHomeAt:") < source.index("class UHome:") < source.index("class U(Entity")
    assert "    at: UHomeAt  # M; 2 of 2 rows" in source
    assert "    zip: str | None = attrs.field(default=None)" in source
    assert "    home: Field[UHome]" in source
    with loaded(source) as module:
        (user,) = [module.U.from_item(as_item({**rows[0], "home": {**rows[0]["home"], "more": 1}}, "PK"))]
        assert (user.home.at.lat, user.home.street) == (0, "x")
        assert user.to_item()["home"]["M"]["more"] == {"N": "1"}


def test_what_tablekit_keeps_for_itself_needs_no_class() -> None:
    """A table that tablekit wrote is read back whole: marks of versioned writes are no fields, and guards no rows."""
    rows = [{"PK": f"A#{n}", "SK": "META", "EntityType": "Account", "_w": f"m{n}", "revision": 1} for n in range(3)]
    guard = {"PK": "UNIQUE#Account#mail#S=a", "SK": "UNIQUE", "EntityType": "tablekit:unique", "_owner": {"PK": "A#1"}}
    found = adopted(*rows, guard)

    assert (found.complete, found.tables[0].read) == (True, {"Account": 3})
    assert "1 row of tablekit's own" in found.source
    assert [field.name for field in options(found, "Account").fields] == ["a_id", "revision"]


def test_a_module_names_the_first_of_very_many_rows_that_were_not_read() -> None:
    """The report has all of them."""
    found = adopted(*ORDERS, *[{"PK": f"X#{n}", "n": n} for n in range(150)])

    assert len(found.tables[0].bad) == 150
    assert "- and 50 rows more" in found.source


def test_an_expiry_that_no_class_has_is_told() -> None:
    """Rows go by it all the same."""
    assert "Rows expire by 'gone' (time to live)" in adopted(*ORDERS, ttl="gone").source
    assert "time to live" not in adopted(*[{**row, "gone": 1} for row in ORDERS], ttl="gone").source
