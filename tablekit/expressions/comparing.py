"""How a comparison of a column becomes a condition, and what is refused because DynamoDB would refuse it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from tablekit.codecs.base import Codec
from tablekit.errors import EncodeError, ExpressionError
from tablekit.expressions.conditions import (
    Comparator,
    Condition,
    Leaf,
    Negation,
    Piece,
    any_of,
    attribute_exists,
    attribute_not_exists,
    begins_with,
    between,
    compare,
    function,
    membership,
)
from tablekit.expressions.paths import Path
from tablekit.expressions.values import ORDERED, Value, check_order, encode, encode_inside, scalar_key

__all__ = [
    "Size",
    "begins_with_condition",
    "between_condition",
    "column_condition",
    "contains_condition",
    "is_in_condition",
    "size_of",
    "type_condition",
]

_TYPES = ("S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS")
_SETS = frozenset({"SS", "NS", "BS"})
_SIZED = frozenset({"S", "B", "M", "L", "SS", "NS", "BS"})


class Size:
    """The stored size of an attribute, to be compared with an int.

    Text and binary are measured in bytes, sets, lists and maps in elements; a missing attribute has no size
    and passes no comparison.

    Parameters:
        path: the attribute that is measured.
    """

    __slots__ = ("path",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<Size of {self.path}>"

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.path}.size() has no truth value, DynamoDB evaluates it: compare it, as in size() > 0")

    def __eq__(self, other: int | Size) -> Condition:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: int | Size) -> Condition:  # type: ignore[override]
        return self._compare("<>", other)

    def __lt__(self, other: int | Size) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: int | Size) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: int | Size) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: int | Size) -> Condition:
        return self._compare(">=", other)

    def between(self, low: int, high: int) -> Condition:
        """That the size lies between two ints, both included."""
        bounds = self._number(low, "size_low"), self._number(high, "size_high")
        check_order(self.path, *bounds)
        return Leaf("BETWEEN", (*_size(self.path), " BETWEEN ", bounds[0], " AND ", bounds[1]), 1)

    def _compare(self, operator: Comparator, other: object) -> Condition:
        if isinstance(other, Size):
            _check_distinct(self.path, other.path)
            return Leaf(operator, (*_size(self.path), f" {operator} ", *_size(other.path)), 2)
        return Leaf(operator, (*_size(self.path), f" {operator} ", self._number(other, "size")), 1)

    def _number(self, value: object, word: str) -> Value:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _refusal(self.path, f"size() is compared with an int or another size, not {type(value).__name__}")
        return Value({"N": str(int(value))}, f"{self.path.hint}_{word}")


def _size(path: Path) -> tuple[Piece, ...]:
    return "size(", path, ")"


def column_condition(path: Path, operator: Comparator, other: object) -> Condition:
    """A comparison of a column with a value or with another column's path."""
    if operator not in ("=", "<>"):
        _check_ordered(path, operator)
    if isinstance(other, Path):
        _check_distinct(path, other)
        return compare(path, operator, other)
    if isinstance(other, Size):
        raise _refusal(path, "a size is compared with an int: put size() on the left")
    if operator not in ("=", "<>"):
        return compare(path, operator, _ordered(path, other, operator))
    equal = _equality(path, other)
    if operator == "=":
        return equal
    return _unequal(equal)


def _equality(path: Path, value: object) -> Condition:
    if value is None:
        return _is_none(path)
    encoded = encode(path, value)
    # Only what has no stored form comes back as None: an empty set, which is a missing attribute.
    return attribute_not_exists(path) if encoded is None else compare(path, "=", encoded)


def _is_none(path: Path) -> Condition:
    if not path.codec.nullable:
        raise _refusal(path, f"a value of {path.codec.name} is never None; write .not_exists() or .is_type('NULL')")
    null = Value({"NULL": True}, f"{path.hint}_null")
    return any_of(attribute_not_exists(path), compare(path, "=", null))


def _unequal(equal: Condition) -> Condition:
    """The negation, in the plainest words."""
    if not isinstance(equal, Leaf):
        return Negation(equal)
    path, *_, operand = equal.pieces
    if equal.operator == "=" and isinstance(path, Path) and isinstance(operand, Value):
        return compare(path, "<>", operand)
    target = equal.pieces[1]
    return attribute_exists(target) if isinstance(target, Path) else Negation(equal)


def between_condition(path: Path, low: object, high: object) -> Condition:
    """BETWEEN two values of the column."""
    _check_ordered(path, "between")
    bounds = _ordered(path, low, "between", "low"), _ordered(path, high, "between", "high")
    check_order(path, *bounds)
    return between(path, *bounds)


def is_in_condition(path: Path, values: Iterable[Any]) -> Condition:
    """IN the values, each once; None and the empty set become what ``==`` makes of them."""
    if isinstance(values, (str, bytes)):
        raise _refusal(path, f"is_in takes a collection of values; put the {type(values).__name__} into a list")
    if not isinstance(values, Iterable):
        raise _refusal(path, f"is_in takes a collection of values, not a {type(values).__name__}")
    encoded: list[Value] = []
    others: list[Condition] = []
    seen: set[object] = set()
    for value in values:
        found = None if value is None else encode(path, value)
        key = ("absent", value is None) if found is None else scalar_key(found.av)
        if key is not None and key in seen:
            continue
        seen.add(key)
        if found is None:
            others.append(_equality(path, value))
        else:
            encoded.append(found)
    members = [membership(path, encoded)] if encoded or not others else []
    return any_of(*members, *others)


def begins_with_condition(path: Path, prefix: object) -> Condition:
    """begins_with, for what is stored as text or binary."""
    tag = _text_tag(prefix)
    if tag is None:
        raise _refusal(path, f"begins_with takes str or bytes, not {type(prefix).__name__}")
    if path.codec.tags and tag not in path.codec.tags:
        raise _refusal(path, f"begins_with({type(prefix).__name__}): the field is {path.codec.name}, stored otherwise")
    return begins_with(path, Value({tag: _utf8(path, prefix)}, f"{path.hint}_prefix", path.secret, prefix))


def contains_condition(path: Path, value: object) -> Condition:
    """contains: a part of a text, or an element of a set or a list."""
    tags = path.codec.tags - {"NULL"}
    if tags & _SETS:
        return function("contains", path, _set_element(path, value))
    tag = _text_tag(value)
    if "L" not in tags and tag is not None and (not tags or tag in tags):
        return function("contains", path, Value({tag: _utf8(path, value)}, path.hint, path.secret, value))
    if tags and "L" not in tags:
        remedy = "use [key].exists()" if "M" in tags else "compare it"
        raise _refusal(path, f"contains({type(value).__name__}) does not fit {path.codec.name}; {remedy}")
    return function("contains", path, _list_element(path, value))


def _set_element(path: Path, value: Any) -> Value:
    # The set's codec checks and spells its members; a set of one shows the spelling of this one.
    try:
        encoded = encode(path, frozenset({value}))
    except TypeError:
        encoded = None
    if encoded is None:
        raise _refusal(path, f"contains takes one element of {path.codec.name}, not {type(value).__name__}")
    ((tag, members),) = encoded.av.items()
    return Value({tag[0]: members[0]}, path.hint, path.secret, value)


def _list_element(path: Path, value: object) -> Value:
    problem: EncodeError | None = None
    for codec in _element_codecs(path.codec):
        try:
            encoded = encode_inside(path, codec, value)
        except EncodeError as error:
            problem = problem or error
            continue
        if encoded is not None:
            return encoded
    raise problem or _refusal(path, f"contains({type(value).__name__}) does not fit {path.codec.name}")


def _element_codecs(codec: Codec[Any]) -> list[Codec[Any]]:
    """The codecs of a list's elements: one for a list of one type, several for a tuple."""
    found: list[Codec[Any]] = []
    while (item := codec.child(len(found))) is not None and item not in found:
        found.append(item)
    return found


def size_of(path: Path) -> Size:
    """The size operand, for what has a size."""
    if path.codec.tags and not path.codec.tags & _SIZED:
        raise _refusal(path, f"size() does not fit {path.codec.name}; only text, binary and containers have a size")
    return Size(path)


def type_condition(path: Path, wire_type: str) -> Condition:
    """attribute_type."""
    if not isinstance(wire_type, str) or wire_type not in _TYPES:
        raise _refusal(path, f"is_type takes one of {', '.join(_TYPES)}")
    return function("attribute_type", path, Value({"S": wire_type}, f"{path.hint}_type"))


def _ordered(path: Path, value: object, operator: str, end: str = "") -> Value:
    encoded = encode(path, value, f"{path.hint}_{end}" if end else None)
    if encoded is None or encoded.av.keys().isdisjoint(ORDERED):
        raise _refusal(path, f"{operator} takes text, a number or binary; a {type(value).__name__} has no order there")
    return encoded


def _check_ordered(path: Path, operator: str) -> None:
    if path.codec.tags and path.codec.tags.isdisjoint(ORDERED):
        raise _refusal(
            path, f"{operator} does not fit {path.codec.name}: DynamoDB orders text, numbers and binary only"
        )


def _check_distinct(path: Path, other: Path) -> None:
    if path.segments == other.segments:
        raise _refusal(path, "an attribute cannot be compared with itself; DynamoDB wants two different operands")


def _text_tag(value: object) -> str | None:
    if isinstance(value, str):
        return "S"
    return "B" if isinstance(value, bytes) else None


def _utf8(path: Path, value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EncodeError(f"{path}: the text has a lone surrogate, which UTF-8 cannot hold", field=path.field) from None
    return str.__str__(value)


def _refusal(path: Path, message: str) -> ExpressionError:
    return ExpressionError(f"{path}: {message}", paths=[str(path)])
