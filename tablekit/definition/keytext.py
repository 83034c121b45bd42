"""How a typed value stands in a key as text.

One `KeyText` for each Python type that a key template may hold. Rendering and parsing are exact inverses:
`KeyText.parse` refuses every text that `KeyText.render` would not have given, so that a key is read back
as the values it was made of, or not at all.

=====================  ==============================================  =====================  ==============
type                   text                                            specs                  fixed width
=====================  ==============================================  =====================  ==============
``str``                as it is                                        none                   no
``int``                decimal, no leading zeros; padded with a width  ``06d``, ``d``         with a width
``Decimal``            canonical plain notation, such as ``0.5``       ``d``                  no
``bool``               ``true`` / ``false``                            none                   no
``UUID``               ``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx``        none                   36
``date``               ``2024-01-31``                                  dates of strftime      yes
``datetime`` (aware)   UTC, ``2024-01-01T00:00:00.000000Z``            dates and times        yes
``Enum``, ``Literal``  the text of the value (all str, or all int)     those of the value     with a width
=====================  ==============================================  =====================  ==============

Text sorts by its UTF-8 bytes, so that numbers sort by size only with a width (``{rev:06d}``). ``d`` says
that the order does not matter. A Decimal has no width that keeps both its order and its exactness: in a
sort key it needs ``d``; to sort by it, keep an integer number of the smallest unit.
"""

from __future__ import annotations

import contextlib
import decimal
import re
import typing
import uuid
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from tablekit.codecs.base import Codec, ValueProblem
from tablekit.definition.keydates import DateText, DatetimeText
from tablekit.definition.keyshape import DIGITS, Bind, CharSet, KeyText, Run, Shape, exact

__all__ = [
    "ChoiceText",
    "CodecText",
    "DecimalText",
    "IntText",
    "KeyText",
    "StrText",
    "bare_type",
    "is_plain_text",
    "key_text_for",
]

MINUS: Final = CharSet.of("-")
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
MAX_DIGITS: Final = 38
LEAST_EXPONENT: Final = -130
GREATEST_EXPONENT: Final = 125


def is_plain_text(text: str) -> bool:
    """Whether UTF-8 can hold the text: no surrogate stands alone in it."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


class StrText(KeyText):
    """Text as it is, in its exact case."""

    name = "str"

    def render(self, value: Any, spec: str = "") -> str:
        if not isinstance(value, str):
            raise ValueProblem(f"wants a str, got {type(value).__name__}")
        # str.__str__ gives the plain text of a member of a str Enum, where str() gives the member's name.
        text = str.__str__(value)
        if not is_plain_text(text):
            raise ValueProblem("holds a lone surrogate, which UTF-8 cannot hold")
        return text

    def parse(self, text: str, spec: str = "") -> str:
        if not is_plain_text(text):
            raise ValueError("a lone surrogate")
        return text

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        return f"type({value}) is str and {value}", f"{{{value}}}"


class IntText(KeyText):
    """A whole number: plain, or padded with zeros to a width, which then admits no negatives."""

    name = "int"
    numeric = True
    _spec: Final = re.compile(r"0([1-9][0-9]?)d", re.ASCII)
    _plain: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)

    def render(self, value: Any, spec: str = "") -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueProblem(f"wants an int, got {type(value).__name__}")
        width = self.width(spec)
        if width is None:
            return self._unpadded(int(value))
        if value < 0:
            raise ValueProblem(f"is negative, and a number padded by {spec!r} cannot be: it would sort wrongly")
        if value >= 10**width:
            raise ValueProblem(f"has more digits than the {width} of its format {spec!r}, and would sort wrongly")
        return f"{int(value):0{width}d}"

    @staticmethod
    def _unpadded(value: int) -> str:
        if abs(value) >= 10**MAX_DIGITS:
            raise ValueProblem("has more than the 38 digits that DynamoDB keeps of a number")
        return str(value)

    def parse(self, text: str, spec: str = "") -> int:
        width = self.width(spec)
        if width is None:
            if self._plain.fullmatch(text) is None or len(text.lstrip("-")) > MAX_DIGITS:
                raise ValueError("not a number in plain form")
        elif len(text) != width or not (text.isascii() and text.isdigit()):
            raise ValueError(f"not a number of {width} digits")
        return int(text)

    def width(self, spec: str = "") -> int | None:
        match = self._spec.fullmatch(spec)
        return int(match[1]) if match else None

    def ordered(self, spec: str = "") -> bool:
        return self.width(spec) is not None

    def shape(self, spec: str = "") -> Shape:
        width = self.width(spec)
        if width is None:
            return ((Run(MINUS, 0, 1), Run(DIGITS, 1, None)),)
        return ((Run(DIGITS, width, width),),)

    def check_spec(self, spec: str) -> str | None:
        width = self.width(spec)
        if spec in ("", "d") or (width is not None and width <= MAX_DIGITS):
            return None
        return f"{spec!r} is no format of an int; give a width such as '06d' (1 to 38 digits), or 'd'"

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        width = self.width(spec)
        bounds = f"-{10**18} < {value} < {10**18}" if width is None else f"0 <= {value} < {10**width}"
        return f"type({value}) is int and {bounds}", f"{{{value}:{'' if width is None else spec}}}"


class DecimalText(KeyText):
    """A decimal number in canonical plain notation: equal numbers have one text."""

    name = "Decimal"
    numeric = True
    # An own context: the thread's may round, or may trap what is fine here.
    _context: Final = decimal.Context(prec=MAX_DIGITS, Emin=-999999, Emax=999999, traps=[decimal.Inexact])
    _plain: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", re.ASCII)

    def render(self, value: Any, spec: str = "") -> str:
        if isinstance(value, bool) or not isinstance(value, Decimal | int):
            raise ValueProblem(f"wants a Decimal, got {type(value).__name__}")
        number = Decimal(value)
        if not number.is_finite():
            raise ValueProblem("is not a finite number")
        if not number:
            return "0"
        if not LEAST_EXPONENT <= number.adjusted() <= GREATEST_EXPONENT:
            raise ValueProblem("is outside DynamoDB's range of 1E-130 to 9.99E+125")
        try:
            number = number.normalize(self._context)
        except decimal.Inexact:
            raise ValueProblem("has more than 38 significant digits") from None
        return format(number, "f")

    def parse(self, text: str, spec: str = "") -> Decimal:
        if self._plain.fullmatch(text) is None:
            raise ValueError("not a decimal number in plain form")
        number = Decimal(text)
        if self.render(number) != text:
            raise ValueError("not a decimal number in canonical form")
        return number

    def ordered(self, spec: str = "") -> bool:
        return False

    def shape(self, spec: str = "") -> Shape:
        return ((Run(MINUS, 0, 1), Run(DIGITS, 1, None), Run(CharSet.of("."), 0, 1), Run(DIGITS, 0, None)),)

    def check_spec(self, spec: str) -> str | None:
        return None if spec in ("", "d") else f"{spec!r} is no format of a Decimal; it takes none, or 'd'"


class UUIDText(KeyText):
    """A UUID in its canonical form, of 36 characters."""

    name = "UUID"
    _shape: Final[Shape] = (
        tuple(
            run
            for place, length in enumerate((8, 4, 4, 4, 12))
            for run in ((Run(MINUS, 1, 1),) if place else ()) + (Run(CharSet.of("0123456789abcdef"), length, length),)
        ),
    )

    def render(self, value: Any, spec: str = "") -> str:
        if not isinstance(value, uuid.UUID):
            raise ValueProblem(f"wants a UUID, got {type(value).__name__}")
        return str(value)

    def parse(self, text: str, spec: str = "") -> uuid.UUID:
        value = uuid.UUID(text)
        if str(value) != text:
            raise ValueError("not a UUID in canonical form")
        return value

    def width(self, spec: str = "") -> int | None:
        return 36

    def shape(self, spec: str = "") -> Shape:
        return self._shape

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        return f"type({value}) is {bind('UUID', uuid.UUID)}", f"{{{value}}}"


class ChoiceText(KeyText):
    """One of a fixed set of values: the members of an Enum, those of a Literal, true and false.

    The width is that of a padded number, never the chance length of the texts: a member added later must
    not change what a template admits.

    Parameters:
        name: the type for messages. base: how the members' values are written. members: value to what
            stands for it in `base`.
    """

    def __init__(self, name: str, base: KeyText, members: Mapping[Any, Any]) -> None:
        self.name = name
        self.base = base
        self.numeric = base.numeric
        self._raw = dict(members)
        self._values = {raw: value for value, raw in members.items()}

    def render(self, value: Any, spec: str = "") -> str:
        try:
            # The type is compared too: True equals 1, and a str Enum's member equals its value.
            known = value in self._raw and type(value) is type(self._values[self._raw[value]])
        except TypeError:
            known = False
        if not known:
            raise ValueProblem(f"wants one of the values of {self.name}, got {type(value).__name__}")
        return self.base.render(self._raw[value], spec)

    def parse(self, text: str, spec: str = "") -> Any:
        raw = self.base.parse(text, spec)
        if raw not in self._values:
            raise ValueError(f"not a value of {self.name}")
        return self._values[raw]

    def width(self, spec: str = "") -> int | None:
        return self.base.width(spec)

    def ordered(self, spec: str = "") -> bool:
        return self.base.ordered(spec)

    def shape(self, spec: str = "") -> Shape:
        return tuple(exact(text) for text in self._texts(spec) if text)

    def _texts(self, spec: str) -> list[str]:
        return list(self._choices(spec).values())

    def _choices(self, spec: str) -> dict[Any, str]:
        """The texts by value; without the values that have none, such as a negative one under padding."""
        choices: dict[Any, str] = {}
        for member, raw in self._raw.items():
            with contextlib.suppress(ValueProblem):
                choices[member] = self.base.render(raw, spec)
        return choices

    def source(self, value: str, spec: str, bind: Bind) -> tuple[str, str]:
        kind = bind("kind", type(next(iter(self._raw))))
        choices = bind("choices", {member: text for member, text in self._choices(spec).items() if text})
        return f"type({value}) is {kind} and {value} in {choices}", f"{{{choices}[{value}]}}"

    def check_spec(self, spec: str) -> str | None:
        problem = self.base.check_spec(spec)
        if problem is None and len(self._texts(spec)) < len(self._raw):
            problem = f"not every value of {self.name} can be written with {spec!r}"
        return problem


class CodecText(KeyText):
    """A type with a codec of its own that is stored as text.

    Parameters:
        codec: a codec whose `key_type` is ``"S"`` and whose texts are one for each value.
    """

    def __init__(self, codec: Codec[Any]) -> None:
        self.codec = codec
        self.name = codec.name

    def render(self, value: Any, spec: str = "") -> str:
        encoded = self.codec.encode(value)
        if encoded is None or "S" not in encoded:
            raise ValueProblem("is not stored as text by its codec")
        return StrText().render(encoded["S"])

    def parse(self, text: str, spec: str = "") -> Any:
        try:
            value = self.codec.decode({"S": text})
            same = self.render(value) == text
        except Exception as error:
            raise ValueError("not a text of the codec") from error
        if not same:
            raise ValueError("the codec writes this value otherwise")
        return value

    def ordered(self, spec: str = "") -> bool:
        return False


def bare_type(annotation: Any) -> Any:
    """The type inside Optional, NewType, Annotated and type aliases; the annotation itself when there is none."""
    while True:
        inner = _unwrapped(annotation)
        if inner is annotation:
            return annotation
        annotation = inner


def _unwrapped(annotation: Any) -> Any:
    if hasattr(annotation, "__metadata__"):
        return annotation.__origin__
    if hasattr(annotation, "__supertype__"):
        return annotation.__supertype__
    if type(annotation).__name__ == "TypeAliasType":
        return annotation.__value__
    if not _is_union(annotation):
        return annotation
    others = [argument for argument in typing.get_args(annotation) if argument is not type(None)]
    return others[0] if len(others) == 1 else annotation


def _is_union(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return origin is typing.Union or getattr(origin, "__name__", "") == "UnionType"


def key_text_for(annotation: Any) -> KeyText | None:
    """How values of the annotated type stand in a key; None when the type is no key type.

    Optional, NewType, Annotated and type aliases are looked through. A `KeyText` stands for itself.
    """
    annotation = bare_type(annotation)
    if isinstance(annotation, KeyText):
        return annotation
    if typing.get_origin(annotation) is typing.Literal:
        return _choice("the Literal", {value: value for value in typing.get_args(annotation) if value is not None})
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _choice(annotation.__name__, {member: member.value for member in annotation})
    return _TEXTS.get(annotation) if isinstance(annotation, type) else None


def _choice(name: str, members: Mapping[Any, Any]) -> KeyText | None:
    for kind, base in ((str, StrText()), (int, IntText())):
        if members and all(type(raw) is kind for raw in members.values()):
            return ChoiceText(name, base, members)
    return None


class BoolText(ChoiceText):
    """``true`` or ``false``."""

    def __init__(self) -> None:
        super().__init__("bool", StrText(), {True: "true", False: "false"})


_TEXTS: Final[Mapping[Any, KeyText]] = {
    str: StrText(),
    int: IntText(),
    Decimal: DecimalText(),
    bool: BoolText(),
    uuid.UUID: UUIDText(),
    date: DateText(),
    datetime: DatetimeText(),
}
