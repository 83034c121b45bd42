"""Making writes ready: what unique values add to each, found out by a read where it is not known."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tablekit.operations.plans import WritePlan
from tablekit.operations.read import get_request
from tablekit.operations.session import Session
from tablekit.operations.steps import Step
from tablekit.operations.transact_render import SessionOf
from tablekit.operations.unique import Before, Guard, guards_of

__all__ = ["Ready", "prepare", "prepare_all"]


@attrs.frozen
class Ready:
    """A write with what unique values add to it.

    Attributes:
        step: the write as it was asked for. plan: as it is sent; None when there is nothing to write. guards: the
            values that it claims and releases. before: the values that the row has.
    """

    step: Step
    plan: WritePlan | None
    guards: Sequence[Guard] = ()
    before: Before | None = None


async def prepare(session: Session, step: Step) -> Ready:
    """Find what a step adds for unique values: the row's present ones are read where they are not known."""
    change = step.change
    if change is None or step.plan is None:
        return Ready(step, step.plan)
    before = change.before
    if before is None:
        answer = await session.send(get_request(step.key, consistent=True, entity=step.schema.name))
        before = Before.stored(step.schema, answer.body.get("Item"))
    after = change.after(before)
    plan: WritePlan | None = step.plan
    if change.pinned:
        extra = before.condition(absent=change.absent)
        if extra is not None:
            plan = step.make(session.now(), extra)
            if plan is not None:
                plan.expectation.pins.update({name: allowed for name, (_, allowed) in before.pins.items()})
    # An update by key through a base leaves the row of the class that it is of.
    schema = before.schema if step.verb == "update" else step.schema
    guards = guards_of(schema, step.key, before, after, every=change.every)
    return Ready(step, plan, guards, before)


async def prepare_all(session: Session, session_of: SessionOf, steps: Sequence[Step]) -> list[Ready]:
    """Make steps ready, those whose rows must be read first at once."""
    reading = [step for step in steps if step.change is not None and step.change.before is None]
    found = await session.gather([prepare(session_of(step.schema), step) for step in reading], 8) if reading else []
    ready = {id(each.step): each for each in found}
    return [ready.get(id(step)) or await prepare(session, step) for step in steps]
