"""Sending a transaction again: what is waited for, how long, how often, and what the attempts prove."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tablekit._types import Answer, Attempt
from tablekit.errors import (
    AccessDenied,
    ServiceError,
    Throttled,
    TransactionConflict,
    TransactionInProgress,
    ValidationFailed,
)
from tablekit.operations import transact_send
from tablekit.operations.transact_send import CANCELLED, IN_PROGRESS_PAUSES, Sender, passing_error, reasons_of

REFUSED = Attempt("refused")
MAYBE = Attempt("maybe")
CONFLICT_REMEDY = "another transaction holds the row; retry_conflicts= tries again."


class Script:
    """A session that answers from a list, and notes what was sent and waited for."""

    def __init__(self, *answers: Answer | BaseException) -> None:
        self.answers = list(answers)
        self.sent: list[Any] = []
        self.waited: list[float] = []

    async def send(self, request: Any) -> Answer:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def rest(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return True


class Body:
    """A request of three actions."""

    actions = (1, 2, 3)


def service_error(kind: type[ServiceError] = ServiceError, code: str = "", **more: Any) -> ServiceError:
    """An error of the service after one refused attempt."""
    return kind("it failed", code=code, operation="TransactWriteItems", **{"history": (REFUSED,), **more})


def cancelled(*codes: str | None) -> ServiceError:
    """A cancellation for these reasons."""
    reasons = [{} if code is None else {"Code": code} for code in codes]
    return service_error(code=CANCELLED, response={"CancellationReasons": reasons})


def sender(session: Any, retry_conflicts: int = 0, before: tuple[Attempt, ...] = ()) -> Sender:
    """A sender of the body over a script."""
    return Sender(session, Body(), retry_conflicts, before)  # type: ignore[arg-type]


def run(session: Script, **options: Any) -> tuple[Sender, ServiceError | None]:
    """The sender after it ran, and what ended it."""
    made = sender(session, **options)
    return made, asyncio.run(made.run())


DONE = Answer({}, (MAYBE,))


@pytest.fixture(autouse=True)
def plain_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that tell their number."""
    monkeypatch.setattr(transact_send, "backoff", lambda number: number * 100.0)


@pytest.mark.parametrize(
    ("given", "count", "expected"),
    [
        ([{"Code": "a"}, {"Code": "b"}], 2, [{"Code": "a"}, {"Code": "b"}]),
        ([{"Code": "a"}], 3, [{"Code": "a"}, {}, {}]),
        ([{"Code": "a"}, {"Code": "b"}], 1, [{"Code": "a"}]),
        ([], 1, [{}]),
    ],
)
def test_there_is_a_reason_for_each_action(given: list[Mapping[str, Any]], count: int, expected: list[Any]) -> None:
    """Missing ones are empty, and those beyond the actions are left out."""
    assert reasons_of(service_error(response={"CancellationReasons": given}), count) == expected


def test_a_cancellation_without_reasons_has_empty_ones() -> None:
    """An answer in which DynamoDB names none."""
    assert reasons_of(service_error(response={}), 2) == [{}, {}]


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    [
        (
            "TransactionConflict",
            TransactionConflict,
            "another transaction holds the row; retry_conflicts= tries again.",
        ),
        ("ThrottlingError", Throttled, "see .code."),
        ("ProvisionedThroughputExceeded", Throttled, "see .code."),
        ("ValidationError", ValidationFailed, "DynamoDB refused it as malformed, or by what is stored."),
        ("AccessDenied", AccessDenied, "see .code."),
        ("Unheard", ServiceError, "see .code."),
    ],
)
def test_a_reason_becomes_its_error(code: str, kind: type[ServiceError], remedy: str) -> None:
    """It is the error of the same name of a single write, with the code, the operation and the reason."""
    error = passing_error(code, {"Code": code, "Message": "m"})
    assert type(error) is kind
    assert str(error) == f"An action of a transaction failed ({code}): {remedy}"
    assert (error.code, error.operation) == (code, "TransactWriteItems")
    assert error.response == {"Code": code, "Message": "m"}


def test_success_is_told_with_its_attempts() -> None:
    """Nothing is waited for, and what came before is kept apart from what was sent."""
    session = Script(DONE)
    made, error = run(session, before=(REFUSED,))
    assert error is None
    assert (made.history, made.open_history) == ([MAYBE], [REFUSED, MAYBE])
    assert made.sent is True
    assert session.waited == []


def test_a_dry_run_is_told() -> None:
    """An answer that was never sent says so."""
    assert run(Script(Answer({}, (), sent=False)))[0].sent is False


def test_nothing_is_sent_before_it_runs() -> None:
    """A sender begins as one that sends."""
    session = Script()
    made = sender(session)
    assert (made.sent, made.history, made.open_history, session.sent) == (True, [], [], [])


def test_an_attempt_in_progress_is_waited_out() -> None:
    """The same body goes out after one, two, two and a half and five seconds; then the error is told."""
    session = Script(*[service_error(TransactionInProgress)] * 5)
    made, error = run(session)
    assert isinstance(error, TransactionInProgress)
    assert tuple(session.waited) == IN_PROGRESS_PAUSES == (1.0, 2.0, 2.5, 5.0)
    assert {id(body) for body in session.sent} == {id(made.request)}
    assert made.history == made.open_history == [REFUSED] * 5


def test_conflicts_are_tried_again_as_often_as_asked_for() -> None:
    """Each pause is longer, and the last conflict is told."""
    session = Script(*[cancelled("TransactionConflict", "None")] * 3)
    _, error = run(session, retry_conflicts=2)
    assert error is not None
    assert error.code == CANCELLED
    assert session.waited == [100.0, 200.0]


def test_a_cancellation_that_is_tried_again_proves_what_came_before() -> None:
    """Earlier unclear attempts are not counted any longer; the history keeps them all."""
    made, error = run(Script(cancelled("TransactionConflict", None), DONE), retry_conflicts=1, before=(MAYBE,))
    assert error is None
    assert (made.history, made.open_history) == ([REFUSED, MAYBE], [MAYBE])


@pytest.mark.parametrize("code", sorted(transact_send.PASSING))
def test_reasons_that_pass_are_tried_again(code: str) -> None:
    """A conflict and two kinds of throttling."""
    assert run(Script(cancelled("None", code), DONE), retry_conflicts=1)[1] is None


@pytest.mark.parametrize(
    "codes",
    [("ConditionalCheckFailed", "None"), ("ConditionalCheckFailed", "TransactionConflict"), ("None", None), ()],
)
def test_other_reasons_are_final(codes: tuple[str | None, ...]) -> None:
    """One failed condition, or no reason at all, ends it."""
    session = Script(cancelled(*codes), DONE)
    assert run(session, retry_conflicts=5)[1] is not None
    assert len(session.sent) == 1


def test_all_reasons_that_pass_are_tried_again_together() -> None:
    """Each action may have its own."""
    assert run(Script(cancelled(*transact_send.PASSING), DONE), retry_conflicts=1)[1] is None


def test_another_error_is_final() -> None:
    """A throttle of the whole request was retried below already, whatever reasons its answer holds."""
    response = {"CancellationReasons": [{"Code": "TransactionConflict"}]}
    session = Script(service_error(Throttled, code="ThrottlingException", response=response), DONE)
    made, error = run(session, retry_conflicts=5)
    assert isinstance(error, Throttled)
    assert (session.waited, made.open_history) == ([], [REFUSED])


def test_no_conflict_is_tried_again_unasked() -> None:
    """Without retry_conflicts the first one is told."""
    session = Script(cancelled("TransactionConflict"), DONE)
    assert run(session)[1] is not None
    assert session.waited == []


@pytest.mark.parametrize("history", [(MAYBE,), None])
def test_what_stops_it_keeps_its_attempts(history: tuple[Attempt, ...] | None) -> None:
    """An interrupt goes on as it is; attempts that it carries are noted."""
    stopped = KeyboardInterrupt()
    if history is not None:
        stopped.history = history  # type: ignore[attr-defined]
    made = sender(Script(stopped))
    with pytest.raises(KeyboardInterrupt) as caught:
        made.run().send(None)
    assert caught.value is stopped
    assert made.history == made.open_history == list(history or ())
