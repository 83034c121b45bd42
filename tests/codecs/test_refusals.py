"""What is refused, word by word: what is wrong, where, and what to write instead."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import attrs
import pytest
from typing_extensions import TypeAliasType

from tablekit import Entity, Field, Table
from tablekit.codecs.base import UnsupportedAnnotation, ValueProblem
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import codec_for

T = TypeVar("T")
Lost = TypeAliasType("Lost", "list[Nowhere]")  # noqa: F821  the missing name is the case
Empty = enum.Enum("Empty", [])
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | set[str] | str | None")


class Color(enum.Enum):
    """An enum of str."""

    RED = "red"


class Objects(enum.Enum):
    """An enum of what cannot be stored."""

    ONE = object()


class Text(str):
    """A str that hides its equality, so that two of the same text stand in one dict."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = str.__hash__


@attrs.define
class Card:
    """Told apart by `kind`."""

    number: str
    kind: Literal["card"] = "card"


@attrs.define
class Cash:
    """Told apart by `kind`."""

    amount: int
    kind: Literal["cash"] = "cash"


@attrs.define
class Plain:
    """Has nothing to be told apart by."""

    n: int


@attrs.define
class Box(Generic[T]):
    """A generic class."""

    content: T


@attrs.define
class Odd:
    """A field of no known type."""

    n: complex


@attrs.define
class Picky:
    """A class that refuses what is stored."""

    n: int = attrs.field(validator=attrs.validators.gt(0))


@attrs.define
class Full:
    """A set whose default is not empty."""

    tags: set[str] = attrs.field(factory=lambda: {"x"})


class Row(Entity, table=Table("t"), pk="ROW#{id}", sk="META"):
    """A row of its own."""

    id: Field[str]


def reason_of(annotation: Any) -> str:
    """Why an annotation has no codec."""
    with pytest.raises(UnsupportedAnnotation) as caught:
        codec_for(annotation)
    return caught.value.reason


def problem_of(call: Callable[[Any], Any], value: Any) -> str:
    """The whole text of the problem that encoding or decoding a value has."""
    with pytest.raises(ValueProblem) as caught:
        call(value)
    return str(caught.value)


NO_CODEC = " has no codec; make it an attrs class, or give one with register_codec() or custom_codec()"
NO_SET = ": DynamoDB has sets of strings, of numbers and of binary values only; use a list"
NO_KEY = ": the keys of a stored map are strings; use str, int, an enum of str, UUID, date or datetime"
NOT_STORABLE = (
    "cannot be stored: its value is of type object, which a free-form value cannot hold since it would not be read "
    "back as the same type; declare the type"
)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (complex, "complex" + NO_CODEC),
        (Callable[[], int], "Callable" + NO_CODEC),
        (object(), "<object object at ...>" + NO_CODEC),
        (Odd, "Odd.n: complex" + NO_CODEC),
        ("Nowhere", "the name in the annotation 'Nowhere' could not be resolved"),
        (T, "the type variable ~T stands for no type; give the class its arguments"),
        (
            Row,
            "Row is an entity, a row of its own, and cannot stand inside another; keep the fields of its key",
        ),
        (set, "set does not say what its members are; write set[str]"),
        (frozenset, "frozenset does not say what its members are; write frozenset[str]"),
        (AbstractSet, "Set does not say what its members are; write Set[str]"),
        (set[bool], "set[bool]" + NO_SET),
        (frozenset[str | None], "frozenset[str | None]" + NO_SET),
        (dict[float, int], "dict[float, ...]" + NO_KEY),
        (Mapping[bool, int], "Mapping[bool, ...]" + NO_KEY),
        (dict[str | None, int], "dict[str | None, ...]" + NO_KEY),
        (Lost, "the alias Lost names Nowhere, which cannot be found"),
        (
            int | Decimal,
            (
                "int | Decimal: int and Decimal are both stored as a number (N), so a stored value does not say "
                "which it is"
            ),
        ),
        (
            Plain | Card,
            (
                "Plain | Card: Plain and Card are all stored as maps; give each a field of the same name annotated "
                "with a Literal of its own"
            ),
        ),
        (Empty, "the enum Empty has no members"),
        (Objects, "Objects.ONE " + NOT_STORABLE),
        (Literal[Objects.ONE, "a"], "Objects.ONE of Literal[Objects.ONE, 'a'] " + NOT_STORABLE),
        (Literal["red", Color.RED], "two values of Literal['red', Color.RED] are stored alike"),
    ],
)
def test_an_annotation_is_refused_with_reason_and_remedy(annotation, reason):
    """The definition error says which type, what is wrong with it, and what to write."""
    assert re.sub("0x[0-9a-f]+", "...", reason_of(annotation)) == reason


EMPTY_INSIDE = "is an empty set inside a list or a map, where DynamoDB can neither store it nor leave it out"


@pytest.mark.parametrize(
    ("annotation", "value", "problem"),
    [
        (list[int], (1,), "is of type tuple, not list[int]"),
        (list[int], None, "is None, and list[int] does not take None"),
        (tuple[int, ...], [1], "is of type list, not tuple[int, ...]"),
        (Sequence[str], "abc", "is of type str, not Sequence[str]"),
        (tuple[int, str], [1], "is of type list, not tuple[int, str]"),
        (tuple[int, str], (1,), "has 1 items, and tuple[int, str] has 2"),
        (tuple[int, str], (1, 2), "[1]: is of type int, not str"),
        (list[set[str]], [{"a"}, set()], "[1]: " + EMPTY_INSIDE),
        (tuple[set[str], int], (set(), 1), "[0]: " + EMPTY_INSIDE),
        (dict[str, set[str]], {"a": set()}, '["a"]: ' + EMPTY_INSIDE),
        (dict[str, int], [("a", 1)], "is of type list, not dict[str, int]"),
        (Mapping[str, int], [1], "is of type list, not Mapping[str, int]"),
        (dict[str, int], {1: 1}, "has a key that is of type int, not str"),
        (dict[str, int], {"": 1}, "has an empty key; DynamoDB's attribute names have at least one character"),
        (dict[str, int], {Text("a"): 1, Text("a"): 2}, "has two keys that are stored alike"),
        (dict[date, int], {1: 1}, "has a key that is of type int, not date"),
        (set[int], [1], "is of type list, not set[int]"),
        (set[int], {"a"}, "has a member that is of type str, not int"),
        (set[str], {Text("a"), Text("a")}, "has two members that are stored alike"),
        (int | str, 1.5, "is of type float, not int | str"),
        (int | str, None, "is None, and int | str does not take None"),
        (Color, "red", "is of type str, not Color"),
        (Literal["a", 1, Color.RED], "b", "is none of the values of Literal['a', 1, Color.RED]"),
        (Plain, 1, "is of type int, not Plain"),
        (Plain, None, "is None, and Plain does not take None"),
        (Plain, Plain("x"), ".n: is of type str, not int"),  # type: ignore[arg-type]
        (
            Full,
            Full(set()),
            (
                ".tags: is an empty set, which DynamoDB cannot store; it would be left out and read back as the "
                "default, so make the default an empty set"
            ),
        ),
        (Box[int], Box("x"), ".content: is of type str, not int"),
        (Box[int], 5, "is of type int, not Box[int]"),
        (Json, [set()], "[0]: " + EMPTY_INSIDE),
    ],
)
def test_a_value_is_refused_with_place_and_reason(annotation, value, problem):
    """The problem says where, what is there, and what is wanted."""
    assert problem_of(codec_for(annotation).encode, value) == problem


@pytest.mark.parametrize(
    ("annotation", "stored", "problem"),
    [
        (list[int], {"S": "x"}, "the stored value is a string (S); list[int] is read from a list (L)"),
        (list[int], {"L": [{"S": "x"}]}, "[0]: the stored value is a string (S); int is read from a number (N)"),
        (tuple[int, str], {"N": "1"}, "the stored value is a number (N); tuple[int, str] is read from a list (L)"),
        (tuple[int, str], {"L": []}, "has 0 items, and tuple[int, str] has 2"),
        (
            tuple[int, str],
            {"L": [{"N": "1"}, {"N": "1"}]},
            "[1]: the stored value is a number (N); str is read from a string (S)",
        ),
        (dict[str, int], {"L": []}, "the stored value is a list (L); dict[str, int] is read from a map (M)"),
        (dict[str, int], {"NULL": True}, "the stored value is NULL, and dict[str, int] does not take None"),
        (dict[int, int], {"M": {"01": {"N": "1"}}}, "has a number key that is not in its shortest form"),
        (
            dict[Color, int],
            {"M": {"pink": {"N": "1"}}},
            "has a key that is not Color: the stored value is none of those of Color",
        ),
        (set[int], {"SS": ["a"]}, "the stored value is a string set (SS); set[int] is read from a number set (NS)"),
        (
            set[Color],
            {"SS": ["pink"]},
            "has a member that cannot be read: the stored value is none of those of Color",
        ),
        (int | str, {"BOOL": True}, "the stored value is a boolean (BOOL); no int | str"),
        (int | str, {"X": 1}, "the stored value is of an unknown type; no int | str"),
        (int | str, {}, "the stored value is of an unknown type; no int | str"),
        (Card | Cash, {"M": {}}, ".kind: the stored map does not say which of Card | Cash it is"),
        (Card | Cash, {"M": {"kind": {"S": "x"}}}, ".kind: the stored map does not say which of Card | Cash it is"),
        (Color, {"S": "pink"}, "the stored value is none of those of Color"),
        (Color, {"X": 1}, "the stored value is none of those of Color"),
        (Literal["a"], {"S": "b"}, "the stored value is none of those of Literal['a']"),
        (Plain, {"L": []}, "the stored value is a list (L); Plain is read from a map (M)"),
        (Plain, {"M": {}}, ".n: is not stored, and has no default"),
        (Picky, {"M": {"n": {"N": "0"}}}, "Picky does not accept what is stored (ValueError)"),
    ],
)
def test_a_stored_value_is_refused_with_place_and_reason(annotation, stored, problem):
    """The problem says where, what is stored, and what the type is read from."""
    assert problem_of(codec_for(annotation).decode, stored) == problem


class Money:
    """A user's type, in cents."""

    def __init__(self, cents: int) -> None:
        self.cents = cents


CENTS = custom_codec(encode=lambda money: money.cents, decode=Money, tag="N", python_type=Money)
TEXT = custom_codec(encode=lambda money: money.cents, decode=Money, python_type=Money, name="euros")
BROKEN = custom_codec(encode=lambda money: money.dollars, decode=lambda text: 1 // 0, python_type=Money)


def refuse(_: Any) -> Any:
    """A function of the user's own that says what is wrong."""
    raise ValueProblem("is no amount", ".cents")


@pytest.mark.parametrize(
    ("call", "value", "problem"),
    [
        (CENTS.encode, 5, "is of type int, not Money"),
        (CENTS.encode, None, "is None, and Money does not take None"),
        (TEXT.encode, Money(7), "was encoded to int, and the codec of euros writes S"),
        (BROKEN.encode, Money(7), "could not be encoded by the codec of Money (AttributeError)"),
        (BROKEN.decode, {"S": "7"}, "could not be decoded by the codec of Money (ZeroDivisionError)"),
        (CENTS.decode, {"S": "7"}, "the stored value is a string (S); Money is read from a number (N)"),
        (custom_codec(encode=refuse, decode=refuse).encode, 1, ".cents: is no amount"),
        (custom_codec(encode=refuse, decode=refuse).decode, {"S": "x"}, ".cents: is no amount"),
    ],
)
def test_a_custom_codec_says_what_failed(call, value, problem):
    """The codec's name and the class of the failure are told; a problem that the function raises stays as it is."""
    assert problem_of(call, value) == problem


def test_a_key_in_several_parts_keeps_its_path():
    """Where a codec of keys or of members says the place, the place stays."""
    parts = custom_codec(encode=refuse, decode=str, python_type=str)
    assert (
        problem_of(codec_for(dict[Annotated[str, parts], int]).encode, {"a": 1})
        == ".cents: has a key that is no amount"
    )
    assert problem_of(codec_for(set[Annotated[str, parts]]).encode, {"a"}) == ".cents: has a member that is no amount"


def test_a_new_type_of_no_type_is_refused_by_its_own_name():
    """NewType is looked through before it is refused."""
    assert reason_of(NewType("Unknown", complex)) == "complex" + NO_CODEC
