"""Going through the pages of a query, exactly once each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from tablekit._types import Item
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, QueryError
from tablekit.operations.batch_get import read_items
from tablekit.operations.calls import call
from tablekit.operations.dispatch import Counts, sound_key
from tablekit.operations.observe import consumed_units, note_rows
from tablekit.operations.queryplan import QueryPlan, plan_query
from tablekit.operations.queryspec import QuerySpec, index_sources
from tablekit.operations.session import Session
from tablekit.wire.pause import MANY_ROWS, CollectionsPaused
from tablekit.wire.requests import Request

__all__ = ["Pager", "alone", "check_readable"]

FIRST_FILTERED_PAGE = 100
"""Rows that the first request reads when a limit is given and a filter may drop them; it doubles from there."""

LARGEST_PAGE = 5_000


class Pager:
    """A position in a query: one `step` is one request.

    Parameters:
        peek: read one row more than is wanted, to see whether there is one: DynamoDB does not say.

    Attributes:
        plan: the request; made anew when a class is registered meanwhile.
        resume: the key after which a query goes on that returned the last entity; None at the end.
        first_key: the key of the first row that was returned; None until there is one.
        done: whether everything has been returned. remaining: entities still wanted; None for all.
        consumed: capacity units so far, by index. scanned: rows read. filtered: rows that DynamoDB read and
            the filter dropped. counts: rows by type: returned, discarded, skipped.
    """

    def __init__(self, spec: QuerySpec, session: Session, *, peek: bool = False) -> None:
        check_readable(spec)
        self.spec = spec
        self.session = session
        self.plan: QueryPlan = plan_query(spec, session.now())
        self.counts = Counts()
        self._dispatcher = self.plan.dispatcher(session.now, self.counts)
        self.resume: Item | None = spec.start
        self.first_key: Item | None = None
        self.done = False
        self.remaining = spec.limit
        self.consumed: Counter[str] = Counter()
        self.scanned = 0
        self.filtered = 0
        self._limit = 0
        self._peek = peek
        self._error: DataError | None = None

    @call("query")
    async def step(self) -> list[Any]:
        """The entities of the next request; empty where its rows were all dropped.

        Raises `DataError` for a row that cannot be returned, once the entities before it have been.
        """
        if self._error is not None:
            pending, self._error = self._error, None
            self.done = True
            raise pending
        self._renew()
        answer = await self.session.send(self.request())
        self._limit = min(self._limit * 2, LARGEST_PAGE)
        items: list[Item] = answer.body.get("Items", [])
        scanned = answer.body.get("ScannedCount", len(items))
        self.scanned += scanned
        self.filtered += scanned - len(items)
        self.consumed.update(consumed_units(answer.body))
        rows = await self._full_rows(items) if self.spec.hydrate else items
        if self.spec.hydrate:
            items = [item for item, row in zip(items, rows) if row is not None]
        before = attrs.evolve(self.counts, returned=self.counts.returned.copy(), discarded=self._dropped())
        with CollectionsPaused(len(rows) >= MANY_ROWS):
            found = [row for row in rows if row is not None]
            entities, position, error = self._dispatcher.entities(found, self.remaining)
        if entities and self.first_key is None:
            self.first_key = self.plan.resume_key(items[self._dispatcher.first])
        self._move(items, position, answer.body.get("LastEvaluatedKey"), error)
        note_rows(self.spec.registry, self.counts.returned - before.returned, self._dropped() - before.discarded)
        if self.remaining is not None:
            self.remaining -= len(entities)
        self._close(entities, error)
        return entities

    def request(self) -> Request:
        """The request that the next step sends."""
        return self.plan.request(start=self.resume, limit=self._rows_to_read())

    def _close(self, entities: list[Any], error: DataError | None) -> None:
        self.done = self.resume is None or self.remaining == 0
        if error is None:
            return
        self.done = not entities
        if not entities:
            raise error
        self._error = error

    def _renew(self) -> None:
        """Plan anew when a class was registered: its rows may lie where only others lay before."""
        if self.plan.generation != self.spec.registry.generation:
            self.plan = plan_query(self.spec, self.session.now())
            self._dispatcher = self.plan.dispatcher(self.session.now, self.counts)

    def _rows_to_read(self) -> int | None:
        exact = not self.plan.filtered and not self.plan.checked
        size, wanted = self.spec.page_size, self.remaining
        if wanted is not None and self._peek:
            wanted += 1
        if size is not None:
            return min(size, wanted) if wanted is not None and exact else size
        if wanted is None:
            return None
        # With a filter, Limit counts rows before it: reading just what is wanted would take many requests,
        # and reading a whole megabyte for one row would cost 128 units. Without one, policies may drop rows too.
        self._limit = max(self._limit or (wanted if exact else FIRST_FILTERED_PAGE), wanted)
        return self._limit

    def _move(self, items: Sequence[Item], position: int, last: Item | None, error: DataError | None) -> None:
        """Go on after the last row gone through; a row that raised is not, so that it raises again."""
        if position == len(items) and error is None:
            self.resume = last
        elif position:
            self.resume = self.plan.resume_key(items[position - 1])

    async def _full_rows(self, items: Sequence[Item]) -> Sequence[Item | None]:
        """The whole rows of what an index brought, in the index's order; None for rows that are gone."""
        names = self.spec.registry.key_names
        keys = [sound_key(self.spec.registry, {name: item.get(name) for name in names}) for item in items]
        options = self.plan.full_row_options()
        return await read_items(self.session, keys, consistent=self.spec.reads_consistently, options=options)

    def _dropped(self) -> Counter[str]:
        return self.counts.discarded + self.counts.skipped


def check_readable(spec: QuerySpec) -> None:
    """An index that does not hold the type gives no entities by itself."""
    if spec.knows_types or spec.hydrate:
        return
    name, attribute = "" if spec.index is None else spec.index.name, spec.registry.type_attribute
    if spec.handle is None:
        raise QueryError(
            f"Index {name!r} does not project {attribute}, so that its rows cannot be told apart. Add .hydrate() to "
            "read the full rows (one BatchGetItem a page), use .keys(), or project the attribute."
        )
    if not alone(spec):
        raise QueryError(
            f"Index {name!r} does not project {attribute}, and not exactly one class uses it, so that its keys cannot "
            "be told apart. Add .hydrate() in place of .keys(), or project the attribute."
        )


def alone(spec: QuerySpec) -> bool:
    """Whether the query asks for one class, and no other class of the table can have rows in the index."""
    if spec.schemas is None or len(spec.schemas) != 1 or spec.index is None:
        return False
    (mine,) = spec.schemas
    return not any(
        _apart(mine, other) and index_sources(other, spec.index) for other in spec.registry.entities.values()
    )


def _apart(mine: EntitySchema, other: EntitySchema) -> bool:
    return not issubclass(other.entity, mine.entity)
