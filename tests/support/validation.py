"""Check requests against botocore's service model: pynamodb turns that check off for speed."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from tablekit.operations.transport import SyncPort

_TAGS = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})


@functools.cache
def service_model() -> Any:
    """Botocore's model of DynamoDB."""
    return botocore.session.get_session().get_service_model("dynamodb")


def input_shape(operation: str) -> Any:
    """The shape of an operation's request."""
    return service_model().operation_model(operation).input_shape


def validate_request(operation: str, wire: dict[str, Any]) -> None:
    """Fail unless a wire dict is what the service model of its operation takes."""
    report = ParamValidator().validate(wire, input_shape(operation))
    assert not report.has_errors(), f"{operation}: {report.generate_report()}"
    _check_values(wire, input_shape(operation), operation)


def _check_values(value: Any, shape: Any, where: str) -> None:
    # The model gives an attribute value ten optional members and does not say that it has exactly one.
    if shape.name == "AttributeValue":
        assert len(value) == 1, f"{where} has {len(value)} tags"
        assert value.keys() <= _TAGS, f"{where} has an unknown tag"
    if shape.type_name == "structure":
        for name, inner in value.items():
            _check_values(inner, shape.members[name], f"{where}.{name}")
    elif shape.type_name == "map":
        for name, inner in value.items():
            _check_values(inner, shape.value, f"{where}.{name}")
    elif shape.type_name == "list":
        for position, inner in enumerate(value):
            _check_values(inner, shape.member, f"{where}[{position}]")


class RequestRecorder:
    """Keeps and checks each request of a port, or of every port of the process.

    Attributes:
        requests: operation and wire dict of each request, in order.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, operation: str, wire: dict[str, Any]) -> None:
        validate_request(operation, wire)
        self.requests.append((operation, copy.deepcopy(wire)))

    @property
    def operations(self) -> list[str]:
        """The operations, in order."""
        return [operation for operation, _ in self.requests]

    def sent(self, operation: str) -> list[dict[str, Any]]:
        """The requests of one operation."""
        return [wire for name, wire in self.requests if name == operation]


@pytest.fixture
def recorder() -> Iterator[RequestRecorder]:
    """Every request that any port sends during the test, checked."""
    found = RequestRecorder()
    SyncPort.observers.append(found)
    yield found
    SyncPort.observers.remove(found)
