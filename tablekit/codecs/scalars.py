"""Codecs of str, int, Decimal, float, bool, bytes, UUID and None."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from tablekit._types import AttributeValue
from tablekit.codecs.base import Bind, Codec, ValueProblem, payload, wrong_type
from tablekit.codecs.numbers import (
    create_decimal,
    decimal_text,
    float_text,
    int_text,
    read_decimal,
    read_float,
    read_int,
)

__all__ = ["BoolCodec", "BytesCodec", "DecimalCodec", "FloatCodec", "IntCodec", "NullCodec", "StrCodec", "UuidCodec"]


class StrCodec(Codec[str]):
    """`str` as ``S``; a lone surrogate, which UTF-8 cannot hold, is refused."""

    name = "str"
    tags = frozenset({"S"})
    python_types = (str,)
    key_type = "S"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, str):
            raise wrong_type(self.name, value)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueProblem("holds a lone surrogate, which is no Unicode text") from None
        # A subclass (a StrEnum member) is stored as the plain text.
        return {"S": str.__str__(value)}

    def decode(self, av: AttributeValue) -> str:
        text = payload(av, "S", self.name)
        if not isinstance(text, str):
            raise ValueProblem("the stored string is not a text")
        return text

    def decode_source(self, av: str, bind: Bind) -> str:
        # Adding to an empty text gives the other text itself, and refuses what is not one.
        return f'("" + {av}["S"])'

    def encode_source(self, value: str, bind: Bind) -> str:
        encode = super().encode_source(value, bind)
        return f'({{"S": {value}}} if type({value}) is str and {value}.isascii() else {encode})'


class IntCodec(Codec[int]):
    """`int` as ``N``, exactly; bool is not an int here."""

    name = "int"
    tags = frozenset({"N"})
    python_types = (int,)
    key_type = "N"

    def encode(self, value: Any) -> AttributeValue:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong_type(self.name, value)
        return {"N": int_text(value)}

    def decode(self, av: AttributeValue) -> int:
        return read_int(payload(av, "N", self.name))

    def decode_source(self, av: str, bind: Bind) -> str:
        # With a base, int() takes text only; without one it would cut the fraction off a JSON number.
        return f'int({av}["N"], 10)'

    def encode_source(self, value: str, bind: Bind) -> str:
        encode = super().encode_source(value, bind)
        return f'({{"N": str({value})}} if type({value}) is int and -1E38 < {value} < 1E38 else {encode})'


class DecimalCodec(Codec[Decimal]):
    """`Decimal` as ``N``: the value is kept, not its spelling (``1.50`` is stored as ``1.5``).

    An int is taken too, since it is exact; a float is not.
    """

    name = "Decimal"
    tags = frozenset({"N"})
    python_types = (Decimal, int)
    key_type = "N"

    def encode(self, value: Any) -> AttributeValue:
        if isinstance(value, Decimal):
            return {"N": decimal_text(value)}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"N": int_text(value)}
        if isinstance(value, float):
            raise ValueProblem("is of type float, not Decimal; write Decimal(str(x)) to say which digits are meant")
        raise wrong_type(self.name, value)

    def decode(self, av: AttributeValue) -> Decimal:
        return read_decimal(payload(av, "N", self.name))

    def decode_source(self, av: str, bind: Bind) -> str:
        # Adding a text refuses what is not one: a JSON number would bring its binary digits along.
        return f'{bind("create_decimal", create_decimal)}({av}["N"] + "")'


class FloatCodec(Codec[float]):
    """`float` as ``N`` in the shortest decimal text that reads back as the same float; an int is taken too."""

    name = "float"
    tags = frozenset({"N"})
    python_types = (float, int)
    key_type = "N"

    def encode(self, value: Any) -> AttributeValue:
        if isinstance(value, float):
            return {"N": float_text(value)}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"N": int_text(value)}
        raise wrong_type(self.name, value)

    def decode(self, av: AttributeValue) -> float:
        return read_float(payload(av, "N", self.name))

    def decode_source(self, av: str, bind: Bind) -> str:
        # DynamoDB stores neither NaN nor infinities, and a zero has no sign there.
        return f'float({av}["N"])'


def _refuse() -> Any:
    raise ValueError("neither true nor false")


class BoolCodec(Codec[bool]):
    """`bool` as ``BOOL``, never as a number."""

    name = "bool"
    tags = frozenset({"BOOL"})
    python_types = (bool,)

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, bool):
            raise wrong_type(self.name, value)
        return {"BOOL": value}

    def decode(self, av: AttributeValue) -> bool:
        value = payload(av, "BOOL", self.name)
        if not isinstance(value, bool):
            raise ValueProblem("the stored boolean is neither true nor false")
        return value

    def decode_source(self, av: str, bind: Bind) -> str:
        return f'((t := {av}["BOOL"]) is True or (t is not False and {bind("refuse", _refuse)}()))'


class BytesCodec(Codec[bytes]):
    """`bytes` as ``B``; bytearray and memoryview are taken too, and read back as bytes."""

    name = "bytes"
    tags = frozenset({"B"})
    python_types = (bytes, bytearray, memoryview)
    key_type = "B"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, self.python_types):
            raise wrong_type(self.name, value)
        return {"B": bytes(value)}

    def decode(self, av: AttributeValue) -> bytes:
        value = payload(av, "B", self.name)
        if not isinstance(value, self.python_types):
            raise ValueProblem("the stored binary value was not decoded from base64")
        return bytes(value)

    def decode_source(self, av: str, bind: Bind) -> str:
        # bytes() gives bytes back as they are, and refuses a text.
        return f'bytes({av}["B"])'


class UuidCodec(Codec[UUID]):
    """`uuid.UUID` as ``S`` in the canonical form of 36 lower-case characters."""

    name = "UUID"
    tags = frozenset({"S"})
    python_types = (UUID,)
    key_type = "S"

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, UUID):
            raise wrong_type(self.name, value)
        return {"S": str(value)}

    def decode(self, av: AttributeValue) -> UUID:
        try:
            return UUID(payload(av, "S", self.name))
        except (ValueError, AttributeError) as error:
            if isinstance(error, ValueProblem):
                raise
            raise ValueProblem("the stored string is not a UUID") from None

    def decode_source(self, av: str, bind: Bind) -> str:
        return f'{bind("UUID", UUID)}({av}["S"])'


class NullCodec(Codec[None]):
    """None alone, as ``NULL``."""

    name = "None"
    tags = frozenset({"NULL"})
    python_types = (type(None),)
    nullable = True

    def encode(self, value: Any) -> AttributeValue:
        if value is not None:
            raise wrong_type(self.name, value)
        return {"NULL": True}

    def decode(self, av: AttributeValue) -> None:
        payload(av, "NULL", self.name)
