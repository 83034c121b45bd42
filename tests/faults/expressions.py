"""Conditions and updates of DynamoDB, evaluated in memory: as much of the language as tablekit's writes use.

A text is taken apart once and kept, since a simulation evaluates the same few texts a million times.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from tablekit._types import AttributeValue, Item

__all__ = ["holds", "updated"]

Names = dict[str, str]
Values = dict[str, AttributeValue]
Operand = Callable[[Item, Names, Values], "AttributeValue | None"]
Test = Callable[[Item, Names, Values], bool]
Change = Callable[[Item, Item, Names, Values], None]

_TOKEN = re.compile(r"\s*([#:]\w+|\w+|<>|<=|>=|[=<>(),.+\-\[\]])")


def holds(text: str, item: Item, names: Names, values: Values) -> bool:
    """Whether a condition holds for an item; ``{}`` is a row that is not there."""
    return _condition(text)(item, names, values)


def updated(text: str, item: Item, names: Names, values: Values) -> Item:
    """The item that an update leaves. Its operands are those before the update, as DynamoDB has it."""
    after = dict(item)
    for change in _update(text):
        change(item, after, names, values)
    return after


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens) == re.sub(r"\s", "", text), f"cannot read {text!r}"
        self.place = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        assert token, "the expression ends in the middle"
        assert not expected or token == expected, f"{token!r} stands where {expected!r} belongs"
        self.place += 1
        return token

    def skip(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.place += 1
        return True


# Conditions ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _condition(text: str) -> Test:
    reader = _Reader(text)
    test = _any(reader)
    assert not reader.peek(), f"{reader.peek()!r} is left over in {text!r}"
    return test


def _any(reader: _Reader) -> Test:
    tests = [_all(reader)]
    while reader.skip("OR"):
        tests.append(_all(reader))
    return tests[0] if len(tests) == 1 else lambda i, n, v: any(test(i, n, v) for test in tests)


def _all(reader: _Reader) -> Test:
    tests = [_term(reader)]
    while reader.skip("AND"):
        tests.append(_term(reader))
    return tests[0] if len(tests) == 1 else lambda i, n, v: all(test(i, n, v) for test in tests)


def _term(reader: _Reader) -> Test:
    if reader.skip("NOT"):
        inner = _term(reader)
        return lambda i, n, v: not inner(i, n, v)
    if reader.skip("("):
        inner = _any(reader)
        reader.take(")")
        return inner
    word = reader.peek()
    if word in ("attribute_exists", "attribute_not_exists"):
        reader.take()
        reader.take("(")
        operand = _operand(reader)
        reader.take(")")
        wanted = word == "attribute_exists"
        return lambda i, n, v: (operand(i, n, v) is not None) is wanted
    if word == "contains":
        return _contains(reader)
    return _comparison(reader)


def _contains(reader: _Reader) -> Test:
    reader.take()
    reader.take("(")
    whole = _operand(reader)
    reader.take(",")
    part = _operand(reader)
    reader.take(")")

    def test(item: Item, names: Names, values: Values) -> bool:
        stored, wanted = whole(item, names, values), part(item, names, values)
        if stored is None or wanted is None:
            return False
        ((tag, inner),) = stored.items()
        return wanted in inner if tag == "L" else next(iter(wanted.values())) in inner

    return test


def _comparison(reader: _Reader) -> Test:
    left = _operand(reader)
    word = reader.take()
    if word == "IN":
        reader.take("(")
        choices = [_operand(reader)]
        while reader.skip(","):
            choices.append(_operand(reader))
        reader.take(")")
        return lambda i, n, v: any(_equal(left(i, n, v), choice(i, n, v)) for choice in choices)
    right = _operand(reader)
    if word == "=":
        return lambda i, n, v: _equal(left(i, n, v), right(i, n, v))
    if word == "<>":
        return lambda i, n, v: not _equal(left(i, n, v), right(i, n, v))
    signs = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0)}[word]
    return lambda i, n, v: _order(left(i, n, v), right(i, n, v)) in signs


def _equal(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    if left is None or right is None:
        return False
    if left == right:
        return True
    ((tag, one),), ((other, two),) = left.items(), right.items()
    if tag != other:
        return False
    if tag == "N":
        return Decimal(one) == Decimal(two)
    return tag in ("SS", "NS", "BS") and set(one) == set(two)


def _order(left: AttributeValue | None, right: AttributeValue | None) -> int | None:
    if left is None or right is None or left.keys() != right.keys():
        return None
    ((tag, one),), ((_, two),) = left.items(), right.items()
    if tag == "N":
        one, two = Decimal(one), Decimal(two)
    return (one > two) - (one < two)


# Operands -----------------------------------------------------------------------------------------------------


def _operand(reader: _Reader) -> Operand:
    token = reader.take()
    if token.startswith(":"):
        return lambda i, n, v: v[token]
    if token in ("if_not_exists", "list_append"):
        return _function(reader, token)
    names: list[str | int] = [token]
    while reader.peek() in (".", "["):
        if reader.take() == ".":
            names.append(reader.take())
        else:
            names.append(int(reader.take()))
            reader.take("]")
    if len(names) == 1:
        return lambda i, n, v: i.get(n[token])
    return lambda i, n, v: _at(i, [n[each] if isinstance(each, str) else each for each in names])


def _at(item: Item, segments: list[str | int]) -> AttributeValue | None:
    value: AttributeValue | None = item.get(str(segments[0]))
    for segment in segments[1:]:
        if value is None:
            return None
        if isinstance(segment, int):
            inner: list[AttributeValue] = value.get("L", [])
            value = inner[segment] if segment < len(inner) else None
        else:
            value = value.get("M", {}).get(segment)
    return value


def _function(reader: _Reader, word: str) -> Operand:
    reader.take("(")
    first = _operand(reader)
    reader.take(",")
    second = _operand(reader)
    reader.take(")")
    if word == "if_not_exists":
        return lambda i, n, v: first(i, n, v) or second(i, n, v)

    def appended(item: Item, names: Names, values: Values) -> AttributeValue:
        one, two = first(item, names, values), second(item, names, values)
        assert one is not None, "list_append of an attribute that is not there"
        assert two is not None, "list_append of an attribute that is not there"
        return {"L": [*one["L"], *two["L"]]}

    return appended


# Updates ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _update(text: str) -> list[Change]:
    reader = _Reader(text)
    changes: list[Change] = []
    while reader.peek():
        make = {"SET": _set, "REMOVE": _remove, "ADD": _add, "DELETE": _take_away}[reader.take()]
        changes.append(make(reader))
        while reader.skip(","):
            changes.append(make(reader))
    return changes


def _set(reader: _Reader) -> Change:
    name = reader.take()
    reader.take("=")
    first = _operand(reader)
    sign = reader.take() if reader.peek() in ("+", "-") else ""
    second = _operand(reader) if sign else None

    def change(before: Item, after: Item, names: Names, values: Values) -> None:
        value = first(before, names, values)
        assert value is not None, "an operand of SET is not there"
        if second is not None:
            other = second(before, names, values)
            assert other is not None, "an operand of SET is not there"
            value = _sum(value, other, 1 if sign == "+" else -1)
        after[names[name]] = value

    return change


def _sum(one: AttributeValue, two: AttributeValue, sign: int) -> AttributeValue:
    return {"N": str(Decimal(one["N"]) + sign * Decimal(two["N"]))}


def _remove(reader: _Reader) -> Change:
    name = reader.take()
    return lambda before, after, names, values: after.pop(names[name], None) and None


def _add(reader: _Reader) -> Change:
    name, amount = reader.take(), _operand(reader)

    def change(before: Item, after: Item, names: Names, values: Values) -> None:
        attribute, given = names[name], amount(before, names, values)
        assert given is not None
        ((tag, inner),) = given.items()
        if tag == "N":
            after[attribute] = _sum(before.get(attribute, {"N": "0"}), given, 1)
        else:
            after[attribute] = {tag: sorted({*before.get(attribute, {tag: []})[tag], *inner})}

    return change


def _take_away(reader: _Reader) -> Change:
    name, amount = reader.take(), _operand(reader)

    def change(before: Item, after: Item, names: Names, values: Values) -> None:
        attribute, given = names[name], amount(before, names, values)
        assert given is not None
        ((tag, inner),) = given.items()
        left: list[Any] = sorted(set(before.get(attribute, {tag: []})[tag]) - set(inner))
        if left:
            after[attribute] = {tag: left}
        else:
            after.pop(attribute, None)

    return change
