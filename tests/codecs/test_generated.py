"""Generated expressions: each reads, writes and copies by itself, the way of its codec, and refuses the rest."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import attrs
import pytest
from typing_extensions import TypeAliasType

from tablekit.codecs.base import Codec, ValueProblem
from tablekit.codecs.codegen import Names, compile_function, fast_decoder
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.extras import extra_of
from tablekit.codecs.resolve import codec_for

Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | set[str] | str | None")
Chain = TypeAliasType("Chain", "list[Chain]")


class Color(enum.Enum):
    """An enum of str, one value under two names."""

    RED = "red"
    ROT = "red"  # noqa: PIE796  the second name is the case
    BLUE = "blue"


class Level(enum.IntEnum):
    """An enum of int."""

    LOW = 1
    HIGH = 2


class Bits(enum.Enum):
    """An enum of bytes."""

    ONE = b"1"


class Mixed(enum.Enum):
    """An enum of several types."""

    TEXT = "1"
    NUMBER = 1


class Text(str):
    """A subclass of str."""

    __slots__ = ()


@attrs.define
class Part:
    """Every kind of default."""

    number: int = attrs.field(metadata={"tablekit": {"name": "no"}})
    listed: list[int]
    word: str = "w"
    note: str | None = None
    tags: set[str] = attrs.field(factory=set)
    full: set[str] = attrs.field(factory=lambda: {"x"})
    parts: list[int] = attrs.field(factory=lambda: [7])
    _hidden: int = 5


@attrs.define
class Late:
    """A default that needs the instance."""

    first: int
    second: list[int] = attrs.Factory(lambda self: [self.first], takes_self=True)


@dataclasses.dataclass
class Plain:
    """A dataclass of one field."""

    n: int


@attrs.define
class Node:
    """A class that contains itself, with every kind of default."""

    number: int = attrs.field(metadata={"tablekit": {"name": "no"}})
    listed: list[int]
    children: list[Node] = attrs.field(factory=list)
    full: set[str] = attrs.field(factory=lambda: {"x"})
    parts: list[int] | None = None
    word: str = "w"


EPOCH = custom_codec(
    encode=lambda when: int(when.timestamp()),
    decode=lambda seconds: dt.datetime.fromtimestamp(seconds, dt.timezone.utc),
    tag="N",
    python_type=dt.datetime,
)


def write_fast(codec: Codec[Any], value: Any) -> Any:
    """What the generated expression writes."""
    names = Names()
    source = f"def encode(value):\n    return {codec.encode_source('value', names.bind)}\n"
    return compile_function("encode", source, names.namespace)(value)


def copy_fast(codec: Codec[Any], value: Any) -> Any:
    """The copy that the generated expression makes."""
    names = Names()
    source = f"def copy(value):\n    return {codec.copy_source('value', names.bind)}\n"
    return compile_function("copy", source, names.namespace)(value)


def read_nested(codec: Codec[Any], stored: Any) -> Any:
    """What the generated expression reads out of a place that is no plain name."""
    names = Names()
    source = f"def decode(item):\n    return {codec.decode_source('item[0]', names.bind)}\n"
    return compile_function("decode", source, names.namespace)([stored])


VALUES = [
    (int | None, 1, {"N": "1"}),
    (int | None, None, {"NULL": True}),
    (list[int | None], [1, None], {"L": [{"N": "1"}, {"NULL": True}]}),
    (list[int], [], {"L": []}),
    (tuple[int, ...], (1, 2), {"L": [{"N": "1"}, {"N": "2"}]}),
    (Sequence[str], ["a"], {"L": [{"S": "a"}]}),
    (tuple[int, str], (1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
    (tuple[int, Color, Plain], (1, Color.BLUE, Plain(2)), None),
    (dict[str, int], {"a": 1, "\u00e9": 2}, {"M": {"a": {"N": "1"}, "\u00e9": {"N": "2"}}}),
    (dict[str, Color], {"a": Color.RED}, {"M": {"a": {"S": "red"}}}),
    (Mapping[str, Plain], {"a": Plain(1)}, {"M": {"a": {"M": {"n": {"N": "1"}}}}}),
    (dict[Color, int], {Color.RED: 1}, {"M": {"red": {"N": "1"}}}),
    (dict[int, Plain], {3: Plain(1)}, {"M": {"3": {"M": {"n": {"N": "1"}}}}}),
    (dict[str, set[str]], {"a": {"b"}}, {"M": {"a": {"SS": ["b"]}}}),
    (dict[str, set[int] | str], {"a": {1}, "b": "c"}, {"M": {"a": {"NS": ["1"]}, "b": {"S": "c"}}}),
    (list[set[bytes]], [{b"a"}], {"L": [{"BS": [b"a"]}]}),
    (set[str], {"b", "a"}, {"SS": ["a", "b"]}),
    (set[int], {2, 1}, {"NS": ["1", "2"]}),
    (frozenset[Decimal], frozenset({Decimal(1)}), {"NS": ["1"]}),
    (frozenset[bytes], frozenset({b"a"}), {"BS": [b"a"]}),
    (set[dt.date], {dt.date(2024, 1, 2)}, {"SS": ["2024-01-02"]}),
    (set[Color], {Color.BLUE}, {"SS": ["blue"]}),
    (set[Level], {Level.HIGH}, {"NS": ["2"]}),
    (set[Bits], {Bits.ONE}, {"BS": [b"1"]}),
    (Color, Color.RED, {"S": "red"}),
    (Level, Level.HIGH, {"N": "2"}),
    (Bits, Bits.ONE, {"B": b"1"}),
    (Mixed, Mixed.NUMBER, {"N": "1"}),
    (Literal["a", "b"], "b", {"S": "b"}),
    (Literal[1, 2], 2, {"N": "2"}),
    (Literal["1", 1], 1, {"N": "1"}),
    (Plain, Plain(1), {"M": {"n": {"N": "1"}}}),
    (Plain | None, Plain(1), {"M": {"n": {"N": "1"}}}),
    (list[Node], [Node(1, [], [Node(2, [3])])], None),
    (Chain, [[], [[]]], {"L": [{"L": []}, {"L": [{"L": []}]}]}),
    (Json, {"a": ["b", None, {"c"}]}, {"M": {"a": {"L": [{"S": "b"}, {"NULL": True}, {"SS": ["c"]}]}}}),
]


@pytest.mark.parametrize(("annotation", "value", "wire"), VALUES)
def test_an_expression_does_what_the_codec_does(annotation, value, wire):
    """Reading and writing by the generated expression needs no second try."""
    codec = codec_for(annotation)
    wire = codec.encode(value) if wire is None else wire
    assert codec.encode(value) == write_fast(codec, value) == wire
    for read in (codec.decode(wire), fast_decoder(codec)(wire), read_nested(codec, wire)):
        assert (read, type(read)) == (value, type(value))


def test_a_set_of_a_users_own_codec_reads_its_members_one_by_one():
    """Members that have no expression of their own go through their codec."""
    codec = codec_for(frozenset[dt.datetime], overrides={dt.datetime: EPOCH})
    when = dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.timezone.utc)
    read = fast_decoder(codec)({"NS": ["5"]})
    assert (read, type(read)) == ({when}, frozenset)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (list[int], (1,)),
        (tuple[int, ...], [1]),
        (Sequence[int], {1}),
        (list[set[str]], [set()]),
        (list[set[int]], [set()]),
        (list[set[bytes]], [set()]),
        (dict[str, set[str]], {"a": set()}),
        (list[Chain | set[str]], [set()]),
        (dict[str, int], {"": 1}),
        (dict[str, int], {1: 1}),
        (dict[str, int], [1]),
        (dict[Color, int], {"red": 1}),
        (dict[str, int], {"a": "b"}),
        (int | None, "a"),
    ],
)
def test_an_expression_writes_nothing_that_the_codec_refuses(annotation, value):
    """What has no wire form raises in the generated expression as well."""
    with pytest.raises(ValueProblem):
        write_fast(codec_for(annotation), value)


@pytest.mark.parametrize(
    ("annotation", "value", "wire"),
    [
        (Sequence[int], (1,), {"L": [{"N": "1"}]}),
        (Mapping[str, int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
        (dict[str, int], {"a": 1}, {"M": {"a": {"N": "1"}}}),
    ],
)
def test_an_expression_takes_every_class_of_the_type(annotation, value, wire):
    """A Sequence may be a tuple, a Mapping a dict."""
    assert write_fast(codec_for(annotation), value) == wire


def test_a_key_of_a_subclass_is_left_to_the_codec():
    """Two keys that are stored alike would not be seen by the expression."""
    with pytest.raises(ValueProblem, match=r"^has a key that is no plain str$"):
        write_fast(codec_for(dict[str, int]), {Text("a"): 1})
    assert codec_for(dict[str, int]).encode({Text("a"): 1}) == {"M": {"a": {"N": "1"}}}


@pytest.mark.parametrize(
    ("annotation", "stored"),
    [
        (int | None, {"S": "x"}),
        (list[int], {"L": [{"S": "x"}]}),
        (tuple[int, str], {"L": [{"N": "1"}]}),
        (tuple[int, str], {"L": [{"N": "1"}, {"S": "a"}, {"S": "b"}]}),
        (dict[int, int], {"M": {"01": {"N": "1"}}}),
        (dict[str, int], {"M": {"a": {"S": "x"}}}),
        (set[int], {"SS": ["x"]}),
        (Color, {"S": "pink"}),
        (Plain, {"M": {}}),
        (Plain, {"M": {"n": {"S": "x"}}}),
    ],
)
def test_an_expression_reads_nothing_that_the_codec_refuses(annotation, stored):
    """It raises something, whereupon the codec says what is wrong."""
    with pytest.raises(Exception):  # noqa: B017, PT011  which one is the expression's own affair
        fast_decoder(codec_for(annotation))(stored)


COPIES = [
    (list[int], [1]),
    (Sequence[int], [1]),
    (list[list[int]], [[1]]),
    (tuple[list[int], ...], ([1],)),
    (dict[str, int], {"a": 1}),
    (dict[str, list[int]], {"a": [1]}),
    (Sequence[list[int]], ([1],)),
    (tuple[int, list[int]], (1, [2])),
    (list[int] | None, [1]),
    (list[int] | None, None),
    (list[int] | dict[str, int] | str, {"a": 1}),
    (list[int] | str, "a"),
    (set[int], {1}),
    (Plain, Plain(1)),
    (Part, Part(1, [2])),
    (Node | None, Node(1, [2], [Node(2, [])])),
    (Json, {"a": [{"b"}, None]}),
    (list[Json], [{"a": ["b"]}, "c"]),
]


@pytest.mark.parametrize(("annotation", "value"), COPIES)
def test_both_ways_of_copying_give_an_equal_value_of_its_own(annotation, value):
    """The codec's copy and the generated one are equal to the value, of its class, and share no container."""
    codec = codec_for(annotation)
    assert codec.copy is not None
    for copied in (codec.copy(value), copy_fast(codec, value)):
        assert (copied, type(copied)) == (value, type(value))
        assert not changeable(copied) & changeable(value)


def changeable(value: Any) -> set[int]:
    """The identities of all that can change inside a value."""
    if attrs.has(type(value)) or dataclasses.is_dataclass(value):
        names = getattr(type(value), "__annotations__", {})
        inside: Any = [getattr(value, name) for name in names if not name.startswith("_")]
    else:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    shared = value is None or isinstance(value, (str, int, tuple))
    return set[int]().union([] if shared else [id(value)], *map(changeable, inside))


def test_a_copy_of_a_sequence_keeps_its_class():
    """A tuple that stands for a Sequence is shared, a list is copied."""
    codec = codec_for(Sequence[int])
    given = (1, 2)
    assert codec.copy is not None
    assert codec.copy(given) is given
    assert codec.copy([1, 2]) == [1, 2]


def test_a_copy_of_an_enum_or_a_frozenset_is_itself():
    """What cannot change has no copier."""
    for annotation in (Color, frozenset[str], Literal["a"], tuple[int, str], int | None, int | str):
        assert codec_for(annotation).copy is None


def test_every_default_stands_in_for_what_is_not_stored():
    """The generated reader and the careful one fill in constants, factories, and empty containers alike."""
    codec = codec_for(Part)
    assert fast_decoder(codec)({"M": {"no": {"N": "1"}}}) == Part(1, [])
    assert codec.decode({"M": {"no": {"N": "1.0"}}}) == Part(1, [])
    read = fast_decoder(codec)({"M": {"no": {"N": "1"}, "word": {"S": "x"}, "_hidden": {"N": "6"}}})
    assert read == Part(1, [], "x", hidden=6)


def test_defaults_of_a_class_that_contains_itself_stand_in_too():
    """The careful reader alone knows such a class."""
    codec = codec_for(Node)
    read = codec.decode({"M": {"no": {"N": "1"}, "children": {"L": [{"M": {"no": {"N": "2"}}}]}}})
    assert read == Node(1, [], [Node(2, [])])
    assert read.children[0].full == {"x"}
    assert read.children[0].parts is None


def test_a_default_that_needs_the_instance_is_left_to_the_class():
    """A stored value is read; a missing one is made by the class."""
    codec = codec_for(Late)
    assert codec.decode({"M": {"first": {"N": "1"}}}) == Late(1, [1])
    assert codec.decode({"M": {"first": {"N": "1"}, "second": {"L": []}}}) == Late(1, [])
    assert fast_decoder(codec)({"M": {"first": {"N": "1"}, "second": {"L": []}}}) == Late(1, [])


@pytest.mark.parametrize("cls", [Part, Node])
def test_undeclared_attributes_are_kept_by_every_reader(cls):
    """What the class does not know stays with the object; what it knows is no extra."""
    codec = codec_for(cls)
    stored = {"M": {"no": {"N": "1"}, "listed": {"L": []}, "word": {"S": "x"}, "later": {"S": "v2"}}}
    for read in (codec.decode(stored), fast_decoder(codec)(stored)):
        assert extra_of(read) == {"later": {"S": "v2"}}
    del stored["M"]["later"]
    for read in (codec.decode(stored), fast_decoder(codec)(stored)):
        assert extra_of(read) is None


def test_the_decoder_of_a_class_runs_once_where_it_succeeds(monkeypatch):
    """The careful reading is only for what the generated one refuses."""
    codec: Any = codec_for(Part)
    monkeypatch.setattr(type(codec), "_read_carefully", lambda self, stored: pytest.fail("read again"))
    assert codec.decode({"M": {"no": {"N": "1"}}}) == Part(1, [])


@pytest.mark.parametrize(
    ("annotation", "source"),
    [
        (Color, 'by_text_0[av["S"]]'),
        (Level, 'by_text_0[av["N"]]'),
        (Plain, 'read_0(av["M"])'),
        (tuple[int, str], 'read_tuple_0(av["L"])'),
        (dict[Color, Any], '{key_0(k): decode_free_1(x) for k, x in av["M"].items()}'),
        (set[Bits], 'set([decode_member_1({"B": x}) for x in av["BS"]])'),
    ],
)
def test_generated_code_reads_well_in_a_traceback(annotation, source):
    """Names in it say what they do."""
    assert codec_for(annotation).decode_source("av", Names().bind) == source
