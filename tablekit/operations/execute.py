"""Sending one planned write, and telling what became of it."""

from __future__ import annotations

from typing import Any

from tablekit._types import Attempt, Item
from tablekit.errors import ServiceError, TablekitError, WriteOutcomeUnknown
from tablekit.operations.outcome import Verdict, decide_conditional, decide_failure, decide_success
from tablekit.operations.plans import WritePlan
from tablekit.operations.session import Session
from tablekit.wire.requests import Request

__all__ = ["execute"]

CONDITION_FAILED = "ConditionalCheckFailedException"


async def execute(session: Session, plan: WritePlan) -> Any:
    """Send a write. Its outcome is the result, a named failure, or `WriteOutcomeUnknown`; never a guess."""
    try:
        answer = await session.send(plan.request)
    except ServiceError as error:
        if error.code == CONDITION_FAILED:
            return await _condition_failed(session, plan, error)
        verdict = decide_failure(error.history)
        if verdict.outcome == "failed":
            raise
        if verdict.outcome == "unknown":
            raise _unknown(plan, verdict, error.history) from error
        return await _applied(session, plan)
    if not answer.sent:
        return plan.target
    verdict = decide_success(answer.attempts, repeatable=plan.repeatable)
    if verdict.outcome == "unknown":
        raise _unknown(plan, verdict, answer.attempts)
    return plan.apply(answer.body)


async def _condition_failed(session: Session, plan: WritePlan, error: ServiceError) -> Any:
    item: Item | None = error.response.get("Item")
    if item is None and not session.capabilities.old_item:
        item = await _read_row(session, plan)
    verdict = decide_conditional(error.history, plan.evidence(item))
    if verdict.outcome == "applied":
        return await _applied(session, plan, item)
    if verdict.outcome == "unknown":
        raise _unknown(plan, verdict, error.history) from error
    named: TablekitError = plan.explain(item)
    named.history = error.history
    raise named from error


async def _applied(session: Session, plan: WritePlan, item: Item | None = None) -> Any:
    """A write that was applied though its answer did not say so."""
    if not plan.needs_attributes:
        return plan.apply({})
    if item is None:
        item = await _read_row(session, plan)
    return plan.apply({"Attributes": item} if item is not None else {})


async def _read_row(session: Session, plan: WritePlan) -> Item | None:
    request = Request("GetItem", {"Key": plan.key, "ConsistentRead": True}, entity=plan.schema.name)
    answer = await session.send(request)
    return answer.body.get("Item")


def _unknown(plan: WritePlan, verdict: Verdict, history: tuple[Attempt, ...]) -> WriteOutcomeUnknown:
    pk, sk = plan.schema.registry.plain_key(plan.key)
    return WriteOutcomeUnknown(
        f"{plan.expectation.verb} of {plan.where}: the write was sent and its answer was lost ({verdict.reason}). "
        "It may or may not have been applied. Read the row before you decide, and make the next write conditional "
        "on what you read.",
        operation=plan.request.operation,
        entity=plan.schema.name,
        pk=pk,
        sk=sk,
        marker=plan.marker,
        matches=verdict.matches,
        history=history,
    )
