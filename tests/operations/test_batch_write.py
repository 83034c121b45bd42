"""Batches against a scripted DynamoDB: chunks, unprocessed rows, errors, lost answers."""

from __future__ import annotations

import pytest

from tablekit import BatchIncomplete, RequestError
from tablekit.operations.batch_get import ATTEMPTS_WITHOUT_PROGRESS
from tests.support.many_models import Account, Entry, Order, User, ledger, store
from tests.support.stub import error, lost, ok


@pytest.fixture
def bound(stub):
    """The store on the scripted DynamoDB."""
    with store.bound(port=stub.port(), name="store"):
        yield store


def accounts(count, start=0):
    """Some accounts, numbered."""
    return [Account(account_id=str(number)) for number in range(start, start + count)]


def ids(wire, table="store"):
    """The keys that a request writes or deletes, in order."""
    return [
        (entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"])["PK"]["S"]
        for entry in wire["RequestItems"][table]
    ]


def all_back(wire):
    """DynamoDB gets round to nothing."""
    return ok({"UnprocessedItems": wire["RequestItems"]})


def test_r45_an_unprocessed_batch_is_sent_again_with_what_came_after_it(bound, stub):
    """R45: 25 rows come back unprocessed, a 26th is added: each is written, and none twice more than needed."""
    stub.script("BatchWriteItem", all_back)
    stub.always("BatchWriteItem", ok())
    with bound.batch(parallel=1) as batch:
        for account in accounts(26):
            batch.put(account)
    sent = [ids(wire) for wire in stub.sent("BatchWriteItem")]
    assert [len(keys) for keys in sent] == [25, 25, 1]
    assert sent[0] == sent[1]
    assert len({key for keys in sent for key in keys}) == 26


def test_r45_rows_that_stay_unprocessed_are_listed(bound, stub):
    """R45: after the retries the entities and keys are given back as they were given."""
    stub.always("BatchWriteItem", all_back)
    account, key = Account(account_id="a"), Account.key(account_id="b")
    with pytest.raises(BatchIncomplete) as caught, bound.batch() as batch:
        batch.put(account)
        batch.delete(key)
    assert caught.value.unprocessed == (account, key)
    assert len(stub.sent("BatchWriteItem")) == ATTEMPTS_WITHOUT_PROGRESS


def test_r45_only_the_unprocessed_part_is_sent_again(bound, stub):
    """R45: progress counts: what was written is not sent twice."""

    def all_but_the_first(wire):
        return ok({"UnprocessedItems": {"store": wire["RequestItems"]["store"][1:]}})

    stub.script("BatchWriteItem", *[all_but_the_first] * 9)
    stub.always("BatchWriteItem", ok())
    bound.batch_write(accounts(10))
    assert [len(ids(wire)) for wire in stub.sent("BatchWriteItem")] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]


def test_r45_an_error_gives_back_what_was_not_written(bound, stub):
    """R45: the second request is refused; its rows and those behind it are unwritten, those before it are not."""
    rows = accounts(60)
    stub.script("BatchWriteItem", ok(), error("AccessDeniedException"))
    with pytest.raises(BatchIncomplete) as caught:
        bound.batch_write(rows, parallel=1)
    assert caught.value.unprocessed == tuple(rows[25:])
    assert type(caught.value.__cause__).__name__ == "AccessDenied"
    assert len(stub.sent("BatchWriteItem")) == 2


def test_r45_an_exception_in_the_body_sends_nothing_more(bound, stub):
    """R45: three rows are gathered, the body raises: nothing is sent, and its exception comes out."""
    with pytest.raises(ZeroDivisionError), bound.batch() as batch:
        for account in accounts(3):
            batch.put(account)
        1 / 0  # noqa: B018
    assert stub.requests == []


def test_a_row_whose_answer_was_lost_is_unknown(bound, stub):
    """A batch that was sent and never answered may have been written, and is told apart from what was not."""
    rows = accounts(30)
    stub.script("BatchWriteItem", ok())
    stub.always("BatchWriteItem", lost())
    with pytest.raises(BatchIncomplete) as caught:
        bound.batch_write(rows, parallel=1)
    assert caught.value.unknown == tuple(rows[25:])
    assert caught.value.unprocessed == ()


def test_a_throttled_request_is_sent_again(bound, stub):
    """A request that DynamoDB throttles as a whole is as good as unprocessed."""
    stub.script("BatchWriteItem", *[error("ProvisionedThroughputExceededException")] * 5)
    stub.always("BatchWriteItem", ok())
    bound.batch_write(accounts(2))
    assert len(stub.sent("BatchWriteItem")) == 6


def test_r44_the_last_write_of_a_row_wins(bound, stub):
    """R44: two puts of one row are one request entry with the later title; a delete after a put is the delete."""
    stub.always("BatchWriteItem", ok())
    with bound.batch() as batch:
        batch.put(Account(account_id="a", balance=1))
        batch.put(Account(account_id="b"))
        batch.put(Account(account_id="a", balance=2))
        batch.delete(Account(account_id="b"))
    (wire,) = stub.sent("BatchWriteItem")
    put, delete = wire["RequestItems"]["store"]
    assert put["PutRequest"]["Item"]["balance"] == {"N": "2"}
    assert delete["DeleteRequest"]["Key"]["PK"] == {"S": "ACC#b"}


def test_an_object_that_is_used_again_is_written_as_it_was_each_time(bound, stub):
    """Each put takes the entity as it is at that moment."""
    stub.always("BatchWriteItem", ok())
    account = Account(account_id="0")
    with bound.batch() as batch:
        for number in range(3):
            account.account_id = str(number)
            batch.put(account)
    (wire,) = stub.sent("BatchWriteItem")
    assert ids(wire) == ["ACC#0", "ACC#1", "ACC#2"]


def test_a_large_batch_is_kept_under_the_size_of_a_request(bound, stub):
    """25 items of nearly 400 KB that JSON spells twice as long do not go into one request."""
    stub.always("BatchWriteItem", ok())
    bound.batch_write([Account(account_id=str(n), history=["é" * 190_000]) for n in range(25)], parallel=1)
    sizes = [len(ids(wire)) for wire in stub.sent("BatchWriteItem")]
    assert sum(sizes) == 25
    assert max(sizes) * 190_000 * 6 <= 16_000_000


def test_rows_of_two_tables_go_into_one_request(bound, stub):
    """A batch may write several tables, each under its own name."""
    stub.always("BatchWriteItem", ok())
    with ledger.bound(port=stub.port(), name="books"), bound.batch() as batch:
        batch.put(Account(account_id="a"))
        batch.put(Entry(entry_id="e"))
    (wire,) = stub.sent("BatchWriteItem")
    assert {name: len(entries) for name, entries in wire["RequestItems"].items()} == {"store": 1, "books": 1}


@pytest.mark.parametrize("entity", [Order(account_id="a", order_id="o"), User(user_id="u", email="a@x")])
def test_r37_what_a_batch_cannot_check_is_refused(bound, stub, entity):
    """R37: a versioned entity and one with unique values are refused before anything is sent, with the remedy."""
    with pytest.raises(RequestError, match="guarded=True"), bound.batch() as batch:
        batch.put(entity)
    assert stub.requests == []


def test_entities_are_as_before_when_nothing_was_written(bound, stub):
    """An entity that could not be written is not taken for a stored one."""
    stub.always("BatchWriteItem", error("ResourceNotFoundException"))
    order = Order(account_id="a", order_id="o")
    with pytest.raises(BatchIncomplete):
        bound.batch_write([order], unversioned=True)
    assert order.revision == 0


def test_a_batch_that_failed_takes_no_more_rows(bound, stub):
    """After `BatchIncomplete` a batch is closed."""
    stub.always("BatchWriteItem", error("ResourceNotFoundException"))
    batch = bound.batch()
    batch.put(Account(account_id="a"))
    with pytest.raises(BatchIncomplete):
        batch.flush()
    with pytest.raises(RequestError, match="ended by an error"):
        batch.put(Account(account_id="b"))


def test_a_batch_streams_when_it_is_full(bound, stub):
    """A batch of any number does not wait for its end."""
    stub.always("BatchWriteItem", ok())
    with bound.batch() as batch:
        for account in accounts(250):
            batch.put(account)
        assert len(stub.sent("BatchWriteItem")) == 8
    assert sum(len(ids(wire)) for wire in stub.sent("BatchWriteItem")) == 250
