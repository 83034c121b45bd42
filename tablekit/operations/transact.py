"""Transactions: several writes, all of them or none.

One transaction has one client token and one body, rendered once. Both are kept over every retry, so that DynamoDB
knows a repeated request by its token for ten minutes and applies it once.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import attrs

from tablekit._types import Attempt, Item
from tablekit.definition.entity import BASE, EntityBase
from tablekit.errors import (
    BatchIncomplete,
    CancellationReason,
    RequestError,
    ServiceError,
    TransactionCancelled,
    UniqueViolation,
    WriteOutcomeUnknown,
)
from tablekit.operations.batch_get import read_items, token_of
from tablekit.operations.calls import call
from tablekit.operations.driver import run
from tablekit.operations.execute import new_token
from tablekit.operations.hooks import after_write, before_write, has_hook
from tablekit.operations.observe import dry_run_of
from tablekit.operations.outcome import decide_transaction
from tablekit.operations.plans import decode_stored
from tablekit.operations.results import merge_fresh
from tablekit.operations.session import Session
from tablekit.operations.steps import Step
from tablekit.operations.transact_ready import Ready, prepare_all
from tablekit.operations.transact_render import (
    MAX_ACTIONS,
    RenderedAction,
    SessionOf,
    TableNames,
    check_limits,
    guard_action,
    main_action,
    too_many,
)
from tablekit.operations.transact_send import CANCELLED, Sender, passing_error, reasons_of
from tablekit.operations.unique import Guard, guard_actions, rivals_of
from tablekit.wire.requests import TransactionRequest

__all__ = ["Later", "Transacting", "hooked"]

_log = logging.getLogger("tablekit.transactions")

W = TypeVar("W")

MAX_TOKEN = 36
RESUMABLE_SECONDS = 9 * 60
"""How long a token is taken for good; DynamoDB keeps it for ten minutes from when the first request ended."""


@attrs.frozen
class Later:
    """A write of an entity that has an asynchronous hook: planned when the hook has been awaited."""

    entity: EntityBase
    verb: str
    make: Callable[[], Any]

    async def ready(self, session: Session) -> Any:
        """Await the hook, and plan."""
        await before_write(session, self.entity, self.verb)
        return self.make()


def hooked(session: Session, entity: EntityBase, verb: str, make: Callable[[], W]) -> W | Later:
    """Call an entity's ``before_write`` and plan its write; later, where the hook is asynchronous."""
    if not isinstance(entity, EntityBase):
        raise RequestError(f"{verb} takes an entity, such as Document(...), not {_kind(entity)}.")
    if not has_hook(entity, "before_write"):
        return make()
    if session.awaited and inspect.iscoroutinefunction(getattr(entity, "before_write", None)):
        return Later(entity, verb, make)
    run(before_write(session, entity, verb))
    return make()


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


class Transacting:
    """One transaction, from its first action to what became of it.

    Parameters:
        session: through which it is sent. session_of: the session of a class, for the name of its table.
        token: the client token, 1 to 36 characters; a random one otherwise.
        retry_conflicts: how often it is sent again, with growing pauses, when another transaction holds a row or
            DynamoDB throttles.

    Attributes:
        steps: the writes, in the caller's order. token: the client token. state: how far it is.
        settles: whether it brings entities up to date by itself when it is applied. kept: the values that it was to
            release, and that it found in the hands of other rows. rivals: by place, the writes that want a value which
            an earlier one gives to another row; it cannot be sent with them.
    """

    def __init__(
        self, session: Session, session_of: SessionOf, *, token: str | None = None, retry_conflicts: int = 0
    ) -> None:
        if token is not None and not (isinstance(token, str) and 0 < len(token) <= MAX_TOKEN):
            raise RequestError(f"token= must be a text of 1 to {MAX_TOKEN} characters, kept for one transaction.")
        if not isinstance(retry_conflicts, int) or retry_conflicts < 0:
            raise RequestError(f"retry_conflicts={retry_conflicts!r} must be a whole number, 0 or more.")
        self.session = session
        self.session_of = session_of
        self.token = token if token is not None else new_token()
        self.retry_conflicts = retry_conflicts
        self.steps: list[Step] = []
        self._waiting: list[tuple[int, Later]] = []
        self.state: Literal["open", "sending", "committed", "cancelled", "unknown", "held back"] = "open"
        self.history: tuple[Attempt, ...] = ()
        self._open_history: tuple[Attempt, ...] = ()
        self._rows: dict[Hashable, Step] = {}
        self._actions: list[RenderedAction] = []
        self._ready: list[Ready] = []
        self.settles = True
        self.kept: list[Guard] = []
        self.rivals: dict[int, UniqueViolation] = {}
        self._request: TransactionRequest | None = None
        self._began = 0.0

    def __len__(self) -> int:
        return len(self.steps) + len(self._waiting)

    def add(self, step: Step) -> None:
        """Take one more write. Raises `RequestError` for a second action on a row, `LimitExceeded` over 100."""
        self._check_open()
        self._check(step)
        self.steps.append(step)

    def add_later(self, later: Later) -> None:
        """Take a write whose entity has an asynchronous hook, which is awaited when the transaction is committed."""
        self._check_open()
        self._waiting.append((len(self), later))

    def _check_open(self) -> None:
        if self.state != "open":
            raise RequestError(f"This transaction is {self.state}; begin a new one for further writes.")

    def _check(self, step: Step) -> None:
        if step.plan is None:
            return
        self._check_row(step)
        if len(self.steps) >= MAX_ACTIONS:
            count = 1 + sum(each.plan is not None for each in self.steps)
            if count > MAX_ACTIONS:
                raise too_many(count)

    def _check_row(self, step: Step) -> None:
        row = id(step.schema.registry), token_of(step.key)
        other = self._rows.setdefault(row, step)
        if other is not step:
            raise _twice(other, step)

    # Committing

    @call("transaction")
    async def commit(self) -> None:
        """Send it. Nothing to write is nothing to send.

        Raises `TransactionCancelled`, `WriteOutcomeUnknown`, `LimitExceeded`, `ServiceError`.
        """
        if self.state != "open":
            raise RequestError(f"This transaction is {self.state} already.")
        await self.freeze()
        if self._request is None:
            self.state = "committed"
            return
        await self.send()

    @call("transaction")
    async def resume(self) -> None:
        """Send a transaction whose outcome is unknown once more: the same body under the same token.

        DynamoDB applies it now, or says what it said when it applied it before. Raises `RequestError` when the
        token may be forgotten by now, nine minutes after it was first sent.
        """
        if self.state != "unknown":
            raise RequestError(f"This transaction is {self.state}; only one whose outcome is unknown is resumed.")
        if time.monotonic() - self._began > RESUMABLE_SECONDS:
            raise RequestError(
                "This transaction was first sent more than nine minutes ago. DynamoDB may have forgotten its token, "
                "and would apply it a second time. Read the rows and decide by them."
            )
        await self.send()

    async def freeze(self) -> None:
        """Render the body, once and for all."""
        for place, later in self._waiting:
            step = await later.ready(self.session)
            self._check(step)
            self.steps.insert(place, step)
        self._waiting.clear()
        self.take(await prepare_all(self.session, self.session_of, self.steps))

    def take(self, ready: Sequence[Ready]) -> None:
        """Render the body from steps that are made ready."""
        self._ready = list(ready)
        names = TableNames(self.session, self.session_of)
        actions: list[RenderedAction] = []
        for number, each in enumerate(ready):
            if each.plan is not None:
                actions.append(main_action(number, each.plan, names))
        guards = [attrs.evolve(g, step=number) for number, each in enumerate(ready) for g in each.guards]
        self.rivals = rivals_of(guards)
        actions += [guard_action(each, names) for each in guard_actions(guards)]
        check_limits(actions)
        self._actions = actions
        if actions:
            if not self.session.capabilities.transactions:
                raise RequestError(
                    f"The engine behind table {self.session.registry.label!r} has no transactions. Write row by row, "
                    "or use another engine."
                )
            self._request = TransactionRequest(
                "TransactWriteItems",
                [action.wire for action in actions],
                token=self.token,
                # Always the same, so that a meter that comes or goes does not change the body.
                capacity="INDEXES" if self.session.capabilities.index_capacity else "TOTAL",
                secrets=frozenset[str]().union(*(action.secrets for action in actions)),
            )

    async def send(self) -> None:
        """Send the body, through conflicts and attempts in progress, and settle what became of it."""
        assert self._request is not None
        if self._held_back(self._request):
            self.state = "held back"
            return
        if self.state == "open":
            self._began = time.monotonic()
        self.state = "unknown"  # until an answer says otherwise; an interrupt leaves it so
        sender = Sender(self.session, self._request, self.retry_conflicts, self._open_history)
        try:
            error = await sender.run()
        finally:
            self.history = (*self.history, *sender.history)
            self._open_history = tuple(sender.open_history)
        if error is None:
            await self._applied()
            return
        cancelled = error.code == CANCELLED
        verdict = decide_transaction(sender.open_history, cancelled=cancelled)
        if verdict.outcome == "applied":
            await self._applied()
        elif verdict.outcome == "unknown":
            raise self._unknown(verdict.reason) from error
        else:
            self.state = "cancelled"
            if cancelled:
                raise self._cancelled(error) from error
            raise error

    def _held_back(self, request: TransactionRequest) -> bool:
        """Whether a dry run of any of its tables holds it back; it is recorded once."""
        registries = {id(self.session.registry): self.session.registry}
        registries.update((id(step.schema.registry), step.schema.registry) for step in self.steps)
        for registry in registries.values():
            plan = dry_run_of(registry)
            if plan is not None:
                plan.record(request, self.session.name, self.session.registry)
                return True
        return False

    async def _applied(self) -> None:
        self.state = "committed"
        if not self.settles:
            return
        done: list[Step] = []
        for each in self._ready:
            if each.plan is not None:
                each.plan.apply({})
                each.step.settle()
                done.append(each.step)
        await self._refresh([step for step in done if step.verb == "update" and _unseen(step.target)])
        for step in done:
            if step.verb != "check" and isinstance(step.target, EntityBase) and has_hook(step.target, "after_write"):
                await after_write(self.session, step.target, step.verb)

    async def _refresh(self, steps: Sequence[Step]) -> None:
        """Read the rows of entities that were never loaded; the write is done whatever comes of it."""
        by_table: dict[int, list[Step]] = {}
        for step in steps:
            by_table.setdefault(id(step.schema.registry), []).append(step)
        for group in by_table.values():
            session = self.session_of(group[0].schema)
            try:
                items = await read_items(session, [step.key for step in group], consistent=True)
            except (ServiceError, BatchIncomplete) as error:
                _log.warning(
                    "%d entities could not be read after a transaction that was applied (%s); refresh() them.",
                    len(group),
                    type(error).__name__,
                )
                continue
            for step, item in zip(group, items):
                fresh = decode_stored(step.schema, item)
                if isinstance(fresh, type(step.target)):
                    merge_fresh(step.target, step.schema, fresh)

    # What became of it

    def _unknown(self, reason: str) -> WriteOutcomeUnknown:
        step = next(each.step for each in self._ready if each.plan is not None)
        pk, sk = step.schema.registry.plain_key(step.key)
        shown = ", ".join(f"{s.verb} of {_where(s)}" for s in self.steps[:3])
        more = f" and {len(self.steps) - 3} more" if len(self.steps) > 3 else ""
        remedy = (
            "resume() asks again under the same token within nine minutes; after that, decide by reading the rows."
            if self.settles
            else "Read the row before you decide."
        )
        return WriteOutcomeUnknown(
            f"Transaction ({shown}{more}): it was sent and its answer was lost ({reason}). It was applied as a whole "
            f"or not at all. {remedy}",
            operation="TransactWriteItems",
            entity=step.schema.name,
            pk=pk,
            sk=sk,
            token=self.token,
            history=self.history,
        )

    def _cancelled(self, error: ServiceError) -> TransactionCancelled:
        answers = reasons_of(error, len(self._actions))
        self.kept = [
            action.guard
            for action, answer in zip(self._actions, answers)
            if action.guard is not None and not action.guard.claim and answer.get("Code") == "ConditionalCheckFailed"
        ]
        reasons = [self._reason(number, step, answers) for number, step in enumerate(self.steps)]
        failed = [reason for reason in reasons if reason.code is not None]
        shown = "; ".join(
            f"action {reason.index}: {reason.error.message if reason.error is not None else reason.code}"
            for reason in failed[:3]
        )
        more = f"; and {len(failed) - 3} more" if len(failed) > 3 else ""
        cancelled = TransactionCancelled(
            f"A transaction of {len(reasons)} actions was cancelled, and nothing of it was applied. "
            f"{shown or error.message}{more}",
            reasons=reasons,
        )
        cancelled.history = self.history
        return cancelled

    def _reason(self, number: int, step: Step, answers: Sequence[Mapping[str, Any]]) -> CancellationReason:
        pk, sk = step.schema.registry.plain_key(step.key)
        own = [(action, answer) for action, answer in zip(self._actions, answers) if action.step == number]
        for action, answer in own:
            code = answer.get("Code")
            if code in (None, "None"):
                continue
            item: Item | None = answer.get("Item")
            named = action.explain(item) if code == "ConditionalCheckFailed" else passing_error(code, answer)
            return CancellationReason(
                number,
                code,
                entity=step.schema.name,
                pk=pk,
                sk=sk,
                item=item if action.guard is None else None,
                error=named,
            )
        return CancellationReason(number, None, entity=step.schema.name, pk=pk, sk=sk)


def _unseen(target: Any) -> bool:
    return isinstance(target, EntityBase) and BASE not in target.__dict__


def _where(step: Step) -> str:
    return f"{step.schema.name} {step.schema.registry.show_key(step.key)}"


def _twice(first: Step, second: Step) -> RequestError:
    remedy = "Put both changes into one action."
    if "check" in (first.verb, second.verb):
        other = second.verb if first.verb == "check" else first.verb
        remedy = (
            "Leave one check out, and join their conditions with &."
            if other == "check"
            else f"Leave the check out and give its condition to the {other}: {other}(..., condition=...)."
        )
        if other == "create":
            remedy = "Leave the check out: a create asks that there is no row."
    return RequestError(
        f"The transaction has two actions on {_where(second)}, {first.verb} and {second.verb}; DynamoDB takes one "
        f"action on a row. {remedy}"
    )
