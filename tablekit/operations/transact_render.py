"""The body of a transaction: its actions as they are sent, in one form whatever the process, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.definition.schema import EntitySchema
from tablekit.errors import LimitExceeded, RequestError, TablekitError
from tablekit.operations.batch_get import token_of
from tablekit.operations.plans import WritePlan
from tablekit.operations.session import Session
from tablekit.operations.unique import Guard, GuardAction
from tablekit.wire.sizes import item_size, size_bound, value_size

__all__ = [
    "MAX_ACTIONS",
    "MAX_BYTES",
    "RenderedAction",
    "SessionOf",
    "TableNames",
    "canonical_part",
    "check_limits",
    "guard_action",
    "main_action",
    "too_many",
]

MAX_ACTIONS = 100
"""Actions of one transaction, guard rows of unique values included."""
MAX_BYTES = 4 * 1024 * 1024
"""The size of all items of one transaction, in bytes."""

_KINDS = {"PutItem": "Put", "UpdateItem": "Update", "DeleteItem": "Delete", "ConditionCheck": "ConditionCheck"}

SessionOf = Callable[[EntitySchema], Session]
"""Gives the session of a class, for the name of its table."""


@attrs.frozen
class RenderedAction:
    """One action as it is sent.

    Attributes:
        step: the place of the write that it belongs to. wire: such as ``{"Put": {...}}``. secrets: what must be masked.
        row: the row that it is on, by table and key.
        explain: what its failed condition means, by the stored row. guard: the value that it claims or releases; None
            for the write itself.
    """

    step: int
    wire: dict[str, Any]
    secrets: frozenset[str]
    explain: Callable[[Item | None], TablekitError]
    row: Hashable
    guard: Guard | None = None


class TableNames:
    """The physical names of the tables of a transaction, which must lie in one place."""

    def __init__(self, session: Session, session_of: SessionOf) -> None:
        self._session = session
        self._session_of = session_of
        self._names: dict[int, str] = {id(session.registry): session.name}

    def of(self, schema: EntitySchema) -> str:
        """The name of a class's table. Raises `RequestError` for one that is reached elsewhere."""
        found = self._names.get(id(schema.registry))
        if found is None:
            other = self._session_of(schema)
            self._check(other)
            found = self._names[id(schema.registry)] = other.name
        return found

    def _check(self, other: Session) -> None:
        mine, theirs = (getattr(session.port, "settings", None) for session in (self._session, other))
        for name in ("region", "endpoint_url"):
            here, there = getattr(mine, name, None), getattr(theirs, name, None)
            if here and there and here != there:
                raise RequestError(
                    f"Tables {self._session.registry.label!r} and {other.registry.label!r} are connected with "
                    f"different {name}= ({here!r} and {there!r}); one request reaches one place. Connect both alike."
                )


def main_action(number: int, plan: WritePlan, names: TableNames) -> RenderedAction:
    """A write as one action."""
    name = names.of(plan.schema)
    wire = {_KINDS[plan.request.operation]: canonical_part(plan.request.part(name))}
    return RenderedAction(number, wire, plan.request.secrets, plan.explain, (name, token_of(plan.key)))


def guard_action(action: GuardAction, names: TableNames) -> RenderedAction:
    """An action on a guard row, which belongs to the write whose value it guards."""
    guard = action.guard
    name = names.of(guard.schema)
    wire = {action.kind: canonical_part(action.request.part(name))}
    row = name, token_of(guard.key)
    return RenderedAction(guard.step, wire, action.request.secrets, action.explain, row, guard)


def canonical_part(part: Mapping[str, Any]) -> dict[str, Any]:
    """An action with sets and maps in one order: equal writes give equal bytes, in every process."""
    found = dict(part)
    for name in ("Item", "Key"):
        if name in found:
            found[name] = _canonical_map(found[name])
    if "ExpressionAttributeValues" in found:
        found["ExpressionAttributeValues"] = {
            key: _canonical(value) for key, value in found["ExpressionAttributeValues"].items()
        }
    return found


def _canonical_map(values: Mapping[str, Any]) -> dict[str, Any]:
    # Most values are texts and numbers, which have one form.
    return {
        name: value if "S" in value or "N" in value else _canonical(value) for name, value in sorted(values.items())
    }


def _canonical(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for tag, inner in value.items():
        if tag in ("SS", "NS", "BS"):
            return {tag: sorted(inner)}
        if tag == "L":
            return {tag: [_canonical(each) for each in inner]}
        if tag == "M":
            return {tag: _canonical_map(inner)}
    return value


def too_many(count: int) -> LimitExceeded:
    """The error for more actions than a transaction takes."""
    return LimitExceeded(
        f"A transaction takes at most {MAX_ACTIONS} actions, guard rows of unique values included, and this one has "
        f"{count}. Splitting it would not be all or nothing: use several transactions, or a batch.",
        limit=MAX_ACTIONS,
        actual=count,
    )


def check_limits(actions: Sequence[RenderedAction]) -> None:
    """Refuse what DynamoDB would refuse whatever is stored. Raises `LimitExceeded`, `RequestError`."""
    if len(actions) > MAX_ACTIONS:
        raise too_many(len(actions))
    if len({action.row for action in actions}) < len(actions):
        raise RequestError(
            "Two actions of this transaction are on one row, reached through two Table objects of one name. DynamoDB "
            "takes one action on a row."
        )
    if sum(_bound(action.wire) for action in actions) <= MAX_BYTES:
        return
    size = sum(_size(action.wire) for action in actions)
    if size > MAX_BYTES:
        raise LimitExceeded(
            f"The items of this transaction are {size:,} bytes together, and DynamoDB takes at most {MAX_BYTES:,}. "
            "Write fewer rows in one transaction.",
            limit=MAX_BYTES,
            actual=size,
        )


def _bound(wire: Mapping[str, Any]) -> int:
    """At least what `_size` gives, and quicker."""
    (part,) = wire.values()
    sent = part.get("Item")
    return size_bound(sent if sent is not None else part["Key"]) + size_bound(part.get("ExpressionAttributeValues", {}))


def _size(wire: Mapping[str, Any]) -> int:
    (part,) = wire.values()
    sent = part.get("Item")
    if sent is not None:
        return item_size(sent)
    values: Mapping[str, Any] = part.get("ExpressionAttributeValues", {})
    return item_size(part["Key"]) + sum(map(value_size, values.values()))
