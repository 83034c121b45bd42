"""Codecs of list, tuple and dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import Bind, Codec, ValueProblem, is_a, payload, wrong_type
from tablekit.codecs.codegen import Names, compile_function
from tablekit.codecs.freeform import key_segment, map_key
from tablekit.codecs.scalars import StrCodec

__all__ = ["ListCodec", "MapCodec", "TupleCodec"]

_NO_SET = "is an empty set inside a list or a map, where DynamoDB can neither store it nor leave it out"


def encode_inside(codec: Codec[Any], value: Any, segment: str) -> AttributeValue:
    """A value inside a list or a map, with the path in its problem."""
    try:
        av = codec.encode(value)
    except ValueProblem as problem:
        raise problem.at(segment) from None
    if av is None:
        raise ValueProblem(_NO_SET, segment)
    return av


def decode_inside(codec: Codec[Any], av: AttributeValue, segment: str) -> Any:
    """A stored value inside a list or a map, with the path in its problem."""
    try:
        return codec.decode(av)
    except ValueProblem as problem:
        raise problem.at(segment) from None


def _always_written(codec: Codec[Any]) -> bool:
    """Whether a codec has an attribute value for each of its values: an empty set has none."""
    return bool(codec.tags) and codec.tags.isdisjoint({"SS", "NS", "BS"})


class ListCodec(Codec[Any]):
    """A sequence of one type as ``L``: `list`, `tuple` of any length, or `Sequence`.

    Parameters:
        item: the codec of the items. kind: ``"list"``, ``"tuple"`` or ``"Sequence"`` (a list or a tuple is
            taken, a list is read).
    """

    tags = frozenset({"L"})

    def __init__(self, item: Codec[Any], kind: str = "list") -> None:
        self.item = item
        self.make: Callable[[Any], Any] = tuple if kind == "tuple" else list
        self.python_types = {"list": (list,), "tuple": (tuple,)}.get(kind, (list, tuple))
        self.name = f"tuple[{item.name}, ...]" if kind == "tuple" else f"{kind}[{item.name}]"
        self.empty = self.make
        self.open_depth = item.open_depth
        self.copy = self._copier(kind)

    def _copier(self, kind: str) -> Callable[[Any], Any] | None:
        copy_item = self.item.copy
        if copy_item is None:
            return None if kind == "tuple" else _copy_flat
        return lambda values: type_of(values)(map(copy_item, values))

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, self.python_types):
            raise wrong_type(self.name, value)
        encode = self.item.encode
        encoded: list[AttributeValue] = []
        try:
            for each in value:
                av = encode(each)
                if av is None:
                    raise ValueProblem(_NO_SET)  # noqa: TRY301  it gets its path below, like every other
                encoded.append(av)
        except ValueProblem as problem:
            raise problem.at(f"[{len(encoded)}]") from None
        return {"L": encoded}

    def decode(self, av: AttributeValue) -> Any:
        values = payload(av, "L", self.name)
        return self.make([decode_inside(self.item, each, f"[{index}]") for index, each in enumerate(values)])

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self.item if isinstance(segment, int) else None

    def decode_source(self, av: str, bind: Bind) -> str:
        source = f'[{self.item.decode_source("x", bind)} for x in {av}["L"]]'
        return source if self.make is list else f"tuple({source})"

    def encode_source(self, value: str, bind: Bind) -> str:
        encode = super().encode_source(value, bind)
        if not _always_written(self.item):
            return encode
        kinds = " or ".join(f"type({value}) is {kind.__name__}" for kind in self.python_types)
        return f'({{"L": [{self.item.encode_source("x", bind)} for x in {value}]}} if {kinds} else {encode})'

    def copy_source(self, value: str, bind: Bind) -> str:
        # What was decoded is a plain list, whatever else the type takes.
        return f"{value}[:]" if self.copy is _copy_flat and self.make is list else super().copy_source(value, bind)


def type_of(values: Any) -> Callable[[Any], Any]:
    """The plain class that a copy of a list or a tuple has."""
    return tuple if isinstance(values, tuple) else list


def _copy_flat(values: Any) -> Any:
    return values if is_a(values, tuple) else list(values)


class TupleCodec(Codec[Any]):
    """A `tuple` of fixed length, each place with its own type, as ``L``."""

    tags = frozenset({"L"})
    python_types = (tuple,)

    def __init__(self, items: tuple[Codec[Any], ...]) -> None:
        self.items = items
        self.name = f"tuple[{', '.join(item.name for item in items) or '()'}]"
        self.open_depth = any(item.open_depth for item in items)
        copies = [item.copy for item in items]
        if any(copies):
            self.copy = lambda values: tuple(copy(v) if copy else v for copy, v in zip(copies, values, strict=True))

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, tuple):
            raise wrong_type(self.name, value)
        places = enumerate(zip(self.items, self._sized(value), strict=True))
        return {"L": [encode_inside(item, each, f"[{index}]") for index, (item, each) in places]}

    def decode(self, av: AttributeValue) -> Any:
        places = enumerate(zip(self.items, self._sized(payload(av, "L", self.name)), strict=True))
        return tuple(decode_inside(item, each, f"[{index}]") for index, (item, each) in places)

    def _sized(self, values: Any) -> Any:
        if len(values) != len(self.items):
            raise ValueProblem(f"has {len(values)} items, and {self.name} has {len(self.items)}")
        return values

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self.items[segment] if isinstance(segment, int) and 0 <= segment < len(self.items) else None

    def decode_source(self, av: str, bind: Bind) -> str:
        if not self.items:
            return super().decode_source(av, bind)
        names = Names()
        places = "".join(f"x{index}, " for index in range(len(self.items)))
        values = "".join(f"{item.decode_source(f'x{index}', names.bind)}, " for index, item in enumerate(self.items))
        source = f"def read_tuple(values):\n    {places} = values\n    return ({values})\n"
        read = compile_function("read_tuple", source, names.namespace)
        return f'{bind("read_tuple", read)}({av}["L"])'


class MapCodec(Codec[Any]):
    """A `dict` (or `Mapping`) of one value type as ``M``.

    Keys are str, or any type that is stored as a string (UUID, date, datetime, an enum or Literal of str); int
    keys are written in decimal.
    """

    tags = frozenset({"M"})

    def __init__(self, key: Codec[Any], value: Codec[Any], kind: str = "dict") -> None:
        self.key = key
        self.value = value
        self.name = f"{kind}[{key.name}, {value.name}]"
        self.python_types = (dict,) if kind == "dict" else (Mapping,)
        self.empty = dict
        self.open_depth = value.open_depth
        copy = value.copy
        self.copy = dict if copy is None else lambda values: {key: copy(each) for key, each in values.items()}
        # A codec of the user's own for str may have the same name, and store keys otherwise.
        self._plain = isinstance(key, StrCodec)

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, self.python_types):
            raise wrong_type(self.name, value)
        encoded: dict[str, AttributeValue] = {}
        for key, each in value.items():
            text = self.attribute_name(key)
            encoded[text] = encode_inside(self.value, each, key_segment(text))
        if len(encoded) < len(value):
            raise ValueProblem("has two keys that are stored alike")
        return {"M": encoded}

    def attribute_name(self, segment: Any) -> str:
        """The stored form of a key; raises `ValueProblem` for one that is not of the key type."""
        try:
            av = self.key.encode(segment)
        except ValueProblem as problem:
            raise ValueProblem(f"has a key that {problem.reason}", problem.path) from None
        (text,) = (av or {"S": ""}).values()
        return map_key(text)

    def decode(self, av: AttributeValue) -> Any:
        values = payload(av, "M", self.name)
        return {self._key(name): decode_inside(self.value, each, key_segment(name)) for name, each in values.items()}

    def _key(self, name: str) -> Any:
        try:
            key = self.key.decode({self.key.key_type or "S": name})
        except ValueProblem as problem:
            raise ValueProblem(f"has a key that is not {self.key.name}: {problem.reason}") from None
        # "01" and "1" would be one int key.
        if self.key.key_type == "N" and self.attribute_name(key) != name:
            raise ValueProblem("has a number key that is not in its shortest form")
        return key

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self.value

    def decode_source(self, av: str, bind: Bind) -> str:
        key = "k" if self._plain else f"{bind('key', self._key)}(k)"
        return f'{{{key}: {self.value.decode_source("x", bind)} for k, x in {av}["M"].items()}}'

    def encode_source(self, value: str, bind: Bind) -> str:
        encode = super().encode_source(value, bind)
        if not self._plain or not _always_written(self.value):
            return encode
        # A key of a subclass of str raises there, and the careful way looks whether two are stored alike.
        key = f"(k if type(k) is str and k and k.isascii() else {bind('text_key', self._text_key)}(k))"
        inner = self.value.encode_source("x", bind)
        return f'({{"M": {{{key}: {inner} for k, x in {value}.items()}}}} if type({value}) is dict else {encode})'

    def _text_key(self, key: Any) -> str:
        if type(key) is not str:
            raise ValueProblem("has a key that is no plain str")
        return self.attribute_name(key)

    def copy_source(self, value: str, bind: Bind) -> str:
        return f"{value}.copy()" if self.copy is dict else super().copy_source(value, bind)
