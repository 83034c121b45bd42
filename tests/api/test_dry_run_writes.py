"""What batches, transactions and unique values would send."""

from __future__ import annotations

import pytest

from tests.support.many_models import Account, Entry, Order, User, ledger, store
from tests.support.validation import validate_request

pytestmark = pytest.mark.transactions


@pytest.fixture
def shop(connect_full):
    """The store on a fresh table of ministack."""
    return connect_full(store)


def recorded(plan):
    """The operations that a dry run recorded, each checked against the service model."""
    for request in plan.requests:
        validate_request(request.operation, request.to_wire())
    return [request.operation for request in plan.requests]


def test_a_transaction_is_recorded(shop):
    """One request with its actions; entities stay as they were."""
    order = Order(account_id="1", order_id="1")
    with shop.dry_run() as plan, shop.transaction() as tx:
        tx.create(order)
        tx.delete(Account.key(account_id="1"))
    assert recorded(plan) == ["TransactWriteItems"]
    assert [next(iter(action)) for action in plan.requests[0].to_wire()["TransactItems"]] == ["Put", "Delete"]
    assert (order.revision, Order.scan().all()) == (0, [])


def test_a_batch_is_recorded_in_its_chunks(shop):
    """60 rows are three requests, none of them sent."""
    with shop.dry_run() as plan:
        shop.batch_write([Account(account_id=str(number)) for number in range(60)])
    assert recorded(plan) == ["BatchWriteItem"] * 3
    assert Account.scan().all() == []


def test_a_guarded_batch_is_recorded_as_a_transaction(shop):
    """It is what would be sent."""
    with shop.dry_run() as plan, shop.batch(guarded=True) as batch:
        batch.put(Order(account_id="1", order_id="1"))
    assert recorded(plan) == ["TransactWriteItems"]


def test_a_write_with_a_unique_value_is_recorded_with_its_guard(shop):
    """A create of a user is a transaction of two puts."""
    with shop.dry_run() as plan:
        user = User(user_id="1", email="a@x").create()
        User.key(user_id="1").delete()
    assert recorded(plan) == ["TransactWriteItems", "DeleteItem"]
    first = plan.requests[0].to_wire()["TransactItems"]
    assert [action["Put"]["Item"]["PK"]["S"] for action in first] == ["USER#1", "UNIQUE#User#email#S=a@x"]
    user.create()


def test_a_dry_run_of_any_of_the_tables_holds_a_transaction_back(shop, connect_full):
    """A transaction is all or nothing, so that no part of it is sent."""
    connect_full(ledger)
    with ledger.dry_run() as plan, shop.transaction() as tx:
        tx.create(Account(account_id="1"))
        tx.create(Entry(entry_id="e"))
    assert recorded(plan) == ["TransactWriteItems"]
    assert (Account.scan().all(), Entry.scan().all()) == ([], [])
