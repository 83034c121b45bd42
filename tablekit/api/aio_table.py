"""The awaited face of a table."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, overload

from tablekit.api.aio_reads import AioTableReads
from tablekit.api.entity import Entity
from tablekit.api.keys import Key
from tablekit.api.table_writes import AioTableWrites
from tablekit.definition.registry import TableDefinition
from tablekit.operations import ddl
from tablekit.operations.binding import Binding, bound_to
from tablekit.operations.get_many import BadKeys, batch_get_of
from tablekit.operations.read import get_any
from tablekit.operations.session import Session
from tablekit.operations.settings import Settings

__all__ = ["AioTable"]

A = TypeVar("A", bound=Entity)
B = TypeVar("B", bound=Entity)
C = TypeVar("C", bound=Entity)
D = TypeVar("D", bound=Entity)


class AioTable(AioTableReads, AioTableWrites):
    """The verbs of a table, awaited: ``app.aio``.

    Entities, keys and queries have their own ``.aio``; a query is the same object as without await, and is iterated
    over with ``async for``.
    """

    _table: Any

    @property
    def _session(self) -> Session:
        session: Session = self._table.aio_session()
        return session

    @asynccontextmanager
    async def connected(
        self, *, name: str | None = None, settings: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncGenerator[Any, None]:
        """Reach the table in another way inside an ``async with`` block, and close the connections at its end.

        Parameters:
            name: the physical table's name. options: as for `Table.connect`; a session must be aiobotocore's.
                Without options the table is reached as outside the block.
        """
        outer: Binding = self._table.binding
        given = {**(settings or {}), **options}
        registry: TableDefinition = self._table
        binding = Binding(
            registry,
            name if name is not None else outer.given_name,
            Settings(**given) if given else outer.settings,
            outer.capabilities,
            port=None if given else outer.port,
        )
        try:
            with bound_to(registry, binding):
                yield self._table
        finally:
            await binding.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running event loop; they open again when the table is used."""
        binding: Binding = self._table.binding
        await binding.aclose()

    # Rows

    async def get(self, *, pk: Any, sk: Any = None, consistent: bool | None = None) -> Entity | None:
        """The row under a key as it is stored, as its class; None when there is none."""
        key = self._table._bare_key(pk, sk)  # noqa: SLF001  (the table's own other face)
        return await get_any(self._session, self._table, key, consistent=consistent)  # type: ignore[no-any-return]

    @overload
    async def batch_get(  # pyright: ignore[reportOverlappingOverload]
        self, keys: Sequence[Key[A]], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> list[A | None]: ...
    @overload
    async def batch_get(
        self, keys: Sequence[Key[Any]], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> list[Entity | None]: ...
    @overload
    async def batch_get(
        self, a: Key[A], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None]: ...
    @overload
    async def batch_get(
        self, a: Key[A], b: Key[B], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None, B | None]: ...
    @overload
    async def batch_get(
        self, a: Key[A], b: Key[B], c: Key[C], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def batch_get(
        self,
        a: Key[A],
        b: Key[B],
        c: Key[C],
        d: Key[D],
        /,
        *,
        consistent: bool | None = None,
        undecodable: BadKeys = "raise",
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def batch_get(
        self, *keys: Key[Any], consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[Entity | None, ...]: ...
    async def batch_get(self, *keys: Any, consistent: bool | None = None, undecodable: BadKeys = "raise") -> Any:
        """The entities under several keys, in the order asked; as `Table.batch_get`."""
        return await batch_get_of(self._session, keys, consistent=consistent, undecodable=undecodable)

    # The physical table

    async def create_table(self, **options: Any) -> bool:
        """Create the physical table with its indexes, unless it is there; as `Table.create_table`."""
        return await ddl.create_table(self._session, **options)

    async def describe_table(self) -> dict[str, Any]:
        """DynamoDB's description of the table. Raises `TableNotFound`."""
        return await ddl.describe_table(self._session)

    async def delete_table(self, *, wait: bool = True) -> bool:
        """Delete the physical table with all that is in it; gives whether it was there."""
        return await ddl.delete_table(self._session, wait=wait)
