"""The size of an item by DynamoDB's documented rules.

DynamoDB calls its own description of number sizes approximate, and so is this.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from typing import Any

from tablekit._types import AttributeValue, Item

__all__ = ["ITEM_LIMIT", "attribute_sizes", "item_size", "number_size", "value_size"]

ITEM_LIMIT = 409_600
"""The largest item that DynamoDB stores, in bytes, names included."""


def item_size(item: Item) -> int:
    """The bytes of an item, attribute names included."""
    return sum(text_size(name) + value_size(value) for name, value in item.items())


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
        return 3 + sum(1 + value_size(part) for part in inner)
    return 3 + sum(1 + text_size(name) + value_size(part) for name, part in inner.items())


def number_size(text: str) -> int:
    """The bytes of a number: about one for each two significant digits, one more, and one for a minus sign.

    Leading and trailing zeros do not count, in any spelling. Zero is taken as one byte.
    """
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
