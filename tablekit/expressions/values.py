"""Values in expressions: encoded when the condition or action is made, so that errors point at the caller's line."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from tablekit._types import UNSET, AttributeValue
from tablekit.codecs.base import Codec, ValueProblem, veiled
from tablekit.errors import EncodeError, ExpressionError
from tablekit.expressions.paths import Path

__all__ = ["ORDERED", "Value", "check_order", "encode", "encode_inside", "encode_step", "scalar_key"]

ORDERED = frozenset({"S", "N", "B"})
"""The wire types that have an order; DynamoDB refuses ``<`` and BETWEEN on any other."""


@attrs.frozen(eq=False, repr=False)
class Value:
    """An encoded value that becomes a placeholder.

    Parameters:
        av: the attribute value.
        hint: the word its placeholder is made of.
        secret: whether it must be masked where the request is shown.
        python: the value as the caller gave it; `UNSET` where it came encoded.
    """

    av: AttributeValue
    hint: str
    secret: bool = False
    python: Any = UNSET

    def __repr__(self) -> str:
        return f"<Value :{self.hint}>"


def encode(path: Path, value: object, hint: str | None = None) -> Value | None:
    """The value as the path's codec writes it; None where it is written by leaving the attribute out.

    Raises `EncodeError` naming the path.
    """
    return encode_inside(path, path.codec, value, hint)


def encode_step(path: Path, value: object) -> Value | None:
    """What an update adds to the value at a path, or takes from it; as `encode`."""
    try:
        av = path.codec.encode_step(value)
    except ValueProblem as problem:
        raise _encode_error(path, problem) from None
    return None if av is None else Value(av, path.hint, path.secret, value)


def encode_inside(path: Path, codec: Codec[Any], value: object, hint: str | None = None) -> Value | None:
    """The value as another codec writes it, such as that of a set's elements; errors name the path."""
    try:
        av = codec.encode(value)
    except ValueProblem as problem:
        raise _encode_error(path, problem) from None
    return None if av is None else Value(av, hint or path.hint, path.secret, value)


def _encode_error(path: Path, problem: ValueProblem) -> EncodeError:
    entity = path.owner.__name__ if path.owner is not None else ""
    below = veiled(problem.path) if path.secret else problem.path
    inner = "".join(path.steps) + below
    return EncodeError(f"{path}{below}: {problem.reason}", entity=entity, field=path.field, path=inner)


def scalar_key(av: AttributeValue) -> tuple[str, Any] | None:
    """The tag and value of a scalar, by which equal values are found; None for a container."""
    for tag, raw in av.items():
        return (tag, raw) if type(raw) in (str, bytes, bool) else None
    return None


def check_order(path: Path, low: Value, high: Value) -> None:
    """Refuse the bounds of a BETWEEN that DynamoDB would refuse: of two types, or the wrong way round."""
    (low_tag, low_raw), (high_tag, high_raw) = *low.av.items(), *high.av.items()
    if low_tag != high_tag:
        message = f"{path}.between(): the bounds are stored as {low_tag} and {high_tag}; DynamoDB wants one type"
        raise ExpressionError(message, paths=[str(path)])
    if _position(low_tag, low_raw) > _position(high_tag, high_raw):
        message = f"{path}.between(): the lower bound is above the upper one, and DynamoDB refuses that; swap them"
        raise ExpressionError(message, paths=[str(path)])


def _position(tag: str, raw: Any) -> Any:
    # DynamoDB orders text by its UTF-8 bytes and numbers by value.
    if tag == "N":
        return Decimal(raw)
    return raw.encode() if tag == "S" else raw
