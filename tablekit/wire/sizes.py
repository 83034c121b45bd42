"""The size of an item by DynamoDB's documented rules.

DynamoDB calls its own description of number sizes approximate, and so is this.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

import marshal
from typing import Any

from tablekit._types import AttributeValue, Item

__all__ = ["ITEM_LIMIT", "attribute_sizes", "item_size", "number_size", "size_bound", "value_size"]

ITEM_LIMIT = 409_600
"""The largest item that DynamoDB stores, in bytes, names included."""


def size_bound(item: Item) -> int:
    """At least `item_size`, a few times faster: nearly every item is far from any limit.

    Python's own serializer runs in C and writes each text in UTF-8 with five bytes before it, which is more than
    DynamoDB counts for anything. Its version 2 writes a text anew each time that it occurs.
    """
    try:
        return len(marshal.dumps(item, 2))
    except ValueError:  # a value of a class of its own
        return item_size(item)


def item_size(item: Item) -> int:
    """The bytes of an item, attribute names included."""
    return _members_size(item, 0)


def _members_size(members: Item, overhead: int) -> int:
    """The bytes of names and values. Every write measures its item, so that the common tags stand here in a loop."""
    total = 0
    for name, value in members.items():
        total += overhead + (len(name) if name.isascii() else text_size(name))
        ((tag, inner),) = value.items()
        if tag == "S":
            total += len(inner) if inner.isascii() else text_size(inner)
        else:
            total += _size_of(tag, inner)
    return total


def attribute_sizes(item: Item) -> dict[str, int]:
    """The bytes of each attribute with its name, largest first."""
    sizes = {name: text_size(name) + value_size(value) for name, value in item.items()}
    return dict(sorted(sizes.items(), key=lambda pair: -pair[1]))


def text_size(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def value_size(value: AttributeValue) -> int:
    """The bytes of an attribute value, without its attribute's name."""
    ((tag, inner),) = value.items()
    return _size_of(tag, inner)


def _size_of(tag: str, inner: Any) -> int:
    if tag == "S":
        return text_size(inner)
    if tag == "N":
        return number_size(inner)
    if tag in ("BOOL", "NULL"):
        return 1
    if tag == "B":
        return len(inner)
    return _container_size(tag, inner)


def _container_size(tag: str, inner: Any) -> int:
    if tag == "SS":
        return sum(text_size(text) for text in inner)
    if tag == "NS":
        return sum(number_size(text) for text in inner)
    if tag == "BS":
        return sum(len(part) for part in inner)
    # Lists and maps take 3 bytes, and 1 more for each element.
    if tag == "L":
        return 3 + len(inner) + sum(map(value_size, inner))
    return 3 + _members_size(inner, 1)


def number_size(text: str) -> int:
    """The bytes of a number: about one for each two significant digits, one more, and one for a minus sign.

    Leading and trailing zeros do not count, in any spelling. Zero is taken as one byte.
    """
    if text.isdigit() and text[0] != "0":  # most numbers
        places = len(text)
        return min(-(-places // 2) - (places - len(text.rstrip("0"))) // 2, 19) + 1
    mantissa, _, exponent = text.lower().partition("e")
    negative = mantissa.startswith("-")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 1
    # Digits are stored in pairs counted from the decimal point, so that where they stand matters.
    point = len(whole + fraction) - len(fraction) + int(exponent or 0)
    leading = len(whole + fraction) - len(digits)
    first = point - leading
    digits = digits.rstrip("0")
    last = first - len(digits)
    pairs = -(-first // 2) - (last // 2)
    return min(pairs, 19) + 1 + negative
