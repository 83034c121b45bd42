"""Transactions on an engine that has them."""

from __future__ import annotations

import asyncio

import pytest

from tablekit import (
    ConditionFailed,
    Entity,
    ExpressionError,
    Field,
    ItemExists,
    ItemNotFound,
    LimitExceeded,
    NotLoaded,
    RequestError,
    Table,
    TableNotFound,
    TransactionCancelled,
    VersionConflict,
    WrongEntityType,
)
from tablekit.api.table_writes import AioTableWrites
from tests.support.many_models import Account, Entry, Order, ledger, store
from tests.support.suspending import on_a_loop

pytestmark = pytest.mark.transactions


@pytest.fixture
def shop(connect_full):
    """The store on a fresh table of ministack."""
    return connect_full(store)


def test_all_of_it_or_none(shop):
    """One failed action leaves every row as it was, and every object in memory."""
    Account(account_id="1", balance=5).create()
    new = Order(account_id="1", order_id="1")
    with pytest.raises(TransactionCancelled), shop.transaction() as tx:
        tx.create(new)
        tx.update(Account.key(account_id="1"), Account.balance.add(-10), condition=Account.balance >= 10)
    assert Order.scan().all() == []
    assert Account.get(account_id="1") == Account(account_id="1", balance=5)
    assert new.revision == 0


def test_a_missing_table_of_several_is_not_blamed_on_another(shop, connect_full):
    """DynamoDB does not say which one it is, and neither does the message."""
    with (
        ledger.bound(name="nowhere", port=shop.binding.port),
        pytest.raises(TableNotFound, match=rf"on tables '{shop.name}', 'nowhere'"),
        shop.transaction() as tx,
    ):
        tx.create(Account(account_id="1"))
        tx.create(Entry(entry_id="1"))


def test_entities_change_in_memory_after_the_commit(shop):
    """Inside the block an entity is as it was; after it, as its row is."""
    order = Order(account_id="1", order_id="1").create()
    order.title = "new"
    fresh = Order(account_id="1", order_id="2")
    with shop.transaction() as tx:
        tx.save(order)
        assert tx.create(fresh) is fresh
        assert (order.revision, fresh.revision) == (1, 0)
    assert (order.revision, fresh.revision) == (2, 1)
    assert shop.query(Order, account_id="1").all() == [order, fresh]


def test_what_changes_after_the_call_is_a_local_change(shop):
    """A transaction writes the entity as it was named; later changes are saved later."""
    order = Order(account_id="1", order_id="1", title="first")
    with shop.transaction() as tx:
        tx.create(order)
        order.title = "second"
    assert Order.get_or_raise(account_id="1", order_id="1").title == "first"
    order.save()
    stored = Order.get_or_raise(account_id="1", order_id="1")
    assert (stored.title, stored.revision) == ("second", 2)


def test_an_entity_that_was_updated_holds_what_was_set(shop):
    """A transaction returns no attributes: what was set is known, what was added up is not loaded."""
    order = Order(account_id="1", order_id="1", total=5).create()
    with shop.transaction() as tx:
        tx.update(order, Order.title.set("t"), Order.total.add(2))
    assert (order.title, order.revision) == ("t", 2)
    with pytest.raises(NotLoaded):
        _ = order.total
    assert order.refresh().total == 7


def test_a_deleted_entity_is_new_again(shop):
    """It can be created once more."""
    order = Order(account_id="1", order_id="1").create()
    with shop.transaction() as tx:
        tx.delete(order)
    order.create()
    assert Order.get_or_raise(account_id="1", order_id="1").revision == 1


def test_a_save_of_nothing_changed_is_no_action(shop, recorder):
    """It sends nothing, and its reason has no code when another action fails."""
    order = Order(account_id="1", order_id="1").create()
    count = len(recorder.requests)
    with shop.transaction() as tx:
        tx.save(order)
    assert len(recorder.requests) == count
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.save(order)
        tx.check(Account.key(account_id="none"))
    assert [reason.code for reason in caught.value.reasons] == [None, "ConditionalCheckFailed"]


def test_a_transaction_writes_several_tables(shop, connect_full):
    """Rows of two tables are written together, each under its own table's name."""
    connect_full(ledger)
    with shop.transaction() as tx:
        tx.create(Account(account_id="1"))
        tx.create(Entry(entry_id="e", amount=3))
    assert Account.get(account_id="1") is not None
    assert Entry.get(entry_id="e") == Entry(entry_id="e", amount=3)


def test_r46_each_action_has_its_reason(shop):
    """R46: three reasons in the order of the calls; the failed one has entity, key and the old row as its class."""
    existing = Order(account_id="1", order_id="1", title="budget", secret="hidden").create()
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.put(Account(account_id="1"))
        tx.create(Order(account_id="1", order_id="1"))
        tx.update(Account.key(account_id="2"), Account.balance.set(1), upsert=True)
    first, second, third = caught.value.reasons
    assert (first.code, second.code, third.code) == (None, "ConditionalCheckFailed", None)
    assert (second.index, second.entity, second.pk, second.sk) == (1, "Order", "ACC#1", "ORDER#1")
    assert isinstance(second.error, ItemExists)
    assert second.error.stored == existing
    assert second.item["title"] == {"S": "budget"}
    assert "Order" in str(caught.value)
    assert "ACC#1" in str(caught.value)
    assert "budget" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_each_failure_is_what_the_single_write_raises(shop):
    """Missing row, lost race and failed condition are told apart."""
    stale = Order(account_id="1", order_id="1").create()
    Order.key(account_id="1", order_id="1").update(Order.title.set("newer"))
    Account(account_id="1", balance=1).create()
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.update(Account.key(account_id="missing"), Account.balance.set(1))
        tx.delete(stale)
        tx.check(Account.key(account_id="1"), Account.balance > 10)
    kinds = [type(reason.error) for reason in caught.value.reasons]
    assert kinds == [ItemNotFound, VersionConflict, ConditionFailed]
    assert caught.value.failed == caught.value.reasons


def test_a_check_asks_for_the_class(shop):
    """`check` is of a row of that class; another class's row under the key fails it."""
    table = Table("shadow", pk="PK", sk="SK")

    class Shadow(Entity, table=table, pk="ACC#{account_id}", sk="ACCOUNT"):
        account_id: Field[str]

    Account(account_id="1").create()
    with shop.transaction() as tx:
        tx.check(Account.key(account_id="1"))
        tx.create(Account(account_id="2"))
    with table.bound(name=shop.name, port=shop.session().port):  # noqa: SIM117
        with pytest.raises(TransactionCancelled) as caught, table.transaction() as tx:
            tx.check(Shadow.key(account_id="1"))
    assert isinstance(caught.value.reasons[0].error, WrongEntityType)


def test_a_check_of_a_loaded_entity_asks_for_its_version(shop):
    """What was read must still be what is there."""
    order = Order(account_id="1", order_id="1").create()
    with shop.transaction() as tx:
        tx.check(order)
        tx.put(Account(account_id="1"))
    Order.key(account_id="1", order_id="1").update(Order.title.set("newer"))
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.check(order)
        tx.put(Account(account_id="2"))
    assert isinstance(caught.value.reasons[0].error, VersionConflict)


def test_r31_an_append_in_a_transaction_makes_the_list(shop, recorder):
    """R31: appending to a list that is missing works in a transaction as in a plain update."""
    Account(account_id="1").create()
    Account.key(account_id="1").update(Account.history.remove())
    with shop.transaction() as tx:
        tx.update(Account.key(account_id="1"), Account.history.append(["x"]))
        tx.update(Account.key(account_id="2"), Account.balance.set(1), upsert=True)
    assert Account.get_or_raise(account_id="1").history == ["x"]
    appended, plain = (action["Update"] for action in recorder.sent("TransactWriteItems")[0]["TransactItems"])
    assert "list_append(if_not_exists(" in appended["UpdateExpression"]
    for update in (appended, plain):
        text = update["UpdateExpression"] + update.get("ConditionExpression", "")
        assert all(name in text for name in update.get("ExpressionAttributeValues", {}))


def test_an_update_by_key_bumps_the_version(shop):
    """A versioned row that is changed by key counts on, and is checked when told the version."""
    Order(account_id="1", order_id="1").create()
    key = Order.key(account_id="1", order_id="1")
    with shop.transaction() as tx:
        tx.update(key, Order.title.set("a"), version=1)
    assert key.get_or_raise().revision == 2
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.delete(key, version=1)
    assert isinstance(caught.value.reasons[0].error, VersionConflict)


def test_r47_two_actions_on_one_row_are_refused(shop):
    """R47: the second action on a row is an error that names the key."""
    account = Account(account_id="1")
    with pytest.raises(RequestError, match="PK='ACC#1'"), shop.transaction() as tx:
        tx.create(account)
        tx.delete(Account.key(account_id="1"))
    assert Account.scan().all() == []


def test_the_same_token_is_applied_once(shop):
    """A second transaction of the same token and body changes nothing more."""
    Account(account_id="1").create()
    for _ in range(2):
        with shop.transaction(token="transfer-1") as tx:
            tx.update(Account.key(account_id="1"), Account.balance.add(5))
    assert Account.get_or_raise(account_id="1").balance == 5


def test_a_committed_transaction_takes_no_more(shop):
    """It is over once it was sent."""
    with shop.transaction() as tx:
        tx.put(Account(account_id="1"))
    with pytest.raises(RequestError, match="committed"):
        tx.put(Account(account_id="2"))


def test_a_condition_of_another_class_is_refused(shop):
    """A check speaks of its own row."""
    with pytest.raises(ExpressionError, match="Order"), shop.transaction() as tx:
        tx.check(Account.key(account_id="1"), Order.total > 1)


def test_hooks_run_around_a_transaction(connect_full):
    """`before_write` may still change the entity; `after_write` runs once it was applied."""
    table = Table("hooks")
    seen = []

    class Note(Entity, table=table, pk="NOTE#{note_id}", sk="NOTE"):
        note_id: Field[str]
        slug: Field[str] = ""

        def before_write(self, operation):
            self.slug = f"{operation}-{self.note_id}"

        def after_write(self, operation):
            seen.append((operation, self.note_id))

    connect_full(table)
    with table.transaction() as tx:
        tx.create(Note(note_id="1"))
        assert seen == []
    assert seen == [("create", "1")]
    assert Note.get_or_raise(note_id="1").slug == "create-1"


# Reading ------------------------------------------------------------------------------------------------------


def test_transact_get_is_aligned_with_its_keys(shop, recorder):
    """Each key has its row or None at its place; a key that stands twice is asked for once."""
    order = Order(account_id="1", order_id="1").create()
    account = Account(account_id="1").create()
    key = Order.key(account_id="1", order_id="1")
    found = shop.transact_get(key, Account.key(account_id="missing"), Account.key(account_id="1"), key)
    assert found == (order, None, account, order)
    assert len(recorder.sent("TransactGetItems")[0]["TransactItems"]) == 3


def test_transact_get_of_a_list_is_a_list(shop, connect_full):
    """A list of keys, of several tables, gives a list; none give nothing."""
    connect_full(ledger)
    entry = Entry(entry_id="e").create()
    assert shop.transact_get([Entry.key(entry_id="e"), Account.key(account_id="1")]) == [entry, None]
    assert shop.transact_get([]) == []


def test_transact_get_refuses_a_siblings_row(shop):
    """A row of another class under the key is told, as in `get`."""
    table = Table("shadow", pk="PK", sk="SK")

    class Shadow(Entity, table=table, pk="ACC#{account_id}", sk="ACCOUNT"):
        account_id: Field[str]

    Account(account_id="1").create()
    with table.bound(name=shop.name, port=shop.session().port), pytest.raises(WrongEntityType):
        table.transact_get(Shadow.key(account_id="1"))


def test_transact_get_takes_100_keys(shop):
    """101 are refused before anything is sent."""
    keys = [Account.key(account_id=str(number)) for number in range(101)]
    assert shop.transact_get(keys[:100]) == [None] * 100
    with pytest.raises(LimitExceeded):
        shop.transact_get(keys)


# Awaited ------------------------------------------------------------------------------------------------------


def test_a_transaction_is_awaited_too(shop):
    """The awaited face runs the same coroutines on an event loop, asynchronous hooks included."""
    table = Table("hooks", pk="PK", sk="SK")

    class Note(Entity, table=table, pk="NOTE#{note_id}", sk="NOTE"):
        note_id: Field[str]
        slug: Field[str] = ""

        async def before_write(self, operation):
            await asyncio.sleep(0)
            self.slug = operation

    async def work():
        aio = AioTableWrites(table)
        await Note(note_id="0").aio.create()
        note = Note(note_id="1")
        async with aio.transaction() as tx:
            tx.check(Note.key(note_id="0"))
            tx.put(note)
        with pytest.raises(TransactionCancelled) as caught:
            async with aio.transaction() as tx:
                tx.put(Note(note_id="2"))
                tx.create(Note(note_id="1"))
        return note, [reason.code for reason in caught.value.reasons], await aio.transact_get(Note.key(note_id="1"))

    with table.bound(name=shop.name, port=shop.session().port):
        note, codes, found = on_a_loop(table, work())
    assert codes == [None, "ConditionalCheckFailed"]
    assert (note.slug, found) == ("put", (note,))
