"""A key as a handle: the verbs on a row that was not read."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, overload

from tablekit.api.aio_face import BoundKey, key_verb
from tablekit.definition.entity import EntityBase
from tablekit.expressions.actions import Action
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.operations import verbs
from tablekit.operations.driver import run
from tablekit.operations.explain import Explanation, explain_get
from tablekit.operations.read import entity_request
from tablekit.operations.results import Returning
from tablekit.operations.session import Session, session_for

__all__ = ["AioKey", "Key"]

E = TypeVar("E", bound=EntityBase)


class AioKey(BoundKey[E], Generic[E]):
    """The verbs on a key, awaited."""

    get = key_verb(verbs.get_key)
    get_or_raise = key_verb(verbs.get_key_or_raise)

    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> Coroutine[Any, Any, E]: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["new"],
    ) -> Coroutine[Any, Any, E]: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["old"],
    ) -> Coroutine[Any, Any, E | None]: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["changed"],
    ) -> Coroutine[Any, Any, dict[str, Any]]: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: None,
    ) -> Coroutine[Any, Any, None]: ...
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Returning | None = "new",
    ) -> Coroutine[Any, Any, Any]:
        """Change the row by actions, nothing loaded; as `Key.update`, awaited."""
        return verbs.update_key(
            session_for(self.target.schema, aio=True),
            self.target,
            *actions,
            condition=condition,
            guard=guard,
            upsert=upsert,
            version=version,
            composite=composite,
            once=once,
            returning=returning,
        )

    @overload
    def delete(
        self, *, condition: Condition | None = None, guard: bool = True, version: int | None = None
    ) -> Coroutine[Any, Any, None]: ...
    @overload
    def delete(
        self,
        *,
        condition: Condition | None = None,
        guard: bool = True,
        version: int | None = None,
        returning: Literal["old"],
    ) -> Coroutine[Any, Any, E | None]: ...
    def delete(
        self,
        *,
        condition: Condition | None = None,
        guard: bool = True,
        version: int | None = None,
        returning: Literal["old"] | None = None,
    ) -> Coroutine[Any, Any, E | None]:
        """Delete the row; as `Key.delete`, awaited."""
        session = session_for(self.target.schema, aio=True)
        return verbs.delete_key(
            session, self.target, condition=condition, guard=guard, version=version, returning=returning
        )


class Key(verbs.KeyBase[E], Generic[E]):
    """A key of one entity class: ``Document.key(workspace_id="acme", doc_id="d1")``.

    Keys are equal when class and key are, and hashable.
    """

    __slots__ = ()

    def _session(self) -> Session:
        return session_for(self.schema)

    @property
    def aio(self) -> AioKey[E]:
        """The same verbs, awaited."""
        return AioKey(self)

    def get(self, *, consistent: bool | None = None, select: Sequence[Column[Any]] | None = None) -> E | None:
        """The entity under the key, or None.

        Parameters:
            consistent: a strongly consistent read, at twice the units; None for the table's default.
            select: only these columns; the entity is partial.

        Raises `WrongEntityType` when the row is another class's.
        """
        return run(verbs.get_key(self._session(), self, consistent=consistent, select=select))

    def get_or_raise(self, *, consistent: bool | None = None, select: Sequence[Column[Any]] | None = None) -> E:
        """The entity under the key; as `get`. Raises `ItemNotFound`."""
        return run(verbs.get_key_or_raise(self._session(), self, consistent=consistent, select=select))

    def explain(
        self, *, consistent: bool | None = None, select: Sequence[Column[Any]] | None = None, reveal: bool = False
    ) -> Explanation:
        """What `get` will ask of DynamoDB and what it costs, without asking it.

        Writes are shown by ``with app.dry_run() as plan``.

        Parameters:
            consistent, select: as for `get`. reveal: show the values of secret fields.
        """
        session = self._session()
        request, _ = entity_request(session, self.schema, self.item, consistent=consistent, select=select)
        return explain_get(session.prepared(request), session.name, reveal=reveal)

    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
    ) -> E: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["new"],
    ) -> E: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["old"],
    ) -> E | None: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Literal["changed"],
    ) -> dict[str, Any]: ...
    @overload
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: None,
    ) -> None: ...
    def update(
        self,
        *actions: Action,
        condition: Condition | None = None,
        guard: bool = True,
        upsert: bool = False,
        version: int | None = None,
        composite: Mapping[str, Any] | None = None,
        once: bool = False,
        returning: Returning | None = "new",
    ) -> Any:
        """Change the row by actions, nothing loaded.

        Parameters:
            condition: what must hold of the row.
            guard: refuse a row of another class.
            upsert: write the row when it is missing: type, key fields and constant defaults go through
                ``if_not_exists``.
            version: the version that the row must have. Without it the version is bumped unchecked.
            composite: what fields are stored as that an index key is made of and that this update does not
                set; asserted in the condition.
            once: apply the update exactly once, also when its answer is lost: a transaction of one action, which
                takes twice the write units.
            returning: ``"new"`` for the row after the update, ``"old"`` for the one before, ``"changed"`` for the
                changed fields as a dict, None for nothing.

        Raises `ItemNotFound` for a missing row, `WrongEntityType`, `VersionConflict`, `ConditionFailed`,
        `KeyPartError` when an index key cannot be made anew.
        """
        return run(
            verbs.update_key(
                self._session(),
                self,
                *actions,
                condition=condition,
                guard=guard,
                upsert=upsert,
                version=version,
                composite=composite,
                returning=returning,
                once=once,
            )
        )

    @overload
    def delete(self, *, condition: Condition | None = None, guard: bool = True, version: int | None = None) -> None: ...
    @overload
    def delete(
        self,
        *,
        condition: Condition | None = None,
        guard: bool = True,
        version: int | None = None,
        returning: Literal["old"],
    ) -> E | None: ...
    def delete(
        self,
        *,
        condition: Condition | None = None,
        guard: bool = True,
        version: int | None = None,
        returning: Literal["old"] | None = None,
    ) -> E | None:
        """Delete the row; one that is gone already is fine.

        Parameters:
            condition: what must hold of the row.
            guard: refuse a row of another class.
            version: the version that the row must have.
            returning: ``"old"`` for the row that was deleted, None when there was none. When an answer is lost on
                the way, that is not known, and the call raises `WriteOutcomeUnknown`.

        Raises `WrongEntityType`, `VersionConflict`, `ConditionFailed`.
        """
        return run(
            verbs.delete_key(
                self._session(), self, condition=condition, guard=guard, version=version, returning=returning
            )
        )
