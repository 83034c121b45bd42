"""The table as a register of types: what may stand beside what, and what a second definition replaces."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest

from tablekit import DefinitionError, Entity, Field, RequestError, Table, UnknownEntityType, field
from tablekit.definition.entity import schema_of
from tablekit.definition.registry import KeyOverlapWarning


def define(table: Table, name: str, sk: str = "", module: str = __name__, **options: Any) -> type[Entity]:
    """A class of one field with its own literal in the key."""
    body = {"__annotations__": {"n": Field[str]}, "__module__": module, "__qualname__": name}
    made: Any = type(Entity)(name, (Entity,), body, table=table, pk="P", sk=sk or f"{name}#{{n}}", **options)
    return made  # type: ignore[no-any-return]


def test_the_type_is_the_name_of_the_class_or_what_is_said() -> None:
    """Exactly as it is spelled."""
    app = Table("t")
    one, two = define(app, "One"), define(app, "Two", type="second")
    assert (one.entity_type, two.entity_type) == ("One", "second")
    assert two.from_item({**one(n="1").to_item(), "EntityType": {"S": "second"}}).entity_type == "second"


@pytest.mark.parametrize(
    ("first", "second", "how"),
    [
        ({}, {"type": "One"}, "the same stored type"),
        ({}, {"type": "one"}, "differ only in case"),
        ({"aliases": ("Old",)}, {"type": "Old"}, "the same stored type"),
        ({"aliases": ("Old",)}, {"aliases": ("OLD",)}, "differ only in case"),
    ],
)
def test_two_classes_do_not_share_a_type(first: dict[str, Any], second: dict[str, Any], how: str) -> None:
    """Types and aliases are one namespace, and letter case does not tell them apart."""
    app = Table("t")
    define(app, "One", **first)
    with pytest.raises(DefinitionError, match=rf"Two and One of table 't' have .*{how}.*type=\"\.\.\.\""):
        define(app, "Two", **second)
    assert list(app.entities) == ["One"]


def test_one_class_may_have_aliases_that_differ_only_in_case() -> None:
    """R19: the old spellings of one class are its own affair."""
    app = Table("t")
    row = define(app, "Document", aliases=("Doc", "doc"))
    item = row(n="1").to_item()
    for spelling in ("Document", "Doc", "doc"):
        assert type(row.from_item({**item, "EntityType": {"S": spelling}})) is row


def test_an_unknown_type_is_told_with_the_key_and_a_hint() -> None:
    """R18, R19: the error names the value and the key, and sees a difference in case."""
    app = Table("t")
    define(app, "Doc")
    error = app.unknown_type("doc", {"PK": {"S": "P"}, "SK": {"S": "S"}})
    assert isinstance(error, UnknownEntityType)
    assert (error.found, error.pk, error.sk) == ("doc", "P", "S")
    assert "PK='P' SK='S'" in str(error)
    assert "differs from 'Doc' only in case" in str(error)
    assert "Import the module" in str(app.unknown_type("Invoice2", {}))


def test_a_class_of_the_same_name_replaces_the_earlier_one() -> None:
    """A cell of a notebook is run again, with other keys and other types."""
    app = Table("t")
    old = define(app, "Row", type="A", aliases=("B",))
    new = define(app, "Row", type="C")
    assert list(app.by_type) == ["C"]
    assert app.by_type["C"] is schema_of(new) is not schema_of(old)


def test_a_class_of_another_module_does_not_replace() -> None:
    """Only the same module and qualified name are the same class."""
    app = Table("t")
    define(app, "Row")
    with pytest.raises(DefinitionError, match="Row and Row of table 't' have the same stored type"):
        define(app, "Row", module="elsewhere")


def test_a_redefined_class_may_change_the_type_of_its_key() -> None:
    """What the earlier class said of a key attribute is forgotten with it."""
    app = Table("t", pk="id", sk=None)

    def row(kind: Any) -> None:
        body = {"__annotations__": {"id": Field[kind]}, "__module__": __name__, "__qualname__": "Row"}
        type(Entity)("Row", (Entity,), body, table=app, pk="{id}")

    row(str)
    row(int)
    assert app.key_type("id") == "N"


def test_a_class_that_failed_leaves_nothing_behind() -> None:
    """A definition that is mended and run again is not in its own way."""
    app = Table("t", pk="id", sk=None)
    with pytest.raises(DefinitionError):

        class Row(Entity, table=app, pk="{id}"):
            id: Field[int]
            bad: Field[complex]

    with pytest.raises(DefinitionError):

        class Other(Entity, table=app, pk="{id}", type="tablekit:unique"):
            id: Field[int]

    class Third(Entity, table=app, pk="{id}"):
        id: Field[str]

    assert list(app.entities) == ["Third"]


def test_two_classes_agree_on_the_type_of_a_key() -> None:
    """One key attribute has one type; the remedy is text in the template."""
    app = Table("t", pk="id", sk=None)

    class One(Entity, table=app, pk="{id}"):
        id: Field[int]

    with pytest.raises(DefinitionError, match=r"Two fills .* 'id' of table 't' with type S, and One with type N"):

        class Two(Entity, table=app, pk="TWO#{id}"):
            id: Field[int] = field(name="number")


@pytest.mark.parametrize(("declared", "expected"), [("S", {"S": "7"}), ("N", {"N": "7"}), (None, {"N": "7"})])
def test_key_types_of_the_table_decide_over_a_bare_field(declared: Any, expected: dict[str, str]) -> None:
    """`{id}` alone keeps the number, unless the table says that the attribute is a string."""
    app = Table("t", sk=None, key_types={} if declared is None else {"PK": declared})

    class Row(Entity, table=app, pk="{id}"):
        id: Field[int]

    assert Row(id=7).to_item()["PK"] == expected


def test_a_text_template_does_not_fit_a_number_key() -> None:
    """The class is told by the table's own declaration."""
    with pytest.raises(DefinitionError, match=r"Row fills .* 'PK' .* with type S, and key_types= with type N"):

        class Row(Entity, table=Table("t", sk=None, key_types={"PK": "N"}), pk="ROW#{id}"):
            id: Field[str]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pk": "A", "sk": "A"}, "must be three names"),
        ({"type_attribute": "PK"}, "must be three names"),
        ({"pk": ""}, "names the attribute ''"),
        ({"separator": ""}, "separator='' would let"),
        ({"unknown": "drop"}, r"unknown='drop' is no policy; take 'raise' or 'skip'"),
        ({"untyped": "guess"}, r"untyped='guess' is no policy"),
        ({"key_types": {"PK": "X"}}, "key_types= gives 'PK' the type 'X'"),
        ({"key_types": {"pk": "N"}}, "key_types= names 'pk', which is no key attribute"),
    ],
)
def test_a_table_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    """Names, policies and key types are checked when the table is made."""
    with pytest.raises(DefinitionError, match=f"Table 't': .*{message}"):
        Table("t", **options)


def test_keys_that_may_coincide_are_a_warning_at_the_class() -> None:
    """The warning points to the line of the class statement."""
    app = Table("t")
    define(app, "One", sk="DOC#{n}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        class Two(Entity, table=app, pk="P", sk="DOC#{m}"):
            m: Field[str]

    (warning,) = caught
    assert warning.category is KeyOverlapWarning
    assert "Two ('P' / 'DOC#{m}') and One ('P' / 'DOC#{n}') of table 't' may render the same" in str(warning.message)
    frame = inspect.currentframe()
    assert frame is not None
    assert (warning.filename, warning.lineno < frame.f_lineno) == (__file__, True)


def test_a_warning_that_is_an_error_registers_nothing() -> None:
    """With warnings as errors the class is not there by half."""
    app = Table("t")
    one = define(app, "One", sk="DOC#{n}")
    with pytest.raises(KeyOverlapWarning):
        define(app, "Two", sk="DOC#{n}")
    assert list(app.entities) == ["One"]
    assert schema_of(one).subclasses == []


@pytest.mark.parametrize("other", ["DOC#{n}#CMT#{m}", "DOCUMENT#{n}", "DOC#"])
def test_keys_that_only_look_alike_are_no_warning(other: str) -> None:
    """Common beginnings do not make keys coincide."""
    app = Table("t")
    define(app, "One", sk="DOC#{n}")

    class Two(Entity, table=app, pk="P", sk=other):
        n: Field[str]
        m: Field[str]

    assert len(app.entities) == 2


def test_a_subclass_may_have_the_keys_of_its_base() -> None:
    """It is the same kind of row."""
    app = Table("t")

    class Base(Entity, table=app, pk="P", sk="{n}"):
        n: Field[str]

    class Sub(Base):
        more: Field[str]

    assert [schema.name for schema in schema_of(Base).subclasses] == [schema_of(Sub).name]


def test_several_tables_are_apart() -> None:
    """The same type may stand in two tables."""
    one, two = Table("one"), Table("two")
    define(one, "Row")
    define(two, "Row", module="elsewhere")
    assert one.by_type.keys() == two.by_type.keys() == {"Row"}


def test_the_class_of_an_untyped_row_is_inferred_from_its_key() -> None:
    """R17: exactly one class whose templates fit; none or several are no answer."""
    app = Table("t", untyped="infer")
    define(app, "One")
    define(app, "Two")
    found = app.infer({"PK": {"S": "P"}, "SK": {"S": "Two#7"}})
    assert found is not None
    assert found.name == "Two"
    assert app.infer({"PK": {"S": "P"}, "SK": {"S": "Three#7"}}) is None


@pytest.mark.parametrize("name", ["", "a b", "shop/eu", "x" * 256])
def test_a_name_that_no_table_can_have_is_refused(name: str) -> None:
    """When the table is declared, or where a function gives the name, when it is asked."""
    with pytest.raises(DefinitionError, match="3 to 255"):
        Table(name)
    with pytest.raises(RequestError, match=r"must be a string|3 to 255"):
        _ = Table(lambda: name).name


def test_a_table_may_be_named_by_its_arn() -> None:
    """DynamoDB takes an ARN for the name."""
    assert Table("arn:aws:dynamodb:eu-west-1:123456789012:table/shop").name.endswith("table/shop")


def test_a_name_too_short_is_refused_where_the_table_is_created() -> None:
    """Before anything is sent."""
    with pytest.raises(RequestError, match="'tt' has 2"):
        Table("tt").create_table()
