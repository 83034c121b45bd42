"""Writing a singleton: conditional on its version, and tried again when another writer was first."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from tablekit._types import UNSET, Item
from tablekit.definition.entity import BASE, EntityBase, schema_of
from tablekit.definition.schema import EntitySchema
from tablekit.errors import ConditionFailed, ItemNotFound, RequestError, TablekitError
from tablekit.expressions.actions import Action
from tablekit.expressions.conditions import Condition, conjunction
from tablekit.operations.calls import call
from tablekit.operations.delete import plan_delete_key
from tablekit.operations.execute import execute
from tablekit.operations.index_keys import pin
from tablekit.operations.observe import dry_run_of
from tablekit.operations.put import plan_put
from tablekit.operations.save import plan_save
from tablekit.operations.session import Session
from tablekit.operations.update import Update, plan_update
from tablekit.patterns.entries import SEEN, Entry, Source
from tablekit.patterns.migration import between_races, migrate
from tablekit.patterns.notices import report_write
from tablekit.patterns.reading import Row, cache_of, entry_of, kept, load, read_row, safe_values, state_of

__all__ = ["delete", "edit", "ensure", "invalidate", "update"]

S = TypeVar("S", bound=EntityBase)

LOST = (ConditionFailed, ItemNotFound)
"""What a conditional write raises when another writer was first."""


# What the cache makes of a write


class _Write:
    """One write as the cache sees it.

    Attributes:
        began: when its last attempt was sent, by which the age of what it left is told.
    """

    def __init__(self, session: Session, cls: type[EntityBase]) -> None:
        self.session = session
        self.cls = cls
        self.cache = cache_of(cls)
        self.state = state_of(session, cls)
        self.epoch = self.state.begin()[0]
        self.began = self.cache.options.clock()

    @property
    def dry(self) -> bool:
        """Whether the write was only recorded."""
        return dry_run_of(self.session.registry) is not None

    def attempt(self) -> None:
        """An attempt begins."""
        self.epoch = self.state.begin()[0]
        self.began = self.cache.options.clock()

    def served(self, snapshot: EntityBase, *, exists: bool = True) -> Any:
        """A copy of what the row is now, with nothing kept."""
        source: Source = "table" if exists else "default"
        entry = Entry(snapshot, source, self.began, self.cache.options.clock, exists=exists)
        return entry.serve(cached=False)

    def done(self, snapshot: EntityBase) -> Any:
        """The write was applied and left this; gives a copy."""
        if self.dry:
            return self.served(snapshot)
        entry = kept(self.cls, Entry(snapshot, "table", self.began, self.cache.options.clock, exists=True))
        self.cache.announce(self.state.wrote(entry, self.epoch), entry)
        report_write(self.state, schema_of(self.cls), self.cache.options, snapshot)
        return entry.serve(cached=False)


@contextmanager
def _writing(session: Session, cls: type[EntityBase]) -> Generator[_Write]:
    write = _Write(session, cls)
    try:
        yield write
    except BaseException:
        # Also when cancelled or interrupted: nobody knows whether the row is what the cache holds.
        write.state.drop()
        raise


def _exhausted(schema: EntitySchema, attempts: int, error: TablekitError) -> None:
    """Let the last failure say that it was not the first."""
    error.message = (
        f"{error.message} {schema.name} was tried {attempts} times, and another writer was first each time. Write it "
        "less often, or raise attempts=."
    )
    error.args = (error.message,)


# update


class _Change:
    """Values by name and typed actions, checked before anything is sent."""

    def __init__(self, cls: type[EntityBase], actions: Sequence[Action], values: Mapping[str, Any]) -> None:
        self.cls = cls
        self.schema = schema_of(cls)
        self.values = {name: self._checked(name, value) for name, value in values.items()}
        self.actions = (*actions, *(getattr(cls, name).set(value) for name, value in self.values.items()))
        self.by_value = not actions
        for action in actions:
            if not isinstance(action, Action):
                raise RequestError(
                    f"{self.schema.name}.update takes actions such as {self.schema.name}.field.set(...), and values "
                    f"by name; a {type(action).__name__} is neither."
                )
        if not self.actions:
            raise RequestError(f"{self.schema.name}.update() was given nothing to change.")

    def _checked(self, name: str, value: Any) -> Any:
        field = self.schema.by_name.get(name)
        if field is None:
            known = [each.name for each in self.schema.fields if each.given]
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" It has: {', '.join(known)}."
            if isinstance(value, Condition):
                hint = (
                    f" update takes no condition: decide in a function, and let it raise, "
                    f"{self.schema.name}.edit(...); it works on the row as it is, or on the safe values."
                )
            raise RequestError(f"{self.schema.name} has no field {name!r}.{hint}")
        guard = self.cls.__guards__.get(name)
        # The validators of the class, and its refusal of what tablekit keeps.
        return value if guard is None else guard(safe_values(self.cls), name, value)

    def new(self) -> EntityBase:
        """The safe values with these in place."""
        entity = safe_values(self.cls)
        for name, value in self.values.items():
            setattr(entity, name, value)
        return entity


@call("update")
async def update(session: Session, cls: type[S], /, *actions: Action, **values: Any) -> S:
    """Change the row by values and actions, on the server, and conditional on its version."""
    schema, options = schema_of(cls), cache_of(cls).options
    change = _Change(cls, actions, values)
    with _writing(session, cls) as write:
        version = await _known_version(session, cls, write)
        for attempt in range(options.attempts):
            write.attempt()
            try:
                return cast(S, await _update_once(session, cls, change, version, write))
            except LOST as error:
                if attempt + 1 == options.attempts or not await session.rest(between_races(attempt)):
                    _exhausted(schema, attempt + 1, error)
                    raise
                version = await _version_after(session, cls, error)
    raise AssertionError


async def _update_once(session: Session, cls: type[S], change: _Change, version: int | None, write: _Write) -> Any:
    """One attempt; `version` is None when there is no row."""
    schema = schema_of(cls)
    if version is None:
        if cache_of(cls).options.migrates_from is not None or not change.by_value:
            first = await _create(session, cls, write)
            version = first.version
            write.attempt()
        else:
            return write.done(await execute(session, plan_put(change.new(), session.now(), create=True)))
    checked = version if schema.version is not None else None
    asked = Update(change.actions, version=checked)
    plan = plan_update(schema, schema.key_of({}), {}, asked, session.now(), target=UNSET)
    stored = await execute(session, plan)
    if stored is UNSET:
        return await _present(session, cls)
    if not isinstance(stored, cls):
        # What the update left cannot be read as a whole; the policy says what that means.
        write.state.drop()
        return await load(session, cls)
    return write.done(stored)


async def _present(session: Session, cls: type[S]) -> S:
    """What a dry run gives back: the row as it is, since nothing was changed."""
    return await load(session, cls)


async def _known_version(session: Session, cls: type[EntityBase], write: _Write) -> int | None:
    """The version to begin with: the cached one may be old, and a lost race tells the present one."""
    known = write.state.entry
    if known is not None and known.exists and known.problem is None:
        return known.version
    return _version_in(cls, await read_row(session, cls, consistent=True))


async def _version_after(session: Session, cls: type[EntityBase], error: TablekitError) -> int | None:
    if isinstance(error, ItemNotFound):
        return None
    item = getattr(error, "item", None)
    row = Row(item) if item is not None else await read_row(session, cls, consistent=True)
    return _version_in(cls, row)


def _version_in(cls: type[EntityBase], row: Row) -> int | None:
    """The version of a row, also of one that cannot be read as a whole."""
    if row.item is None:
        return None
    field = schema_of(cls).version
    stored = "0" if field is None else row.item.get(field.attribute, {}).get("N", "0")
    return int(stored)


# edit


@call("edit")
async def edit(session: Session, cls: type[S], change: Callable[[S], S | None], /) -> S:
    """Read, let the function change a copy, write what it changed; again when another writer was first."""
    schema, options = schema_of(cls), cache_of(cls).options
    with _writing(session, cls) as write:
        row = await read_row(session, cls, consistent=True)
        for attempt in range(options.attempts):
            if row.problem is not None:
                raise row.problem
            write.attempt()
            try:
                return cast(S, await _edit_once(session, cls, change, row, write))
            except LOST as error:
                if attempt + 1 == options.attempts or not await session.rest(between_races(attempt)):
                    _exhausted(schema, attempt + 1, error)
                    raise
                row = await _row_after(session, cls, error)
    raise AssertionError


async def _row_after(session: Session, cls: type[S], error: TablekitError) -> Row:
    """The row that beat us, as it came with the refusal; read where it did not."""
    item: Item | None = getattr(error, "item", None)
    stored = getattr(error, "stored", None)
    if item is not None and isinstance(stored, cls):
        return Row(item, stored)
    return await read_row(session, cls, consistent=True)


async def _edit_once(session: Session, cls: type[S], change: Callable[[S], S | None], row: Row, write: _Write) -> Any:
    schema = schema_of(cls)
    if row.item is None and row.previous is not None and row.snapshot is not None:
        row = Row({}, await _create(session, cls, write))
        write.attempt()
    entity: S = safe_values(cls) if row.snapshot is None else row.snapshot
    entity.__dict__.pop(SEEN, None)
    before = Entry(entity, "table", write.began, write.cache.options.clock, exists=row.item is not None)
    _apply(cls, change, entity)
    if BASE not in entity.__dict__:
        after = Entry(entity, "default", write.began, write.cache.options.clock, exists=False)
        if before.same_values(after):
            return write.served(entity, exists=False)
        return write.done(await execute(session, plan_put(entity, session.now(), create=True)))
    plan = plan_save(entity, session.now(), condition=_unmoved(schema, before))
    if plan is None:
        return write.served(entity)
    return write.done(await execute(session, plan))


def _apply(cls: type[S], change: Callable[[S], S | None], entity: S) -> None:
    """Let the function work on `entity`; what it returns in place of it is taken over field by field."""
    if not callable(change):
        raise RequestError(f"{cls.__name__}.edit takes a function that is given a {cls.__name__} and changes it.")
    result: Any = change(entity)
    if result is None or result is entity:
        return
    if not isinstance(result, cls):
        close = getattr(result, "close", None)
        if close is not None and hasattr(result, "__await__"):
            close()
        raise RequestError(
            f"the function given to {cls.__name__}.edit returned a {type(result).__name__}; it changes the "
            f"{cls.__name__} that it is given and returns None, or returns another {cls.__name__}."
        )
    for field in schema_of(cls).fields:
        if field.given and result.__dict__.get(field.name) != entity.__dict__.get(field.name):
            setattr(entity, field.name, result.__dict__[field.name])


def _unmoved(schema: EntitySchema, before: Entry) -> Condition | None:
    """Without a version, all that the function may have relied on is pinned."""
    if schema.version is not None:
        return None
    own = before.snapshot.__dict__
    return conjunction(*(pin(field, own[field.name])[0] for field in schema.fields if field.given))


# ensure, delete, invalidate


async def _create(session: Session, cls: type[S], write: _Write) -> Any:
    """Make the first row: of the predecessor's values where there is one, else of the safe values."""
    if cache_of(cls).options.migrates_from is not None:
        return await migrate(session, cls)
    return write.served(await execute(session, plan_put(safe_values(cls), session.now(), create=True)))


@call("ensure")
async def ensure(session: Session, cls: type[S], /) -> S:
    """Write the safe values when there is no row; gives what is there then."""
    with _writing(session, cls) as write:
        row = await read_row(session, cls, consistent=True)
        if row.item is None:
            try:
                return cast(S, write.done(await _create(session, cls, write)))
            except LOST:
                row = await read_row(session, cls, consistent=True)
        return cast(S, entry_of(cls, row, write.began, write.state).serve(cached=False))


@call("delete")
async def delete(session: Session, cls: type[EntityBase], /) -> None:
    """Delete the row; the safe values are in force from then on."""
    with _writing(session, cls) as write:
        await execute(session, plan_delete_key(schema_of(cls), schema_of(cls).key_of({})))
        if not write.dry:
            write.state.drop()


def invalidate(session: Session, cls: type[EntityBase]) -> None:
    """Forget what is cached; the next read asks the table."""
    state_of(session, cls).drop()
