"""What watches requests as they pass: meters, and dry runs that hold writes back."""

from __future__ import annotations

import contextvars
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Union

import attrs

from tablekit.wire.requests import BatchRequest, Request, TransactionRequest

__all__ = [
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
]

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""The operations that a dry run holds back."""

AnyRequest = Union[Request, BatchRequest, TransactionRequest]


@attrs.frozen
class Observation:
    """One request that was answered or failed.

    Attributes:
        operation: DynamoDB's name. table, index: what it read or wrote; index is None for the table.
        entity: the class that it was for, or ``""``. units: consumed capacity by index name, with the
            table's own under ``""``, in capacity units. attempts: how often it was sent. seconds: how long it
            took, retries included. error: the code of the error that ended it, or None.
    """

    operation: str
    table: str
    index: str | None
    entity: str
    units: Mapping[str, float]
    attempts: int
    seconds: float
    error: str | None = None

    @property
    def total(self) -> float:
        """All capacity units that the request consumed."""
        return sum(self.units.values())


class Meter:
    """Adds up what the requests of a block consumed.

    Attributes:
        requests: how many were sent. units: capacity units in all. seconds: time in requests.
        retries: attempts beyond the first. items: rows that came. returned: entities handed out, by type.
        discarded: rows that were read and dropped, by type. by_operation, by_index, by_entity: units.
    """

    def __init__(self, callback: Callable[[Observation], Any] | None = None) -> None:
        self.requests = 0
        self.units = 0.0
        self.seconds = 0.0
        self.retries = 0
        self.items = 0
        self.by_operation: dict[str, float] = defaultdict(float)
        self.by_index: dict[str, float] = defaultdict(float)
        self.by_entity: dict[str, float] = defaultdict(float)
        self.returned: Counter[str] = Counter()
        self.discarded: Counter[str] = Counter()
        self._callback = callback

    def observe(self, seen: Observation) -> None:
        """Count one request."""
        self.requests += 1
        self.units += seen.total
        self.seconds += seen.seconds
        self.retries += max(0, seen.attempts - 1)
        self.by_operation[seen.operation] += seen.total
        for index, units in seen.units.items():
            self.by_index[index] += units
        if seen.entity:
            self.by_entity[seen.entity] += seen.total
        if self._callback is not None:
            self._callback(seen)

    def count(self, read: int, returned: Mapping[str, int], discarded: Mapping[str, int]) -> None:
        """Count the rows of one answer: how many came, what was handed out and what was dropped, by type."""
        self.items += read
        self.returned.update(returned)
        self.discarded.update(discarded)

    def __repr__(self) -> str:
        return f"Meter(requests={self.requests}, units={self.units}, retries={self.retries})"


@attrs.frozen
class PlannedRequest:
    """A write that a dry run recorded.

    Attributes:
        operation: DynamoDB's name. request: the request. table: the table's name.
    """

    request: AnyRequest
    table: str

    @property
    def operation(self) -> str:
        """DynamoDB's name of the operation."""
        return self.request.operation

    def to_wire(self) -> dict[str, Any]:
        """What would have been sent, secrets included."""
        return self.request.to_wire(self.table)


class DryRun:
    """The writes that a block would have sent.

    Attributes:
        requests: in the order in which they would have been sent.
    """

    def __init__(self) -> None:
        self.requests: list[PlannedRequest] = []

    def record(self, request: AnyRequest, table: str) -> None:
        """Keep a request in place of sending it."""
        self.requests.append(PlannedRequest(request, table))

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[PlannedRequest]:
        return iter(self.requests)


_meters: contextvars.ContextVar[tuple[tuple[int, Meter], ...]] = contextvars.ContextVar("tablekit_meters", default=())
_dry_runs: contextvars.ContextVar[Mapping[int, DryRun]] = contextvars.ContextVar("tablekit_dry_runs", default={})  # noqa: B039  (never changed, only replaced)


@contextmanager
def metering(registry: object, meter: Meter) -> Iterator[Meter]:
    """Let a meter watch the requests of a table in this context."""
    token = _meters.set((*_meters.get(), (id(registry), meter)))
    try:
        yield meter
    finally:
        _meters.reset(token)


@contextmanager
def holding(registry: object) -> Iterator[DryRun]:
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
    return tuple(meter for key, meter in found if key == id(registry)) if found else ()


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
    entries: list[dict[str, Any]] = found if isinstance(found, list) else [found]
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
