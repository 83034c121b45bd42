"""What a codec says of its type: name, tags, classes, whether it may be a key, nest, take None, read as empty."""

from __future__ import annotations

import enum
import typing
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Generic, Literal, TypeVar

import attrs
import pytest
from typing_extensions import TypeAliasType

from tablekit.codecs.base import Codec
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import codec_for

T = TypeVar("T")
MaybeInt = TypeAliasType("MaybeInt", int | None)
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | str | None")
NONE = type(None)


class Color(enum.Enum):
    """An enum of str."""

    RED = "red"


class Level(enum.IntEnum):
    """An enum of int."""

    LOW = 1


class Bits(enum.Enum):
    """An enum of bytes."""

    ONE = b"1"


@attrs.define
class Card:
    """A class with a Literal."""

    number: str
    kind: Literal["card"] = "card"


@attrs.define
class Loose:
    """A class that holds anything."""

    content: Any


@attrs.define
class Node:
    """A class that contains itself, and nothing else that nests."""

    children: list[Node] = attrs.field(factory=list)


@attrs.define
class Box(Generic[T]):
    """A generic class."""

    content: T


@attrs.define
class Pair(Generic[T]):
    """A generic class of two."""

    box: Box[T]
    other: T


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (int | None, "int | None"),
        (int | str, "int | str"),
        (int | str | None, "int | str | None"),
        (list[int], "list[int]"),
        (typing.List[int], "list[int]"),  # noqa: UP006  the older spelling is the case
        (MutableSequence[int], "list[int]"),
        (Sequence[str], "Sequence[str]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (tuple[int, str], "tuple[int, str]"),
        (list, "list[Any]"),
        (tuple, "tuple[Any, ...]"),
        (typing.Tuple, "tuple[Any, ...]"),  # noqa: UP006
        (Sequence, "Sequence[Any]"),
        (dict, "dict[str, Any]"),
        (Mapping, "Mapping[str, Any]"),
        (dict[int, str], "dict[int, str]"),
        (Mapping[str, int], "Mapping[str, int]"),
        (MutableMapping[str, int], "dict[str, int]"),
        (set[str], "set[str]"),
        (frozenset[str], "frozenset[str]"),
        (AbstractSet[str], "Set[str]"),
        (MutableSet[str], "set[str]"),
        (Color, "Color"),
        (Literal["a", 1, Color.RED], "Literal['a', 1, Color.RED]"),
        (Card, "Card"),
        (Box[int], "Box[int]"),
        (Annotated[list[int], "a note"], "list[int]"),
        (MaybeInt, "int | None"),
        (list[Json], "list[dict[str, Json] | list[Json] | str | None]"),
    ],
)
def test_a_codec_is_called_like_its_type(annotation, name):
    """Messages name the type the way it is written."""
    assert codec_for(annotation).name == name


@pytest.mark.parametrize(
    ("annotation", "tags"),
    [
        (int | None, {"N", "NULL"}),
        (int | str, {"N", "S"}),
        (MaybeInt | str, {"N", "S", "NULL"}),
        (list[int], {"L"}),
        (tuple[int, str], {"L"}),
        (dict[str, int], {"M"}),
        (set[bytes], {"BS"}),
        (Literal["a", 1, True], {"S", "N", "BOOL"}),
        (Card, {"M"}),
    ],
)
def test_tags_are_what_the_codec_writes(annotation, tags):
    """Every wire type that a value of the type may have, NULL included where None is a value."""
    assert codec_for(annotation).tags == tags


@pytest.mark.parametrize(
    ("annotation", "classes"),
    [
        (int | None, {int, NONE}),
        (int | str, {int, str}),
        (list[int], {list}),
        (tuple[int, ...], {tuple}),
        (Sequence[int], {list, tuple}),
        (tuple[int, str], {tuple}),
        (dict[str, int], {dict}),
        (Mapping[str, int], {Mapping}),
        (frozenset[int], {AbstractSet}),
        (Color, {Color}),
        (Literal["a", 1], {str, int}),
        (Card, {Card}),
    ],
)
def test_a_codec_knows_its_classes(annotation, classes):
    """A union chooses among its members by them."""
    found = codec_for(annotation).python_types
    assert isinstance(found, tuple)
    assert set(found) == classes


@pytest.mark.parametrize(
    ("annotation", "key_type"),
    [
        (str | None, "S"),
        (int | None, "N"),
        (Color, "S"),
        (Level, "N"),
        (Bits, "B"),
        (Literal["a"], "S"),
        (Literal[1, 2], "N"),
        (Literal[b"a"], "B"),
        (Literal["a", 1], None),
        (Literal[True], None),
        (int | str, None),
        (list[int], None),
    ],
)
def test_a_type_of_one_scalar_may_be_a_key(annotation, key_type):
    """Strings, numbers and binary may stand in a key attribute; a mixture may not."""
    assert codec_for(annotation).key_type == key_type


@pytest.mark.parametrize(
    ("annotation", "nullable"),
    [
        (int | None, True),
        (int | str, False),
        (MaybeInt | str, True),
        (Literal["a"], False),
        (Literal["a", None], True),  # noqa: PYI061  None among the values is the case
        (Json, True),
    ],
)
def test_none_is_a_value_where_the_type_says_so(annotation, nullable):
    """The codec tells whether None is a value."""
    assert codec_for(annotation).nullable is nullable


@pytest.mark.parametrize("annotation", [int | None, int | str | None, Literal["a", None] | None, MaybeInt | None])  # noqa: PYI061
def test_none_is_taken_once(annotation):
    """However often None is named, a nullable codec is not wrapped again."""
    codec = codec_for(annotation)
    assert codec.name.count(" | None") <= 1
    assert codec.encode(None) == {"NULL": True}
    assert codec.decode({"NULL": True}) is None


@pytest.mark.parametrize(
    ("annotation", "open_depth"),
    [
        (int | None, False),
        (Any | None, True),
        (list[Any] | None, True),
        (int | str, False),
        (list[Any] | str, True),
        (list[int], False),
        (list[Any], True),
        (tuple[int, str], False),
        (tuple[int, Any], True),
        (dict[str, int], False),
        (dict[str, Any], True),
        (Card, False),
        (Loose, True),
        (Node, True),
        (Json, True),
        (list[Node], True),
    ],
)
def test_depth_is_open_where_anything_may_stand(annotation, open_depth):
    """Only a type that holds anything, or itself, may nest to any depth."""
    assert codec_for(annotation).open_depth is open_depth


@pytest.mark.parametrize(
    ("annotation", "empty"),
    [
        (list[int], []),
        (tuple[int, ...], ()),
        (Sequence[int], []),
        (dict[str, int], {}),
        (set[int], set()),
        (frozenset[int], frozenset()),
        (set[str] | int, set()),
        (set[int] | str, set()),
        (frozenset[bytes] | str, frozenset()),
    ],
)
def test_a_missing_container_reads_as_empty(annotation, empty):
    """The empty value is of the class that is read."""
    make = codec_for(annotation).empty
    assert make is not None
    made = make()
    assert (made, type(made)) == (empty, type(empty))


@pytest.mark.parametrize(
    "annotation", [int, tuple[int, str], Card, list[int] | str, set[str] | frozenset[int], set[str] | None]
)
def test_what_has_no_empty_value_says_so(annotation):
    """Of two kinds of sets, and of a list beside another type, a missing attribute does not tell which is meant."""
    assert codec_for(annotation).empty is None


class Money:
    """A user's type."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


class Euro(Money):
    """Another one."""


def custom(tag: Any = "S", **options: Any) -> Codec[Any]:
    """A codec of the user's own."""
    return custom_codec(encode=str, decode=str, tag=tag, **options)


@pytest.mark.parametrize(
    ("tag", "key_type", "open_depth"),
    [
        ("S", "S", False),
        ("N", "N", False),
        ("B", "B", False),
        ("BOOL", None, False),
        ("L", None, True),
        ("M", None, True),
        ("SS", None, False),
    ],
)
def test_a_custom_codec_is_what_its_tag_is(tag, key_type, open_depth):
    """The tag tells whether the type may be a key, and whether its values may nest."""
    codec = custom(tag)
    assert (codec.tags, codec.key_type, codec.open_depth) == ({tag}, key_type, open_depth)


@pytest.mark.parametrize(
    ("options", "name", "classes"),
    [
        ({"python_type": Money}, "Money", (Money,)),
        ({"python_type": (Euro, Money)}, "Euro", (Euro, Money)),
        ({"python_type": Money, "name": "money"}, "money", (Money,)),
        ({}, "object", (object,)),
    ],
)
def test_a_custom_codec_is_called_like_its_class(options, name, classes):
    """The first class gives the name, unless one is given."""
    codec = custom(**options)
    assert (codec.name, codec.python_types) == (name, classes)


def test_a_custom_codec_copies_as_it_is_told():
    """Without a function, values are shared."""
    assert custom().copy is None
    assert custom(copy=str.upper).copy("a") == "A"


@pytest.mark.parametrize(
    ("metadata", "name"), [((), "int"), (("note",), "int"), ((custom(name="a"), "note", custom(name="b")), "b")]
)
def test_the_last_codec_of_annotated_holds(metadata, name):
    """Other metadata is for others."""
    annotation: Any = int
    for each in metadata:
        annotation = Annotated[annotation, each]
    assert codec_for(annotation).name == name


def test_metadata_without_a_hash_is_taken():
    """Annotated may carry what cannot be hashed; the codec is then made anew."""
    assert codec_for(Annotated[int, ["a", "list"]]).name == "int"


def test_a_generic_class_gives_its_arguments_to_those_inside():
    """What a type variable stands for is known at every depth, and the names say so."""
    codec = codec_for(Pair[int])
    assert (codec.name, codec.child("box").name, codec.child("other").name) == ("Pair[int]", "Box[int]", "int")


Named = TypeAliasType("Named", "list[Annotated[int, LOUD]]")
Cards = TypeAliasType("Cards", "list[Card]")
LOUD = custom(name="loud")


@attrs.define
class Given:
    """A field with a codec of its own."""

    amount: complex = attrs.field(metadata={"tablekit": {"codec": LOUD}})


@attrs.frozen
class Fixed:
    """Nothing of it can change."""

    n: int


@attrs.frozen
class Track:
    """Frozen around a list that can change."""

    points: list[Fixed]


@pytest.mark.parametrize(("alias", "name"), [(Named, "list[loud]"), (Cards, "list[Card]"), (dict[str, Cards], None)])
def test_the_text_of_an_alias_is_resolved_in_its_module(alias, name):
    """Names of the module are found, and what Annotated carries is kept."""
    assert codec_for(alias).name == (name or "dict[str, list[Card]]")


def test_the_text_of_an_alias_is_resolved_in_the_namespace():
    """Names of a function are found where they are given."""
    local = TypeAliasType("local", "list[Inner] | dict[str, local]")  # noqa: F821  the namespace has it
    codec = codec_for(local, namespace={"Inner": Card})
    assert codec.name == "list[Card] | dict[str, local]"


def test_a_codec_in_the_metadata_of_a_field_holds():
    """The annotation is then not looked at."""
    assert codec_for(Given).child("amount") is LOUD


def test_only_a_frozen_class_of_what_cannot_change_is_shared():
    """Every other class has a copier."""
    assert codec_for(Fixed).copy is None
    assert codec_for(list[Fixed] | None).copy is not None
    for annotation in (Track, Card, Node, Box[int]):
        assert codec_for(annotation).copy is not None
