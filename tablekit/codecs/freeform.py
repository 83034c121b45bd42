"""The codec of `Any`: a value encoded by its own class and decoded by its tag."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import TAG_WORDS, Codec, ValueProblem, is_a
from tablekit.codecs.compare import MAX_DEPTH, too_deep
from tablekit.codecs.numbers import decimal_text, float_text, int_text, read_decimal
from tablekit.codecs.scalars import BoolCodec, BytesCodec, StrCodec

__all__ = ["AnyCodec", "decode_free", "encode_free", "key_segment", "map_key"]

SEGMENT = 40
_STR, _BOOL, _BYTES = StrCodec(), BoolCodec(), BytesCodec()


def encode_free(value: Any, level: int = 1) -> AttributeValue:
    """A value of no declared type, by its class.

    None, bool, int, float, Decimal, str, bytes, list, tuple, dict with str keys, and sets of str, of numbers or
    of bytes. Everything else is refused, a datetime too: it would come back as another type than it went.
    """
    if level > MAX_DEPTH:
        raise too_deep()
    if is_a(value, (list, tuple)):
        return _list(value, level + 1)
    if is_a(value, dict):
        return _map(value, level + 1)
    if is_a(value, AbstractSet):
        return _set(value)
    return {"NULL": True} if value is None else _scalar(value)


def _scalar(value: Any) -> AttributeValue:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": int_text(value)}
    if isinstance(value, float):
        return {"N": float_text(value)}
    if isinstance(value, Decimal):
        return {"N": decimal_text(value)}
    if isinstance(value, str):
        return _STR.encode(value)
    return {"B": _binary(value)}


def _binary(value: Any) -> bytes:
    if is_a(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise ValueProblem(
        f"is of type {type(value).__qualname__}, which a free-form value cannot hold since it would not be read back "
        "as the same type; declare the type"
    )


def _list(values: Sequence[Any], level: int) -> AttributeValue:
    encoded: list[AttributeValue] = []
    for index, value in enumerate(values):
        encoded.append(_inside(value, level, f"[{index}]"))
    return {"L": encoded}


def _map(values: dict[Any, Any], level: int) -> AttributeValue:
    encoded: dict[str, AttributeValue] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise ValueProblem(f"has a key of type {type(key).__qualname__}; the keys of a stored map are str")
        encoded[map_key(key)] = _inside(value, level, key_segment(key))
    return {"M": encoded}


def _inside(value: Any, level: int, segment: str) -> AttributeValue:
    try:
        return encode_free(value, level)
    except ValueProblem as problem:
        raise problem.at(segment) from None


def map_key(key: str) -> str:
    """A map's key as DynamoDB takes it: at least one character, and Unicode text; raises `ValueProblem`."""
    if not key:
        raise ValueProblem("has an empty key; DynamoDB's attribute names have at least one character")
    text: str = _STR.encode(key)["S"]
    return text


def key_segment(key: Any) -> str:
    """A map's key as a step of a path: ``["lang"]``."""
    text = str(key).replace('"', '\\"')
    return f'["{text[:SEGMENT]}..."]' if len(text) > SEGMENT else f'["{text}"]'


def _set(values: AbstractSet[Any]) -> AttributeValue:
    if not values:
        raise ValueProblem("is an empty set, which DynamoDB cannot store and a free-form value cannot stand for")
    tagged = [encode_free(value) for value in values]
    tags = {tag for av in tagged for tag in av}
    if len(tags) > 1 or not tags <= {"S", "N", "B"}:
        raise ValueProblem("is a set of other things than only str, only numbers or only bytes (bool is no number)")
    (tag,) = tags
    return {f"{tag}S": sorted(av[tag] for av in tagged)}


def decode_free(av: AttributeValue) -> Any:
    """A value by its tag: a number is an int when it is written as one, else a Decimal."""
    ((tag, value),) = av.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise ValueProblem(f"the stored value is of the unknown type {tag!r}")
    return reader(value)


def _read_number(text: Any) -> int | Decimal:
    try:
        return int(text, 10)
    except (ValueError, TypeError):
        return read_decimal(text)


_READERS: dict[str, Callable[[Any], Any]] = {
    "S": lambda value: _STR.decode({"S": value}),
    "N": _read_number,
    "M": lambda values: {key: decode_free(inner) for key, inner in values.items()},
    "L": lambda values: [decode_free(inner) for inner in values],
    "BOOL": lambda value: _BOOL.decode({"BOOL": value}),
    "NULL": lambda _: None,
    "B": lambda value: _BYTES.decode({"B": value}),
    "SS": set,
    "BS": set,
    "NS": lambda texts: set(map(_read_number, texts)),
}

_COPIERS: dict[type[Any], Callable[[Any], Any]] = {
    dict: lambda values: {key: copy_free(inner) for key, inner in values.items()},
    list: lambda values: [copy_free(inner) for inner in values],
    tuple: lambda values: tuple(copy_free(inner) for inner in values),
    set: set,
    bytearray: bytearray,
}


def copy_free(value: Any) -> Any:
    """A copy of a free-form value that shares nothing which can be changed."""
    copier = _COPIERS.get(value.__class__)
    if copier is not None:
        return copier(value)
    # A subclass of a container is copied as the plain class, the way it is stored.
    for cls, each in _COPIERS.items():
        if is_a(value, cls):
            return each(value)
    return value


class AnyCodec(Codec[Any]):
    """`Any`: encoded by the value's own class, decoded by the stored tag.

    What has one Python type on the wire is read back as that: a float as int or Decimal, a tuple as a list, a
    frozenset as a set. An empty set is refused, since no free-form value reads back as one.
    """

    name = "Any"
    tags = frozenset(TAG_WORDS)
    nullable = True
    open_depth = True

    def __init__(self) -> None:
        self.copy = copy_free

    def encode(self, value: Any) -> AttributeValue:
        return encode_free(value)

    def decode(self, av: AttributeValue) -> Any:
        return decode_free(av)

    def child(self, segment: str | int) -> Codec[Any]:
        return self

    def attribute_name(self, segment: Any) -> str | None:
        return map_key(segment) if isinstance(segment, str) else None

    def decode_source(self, av: str, bind: Any) -> str:
        return f"{bind('decode_free', decode_free)}({av})"
