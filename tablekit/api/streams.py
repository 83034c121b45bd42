"""Changes of a table as its stream tells them: typed, and routed to handlers."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, Union, cast

import attrs

from tablekit._types import Item
from tablekit.api.entity import Entity
from tablekit.api.keys import Key
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DefinitionError, RequestError
from tablekit.operations.dispatch import INTERNAL, RawItem
from tablekit.operations.driver import run
from tablekit.operations.streams import (
    ChangeKind,
    StreamPolicy,
    StreamRecord,
    UndecodablePolicy,
    decode_image,
    parse_record,
    records_of,
)

__all__ = ["StreamChange", "StreamRouter", "decode_changes"]

E = TypeVar("E", bound=Entity)
R = TypeVar("R")
E_co = TypeVar("E_co", covariant=True)

UntypedStreamPolicy = Union[StreamPolicy, Literal["infer"]]
KINDS: tuple[ChangeKind, ...] = ("insert", "modify", "remove")

_log = logging.getLogger("tablekit.streams")


@attrs.frozen(kw_only=True, eq=False)
class StreamChange(Generic[E_co]):
    """One change of one row.

    Attributes:
        kind: ``"insert"``, ``"modify"`` or ``"remove"``.
        entity: the row's class: of the new image, else of the old one, else by the key; None for a foreign row.
        old, new: the row before and after, None where there is none or the stream's view leaves it out. An image
            that is no entity is a `RawItem`.
        key: the row's key as a handle with verbs; None for a foreign row. keys: the key in DynamoDB JSON.
        event_id, sequence_number: as they came; None where the sender leaves them out.
        time: about when it happened, aware and in UTC, or None. view: the stream's view type, or None.
        expired_by_ttl: whether DynamoDB deleted the row because it had expired.
        record: the record as it came.
    """

    kind: ChangeKind
    entity: type[Entity] | None
    old: E_co | None
    new: E_co | None
    key: Key[Any] | None
    keys: Item
    event_id: str | None
    sequence_number: str | None
    time: datetime | None
    view: str | None
    expired_by_ttl: bool
    record: Mapping[str, Any] = attrs.field(repr=False)

    def __repr__(self) -> str:
        # Images are left out: a log line must not show what the rows hold.
        name = "a foreign row" if self.entity is None else self.entity.__name__
        return f"<StreamChange {self.kind} of {name} {self.event_id or self.sequence_number or ''}>"


@attrs.frozen(kw_only=True)
class _Policies:
    unknown: StreamPolicy = "raw"
    untyped: UntypedStreamPolicy = "raw"
    undecodable: UndecodablePolicy = "raise"


def _policies(
    registry: TableDefinition,
    unknown: StreamPolicy,
    untyped: UntypedStreamPolicy | None,
    undecodable: UndecodablePolicy,
) -> _Policies:
    if untyped is None:
        untyped = "infer" if registry.untyped == "infer" else "raw"
    for name, value, allowed in (
        ("unknown", unknown, ("raw", "skip", "raise")),
        ("untyped", untyped, ("raw", "skip", "raise", "infer")),
        ("undecodable", undecodable, ("raise", "raw")),
    ):
        if value not in allowed and not (name == "undecodable" and callable(value)):
            raise RequestError(f"{name}={value!r} is no policy of a stream; take {', '.join(map(repr, allowed))}.")
    return _Policies(unknown=unknown, untyped=untyped, undecodable=undecodable)


def decode_changes(
    registry: TableDefinition,
    event: Any,
    *,
    unknown: StreamPolicy = "raw",
    untyped: UntypedStreamPolicy | None = None,
    undecodable: UndecodablePolicy = "raise",
) -> Iterator[StreamChange[Any]]:
    """The changes of an event, one after the other; as `Table.decode_stream`."""
    policies = _policies(registry, unknown, untyped, undecodable)
    for record in records_of(event):
        change = _change(registry, parse_record(record, registry), policies)
        if change is not None:
            yield change


def _change(registry: TableDefinition, record: StreamRecord, policies: _Policies) -> StreamChange[Any] | None:
    """The typed change; None where a policy leaves it out."""
    old = _decode(registry, record, record.old, record.new, policies)
    new = _decode(registry, record, record.new, record.old, policies)
    schema = _schema(new) or _schema(old)
    if record.old is None and record.new is None:
        schema = registry.infer(record.keys)
        if schema is None and policies.untyped == "skip":
            return None
    elif old is None and new is None:
        return None
    entity = None if schema is None else cast("type[Entity]", schema.entity)
    return StreamChange(
        kind=record.kind,
        entity=entity,
        old=old,
        new=new,
        key=None if entity is None else Key[Any].stored(entity, record.keys),
        keys=record.keys,
        event_id=record.event_id,
        sequence_number=record.sequence_number,
        time=record.time,
        view=record.view,
        expired_by_ttl=record.expired_by_ttl,
        record=record.source,
    )


def _decode(
    registry: TableDefinition, record: StreamRecord, image: Item | None, other: Item | None, policies: _Policies
) -> Any:
    return decode_image(
        registry,
        image,
        counterpart=other,
        unknown=policies.unknown,
        untyped=policies.untyped,
        undecodable=policies.undecodable,
        plain=record.plain,
    )


def _schema(entity: object) -> EntitySchema | None:
    found: EntitySchema | None = getattr(type(entity), "__schema__", None)
    return found


# Handlers

Handler = Callable[[StreamChange[Any]], Any]
OnFailure = Literal["stop", "continue"]


@attrs.frozen
class _Route:
    entity: type[Entity] | None
    kinds: frozenset[str]
    handler: Handler

    def takes(self, change: StreamChange[Any]) -> bool:
        if change.kind not in self.kinds:
            return False
        if self.entity is None or change.entity is None:
            return self.entity is change.entity
        return issubclass(change.entity, self.entity)


class StreamRouter:
    """Calls handlers for the changes of a table, and answers Lambda with what failed.

    ::

        router = StreamRouter(app)


        @router.on(Document, "insert", "modify")
        def index(change: StreamChange[Document]) -> None: ...


        handler = router  # the Lambda function's handler; its event source needs ReportBatchItemFailures

    It stops at the first failure: Lambda begins again at the lowest sequence number that is reported, so that what
    comes after it would be handled twice. ``on_failure="continue"`` goes on with other rows; later changes of a row
    that failed are reported as failed without being tried, so that each row's order is kept. Handlers must bear to see
    a change again in either case.
    https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html

    Parameters:
        table: the table whose stream it is. on_failure: ``"stop"`` or ``"continue"``.
        unknown, untyped, undecodable: as for `Table.decode_stream`.
    """

    def __init__(
        self,
        table: TableDefinition,
        *,
        on_failure: OnFailure = "stop",
        unknown: StreamPolicy = "raw",
        untyped: UntypedStreamPolicy | None = None,
        undecodable: UndecodablePolicy = "raise",
    ) -> None:
        if on_failure not in ("stop", "continue"):
            raise RequestError(f"on_failure={on_failure!r} is not known; take 'stop' or 'continue'.")
        self._table = table
        self._policies = _policies(table, unknown, untyped, undecodable)
        self._on_failure = on_failure
        self._routes: list[_Route] = []

    def on(
        self, entity: type[E], *kinds: ChangeKind
    ) -> Callable[[Callable[[StreamChange[E]], R]], Callable[[StreamChange[E]], R]]:
        """Call the decorated function, or coroutine function, for changes of a class and its subclasses.

        Parameters:
            entity: the class; `Entity` for every class. kinds: ``"insert"``, ``"modify"``, ``"remove"``; none for
                all of them.
        """
        schema = getattr(entity, "__schema__", None)
        if schema is not None and schema.registry is not self._table:
            raise DefinitionError(
                f"{entity.__name__} is of table {schema.registry.label!r}, and the router is of "
                f"{self._table.label!r}: its changes never come here.",
                owner=entity.__name__,
            )
        return self._route(entity, kinds)

    def on_foreign(
        self, *kinds: ChangeKind
    ) -> Callable[[Callable[[StreamChange[RawItem]], R]], Callable[[StreamChange[RawItem]], R]]:
        """Call the decorated function for changes of rows that are no entities. Without it they are passed over.

        tablekit's own rows, such as the guards of unique values, are left out; `Table.decode_stream` gives them.
        """
        return self._route(None, kinds)

    def _route(self, entity: type[Entity] | None, kinds: tuple[ChangeKind, ...]) -> Callable[[Any], Any]:
        for kind in kinds:
            if kind not in KINDS:
                raise RequestError(f"{kind!r} is no kind of change; take {', '.join(map(repr, KINDS))}.")

        def register(handler: Handler) -> Handler:
            self._routes.append(_Route(entity, frozenset(kinds or KINDS), handler))
            return handler

        return register

    def __call__(self, event: Any, context: Any = None) -> dict[str, Any]:
        """Handle an event, and answer with the sequence numbers of the records that failed.

        Raises `InvalidStreamRecord` for what is no event, and a failure of a record that has no sequence number:
        Lambda then takes the whole batch as failed.
        """
        if not any(inspect.iscoroutinefunction(route.handler) for route in self._routes):
            return run(self.aio(event, context))
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.aio(event, context))
        raise RequestError(
            "A router with coroutine handlers was called in a running event loop; await router.aio(...)."
        )

    async def aio(self, event: Any, context: Any = None) -> dict[str, Any]:
        """As calling the router, on the running event loop."""
        failed: list[str] = []
        rows: set[str] = set()
        for record in records_of(event):
            row = repr(record["dynamodb"].get("Keys"))
            if row in rows:
                failed.append(_number(record))
                continue
            try:
                await self._handle(record)
            except Exception as error:
                failed.append(self._failure(record, error))
                if self._on_failure == "stop":
                    break
                rows.add(row)
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}

    async def _handle(self, record: Mapping[str, Any]) -> None:
        change = _change(self._table, parse_record(record, self._table), self._policies)
        if change is None:
            return
        if change.entity is None and _internal(self._table, change):
            return
        for route in self._routes:
            if route.takes(change):
                result = route.handler(change)
                if inspect.isawaitable(result):
                    await result

    def _failure(self, record: Mapping[str, Any], error: Exception) -> str:
        _log.error(
            "The stream record %s of table %r failed (%s).",
            record.get("eventID") or record["dynamodb"].get("SequenceNumber"),
            self._table.label,
            type(error).__name__,
            exc_info=error,
        )
        number = _number(record)
        if not number:
            # An empty identifier would be taken as all of the batch, and hide why.
            raise error
        return number


def _internal(registry: TableDefinition, change: StreamChange[Any]) -> bool:
    image = change.new if change.new is not None else change.old
    return isinstance(image, RawItem) and image.get(registry.type_attribute, {}).get("S", "").startswith(INTERNAL)


def _number(record: Mapping[str, Any]) -> str:
    return str(record["dynamodb"].get("SequenceNumber") or "")
