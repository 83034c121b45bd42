"""Writing many rows: BatchWriteItem in chunks, or guarded, in transactions.

A batch is no transaction: each row stands for itself, and a batch takes no condition.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Union

import attrs

from tablekit._types import Item
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.definition.uniques import has_uniques, unique_scope
from tablekit.errors import (
    BatchIncomplete,
    ConditionFailed,
    RequestError,
    ServiceError,
    TablekitError,
    Throttled,
    TransactionCancelled,
    WriteOutcomeUnknown,
)
from tablekit.operations.batch_get import ATTEMPTS_WITHOUT_PROGRESS, backoff, token_of
from tablekit.operations.batch_rows import (
    ROWS_IN_ONE_REQUEST,
    Row,
    delete_row,
    portions,
    put_row,
    request_of,
    unprocessed,
)
from tablekit.operations.calls import call
from tablekit.operations.hooks import after_write, has_hook
from tablekit.operations.observe import dry_run_of
from tablekit.operations.outcome import uncertain
from tablekit.operations.session import Session
from tablekit.operations.steps import Step, delete_key_step, delete_step, put_step
from tablekit.operations.transact import Later, Transacting, hooked
from tablekit.operations.transact_render import MAX_ACTIONS, MAX_BYTES, SessionOf
from tablekit.operations.verbs import KeyBase
from tablekit.wire.sizes import item_size

__all__ = ["Batching", "write_all"]

WINDOW = 8
"""Requests' worth of rows that are gathered before they are sent."""

Written = Union[Step, Row]
"""A write as it is planned: guarded, or as a row of a batch."""


@attrs.frozen
class _Outcome:
    """What became of some rows; `reasons` has the errors of unprocessed rows, by their identity."""

    written: Sequence[Row] = ()
    unprocessed: Sequence[Written] = ()
    unknown: Sequence[Written] = ()
    errors: Sequence[TablekitError] = ()
    reasons: Mapping[int, TablekitError] = attrs.field(factory=dict[int, TablekitError])


class _Chunk:
    """How far a chunk has come, for whoever interrupts the batch.

    Attributes:
        left: the rows that no answer has called written. sent: whether they are on their way. written: the others.
    """

    __slots__ = ("left", "sent", "written")

    def __init__(self, left: Sequence[Written]) -> None:
        self.left = left
        self.sent = False
        self.written: Sequence[Written] = ()


class Batching:
    """Rows that are to be written, and what became of them.

    Parameters:
        session: through which requests leave. session_of: the session of a class, for its table's name.
        unversioned: write versioned entities too, without checking their versions.
        guarded: write in transactions, with the type guard and the version check of single writes.
        parallel: requests under way at once.

    Attributes:
        closed: whether an error has ended it.
    """

    def __init__(
        self,
        session: Session,
        session_of: SessionOf,
        *,
        unversioned: bool = False,
        guarded: bool = False,
        parallel: int = 4,
    ) -> None:
        if unversioned and guarded:
            raise RequestError("unversioned=True writes without a check, and guarded=True checks; take one of them.")
        if not isinstance(parallel, int) or parallel < 1:
            raise RequestError(f"parallel={parallel!r} must be a whole number of at least 1.")
        self.session = session
        self.session_of = session_of
        self.unversioned = unversioned
        self.guarded = guarded
        self.parallel = parallel
        self.closed = False
        self._pending: list[Written | Later] = []
        self._chunks: list[_Chunk] = []
        self._failed = False

    def __len__(self) -> int:
        return len(self._pending)

    def put(self, entity: EntityBase) -> None:
        """Take an entity to be put."""
        schema = schema_of(entity)
        self._allow(schema, unique=bool(schema.uniques), versioned=schema.version is not None, verb="put")
        if self.guarded:
            self._take(entity, "put", lambda: put_step(entity, self.session.now()))
        else:
            self._take(entity, "put", lambda: put_row(entity, self.session.now()))

    def delete(self, target: EntityBase | KeyBase[Any]) -> None:
        """Take an entity or a key to be deleted."""
        if isinstance(target, KeyBase):
            schema, now = target.schema, self.session.now()
            self._allow(schema, unique=has_uniques(schema), versioned=False, verb="delete")
            step = delete_key_step(schema, target.item, now, target=target, guard=self.guarded)
            self._pending.append(step if self.guarded else delete_row(step))
            return
        schema = schema_of(target)
        self._allow(schema, unique=bool(schema.uniques), versioned=schema.version is not None, verb="delete")
        if self.guarded:
            self._take(target, "delete", lambda: delete_step(target, self.session.now()))
        else:
            # No copy of the entity: a row is planned once.
            self._take(
                target, "delete", lambda: delete_row(delete_step(target, self.session.now(), guard=False, copy=False))
            )

    def _take(self, entity: EntityBase, verb: str, make: Callable[[], Written]) -> None:
        self._pending.append(hooked(self.session, entity, verb, make))

    def _allow(self, schema: EntitySchema, *, unique: bool, versioned: bool, verb: str) -> None:
        if self.closed:
            raise RequestError("This batch was ended by an error; its BatchIncomplete says what was not written.")
        if self.guarded:
            return
        if unique:
            raise RequestError(
                f"{verb} of {schema.name} in a batch: it has unique values, which take a transaction with their guard "
                "rows. Use app.transaction(), or app.batch(guarded=True), which uses transactions."
            )
        if versioned and not self.unversioned:
            raise RequestError(
                f"{verb} of {schema.name} in a batch: it has a version, and DynamoDB checks nothing in a batch, so "
                "that another writer's change would be lost. Use app.batch(guarded=True) to check versions in "
                "transactions, or app.batch(unversioned=True) to write without a check."
            )

    @property
    def full(self) -> bool:
        """Whether there is enough to keep all parallel requests busy, twice over."""
        return len(self._pending) >= WINDOW * ROWS_IN_ONE_REQUEST

    @call("batch_write")
    async def flush(self) -> None:
        """Send what was gathered so far. Raises `BatchIncomplete` for what could not be written."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        self._chunks.clear()
        writes: list[Any] = []
        try:
            writes = await self._last_writes(pending)
            outcomes = await (self._in_transactions(writes) if self.guarded else self._in_batches(writes))
        except BaseException as error:
            self.closed = True
            if not isinstance(error, Exception):
                # A cancelled task, Ctrl-C: its caller may want to know how far it came.
                error.incomplete = self._interrupted(pending, writes)  # type: ignore[attr-defined]
            raise
        for outcome in outcomes:
            for row in outcome.written:
                row.apply({})
                if isinstance(row.target, EntityBase) and has_hook(row.target, "after_write"):
                    await after_write(self.session, row.target, row.verb)
        self._report(outcomes, len(writes))

    def _interrupted(self, pending: Sequence[Written | Later], writes: Sequence[Written]) -> BatchIncomplete:
        """What a batch left undone that was ended from outside."""
        if not writes:
            left: list[Any] = [each.entity if isinstance(each, Later) else each.target for each in pending]
            return BatchIncomplete("It was interrupted before anything was sent.", unprocessed=left)
        unknown = [row for chunk in self._chunks if chunk.sent for row in chunk.left]
        settled = {id(row) for chunk in self._chunks for row in chunk.written} | {id(row) for row in unknown}
        rest = [row for row in writes if id(row) not in settled]
        return BatchIncomplete(
            f"It was interrupted: {len(rest)} of {len(writes)} rows were not written, and of {len(unknown)} it is not "
            "known. .unprocessed and .unknown have them as they were given.",
            unprocessed=[row.target for row in rest],
            unknown=[row.target for row in unknown],
        )

    async def _last_writes(self, pending: Sequence[Written | Later]) -> list[Any]:
        """One write for each row: the last one wins, and takes the later place."""
        writes: dict[Hashable, Written] = {}
        for each in pending:
            write = await each.ready(self.session) if isinstance(each, Later) else each
            place = write.place if isinstance(write, Row) else token_of(write.key)
            row = id(write.schema.registry), place
            writes.pop(row, None)
            writes[row] = write
        return list(writes.values())

    def _report(self, outcomes: Sequence[_Outcome], count: int) -> None:
        left = [step for outcome in outcomes for step in outcome.unprocessed]
        unknown = [step for outcome in outcomes for step in outcome.unknown]
        if not left and not unknown:
            return
        self.closed = True
        errors = [error for outcome in outcomes for error in outcome.errors]
        parts = [f"{len(left)} of {count} rows were not written"] if left else []
        parts += [f"of {len(unknown)} it is not known, since the answer was lost"] if unknown else []
        reason = errors[0].message if errors else "DynamoDB returned them unprocessed again and again (throttling)."
        reasons = {number: error for outcome in outcomes for number, error in outcome.reasons.items()}
        lasting = sum(not isinstance(error, ServiceError) for error in reasons.values())
        remedy = "writing them again does no harm unless others wrote the rows meanwhile."
        if lasting:
            remedy = (
                f".errors has the reason of each of .unprocessed; {lasting} of them would fail again: decide by it."
            )
        raise BatchIncomplete(
            f"{', and '.join(parts)}: {reason} .unprocessed and .unknown have the entities and keys as they were "
            f"given; {remedy}",
            errors=[reasons.get(id(step)) for step in left],
            unprocessed=[step.target for step in left],
            unknown=[step.target for step in unknown],
        ) from (errors[0] if errors else None)

    # In batches

    async def _in_batches(self, rows: Sequence[Row]) -> list[_Outcome]:
        if self._held_back(rows):
            return []
        calls = [self._send_chunk(self._chunk(rows)) for rows in portions(rows)]
        return await self.session.gather(calls, self.parallel)

    def _chunk(self, rows: Sequence[Written]) -> _Chunk:
        chunk = _Chunk(rows)
        self._chunks.append(chunk)
        return chunk

    def _name(self, schema: EntitySchema) -> str:
        if schema.registry is self.session.registry:
            return self.session.name
        return self.session_of(schema).name

    def _held_back(self, rows: Sequence[Row]) -> bool:
        """Whether a dry run of any of the tables holds the writes back; they are recorded as they would be sent."""
        for registry in {
            id(each): each for each in (self.session.registry, *(row.schema.registry for row in rows))
        }.values():
            plan = dry_run_of(registry)
            if plan is not None:
                for chunk in portions(rows):
                    plan.record(request_of(chunk, self._name), self.session.name, self.session.registry)
                return True
        return False

    async def _send_chunk(self, chunk: _Chunk) -> _Outcome:
        left: list[Any] = list(chunk.left)
        written: list[Row] = []
        maybe: set[int] = set()
        fruitless = 0
        last: ServiceError | None = None
        while left:
            if self._failed:
                return _given_back(written, left, maybe)
            chunk.left, chunk.sent, chunk.written = left, True, written
            try:
                answer = await self.session.send(request_of(left, self._name))
            except ServiceError as error:
                if not isinstance(error, Throttled) or uncertain(error.history):
                    return self._give_up(written, left, error, maybe)
                rest, last = left, error
            else:
                # What is given back now may have been written by an earlier attempt, whose answer was lost.
                maybe.update(id(row) for row in left if answer.uncertain)
                rest, last = unprocessed(left, answer.body.get("UnprocessedItems") or {}, self._name), None
            kept = {id(row) for row in rest}
            written += [row for row in left if id(row) not in kept] if kept else left
            fruitless = fruitless + 1 if len(rest) == len(left) else 0
            left = rest
            chunk.left, chunk.sent, chunk.written = left, bool(maybe), written
            if left and (fruitless >= ATTEMPTS_WITHOUT_PROGRESS or not await self.session.rest(backoff(fruitless))):
                return _given_back(written, left, maybe, [last] if last is not None else [])
        return _Outcome(written)

    def _give_up(self, written: Sequence[Row], left: Sequence[Row], error: ServiceError, maybe: set[int]) -> _Outcome:
        self._failed = True  # what is wrong with one request is wrong with the next
        if uncertain(error.history):
            return _Outcome(written, unknown=left, errors=[error])
        return _given_back(written, left, maybe, [error], {id(row): error for row in left})

    # In transactions

    async def _in_transactions(self, steps: Sequence[Step]) -> list[_Outcome]:
        calls = [self._transact(self._chunk(portion)) for portion in _transactions(steps)]
        return await self.session.gather(calls, self.parallel)

    async def _transact(self, chunk: _Chunk) -> _Outcome:
        """Write rows in one transaction; those that fail their guard are left out, and the rest is sent anew."""
        left: list[Any] = list(chunk.left)
        refused: list[Step] = []
        errors: list[TablekitError] = []
        reasons: dict[int, TablekitError] = {}
        while left and not self._failed:
            transaction = Transacting(self.session, self.session_of, retry_conflicts=ATTEMPTS_WITHOUT_PROGRESS)
            for step in left:
                transaction.add(step)
            chunk.left, chunk.sent = left, True
            try:
                await transaction.commit()
            except TransactionCancelled as cancelled:
                chunk.sent = False
                failed = {reason.index: reason.error or cancelled for reason in cancelled.failed}
                errors += failed.values()
                reasons.update(
                    (id(step), failed.get(n, cancelled)) for n, step in enumerate(left) if n in failed or not failed
                )
                refused += [step for number, step in enumerate(left) if number in failed or not failed]
                left = [step for number, step in enumerate(left) if number not in failed and failed]
            except WriteOutcomeUnknown as error:
                self._failed = True
                return _Outcome((), refused, left, [*errors, error], reasons)
            except (ConditionFailed, RequestError) as error:
                # Found before anything was sent: of two rows that want one unique value the later is refused.
                rivals: Mapping[int, TablekitError] = transaction.rivals or dict.fromkeys(range(len(left)), error)
                errors += list(rivals.values())
                reasons.update((id(left[number]), each) for number, each in rivals.items())
                refused += [left[number] for number in rivals]
                left = [step for number, step in enumerate(left) if number not in rivals]
            except ServiceError as error:
                self._failed = True
                reasons.update((id(step), error) for step in left)
                return _Outcome((), [*refused, *left], errors=[*errors, error], reasons=reasons)
            else:
                chunk.left, chunk.sent, chunk.written = (), False, left
                # The transaction has settled the entities itself.
                return _Outcome((), refused, errors=errors, reasons=reasons)
        return _Outcome((), [*refused, *left], errors=errors, reasons=reasons)


def _transactions(steps: Sequence[Step]) -> Iterable[Sequence[Step]]:
    """Steps in the order given, as many at a time as a transaction takes with the guard rows of unique values."""
    portion: list[Step] = []
    actions = size = 0
    for step in steps:
        more = 1 + sum(2 * len(unique_scope(step.schema, unique).own_types) for unique in step.schema.uniques)
        item: Item = {} if step.plan is None else step.plan.request.body.get("Item", {})
        bytes_ = item_size(item) + 1024 * more
        if portion and (actions + more > MAX_ACTIONS or size + bytes_ > MAX_BYTES):
            yield portion
            portion, actions, size = [], 0, 0
        portion.append(step)
        actions += more
        size += bytes_
    if portion:
        yield portion


def _given_back(
    written: Sequence[Row],
    left: Sequence[Row],
    maybe: set[int],
    errors: Sequence[TablekitError] = (),
    reasons: Mapping[int, TablekitError] | None = None,
) -> _Outcome:
    """What is left of a chunk: unprocessed, or unknown where an earlier attempt may have written it."""
    unknown = [row for row in left if id(row) in maybe]
    back = [row for row in left if id(row) not in maybe]
    return _Outcome(written, back, unknown, errors, reasons or {})


async def write_all(
    batching: Batching,
    puts: Iterable[EntityBase],
    deletes: Iterable[EntityBase | KeyBase[Any]],
) -> None:
    """Write rows from any iterables, which need not fit into memory."""
    await _feed(batching, batching.put, puts)
    await _feed(batching, batching.delete, deletes)
    await batching.flush()


async def _feed(batching: Batching, take: Callable[[Any], None], rows: Iterable[Any]) -> None:
    if not isinstance(rows, Iterable):
        raise RequestError(f"batch_write() takes a collection of entities or keys, not a {type(rows).__name__}.")
    for row in rows:
        take(row)
        if batching.full:
            await batching.flush()
