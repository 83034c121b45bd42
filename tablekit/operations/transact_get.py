"""Reading several rows as they stand at one moment."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tablekit._types import Item
from tablekit.errors import CancellationReason, LimitExceeded, RequestError, ServiceError, TransactionCancelled
from tablekit.operations.batch_get import backoff, token_of
from tablekit.operations.calls import call
from tablekit.operations.dispatch import decode_as, is_expired
from tablekit.operations.errors_map import invalid_response
from tablekit.operations.session import Session
from tablekit.operations.transact_render import SessionOf, TableNames
from tablekit.operations.transact_send import CANCELLED, PASSING, passing_error, reasons_of
from tablekit.operations.verbs import KeyBase
from tablekit.wire.requests import TransactionRequest

__all__ = ["read_together"]

MAX_KEYS = 100


@call("transact_get")
async def read_together(
    session: Session, session_of: SessionOf, keys: Sequence[KeyBase[Any]], *, retry_conflicts: int = 3
) -> list[Any]:
    """The entities under some keys, all as of one moment, aligned with the keys; None where there is no row.

    Parameters:
        keys: of any classes, in any number of tables; a key that stands twice is asked for once.
        retry_conflicts: how often the read is sent again when a transaction is writing one of the rows.

    Raises `LimitExceeded` over 100 keys, `TransactionCancelled`, `WrongEntityType`.
    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """
    names = TableNames(session, session_of)
    wanted: dict[Hashable, tuple[str, KeyBase[Any]]] = {}
    tokens: list[Hashable] = []
    for key in keys:
        if not isinstance(key, KeyBase):
            raise RequestError(f"transact_get() takes keys, such as Document.key(...), not {type(key).__name__}.")
        table = names.of(key.schema)
        token = table, token_of(key.item)
        tokens.append(token)
        wanted.setdefault(token, (table, key))
    if not wanted:
        return []
    if len(wanted) > MAX_KEYS:
        raise LimitExceeded(
            f"transact_get takes at most {MAX_KEYS} rows, and was asked for {len(wanted)}. batch_get takes any number, "
            "without the promise of one moment.",
            limit=MAX_KEYS,
            actual=len(wanted),
        )
    if not session.capabilities.transactions:
        raise RequestError(f"The engine behind table {session.registry.label!r} has no transactions; use batch_get.")
    rows = await _read(session, list(wanted.values()), retry_conflicts)
    found = dict(zip(wanted, rows))
    return [_entity(key, found[token], session) for key, token in zip(keys, tokens)]


def _entity(key: KeyBase[Any], item: Item | None, session: Session) -> Any:
    if not item:
        return None
    entity = decode_as(key.schema, item)
    return None if is_expired(entity, session.now()) else entity


async def _read(
    session: Session, wanted: Sequence[tuple[str, KeyBase[Any]]], retry_conflicts: int
) -> list[Item | None]:
    actions = [{"Get": {"TableName": table, "Key": key.item}} for table, key in wanted]
    request = TransactionRequest("TransactGetItems", actions)
    attempt = 0
    while True:
        try:
            answer = await session.send(request)
        except ServiceError as error:
            if error.code != CANCELLED:
                raise
            attempt += 1
            last = attempt > retry_conflicts or not _conflicts(error, len(actions))
            if last or not await session.rest(backoff(attempt)):
                raise _cancelled(error, wanted) from error
        else:
            responses: list[dict[str, Any]] = answer.body.get("Responses", [])
            if isinstance(responses, Mapping) or len(responses) != len(wanted):
                raise invalid_response("UnreadableBody", "TransactGetItems", answer.attempts, session.name)
            return [response.get("Item") for response in responses]


def _conflicts(error: ServiceError, count: int) -> bool:
    codes = {answer.get("Code") for answer in reasons_of(error, count)} - {None, "None"}
    return bool(codes) and codes <= PASSING


def _cancelled(error: ServiceError, wanted: Sequence[tuple[str, KeyBase[Any]]]) -> TransactionCancelled:
    reasons: list[CancellationReason] = []
    for number, (answer, (_, key)) in enumerate(zip(reasons_of(error, len(wanted)), wanted)):
        code = answer.get("Code")
        pk, sk = key.schema.registry.plain_key(key.item)
        failed = code not in (None, "None")
        reasons.append(
            CancellationReason(
                number,
                code if failed else None,
                entity=key.schema.name,
                pk=pk,
                sk=sk,
                error=passing_error(str(code), answer) if failed else None,
            )
        )
    shown = "; ".join(
        f"{reason.entity} {reason.pk!r} {reason.sk!r}: {reason.code}" for reason in reasons if reason.code is not None
    )
    cancelled = TransactionCancelled(
        f"A reading transaction of {len(wanted)} rows was cancelled ({shown or error.message}). Read again, or use "
        "batch_get where the rows need not be of one moment.",
        reasons=reasons,
    )
    cancelled.history = error.history
    return cancelled
