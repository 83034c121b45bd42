"""Nested attrs classes and dataclasses as maps."""

from __future__ import annotations

import copy
import dataclasses
import gc
from decimal import Decimal
from typing import Any, Generic, TypeVar

import attrs
import pytest

from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.extras import extra_of
from tablekit.codecs.nested import NestedCodec
from tablekit.codecs.resolve import codec_for

T = TypeVar("T")


@attrs.define
class Price:
    """A slotted class with a stored name, a default, and containers."""

    amount: Decimal = attrs.field(metadata={"tablekit": {"name": "a"}})
    currency: str = "EUR"
    note: str | None = None
    flag: bool | None = True
    tags: set[str] = attrs.field(factory=set)
    parts: list[int] = attrs.field(factory=list)


@attrs.define(slots=False)
class Loose:
    """A class whose instances have a __dict__."""

    n: int
    _hidden: str = "h"


@attrs.frozen
class Point:
    """Nothing of it can change."""

    x: int
    y: int


@attrs.frozen
class Track:
    """Frozen around a list that can change."""

    points: list[Point]


@dataclasses.dataclass(frozen=True)
class Size:
    """A dataclass."""

    width: int
    unit: str = "mm"
    labels: list[str] = dataclasses.field(default_factory=list)


@attrs.define
class Node:
    """A class that contains itself."""

    value: int
    children: list[Node] = attrs.field(factory=list)


@attrs.define
class Box(Generic[T]):
    """A generic class."""

    content: T


@attrs.define
class IntBox(Box[int]):
    """A class that says what its base holds."""

    label: str = ""


@attrs.define
class Checked:
    """A class with rules of its own."""

    n: int = attrs.field(validator=attrs.validators.gt(0))
    double: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.double = 2 * self.n


@attrs.define
class Late:
    """A default that needs the instance."""

    first: int
    second: int = attrs.Factory(lambda self: self.first + 1, takes_self=True)


@attrs.define
class Unset:
    """A set whose default is not empty."""

    tags: set[str] = attrs.field(factory=lambda: {"x"})


@attrs.define
class Shared:
    """A default that all instances would share."""

    items: list[int] = []  # noqa: RUF008  the shared list is the case


@attrs.define
class Twice:
    """Two fields stored under one name."""

    a: int
    b: int = attrs.field(metadata={"tablekit": {"name": "a"}})


def test_fields_are_stored_by_name():
    """Each field stands under its stored name; None and the empty set are left out where they read back so."""
    value = Price(Decimal("1.50"), flag=None)
    wire = codec_for(Price).encode(value)
    assert wire == {"M": {"a": {"N": "1.5"}, "currency": {"S": "EUR"}, "flag": {"NULL": True}, "parts": {"L": []}}}
    assert codec_for(Price).decode(wire) == value


@pytest.mark.parametrize(
    "value",
    [
        Price(Decimal(1), "USD", "n", tags={"a"}, parts=[1]),
        Loose(1, "x"),
        Track([Point(1, 2)]),
        Size(3, labels=["a"]),
        Node(1, [Node(2, [Node(3)])]),
        IntBox(5, "five"),
        Checked(2),
        Late(1, 7),
    ],
)
def test_a_nested_value_reads_back_equal(value):
    """What is written comes back as an equal object of the same class."""
    codec = codec_for(type(value))
    assert codec.decode(codec.encode(value)) == value


def test_missing_attributes_get_the_classs_defaults():
    """Constants, factories, and factories that take the instance all stand in."""
    assert codec_for(Price).decode({"M": {"a": {"N": "1"}}}) == Price(Decimal(1))
    assert codec_for(Late).decode({"M": {"first": {"N": "1"}}}) == Late(1, 2)
    assert codec_for(Track).decode({"M": {}}) == Track([])


def test_a_missing_attribute_without_a_default_is_refused():
    """The problem names the field by its Python name."""
    with pytest.raises(ValueProblem) as caught:
        codec_for(list[Price]).decode({"L": [{"M": {}}]})
    assert caught.value.path == "[0].amount"


def test_a_problem_inside_names_its_path():
    """Encoding and decoding both lead to the place."""
    with pytest.raises(ValueProblem) as caught:
        codec_for(Node).encode(Node(1, [Node("x")]))
    assert caught.value.path == ".children[0].value"
    with pytest.raises(ValueProblem) as caught:
        codec_for(Node).decode({"M": {"value": {"S": "x"}}})
    assert caught.value.path == ".value"


@pytest.mark.parametrize(("cls", "known"), [(Loose, {"n": {"N": "1"}, "_hidden": {"S": "h"}}), (Point, None)])
def test_undeclared_attributes_are_written_again(cls, known):
    """What the class does not know survives a round trip, with slots and without."""
    known = known or {"x": {"N": "1"}, "y": {"N": "2"}}
    wire = {"M": {**known, "later": {"S": "v2"}}}
    codec = codec_for(cls)
    read = codec.decode(wire)
    assert read == codec.decode({"M": known})
    assert codec.encode(read) == wire


def test_undeclared_attributes_stay_with_a_copy():
    """The codec's copy of a value carries them along."""
    codec = codec_for(Price)
    read = codec.decode({"M": {"a": {"N": "1"}, "later": {"S": "v2"}}})
    assert codec.copy is not None
    assert extra_of(codec.copy(read)) == {"later": {"S": "v2"}}


def test_undeclared_attributes_go_with_their_object():
    """Another object that is given the same identity later does not inherit them."""
    codec = codec_for(Point)
    stored = {"M": {"x": {"N": "1"}, "y": {"N": "2"}, "z": {"N": "3"}}}
    for _ in range(50):
        codec.decode(stored)
        gc.collect(0)
        assert extra_of(Point(1, 2)) is None


def test_r08_copies_are_independent_at_every_depth():
    """R08: a copy of a nested value shares no list, set or object that can change."""
    codec = codec_for(Node)
    original = Node(1, [Node(2)])
    assert codec.copy is not None
    copied = codec.copy(original)
    copied.children[0].value = 9
    copied.children.append(Node(3))
    assert original == Node(1, [Node(2)])


def test_only_what_can_change_is_copied():
    """A frozen class of scalars is shared; one around a list is not."""
    assert codec_for(Point).copy is None
    copied = codec_for(Track).copy(Track([Point(1, 2)]))
    assert copied == Track([Point(1, 2)])
    assert codec_for(Price).copy is not None


def test_r08_a_shared_default_is_refused():
    """R08: a list as a plain default is a definition error that names the remedy."""
    with pytest.raises(UnsupportedAnnotation, match="factory=list"):
        codec_for(Shared)


def test_an_empty_set_that_would_read_back_full_is_refused():
    """Leaving the attribute out would read as the default."""
    with pytest.raises(ValueProblem, match="empty set"):
        codec_for(Unset).encode(Unset(set()))


def test_the_classs_own_rules_apply_to_what_is_read():
    """A validator that refuses a stored value makes it a problem without the value."""
    with pytest.raises(ValueProblem, match="does not accept") as caught:
        codec_for(Checked).decode({"M": {"n": {"N": "-77"}}})
    assert "77" not in str(caught.value)


def test_a_subclass_is_refused():
    """It would be read back as its base."""
    with pytest.raises(ValueProblem, match="subclass IntBox"):
        codec_for(Box[int]).encode(IntBox(1))


def test_generic_classes_take_their_arguments():
    """A type variable stands for what the annotation or the subclass says."""
    assert codec_for(Box[str]).decode({"M": {"content": {"S": "a"}}}) == Box("a")
    assert codec_for(IntBox).child("content") is codec_for(int)
    with pytest.raises(UnsupportedAnnotation, match="type variable"):
        codec_for(Box)


def test_two_fields_of_one_stored_name_are_refused():
    """Neither could be read back."""
    with pytest.raises(UnsupportedAnnotation, match="'a'"):
        codec_for(Twice)


def test_paths_lead_by_python_name():
    """`child` and `attribute_name` take the Python field name."""
    codec = codec_for(Price)
    assert codec.attribute_name("amount") == "a"
    assert codec.child("amount") is codec_for(Decimal)
    assert (codec.attribute_name("a"), codec.child("a")) == (None, None)


def test_fields_tell_name_attribute_and_wire_form():
    """`fields` gives what a difference by path needs; a field that is left out encodes to None."""
    codec = codec_for(Price)
    assert isinstance(codec, NestedCodec)
    fields = {field.name: field for field in codec.fields()}
    assert fields["amount"].attribute == "a"
    assert fields["note"].encode(None) is None
    assert fields["flag"].encode(None) == {"NULL": True}
    assert fields["tags"].encode(set()) is None


def test_a_class_of_a_function_needs_its_namespace():
    """String annotations that name local classes are found in the namespace given."""

    @attrs.define
    class Inner:
        n: int

    @attrs.define
    class Outer:
        inner: Inner

    with pytest.raises(UnsupportedAnnotation, match="Inner"):
        codec_for(Outer)
    codec = codec_for(Outer, namespace={"Inner": Inner})
    assert codec.decode(codec.encode(Outer(Inner(1)))) == Outer(Inner(1))


@pytest.mark.parametrize(("levels", "fits"), [(31, True), (32, False), (3000, False)])
def test_depth_is_limited(levels, fits):
    """A value may have 32 levels; more are refused, however many there are."""
    value: Any = None
    for _ in range(levels):
        value = {"n": value}
    codec = codec_for(Any)
    if fits:
        assert codec.decode(codec.encode(value)) == value
    else:
        with pytest.raises(ValueProblem, match="32 levels"):
            codec.encode(value)


@pytest.mark.parametrize("levels", [16, 3000])
def test_a_class_that_contains_itself_is_limited(levels):
    """Each level of the tree is a map and a list; 16 of them are one level too many with the value inside."""
    tree = Node(0)
    for _ in range(levels):
        tree = Node(0, [tree])
    with pytest.raises(ValueProblem, match="32 levels"):
        codec_for(Node).encode(tree)
    assert codec_for(Node).open_depth


def test_a_problem_deep_inside_is_found_in_linear_time():
    """Reading a bad value at the bottom of a tree visits each level once: 100 levels would never end otherwise."""
    stored: dict[str, Any] = {"M": {"value": {"S": "bad"}}}
    for _ in range(100):
        stored = {"M": {"value": {"N": "0"}, "children": {"L": [stored]}}}
    with pytest.raises(ValueProblem) as caught:
        codec_for(Node).decode(stored)
    assert caught.value.path == ".children[0]" * 100 + ".value"


def test_a_shallow_copy_keeps_undeclared_attributes_of_a_dict_class():
    """`copy.copy` carries a __dict__ along."""
    read = codec_for(Loose).decode({"M": {"n": {"N": "1"}, "z": {"S": ""}}})
    assert extra_of(copy.copy(read)) == {"z": {"S": ""}}
