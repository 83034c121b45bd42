"""Small requests for tests of the transport."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tablekit._types import Answer
from tablekit.operations.driver import run
from tablekit.operations.transport import SyncPort


@dataclass
class Request:
    """A request whose wire dict is given."""

    operation: str
    wire: dict[str, Any] = field(default_factory=dict)

    def to_wire(self, table_name: str) -> dict[str, Any]:
        """The wire dict, with the table's name."""
        return {"TableName": table_name, **self.wire}


def get(key: str = "k") -> Request:
    """A GetItem."""
    return Request("GetItem", {"Key": {"PK": {"S": key}}})


def put(key: str = "k", text: str = "v") -> Request:
    """A PutItem."""
    return Request("PutItem", {"Item": {"PK": {"S": key}, "text": {"S": text}}})


def send(port: SyncPort, request: Request, table: str = "orders") -> Answer:
    """Send one request and return its answer."""
    return run(port.send(request, table))


def history(attempts: Any) -> list[str]:
    """The outcomes of attempts, as words."""
    return [attempt.outcome for attempt in attempts]


def history_of_cancelled(raised: BaseException) -> list[str]:
    """The outcomes of the attempts of a task that was cancelled."""
    return history(told_by_cancelled(raised, "history"))


def told_by_cancelled(raised: BaseException, name: str) -> Any:
    """What an attribute of the error of a cancelled task tells.

    Before Python 3.11 who awaits a task gets a CancelledError of his own, with the task's as its context.
    """
    while not hasattr(raised, name):
        assert raised.__context__ is not None, f"no {name} is told"
        raised = raised.__context__
    return getattr(raised, name)
