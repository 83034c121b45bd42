"""Fields of bases: abstract ones, mixins, generics, and what a subclass changes or takes away."""

from __future__ import annotations

import abc
from typing import Generic, TypeVar

import pytest

from tablekit import (
    DefinitionError,
    Entity,
    Field,
    GlobalIndex,
    Table,
    created_at,
    field,
    index_key,
    updated_at,
    version,
)
from tablekit.definition.entity import schema_of

T = TypeVar("T")
U = TypeVar("U")


class Stamped:
    """A plain mixin with a managed field and one of the user's."""

    author: Field[str] = field(default="nobody")
    made_at = created_at()


def table() -> Table:
    """A table of its own for each class."""
    return Table("t", indexes=[GlobalIndex("GSI1", pk="G1P", sk="G1S")])


def names(entity: type[Entity]) -> list[str]:
    """The fields of a class, in order."""
    return [item.name for item in schema_of(entity).fields]


def test_fields_of_a_plain_mixin_count() -> None:
    """A class that is no entity lends its fields to several."""

    class One(Stamped, Entity, table=table(), pk="P", sk="S"):
        title: Field[str]

    class Two(Entity, Stamped, table=table(), pk="P", sk="S"):
        title: Field[str]

    assert names(One) == ["author", "made_at", "title"]
    assert sorted(names(Two)) == ["author", "made_at", "title"]


def test_an_abstract_base_gives_fields_and_options() -> None:
    """Table, keys and fields come from the base; the base itself is not registered."""
    app = table()

    class Base(Entity, table=app, pk="WS#{ws}", sk="X", abstract=True):
        ws: Field[str]

    class Row(Base, sk="ROW#{n}"):
        n: Field[str]

    assert Row(ws="a", n="1").to_item()["SK"] == {"S": "ROW#1"}
    assert list(app.by_type) == ["Row"]


def test_an_abstract_base_makes_no_instance() -> None:
    """Calling it says why, and so does a verb on it."""

    class Base(Entity, table=table(), pk="P", sk="S", abstract=True):
        name: Field[str]

    for use in (lambda: Base(name="x"), Base.key, Base.query):
        with pytest.raises(DefinitionError, match="Base is abstract"):
            use()


def test_an_abstract_base_has_no_type() -> None:
    """A stored type on a class without rows is a mistake that is told."""
    with pytest.raises(DefinitionError, match="Base is abstract and so has no rows"):

        class Base(Entity, table=table(), abstract=True, type="B"):
            pass


def test_a_generic_base_takes_the_arguments_of_its_subclass() -> None:
    """Type variables are replaced, through several levels and inside other types."""

    class Base(Entity, Generic[T], abstract=True):
        value: Field[T]
        history: Field[list[T] | None] = field(default=None)

    class Middle(Base[dict[str, U]], Generic[U], abstract=True):
        other: Field[U]

    class Row(Middle[int], table=table(), pk="P", sk="S"):
        pass

    found = {item.name: item.codec.name for item in schema_of(Row).fields}
    assert found == {"value": "dict[str, int]", "history": "list[dict[str, int]] | None", "other": "int"}


def test_a_type_variable_without_an_argument_is_an_error() -> None:
    """A generic base needs its arguments before it is an entity."""

    class Base(Entity, Generic[T], abstract=True):
        value: Field[T]

    with pytest.raises(DefinitionError, match=r"Row\.value: the type variable ~T stands for no type"):

        class Row(Base, table=table(), pk="P", sk="S"):  # type: ignore[type-arg]
            pass


def test_a_subclass_may_declare_a_field_anew() -> None:
    """The nearest declaration holds, in the place of the first."""

    class Row(Stamped, Entity, table=table(), pk="P", sk="S"):
        title: Field[str]
        author: Field[str] = field(default="me", name="a")

    assert names(Row)[0] == "author"
    assert Row(title="t").to_item()["a"] == {"S": "me"}


@pytest.mark.parametrize("member", ["x", lambda self: 1, index_key("GSI1", pk="P", sk="S")])
def test_a_member_that_hides_an_inherited_field_is_an_error(member: object) -> None:
    """An assignment without an annotation would be lost silently."""

    class Base(Entity, table=table(), pk="P", sk="S", abstract=True):
        name: Field[str]

    with pytest.raises(DefinitionError, match=r"Row\.name hides the field 'name' of .*Base.*declare the field anew"):
        type(Entity)("Row", (Base,), {"name": member, "__module__": __name__, "__qualname__": "Row"})


def test_a_subclass_may_leave_an_index() -> None:
    """Assigning None to an inherited index key takes it away, for this class alone."""
    app = table()

    class Row(Entity, table=app, pk="P", sk="{n}"):
        n: Field[str]
        feed = index_key("GSI1", pk="F", sk="{n}")

    class Quiet(Row):
        feed = None  # type: ignore[assignment]

    assert "G1P" in Row(n="1").to_item()
    assert "G1P" not in Quiet(n="1").to_item()


def test_a_subclass_counts_as_its_base() -> None:
    """The base's types include those of subclasses of the same table only."""

    class Row(Entity, table=table(), pk="P", sk="{n}"):
        n: Field[str]
        revision = version()

    class Sub(Row):
        extra: Field[str]

    class Elsewhere(Row, table=table()):
        pass

    assert schema_of(Row).types == ("Row", "Sub")
    assert names(Elsewhere) == ["n", "revision"]


def test_an_abstract_base_class_of_python_may_be_mixed_in() -> None:
    """ABC and its metaclass live with entities."""

    class Named(abc.ABC):
        @abc.abstractmethod
        def label(self) -> str: ...

    class Row(Named, Entity, table=table(), pk="P", sk="S"):
        name: Field[str]

        def label(self) -> str:
            return self.name.upper()

    assert Row(name="a").label() == "A"


def test_managed_fields_may_stand_in_a_mixin_once() -> None:
    """Two fields of one managed kind, from two places, are an error."""
    with pytest.raises(DefinitionError, match=r"Row: has two created_at\(\) fields, 'made_at' and 'born'"):

        class Row(Stamped, Entity, table=table(), pk="P", sk="S"):
            born = created_at()
            changed = updated_at()
