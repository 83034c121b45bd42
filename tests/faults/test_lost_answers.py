"""The scripted cases of `tests.faults.cases`, over the transports themselves: all of botocore runs but its socket."""

from __future__ import annotations

import itertools

import botocore.retries.quota
import pytest

from tablekit import (
    Capabilities,
    ConditionFailed,
    ItemNotFound,
    ServiceError,
    TransactionCancelled,
    WriteOutcomeUnknown,
)
from tablekit.operations import direct_retry
from tests.faults.cases import FAULTS, OPERATIONS, RIVALS, Script, cases, expected
from tests.faults.models import app
from tests.support.loop_port import LoopPort
from tests.support.transports import TRANSPORTS

REQUESTS = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "GetItem")


@pytest.fixture
def endless_retries(monkeypatch):
    """One client makes all calls here; the retries of one must not be paid by the next."""
    monkeypatch.setattr(direct_retry.Quota, "take", lambda *_: True)
    monkeypatch.setattr(botocore.retries.quota.RetryQuota, "acquire", lambda *_: True)


def told(script, work):
    """What the caller of a case is told."""
    try:
        work()
    except WriteOutcomeUnknown as error:
        return "unknown" if any(attempt.outcome != "refused" for attempt in error.history) else "unknown for no reason"
    except (ConditionFailed, ItemNotFound, TransactionCancelled, ServiceError):
        return "failed"
    return "success"


def wrong(script, outcome):
    """What is wrong with what was told, or nothing."""
    wanted, times = expected(script), len(script.write.applied)
    rows = 2 if script.case.operation.name in ("transaction", "create, unique") else 1
    if outcome != wanted:
        return f"{script.case}: told {outcome}, and not {wanted}"
    if outcome == "failed" and times:
        return f"{script.case}: told failed, and it was applied"
    if outcome == "success" and not (times or script.write.idle):
        return f"{script.case}: told success, and it was not applied"
    once = script.case.operation.markers or script.case.operation.token or script.case.operation.adds
    if once and outcome == "success" and times > rows and script.case.rival != "deletes":
        return f"{script.case}: told success, and it was applied twice"
    return ""


def check(stub, port, chosen):
    """Run cases over a port, and tell all that are wrong."""
    scripts = []
    for name in REQUESTS:
        stub.always(name, lambda wire, name=name: scripts[-1].answer(name, wire))
    problems = []
    with app.bound(name="t", port=port, capabilities=Capabilities()):
        for case in chosen:
            scripts.append(Script(case))
            problems.append(wrong(scripts[-1], told(scripts[-1], case.operation.work)))
    assert not any(problems), "\n".join(filter(None, problems))


def test_there_are_more_than_fifteen_hundred_cases():
    """Every write meets every fault at every attempt, with and without a rival."""
    assert sum(1 for operation in OPERATIONS for _ in cases(operation)) == len(OPERATIONS) * len(FAULTS) * 4 * 3 > 3000
    assert len(RIVALS) == 3


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_case_is_told_by_the_rule(stub, endless_retries, operation, transport):
    """Success, the named failure or unknown, as the evidence has it; never a guess."""
    check(stub, stub.port(transport=transport), cases(operation))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_awaited_calls_are_told_the_same(aio_stub, endless_retries, operation, transport):
    """The same rule over the awaited transports, for each fifth case."""
    port = LoopPort(aio_stub.aio_port(transport=transport))
    try:
        check(aio_stub, port, itertools.islice(cases(operation), 0, None, 5))
    finally:
        port.close()
