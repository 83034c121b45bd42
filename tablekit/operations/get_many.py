"""Reading many entities by their keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Union

from tablekit._types import Item
from tablekit.codecs.base import is_a
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, RequestError
from tablekit.operations.batch_get import read_items
from tablekit.operations.calls import call
from tablekit.operations.dispatch import Report
from tablekit.operations.read import entity_of
from tablekit.operations.session import Session
from tablekit.operations.verbs import KeyBase

__all__ = ["BadKeys", "batch_get", "batch_get_of", "key_list"]

BadKeys = Union[Literal["raise"], Report]
"""What happens to a row that cannot be given as the class of its key: an error, or a function is told of it."""


@call("batch_get")
async def batch_get(
    session: Session,
    keys: Sequence[KeyBase[Any]],
    *,
    consistent: bool | None = None,
    undecodable: BadKeys = "raise",
) -> list[Any]:
    """The entities under some keys of one table, aligned with them; None where there is no row.

    Keys may repeat, and be of different classes; each position gets an object of its own.

    Parameters:
        undecodable: ``"raise"``, or a function that is told the error of each row that cannot be given as the class
            of its key; its place is None.

    Raises `BatchIncomplete`, `WrongEntityType` for a key whose row is another class's, `DecodeError`.
    """
    if undecodable != "raise" and not callable(undecodable):
        raise RequestError(
            f"undecodable={undecodable!r} is no policy of batch_get(); take 'raise', or a function that is given the "
            "error of each row: without one a row that is left out would look like one that is missing."
        )
    for key in keys:
        if not isinstance(key, KeyBase):
            raise RequestError(f"batch_get() takes keys, such as Document.key(...), not {type(key).__name__}.")
        if key.schema.registry is not session.registry:
            raise RequestError(
                f"{key.schema.name} is of table {key.schema.registry.label!r}, not of {session.registry.label!r}. "
                "Read each table's keys through that table."
            )
    chosen = session.registry.consistent_reads if consistent is None else consistent
    items = await read_items(session, [key.item for key in keys], consistent=chosen)
    if undecodable == "raise":
        return [entity_of(session, key.schema, item) for key, item in zip(keys, items)]
    return [_or_told(session, key.schema, item, undecodable) for key, item in zip(keys, items)]


def _or_told(session: Session, schema: EntitySchema, item: Item | None, report: Report) -> Any:
    try:
        return entity_of(session, schema, item)
    except DataError as error:
        report(error)
        return None


def key_list(keys: Any, verb: str) -> list[Any]:
    """A collection of keys as a list. Raises `RequestError` for what is no collection."""
    if not is_a(keys, Iterable):
        raise RequestError(f"{verb}() takes keys, such as Document.key(...), not {type(keys).__name__}.")
    return list(keys)


async def batch_get_of(
    session: Session, keys: Sequence[Any], *, consistent: bool | None = None, undecodable: BadKeys = "raise"
) -> Any:
    """As `batch_get`, for the arguments of a call: one collection of keys gives a list, keys one by one a tuple."""
    if len(keys) == 1 and not isinstance(keys[0], KeyBase):
        asked = key_list(keys[0], "batch_get")
        return await batch_get(session, asked, consistent=consistent, undecodable=undecodable)
    return tuple(await batch_get(session, keys, consistent=consistent, undecodable=undecodable))
