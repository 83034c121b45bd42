"""The face of a transaction: several writes, all of them or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from typing_extensions import Self

from tablekit.definition.entity import BASE, EntityBase, schema_of
from tablekit.errors import RequestError
from tablekit.expressions.actions import Action
from tablekit.expressions.conditions import Condition
from tablekit.operations.driver import run
from tablekit.operations.put import constant_key, key_for, loaded_version
from tablekit.operations.session import SessionSource, session_for
from tablekit.operations.steps import (
    Step,
    check_step,
    delete_key_step,
    delete_step,
    put_step,
    save_step,
    update_step,
)
from tablekit.operations.transact import Later, Transacting, hooked
from tablekit.operations.update import Update
from tablekit.operations.verbs import KeyBase

__all__ = ["AioTransaction", "Transaction", "TransactionBase"]

E = TypeVar("E", bound=EntityBase)


class TransactionBase:
    """The writes of a transaction, gathered in the caller's order; nothing is sent before it is committed.

    Each write is of the entity as it is when it is named. What is changed afterwards is not written, and stays a
    local change.
    """

    _aio = False
    _left = False  # whether its writes were sent, or left out on purpose

    def __init__(self, source: SessionSource, *, token: str | None = None, retry_conflicts: int = 0) -> None:
        self._source = source
        self._options: dict[str, Any] = {"token": token, "retry_conflicts": retry_conflicts}
        self._begun: Transacting | None = None

    @property
    def _work(self) -> Transacting:
        if self._begun is None:
            session = self._source.aio_session() if self._aio else self._source.session()
            self._begun = Transacting(session, partial(session_for, aio=self._aio), **self._options)
        return self._begun

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is neither pickled nor copied: both would send its writes. Pickle the entities, "
            "and begin another where they are written."
        )

    def __del__(self) -> None:
        begun: Transacting | None = getattr(self, "_begun", None)
        left = 0 if begun is None or self._left else len(begun) if begun.state == "open" else 0
        if left:
            warnings.warn(
                f"{type(self).__name__} with {left} writes went away without being sent; "
                "use `with app.transaction() as tx`, or commit().",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    @property
    def token(self) -> str:
        """The client token, under which DynamoDB applies the transaction once."""
        return self._work.token

    @property
    def state(self) -> str:
        """How far it is: open, committed, cancelled, unknown, or held back by a dry run."""
        return self._work.state

    def __len__(self) -> int:
        return len(self._work)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} actions, {self.state})"

    def _add(self, step: Step) -> None:
        self._work.add(step)

    def _write(self, entity: EntityBase, verb: str, make: Callable[[], Step]) -> None:
        """Take a write of an entity, whose hook is called before it is planned."""
        step = hooked(self._work.session, entity, verb, make)
        if isinstance(step, Later):
            self._work.add_later(step)
        else:
            self._add(step)

    @property
    def _now(self) -> Any:
        return self._work.session.now()

    # Writes of entities

    def put(self, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
        """Write the whole row, in place of what is there; gives the entity.

        Parameters:
            condition: what must hold of the stored row.
            guard: refuse to replace another class's row, and check the version of a loaded entity.
        """
        self._write(entity, "put", lambda: put_step(entity, self._now, condition=condition, guard=guard))
        return entity

    def create(self, entity: E) -> E:
        """Write a new row, which cancels the transaction when there is one under the key; gives the entity."""
        self._write(entity, "create", lambda: put_step(entity, self._now, create=True))
        return entity

    def save(self, entity: E, *, condition: Condition | None = None, guard: bool = True) -> E:
        """Write what changed since the entity was loaded; a new entity is created. Gives the entity.

        An entity that did not change is no action, and has a reason without a code when others fail.
        """
        verb = "save" if BASE in getattr(entity, "__dict__", ()) else "create"
        self._write(entity, verb, lambda: save_step(entity, self._now, condition=condition, guard=guard))
        return entity

    # Writes of entities and keys

    def update(
        self,
        target: EntityBase | KeyBase[Any],
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
    ) -> None:
        """Change a row by actions.

        A transaction returns no attributes. When it was committed, an entity holds what the actions set; a value that
        only DynamoDB knows (``add``, arithmetic) is not loaded until `refresh`.

        Parameters:
            target: an entity, whose version is checked, or a key.
            upsert, version: for a key, as `Key.update` has them. condition, guard, composite: as there.
        """
        if isinstance(target, KeyBase):
            asked = Update(
                actions,
                condition=condition,
                guard=guard,
                upsert=upsert,
                version=version,
                composite=composite,
                returning=None,
            )
            self._add(update_step(target.schema, target.item, target.values, asked, self._now, target=target))
            return
        if upsert or version is not None:
            raise RequestError("upsert= and version= go with a key; an entity was loaded and knows its version.")
        entity, schema = target, schema_of(target)
        asked = Update(actions, condition=condition, guard=guard, composite=composite, returning=None)

        def make() -> Step:
            values = {name: entity.__dict__[name] for name in schema.key_fields if name in entity.__dict__}
            key = key_for(entity, schema)
            return update_step(schema, key, values, asked, self._now, target=entity, entity=entity)

        self._write(entity, "update", make)

    def delete(
        self,
        target: EntityBase | KeyBase[Any],
        *,
        condition: Condition | None = None,
        guard: bool = True,
        version: int | None = None,
    ) -> None:
        """Delete a row; one that is gone already is fine.

        Parameters:
            target: an entity, whose version is checked when it was loaded, or a key. version: for a key, the
                version that the row must have.
        """
        if isinstance(target, KeyBase):
            self._add(
                delete_key_step(
                    target.schema,
                    target.item,
                    self._now,
                    target=target,
                    condition=condition,
                    guard=guard,
                    version=version,
                )
            )
            return
        if version is not None:
            raise RequestError("version= goes with a key; a loaded entity knows its version.")
        entity = target
        self._write(entity, "delete", lambda: delete_step(entity, self._now, condition=condition, guard=guard))

    def check(
        self,
        target: EntityBase | KeyBase[Any] | type[EntityBase],
        condition: Condition | None = None,
        *,
        guard: bool = True,
        version: int | None = None,
    ) -> None:
        """Cancel the transaction unless a row is there, of its class, and the condition holds of it.

        Parameters:
            target: a key; an entity, whose row must still have the version that was loaded; or a class whose key is
                constant, such as a singleton, of which the stored row is asked: it must be there, and hold the
                attributes that the condition names.
            condition: what else must hold. guard: ask for the class. version: for a key or a class, the version to
                ask for.
        """
        if isinstance(target, KeyBase):
            schema, key, types = target.schema, target.item, target.schema.types
        elif isinstance(target, type):
            schema = schema_of(target)
            key, types = constant_key(schema), schema.types
        else:
            schema = schema_of(target)
            key, types = key_for(target, schema), schema.own_types
            if version is None and guard and BASE in target.__dict__:
                version = loaded_version(schema, target.__dict__, "check")
        if version is not None and schema.version is None:
            raise RequestError(f"{schema.name} has no version() field, so that version= can check nothing.")
        self._add(
            check_step(
                schema, key, self._now, target=target, types=types, condition=condition, guard=guard, version=version
            )
        )


class Transaction(TransactionBase):
    """A transaction: ``with app.transaction() as tx: tx.create(doc); tx.delete(key)``.

    It is sent when the block ends, and not at all when the block raises. Limits are told before anything is sent: at
    most 100 actions, 4 MB, one action on a row. A transaction of no actions sends nothing.

    Raises `TransactionCancelled` with one reason for each action, in order; `WriteOutcomeUnknown` with the token
    when its answer was lost, and then `resume` asks again.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """

    def __enter__(self) -> Self:
        _ = self._work
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = True
        if kind is None and self.state == "open":
            self.commit()

    def commit(self) -> None:
        """Send it now, in place of at the end of the block."""
        self._left = True
        run(self._work.commit())

    def resume(self) -> None:
        """Ask again what became of a transaction whose answer was lost: the same body under the same token.

        Raises `RequestError` nine minutes after it was first sent, since DynamoDB forgets tokens after ten.
        """
        run(self._work.resume())


class AioTransaction(TransactionBase):
    """A transaction, awaited: ``async with app.aio.transaction() as tx: tx.create(doc)``. See `Transaction`."""

    _aio = True

    async def __aenter__(self) -> Self:
        _ = self._work
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left = True
        if kind is None and self.state == "open":
            await self.commit()

    async def commit(self) -> None:
        """Send it now, in place of at the end of the block."""
        self._left = True
        await self._work.commit()

    async def resume(self) -> None:
        """Ask again what became of a transaction whose answer was lost; as `Transaction.resume`."""
        await self._work.resume()
