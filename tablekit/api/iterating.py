"""Objects that go through a query as it is iterated over: thin faces over one `step`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

from tablekit.errors import QueryError
from tablekit.operations.driver import run
from tablekit.operations.pages import Page, Pages

__all__ = ["AioEntities", "AioPages", "Entities", "Grouped", "PageIterator"]

E_co = TypeVar("E_co", covariant=True)
C = TypeVar("C")


class Steps(Protocol):
    """What gives entities request by request."""

    @property
    def done(self) -> bool:
        """Whether there are no more."""
        ...

    async def step(self) -> list[Any]:
        """The entities of the next request."""
        ...


class Entities(Iterator[Any]):
    """The entities of a query, read as they are asked for."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._ready: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        while True:
            for entity in self._ready:
                return entity
            if self._steps.done:
                raise StopIteration
            self._ready = iter(run(self._steps.step()))


class AioEntities(AsyncIterator[Any]):
    """The entities of a query, awaited as they are asked for."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._ready: Iterator[Any] = iter(())

    async def __anext__(self) -> Any:
        while True:
            for entity in self._ready:
                return entity
            if self._steps.done:
                raise StopAsyncIteration
            self._ready = iter(await self._steps.step())


class PageIterator(Iterator[Page[E_co]], Generic[E_co]):
    """The pages of a query, one after the other."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def __next__(self) -> Page[E_co]:
        if self._pages.done:
            raise StopIteration
        return run(self._pages.step())


class AioPages(AsyncIterator[Page[E_co]], Generic[E_co]):
    """The pages of a query, awaited one after the other."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def __anext__(self) -> Page[E_co]:
        if self._pages.done:
            raise StopAsyncIteration
        return await self._pages.step()


class Grouped(Generic[E_co]):
    """The entities of a query, in DynamoDB's order, and in one list for each class.

    ``grouped[Document]`` is the documents, those of subclasses included; ``grouped[0]`` the first entity.

    Attributes:
        items: all of them, in order.
    """

    def __init__(self, items: list[E_co], classes: Sequence[type[Any]] = ()) -> None:
        self.items = items
        self._classes = tuple(classes)

    @overload
    def __getitem__(self, key: type[C]) -> list[C]: ...
    @overload
    def __getitem__(self, key: int) -> E_co: ...
    @overload
    def __getitem__(self, key: slice) -> list[E_co]: ...
    def __getitem__(self, key: type[C] | int | slice) -> Any:
        """The entities of a class; raises `QueryError` for a class that the query cannot return."""
        if not isinstance(key, type):
            return self.items[key]
        if not any(issubclass(cls, key) or issubclass(key, cls) for cls in self._classes):
            names = ", ".join(cls.__name__ for cls in self._classes) or "no class"
            raise QueryError(f"{key.__name__} is not among the classes of the query ({names}).")
        return [item for item in self.items if isinstance(item, key)]

    @property
    def by_type(self) -> dict[str, list[E_co]]:
        """The entities by the type of their class."""
        found: dict[str, list[E_co]] = {}
        for item in self.items:
            found.setdefault(getattr(item, "entity_type", ""), []).append(item)
        return found

    def __iter__(self) -> Iterator[E_co]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name or 'raw'}: {len(items)}" for name, items in self.by_type.items())
        return f"<Grouped {counts or 'nothing'}>"
