"""Going through the pages of a query, exactly once each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tablekit._types import Item
from tablekit.errors import DataError, QueryError
from tablekit.operations.batch_get import read_items
from tablekit.operations.dispatch import Dispatcher
from tablekit.operations.observe import active_meters, consumed_units
from tablekit.operations.queryplan import QueryPlan, plan_query
from tablekit.operations.queryspec import QuerySpec
from tablekit.operations.session import Session

__all__ = ["Pager", "count_rows"]

FIRST_FILTERED_PAGE = 100
"""Rows that the first request reads when a limit is given and a filter may drop them; it doubles from there."""

LARGEST_PAGE = 5_000


class Pager:
    """A position in a query: one `step` is one request.

    Attributes:
        last_key: the key after which the next request goes on; None at the start, and at the end.
        resume: the key after which a query goes on that returned the last entity; None at the end.
        done: whether everything has been returned. remaining: entities still wanted; None for all.
        consumed: capacity units so far, by index. scanned: rows read. discarded, skipped: rows not returned, by type.
    """

    def __init__(self, spec: QuerySpec, session: Session) -> None:
        self.spec = spec
        self.session = session
        self.plan: QueryPlan = plan_query(spec, session.now())
        self.dispatcher: Dispatcher = self.plan.dispatcher(session.now)
        _check_readable(spec)
        self.last_key: Item | None = spec.start
        self.resume: Item | None = None
        self.done = False
        self.remaining = spec.limit
        self.consumed: Counter[str] = Counter()
        self.scanned = 0
        self._limit = FIRST_FILTERED_PAGE
        self._error: DataError | None = None

    @property
    def discarded(self) -> Counter[str]:
        """Rows that were read and not of the classes asked for, by type."""
        return self.dispatcher.discarded

    @property
    def skipped(self) -> Counter[str]:
        """Rows that a policy left out, by type."""
        return self.dispatcher.skipped

    async def step(self, rows: int | None = None) -> list[Any]:
        """The entities of the next request; empty where its rows were all dropped.

        Parameters:
            rows: rows to read at most, in place of the page size.

        Raises `DataError` for a row that cannot be returned, once the entities before it have been.
        """
        if self._error is not None:
            pending, self._error = self._error, None
            self.done = True
            raise pending
        limit = self._page_limit() if rows is None else rows
        answer = await self.session.send(self.plan.request(start=self.last_key, limit=limit))
        items: list[Item] = answer.body.get("Items", [])
        self.scanned += answer.body.get("ScannedCount", len(items))
        self.consumed.update(consumed_units(answer.body))
        if self.spec.hydrate:
            items = await self._full_rows(items)
        before = (Counter(self.dispatcher.returned), self.discarded + self.skipped)
        entities, position, error = self.dispatcher.entities(items, self.remaining)
        self._move(items, position, answer.body.get("LastEvaluatedKey"), len(entities))
        for meter in active_meters(self.spec.registry):
            dropped = self.discarded + self.skipped - before[1]
            meter.count(answer.body.get("Count", 0), self.dispatcher.returned - before[0], dropped)
        if error is not None:
            if not entities:
                self.done = True
                raise error
            self._error = error
            self.done = False
        return entities

    def _page_limit(self) -> int | None:
        if self.spec.page_size is not None:
            return self.spec.page_size
        if self.remaining is None:
            return None
        if not self.plan.filtered and not self.plan.checked:
            return self.remaining
        # With a filter, Limit counts rows before it: reading just what is wanted would take many requests,
        # and reading a whole megabyte for one row would cost 128 units.
        limit = max(self._limit, self.remaining)
        self._limit = min(self._limit * 2, LARGEST_PAGE)
        return limit

    def _move(self, items: Sequence[Item], position: int, last: Item | None, returned: int) -> None:
        if self.remaining is not None:
            self.remaining -= returned
        # Where the limit was reached inside the page, the query goes on after the last row gone through.
        self.resume = self.plan.resume_key(items[position - 1]) if position < len(items) else last
        self.last_key = self.resume
        self.done = self.resume is None or self.remaining == 0

    async def _full_rows(self, items: Sequence[Item]) -> list[Item]:
        """The whole rows of what an index brought, in the index's order; rows that are gone are left out."""
        names = self.spec.registry.key_names
        keys = [{name: item[name] for name in names} for item in items]
        found = await read_items(self.session, keys)
        return [{**item, **row} for item, row in zip(items, found) if row is not None]


def _check_readable(spec: QuerySpec) -> None:
    """An index that does not hold the type gives no entities by itself."""
    index = spec.index
    if index is None or spec.hydrate:
        return
    if not index.holds(spec.registry.type_attribute, spec.registry.key_names, spec.registry.type_attribute):
        raise QueryError(
            f"Index {index.name!r} does not project {spec.registry.type_attribute}, so that its rows cannot be told "
            "apart. Add .hydrate() to read the full rows (one BatchGetItem a page), use .keys(), or project the "
            "attribute."
        )


async def count_rows(spec: QuerySpec, session: Session) -> int:
    """How many rows a query has, over all its pages; DynamoDB reads and bills them like the query itself."""
    plan = plan_query(spec, session.now(), counting=True)
    if plan.checked or spec.limit is not None:
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
    """Where rows must be looked at to be counted: a range whose neighbours come along, or a limit."""
    pager = Pager(spec, session)
    total = 0
    while not pager.done:
        total += len(await pager.step())
    return total
