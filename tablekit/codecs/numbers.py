"""Numbers between Python and DynamoDB's decimal text, exactly.

DynamoDB keeps up to 38 significant digits, from 1E-130 to 9.9999999999999999999999999999999999999E+125 of
either sign: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
All arithmetic uses contexts of this module, never the thread's: a caller may have set any precision or traps.
"""

from __future__ import annotations

from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow, Subnormal
from typing import Any

from tablekit.codecs.base import ValueProblem

__all__ = [
    "create_decimal",
    "decimal_text",
    "float_text",
    "int_text",
    "read_decimal",
    "read_float",
    "read_int",
    "shift",
]

DIGITS = 38
LARGEST_EXPONENT = 125
SMALLEST_EXPONENT = -130
# Longest plain spelling; a number further from 1 than this is written with an exponent.
PLAIN_EXPONENT = 40

# Trailing zeros round without being inexact, so they do not count as digits.
_WRITE = Context(
    prec=DIGITS,
    Emin=SMALLEST_EXPONENT,
    Emax=LARGEST_EXPONENT,
    capitals=1,
    traps=[InvalidOperation, Inexact, Overflow, Subnormal],
)
# Wider than DynamoDB, for rows of engines that store more than it does.
_READ = Context(prec=400, Emin=-9999, Emax=9999, capitals=1, traps=[InvalidOperation, Inexact, Overflow])
_ZERO = Decimal(0)

create_decimal = _READ.create_decimal
"""A number's text to a Decimal, exactly, for generated code; text of NaN is not refused here."""

_PLAIN_INT = 10**DIGITS
# Between these Python spells a float without an exponent.
_PLAIN_FLOATS = (1e-4, 1e16)


def decimal_text(value: Decimal) -> str:
    """The shortest exact text of a Decimal; raises `ValueProblem` for one that DynamoDB cannot store."""
    if not value.is_finite():
        raise ValueProblem("is NaN or infinite, which DynamoDB cannot store")
    try:
        exact = _WRITE.normalize(value)
    except DecimalException:
        raise ValueProblem(_refusal(value)) from None
    if not exact:
        return "0"
    text = _WRITE.to_sci_string(exact)
    if "E" in text and -PLAIN_EXPONENT < exact.adjusted() < PLAIN_EXPONENT:
        return format(exact, "f")
    return text


def _refusal(value: Decimal) -> str:
    if value.adjusted() > LARGEST_EXPONENT:
        return "is larger than DynamoDB's largest number, just under 1E+126"
    if value.adjusted() < SMALLEST_EXPONENT:
        return "is nearer to zero than DynamoDB's smallest number, 1E-130"
    return f"has more than {DIGITS} significant digits, the most that DynamoDB stores; round it first"


def int_text(value: int) -> str:
    """The exact text of an int (never a bool); raises `ValueProblem` for one out of range."""
    if -_PLAIN_INT < value < _PLAIN_INT:
        return int.__repr__(value)
    return decimal_text(Decimal(value))


def float_text(value: float) -> str:
    """The shortest decimal text that reads back as the same float.

    Raises `ValueProblem` for NaN, infinities, and floats out of DynamoDB's range.
    """
    # The class may be a subclass with a repr of its own.
    text = float.__repr__(value)
    if _PLAIN_FLOATS[0] <= abs(value) < _PLAIN_FLOATS[1]:
        return text.removesuffix(".0")
    return decimal_text(Decimal(text))


def read_decimal(text: Any) -> Decimal:
    """The Decimal that a number's text means, never a negative zero; raises `ValueProblem` for other text."""
    if not isinstance(text, str):
        raise ValueProblem("the stored number is not a text")
    try:
        value = create_decimal(text)
    except DecimalException:
        raise ValueProblem("the stored number cannot be read") from None
    if not value.is_finite():
        raise ValueProblem("the stored number is NaN or infinite")
    return value or _ZERO


def read_int(text: Any) -> int:
    """The int that a number's text means, ``"1E2"`` and ``"100.0"`` included.

    Raises `ValueProblem` for a number with a fraction.
    """
    value = read_decimal(text)
    if value.adjusted() > 4 * LARGEST_EXPONENT:
        raise ValueProblem("the stored number is too large for an int")
    whole = int(value)
    if whole != value:
        raise ValueProblem("the stored number has a fraction, and int does not")
    return whole


def read_float(text: Any) -> float:
    """The float nearest to a number's text; raises `ValueProblem` when there is none."""
    return float(read_decimal(text))


def shift(value: Decimal, places: int) -> Decimal:
    """The value times ten to the power of `places`, exactly."""
    return _READ.scaleb(value, places)
