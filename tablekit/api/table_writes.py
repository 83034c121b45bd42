"""What a table writes: batches and transactions over several classes; and the reading transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast, overload

from tablekit.api.batch import AioBatch, Batch
from tablekit.api.transaction import AioTransaction, Transaction
from tablekit.definition.entity import EntityBase
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.operations.batch_write import Batching, write_all
from tablekit.operations.driver import run
from tablekit.operations.get_many import key_list
from tablekit.operations.session import Session, SessionSource, session_for
from tablekit.operations.transact_get import read_together
from tablekit.operations.verbs import KeyBase

__all__ = ["AioTableWrites", "TableWrites"]

E = TypeVar("E", bound=EntityBase)
A = TypeVar("A", bound=EntityBase)
B = TypeVar("B", bound=EntityBase)
C = TypeVar("C", bound=EntityBase)
D = TypeVar("D", bound=EntityBase)


class TableWrites(TableDefinition):
    """The writing half of `Table`."""

    def _source(self) -> SessionSource:
        return cast(SessionSource, self)

    def batch(self, *, unversioned: bool = False, guarded: bool = False, parallel: int = 4) -> Batch:
        """Write many rows: ``with app.batch() as batch: batch.put(a); batch.delete(b)``.

        DynamoDB takes no condition in a batch: rows are stamped with their type, and what is there is replaced,
        whosever it is.

        Parameters:
            unversioned: write versioned entities too, without checking their versions.
            guarded: write in transactions, at twice the units, with the type guard and the version check; so also
                entities with unique values. Rows whose guard fails are reported, and the others are written.
            parallel: requests under way at once.
        """
        return Batch(self._source(), unversioned=unversioned, guarded=guarded, parallel=parallel)

    def batch_write(
        self,
        puts: Iterable[EntityBase] = (),
        deletes: Iterable[EntityBase | KeyBase[Any]] = (),
        *,
        unversioned: bool = False,
        guarded: bool = False,
        parallel: int = 4,
    ) -> None:
        """Put and delete many rows, from any iterables, which need not fit into memory.

        Parameters:
            puts: entities. deletes: entities and keys. unversioned, guarded, parallel: as for `batch`.

        Raises `BatchIncomplete` with what could not be written.
        """
        batching = Batching(
            self._source().session(), session_for, unversioned=unversioned, guarded=guarded, parallel=parallel
        )
        run(write_all(batching, puts, deletes))

    def transaction(self, *, token: str | None = None, retry_conflicts: int = 0) -> Transaction:
        """Write several rows, all of them or none: ``with app.transaction() as tx: tx.create(doc); tx.check(key)``.

        Parameters:
            token: a client token of 1 to 36 characters, by which DynamoDB knows a repeated transaction for ten minutes;
                a random one otherwise. It is kept over every retry.
            retry_conflicts: how often to try again, with growing pauses, when another transaction holds a row.
        """
        return Transaction(self._source(), token=token, retry_conflicts=retry_conflicts)

    @overload
    def transact_get(self, a: KeyBase[A], /, *, retry_conflicts: int = 3) -> tuple[A | None]: ...
    @overload
    def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None]: ...
    @overload
    def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], c: KeyBase[C], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], c: KeyBase[C], d: KeyBase[D], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    def transact_get(self, *keys: KeyBase[E], retry_conflicts: int = 3) -> tuple[E | None, ...]: ...
    @overload
    def transact_get(self, keys: Sequence[KeyBase[E]], /, *, retry_conflicts: int = 3) -> list[E | None]: ...
    def transact_get(self, *keys: Any, retry_conflicts: int = 3) -> Any:
        """The rows under some keys as they stand at one moment, aligned with the keys; None where there is none.

        ``doc, workspace = app.transact_get(Document.key(...), Workspace.key(...))``; a list gives a list.

        Parameters:
            keys: at most 100, of any classes and tables. retry_conflicts: how often to try again when a transaction
                is writing one of the rows.

        Raises `WrongEntityType`, `TransactionCancelled`, `LimitExceeded`.
        """
        asked, listed = _asked(keys)
        session = self._source().session()
        found = run(read_together(session, session_for, asked, retry_conflicts=retry_conflicts))
        return found if listed else tuple(found)


class AioTableWrites:
    """The writing half of a table's ``.aio``.

    Parameters:
        table: the table.
    """

    def __init__(self, table: SessionSource) -> None:
        self._table = table

    def batch(self, *, unversioned: bool = False, guarded: bool = False, parallel: int = 4) -> AioBatch:
        """Write many rows: ``async with app.aio.batch() as batch: batch.put(a)``; as `Table.batch`."""
        return AioBatch(self._table, unversioned=unversioned, guarded=guarded, parallel=parallel)

    async def batch_write(
        self,
        puts: Iterable[EntityBase] = (),
        deletes: Iterable[EntityBase | KeyBase[Any]] = (),
        *,
        unversioned: bool = False,
        guarded: bool = False,
        parallel: int = 4,
    ) -> None:
        """Put and delete many rows; as `Table.batch_write`."""
        batching = Batching(
            self._table.aio_session(), _aio_session_for, unversioned=unversioned, guarded=guarded, parallel=parallel
        )
        await write_all(batching, puts, deletes)

    def transaction(self, *, token: str | None = None, retry_conflicts: int = 0) -> AioTransaction:
        """Write several rows, all of them or none: ``async with app.aio.transaction() as tx``.

        As `Table.transaction`.
        """
        return AioTransaction(self._table, token=token, retry_conflicts=retry_conflicts)

    @overload
    async def transact_get(self, a: KeyBase[A], /, *, retry_conflicts: int = 3) -> tuple[A | None]: ...
    @overload
    async def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None]: ...
    @overload
    async def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], c: KeyBase[C], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def transact_get(
        self, a: KeyBase[A], b: KeyBase[B], c: KeyBase[C], d: KeyBase[D], /, *, retry_conflicts: int = 3
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def transact_get(self, *keys: KeyBase[E], retry_conflicts: int = 3) -> tuple[E | None, ...]: ...
    @overload
    async def transact_get(self, keys: Sequence[KeyBase[E]], /, *, retry_conflicts: int = 3) -> list[E | None]: ...
    async def transact_get(self, *keys: Any, retry_conflicts: int = 3) -> Any:
        """The rows under some keys as they stand at one moment; as `Table.transact_get`."""
        asked, listed = _asked(keys)
        session = self._table.aio_session()
        found = await read_together(session, _aio_session_for, asked, retry_conflicts=retry_conflicts)
        return found if listed else tuple(found)


def _aio_session_for(schema: EntitySchema) -> Session:
    return session_for(schema, aio=True)


def _asked(keys: Sequence[Any]) -> tuple[Sequence[KeyBase[Any]], bool]:
    """The keys, and whether they came as one sequence."""
    if len(keys) == 1 and not isinstance(keys[0], KeyBase):
        return key_list(keys[0], "transact_get"), True
    return keys, False
