"""Batches on the engines."""

from __future__ import annotations

import pytest

from tablekit import BatchIncomplete, Entity, Field, Table, UniqueViolation, VersionConflict, WrongEntityType
from tablekit.api.batch import AioBatch
from tests.support.many_models import Account, Order, User, store
from tests.support.models import Comment, Workspace
from tests.support.suspending import on_a_loop


@pytest.fixture
def shop(connect):
    """The store on a fresh table of each engine."""
    return connect(store)


@pytest.fixture
def full_shop(connect_full):
    """The store on a fresh table of ministack."""
    return connect_full(store)


def test_a_batch_puts_and_deletes_any_mix(app):
    """Entities of several classes are put; entities and keys are deleted."""
    old = Workspace(workspace_id="old", name="Old").create()
    Workspace(workspace_id="older", name="Older").create()
    new = [
        Workspace(workspace_id="acme", name="Acme"),
        Comment(workspace_id="acme", doc_id="d", comment_id="c", body="b"),
    ]
    with app.batch() as batch:
        batch.delete(old)
        batch.delete(Workspace.key(workspace_id="older"))
        for entity in new:
            batch.put(entity)
    assert sorted(map(repr, app.scan())) == sorted(map(repr, new))


def test_r44_rows_of_swapped_keys_are_two_rows(shop):
    """R44: ("a", "b") and ("b", "a") are both written."""
    with shop.batch(unversioned=True) as batch:
        batch.put(Order(account_id="a", order_id="b"))
        batch.put(Order(account_id="b", order_id="a"))
    assert len(Order.scan().all()) == 2


def test_r44_within_a_batch_the_last_write_wins(shop):
    """R44: the engines refuse two writes of a row in one request; one is sent, the later."""
    with shop.batch() as batch:
        batch.put(Account(account_id="a", balance=1))
        batch.put(Account(account_id="a", balance=2))
        batch.put(Account(account_id="b"))
        batch.delete(Account.key(account_id="b"))
    assert Account.scan().all() == [Account(account_id="a", balance=2)]


def test_r44_a_key_attribute_may_hold_the_separator_in_its_name(connect):
    """R44: a key attribute called ``a#b`` is told apart like any other."""
    table = Table("odd", pk="a#b", sk="b")

    class Odd(Entity, table=table, pk="{left}", sk="{right}"):
        left: Field[str]
        right: Field[str]

    connect(table)
    table.batch_write([Odd(left="1", right="2"), Odd(left="2", right="1"), Odd(left="1", right="2")])
    assert len(Odd.scan().all()) == 2


def test_r37_an_unversioned_batch_counts_versions_on(shop):
    """R37: with the flag a new row gets version 1 and a loaded one 4; the objects in memory match."""
    loaded = Order(account_id="a", order_id="1").create()
    for title in ("x", "y"):
        loaded.title = title
        loaded.save()
    new = Order(account_id="a", order_id="2")
    with shop.batch(unversioned=True) as batch:
        batch.put(loaded)
        batch.put(new)
    assert (loaded.revision, new.revision) == (4, 1)
    assert shop.query(Order, account_id="a").all() == [loaded, new]
    new.title = "goes on"
    new.save()


def test_a_batch_writes_what_a_put_writes(shop, recorder):
    """Type, version, marker and times are in the row, and in memory."""
    order = Order(account_id="a", order_id="1", title="t")
    shop.batch_write([order], unversioned=True)
    item = recorder.sent("BatchWriteItem")[0]["RequestItems"][shop.name][0]["PutRequest"]["Item"]
    assert item["EntityType"] == {"S": "Order"}
    assert {"revision", "changed", "_w"} <= item.keys()
    assert Order.get(account_id="a", order_id="1") == order


def test_many_rows_from_an_iterator(shop):
    """Rows come from a generator, and are sent as they come."""
    shop.batch_write(Account(account_id=f"{number:03d}") for number in range(130))
    shop.batch_write(deletes=(Account.key(account_id=f"{number:03d}") for number in range(0, 130, 2)))
    assert sorted(account.account_id for account in Account.scan()) == [f"{number:03d}" for number in range(1, 130, 2)]


def test_what_changes_after_the_call_is_not_written(shop):
    """A later change stays a local one, and is saved later."""
    account = Account(account_id="a", balance=1)
    with shop.batch() as batch:
        batch.put(account)
        account.balance = 2
        account.tags.add("later")
    assert Account.get(account_id="a") == Account(account_id="a", balance=1)
    account.save()
    assert Account.get(account_id="a") == Account(account_id="a", balance=2, tags={"later"})


@pytest.mark.transactions
def test_a_guarded_batch_refuses_what_single_writes_refuse(full_shop):
    """A guarded batch keeps out of other classes' rows and checks versions; the rest is written."""
    table = Table("other", pk="PK", sk="SK")

    class Impostor(Entity, table=table, pk="ACC#{account_id}", sk="ACCOUNT"):
        account_id: Field[str]

    with table.bound(name=full_shop.name, port=full_shop.session().port):
        Impostor(account_id="taken").create()
    stale = Order(account_id="a", order_id="1").create()
    Order.key(account_id="a", order_id="1").update(Order.title.set("newer"))
    taken, fine = Account(account_id="taken"), [Account(account_id=str(number)) for number in range(120)]
    with pytest.raises(BatchIncomplete) as caught:
        full_shop.batch_write([*fine[:60], taken, stale, *fine[60:]], guarded=True)
    assert set(map(id, caught.value.unprocessed)) == {id(taken), id(stale)}
    assert isinstance(caught.value.__cause__, WrongEntityType | VersionConflict)
    assert len(full_shop.scan(Account).untyped("skip").all()) == 120
    assert stale.revision == 1


@pytest.mark.transactions
def test_a_guarded_batch_keeps_unique_values(full_shop):
    """Entities with unique values may go into a guarded batch."""
    User(user_id="0", email="taken@x").create()
    rival = User(user_id="1", email="taken@x")
    with pytest.raises(BatchIncomplete) as caught:
        full_shop.batch_write([rival, User(user_id="2", email="free@x")], guarded=True)
    assert caught.value.unprocessed == (rival,)
    assert {user.user_id for user in User.scan()} == {"0", "2"}


@pytest.mark.transactions
def test_a_guarded_batch_refuses_only_the_later_of_two_equal_unique_values(full_shop):
    """The first row of a value and all others are written; `errors` stands beside `unprocessed`."""
    rows = [User(user_id=number, email=email) for number, email in (("1", "a@x"), ("2", "b@x"), ("3", "a@x"))]
    with pytest.raises(BatchIncomplete, match=r"1 of 3 rows .* would fail again") as caught:
        full_shop.batch_write(rows, guarded=True)
    assert caught.value.unprocessed == (rows[2],)
    assert [type(error) for error in caught.value.errors] == [UniqueViolation]
    assert {user.user_id for user in User.scan()} == {"1", "2"}


def test_hooks_run_around_a_batch(connect):
    """`before_write` may still change the entity; `after_write` runs for each row that was written."""
    table = Table("hooks")
    seen = []

    class Note(Entity, table=table, pk="NOTE#{note_id}", sk="NOTE"):
        note_id: Field[str]
        slug: Field[str] = ""

        def before_write(self, operation):
            self.slug = f"{operation}-{self.note_id}"

        def after_write(self, operation):
            seen.append((operation, self.note_id))

    connect(table)
    with table.batch() as batch:
        batch.put(Note(note_id="1"))
        assert seen == []
    assert seen == [("put", "1")]
    assert Note.get_or_raise(note_id="1").slug == "put-1"


def test_a_batch_of_deleted_entities_forgets_them(shop):
    """An entity that was deleted in a batch is new again."""
    order = Order(account_id="a", order_id="1").create()
    shop.batch_write(deletes=[order], unversioned=True)
    order.create()
    assert order.revision == 1


def test_a_batch_is_awaited_too(shop):
    """`AioBatch` runs the same coroutines on an event loop."""

    async def work():
        async with AioBatch(shop) as batch:
            for number in range(60):
                batch.put(Account(account_id=str(number)))
            batch.delete(Account.key(account_id="3"))

    on_a_loop(shop, work())
    assert len(Account.scan().all()) == 59
