"""How a class body is read: string annotations, where their names are found, and what they may say."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import attrs
import pytest

import tablekit
from tablekit import DefinitionError, Entity, Field, Table, field
from tablekit.codecs.scalars import StrCodec
from tablekit.definition.entity import schema_of

if TYPE_CHECKING:
    from decimal import Decimal


class Shade(enum.Enum):
    """A module's own enum, which a local one of the same name hides."""

    MODULE = "module"


def codec_name(entity: type[Entity], name: str) -> str:
    """The codec that a field got, by the name of its type."""
    return schema_of(entity).by_name[name].codec.name


def test_a_local_class_is_found_before_one_of_the_module() -> None:
    """A string annotation means what it means to a reader: the nearest name."""

    class Shade(enum.Enum):
        LOCAL = "local"

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        shade: Field[Shade]

    assert Row.from_item(Row(shade=Shade.LOCAL).to_item()).shade is Shade.LOCAL


def test_a_name_of_the_module_is_found() -> None:
    """Names of the module need no import of their own."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        shade: Field[Shade]

    assert Row(shade=Shade.MODULE).to_item()["shade"] == {"S": "module"}


def test_a_class_nested_in_the_body_is_found() -> None:
    """An enum defined inside the entity can annotate its fields."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        class Size(enum.Enum):
            BIG = "big"

        size: Field[Size]

    assert codec_name(Row, "size").endswith("Size")


def test_a_member_named_like_a_builtin_does_not_shadow_it() -> None:
    """Fields called `type`, `list` and `set` leave the builtins to later annotations."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        type: Field[str] = field(default="a")
        set: Field[set[str]] = field(factory=set)
        list: Field[list[int]] = field(factory=list)

    assert [codec_name(Row, name) for name in ("type", "set", "list")] == ["str", "set[str]", "list[int]"]


def make_row(kind: Any) -> type[Any]:
    """A class factory: the annotation names its argument."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        value: Field[kind]

    return Row


@pytest.mark.parametrize("kind", [str, int, list[str]])
def test_an_argument_of_the_enclosing_function_is_found(kind: Any) -> None:
    """A factory's argument is a local name like another."""
    assert schema_of(make_row(kind)).by_name["value"].annotation == kind


def test_a_local_nested_class_may_name_local_classes() -> None:
    """String annotations inside a local attrs class are looked up among the same local names."""

    @attrs.define
    class Point:
        x: int

    @attrs.define
    class Line:
        start: Point
        others: list[Point] = attrs.field(factory=list)

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        line: Field[Line]

    row = Row(line=Line(Point(1), [Point(2)]))
    assert Row.from_item(row.to_item()) == row


def test_a_string_inside_an_annotation_is_resolved() -> None:
    """`list["Shade"]` is read like `list[Shade]`, and a Literal keeps its strings."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        shades: Field[list["Shade"]]  # noqa: UP037
        mode: Field[Literal["Shade", "x"]]
        plain: Field[Annotated[str, StrCodec()]]

    row = Row(shades=[Shade.MODULE], mode="Shade", plain="p")
    assert Row.from_item(row.to_item()) == row


def test_the_package_may_be_imported_under_another_name() -> None:
    """`tk.Field[...]` is a field as well."""

    class Row(tablekit.Entity, table=Table("t"), pk="P", sk="S"):
        name: tablekit.Field[str]

    assert list(schema_of(Row).by_name) == ["name"]


def test_a_name_under_type_checking_only_is_an_error() -> None:
    """A name that is not there at run time is named, with the remedy."""
    with pytest.raises(DefinitionError, match=r"Row\.price: .* names 'Decimal'.*not only under TYPE_CHECKING"):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            price: Field[Decimal]


def test_a_class_variable_may_name_what_is_not_there() -> None:
    """ClassVar and private annotations are no fields, and are not evaluated for being ones."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        rate: ClassVar[Decimal]
        _cache: dict[str, Decimal]
        name: Field[str]

    assert list(schema_of(Row).by_name) == ["name"]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("str", r"Row\.name is annotated str\. A field is annotated Field\[\.\.\.\], such as `name: Field\[str\]`"),
        ("Field", r"Row\.name is annotated Field\. Say what it holds"),
        ("Field[str] | None", r"Field\[\.\.\.\] stands outermost, such as `name: Field\[str \| None\]`"),
        ("Field[str", r"Row\.name: the annotation 'Field\[str' cannot be evaluated"),
    ],
)
def test_what_is_no_field_is_told_with_the_remedy(annotation: str, message: str) -> None:
    """A public annotation of an entity is a field or a ClassVar."""
    body = {"__annotations__": {"name": annotation}, "__module__": __name__}
    with pytest.raises(DefinitionError, match=message):
        type(Entity)("Row", (Entity,), body, table=Table("t"), pk="P", sk="S")


def test_managed_fields_take_no_annotation() -> None:
    """What tablekit keeps is assigned without an annotation."""
    with pytest.raises(DefinitionError, match=r"Row\.revision is annotated, and version\(\).*`revision = version\(\)`"):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            revision: Field[int] = tablekit.version()


def test_data_fields_need_an_annotation() -> None:
    """`name = field()` does not say what the field holds."""
    with pytest.raises(DefinitionError, match=r"Row\.name = field\(\.\.\.\) has no annotation"):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            name = field(default="x")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters in brackets came with Python 3.12")
def test_type_parameters_in_brackets_are_found() -> None:
    """`class Base[T](Entity)` needs no TypeVar of the module."""
    program = (
        "from __future__ import annotations\n"
        "from tablekit import Entity, Field, Table\n"
        "class Base[T](Entity, abstract=True):\n    value: Field[list[T]]\n"
        "class Row(Base[int], table=Table('t'), pk='P', sk='S'):\n    name: Field[str]\n"
    )
    names: dict[str, Any] = {"__name__": __name__}
    exec(program, names)
    assert codec_name(names["Row"], "value") == "list[int]"
