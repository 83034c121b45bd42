"""Pages of a query: some entities, and where to go on from them, forward and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

import attrs

from tablekit._types import Item
from tablekit.definition.entity import EntityBase
from tablekit.errors import DataError, QueryError
from tablekit.operations.calls import call
from tablekit.operations.cursors import Side, decode_cursor, encode_cursor, key_in_query
from tablekit.operations.pager import Pager
from tablekit.operations.queryplan import plan_query
from tablekit.operations.queryspec import QuerySpec, is_whole
from tablekit.operations.session import Session

__all__ = ["Page", "Pages", "cursor_after", "read_page"]

E_co = TypeVar("E_co", covariant=True)


@attrs.frozen(kw_only=True)
class Page(Generic[E_co]):
    """One page of a query.

    Attributes:
        items: the entities, in the query's order. cursor: what to ask the next page with, ``page(cursor=...)``; None
            at the end. An empty page with a cursor is not the end.
        previous: what to ask the page before with, ``page(before=...)``; None at the beginning, and on an empty page.
        consumed: capacity units, by index, with the table's own under ``""``. scanned: rows read. filtered: rows of
            these that the filter dropped. discarded: rows that came and are not of the classes asked for, out of the
            range or expired, by type. skipped: rows that a policy left out, by type.
    """

    items: list[E_co]
    cursor: str | None
    previous: str | None
    consumed: Mapping[str, float]
    scanned: int
    filtered: int
    discarded: Mapping[str, int]
    skipped: Mapping[str, int]

    def __iter__(self) -> Iterator[E_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class CursorSource(Protocol):
    """A table's secrets for cursors, the one that encrypts first."""

    cursor_secrets: Sequence[bytes]


def _secrets(spec: QuerySpec) -> Sequence[bytes]:
    return cast(CursorSource, spec.registry).cursor_secrets


@call("page")
async def read_page(
    spec: QuerySpec, session: Session, size: int | None = None, cursor: str | None = None, before: str | None = None
) -> Page[Any]:
    """One page of a query.

    Parameters:
        size: entities; None for what one request brings. cursor: go on after it. before: the page that ends before it.

    Raises `CursorError` before anything is sent, for a cursor that is not of this query. A row that cannot be
    returned ends the page before it; where it comes first, it raises its `DataError`.
    """
    if cursor is not None and before is not None:
        raise QueryError("page() goes on after cursor=, or ends before before=. Give one of them.")
    spec = _sized(spec, size)
    if before is not None:
        return await _page_before(spec, session, before)
    if cursor is not None:
        start = decode_cursor(plan_query(spec, session.now()), cursor, session.name, _secrets(spec))
        spec = attrs.evolve(spec, start=start)
    page, _ = await _page_after(spec, session, fill=spec.limit is not None)
    return page


async def _page_after(spec: QuerySpec, session: Session, *, fill: bool) -> tuple[Page[Any], Item | None]:
    """The page that begins at the start of a spec, and the key after which the next one goes on."""
    pager = Pager(spec, session, peek=fill)
    items = await _items(pager, fill=fill)
    first = pager.first_key if spec.start is not None else None
    return _page(pager, items, _cursor(pager, pager.resume), _cursor(pager, first, side="before")), pager.resume


async def _page_before(spec: QuerySpec, session: Session, before: str) -> Page[Any]:
    """The page that ends before a cursor: read in the other direction, and turned round."""
    plan = plan_query(spec, session.now())
    key = decode_cursor(plan, before, session.name, _secrets(spec), "before")
    pager = Pager(attrs.evolve(spec, reverse=not spec.reverse, start=key), session, peek=True)
    items = await _items(pager, fill=True)
    # Nothing before it: what comes next is the beginning.
    after = encode_cursor(plan, pager.first_key, session.name, _secrets(spec))
    previous = None
    if pager.resume is not None:
        previous = encode_cursor(plan, pager.resume, session.name, _secrets(spec), "before")
    return _page(pager, items[::-1], after, previous)


async def _items(pager: Pager, *, fill: bool) -> list[Any]:
    """The entities of one page: of as many requests as the limit takes, or of one."""
    items: list[Any] = []
    wanted = pager.remaining is not None
    try:
        while not pager.done:
            items += await pager.step()
            if not fill or (items and not wanted):
                break
    except DataError:
        # The entities before the row are a page of their own, and the next page begins with the error.
        if not items:
            raise
    return items


def _cursor(pager: Pager, key: Item | None, side: Side = "after") -> str | None:
    if key is None:
        return None
    return encode_cursor(pager.plan, key, pager.session.name, _secrets(pager.spec), side)


def _page(pager: Pager, items: list[Any], cursor: str | None, previous: str | None) -> Page[Any]:
    return Page(
        items=items,
        cursor=cursor,
        previous=previous,
        consumed=dict(pager.consumed),
        scanned=pager.scanned,
        filtered=pager.filtered,
        discarded=Counter(pager.counts.discarded),
        skipped=Counter(pager.counts.skipped),
    )


def cursor_after(spec: QuerySpec, session: Session, entity: EntityBase) -> str:
    """The cursor for going on after an entity. Raises `CursorError` when it is not in the query."""
    plan = plan_query(spec, session.now())
    return encode_cursor(plan, key_in_query(plan, entity), session.name, _secrets(spec))


class Pages:
    """All pages of a query, one `step` each.

    Attributes:
        done: whether the last page was given.
    """

    def __init__(self, spec: QuerySpec, session: Session, size: int | None, cursor: str | None = None) -> None:
        _sized(spec, size)
        start = None
        if cursor is not None:
            start = decode_cursor(plan_query(spec, session.now()), cursor, session.name, _secrets(spec))
        self._spec = attrs.evolve(spec, start=start)
        self._session = session
        self._size = size
        self._left = spec.limit
        self.done = False

    async def step(self) -> Page[Any]:
        """The next page."""
        limits = [limit for limit in (self._size, self._left) if limit is not None]
        spec = attrs.evolve(self._spec, limit=min(limits, default=None))
        page, resume = await _page_after(spec, self._session, fill=self._size is not None)
        self._spec = attrs.evolve(self._spec, start=resume)
        if self._left is not None:
            self._left -= len(page)
        self.done = resume is None or self._left == 0
        return page


def _sized(spec: QuerySpec, size: int | None) -> QuerySpec:
    if spec.segments > 1:
        raise QueryError("A scan in segments has no position, and so no pages. Iterate over it, or leave segments out.")
    if size is None:
        return spec
    if not is_whole(size):
        raise QueryError(f"The size of a page must be a whole number of at least 1, not {size!r}.")
    smaller = size if spec.limit is None else min(size, spec.limit)
    spec = attrs.evolve(spec, limit=smaller)
    spec.check()
    return spec
