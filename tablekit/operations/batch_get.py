"""Reading many rows by their keys."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

from tablekit._types import Item
from tablekit.codecs.compare import canonical
from tablekit.errors import BatchIncomplete
from tablekit.operations.dispatch import sound_key
from tablekit.operations.errors_map import invalid_response
from tablekit.operations.session import Session
from tablekit.wire.requests import BatchRequest

__all__ = ["backoff", "chunks", "read_items", "token_of"]

KEYS_IN_ONE_REQUEST = 100
ATTEMPTS_WITHOUT_PROGRESS = 8
"""Requests in a row that may process nothing before the rest is reported."""


def token_of(key: Mapping[str, Any]) -> Hashable:
    """A key in a form that is equal for keys that DynamoDB takes for equal: numbers by value."""
    # Keys are texts, nearly always.
    return tuple([("S" in av and ("S", av["S"])) or canonical(av) for _, av in sorted(key.items())])


def chunks(values: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """A sequence in portions."""
    return [values[start : start + size] for start in range(0, len(values), size)]


def backoff(attempt: int) -> float:
    """Seconds to wait before the next attempt: full jitter up to 50 ms times two to the attempt, at most 5 s."""
    return random.uniform(0, min(5.0, 0.05 * 2**attempt))  # noqa: S311  (jitter, no secret)


async def read_items(
    session: Session,
    keys: Sequence[Item],
    *,
    consistent: bool = False,
    options: Mapping[str, Any] | None = None,
    parallel: int = 4,
) -> list[Item | None]:
    """The rows under some keys, aligned with them; None where there is no row.

    Keys may repeat; each is asked for once. Raises `BatchIncomplete` with the keys that DynamoDB did not get
    round to within the retries.
    """
    wanted = list({token_of(key): key for key in keys}.values())
    found: dict[Hashable, Item] = {}
    calls = [_read_chunk(session, chunk, found, consistent, options) for chunk in chunks(wanted, KEYS_IN_ONE_REQUEST)]
    left = [key for part in await session.gather(calls, parallel) for key in part]
    if left:
        raise BatchIncomplete(
            f"{len(left)} of {len(wanted)} keys were not read: DynamoDB returned them unprocessed again and again "
            "(throttling). Read .unprocessed later, or with less at a time.",
            unprocessed=left,
        )
    return [found.get(token_of(key)) for key in keys]


async def _read_chunk(
    session: Session,
    keys: Sequence[Item],
    found: dict[Hashable, Item],
    consistent: bool,
    options: Mapping[str, Any] | None,
) -> list[Item]:
    names = session.registry.key_names
    left = list(keys)
    fruitless = 0
    while left:
        asked: dict[str, Any] = {"Keys": left, **(options or {})}
        if consistent:
            asked["ConsistentRead"] = True
        answer = await session.send(BatchRequest("BatchGetItem", {session.name: asked}))
        responses: Any = answer.body.get("Responses", {})
        if not isinstance(responses, Mapping):  # a list is what a transaction answers with
            raise invalid_response("UnreadableBody", "BatchGetItem", answer.attempts, session.name)
        for item in cast("Mapping[str, list[Item]]", responses).get(session.name, []):
            key = sound_key(session.registry, {name: item.get(name) for name in names})
            found[token_of(key)] = item
        rest: list[Item] = answer.body.get("UnprocessedKeys", {}).get(session.name, {}).get("Keys", [])
        fruitless = fruitless + 1 if len(rest) == len(left) else 0
        left = rest
        if left and (fruitless >= ATTEMPTS_WITHOUT_PROGRESS or not await session.rest(backoff(fruitless))):
            return left
    return []
