"""OpenTelemetry: one span for each call on a table. It needs the extra ``tablekit[otel]``.

The spans are of kind INTERNAL: the requests themselves are botocore's, whose own instrumentation makes CLIENT spans
of them below these. Names follow the semantic conventions for databases and for DynamoDB; no span holds a value of
an item, a key or an expression. https://opentelemetry.io/docs/specs/semconv/database/dynamodb/
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tablekit.definition.registry import TableDefinition
from tablekit.errors import ServiceError, TablekitError
from tablekit.operations.calls import Call, watch
from tablekit.operations.observe import Observation

__all__ = ["instrument"]

_OPTIONS = {
    "ConsistentRead": "aws.dynamodb.consistent_read",
    "Limit": "aws.dynamodb.limit",
    "ScanIndexForward": "aws.dynamodb.scan_forward",
    "Select": "aws.dynamodb.select",
    "Segment": "aws.dynamodb.segment",
    "TotalSegments": "aws.dynamodb.total_segments",
}


def instrument(table: TableDefinition, *, tracer_provider: Any = None) -> Callable[[], None]:
    """Make a span of each call on a table; the result takes it off again.

    Parameters:
        tracer_provider: an OpenTelemetry tracer provider; the global one when none is given.

    Raises ``ImportError`` with the command to install where OpenTelemetry is missing.
    """
    try:
        trace: Any = import_module("opentelemetry.trace")
    except ImportError:
        raise ImportError('OpenTelemetry is not installed. Install it: pip install "tablekit[otel]"') from None
    tracer = trace.get_tracer("tablekit", tracer_provider=tracer_provider)

    @contextmanager
    def span_of(call: Call) -> Generator[None, None, None]:
        with tracer.start_as_current_span(
            call.summary,
            kind=trace.SpanKind.INTERNAL,
            attributes=_known_before(call),
            # The message of an error names keys; its type is enough.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                span.set_attributes(_failure(error))
                span.set_status(trace.StatusCode.ERROR)
                raise
            finally:
                span.set_attributes(_known_after(call))

    return watch(table, span_of)


def _known_before(call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {
        "db.system.name": "aws.dynamodb",
        "db.collection.name": call.table,
        "db.query.summary": call.summary,
        "aws.dynamodb.table_names": [call.table],
    }
    if call.entities:
        found["tablekit.entity"] = list(call.entities)
    return found


def _known_after(call: Call) -> dict[str, Any]:
    meter = call.meter
    found: dict[str, Any] = {
        "tablekit.requests": meter.requests,
        "tablekit.retries": meter.retries,
        "tablekit.units": meter.units,
        "tablekit.discarded_rows": sum(meter.discarded.values()),
    }
    returned = sum(meter.returned.values())
    if returned:
        found["db.response.returned_rows"] = returned
    capacity = [shown for seen in call.requests for shown in _capacity(seen)]
    if capacity:
        found["aws.dynamodb.consumed_capacity"] = capacity
    if call.requests:
        found.update(_of_requests(call))
    return found


def _of_requests(call: Call) -> dict[str, Any]:
    first = call.requests[0]
    found: dict[str, Any] = {"db.operation.name": first.operation}
    found.update({_OPTIONS[name]: value for name, value in first.options.items() if name in _OPTIONS})
    if first.index is not None:
        found["aws.dynamodb.index_name"] = first.index
    sizes = [seen.size for seen in call.requests if seen.size is not None]
    if sizes and sum(sizes) > 1:
        found["db.operation.batch.size"] = sum(sizes)
    reads = [seen for seen in call.requests if seen.operation in ("Query", "Scan")]
    if reads:
        found["aws.dynamodb.count"] = sum(seen.count for seen in reads)
        found["aws.dynamodb.scanned_count"] = sum(seen.read for seen in reads)
        found["tablekit.pages"] = len(reads)
    return found


def _capacity(seen: Observation) -> Iterator[str]:
    if seen.units:
        indexes = {name: {"CapacityUnits": units} for name, units in seen.units.items() if name}
        shown: dict[str, Any] = {"TableName": seen.table, "CapacityUnits": seen.total}
        if indexes:
            shown["Indexes"] = indexes
        yield json.dumps(shown)


def _failure(error: BaseException) -> dict[str, Any]:
    found: dict[str, Any] = {"error.type": type(error).__name__}
    cause = error if isinstance(error, ServiceError) else error.__cause__ if isinstance(error, TablekitError) else None
    if isinstance(cause, ServiceError) and cause.code:
        found["db.response.status_code"] = cause.code
    return found
