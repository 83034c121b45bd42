"""Adding to a sharded counter, and summing it up.

Beside the shards there are two kinds of rows, which no query of entities gives: one for each operation that must
count once, which DynamoDB deletes after a while, and one for each counter class that says how many shards there have
ever been, so that a reader finds the counts of shards that are no longer written.
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar, cast

from tablekit._types import Item
from tablekit.api.table import Table
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import KeyPartError, RequestError, ServiceError, TransactionConflict, WriteOutcomeUnknown
from tablekit.expressions.actions import set_attribute
from tablekit.expressions.conditions import attribute_not_exists, compare
from tablekit.expressions.paths import attribute
from tablekit.expressions.values import Value
from tablekit.operations.batch_get import backoff, read_items
from tablekit.operations.calls import call
from tablekit.operations.dispatch import decode_as
from tablekit.operations.execute import execute
from tablekit.operations.observe import dry_run_of
from tablekit.operations.outcome import uncertain
from tablekit.operations.plans import WritePlan
from tablekit.operations.put import conditional
from tablekit.operations.read import get_request
from tablekit.operations.session import Session
from tablekit.operations.update import Update, plan_update
from tablekit.patterns.bindings import PerBinding
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import TransactionRequest

__all__ = ["Counting", "add", "value"]

C = TypeVar("C", bound=EntityBase)

OPERATION_TYPE = "tablekit:operation"
SHARDS_TYPE = "tablekit:shards"
ATTEMPTS = 10
PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
CONDITION_FAILED = "ConditionalCheckFailed"


class Counting:
    """How a counter class counts.

    Attributes:
        shards: rows that are written. remember: how long an operation is known. ttl_attribute: by which DynamoDB
            deletes it. known: the bindings whose table knows the number of shards.
    """

    __slots__ = ("known", "remember", "shards", "ttl_attribute")

    def __init__(self, shards: int, remember: timedelta, ttl_attribute: str | None) -> None:
        self.shards = shards
        self.remember = remember
        self.ttl_attribute = ttl_attribute
        self.known: PerBinding[int] = PerBinding()


def counting_of(cls: type[EntityBase]) -> Counting:
    """How a class counts. Raises `DefinitionError` for the base itself."""
    schema_of(cls)
    return cast(Counting, cls.__dict__["__counting__"])


# Adding


@call("add")
async def add(session: Session, cls: type[C], n: int = 1, /, *, operation_id: str | None = None, **key: Any) -> bool:
    """Add to one shard, chosen by chance; with an id once, however often it is called."""
    schema = schema_of(cls)
    if not isinstance(n, int) or isinstance(n, bool):
        raise RequestError(f"{schema.name}.add takes a whole number, not {type(n).__name__}.")
    _check_parts(schema, key)
    _key(schema, key, 0)
    await _announce_shards(session, cls)
    if operation_id is None:
        await _add_plainly(session, cls, n, key)
        return True
    if not isinstance(operation_id, str) or not operation_id:
        raise RequestError(f"{schema.name}.add: operation_id must be a text that is not empty.")
    return await _add_once(session, cls, n, operation_id, key)


def _plan(session: Session, cls: type[EntityBase], n: int, key: Mapping[str, Any]) -> WritePlan:
    schema = schema_of(cls)
    shard = random.randrange(counting_of(cls).shards)  # noqa: S311  (spreads the load, no secret)
    values = {**key, "shard": shard}
    column: Any = getattr(cls, "count")  # noqa: B009  (declared when the class was made)
    asked = Update([column.add(n)], upsert=True, returning=None)
    return plan_update(schema, _key(schema, key, shard), values, asked, session.now())


async def _add_plainly(session: Session, cls: type[EntityBase], n: int, key: Mapping[str, Any]) -> None:
    for attempt in range(ATTEMPTS):
        try:
            await execute(session, _plan(session, cls, n, key))
        except TransactionConflict:
            # An addition with an id holds this very shard; another one is free.
            if attempt + 1 == ATTEMPTS or not await session.rest(backoff(attempt)):
                raise
        else:
            return


async def _add_once(session: Session, cls: type[EntityBase], n: int, operation_id: str, key: Mapping[str, Any]) -> bool:
    schema = schema_of(cls)
    if not session.capabilities.transactions:
        raise RequestError(
            f"{schema.name}.add(operation_id=...) is a transaction, and this engine has none. Leave operation_id out: "
            "an addition whose answer is lost is then WriteOutcomeUnknown."
        )
    mark = _operation(session, cls, n, operation_id, key)
    put = conditional("PutItem", {"Item": mark}, attribute_not_exists(schema.registry.pk), schema)
    for attempt in range(ATTEMPTS):
        plan = _plan(session, cls, n, key)
        actions = [{"Put": put.part(session.name)}, {"Update": plan.request.part(session.name)}]
        try:
            await session.send(TransactionRequest("TransactWriteItems", actions, token=uuid.uuid4().hex))
        except ServiceError as error:
            reasons: Sequence[Mapping[str, Any]] = error.response.get("CancellationReasons", ())
            if _made_before(schema, reasons, n, operation_id):
                return False
            if len(reasons) == 2 and reasons[1].get("Code") == CONDITION_FAILED:
                raise plan.explain(reasons[1].get("Item")) from error
            last = not _passes(error, reasons) or attempt + 1 == ATTEMPTS
            if last or not await session.rest(backoff(attempt)):
                raise _named(schema, error, key) from error
        else:
            return True
    raise AssertionError


def _made_before(schema: EntitySchema, reasons: Sequence[Mapping[str, Any]], n: int, operation_id: str) -> bool:
    if not reasons or reasons[0].get("Code") != CONDITION_FAILED:
        return False
    stored = reasons[0].get("Item", {}).get("n", {}).get("N")
    if stored is not None and int(stored) != n:
        raise RequestError(
            f"{schema.name}.add: operation_id {operation_id!r} was used before, for another number. An id stands for "
            "one addition; give each its own."
        )
    return True


def _passes(error: ServiceError, reasons: Sequence[Mapping[str, Any]]) -> bool:
    codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
    return bool(codes and codes <= PASSING) or isinstance(error, TransactionConflict)


def _named(schema: EntitySchema, error: ServiceError, key: Mapping[str, Any]) -> Exception:
    if not uncertain(error.history):
        return error
    pk, sk = schema.registry.plain_key(_key(schema, key, 0))
    return WriteOutcomeUnknown(
        f"add of {schema.name}: the transaction was sent and its answer was lost. Call again with the same "
        "operation_id: it counts once.",
        operation="TransactWriteItems",
        entity=schema.name,
        pk=pk,
        sk=sk,
        history=error.history,
    )


# Reading


@call("value")
async def value(session: Session, cls: type[C], /, *, consistent: bool = True, **key: Any) -> int:
    """The sum of all shards that there are or ever were."""
    schema, shards = schema_of(cls), counting_of(cls).shards
    _check_parts(schema, key)
    keys = [_key(schema, key, shard) for shard in range(shards)]
    *rows, ever = await read_items(session, [*keys, _shards_key(schema)], consistent=consistent)
    most = _number(ever)
    if most > shards:
        more = [_key(schema, key, shard) for shard in range(shards, most)]
        rows += await read_items(session, more, consistent=consistent)
    return sum(decode_as(schema, row).count for row in rows if row is not None)


# Keys


def _check_parts(schema: EntitySchema, key: Mapping[str, Any]) -> None:
    expected = schema.key_fields - {"shard"}
    unknown = sorted(set(key) - expected)
    if unknown:
        parts = ", ".join(sorted(expected)) or "none"
        raise KeyPartError(
            f"{schema.name}: {unknown[0]!r} is no part of the counter's key (parts: {parts}).",
            entity=schema.name,
            template=schema.pk.template.text,
            part=unknown[0],
        )


def _key(schema: EntitySchema, key: Mapping[str, Any], shard: int) -> Item:
    return schema.key_of({**key, "shard": shard})


def _beside(schema: EntitySchema, pk: str) -> Item:
    """A key with another partition key, and the counter's sort key."""
    item: Item = {schema.registry.pk: {"S": pk}}
    if schema.sk is not None:
        item[schema.sk.attribute] = schema.sk.render({}, schema.name)
    return item


def _shards_key(schema: EntitySchema) -> Item:
    return _beside(schema, f"{SHARDS_TYPE}{schema.registry.separator or '#'}{schema.type}")


def _operation(session: Session, cls: type[EntityBase], n: int, operation_id: str, key: Mapping[str, Any]) -> Item:
    """The row by which an addition is known."""
    schema, counting = schema_of(cls), counting_of(cls)
    separator = schema.registry.separator or "#"
    # Of any length and any characters, an id gives a key of its own.
    digest = hashlib.sha256(operation_id.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    counter: str = _key(schema, key, 0)[schema.registry.pk]["S"].removesuffix("0")
    expires = session.now() + counting.remember
    return {
        **_beside(schema, f"{OPERATION_TYPE}{separator}{counter}{digest}"),
        schema.registry.type_attribute: {"S": OPERATION_TYPE},
        "n": {"N": str(n)},
        counting.ttl_attribute or _ttl_attribute(schema): {"N": str(int(expires.timestamp()))},
    }


def _ttl_attribute(schema: EntitySchema) -> str:
    found = {each.ttl.attribute for each in schema.registry.entities.values() if each.ttl is not None}
    return next(iter(found)) if len(found) == 1 else "expires_at"


# How many shards there have ever been


async def _announce_shards(session: Session, cls: type[EntityBase]) -> None:
    """Before this process first adds through a binding: make sure that readers look at all its shards."""
    schema, counting = schema_of(cls), counting_of(cls)
    port = cast(Table, schema.registry).binding.port
    if counting.known.find(port, session.name):
        return
    key = _shards_key(schema)
    answer = await session.send(get_request(key, consistent=True, entity=schema.name))
    if _number(answer.body.get("Item")) < counting.shards:
        await _raise_shards(session, schema, key, counting.shards)
    if dry_run_of(session.registry) is None:
        counting.known.keep(port, session.name, counting.shards)


async def _raise_shards(session: Session, schema: EntitySchema, key: Item, shards: int) -> None:
    renderer = Renderer()
    number = {"N": str(shards)}
    path = attribute("shards")
    actions = [
        set_attribute("shards", number, "shards"),
        set_attribute(schema.registry.type_attribute, {"S": SHARDS_TYPE}, "type"),
    ]
    body = {"Key": key, "UpdateExpression": renderer.render_update(actions)}
    fewer = attribute_not_exists("shards") | compare(path, "<", Value(number, "shards"))
    try:
        await session.send(conditional("UpdateItem", body, fewer, schema, renderer))
    except ServiceError as error:
        # Another process has raised it at the same time, to this number or a higher one.
        if error.code != "ConditionalCheckFailedException":
            raise


def _number(item: Item | None) -> int:
    return int((item or {}).get("shards", {}).get("N", "0"))
