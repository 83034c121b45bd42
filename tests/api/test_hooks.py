"""Hooks: methods that an entity overrides, called before and after its writes and when a row is loaded."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from tablekit import Entity, Field, ItemExists, RequestError, Table, field
from tests.support.rows import store, stored
from tests.support.write_models import app as writes_app

hooked = Table("hooked-app")


class Order(Entity, table=hooked, pk="ORDER#{order_id}", sk="ORDER"):
    """Keeps a total, and a diary of its hooks."""

    order_id: Field[str]
    prices: Field[list[int]] = field(factory=list)
    total: Field[int] = field(default=0)

    diary: ClassVar[list[str]] = []

    def before_write(self, operation: str) -> None:
        """Add up the prices."""
        if any(price < 0 for price in self.prices):
            raise ValueError("a price is negative")
        self.total = sum(self.prices)
        self.diary.append(f"before {operation}")

    def after_write(self, operation: str) -> None:
        """Note what was done."""
        self.diary.append(f"after {operation}")

    def after_load(self) -> None:
        """Note what was read."""
        self.diary.append("load")


class Awaited(Entity, table=hooked, pk="AWAITED#{name}", sk="AWAITED"):
    """Its hook awaits, so that it is written through ``.aio``."""

    name: Field[str]
    checked: Field[bool] = field(default=False)

    async def before_write(self, operation: str) -> None:
        """Ask somebody."""
        await asyncio.sleep(0)
        self.checked = True


@pytest.fixture
def orders(connect) -> Table:
    """The table of the hooked classes, with an empty diary."""
    Order.diary.clear()
    return connect(hooked)


def test_each_verb_calls_its_hooks(orders) -> None:
    """Create, put, save, update and delete call both hooks, with their name; saving a new object creates."""
    order = Order(order_id="1").save()
    order.prices.append(2)
    order.put()
    order.prices.append(3)
    order.save()
    order.update(Order.prices.append([4]))
    order.delete()
    verbs = ["create", "put", "save", "update", "delete"]
    assert [line for line in Order.diary if line != "load"] == [
        f"{when} {verb}" for verb in verbs for when in ("before", "after")
    ]


def test_what_before_write_sets_is_written(orders) -> None:
    """The request is built after the hook."""
    order = Order(order_id="1", prices=[1, 2]).create()
    order.prices.append(3)
    order.save()
    assert stored(orders, "ORDER#1", "ORDER")["total"] == {"N": "6"}


def test_an_exception_stops_the_write(orders) -> None:
    """What ``before_write`` raises comes out of the call, and nothing is sent."""
    with pytest.raises(ValueError, match="negative"):
        Order(order_id="1", prices=[-1]).create()
    assert stored(orders, "ORDER#1", "ORDER") is None


def test_no_after_write_without_a_write(orders) -> None:
    """A refused write, a save of nothing and a dry run do not call it."""
    order = Order(order_id="1").create()
    Order.diary.clear()
    with pytest.raises(ItemExists):
        Order(order_id="1").create()
    order.save()
    with orders.dry_run():
        order.put()
    assert [line for line in Order.diary if line.startswith("after")] == []


def test_after_load_is_called_on_reads(orders) -> None:
    """On get and on queries, once for each object; not on objects that the program makes."""
    Order(order_id="1").create()
    Order.diary.clear()
    Order.get_or_raise(order_id="1")
    orders.query(pk="ORDER#1").all()
    assert Order.diary == ["load", "load"]


def test_after_load_is_called_on_a_row_that_is_read_carefully(orders) -> None:
    """Also where the row is spelled in a way that only the careful decoder reads."""
    item = Order(order_id="1").to_item()
    store(orders, {**item, "total": {"N": "1.0"}})
    Order.diary.clear()
    Order.get_or_raise(order_id="1")
    assert Order.diary == ["load"]


def test_an_async_hook_is_refused_by_a_synchronous_call(orders) -> None:
    """A synchronous call cannot await, and says so before anything is sent."""
    with pytest.raises(RequestError, match=r"through \.aio"):
        Awaited(name="a").create()
    assert stored(orders, "AWAITED#a", "AWAITED") is None


def test_an_async_hook_is_awaited_under_aio(orders) -> None:
    """Under ``.aio`` the hook is awaited, plain hooks are called as before."""

    async def scenario() -> None:
        await Awaited(name="a").aio.create()
        await Order(order_id="1").aio.create()
        await orders.aio.aclose()

    asyncio.run(scenario())
    assert stored(orders, "AWAITED#a", "AWAITED")["checked"] == {"BOOL": True}
    assert Order.diary == ["before create", "after create"]


def test_the_hooks_are_no_ops_on_the_root() -> None:
    """A class that overrides none has them all the same."""
    entity = next(iter(writes_app.entities.values())).entity
    assert entity.before_write is Entity.before_write
    assert entity.after_load is Entity.after_load
