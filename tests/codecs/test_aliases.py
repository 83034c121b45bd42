"""Aliases that contain themselves inside unions, and types that a codec of their own stores otherwise."""

from __future__ import annotations

import enum
from typing import Annotated, Any, TypeVar

import pytest
from typing_extensions import TypeAliasType

from tablekit.codecs.base import Codec, UnsupportedAnnotation, ValueProblem
from tablekit.codecs.codegen import Names, compile_function, fast_decoder
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import codec_for

T = TypeVar("T")
Tree = TypeAliasType("Tree", "list[Tree | int]")
Gaps = TypeAliasType("Gaps", "list[Gaps | None]")
Noted = TypeAliasType("Noted", "list[Annotated[Noted, 'a note'] | int]")
Texts = TypeAliasType("Texts", "list[TextOrTexts]")
TextOrTexts = TypeAliasType("TextOrTexts", "str | Texts")
Deep = TypeAliasType("Deep", "list[list[Deep | int] | int]")
Of = TypeAliasType("Of", "list[Of[T] | T]", type_params=(T,))
Itself = TypeAliasType("Itself", "Itself")
OrNone = TypeAliasType("OrNone", "OrNone | None")
OrInt = TypeAliasType("OrInt", "OrInt | int")
Other = TypeAliasType("Other", "Named")
Named = TypeAliasType("Named", "list[Other | int]")
OneWay = TypeAliasType("OneWay", "OtherWay")
OtherWay = TypeAliasType("OtherWay", "OneWay")
SetOrList = TypeAliasType("SetOrList", "set[str] | list[SetOrList | None]")

UPPER = custom_codec(encode=str.upper, decode=str.lower, python_type=str)


class Unhashable(enum.Enum):  # noqa: PLW1641  the missing hash is the case
    """An enum that compares in its own way, and so has no hash."""

    ON = "on"

    def __eq__(self, other: object) -> bool:
        return self is other


def write_fast(codec: Any, value: Any) -> Any:
    """What the generated expression writes."""
    names = Names()
    source = f"def encode(value):\n    return {codec.encode_source('value', names.bind)}\n"
    return compile_function("encode", source, names.namespace)(value)


@pytest.mark.parametrize(
    ("alias", "value"),
    [
        (Tree, [1, [2, []]]),
        (Gaps, [None, [None]]),
        (Noted, [1, [2]]),
        (Texts, ["a", ["b", ["c"]]]),
        (TextOrTexts, ["a", ["b"]]),
        (Deep, [1, [2, [3]]]),
        (Of[str], ["a", ["b"]]),
        (Other, [1, [2]]),
        (Named, [1, [2]]),
        (dict[str, Tree | str], {"a": [1, [2]], "b": "c"}),
    ],
)
def test_an_alias_may_contain_itself_inside_a_union(alias, value):
    """A union finds how an alias is stored that is still being made."""
    codec = codec_for(alias)
    wire = codec.encode(value)
    assert codec.decode(wire) == fast_decoder(codec)(wire) == value
    assert codec.copy is not None
    assert codec.copy(value) == value


@pytest.mark.parametrize("alias", [Itself, OrNone, OrInt, OneWay, list[OrNone], Annotated[OrInt, "a note"]])
def test_an_alias_of_nothing_but_itself_is_refused(alias):
    """Such an alias stands for no type."""
    with pytest.raises(UnsupportedAnnotation, match=r"^(Itself|OrNone|OrInt|OneWay) is defined by nothing but itself$"):
        codec_for(alias)


def test_a_set_inside_a_recursive_alias_keeps_its_rule():
    """An empty set inside a list is refused by the generated code too."""
    codec = codec_for(list[SetOrList | None])
    assert write_fast(codec, [{"a"}, None]) == {"L": [{"SS": ["a"]}, {"NULL": True}]}
    with pytest.raises(ValueProblem, match="is an empty set inside a list"):
        write_fast(codec, [set()])


def test_the_empty_tuple_holds_nothing():
    """``tuple[()]`` is the tuple without items, and no tuple of any length."""
    codec = codec_for(tuple[()])
    assert codec.name == "tuple[()]"
    assert fast_decoder(codec)({"L": []}) == ()
    with pytest.raises(ValueProblem, match=r"^has 1 items, and tuple\[\(\)\] has 0$"):
        codec.encode((1,))


def test_an_enum_without_a_hash_is_stored():
    """The members of an enum with an __eq__ of its own are found by identity."""
    codec = codec_for(Unhashable)
    assert codec.encode(Unhashable.ON) == {"S": "on"}
    assert codec.decode({"S": "on"}) is Unhashable.ON


def test_keys_of_a_map_go_through_a_codec_of_str():
    """Where str is stored otherwise, keys are too, by the generated code as well."""
    codec = codec_for(dict[str, int], overrides={str: UPPER})
    assert codec.encode({"a": 1}) == write_fast(codec, {"a": 1}) == {"M": {"A": {"N": "1"}}}
    assert codec.decode({"M": {"A": {"N": "1"}}}) == fast_decoder(codec)({"M": {"A": {"N": "1"}}}) == {"a": 1}


def test_a_codec_without_tags_stands_in_no_union():
    """A stored value would not tell that it is meant."""
    silent: Codec[Any] = Codec()
    silent.name = "Silent"
    with pytest.raises(UnsupportedAnnotation, match=r"^the codec of Silent does not say in `tags` how it is stored$"):
        codec_for(Annotated[str, silent] | int)
