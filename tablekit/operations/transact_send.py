"""Sending a transaction until its fate is known: one body, one token, over conflicts and attempts in progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablekit._types import Attempt
from tablekit.errors import ServiceError, TransactionInProgress
from tablekit.operations.batch_get import backoff
from tablekit.operations.errors_map import CODES
from tablekit.operations.session import Session
from tablekit.wire.requests import TransactionRequest

__all__ = ["CANCELLED", "PASSING", "Sender", "passing_error", "reasons_of"]

CANCELLED = "TransactionCanceledException"

PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons that may be gone when the transaction is sent again."""

# After five seconds DynamoDB may finish an interrupted transaction within the repeated request.
IN_PROGRESS_PAUSES = (1.0, 2.0, 2.5, 5.0)
"""Seconds between sending again while an earlier attempt is being worked on."""


def reasons_of(error: ServiceError, count: int) -> list[Mapping[str, Any]]:
    """DynamoDB's reasons, one for each action; empty ones where it sent fewer."""
    given: list[Mapping[str, Any]] = list(error.response.get("CancellationReasons", ()))
    missing: list[Mapping[str, Any]] = [{}] * count
    return [*given, *missing][:count]


_REASON_CODES = {
    "TransactionConflict": "TransactionConflictException",
    "ThrottlingError": "ThrottlingException",
    "ProvisionedThroughputExceeded": "ProvisionedThroughputExceededException",
    "ItemCollectionSizeLimitExceeded": "ItemCollectionSizeLimitExceededException",
    "ValidationError": "ValidationException",
}


def passing_error(code: str, answer: Mapping[str, Any]) -> ServiceError:
    """The error for a reason that is no failed condition."""
    kind = CODES.get(_REASON_CODES.get(code, code), ServiceError)
    remedies = {
        "TransactionConflict": "another transaction holds the row; retry_conflicts= tries again",
        "ValidationError": "DynamoDB refused it as malformed, or by what is stored",
    }
    return kind(
        f"An action of a transaction failed ({code}): {remedies.get(code, 'see .code')}.",
        code=code,
        operation="TransactWriteItems",
        response=answer,
    )


class Sender:
    """Sends one body under one token until its fate is known or the retries are used up.

    Attributes:
        history: every attempt. open_history: the attempts since the last proof that nothing was applied.
        sent: false when a dry run recorded it.
    """

    def __init__(
        self,
        session: Session,
        request: TransactionRequest,
        retry_conflicts: int,
        before: Sequence[Attempt] = (),
    ) -> None:
        self.session = session
        self.request = request
        self.history: list[Attempt] = []
        self.open_history: list[Attempt] = list(before)
        self.sent = True
        self._conflicts = retry_conflicts
        self._pauses = list(IN_PROGRESS_PAUSES)
        self._tried = 0

    async def run(self) -> ServiceError | None:
        """None for success, or the error that ended it."""
        while True:
            try:
                answer = await self.session.send(self.request)
            except ServiceError as error:
                self._note(error.history)
                pause = self._pause(error)
                if pause is None or not await self.session.rest(pause):
                    return error
            except BaseException as error:
                self._note(getattr(error, "history", ()))
                raise
            else:
                self._note(answer.attempts)
                self.sent = answer.sent
                return None

    def _note(self, attempts: Sequence[Attempt]) -> None:
        self.history += attempts
        self.open_history += attempts

    def _pause(self, error: ServiceError) -> float | None:
        """How long to wait before the same body is sent again; None to give up."""
        if isinstance(error, TransactionInProgress):
            return self._pauses.pop(0) if self._pauses else None
        if error.code != CANCELLED or self._conflicts == 0:
            return None
        codes = {answer.get("Code") for answer in reasons_of(error, len(self.request.actions))} - {None, "None"}
        if not codes or not codes <= PASSING:
            return None
        # The cancellation proves that no earlier attempt was applied.
        self.open_history.clear()
        self._conflicts -= 1
        self._tried += 1
        return backoff(self._tried)
