"""Conditions judged on rows that were read: as the engines judge them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from tablekit import Entity, Field, Table, field
from tablekit.operations.judging import holds
from tablekit.operations.queryplan import plan_query
from tests.support.engines import Engine
from tests.support.tables import Connect

app = Table("judged")


class Thing(Entity, table=app, pk="T", sk="T#{name}"):
    """An entity of every shape of value."""

    name: Field[str]
    text: Field[str | None] = field(default=None)
    number: Field[int | None] = field(default=None)
    flags: Field[set[str]] = field(factory=set)
    numbers: Field[set[int]] = field(factory=set)
    items: Field[list[str]] = field(factory=list)
    more: Field[dict[str, int]] = field(factory=dict)
    raw: Field[bytes] = field(default=b"")


THINGS = [
    Thing(name="bare"),
    Thing(name="full", text="hello", number=7, flags={"a", "b"}, numbers={1, 2}, items=["x", "y"], more={"k": 1}),
    Thing(name="other", text="help", number=10, flags={"c"}, items=["z"], more={"k": 2, "l": 3}, raw=b"\x01\x02"),
    Thing(name="large", text="eeeeee", number=-3, numbers={30}),
]
CONDITIONS = {
    "equal": Thing.text == "hello",
    "unequal": Thing.text != "hello",
    "less": Thing.number < 10,
    "at least": Thing.number >= 7,
    "between": Thing.number.between(7, 10),
    "between texts": Thing.text.between("hello", "helq"),
    "in": Thing.number.is_in([10, -3]),
    "exists": Thing.text.exists(),
    "missing": ~Thing.text.exists(),
    "is none": Thing.number == None,  # noqa: E711  (a condition, not a test)
    "begins": Thing.text.begins_with("hel"),
    "contains text": Thing.text.contains("ell"),
    "contains member": Thing.flags.contains("c"),
    "contains number": Thing.numbers.contains(30),
    "contains element": Thing.items.contains("y"),
    "inside a map": Thing.more["k"] > 1,
    "inside a list": Thing.items[0] == "z",
    "outside a list": Thing.items[5] == "z",
    "size of text": Thing.text.size() == 6,
    "size of a set": Thing.flags.size() > 1,
    "two columns": Thing.text.size() > Thing.flags.size(),
    "not": ~(Thing.number < 10),
    "and or": ((Thing.number > 5) & (Thing.text == "hello")) | (Thing.number == -3),
}


@pytest.fixture
def table(connect: Connect) -> Table:
    """The things of this module."""
    connect(app)
    for thing in THINGS:
        thing.put()
    return app


def test_a_condition_holds_of_the_rows_that_an_engine_gives(table: Table, engine: Engine) -> None:
    """For every operator and function, on rows that have the attribute and rows that lack it."""
    rows = [thing.to_item() for thing in THINGS]
    for name, condition in CONDITIONS.items():
        given = {thing.name for thing in Thing.query().where(condition)}
        judged = {row["name"]["S"] for row in rows if holds(condition, row)}
        assert judged == given, name


def test_types_of_no_order_compare_false() -> None:
    """A number is neither above nor below a text."""
    assert not holds(Thing.number > 1, {"number": {"S": "7"}})
    assert not holds(Thing.text.size() > 0, {"text": {"N": "7"}})


def test_a_plan_says_how_it_narrows() -> None:
    """narrowing, intervals, clauses and neighbours are there for explain."""
    plan = plan_query(Thing.query().where(Thing.number > 1).spec, datetime.now(timezone.utc))

    assert (plan.narrowing, len(plan.clauses), plan.neighbours()) == ("key", 1, [])
    assert plan.intervals[Thing].prefix == "T#"
