"""Single writes of rows with unique values: each a transaction with its guard rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.definition.entity import EntityBase
from tablekit.errors import ConditionFailed, ServiceError, StaleEntity, TransactionCancelled
from tablekit.operations.batch_get import backoff
from tablekit.operations.execute import execute, unread
from tablekit.operations.plans import WritePlan
from tablekit.operations.read import get_request
from tablekit.operations.session import Session
from tablekit.operations.steps import Step
from tablekit.operations.transact import Transacting
from tablekit.operations.transact_ready import Ready, prepare
from tablekit.operations.unique import Before

__all__ = ["write_alone"]

CONFLICTS = 8
"""How often a write is sent again while another transaction holds its row or a guard row."""
RACES = 5
"""How often a write goes back for the unique values of a row that changed while it was planned."""


async def write_alone(session: Session, step: Step) -> Any:
    """One write of a row with unique values, in a transaction with its guard rows; gives the write's result.

    A row that changes between our reading and writing is read again. Raises what the single write raises, and
    `UniqueViolation`.
    """
    foreign: set[Hashable] = set()
    for race in range(RACES):
        ready = await prepare(session, step)
        plan = ready.plan
        if plan is None:
            return step.target
        ready = attrs.evolve(
            ready, guards=[guard for guard in ready.guards if guard.claim or guard.token not in foreign]
        )
        transaction = _transaction(session, ready) if ready.guards else None
        try:
            if transaction is None:
                return await execute(session, plan)
            return await _write_guarded(session, ready, plan, transaction)
        except ConditionFailed as error:
            # A value that belongs to another row is not ours to release: rows from before the field was unique, or
            # a row that is gone and whose value was taken anew.
            kept = [] if transaction is None else transaction.kept
            foreign.update(guard.token for guard in kept)
            last = race == RACES - 1 or not (kept or _raced(ready, error))
            if last or not await session.rest(backoff(race)):
                raise
    raise AssertionError("the last race raises")


def _raced(ready: Ready, error: ConditionFailed) -> bool:
    before = ready.before
    if before is None or not before.read:
        return False
    if isinstance(error, StaleEntity):
        return True
    return type(error) is ConditionFailed and not before.same_as(Before.stored(ready.step.schema, error.item))


def _transaction(session: Session, ready: Ready) -> Transacting:
    transaction = Transacting(session, lambda _: session, retry_conflicts=CONFLICTS)
    transaction.settles = False
    transaction.add(ready.step)
    transaction.take([ready])
    return transaction


async def _write_guarded(session: Session, ready: Ready, plan: WritePlan, transaction: Transacting) -> Any:
    try:
        await transaction.send()
    except TransactionCancelled as cancelled:
        named = next((reason.error for reason in cancelled.failed if reason.error is not None), cancelled)
        named.history = cancelled.history
        raise named from cancelled
    if transaction.state == "held back":
        return ready.step.target
    return plan.apply(await _answer(session, ready, plan, transaction))


async def _answer(session: Session, ready: Ready, plan: WritePlan, transaction: Transacting) -> dict[str, Any]:
    """What the single write would have been answered; a transaction is answered with no attributes."""
    step = ready.step
    if not plan.needs_attributes:
        return {}
    if step.verb == "delete":
        assert ready.before is not None
        return {} if ready.before.item is None else {"Attributes": ready.before.item}
    try:
        answer = await session.send(get_request(step.key, consistent=True, entity=step.schema.name))
    except ServiceError as error:
        if not isinstance(step.target, EntityBase):
            raise unread(plan, error, transaction.history) from error
        return {}  # the entity takes what is known; the write is done
    item: Item = answer.body.get("Item") or {}
    if step.returning == "changed":
        managed = {field.attribute for field in (step.schema.version, step.schema.updated_at) if field is not None}
        item = {name: value for name, value in item.items() if name in step.touched | managed}
    return {"Attributes": item} if item else {}
