"""Codecs that users plug in for types of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from tablekit._types import AttributeValue
from tablekit.codecs.base import Codec, ValueProblem, payload, wrong_type
from tablekit.codecs.freeform import decode_free, encode_free

__all__ = ["CustomCodec", "custom_codec"]

T = TypeVar("T")
Tag = Literal["S", "N", "B", "BOOL", "L", "M", "SS", "NS", "BS"]


class CustomCodec(Codec[T]):
    """A codec made of two functions; `custom_codec` makes one."""

    def __init__(
        self,
        encode: Callable[[T], Any],
        decode: Callable[[Any], T],
        *,
        tag: Tag,
        name: str,
        python_type: type[Any] | tuple[type[Any], ...],
        copy: Callable[[T], T] | None,
    ) -> None:
        self._encode = encode
        self._decode = decode
        self._tag = tag
        self.name = name
        self.tags = frozenset({tag})
        self.python_types = python_type if isinstance(python_type, tuple) else (python_type,)
        self.key_type = tag if tag in ("S", "N", "B") else None
        self.copy = copy
        self.open_depth = tag in ("L", "M")

    def encode(self, value: T) -> AttributeValue | None:
        if not isinstance(value, self.python_types):
            raise wrong_type(self.name, value)
        try:
            plain = self._encode(value)
        except ValueProblem:
            raise
        except Exception as error:
            raise ValueProblem(f"could not be encoded by the codec of {self.name} ({type(error).__name__})") from error
        av = encode_free(plain)
        if self._tag not in av:
            raise ValueProblem(
                f"was encoded to {type(plain).__qualname__}, and the codec of {self.name} writes {self._tag}"
            )
        return av

    def decode(self, av: AttributeValue) -> T:
        payload(av, self._tag, self.name)
        plain = decode_free(av)
        try:
            return self._decode(plain)
        except ValueProblem:
            raise
        except Exception as error:
            raise ValueProblem(f"could not be decoded by the codec of {self.name} ({type(error).__name__})") from error


def custom_codec(
    *,
    encode: Callable[[T], Any],
    decode: Callable[[Any], T],
    tag: Tag = "S",
    python_type: type[Any] | tuple[type[Any], ...] = object,
    name: str | None = None,
    copy: Callable[[T], T] | None = None,
) -> Codec[T]:
    """A codec from two functions between a value and its plain form.

    ::

        money = custom_codec(encode=str, decode=Money.parse, python_type=Money)

    Parameters:
        encode: value to plain form. decode: plain form to value; both may raise what they like.
        tag: the stored type, which sets what the plain form is: ``"S"`` str, ``"N"`` int or Decimal (a float is
            taken too), ``"B"`` bytes, ``"BOOL"`` bool, ``"L"`` list, ``"M"`` dict, ``"SS"``, ``"NS"`` and ``"BS"`` a
            set that is not empty.
        python_type: the class, or classes, whose instances it encodes; others are refused.
        name: the type's name in messages; that of `python_type` unless given.
        copy: makes an independent copy; leave it out where values do not change.
    """
    known = python_type if isinstance(python_type, type) else python_type[0]
    return CustomCodec(
        encode,
        decode,
        tag=tag,
        name=known.__qualname__ if name is None else name,
        python_type=python_type,
        copy=copy,
    )
