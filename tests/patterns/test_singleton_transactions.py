"""Transactions that depend on a singleton: it is checked, and never written."""

from __future__ import annotations

import pytest

from tablekit import (
    ConditionFailed,
    Entity,
    Field,
    ItemNotFound,
    RequestError,
    ShardedCounter,
    Singleton,
    Table,
    TransactionCancelled,
    VersionConflict,
    field,
    version,
)

pytestmark = pytest.mark.transactions

app = Table("shop")


class Settings(Singleton, table=app, pk="SETTINGS", sk="SHOP"):
    """What orders depend on."""

    checkout_open: Field[bool] = field(default=False)

    revision = version()


class Order(Entity, table=app, pk="ORDER#{order_id}", sk="ORDER"):
    """What is placed."""

    order_id: Field[str]


class Visits(ShardedCounter, table=app, pk="COUNTER#visits", sk="COUNTER", shards=2):
    """A counter with a constant key, which is none of a row."""


@pytest.fixture(autouse=True)
def _table(connect_full):
    connect_full(app)
    Settings.invalidate()


def place(*checked, **options):
    """Place an order in a transaction that checks something."""
    with app.transaction() as tx:
        tx.check(*checked, **options)
        tx.create(Order(order_id="1"))


def reason(caught):
    """Why the check failed."""
    return caught.value.reasons[0].error


def test_an_order_is_placed_while_the_setting_holds():
    """The class is the row, since its key is constant."""
    Settings.update(checkout_open=True)
    place(Settings, Settings.checkout_open == True)  # noqa: E712
    assert Order.get(order_id="1") is not None


def test_no_order_is_placed_when_the_setting_does_not_hold():
    """The stored row decides, whatever this process has cached."""
    Settings.update(checkout_open=False)
    with pytest.raises(TransactionCancelled) as caught:
        place(Settings, Settings.checkout_open == True)  # noqa: E712
    assert type(reason(caught)) is ConditionFailed
    assert Order.get(order_id="1") is None


def test_without_a_row_the_check_fails_and_says_what_writes_one():
    """The safe values are no row."""
    with pytest.raises(TransactionCancelled) as caught:
        place(Settings)
    assert isinstance(reason(caught), ItemNotFound)
    assert "Settings.ensure() writes the safe values" in str(reason(caught))


def test_a_snapshot_checks_that_the_row_did_not_change_since():
    """It holds the version that it was read at."""
    seen = Settings.update(checkout_open=True)
    place(seen)
    assert Order.get(order_id="1") is not None

    Settings.update(checkout_open=False)
    with pytest.raises(TransactionCancelled) as caught:
        place(seen)
    assert isinstance(reason(caught), VersionConflict)


def test_version_checks_a_class_at_a_version():
    """`version=` asks for the version of the one row."""
    Settings.ensure()
    with pytest.raises(TransactionCancelled) as caught:
        place(Settings, version=7)
    assert isinstance(reason(caught), VersionConflict)


def test_a_transaction_does_not_write_a_singleton():
    """Its writes go through its own verbs, which keep the cache right; the message says what can be done."""
    with pytest.raises(RequestError, match=r"can check it, tx\.check\(Settings, condition\), and does not write it"):
        app.transaction().put(Settings.ensure())


def test_a_class_of_many_rows_is_no_row():
    """The message names the key to give."""
    with pytest.raises(RequestError, match=r"Order has many rows.*give Order\.key\(order_id=\.\.\.\)"):
        app.transaction().check(Order)


def test_a_counter_is_no_row_either():
    """Its constant key is that of no row."""
    with pytest.raises(RequestError, match=r"Visits is a counter"):
        app.transaction().check(Visits)


def test_update_says_where_a_condition_belongs():
    """A condition among the values is a wish that `edit` fulfils."""
    with pytest.raises(RequestError, match=r"update takes no condition: decide in a function.*Settings\.edit"):
        Settings.update(checkout_open=True, condition=Settings.revision == 1)


def test_an_edit_that_raises_writes_nothing():
    """The function decides on the row as it is."""

    def close(settings):
        if not settings.checkout_open:
            raise LookupError("closed already")

    before = Settings.ensure()
    with pytest.raises(LookupError, match="closed already"):
        Settings.edit(close)
    assert Settings.load().version == before.version
