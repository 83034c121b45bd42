"""Sending one planned write, and telling what became of it."""

from __future__ import annotations

import secrets
from typing import Any

from tablekit._types import Attempt, Item
from tablekit.errors import (
    RequestError,
    ServiceError,
    TablekitError,
    Throttled,
    TransactionConflict,
    ValidationFailed,
    WriteOutcomeUnknown,
)
from tablekit.operations.outcome import (
    Verdict,
    decide_conditional,
    decide_failure,
    decide_success,
    decide_transaction,
    uncertain,
)
from tablekit.operations.plans import WritePlan
from tablekit.operations.session import Session
from tablekit.operations.transact_send import CANCELLED, Sender
from tablekit.wire.requests import Request, TransactionRequest
from tablekit.wire.shape import is_item

__all__ = ["execute", "execute_once", "new_token", "unread"]

CONDITION_FAILED = "ConditionalCheckFailedException"

_APPLIED = "it was applied, and "
"""How the reason begins where the write is known to be applied, and what it should return is not."""

_CONFLICT_RETRIES = 5
"""A plain update waits for a rival's plain update; a transaction is cancelled by it, so that it is asked again."""


async def execute(session: Session, plan: WritePlan) -> Any:
    """Send a write. Its outcome is the result, a named failure, or `WriteOutcomeUnknown`; never a guess."""
    if plan.once:
        return await execute_once(session, plan, new_token())
    try:
        answer = await session.send(plan.request)
    except ServiceError as error:
        return await _failed(session, plan, error)
    if not answer.sent:
        return plan.target
    verdict = decide_success(answer.attempts, repeatable=plan.repeatable)
    if verdict.outcome == "unknown" or (plan.needs_old and not verdict.old_known):
        raise _unknown(plan, _old_lost(verdict), answer.attempts)
    return plan.apply(answer.body)


async def _failed(session: Session, plan: WritePlan, error: ServiceError) -> Any:
    if error.code == CONDITION_FAILED:
        return await _condition_failed(session, plan, error)
    verdict = decide_failure(error.history, repeatable=plan.repeatable)
    if verdict.outcome == "failed":
        raise _explained(plan, error) from error.__cause__
    if verdict.outcome == "unknown":
        raise _unknown(plan, verdict, error.history) from error
    return await _applied(session, plan, error.history)


def _explained(plan: WritePlan, error: ServiceError) -> ServiceError:
    """The same error, with what an update inside a document most often fails of."""
    if isinstance(error, ValidationFailed) and plan.parents:
        names = ", ".join(plan.parents)
        error.message = (
            f"{plan.expectation.verb} of {plan.where}: {error.message} A path inside a document can be changed only "
            f"where the row has what stands around it: {names}, and each part on the way. Set the missing part as a "
            "whole first."
        )
        error.args = (error.message,)
    return error


async def _condition_failed(session: Session, plan: WritePlan, error: ServiceError) -> Any:
    item: Item | None = error.response.get("Item")
    if item is None and not session.capabilities.old_item:
        item = await _read_row(session, plan, error.history)
    verdict = decide_conditional(error.history, plan.evidence(item), repeatable=plan.repeatable)
    if verdict.outcome == "applied":
        return await _applied(session, plan, error.history, item)
    if verdict.outcome == "unknown":
        raise _unknown(plan, verdict, error.history) from error
    raise _named(plan, item, error) from error


def _named(plan: WritePlan, item: Item | None, error: ServiceError) -> TablekitError:
    named = plan.explain(item)
    named.history = error.history
    return named


async def _applied(session: Session, plan: WritePlan, history: tuple[Attempt, ...], item: Item | None = None) -> Any:
    """A write that was applied though its answer did not say so."""
    if plan.needs_old:
        raise _unknown(plan, _old_lost(Verdict("applied", "it was applied", old_known=False)), history)
    if not plan.needs_attributes:
        return plan.apply({})
    if item is None:
        item = await _read_row(session, plan, history, applied=True)
    return plan.apply({"Attributes": item} if item is not None else {})


def _old_lost(verdict: Verdict) -> Verdict:
    """What to say where the write is known to be applied, and the old row that was asked for is lost."""
    if verdict.outcome == "unknown":
        return verdict
    return Verdict("unknown", "it was applied, and the old row that was asked for is not known", matches=True)


async def _read_row(
    session: Session, plan: WritePlan, history: tuple[Attempt, ...], *, applied: bool = False
) -> Item | None:
    """The row as it is now. A read that fails must not hide that a write was applied, or may have been."""
    request = Request("GetItem", {"Key": plan.key, "ConsistentRead": True}, entity=plan.schema.name)
    try:
        answer = await session.send(request)
    except ServiceError as error:
        if applied:
            raise unread(plan, error, history) from error
        if not uncertain(history):
            raise
        verdict = Verdict("unknown", f"reading the row to find out failed with {error.code}")
        raise _unknown(plan, verdict, history) from error
    item: Item | None = answer.body.get("Item")
    if item is not None and not is_item(item):
        raise _unknown(plan, Verdict("unknown", "the row that was read to find out is none of DynamoDB's"), history)
    return item


def unread(plan: WritePlan, error: ServiceError, history: tuple[Attempt, ...]) -> WriteOutcomeUnknown:
    """The error for a write that was applied, and whose row could not be read to give it back."""
    reason = f"it was applied, and reading the row to give it back failed with {error.code}"
    return _unknown(plan, Verdict("unknown", reason, matches=True), history)


def _unknown(
    plan: WritePlan, verdict: Verdict, history: tuple[Attempt, ...], token: str | None = None
) -> WriteOutcomeUnknown:
    pk, sk = plan.schema.registry.plain_key(plan.key)
    what = (
        f"the write was sent and its answer was lost ({verdict.reason}). It may or may not have been applied. Read the "
        "row before you decide, and make the next write conditional on what you read."
    )
    if verdict.reason.startswith(_APPLIED):
        what = f"{verdict.reason}. Do not write it again; read the row to go on."
    return WriteOutcomeUnknown(
        f"{plan.expectation.verb} of {plan.where}: {what}",
        operation=plan.request.operation,
        entity=plan.schema.name,
        pk=pk,
        sk=sk,
        marker=plan.marker,
        token=token,
        matches=verdict.matches,
        history=history,
    )


# Exactly once


def new_token() -> str:
    """A client request token: 128 random bits."""
    return secrets.token_hex(16)


async def execute_once(session: Session, plan: WritePlan, token: str) -> Any:
    """Send a write as a transaction of one action.

    DynamoDB knows the token for ten minutes and applies the action once, however often it is sent.
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    if not session.capabilities.transactions:
        raise RequestError(
            f"{plan.expectation.verb} of {plan.schema.name}: once=True is a transaction, and this engine has none."
        )
    action = {plan.request.operation.removesuffix("Item"): plan.request.part(session.name)}
    request = TransactionRequest("TransactWriteItems", [action], token=token, secrets=plan.request.secrets)
    sender = Sender(session, request, _CONFLICT_RETRIES)
    error = await sender.run()
    if error is not None:
        return await _once_failed(session, plan, error, sender)
    if not sender.sent:
        return plan.target
    return await _applied(session, plan, tuple(sender.history))


def _reason(error: ServiceError) -> dict[str, Any]:
    """Why the only action of a cancelled transaction failed."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons") or []
    return reasons[0] if reasons and error.code == CANCELLED else {}


async def _once_failed(session: Session, plan: WritePlan, error: ServiceError, sender: Sender) -> Any:
    history = tuple(sender.history)
    verdict = decide_transaction(sender.open_history, cancelled=error.code == CANCELLED)
    if verdict.outcome == "unknown":
        raise _unknown(plan, verdict, history, sender.request.token) from error
    if verdict.outcome == "applied":
        return await _applied(session, plan, history)
    if error.code != CANCELLED:
        raise _explained(plan, error) from error.__cause__
    reason = _reason(error)
    if reason.get("Code") == "ConditionalCheckFailed":
        raise _named(plan, reason.get("Item") or None, error) from error
    raise _explained(plan, _single(plan, error, reason)) from error


_KINDS: dict[str, type[ServiceError]] = {
    "TransactionConflict": TransactionConflict,
    "ProvisionedThroughputExceeded": Throttled,
    "ThrottlingError": Throttled,
    "ValidationError": ValidationFailed,
}


def _single(plan: WritePlan, error: ServiceError, reason: dict[str, Any]) -> ServiceError:
    """What the same write would have raised by itself."""
    code = str(reason.get("Code") or error.code)
    kind = _KINDS.get(code, ServiceError)
    return kind(
        f"{plan.expectation.verb} of {plan.where}: {reason.get('Message') or code}.",
        code=code,
        operation=error.operation,
        status=error.status,
        request_id=error.request_id,
        response=error.response,
        history=error.history,
    )
