"""Transactions against a scripted DynamoDB: tokens, conflicts, lost answers, limits, bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablekit import (
    AccessDenied,
    Capabilities,
    IdempotencyMismatch,
    LimitExceeded,
    RequestError,
    TransactionCancelled,
    TransactionConflict,
    TransactionInProgress,
    VersionConflict,
    WriteOutcomeUnknown,
)
from tablekit.operations import transact
from tablekit.operations.transact_render import canonical_part
from tablekit.operations.transport import SyncPort
from tests.support.many_models import Account, Entry, Order, User, ledger, store
from tests.support.stub import ENDPOINT, Settings, error, lost, ok, raises

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def pauses():
    """The pauses between requests, in seconds."""
    return []


@pytest.fixture
def bound(stub, pauses):
    """The store on the scripted DynamoDB, its pauses noted in place of made."""
    port = SyncPort(Settings(endpoint_url=ENDPOINT), on_client=stub.attach, sleep=pauses.append)
    with store.bound(port=port, name="store"):
        yield store


def cancelled(*codes, **fields):
    """A cancellation with a reason for each action; `fields` go to those that failed."""
    reasons = [{"Code": code, **(fields if code != "None" else {})} for code in codes]
    return error("TransactionCanceledException", CancellationReasons=reasons)


def sent(stub):
    """The bodies of the transactions that were sent."""
    return stub.sent("TransactWriteItems")


def test_actions_go_in_the_callers_order(bound, stub):
    """Put, create, update, delete and check are sent as they were named."""
    stub.always("TransactWriteItems", ok())
    with bound.transaction() as tx:
        tx.check(Account.key(account_id="1"))
        tx.put(Account(account_id="2"))
        tx.delete(Account.key(account_id="3"))
        tx.update(Account.key(account_id="4"), Account.balance.add(1))
        tx.create(Account(account_id="5"))
    (wire,) = sent(stub)
    assert [next(iter(action)) for action in wire["TransactItems"]] == [
        "ConditionCheck",
        "Put",
        "Delete",
        "Update",
        "Put",
    ]


@pytest.mark.parametrize("answers", [(lost(),), (lost(), lost()), (error("InternalServerError", 500), lost())])
def test_a_repeated_transaction_has_one_token_and_one_body(bound, stub, answers):
    """After a lost answer the very same request goes out again."""
    stub.script("TransactWriteItems", *answers, ok())
    order = Order(account_id="a", order_id="o")
    with bound.transaction() as tx:
        tx.create(order)
    bodies = {json.dumps(wire) for wire in sent(stub)}
    assert len(sent(stub)) == len(answers) + 1
    assert len(bodies) == 1
    assert order.revision == 1


def test_conflicts_are_retried_when_asked(bound, stub, pauses):
    """`retry_conflicts` sends the same body again, with pauses."""
    stub.script("TransactWriteItems", cancelled("TransactionConflict"), cancelled("TransactionConflict"), ok())
    with bound.transaction(retry_conflicts=2) as tx:
        tx.put(Account(account_id="a"))
    assert len({json.dumps(wire) for wire in sent(stub)}) == 1
    assert len(sent(stub)) == 3
    assert len(pauses) == 2


@pytest.mark.parametrize(("retries", "count"), [(0, 1), (3, 4)])
def test_a_conflict_that_lasts_is_told(bound, stub, retries, count):
    """When the retries are used up the reason says that another transaction holds the row."""
    stub.always("TransactWriteItems", cancelled("None", "TransactionConflict"))
    with pytest.raises(TransactionCancelled) as caught, bound.transaction(retry_conflicts=retries) as tx:
        tx.put(Account(account_id="a"))
        tx.put(Account(account_id="b"))
    assert len(sent(stub)) == count
    assert caught.value.reasons[0].error is None
    assert isinstance(caught.value.reasons[1].error, TransactionConflict)


def test_a_failed_condition_is_not_retried(bound, stub):
    """A conflict beside a failed condition changes nothing about the condition."""
    stub.always("TransactWriteItems", cancelled("TransactionConflict", "ConditionalCheckFailed"))
    with pytest.raises(TransactionCancelled), bound.transaction(retry_conflicts=3) as tx:
        tx.put(Account(account_id="a"))
        tx.create(Account(account_id="b"))
    assert len(sent(stub)) == 1


def test_an_attempt_in_progress_is_waited_for_with_its_token(bound, stub, pauses):
    """DynamoDB may finish it within a repeated request five seconds later: tablekit waits so long."""
    busy = [error("TransactionInProgressException")] * 4
    stub.script("TransactWriteItems", *busy, *busy, *busy, ok())
    with bound.transaction() as tx:
        tx.put(Account(account_id="a"))
    assert tx.state == "committed"
    assert sum(pauses) >= 5
    assert len({wire["ClientRequestToken"] for wire in sent(stub)}) == 1


def test_an_attempt_that_stays_in_progress_is_unknown(bound, stub):
    """It may be applied yet, and nothing says that it was not."""
    stub.always("TransactWriteItems", error("TransactionInProgressException"))
    with pytest.raises(WriteOutcomeUnknown) as caught, bound.transaction(token="t-1") as tx:
        tx.put(Account(account_id="a"))
    assert caught.value.token == "t-1"
    assert isinstance(caught.value.__cause__, TransactionInProgress)


def test_a_lost_answer_is_unknown_and_is_asked_for_again(bound, stub):
    """`resume` sends the same token and body; only then does the entity change."""
    order = Order(account_id="a", order_id="o")
    stub.script("TransactWriteItems", *[lost()] * 4, ok())
    with pytest.raises(WriteOutcomeUnknown), bound.transaction() as tx:
        tx.create(order)
    assert (tx.state, order.revision) == ("unknown", 0)
    tx.resume()
    assert (tx.state, order.revision) == ("committed", 1)
    assert len({json.dumps(wire) for wire in sent(stub)}) == 1


def test_a_resumed_transaction_remembers_that_its_answer_was_lost(bound, stub):
    """A throttle of the second round says nothing of the first."""
    stub.script("TransactWriteItems", *[lost()] * 4, *[error("ThrottlingException")] * 4, ok())
    tx = bound.transaction()
    tx.put(Account(account_id="a"))
    with pytest.raises(WriteOutcomeUnknown):
        tx.commit()
    with pytest.raises(WriteOutcomeUnknown):
        tx.resume()
    tx.resume()
    assert tx.state == "committed"


def test_an_interrupt_leaves_a_transaction_that_can_be_resumed(bound, stub):
    """The interrupt comes out as itself, and the outcome is unknown until it is asked for."""
    stub.script("TransactWriteItems", raises(KeyboardInterrupt()), ok())
    tx = bound.transaction()
    tx.put(Account(account_id="a"))
    with pytest.raises(KeyboardInterrupt):
        tx.commit()
    assert tx.state == "unknown"
    assert [attempt.outcome for attempt in tx._work.history] == ["maybe"]
    tx.resume()
    assert tx.state == "committed"


def test_an_engine_without_transactions_is_told(stub):
    """Nothing is sent to an engine that would not understand it."""
    plain = Capabilities(transactions=False)
    with store.bound(port=stub.port(), name="store", capabilities=plain):
        with pytest.raises(RequestError, match="no transactions"), store.transaction() as tx:
            tx.put(Account(account_id="a"))
        with pytest.raises(RequestError, match="no transactions"):
            store.transact_get(Account.key(account_id="a"))
        with pytest.raises(RequestError, match="no transactions"):
            User(user_id="1", email="a@x").create()
    assert stub.requests == []


def test_a_read_that_meets_a_transaction_is_repeated(bound, stub, pauses):
    """A reading transaction is cancelled by a writing one; it asks again, and then says which row it was."""
    stub.script("TransactGetItems", cancelled("None", "TransactionConflict"), ok({"Responses": [{}, {}]}))
    keys = Account.key(account_id="1"), Account.key(account_id="2")
    assert bound.transact_get(*keys) == (None, None)
    assert len(pauses) == 1
    stub.always("TransactGetItems", cancelled("None", "TransactionConflict"))
    with pytest.raises(TransactionCancelled, match="ACC#2") as caught:
        bound.transact_get(*keys)
    assert [reason.code for reason in caught.value.reasons] == [None, "TransactionConflict"]


def test_a_single_write_with_a_unique_value_whose_answer_was_lost(bound, stub):
    """It is a transaction, so that its second attempt is known by the token."""
    stub.script("TransactWriteItems", lost(), ok())
    assert User(user_id="1", email="a@x").create().email == "a@x"
    stub.script("TransactWriteItems", *[lost()] * 4)
    with pytest.raises(WriteOutcomeUnknown) as caught:
        User(user_id="2", email="b@x").create()
    assert (caught.value.entity, caught.value.pk) == ("User", "USER#2")
    assert "resume" not in str(caught.value)


def test_a_single_write_with_a_unique_value_waits_for_others(bound, stub):
    """Conflicts on a guard row are retried without being asked for; then the conflict is the error."""
    stub.script("TransactWriteItems", *[cancelled("None", "TransactionConflict")] * 8, ok())
    User(user_id="1", email="a@x").create()
    stub.always("TransactWriteItems", cancelled("None", "TransactionConflict"))
    with pytest.raises(TransactionConflict):
        User(user_id="2", email="a@x").create()


def test_a_transaction_is_not_resumed_when_its_token_may_be_forgotten(bound, stub, monkeypatch):
    """After nine minutes the same token might apply it a second time."""
    stub.script("TransactWriteItems", *[lost()] * 4)
    with pytest.raises(WriteOutcomeUnknown), bound.transaction() as tx:
        tx.put(Account(account_id="a"))
    later = transact.time.monotonic() + 541
    monkeypatch.setattr(transact.time, "monotonic", lambda: later)
    with pytest.raises(RequestError, match="nine minutes"):
        tx.resume()


def test_a_throttle_after_a_lost_answer_does_not_hide_it(bound, stub):
    """The last error says nothing of the first attempt."""
    stub.script("TransactWriteItems", lost(), *[error("ThrottlingException")] * 3)
    with pytest.raises(WriteOutcomeUnknown), bound.transaction() as tx:
        tx.put(Account(account_id="a"))


def test_a_cancellation_after_a_lost_answer_is_the_truth(bound, stub):
    """An applied transaction is answered with success under its token; a cancellation proves that it was not."""
    stub.script("TransactWriteItems", lost(), cancelled("ConditionalCheckFailed", Item={"PK": {"S": "x"}}))
    with pytest.raises(TransactionCancelled) as caught, bound.transaction() as tx:
        tx.create(Account(account_id="a"))
    assert [attempt.outcome for attempt in caught.value.history] == ["maybe", "refused"]
    assert tx.state == "cancelled"


@pytest.mark.parametrize(
    ("code", "kind"),
    [("AccessDeniedException", AccessDenied), ("IdempotentParameterMismatchException", IdempotencyMismatch)],
)
def test_an_error_that_was_surely_not_applied_stays_itself(bound, stub, code, kind):
    """Every attempt was refused."""
    stub.script("TransactWriteItems", error(code))
    with pytest.raises(kind), bound.transaction() as tx:
        tx.put(Account(account_id="a"))


def test_each_reason_is_what_the_single_write_would_have_raised(bound, stub):
    """A version conflict is told as one, with both versions."""
    row = {
        "PK": {"S": "ACC#a"},
        "SK": {"S": "ORDER#o"},
        "EntityType": {"S": "Order"},
        "account_id": {"S": "a"},
        "order_id": {"S": "o"},
        "revision": {"N": "3"},
        "changed": {"S": "2026-01-01T00:00:00.000000Z"},
    }
    order = Order.from_item(row)
    order.title = "new"
    stub.script("TransactWriteItems", cancelled("None", "ConditionalCheckFailed", Item={**row, "revision": {"N": "4"}}))
    with pytest.raises(TransactionCancelled) as caught, bound.transaction() as tx:
        tx.put(Account(account_id="a"))
        tx.save(order)
    reason = caught.value.reasons[1]
    assert isinstance(reason.error, VersionConflict)
    assert (reason.error.expected, reason.error.found) == (3, 4)
    assert (reason.entity, reason.pk, reason.sk) == ("Order", "ACC#a", "ORDER#o")
    assert (order.revision, order.title) == (3, "new")


@given(st.lists(st.sampled_from(["None", "ConditionalCheckFailed", "TransactionConflict"]), min_size=1, max_size=20))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_reason_stands_at_its_action(bound, stub, codes):
    """Whatever failed where, the reasons are aligned with the calls."""
    stub.script("TransactWriteItems", cancelled(*codes))
    tx = bound.transaction()
    for number in range(len(codes)):
        tx.create(Account(account_id=str(number)))
    with pytest.raises(TransactionCancelled) as caught:
        tx.commit()
    assert [reason.code or "None" for reason in caught.value.reasons] == codes
    assert [reason.pk for reason in caught.value.reasons] == [f"ACC#{number}" for number in range(len(codes))]


# What is refused before anything is sent ----------------------------------------------------------------------


def test_r47_a_check_and_a_put_of_one_row_are_refused(bound, stub):
    """R47: the error names the key, and says that the condition goes on the put."""
    with pytest.raises(RequestError, match=r"ACC#1.*put\(\.\.\., condition=\.\.\.\)"), bound.transaction() as tx:
        tx.check(Account.key(account_id="1"))
        tx.put(Account(account_id="1"))
    assert stub.requests == []


def test_r47_more_than_100_actions_are_refused(bound, stub):
    """R47: 150 actions raise at the 101st, and nothing is sent; they are never split."""
    with pytest.raises(LimitExceeded) as caught, bound.transaction() as tx:
        for number in range(150):
            tx.put(Account(account_id=str(number)))
    assert (caught.value.limit, caught.value.actual) == (100, 101)
    assert stub.requests == []


def test_r47_100_actions_pass_and_none_is_nothing(bound, stub):
    """R47: 100 actions are one request; a transaction of no actions sends nothing."""
    stub.always("TransactWriteItems", ok())
    with bound.transaction():
        pass
    assert stub.requests == []
    with bound.transaction() as tx:
        for number in range(100):
            tx.put(Account(account_id=str(number)))
    assert len(sent(stub)[0]["TransactItems"]) == 100


def test_more_than_four_megabytes_are_refused(bound, stub):
    """The items of a transaction are counted together."""
    with pytest.raises(LimitExceeded, match="bytes"), bound.transaction() as tx:
        for number in range(12):
            tx.put(Account(account_id=str(number), history=["x" * 390_000]))
    assert stub.requests == []


def test_an_item_over_400_kb_is_refused_where_it_is_named(bound, stub):
    """The error comes at the call, not at the end of the block."""
    tx = bound.transaction()
    with pytest.raises(LimitExceeded, match="history"):
        tx.put(Account(account_id="1", history=["x" * 410_000]))


@pytest.mark.parametrize("token", ["", "x" * 37])
def test_a_token_has_1_to_36_characters(bound, token):
    """DynamoDB takes no other."""
    with pytest.raises(RequestError, match="36"), bound.transaction(token=token):
        pass


def test_an_exception_in_the_body_sends_nothing(bound, stub):
    """The block's own exception comes out, and nothing was written."""
    with pytest.raises(ZeroDivisionError), bound.transaction() as tx:
        tx.put(Account(account_id="1"))
        1 / 0  # noqa: B018
    assert stub.requests == []


def test_tables_that_are_reached_elsewhere_are_refused(bound, stub):
    """One request reaches one endpoint."""
    elsewhere = SyncPort(Settings(endpoint_url="http://127.0.0.1:2"), on_client=stub.attach)
    with ledger.bound(port=elsewhere, name="books"), pytest.raises(RequestError, match="endpoint_url"):  # noqa: SIM117
        with bound.transaction() as tx:
            tx.put(Account(account_id="1"))
            tx.put(Entry(entry_id="e"))


# The body -----------------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
from tablekit import Table
from tests.support.many_models import Account, Entry, store, ledger
with store.bound(name="store"), ledger.bound(name="books"), store.dry_run() as plan:
    with store.transaction(token="job-17") as tx:
        tx.put(Account(account_id="a", tags={"x", "y", "z", "w", "v"}))
        tx.update(Account.key(account_id="b"), Account.tags.add({"p", "q", "r"}), Account.history.append(["h"]))
        tx.create(Entry(entry_id="e"))
sys.stdout.write(json.dumps(plan.requests[0].to_wire()))
"""


def test_the_body_is_the_same_in_every_process():
    """Sets and maps have one order, whatever the seed of hashing: a token goes with one body."""
    bodies = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        bodies.add(run.stdout)
    assert len(bodies) == 1
    assert '"ClientRequestToken": "job-17"' in bodies.pop()


attribute_values = st.recursive(
    st.one_of(
        st.text(max_size=3).map(lambda text: {"S": text}),
        st.lists(st.text(max_size=2), min_size=1, max_size=4, unique=True).map(lambda each: {"SS": each}),
        st.lists(st.binary(max_size=2), min_size=1, max_size=4, unique=True).map(lambda each: {"BS": each}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: {"L": each}),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(lambda each: {"M": each}),
    ),
    max_leaves=6,
)


def shuffled(value, rng):
    """The same value, its sets and maps in another order."""
    ((tag, inner),) = value.items()
    if tag in ("SS", "BS"):
        return {tag: rng.sample(inner, len(inner))}
    if tag == "L":
        return {tag: [shuffled(each, rng) for each in inner]}
    if tag == "M":
        return {tag: {name: shuffled(inner[name], rng) for name in rng.sample(sorted(inner), len(inner))}}
    return value


@given(st.dictionaries(st.text(max_size=3), attribute_values, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_equal_items_have_equal_bodies(item, rng):
    """The order in which sets and maps come does not matter; that of lists does."""
    other = {name: shuffled(item[name], rng) for name in rng.sample(sorted(item), len(item))}
    first, second = canonical_part({"Item": item}), canonical_part({"Item": other})
    assert json.dumps(first, default=repr) == json.dumps(second, default=repr)
