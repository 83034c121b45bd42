"""What is asked of a query as a whole: all its entities, the first, the only one, how many."""

from __future__ import annotations

from typing import Any

import attrs

from tablekit._types import Item
from tablekit.errors import ItemNotFound, SeveralItems
from tablekit.operations.calls import call
from tablekit.operations.pager import Pager, alone, check_readable
from tablekit.operations.queryplan import plan_query
from tablekit.operations.queryspec import QuerySpec
from tablekit.operations.scan import Scan
from tablekit.operations.session import Session

__all__ = ["all_rows", "count_rows", "first_row", "one_row", "reader", "row_exists"]


def reader(spec: QuerySpec, session: Session) -> Pager | Scan:
    """What steps through the entities of a query or a scan."""
    return Scan(spec, session) if spec.parallel else Pager(spec, session)


@call("all")
async def all_rows(spec: QuerySpec, session: Session) -> list[Any]:
    """All entities of a query."""
    pager = reader(spec, session)
    found: list[Any] = []
    while not pager.done:
        found += await pager.step()
    return found


def _few(spec: QuerySpec, limit: int) -> QuerySpec:
    """A query of a few entities, and of no more than it is limited to; no workers are started for them."""
    limit = limit if spec.limit is None else min(limit, spec.limit)
    return attrs.evolve(spec, limit=limit, segment=0, segments=1, units_per_second=None, progress=None)


@call("first")
async def first_row(spec: QuerySpec, session: Session) -> Any:
    """The first entity of a query, or None."""
    found = await all_rows(_few(spec, 1), session)
    return found[0] if found else None


@call("one")
async def one_row(spec: QuerySpec, session: Session) -> Any:
    """The only entity of a query. Raises `ItemNotFound` where there is none, `SeveralItems` where there are more."""
    found = await all_rows(_few(spec, 2), session)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ItemNotFound(f"one() wants exactly one entity, and the query of {spec.where_text} gives none.")
    raise SeveralItems(
        f"one() wants exactly one entity, and the query of {spec.where_text} gives more. "
        "Narrow it, or take first() if any will do."
    )


@call("exists")
async def row_exists(spec: QuerySpec, session: Session) -> bool:
    """Whether a query has an entity."""
    plan_query(spec, session.now())
    return await first_row(_counted(spec), session) is not None


@call("count")
async def count_rows(spec: QuerySpec, session: Session) -> int:
    """How many entities a query has, over all its pages; DynamoDB reads and bills them like the query itself.

    Where DynamoDB's own count cannot tell, the keys are read and counted here: a range whose neighbours come along,
    a limit, classes that are inferred from keys, and what an index does not hold.
    """
    if not spec.knows_types and not spec.hydrate and not alone(spec):
        check_readable(attrs.evolve(spec, handle=None))
    if spec.parallel:
        return await _count_by_reading(spec, session)
    plan = plan_query(spec, session.now(), counting=True)
    by_policy = spec.sources is None and spec.unknown == "skip" and not spec.raw
    if plan.checked or spec.limit is not None or spec.hydrate or spec.untyped == "infer" or by_policy:
        return await _count_by_reading(spec, session)
    total: int = 0
    start = spec.start
    while True:
        answer = await session.send(plan.request(start=start, limit=spec.page_size, count=True))
        total += answer.body.get("Count", 0)
        start = answer.body.get("LastEvaluatedKey")
        if start is None:
            return total


async def _count_by_reading(spec: QuerySpec, session: Session) -> int:
    pager = reader(_counted(spec), session)
    total = 0
    while not pager.done:
        total += len(await pager.step())
    return total


def _counted(spec: QuerySpec) -> QuerySpec:
    """The same query, of which no more is read than must be."""
    if spec.hydrate or spec.handle is not None:
        return spec
    return attrs.evolve(spec, select=None, handle=_nothing)


def _nothing(_entity: type[Any], _item: Item) -> bool:
    """Stands for a row that is only counted."""
    return True
