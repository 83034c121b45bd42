"""What a path finds inside a value: codecs, stored names, and what a missing value reads as."""

from __future__ import annotations

import enum
from typing import Any, Literal

import attrs
import pytest
from typing_extensions import TypeAliasType

from tablekit.codecs.base import Codec, ValueProblem
from tablekit.codecs.resolve import codec_for

Json = TypeAliasType("Json", "dict[str, Json] | str")
Chain = TypeAliasType("Chain", "list[Chain]")


class Color(enum.Enum):
    """An enum of str."""

    RED = "red"


class Step(Codec[int]):
    """An int that is added to in another form than it is stored in."""

    name = "step"
    tags = frozenset({"N"})
    python_types = (int,)

    def encode(self, value: Any) -> Any:
        """The number."""
        return {"N": str(value)}

    def encode_step(self, value: Any) -> Any:
        """Ten times the number."""
        return {"N": f"{value}0"}


@attrs.define
class Card:
    """A class with stored names of its own."""

    number: str = attrs.field(metadata={"tablekit": {"name": "no"}})
    tags: set[str]
    notes: frozenset[str] = frozenset()
    made: frozenset[str] = attrs.field(factory=frozenset)
    marks: set[str] = attrs.field(factory=set)
    full: set[str] = attrs.field(factory=lambda: {"x"})
    some: frozenset[str] = frozenset("x")
    none: set[str] | None = None
    text: str = ""
    kind: Literal["card"] = "card"


@attrs.define
class Cash:
    """Another class with a field of one name with the first."""

    number: int = attrs.field(metadata={"tablekit": {"name": "n"}})
    amount: int = attrs.field(metadata={"tablekit": {"name": "a"}})
    kind: Literal["cash"] = "cash"


@pytest.mark.parametrize(
    ("annotation", "segment", "inside"),
    [
        (list[int], 3, "int"),
        (list[int], "a", None),
        (tuple[int, str], 0, "int"),
        (tuple[int, str], 1, "str"),
        (tuple[int, str], 2, None),
        (tuple[int, str], -1, None),
        (tuple[int, str], "a", None),
        (dict[str, bool], "x", "bool"),
        (list[int] | None, 0, "int"),
        (list[int] | None, "a", None),
        (Card, "number", "str"),
        (Card, "no", None),
        (Card, 0, None),
        (Card | None, "number", "str"),
        (list[int] | dict[str, bool], "a", "bool"),
        (list[int] | str, 0, "int"),
        (list[int] | dict[str, bool], 0, None),
        (Card | Cash, "amount", "int"),
        (Card | Cash, "number", None),
        (Card | Cash, "other", None),
    ],
)
def test_a_step_leads_to_the_codec_inside(annotation, segment, inside):
    """A step that no member of a union has, or that two have, leads nowhere."""
    found = codec_for(annotation).child(segment)
    assert (found.name if found else None) == inside


@pytest.mark.parametrize(
    ("annotation", "segment", "name"),
    [
        (Card, "number", "no"),
        (Card, "no", None),
        (Card | None, "number", "no"),
        (Card | None, "no", None),
        (dict[str, int], "a", "a"),
        (dict[Color, int], Color.RED, "red"),
        (dict[int, int], -3, "-3"),
        (dict[Color, int] | None, Color.RED, "red"),
        (Card | Cash, "amount", "a"),
        (Card | Cash, "number", None),
        (Card | Cash, "kind", "kind"),
        (Card | Cash, "other", None),
        (list[int], 0, None),
        (list[int] | str, 0, None),
    ],
)
def test_a_step_has_a_stored_name(annotation, segment, name):
    """A field's stored name, or a key's text; none where the members of a union differ."""
    assert codec_for(annotation).attribute_name(segment) == name


def test_a_step_that_is_no_key_is_refused():
    """A key of another type has no stored name."""
    with pytest.raises(ValueProblem, match=r"^has a key that is of type str, not Color$"):
        codec_for(dict[Color, int]).attribute_name("red")


def test_a_path_goes_through_an_alias_that_contains_itself():
    """What stands for the alias inside it leads on to what the alias is."""
    inside = codec_for(Json).child("a")
    assert inside is not None
    assert inside.child("b") is inside
    assert inside.attribute_name("b") == "b"
    listed = codec_for(Chain).child(0)
    assert listed is not None
    assert (listed.child("a"), listed.child(1)) == (None, listed)


@pytest.mark.parametrize(
    ("field", "reads_empty"),
    [
        ("tags", True),
        ("notes", True),
        ("made", True),
        ("marks", True),
        ("full", False),
        ("some", False),
        ("none", False),
        ("text", False),
        ("other", False),
    ],
)
@pytest.mark.parametrize("annotation", [Card, Card | None])
def test_a_missing_set_reads_as_empty_where_its_default_is(annotation, field, reads_empty):
    """An update writes an empty set by removing it only where it then reads as one."""
    assert codec_for(annotation).reads_empty(field) is reads_empty


def test_no_other_type_reads_as_empty_inside():
    """Types without fields have nothing inside that would."""
    assert codec_for(dict[str, int]).reads_empty("a") is False
    assert codec_for(dict[str, int] | None).reads_empty("a") is False


def test_a_step_of_an_update_is_that_of_the_type():
    """What is added to an optional value is encoded by its type; None is NULL."""
    codec = codec_for(int | None, overrides={int: Step()})
    assert codec.encode(5) == {"N": "5"}
    assert codec.encode_step(5) == {"N": "50"}
    assert codec.encode_step(None) == {"NULL": True}
