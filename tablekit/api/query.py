"""The query: a builder that never changes, and the ways to get its entities."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

import attrs
from typing_extensions import Self

from tablekit._types import Item
from tablekit.api.iterating import AioEntities, AioPages, Entities, Grouped, PageIterator
from tablekit.api.keys import Key
from tablekit.definition.entity import EntityBase
from tablekit.definition.registry import UnknownPolicy, UntypedPolicy
from tablekit.errors import QueryError
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition, checked
from tablekit.operations.dispatch import BadRows, RawItem
from tablekit.operations.driver import run
from tablekit.operations.explain import Explanation, explain_query
from tablekit.operations.pager import Pager
from tablekit.operations.pages import Page, Pages, cursor_after, read_page
from tablekit.operations.queryplan import check_columns
from tablekit.operations.queryspec import Bound, QuerySpec, RangeOperator
from tablekit.operations.rows import all_rows, count_rows, first_row, one_row, reader, row_exists
from tablekit.operations.scan import ThreadedRows
from tablekit.operations.session import Session, SessionSource

__all__ = ["AioQuery", "Grouped", "Page", "Query"]

E_co = TypeVar("E_co", covariant=True)
E = TypeVar("E", bound=EntityBase)


def _single(operator: str, field: Mapping[str, Any]) -> tuple[str, Any]:
    if len(field) != 1:
        raise QueryError(f"{operator}() takes one field of the sort key, and was given {len(field)}.")
    return next(iter(field.items()))


class Query(Generic[E_co]):
    """A query or a scan; each method that refines it gives another one.

    Iterate over it, ``for`` or ``async for``, or call `all`, `first`, `one`, `page`, `pages`, `count`, `exists`
    or `grouped`. Nothing is sent before. A query sees a class that was registered after it was made.
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

        Raises `QueryError` when the query is run, for fields of a class that it does not ask for, for the key that it
        is read by, and for what an index does not hold.
        """
        return self._with(where=(*self._spec.where, *map(checked, conditions)))

    def between(self, **field: tuple[Any, Any]) -> Self:
        """Only items whose sort key lies between two values of a field, both included: ``between(day=(a, b))``."""
        name, ends = _single("between", field)
        if not isinstance(ends, tuple) or len(ends) != 2:  # pyright: ignore[reportUnknownArgumentType]
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

        It saves transfer and decoding; DynamoDB bills the whole items. In a query of several classes an item is read
        without the columns that are another class's. Keys, type and version come along.
        """
        if not columns:
            raise QueryError("select() names no column.")
        check_columns(columns)
        return self._with(select=columns)

    def reverse(self, reverse: bool = True) -> Self:
        """In descending order of the sort key."""
        return self._with(reverse=reverse)

    def consistent(self, consistent: bool = True) -> Self:
        """With a strongly consistent read, at twice the units. Raises `QueryError` on a global index."""
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

    def undecodable(self, policy: BadRows) -> Self:
        """What happens to rows of a known class that its fields cannot read: ``"raise"``, ``"skip"``, or a function.

        Rows that are skipped are counted on the page. The function is given the `DecodeError` of each such row, with
        entity, attribute, pk and sk, and the row is left out; with `raw` it is given as `RawItem` as well. A scan in
        segments calls it from several threads. `count`, `exists` and `keys` decode nothing, and count every row.

        ``bad = []; rows = Document.scan().undecodable(bad.append).all()``
        """
        if policy not in ("raise", "skip") and not callable(policy):
            raise QueryError(
                f"undecodable({policy!r}) is no policy; take 'raise', 'skip', a function that is given each error, "
                "or .raw()."
            )
        return self._with(undecodable=policy)

    def raw(self) -> Query[E_co | RawItem]:
        """Give rows of unknown type, rows without a type, and rows that cannot be decoded, as `RawItem`."""
        return Query(attrs.evolve(self._spec, raw=True))

    def hydrate(self) -> Self:
        """Read the full row of each item that an index holds in part: one BatchGetItem a page, in the same order.

        Conditions are judged on what the index holds; the rows may be newer, and those that are gone are left out.
        """
        return self._with(hydrate=True)

    def keys(self: Query[E]) -> Query[Key[E]]:
        """The keys alone, as handles of their classes; from an index without the type only where one class uses it."""
        spec = attrs.evolve(self._spec, handle=_key)
        spec.check()
        return Query(spec)

    # Getting

    def _session(self) -> Session:
        return cast(SessionSource, self._spec.registry).session()

    def __iter__(self) -> Iterator[E_co]:
        if self._spec.parallel:
            return ThreadedRows(self._spec, self._session())
        return Entities(Pager(self._spec, self._session()))

    def __aiter__(self) -> AsyncIterator[E_co]:
        return aiter_of(self._spec)

    def all(self) -> list[E_co]:
        """All entities."""
        if self._spec.parallel:
            return list(self)
        return run(all_rows(self._spec, self._session()))

    def first(self) -> E_co | None:
        """The first entity, or None."""
        return run(first_row(self._spec, self._session()))  # type: ignore[no-any-return]

    def one(self) -> E_co:
        """The only entity. Raises `ItemNotFound` where there is none, `SeveralItems` where there are more."""
        return run(one_row(self._spec, self._session()))  # type: ignore[no-any-return]

    def exists(self) -> bool:
        """Whether there is an entity; reads no more of it than its key."""
        return run(row_exists(self._spec, self._session()))

    def count(self) -> int:
        """How many entities there are; DynamoDB reads and bills them all, and sends numbers where it can tell."""
        return run(count_rows(self._spec, self._session()))

    def grouped(self) -> Grouped[E_co]:
        """All entities, in one list for each class: ``query.grouped()[Document]``."""
        return _grouped(self._spec, self.all())

    def pages(self, size: int | None = None, *, cursor: str | None = None) -> Iterator[Page[E_co]]:
        """All pages, one after the other.

        Parameters:
            size: the number of entities in each; None for what one request brings. cursor: where to begin.
        """
        return PageIterator[E_co](Pages(self._spec, self._session(), size, cursor))

    def page(self, size: int | None = None, *, cursor: str | None = None, before: str | None = None) -> Page[E_co]:
        """One page.

        Parameters:
            size: the number of entities; None for what one request brings, or for the query's limit.
            cursor: the `Page.cursor` of the page before; None for the first page.
            before: the `Page.previous` of the page after: the entities that stand before it, in the query's order.

        Raises `CursorError`, before anything is sent, for a cursor that is not of this query.
        """
        return run(read_page(self._spec, self._session(), size, cursor, before))

    def cursor_after(self, entity: EntityBase) -> str:
        """The cursor for going on after an entity of the query; the row need not be there any more.

        Raises `CursorError` for an entity that is not in the query.
        """
        return cursor_after(self._spec, self._session(), entity)

    def explain(self, *, reveal: bool = False) -> Explanation:
        """What the query will ask of DynamoDB and what it costs, without asking it.

        ``print(query.explain())`` shows the first request; ``query.explain().estimate(items=, item_bytes=,
        matching=)`` what it is billed. The request is made by the same code that sends it.

        Parameters:
            reveal: show the values of secret fields.
        """
        session = self._session()
        pager = Pager(self._spec, session)
        return explain_query(pager.plan, session.prepared(pager.request()), session.name, reveal=reveal)

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

    def __aiter__(self) -> AsyncIterator[E_co]:
        return aiter_of(self._spec)

    async def all(self) -> list[E_co]:
        """All entities."""
        return await all_rows(self._spec, self._session())

    async def first(self) -> E_co | None:
        """The first entity, or None."""
        return await first_row(self._spec, self._session())  # type: ignore[no-any-return]

    async def one(self) -> E_co:
        """The only entity. Raises `ItemNotFound` where there is none, `SeveralItems` where there are more."""
        return await one_row(self._spec, self._session())  # type: ignore[no-any-return]

    async def exists(self) -> bool:
        """Whether there is an entity; reads no more of it than its key."""
        return await row_exists(self._spec, self._session())

    async def count(self) -> int:
        """How many entities there are; as `Query.count`."""
        return await count_rows(self._spec, self._session())

    async def grouped(self) -> Grouped[E_co]:
        """All entities, in one list for each class."""
        return _grouped(self._spec, await self.all())

    def pages(self, size: int | None = None, *, cursor: str | None = None) -> AsyncIterator[Page[E_co]]:
        """All pages, one after the other: ``async for page in query.aio.pages(20)``; as `Query.pages`."""
        return AioPages[E_co](Pages(self._spec, self._session(), size, cursor))

    async def page(
        self, size: int | None = None, *, cursor: str | None = None, before: str | None = None
    ) -> Page[E_co]:
        """One page; as `Query.page`."""
        return await read_page(self._spec, self._session(), size, cursor, before)


def aiter_of(spec: QuerySpec) -> AsyncIterator[Any]:
    """The entities of a query, awaited."""
    return AioEntities(reader(spec, cast(SessionSource, spec.registry).aio_session()))


def _key(entity: type[Any], item: Item) -> Key[Any]:
    return Key[Any].stored(entity, item)


def _grouped(spec: QuerySpec, items: list[Any]) -> Grouped[Any]:
    classes = [schema.entity for schema in spec.candidates]
    return Grouped(items, [*classes, RawItem] if spec.raw else classes)
