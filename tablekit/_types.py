"""Words of the wire: the shapes DynamoDB sends and takes, and the seam through which requests leave.

This module is layer 0. It imports nothing of tablekit and nothing of pynamodb or botocore.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Literal, Protocol, TypeVar

__all__ = [
    "UNSET",
    "Answer",
    "Attempt",
    "AttributeValue",
    "Item",
    "KeyType",
    "Port",
    "Unset",
    "WireRequest",
]

AttributeValue = dict[str, Any]
"""One attribute value in DynamoDB JSON: a dict of one entry, tag to value, such as ``{"S": "a"}``."""

Item = dict[str, AttributeValue]
"""An item in DynamoDB JSON: attribute name to attribute value. ``B`` and ``BS`` hold ``bytes``."""

KeyType = Literal["S", "N", "B"]
"""The scalar types a key attribute may have."""


class Unset(enum.Enum):
    """The type of `UNSET`, which stands for "nothing was given" where ``None`` is a value.

    An enum member keeps its identity through pickling and copying, and both type checkers narrow on it.
    """

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = Unset.UNSET


class Attempt:
    """One attempt of a request, as the transport saw it.

    Parameters:
        outcome: ``"applied"`` (DynamoDB answered 200), ``"refused"`` (DynamoDB or the connection said
            that nothing happened) or ``"maybe"`` (it was sent and the answer is not known).
        reason: a short word for the outcome: an error code, or the name of an exception class.
    """

    __slots__ = ("outcome", "reason")

    def __init__(self, outcome: Literal["applied", "refused", "maybe"], reason: str = "") -> None:
        self.outcome: Literal["applied", "refused", "maybe"] = outcome
        self.reason = reason

    def __repr__(self) -> str:
        return f"Attempt({self.outcome!r}, {self.reason!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attempt):
            return NotImplemented
        return (self.outcome, self.reason) == (other.outcome, other.reason)

    __hash__ = None  # type: ignore[assignment]


class WireRequest(Protocol):
    """A request that knows its DynamoDB operation and renders itself to a fresh wire dict."""

    @property
    def operation(self) -> str:
        """The operation in DynamoDB's own name, such as ``"PutItem"``."""
        ...

    def to_wire(self, table_name: str) -> dict[str, Any]:
        """A fresh dict in the shape of botocore's service model; the caller may change it."""
        ...


class Answer:
    """What came back for one request.

    Attributes:
        body: the parsed response. ``{}`` when `sent` is false.
        attempts: how each attempt ended, in order; the last one produced `body`.
        sent: false when a dry run recorded the request in place of sending it.
    """

    __slots__ = ("attempts", "body", "sent")

    def __init__(self, body: dict[str, Any], attempts: tuple[Attempt, ...] = (), *, sent: bool = True) -> None:
        self.body = body
        self.attempts = attempts
        self.sent = sent

    @property
    def uncertain(self) -> bool:
        """Whether an attempt before the last may have been applied without our knowing."""
        return any(attempt.outcome != "refused" for attempt in self.attempts[:-1])


T = TypeVar("T")


class Port(Protocol):
    """The only things an operation may await: a request, a pause, another task's result.

    The sync port never suspends, so that a driver of five lines runs an operation to its end; the async
    port suspends on the event loop. Operations are written once over this protocol.
    """

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send one request to the table of that name, with the transport's retries, and return its answer.

        Raises `tablekit.errors.ServiceError` or one of its kind, with the attempts attached.
        """
        ...

    async def sleep(self, seconds: float) -> None:
        """Pause for that many seconds."""
        ...

    async def wait(self, future: Any) -> Any:
        """Wait for a `concurrent.futures.Future` that another thread or task completes."""
        ...

    async def gather(self, calls: list[Awaitable[T]], limit: int) -> list[T]:
        """Run calls with at most `limit` at once, and return their results in order."""
        ...


ReturnValues = Literal["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]
Names = Mapping[str, str]
