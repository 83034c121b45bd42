"""A request in the forms in which it can be read: in DynamoDB's own names, as a command, as code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablekit._types import WireRequest
from tablekit.definition.registry import TableDefinition
from tablekit.operations.emit import aws_cli, boto3_call, masked, plain_json
from tablekit.operations.estimates import WriteEstimate, estimate_write

__all__ = ["Shown", "WriteExplanation"]


class Shown:
    """One request in the forms in which it can be read.

    Attributes:
        operation: DynamoDB's name of the operation. table: the table's name. source: the request itself, as it is sent.
        revealed: whether secret values are shown.
    """

    def __init__(self, source: WireRequest, table: str, *, reveal: bool = False, notes: Sequence[str] = ()) -> None:
        self.source = source
        self.table = table
        self.revealed = reveal
        self._notes = tuple(notes)

    @property
    def operation(self) -> str:
        """DynamoDB's name of the operation."""
        return self.source.operation

    @property
    def request(self) -> dict[str, Any]:
        """The request as it is sent; secret values are masked unless they were asked for."""
        wire = self.source.to_wire(self.table)
        secrets: frozenset[str] = getattr(self.source, "secrets", frozenset())
        return wire if self.revealed else masked(wire, secrets)

    @property
    def text(self) -> str:
        """The request for reading: its members in DynamoDB's names, and what is to be known of its cost."""
        request = self.request
        width = max(map(len, request)) + 2
        lines = [self.operation]
        for name, value in request.items():
            first, *more = _lines(value)
            lines.append(f"  {name:<{width}}{first}")
            lines += [f"  {'':<{width}}{line}" for line in more]
        return "\n".join([*lines, *(["", *self._notes] if self._notes else [])])

    @property
    def aws_cli(self) -> str:
        """The command of the AWS CLI that sends this one request, quoted for a POSIX shell."""
        return aws_cli(self.operation, self.request)

    @property
    def boto3(self) -> str:
        """Python that sends this request by boto3."""
        return boto3_call(self.operation, self.request)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.operation} on {self.table!r}>"


def _lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        members: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [
            f"{name} = {inner if isinstance(inner, str) else plain_json(inner)}" for name, inner in members.items()
        ] or ["{}"]
    if isinstance(value, (list, tuple)):
        return [plain_json(inner) for inner in value] or ["[]"]  # pyright: ignore[reportUnknownVariableType]
    return [value if isinstance(value, str) else plain_json(value)]


class WriteExplanation(Shown):
    """What a write will ask of DynamoDB, without asking it.

    Attributes:
        operation: DynamoDB's name of the operation. request: the request as it is sent, secret values masked.
        text, aws_cli, boto3: the request for reading, as a command, as code.
    """

    def __init__(self, source: WireRequest, table: str, registry: TableDefinition, *, reveal: bool = False) -> None:
        super().__init__(source, table, reveal=reveal)
        self._registry = registry

    def estimate(self, *, item_bytes: int | None = None, previous_bytes: int = 0) -> WriteEstimate:
        """What the write is billed, at most, by index.

        Parameters:
            item_bytes: bytes of the row, for updates and deletes; a put spells it.
            previous_bytes: bytes of the row that a put replaces.
        """
        wire = self.source.to_wire(self.table)
        return estimate_write(
            self.operation, wire, self._registry, item_bytes=item_bytes, previous_bytes=previous_bytes
        )
