"""Reading a singleton: from memory, by one GetItem for all who ask at once, or by the policy when that fails."""

from __future__ import annotations

import contextvars
import logging
import random
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from tablekit._types import Item
from tablekit.api.table import Table
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.errors import DataError, DeadlineExceeded, DecodeError, TablekitError
from tablekit.operations.calls import call
from tablekit.operations.deadline import no_deadline
from tablekit.operations.dispatch import decode_as
from tablekit.operations.driver import run
from tablekit.operations.estimates import ReadFacts
from tablekit.operations.explain import Explanation
from tablekit.operations.read import get_request
from tablekit.operations.session import Session
from tablekit.patterns.cache import Cache, Flight, State
from tablekit.patterns.entries import Entry
from tablekit.patterns.notices import report_failure, report_missing, report_problem, report_row
from tablekit.patterns.options import Options

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "Row",
    "cache_of",
    "entry_of",
    "explain",
    "get",
    "load",
    "read_row",
    "safe_values",
    "state_of",
]

_log = logging.getLogger("tablekit.singleton")

S = TypeVar("S", bound=EntityBase)

CACHE = "__cache__"
"""Where a singleton class keeps its cache."""

# A task of the event loop is only held weakly by the loop itself.
_tasks: set[asyncio.Task[Any]] = set()


def cache_of(cls: type[EntityBase]) -> Cache:
    """The cache of a class. Raises `DefinitionError` for an abstract one."""
    schema_of(cls)
    return cast(Cache, cls.__dict__[CACHE])


def state_of(session: Session, cls: type[EntityBase]) -> State:
    """What is known of a class's row through the present binding; the same for sync and async."""
    binding = cast(Table, session.registry).binding
    return cache_of(cls).state(binding.port, session.name)


# One row


@attrs.frozen
class Row:
    """What one read brought.

    Attributes:
        item: the row, or None. snapshot: its values; those of the predecessor, transformed, where there is no
            row yet; None when there is neither. problem: what kept a row from being used. previous: the
            predecessor's row that `snapshot` was made of.
    """

    item: Item | None = None
    snapshot: Any = None
    problem: TablekitError | None = None
    previous: Row | None = None


async def read_row(session: Session, cls: type[EntityBase], *, consistent: bool) -> Row:
    """Read the row by GetItem, and the predecessor's where there is none. Raises `ServiceError`."""
    schema = schema_of(cls)
    answer = await session.send(get_request(schema.key_of({}), consistent=consistent, entity=schema.name))
    item: Item | None = answer.body.get("Item")
    if not item:
        return await _read_previous(session, cls, consistent=consistent)
    try:
        return Row(item, decode_as(schema, item))
    except DataError as error:
        return Row(item, problem=error)
    except Exception as error:
        # after_load and codecs are the user's code.
        return Row(item, problem=_unusable(cls, f"reading it raised {type(error).__name__}"))


async def _read_previous(session: Session, cls: type[EntityBase], *, consistent: bool) -> Row:
    previous = cache_of(cls).options.migrates_from
    if previous is None:
        return Row()
    older = await read_row(session, previous, consistent=consistent)
    if older.problem is not None or older.snapshot is None:
        return Row(problem=older.problem, previous=older)
    transform: Any = getattr(cls, "transform")  # noqa: B009  (a hook of the user's class, checked when it was made)
    try:
        snapshot = transform(older.snapshot)
    except Exception as error:
        return Row(problem=_unusable(cls, f"transform() raised {type(error).__name__}"), previous=older)
    if not isinstance(snapshot, cls):
        return Row(problem=_unusable(cls, f"transform() gave a {type(snapshot).__name__}"), previous=older)
    return Row(snapshot=snapshot, previous=older)


def _unusable(cls: type[EntityBase], reason: str) -> DecodeError:
    schema = schema_of(cls)
    key = schema.key_of({})
    pk, sk = schema.registry.plain_key(key)
    return DecodeError(
        f"{schema.name} {schema.registry.show_key(key)} cannot be used: {reason}. Mend the row or the class.",
        entity=schema.name,
        pk=pk,
        sk=sk,
    )


def safe_values(cls: type[S]) -> S:
    """A new instance with the declared defaults."""
    return cls()


# Entries


def entry_of(cls: type[EntityBase], row: Row, read_at: float, state: State) -> Entry:
    """What a read means for those who ask: the row's values, or the safe ones."""
    options = cache_of(cls).options
    schema = schema_of(cls)
    if row.problem is not None:
        report_problem(state, schema, row.problem)
        entry = Entry(
            safe_values(cls),
            "default",
            read_at,
            options.clock,
            exists=row.item is not None,
            problem=row.problem,
            raises=options.on_failure == "raise",
        )
    elif row.snapshot is None:
        report_missing(state, schema)
        entry = Entry(safe_values(cls), "default", read_at, options.clock, exists=False)
    else:
        if row.item is not None:
            report_row(state, schema, row.item, row.snapshot)
        entry = Entry(row.snapshot, "table", read_at, options.clock, exists=row.item is not None)
    return kept(cls, entry)


def kept(cls: type[EntityBase], entry: Entry) -> Entry:
    """An entry with its time to live, a little less for some than for others."""
    options = cache_of(cls).options
    part = random.uniform(1 - options.jitter, 1)  # noqa: S311  (jitter, no secret)
    return entry.lasting(options.cache_seconds * part, refresh_before=options.refresh_before)


def _failed(cls: type[EntityBase], state: State, error: TablekitError) -> Entry:
    """What is served while reads fail: the last good values, else what the policy says; for a short time."""
    options = cache_of(cls).options
    failures, last = state.failed()
    now = options.clock()
    if last is not None and (
        options.max_stale is None or now - last.read_at < options.cache_seconds + options.max_stale
    ):
        entry = Entry(last.snapshot, "stale", last.read_at, options.clock, exists=last.exists, problem=error)
        # A row that could not be used before is not better for being old.
        entry.raises = last.raises
    else:
        raises = options.on_failure == "raise"
        entry = Entry(safe_values(cls), "default", now, options.clock, exists=False, problem=error, raises=raises)
    pause = min(options.retry_after * 2 ** min(failures - 1, 16), options.cache_seconds)
    entry.due = entry.expires = now + random.uniform(0.75, 1) * pause  # noqa: S311  (jitter, no secret)
    report_failure(state, schema_of(cls), error, entry)
    return entry


async def _fetch(session: Session, cls: type[EntityBase], state: State, *, consistent: bool = False) -> Entry:
    """Read the row and keep what it says, unless a write was newer; gives what is to be served."""
    cache = cache_of(cls)
    options = cache.options
    epoch, asked, last = state.begin()
    consistent = consistent or asked or _consistently(session, options)
    began = options.clock()
    try:
        row = await read_row(session, cls, consistent=consistent)
        if not consistent and _goes_back(cls, row, last):
            # An eventually consistent read may lag behind what this process has seen already.
            began = options.clock()
            row = await read_row(session, cls, consistent=True)
    except TablekitError as error:
        entry, good = _failed(cls, state, error), False
    else:
        entry, good = entry_of(cls, row, began, state), True
    if _hasty(entry):
        return entry
    served, before = state.install(entry, epoch, options.clock(), good=good)
    if served is entry:
        cache.announce(before, entry)
    return served


def _consistently(session: Session, options: Options) -> bool:
    return options.consistent or session.registry.consistent_reads


def _goes_back(cls: type[EntityBase], row: Row, last: Entry | None) -> bool:
    if last is None or not last.exists:
        return False
    version = schema_of(cls).version
    if row.item is None or version is None:
        return row.item is None
    return row.problem is None and row.snapshot.__dict__.get(version.name, 0) < last.version


# For all who ask at once


async def _lead(session: Session, cls: type[EntityBase], state: State, flight: Flight) -> Entry:
    entry: Entry | None = None
    try:
        entry = await _fetch(session, cls, state)
        return entry
    finally:
        # Also when this task is cancelled, or has no more time: then one of those who wait leads in its place.
        state.leave(flight, None if entry is not None and _hasty(entry) else entry)


def _hasty(entry: Entry) -> bool:
    """Whether the row was not read since this caller's deadline was over, which is no failure for others."""
    return isinstance(entry.problem, DeadlineExceeded)


async def get(session: Session, cls: type[S], /) -> S:
    """The values: from memory, or by one read for all threads and tasks that ask at once."""
    state = state_of(session, cls)
    aio = session.awaited
    clock = cache_of(cls).options.clock
    entry = state.entry
    if entry is not None and clock() < entry.due:
        return cast(S, entry.serve(cached=True))
    while True:
        role, entry, flight = state.enter(clock(), aio=aio)
        if entry is not None:
            if role == "refresh" and flight is not None:
                _refresh(session, cls, state, flight, aio=aio)
            return cast(S, entry.serve(cached=True))
        if role == "follow" and flight is not None:
            entry = await session.wait(flight.future)
            if entry is None:
                continue
            return cast(S, entry.serve(cached=False))
        if role == "lead" and flight is not None:
            return cast(S, (await _lead(session, cls, state, flight)).serve(cached=False))
        # The read that is under way is this caller's own: waiting for it would never end.
        return cast(S, (await _fetch(session, cls, state)).serve(cached=False))


@call("load")
async def load(session: Session, cls: type[S], /) -> S:
    """The values by a strongly consistent read, past the cache, which takes them over."""
    entry = await _fetch(session, cls, state_of(session, cls), consistent=True)
    return cast(S, entry.serve(cached=False))


# In the background


def _refresh(session: Session, cls: type[EntityBase], state: State, flight: Flight, *, aio: bool) -> None:
    """Start the read that replaces the entry before it expires."""
    reading = _lead(session, cls, state, flight)
    if aio:
        import asyncio

        task = asyncio.get_running_loop().create_task(_quietly(cls, reading))
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        return

    def work() -> None:
        flight.hand_over(threading.get_ident())
        run(_quietly(cls, reading))

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name=f"tablekit-{cls.__name__}", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # The interpreter is ending, or there are no threads left: the value expires, and a reader reads.
        reading.close()
        state.leave(flight, None)


async def _quietly(cls: type[EntityBase], reading: Coroutine[Any, Any, Entry]) -> None:
    try:
        with no_deadline():  # it is for all who will ask
            await reading
    except Exception as error:
        _log.warning("the background refresh of %s raised %s", cls.__name__, type(error).__name__)


# Being seen


def explain(session: Session, cls: type[EntityBase]) -> Explanation:
    """The request of a read, its cost, and the state of the cache."""
    schema, options = schema_of(cls), cache_of(cls).options
    consistent = _consistently(session, options)
    request = get_request(schema.key_of({}), consistent=consistent, entity=schema.name)
    notes = [
        "A row is billed whole, in blocks of 4 KB; a missing one as a block.",
        f"It is sent at most once in {options.cache_seconds:g} s by each process.",
        _held(state_of(session, cls), options.clock()),
    ]
    if options.migrates_from is not None:
        notes.append(f"While there is no row, a GetItem of {options.migrates_from.__name__} follows.")
    facts = ReadFacts(operation="GetItem", consistent=consistent)
    return Explanation(request, session.name, facts, notes=notes)


def _held(state: State, now: float) -> str:
    entry = state.entry
    if entry is None or now >= entry.expires:
        return "Nothing is cached now: the next get() sends it."
    return f"Version {entry.version} is cached now (source {entry.source}), for {entry.expires - now:.1f} s more."
