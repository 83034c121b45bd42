"""The query: a builder that never changes, and the ways to get its entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

import attrs
from typing_extensions import Self

from tablekit.definition.registry import UnknownPolicy, UntypedPolicy
from tablekit.errors import QueryError
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.operations.cursors import decode_cursor, encode_cursor
from tablekit.operations.dispatch import RawItem
from tablekit.operations.driver import run
from tablekit.operations.pager import Pager, count_rows
from tablekit.operations.queryspec import Bound, QuerySpec, RangeOperator
from tablekit.operations.session import Session, SessionSource

__all__ = ["AioQuery", "Grouped", "Page", "Query"]

E_co = TypeVar("E_co", covariant=True)
C = TypeVar("C")


@attrs.frozen(kw_only=True)
class Page(Generic[E_co]):
    """One page of a query.

    Attributes:
        items: the entities, in DynamoDB's order. cursor: what to ask the next page with; None at the end. An empty
            page with a cursor is not the end.
        consumed: capacity units, by index, with the table's own under ``""``. scanned: rows read.
        discarded: rows that were read and are not of the classes asked for, by type. skipped: rows that a policy
            left out, by type.
    """

    items: list[E_co]
    cursor: str | None
    consumed: Mapping[str, float]
    scanned: int
    discarded: Mapping[str, int]
    skipped: Mapping[str, int]

    def __iter__(self) -> Iterator[E_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Grouped:
    """The entities of a query, in one list for each class.

    ``grouped[Document]`` is the documents, those of subclasses included, in DynamoDB's order.
    """

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __getitem__(self, cls: type[C]) -> list[C]:
        return [item for item in self.items if isinstance(item, cls)]

    @property
    def by_type(self) -> dict[str, list[Any]]:
        """The entities by their stored type."""
        found: dict[str, list[Any]] = {}
        for item in self.items:
            found.setdefault(getattr(item, "entity_type", ""), []).append(item)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def _single(operator: str, field: Mapping[str, Any]) -> tuple[str, Any]:
    if len(field) != 1:
        raise QueryError(f"{operator}() takes one field of the sort key, and was given {len(field)}.")
    return next(iter(field.items()))


class Query(Generic[E_co]):
    """A query or a scan; each method that refines it gives another one.

    Iterate over it, ``for`` or ``async for``, or call `all`, `first`, `one`, `page`, `pages`, `count`, `exists`
    or `grouped`. Nothing is sent before.
    """

    __slots__ = ("_spec",)

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> QuerySpec:
        """What the query was told."""
        return self._spec

    @property
    def aio(self) -> AioQuery[E_co]:
        """The same query, awaited."""
        return AioQuery(self._spec)

    def _with(self, **changes: Any) -> Self:
        spec = attrs.evolve(self._spec, **changes)
        spec.check()
        return type(self)(spec)

    # Refining

    def where(self, *conditions: Condition) -> Self:
        """Only items for which the conditions hold.

        DynamoDB reads and bills items before it filters them. In a query of several classes a condition on the
        fields of some judges only their items; the others are returned as they are.
        """
        return self._with(where=(*self._spec.where, *conditions))

    def between(self, **field: tuple[Any, Any]) -> Self:
        """Only items whose sort key lies between two values of a field, both included: ``between(day=(a, b))``."""
        name, ends = _single("between", field)
        if not isinstance(ends, tuple) or len(ends) != 2:
            raise QueryError(f"between({name}=...) takes two values: between({name}=(low, high)).")
        return self._bound("between", name, *ends)

    def begins_with(self, **field: str) -> Self:
        """Only items whose sort key goes on with this beginning of a field: ``begins_with(doc_id="2026-")``."""
        return self._bound("begins_with", *_single("begins_with", field))

    def after(self, **field: Any) -> Self:
        """Only items whose field in the sort key is greater."""
        return self._bound("after", *_single("after", field))

    def before(self, **field: Any) -> Self:
        """Only items whose field in the sort key is less."""
        return self._bound("before", *_single("before", field))

    def at_least(self, **field: Any) -> Self:
        """Only items whose field in the sort key is this or greater."""
        return self._bound("at_least", *_single("at_least", field))

    def at_most(self, **field: Any) -> Self:
        """Only items whose field in the sort key is this or less."""
        return self._bound("at_most", *_single("at_most", field))

    def _bound(self, operator: RangeOperator, field: str, low: Any, high: Any = None) -> Self:
        return self._with(bounds=(*self._spec.bounds, Bound(operator, field, low, high)))

    def select(self, *columns: Column[Any]) -> Self:
        """Only these columns; the entities are partial, and touching another field is `NotLoaded`.

        It saves transfer and decoding; DynamoDB bills the whole items.
        """
        if not columns:
            raise QueryError("select() names no column.")
        return self._with(select=columns)

    def reverse(self, reverse: bool = True) -> Self:
        """In descending order of the sort key."""
        return self._with(reverse=reverse)

    def consistent(self, consistent: bool = True) -> Self:
        """With a strongly consistent read, at twice the units; not on a global index."""
        return self._with(consistent=consistent)

    def limit(self, entities: int | None) -> Self:
        """At most so many entities in all."""
        return self._with(limit=entities)

    def page_size(self, rows: int | None) -> Self:
        """Read at most so many rows in one request, before any filter."""
        return self._with(page_size=rows)

    def unknown(self, policy: UnknownPolicy) -> Self:
        """What happens to rows of a type that no class has: ``"raise"`` or ``"skip"``."""
        if policy not in ("raise", "skip"):
            raise QueryError(f"unknown({policy!r}) is no policy; take 'raise' or 'skip', or .raw().")
        return self._with(unknown=policy)

    def untyped(self, policy: UntypedPolicy) -> Self:
        """What happens to rows without a type: ``"raise"``, ``"skip"`` or ``"infer"`` by the key."""
        if policy not in ("raise", "skip", "infer"):
            raise QueryError(f"untyped({policy!r}) is no policy; take 'raise', 'skip' or 'infer', or .raw().")
        return self._with(untyped=policy)

    def raw(self) -> Query[E_co | RawItem]:
        """Give rows of unknown type, and rows without a type, as `RawItem`."""
        return Query(attrs.evolve(self._spec, raw=True))

    def hydrate(self) -> Self:
        """Read the full row of each item that an index holds in part: one BatchGetItem a page, in the same order."""
        return self._with(hydrate=True)

    # Getting

    def _session(self) -> Session:
        return cast(SessionSource, self._spec.registry).session()

    def _aio_session(self) -> Session:
        return cast(SessionSource, self._spec.registry).aio_session()

    def __iter__(self) -> Iterator[E_co]:
        return _Entities(Pager(self._spec, self._session()))

    def __aiter__(self) -> AsyncIterator[E_co]:
        return _AioEntities(Pager(self._spec, self._aio_session()))

    def all(self) -> list[E_co]:
        """All entities."""
        return run(_all(self._spec, self._session()))

    def first(self) -> E_co | None:
        """The first entity, or None."""
        return run(_first(self._spec, self._session()))  # type: ignore[no-any-return]

    def one(self) -> E_co:
        """The only entity. Raises `QueryError` when there are none or several."""
        return run(_one(self._spec, self._session()))  # type: ignore[no-any-return]

    def exists(self) -> bool:
        """Whether there is an entity."""
        return run(_first(self._spec, self._session())) is not None

    def count(self) -> int:
        """How many entities there are; DynamoDB reads and bills them all."""
        return run(count_rows(self._spec, self._session()))

    def grouped(self) -> Grouped:
        """All entities, in one list for each class: ``query.grouped()[Document]``."""
        return Grouped(self.all())

    def pages(self, size: int | None = None) -> Iterator[Page[E_co]]:
        """All pages, one after the other; `size` is the number of entities in each."""
        return _Pages(self, size)

    def page(self, size: int | None = None, *, cursor: str | None = None) -> Page[E_co]:
        """One page.

        Parameters:
            size: the number of entities; None for what one request brings.
            cursor: the `Page.cursor` of the page before; None for the first.

        Raises `CursorError` for a cursor that is not of this query.
        """
        return run(_page(self._spec, self._session(), size, cursor))

    def __repr__(self) -> str:
        schemas = self._spec.schemas
        names = "Entity" if schemas is None else " | ".join(schema.name for schema in schemas)
        return f"<Query of {names} in {self._spec.where_text}>"


class AioQuery(Generic[E_co]):
    """The awaited face of a query: the names of `Query` that send something."""

    __slots__ = ("_spec",)

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec

    def _session(self) -> Session:
        return cast(SessionSource, self._spec.registry).aio_session()

    async def all(self) -> list[E_co]:
        """All entities."""
        return await _all(self._spec, self._session())

    async def first(self) -> E_co | None:
        """The first entity, or None."""
        return await _first(self._spec, self._session())  # type: ignore[no-any-return]

    async def one(self) -> E_co:
        """The only entity. Raises `QueryError` when there are none or several."""
        return await _one(self._spec, self._session())  # type: ignore[no-any-return]

    async def exists(self) -> bool:
        """Whether there is an entity."""
        return await _first(self._spec, self._session()) is not None

    async def count(self) -> int:
        """How many entities there are."""
        return await count_rows(self._spec, self._session())

    async def grouped(self) -> Grouped:
        """All entities, in one list for each class."""
        return Grouped(await self.all())

    async def page(self, size: int | None = None, *, cursor: str | None = None) -> Page[E_co]:
        """One page; as `Query.page`."""
        return await _page(self._spec, self._session(), size, cursor)


class _Entities(Iterator[Any]):
    """The entities of a query, read as they are asked for."""

    def __init__(self, pager: Pager) -> None:
        self._pager = pager
        self._ready: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        while True:
            for entity in self._ready:
                return entity
            if self._pager.done:
                raise StopIteration
            self._ready = iter(run(self._pager.step()))


class _AioEntities(AsyncIterator[Any]):
    """The entities of a query, awaited as they are asked for."""

    def __init__(self, pager: Pager) -> None:
        self._pager = pager
        self._ready: Iterator[Any] = iter(())

    async def __anext__(self) -> Any:
        while True:
            for entity in self._ready:
                return entity
            if self._pager.done:
                raise StopAsyncIteration
            self._ready = iter(await self._pager.step())


class _Pages(Iterator[Page[Any]]):
    def __init__(self, query: Query[Any], size: int | None) -> None:
        self._query = query
        self._size = size
        self._cursor: str | None = None
        self._done = False

    def __next__(self) -> Page[Any]:
        if self._done:
            raise StopIteration
        page = self._query.page(self._size, cursor=self._cursor)
        self._cursor = page.cursor
        self._done = page.cursor is None
        return page


async def _all(spec: QuerySpec, session: Session) -> list[Any]:
    pager = Pager(spec, session)
    found: list[Any] = []
    while not pager.done:
        found += await pager.step()
    return found


async def _first(spec: QuerySpec, session: Session) -> Any:
    found = await _all(attrs.evolve(spec, limit=1), session)
    return found[0] if found else None


async def _one(spec: QuerySpec, session: Session) -> Any:
    found = await _all(attrs.evolve(spec, limit=2), session)
    if len(found) != 1:
        number = "no entity" if not found else "more than one entity"
        raise QueryError(f"one() wants exactly one entity, and the query of {spec.where_text} gives {number}.")
    return found[0]


async def _page(spec: QuerySpec, session: Session, size: int | None, cursor: str | None) -> Page[Any]:
    if size is not None:
        spec = attrs.evolve(spec, limit=size)
        spec.check()
    secrets = cast(CursorSource, spec.registry).cursor_secrets
    pager = Pager(spec, session)
    if cursor is not None:
        pager.last_key = decode_cursor(pager.plan, cursor, session.name, secrets)
    items = await pager.step()
    while spec.limit is not None and not pager.done:
        items += await pager.step()
    following = None if pager.resume is None else encode_cursor(pager.plan, pager.resume, session.name, secrets)
    return Page(
        items=items,
        cursor=following,
        consumed=dict(pager.consumed),
        scanned=pager.scanned,
        discarded=Counter(pager.discarded),
        skipped=Counter(pager.skipped),
    )


class CursorSource(Protocol):
    """A table's secrets for cursors, the one that encrypts first."""

    cursor_secrets: Sequence[bytes]
