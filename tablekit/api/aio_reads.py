"""What a table reads, by the names of its ``.aio``: the query is the same object, and is awaited by its own names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from tablekit.api.entity import Entity
from tablekit.api.query import Query
from tablekit.operations.scan import ScanProgress

__all__ = ["AioTableReads"]

A = TypeVar("A", bound=Entity)
B = TypeVar("B", bound=Entity)
C = TypeVar("C", bound=Entity)
D = TypeVar("D", bound=Entity)
F = TypeVar("F", bound=Entity)
G = TypeVar("G", bound=Entity)

Progress = Callable[[ScanProgress], Any]


class AioTableReads:
    """The reading half of a table's ``.aio``."""

    _table: Any

    @overload
    def query(self, *, pk: Any, index: str | None = None) -> Query[Entity]: ...
    @overload
    def query(self, a: type[A], /, *, index: str | None = None, **parts: Any) -> Query[A]: ...
    @overload
    def query(self, a: type[A], b: type[B], /, *, index: str | None = None, **parts: Any) -> Query[A | B]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C | D]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[F], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C | D | F]: ...
    @overload
    def query(
        self,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[F],
        f: type[G],
        /,
        *,
        index: str | None = None,
        **parts: Any,
    ) -> Query[A | B | C | D | F | G]: ...
    @overload
    def query(self, *classes: type[A], index: str | None = None, **parts: Any) -> Query[A]: ...
    def query(self, *classes: Any, index: str | None = None, **parts: Any) -> Any:  # type: ignore[misc]  # mypy counts positional-only names as keywords
        """As `Table.query`: nothing is sent until the query is iterated over with ``async for``, or by its ``.aio``."""
        return self._table.query(*classes, index=index, **parts)

    @overload
    def scan(
        self,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[Entity]: ...
    @overload
    def scan(
        self,
        a: type[A],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A]: ...
    @overload
    def scan(
        self,
        a: type[A],
        b: type[B],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A | B]: ...
    @overload
    def scan(
        self,
        a: type[A],
        b: type[B],
        c: type[C],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A | B | C]: ...
    @overload
    def scan(
        self,
        *classes: type[A],
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A]: ...
    def scan(
        self,
        *classes: type[Any],
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[Any]:
        """As `Table.scan`: ``async for document in app.aio.scan(Document, segments=8)``."""
        found: Query[Any] = self._table.scan(
            *classes, index=index, segments=segments, units_per_second=units_per_second, progress=progress
        )
        return found
