"""What watches requests as they pass: meters, and dry runs that hold writes back."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Union, cast

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.operations.shares import UNKNOWN, rows_of, shares, type_name
from tablekit.operations.shown import WriteExplanation
from tablekit.wire.requests import BatchRequest, Request, TransactionRequest

__all__ = [
    "FILTERED",
    "WRITES",
    "DryRun",
    "Meter",
    "Observation",
    "PlannedRequest",
    "active_meters",
    "consumed_units",
    "dry_run_of",
    "holding",
    "metering",
    "note_row",
    "note_rows",
    "observed",
]

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""The operations that a dry run holds back."""

FILTERED = "(filtered)"
"""The name under which rows are counted that DynamoDB read and its filter dropped: their type is not known."""

AnyRequest = Union[Request, BatchRequest, TransactionRequest]

_OPTIONS = ("ConsistentRead", "Limit", "ScanIndexForward", "Select", "ProjectionExpression", "Segment", "TotalSegments")

_log = logging.getLogger("tablekit")


@attrs.frozen(kw_only=True)
class Observation:
    """One request that was answered or failed. It holds no values of items.

    Attributes:
        operation: DynamoDB's name. table, index: what it read or wrote; index is None for the table.
        entity: the class that it was for, or ``""`` for several. units: consumed capacity by index name, with the
            table's own under ``""``, in capacity units, as DynamoDB billed them. by_entity: the same units by
            type; those of a request on several types are divided by the size of their rows.
        attempts: how often it was sent. seconds: how long it took, retries included. error: the code of the
            error that ended it, or None.
        read: rows that DynamoDB read. count: rows that came, after a filter. size: keys or actions of a batch or
            a transaction. options: such as ``ConsistentRead`` and ``Limit``, in DynamoDB's names.
    """

    operation: str
    table: str
    index: str | None = None
    entity: str = ""
    units: Mapping[str, float] = attrs.Factory(dict[str, float])
    by_entity: Mapping[str, float] = attrs.Factory(dict[str, float])
    attempts: int = 1
    seconds: float = 0.0
    error: str | None = None
    read: int = 0
    count: int = 0
    size: int | None = None
    options: Mapping[str, Any] = attrs.Factory(dict[str, Any])

    @property
    def total(self) -> float:
        """All capacity units that the request consumed."""
        return sum(self.units.values())


def observed(
    request: AnyRequest,
    table: str,
    registry: TableDefinition,
    body: Mapping[str, Any],
    *,
    attempts: int,
    seconds: float,
    error: str | None = None,
) -> Observation:
    """What there is to say of a request and its answer."""
    units = consumed_units(body)
    read, count = rows_of(request.operation, body)
    try:
        by_entity = shares(request, body, registry, sum(units.values()))
    except Exception:
        # A row that is none of DynamoDB's is told by whoever reads it; watching must not fail a request.
        by_entity = {UNKNOWN: sum(units.values())}
    wire: Mapping[str, Any] = request.body if isinstance(request, Request) else {}
    return Observation(
        operation=request.operation,
        table=table,
        index=request.index,
        entity=request.entity,
        units=units,
        by_entity=by_entity,
        attempts=attempts,
        seconds=seconds,
        error=error,
        read=read,
        count=count,
        size=_size(request),
        options={name: wire[name] for name in _OPTIONS if name in wire},
    )


def _size(request: AnyRequest) -> int | None:
    if isinstance(request, TransactionRequest):
        return len(request.actions)
    if isinstance(request, BatchRequest):
        return sum(len(asked["Keys"] if isinstance(asked, Mapping) else asked) for asked in request.items.values())  # pyright: ignore[reportUnknownArgumentType]
    return None


class Meter:
    """Adds up what the requests of a block consumed. Threads may share one.

    Attributes:
        requests: how many were sent. units: capacity units in all, as DynamoDB billed them; it does not say what a
            request that failed was billed. seconds: time in requests. slowest: the longest one's seconds.
        retries: attempts beyond the first. items: rows that DynamoDB read. returned: entities handed out, by type.
        discarded: rows that were read and not handed out, by type, with those that a filter dropped under
            ``"(filtered)"``. by_operation, by_index, by_entity: units. errors: how often requests ended so, by code.
    """

    def __init__(self, callback: Callable[[Observation], Any] | None = None) -> None:
        self.requests = 0
        self.units = 0.0
        self.seconds = 0.0
        self.slowest = 0.0
        self.retries = 0
        self.items = 0
        self.by_operation: dict[str, float] = defaultdict(float)
        self.by_index: dict[str, float] = defaultdict(float)
        self.by_entity: dict[str, float] = defaultdict(float)
        self.returned: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._callback = callback
        self._lock = threading.Lock()

    def observe(self, seen: Observation) -> None:
        """Count one request."""
        with self._lock:
            self._add(seen)
        if self._callback is not None:
            try:
                self._callback(seen)
            except Exception:
                # The request has been answered; whoever watches must not turn its outcome into another one.
                _log.exception("The callback of a meter failed on a %s.", seen.operation)

    def _add(self, seen: Observation) -> None:
        self.requests += 1
        self.units += seen.total
        self.seconds += seen.seconds
        self.slowest = max(self.slowest, seen.seconds)
        self.retries += max(0, seen.attempts - 1)
        self.items += seen.read
        self.by_operation[seen.operation] += seen.total
        for index, units in seen.units.items():
            self.by_index[index] += units
        for entity, units in seen.by_entity.items():
            self.by_entity[entity] += units
        if seen.read > seen.count:
            self.discarded[FILTERED] += seen.read - seen.count
        if seen.error is not None:
            self.errors[seen.error] += 1

    def count(self, returned: Mapping[str, int], discarded: Mapping[str, int]) -> None:
        """Count the rows of one answer, by type: what was handed out, and what tablekit dropped."""
        with self._lock:
            self.returned.update(returned)
            self.discarded.update(discarded)

    def __repr__(self) -> str:
        return f"Meter(requests={self.requests}, units={self.units:g}, retries={self.retries})"

    def __str__(self) -> str:
        dropped = sum(self.discarded.values())
        lines = [
            f"{self.units:g} units in {self.requests} requests, {self.retries} retries, {self.seconds:.3f} s",
            f"{self.items} rows read, {sum(self.returned.values())} returned, {dropped} discarded",
        ]
        for word, units in (
            ("operation", self.by_operation),
            ("index", self.by_index),
            ("entity", self.by_entity),
        ):
            shown = ", ".join(f"{name or '(table)'} {amount:g}" for name, amount in sorted(units.items()))
            lines.append(f"by {word}: {shown or 'nothing'}")
        return "\n".join(lines)


@attrs.frozen
class PlannedRequest:
    """A write that a dry run recorded.

    Attributes:
        request: the request. table: the table's name. registry: the table's definition.
    """

    request: AnyRequest
    table: str
    registry: TableDefinition

    @property
    def operation(self) -> str:
        """DynamoDB's name of the operation."""
        return self.request.operation

    def to_wire(self) -> dict[str, Any]:
        """What would have been sent, secrets included."""
        return self.request.to_wire(self.table)

    def explain(self, *, reveal: bool = False) -> WriteExplanation:
        """The write in the forms in which it can be read, and what it costs.

        Parameters:
            reveal: show the values of secret fields.
        """
        return WriteExplanation(self.request, self.table, self.registry, reveal=reveal)

    @property
    def text(self) -> str:
        """The write for reading, in DynamoDB's own names; secret values are masked."""
        return self.explain().text

    @property
    def aws_cli(self) -> str:
        """The command of the AWS CLI that sends it; secret values are masked."""
        return self.explain().aws_cli

    @property
    def boto3(self) -> str:
        """Python that sends it by boto3; secret values are masked."""
        return self.explain().boto3

    def __repr__(self) -> str:
        return f"PlannedRequest({self.operation}, table={self.table!r}, entity={self.request.entity!r})"


class DryRun:
    """The writes that a block would have sent.

    Attributes:
        requests: in the order in which they would have been sent.
    """

    def __init__(self) -> None:
        self.requests: list[PlannedRequest] = []

    def record(self, request: AnyRequest, table: str, registry: TableDefinition) -> None:
        """Keep a request in place of sending it."""
        self.requests.append(PlannedRequest(request, table, registry))

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[PlannedRequest]:
        return iter(self.requests)

    def __str__(self) -> str:
        return "\n\n".join(planned.text for planned in self.requests) or "no writes"


_meters: contextvars.ContextVar[tuple[tuple[object, Meter], ...]] = contextvars.ContextVar(
    "tablekit_meters", default=()
)
_dry_runs: contextvars.ContextVar[Mapping[int, DryRun]] = contextvars.ContextVar("tablekit_dry_runs", default={})  # noqa: B039  (never changed, only replaced)


@contextmanager
def metering(registry: object, meter: Meter) -> Generator[Meter, None, None]:
    """Let a meter watch the requests of a table in this context."""
    token = _meters.set((*_meters.get(), (registry, meter)))
    try:
        yield meter
    finally:
        _meters.reset(token)


@contextmanager
def holding(registry: object) -> Generator[DryRun, None, None]:
    """Hold back the writes of a table in this context, and record them."""
    plan = DryRun()
    token = _dry_runs.set({**_dry_runs.get(), id(registry): plan})
    try:
        yield plan
    finally:
        _dry_runs.reset(token)


def active_meters(registry: object) -> tuple[Meter, ...]:
    """The meters that watch a table in this context."""
    found = _meters.get()
    return tuple(meter for watched, meter in found if watched is registry) if found else ()


def note_rows(registry: object, returned: Mapping[str, int], discarded: Mapping[str, int] | None = None) -> None:
    """Tell the meters of a table how many rows were handed out and how many were dropped, by type."""
    for meter in active_meters(registry):
        meter.count(returned, discarded or {})


def note_row(registry: TableDefinition, item: Item, *, returned: bool) -> None:
    """Tell the meters of a table of one row that was handed out, or dropped."""
    if active_meters(registry):
        one = {type_name(item, registry): 1}
        note_rows(registry, one if returned else {}, {} if returned else one)


def dry_run_of(registry: object) -> DryRun | None:
    """The dry run that holds back the writes of a table in this context."""
    found = _dry_runs.get()
    return found.get(id(registry)) if found else None


def consumed_units(body: Mapping[str, Any]) -> dict[str, float]:
    """Capacity units by index name, the table's own under ``""``, from an answer's ConsumedCapacity."""
    found = body.get("ConsumedCapacity")
    if not found:
        return {}
    units: dict[str, float] = defaultdict(float)
    entries = cast("list[dict[str, Any]]", found if isinstance(found, list) else [found])
    for entry in entries:
        indexes: dict[str, Any] = {
            **entry.get("GlobalSecondaryIndexes", {}),
            **entry.get("LocalSecondaryIndexes", {}),
        }
        for name, capacity in indexes.items():
            units[name] += capacity.get("CapacityUnits", 0.0)
        total = entry.get("CapacityUnits", 0.0)
        units[""] += total - sum(capacity.get("CapacityUnits", 0.0) for capacity in indexes.values())
    return dict(units)
