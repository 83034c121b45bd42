"""The face of a batch: many rows, each for itself."""

from __future__ import annotations

import warnings
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from typing_extensions import Self

from tablekit.definition.entity import EntityBase
from tablekit.operations.batch_write import Batching
from tablekit.operations.driver import run
from tablekit.operations.session import SessionSource, session_for
from tablekit.operations.verbs import KeyBase

__all__ = ["AioBatch", "Batch", "BatchBase"]

E = TypeVar("E", bound=EntityBase)


class BatchBase:
    """The rows of a batch, gathered; the last write of a row wins.

    Each write is of the entity as it is when it is named. What is changed afterwards is not written, and stays a
    local change.
    """

    _aio = False
    _left = False  # whether its writes were sent, or left out on purpose

    def __init__(
        self, source: SessionSource, *, unversioned: bool = False, guarded: bool = False, parallel: int = 4
    ) -> None:
        self._source = source
        self._options: dict[str, Any] = {"unversioned": unversioned, "guarded": guarded, "parallel": parallel}
        self._begun: Batching | None = None

    @property
    def _work(self) -> Batching:
        if self._begun is None:
            session = self._source.aio_session() if self._aio else self._source.session()
            self._begun = Batching(session, partial(session_for, aio=self._aio), **self._options)
        return self._begun

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is neither pickled nor copied: both would send its writes. Pickle the entities, "
            "and begin another where they are written."
        )

    def __del__(self) -> None:
        begun: Batching | None = getattr(self, "_begun", None)
        left = 0 if begun is None or self._left else len(begun)
        if left:
            warnings.warn(
                f"{type(self).__name__} with {left} writes went away without being sent; "
                "use `with app.batch() as batch`, or flush().",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    def put(self, entity: E) -> E:
        """Write the whole row, in place of what is there; gives the entity.

        Raises `RequestError` for a versioned entity, unless the batch is `unversioned` or `guarded`, and for one with
        unique values, unless it is `guarded`.
        """
        self._work.put(entity)
        self._added()
        return entity

    def delete(self, target: EntityBase | KeyBase[Any]) -> None:
        """Delete the row of an entity or of a key; one that is gone already is fine."""
        self._work.delete(target)
        self._added()

    def _added(self) -> None:
        """Called after each row."""


class Batch(BatchBase):
    """A batch: ``with app.batch() as batch: batch.put(a); batch.delete(b)``.

    Rows are sent in requests of 25, several at once, when there are enough of them and when the block ends; so a batch
    takes any number. A batch is not all or nothing: rows that were sent stay written. When the block raises, nothing
    more is sent.

    Raises `BatchIncomplete` with the entities and keys, as they were given, that could not be written.
    """

    def __enter__(self) -> Self:
        _ = self._work
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = kind is not None
        if kind is None:
            self.flush()

    def _added(self) -> None:
        if self._work.full:
            self.flush()

    def flush(self) -> None:
        """Send what was gathered so far."""
        run(self._work.flush())


class AioBatch(BatchBase):
    """A batch, awaited: ``async with app.aio.batch() as batch: batch.put(a)``.

    It gathers every row until the block ends. Say ``await batch.flush()`` now and then for very many rows, or use
    ``await app.aio.batch_write(rows)``, which does. See `Batch`.
    """

    _aio = True

    async def __aenter__(self) -> Self:
        _ = self._work
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = kind is not None
        if kind is None:
            await self.flush()

    async def flush(self) -> None:
        """Send what was gathered so far."""
        await self._work.flush()
