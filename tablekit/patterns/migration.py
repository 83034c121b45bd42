"""A new shape of a singleton in a row of its own: read through the old row until it is there."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tablekit._types import Item
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import DefinitionError, RequestError, ServiceError, TablekitError, WriteOutcomeUnknown
from tablekit.expressions.conditions import Condition, attribute_not_exists, conjunction, equals
from tablekit.operations.calls import call
from tablekit.operations.guards import present_guard
from tablekit.operations.outcome import uncertain
from tablekit.operations.put import conditional, plan_put
from tablekit.operations.session import Session
from tablekit.patterns.entries import Entry
from tablekit.patterns.notices import report_write
from tablekit.patterns.reading import Row, cache_of, kept, read_row, safe_values, state_of
from tablekit.wire.requests import Request, TransactionRequest

__all__ = ["migrate"]

S = TypeVar("S", bound=EntityBase)


def between_races(attempt: int) -> float:
    """The seconds before the next attempt, so that writers do not meet again."""
    return random.uniform(0, min(0.3, 0.01 * 2 ** min(attempt, 5)))  # noqa: S311  (jitter, no secret)


@call("migrate")
async def migrate(session: Session, cls: type[S], /) -> S:
    """Write the row of the new shape from the old one, in a transaction that asserts that the old one did not move."""
    options = cache_of(cls).options
    if options.migrates_from is None:
        raise DefinitionError(
            f"{cls.__name__} has no migrates_from=, and so nothing to migrate from. Say which singleton it replaces.",
            owner=cls.__name__,
        )
    state = state_of(session, cls)
    problem: TablekitError | None = None
    for attempt in range(options.attempts):
        if attempt and not await session.rest(between_races(attempt)):
            break
        epoch = state.begin()[0]
        began = options.clock()
        row = await read_row(session, cls, consistent=True)
        if row.problem is not None:
            raise row.problem
        wrote = False
        snapshot: Any = row.snapshot
        if row.item is None:
            snapshot = safe_values(cls) if snapshot is None else snapshot
            try:
                wrote = await _write(session, cls, row.previous or Row(), snapshot)
            except ServiceError as error:
                if not _lost(error):
                    state.drop()
                    raise _named(schema_of(cls), error) from error
                problem = error
                continue
            except BaseException:
                state.drop()
                raise
        entry = kept(cls, Entry(snapshot, "table", began, options.clock, exists=wrote or row.item is not None))
        if wrote:
            cache_of(cls).announce(state.wrote(entry, epoch), entry)
            report_write(state, schema_of(cls), options, snapshot)
        return entry.serve(cached=False)  # type: ignore[no-any-return]
    assert problem is not None
    raise problem


async def _write(session: Session, cls: type[EntityBase], previous: Row, snapshot: EntityBase) -> bool:
    """Put the new row beside the old one; gives whether it was sent."""
    schema = schema_of(cls)
    if not session.capabilities.transactions:
        raise RequestError(
            f"{schema.name} migrates in a transaction, and this engine has none. Stop the writers of the old row, and "
            "write the new one with ensure() of a class without migrates_from."
        )
    plan = plan_put(snapshot, session.now(), create=True)
    actions = [{"ConditionCheck": check.part(session.name)} for check in _unmoved(cls, previous)]
    actions.append({"Put": plan.request.part(session.name)})
    answer = await session.send(TransactionRequest("TransactWriteItems", actions, token=uuid.uuid4().hex))
    if answer.sent:
        plan.apply({})
    return answer.sent


def _unmoved(cls: type[EntityBase], row: Row | None) -> Iterator[Request]:
    """The conditions that the old rows are as they were read; a row that is absent was read through as well."""
    older = cache_of(cls).options.migrates_from
    while older is not None and row is not None:
        schema = schema_of(older)
        yield conditional("ConditionCheck", {"Key": schema.key_of({})}, _as_read(schema, row.item), schema)
        if row.item is not None:
            return
        older, row = cache_of(older).options.migrates_from, row.previous


def _as_read(schema: EntitySchema, item: Item | None) -> Condition | None:
    if item is None:
        return attribute_not_exists(schema.registry.pk)
    # The version stands for the whole row; where there is none, each field is compared.
    pinned = schema.fields if schema.version is None else (schema.version,)
    return conjunction(present_guard(schema, schema.types), *_pinned(pinned, item))


def _pinned(fields: Iterable[FieldSchema], item: Item) -> list[Condition]:
    return [
        attribute_not_exists(field.attribute)
        if field.attribute not in item
        else equals(field.attribute, item[field.attribute], hint=f"{field.name}_before")
        for field in fields
    ]


def _lost(error: ServiceError) -> bool:
    """Whether the transaction was cancelled by another writer, of the old row or of the new one."""
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])
    codes = {reason.get("Code", "None") for reason in reasons}
    expected = {"None", "ConditionalCheckFailed", "TransactionConflict"}
    return bool(codes - {"None"}) and codes <= expected


def _named(schema: EntitySchema, error: ServiceError) -> TablekitError:
    if not uncertain(error.history):
        return error
    pk, sk = schema.registry.plain_key(schema.key_of({}))
    return WriteOutcomeUnknown(
        f"migrate of {schema.name}: the transaction was sent and its answer was lost. Call migrate() again: it leaves "
        "a row that is there already as it is.",
        operation="TransactWriteItems",
        entity=schema.name,
        pk=pk,
        sk=sk,
        history=error.history,
    )
