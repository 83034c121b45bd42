"""Reading takes work and memory in proportion to what is read: counted in calls and bytes, never in seconds."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.fuzz.mutations import seeds
from tests.fuzz.targets import TARGETS

BOOK = json.loads(seeds("item")[0])
RECORD: dict[str, Any] = {"eventName": "INSERT", "dynamodb": {"Keys": {"PK": BOOK["PK"], "SK": BOOK["SK"]}}}


def row(**more: Any) -> dict[str, Any]:
    """A book with some attributes in place of its own."""
    return {**BOOK, **more}


def numbers(count: int) -> list[dict[str, str]]:
    """So many numbers in DynamoDB JSON."""
    return [{"N": "1"}] * count


def inserted(image: dict[str, Any]) -> dict[str, Any]:
    """A record of a new row."""
    return {"eventName": "INSERT", "dynamodb": {**RECORD["dynamodb"], "NewImage": image}}


def workbench(count: int) -> Any:
    """A model with so many rows."""
    model = json.loads(seeds("workbench")[0])
    model["DataModel"][0]["TableData"] = [{"PK": {"S": str(n)}, "SK": {"S": "b"}} for n in range(count)]
    return model


LARGE: dict[str, tuple[str, Callable[[int], Any]]] = {
    "rows of an answer": ("answer", lambda n: {"Items": [BOOK] * n, "Count": n}),
    "a list in an answer": ("answer", lambda n: {"Items": [row(extra={"L": numbers(n)})]}),
    "a set in an answer": ("answer", lambda n: {"Items": [row(tags={"SS": [str(i) for i in range(n)]})]}),
    "attributes of a row": ("item", lambda n: row(**{f"x{i}": {"S": "x"} for i in range(n)})),
    "keys of a map": ("item", lambda n: row(extra={"M": {str(i): {"S": "x"} for i in range(n)}})),
    "nested objects": ("item", lambda n: row(places={"M": {str(i): {"M": {"shelf": {"S": "a"}}} for i in range(n)}})),
    "records of an event": ("stream", lambda n: {"Records": [RECORD] * n}),
    "a list in an event": ("stream", lambda n: inserted(row(extra={"L": numbers(n)}))),
    "rows of a model": ("workbench", workbench),
}


def calls(target: str, data: bytes) -> int:
    """How many functions reading calls, those of C included."""
    count = 0

    def seen(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        TARGETS[target](data)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("case", LARGE)
def test_twice_as_much_takes_twice_the_work(case: str) -> None:
    """A reader calls at most a little more than twice as many functions for twice as much."""
    target, make = LARGE[case]
    TARGETS[target](json.dumps(make(2)).encode())
    once, twice = (calls(target, json.dumps(make(size)).encode()) for size in (400, 800))
    assert twice < 2.2 * once


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "9" * 400_000, "0." + "0" * 400_000 + "1"])
@pytest.mark.parametrize("quote", ['"', ""])
def test_a_number_takes_no_more_memory_than_its_text(number: str, quote: str) -> None:
    """No number is written out: ``1e999999999`` would have a billion digits."""
    price = f'{{"N":{quote}{number}{quote}}}'
    text = json.dumps(row(price="@")).replace('"@"', price)
    for target, data in (
        ("item", text),
        ("answer", f'{{"Items":[{text}]}}'),
        ("export_line", f'{{"Item":{text}}}'),
        ("stream", json.dumps({"Records": [RECORD]}).replace('"Keys"', f'"NewImage":{text},"Keys"')),
    ):
        assert peak(target, data.encode()) < 20_000_000


@pytest.mark.parametrize("case", LARGE)
def test_memory_is_in_proportion(case: str) -> None:
    """A row of 400 KB, and a page of a megabyte, take at most sixty times their bytes while they are read."""
    target, make = LARGE[case]
    data = json.dumps(make(2000)).encode()
    assert peak(target, data) < 60 * len(data) + 5_000_000


def peak(target: str, data: bytes) -> int:
    """The most memory that was in use while some bytes were read."""
    tracemalloc.start()
    try:
        TARGETS[target](data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
