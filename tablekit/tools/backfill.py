"""Stamping the type onto rows that lack it, and index keys onto rows whose keys are missing or stale.

It works beside live writers. Each write is an UpdateItem of those attributes alone, under a condition that the
row is there, still lacks what is added, and still has the values that an index key is made of: a row that was
deleted is not brought back, and nothing a writer did in between is undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, RequestError, ServiceError
from tablekit.expressions.actions import Action, remove_attribute, set_attribute
from tablekit.expressions.conditions import Condition, all_of, attribute_exists, attribute_not_exists, equals
from tablekit.operations.driver import run
from tablekit.operations.outcome import decide_failure
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.scanning import (
    Checkpoint,
    SegmentScan,
    Shared,
    Size,
    pack_key,
    plan_scan,
    recovery_enabled,
    run_segments,
    share_of,
    unpack_key,
)
from tablekit.wire.items import decoder
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["BackfillReport", "Left", "Plan", "backfill", "backfill_async"]

Infer = Callable[[Mapping[str, Any]], "str | None"]
"""Given a row in DynamoDB JSON, the type it is of; None where it cannot tell."""

ATTEMPTS = 5
"""How often a row is looked at that live writers keep changing."""

LISTED = 1_000
"""Rows that are left are listed up to this number, and counted beyond it."""


@attrs.frozen
class Plan:
    """What a backfill is about to do.

    Attributes:
        size: the table's size. segments: how many are scanned. read_units: what the scan will consume about.
        write_units: what it will consume at most: were every row written, and every index entry with it. recovery:
            whether the table has point-in-time recovery; None where that cannot be told.
    """

    size: Size
    segments: int
    read_units: float
    write_units: float
    recovery: bool | None


@attrs.frozen
class Left:
    """A row that was left as it is.

    Attributes:
        pk, sk: its key. reason: why.
    """

    pk: Any
    sk: Any
    reason: str


@attrs.frozen
class BackfillReport:
    """What a backfill did.

    Attributes:
        scanned: rows read. typed: rows that got a type. indexed: rows whose index keys were set or removed.
        moved: rows that a live writer changed or deleted in between; they were looked at again, as they then were.
        left: rows that could not be told or read, the first thousand; ambiguous: how many in all.
        by_type: rows typed, by type. dry_run: whether nothing was written. resumed: whether it went on from a
            checkpoint; the counts are then those of the whole run. A run that was killed may have read and written
            some rows of its last pages that it had not counted.
        units: capacity units of this run.
    """

    scanned: int
    typed: int
    indexed: int
    moved: int
    ambiguous: int
    left: tuple[Left, ...]
    by_type: Mapping[str, int]
    dry_run: bool
    resumed: bool
    units: float


def backfill(
    app: TableDefinition,
    *,
    infer: Infer | None = None,
    types: bool = True,
    aliases: bool = False,
    index_keys: bool = False,
    segments: int | str = 4,
    parallel: int = 4,
    rate: float | None = None,
    page_size: int = 500,
    checkpoint: str | Path | None = None,
    dry_run: bool = False,
    require_recovery: bool = True,
    announce: Callable[[Plan], Any] | None = None,
    progress: Callable[[Mapping[str, int]], Any] | None = None,
) -> BackfillReport:
    """Stamp types, and index keys, onto the rows that lack them.

    Parameters:
        infer: tells the type of a row; by default the one class whose key templates could have rendered its key.
        types: stamp types. aliases: give rows that carry an alias the type itself. index_keys: set index keys that
            are missing, and mend those that are stale.
        segments: how many segments the table is scanned in, or ``"0-63/1024"`` for a share of them, so that several
            machines can do one run. parallel: how many are worked on at once.
        rate: capacity units a second, reads and writes together; None for no limit. page_size: rows that one request
            reads; after each page the checkpoint is written.
        checkpoint: a file from which an interrupted run goes on. dry_run: write nothing, and count what would be.
        require_recovery: refuse a table without point-in-time recovery.
        announce: called with the `Plan` before anything is read. progress: called with the counts after each page.

    Raises `RequestError` when the table has no point-in-time recovery, or none that can be seen, and that was not
    waived. An interrupt ends it after the requests under way; with a checkpoint it can go on from there.
    """
    session = cast(SessionSource, app).session()
    return run(
        backfill_async(
            session,
            infer=infer,
            types=types,
            aliases=aliases,
            index_keys=index_keys,
            segments=segments,
            parallel=parallel,
            rate=rate,
            page_size=page_size,
            checkpoint=checkpoint,
            dry_run=dry_run,
            require_recovery=require_recovery,
            announce=announce,
            progress=progress,
        )
    )


async def backfill_async(
    session: Session,
    *,
    infer: Infer | None,
    types: bool,
    aliases: bool,
    index_keys: bool,
    segments: int | str,
    parallel: int,
    rate: float | None,
    page_size: int,
    checkpoint: str | Path | None,
    dry_run: bool,
    require_recovery: bool,
    announce: Callable[[Plan], Any] | None,
    progress: Callable[[Mapping[str, int]], Any] | None,
) -> BackfillReport:
    """The coroutine of `backfill`, over a session."""
    if not (types or aliases or index_keys):
        raise RequestError(
            "A backfill of neither types, aliases nor index_keys has nothing to do; ask for one of them."
        )
    numbers, total = share_of(segments)
    shared = Shared(session, rate)
    plan = await _plan(session, len(numbers), total, index_keys=index_keys)
    if announce is not None:
        announce(plan)
    if require_recovery and not dry_run:
        _check_recovery(session, plan)
    chosen = {"types": types, "aliases": aliases, "index_keys": index_keys, "dry_run": dry_run}
    job = _Job(shared, infer, **chosen)
    identity = {"table": session.name, "total": total, **chosen}
    state = Checkpoint(checkpoint, identity)
    resumed = state.resumed

    async def work(segment: int) -> None:
        start, done = state.start_of(segment)
        scan = SegmentScan(segment, total, start=start, page_size=page_size)
        while not done:
            page = _Page()
            try:
                for item in await scan.step(shared):
                    await job.row(item, page)
            except BaseException:
                state.add(page.written())
                raise
            done = scan.done
            state.save(segment, scan.start, page.counts, page.left[: max(0, LISTED - len(state.notes))])
            if progress is not None:
                progress(dict(state.counts))

    await run_segments(shared, work, numbers, parallel)
    return _report(session, state, shared.units, dry_run=dry_run, resumed=resumed)


def _check_recovery(session: Session, plan: Plan) -> None:
    if plan.recovery:
        return
    what = (
        "has no point-in-time recovery, so that a mistake could not be undone. Enable it"
        if plan.recovery is False
        else "does not show whether it has point-in-time recovery (dynamodb:DescribeContinuousBackups). Allow that"
    )
    raise RequestError(f"Table {session.name!r} {what}, or say require_recovery=False (--no-recovery).")


async def _plan(session: Session, segments: int, total: int, *, index_keys: bool) -> Plan:
    scan = await plan_scan(session, segments, total)
    size, share = scan.size, segments / total
    # Each row is rounded up by itself, so that all of them take at most one unit a row more than their bytes do.
    writes = size.items + size.bytes // 1024
    # An index entry is written with its row, and written twice where its key changes.
    each = 1 + len(session.registry.indexes) * (2 if index_keys else 1)
    return Plan(
        size,
        segments,
        scan.read_units,
        float(writes * each) * share,
        await recovery_enabled(session),
    )


def _report(session: Session, state: Checkpoint, units: float, *, dry_run: bool, resumed: bool) -> BackfillReport:
    prefix = "type:"
    counts = state.counts
    return BackfillReport(
        scanned=counts.get("scanned", 0),
        typed=counts.get("typed", 0),
        indexed=counts.get("indexed", 0),
        moved=counts.get("moved", 0),
        ambiguous=counts.get("left", 0),
        left=tuple(
            Left(*session.registry.plain_key(unpack_key(note["key"])), note["reason"]) for note in state.notes[:LISTED]
        ),
        by_type={name[len(prefix) :]: number for name, number in counts.items() if name.startswith(prefix)},
        dry_run=dry_run,
        resumed=resumed,
        units=units,
    )


class _Page:
    """What was met on one page."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.left: list[dict[str, Any]] = []

    def written(self) -> dict[str, int]:
        """The counts of writes: they stay true when the page is read again."""
        return {name: number for name, number in self.counts.items() if name not in ("scanned", "moved", "left")}


class _Job:
    """One run: what it was told."""

    def __init__(
        self, shared: Shared, infer: Infer | None, *, types: bool, aliases: bool, index_keys: bool, dry_run: bool
    ) -> None:
        self.shared = shared
        self.registry = shared.session.registry
        self.infer = infer
        self.types = types
        self.aliases = aliases
        self.index_keys = index_keys
        self.dry_run = dry_run

    async def row(self, item: Item, page: _Page) -> None:
        """Look at one row, and write what it lacks; again, as it then is, when a live writer was first."""
        page.counts["scanned"] += 1
        for attempt in range(ATTEMPTS):
            if await self._mend(item, page):
                return
            page.counts["moved"] += attempt == 0
            fresh = await self._read(item)
            if fresh is None:
                return
            item = fresh
        self._leave(item, "a live writer was first each time", page)

    async def _read(self, item: Item) -> Item | None:
        key = {name: item[name] for name in self.registry.key_names}
        body = {"Key": key, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
        found: Item | None = (await self.shared.send(Request("GetItem", body))).body.get("Item")
        return found

    async def _mend(self, item: Item, page: _Page) -> bool:
        """Write what a row lacks; False when it is no more as it was read."""
        untyped = self.registry.type_attribute not in item
        schema = None if untyped and not self.types else self._schema(item, page)
        if schema is None:
            return True
        actions: list[Action] = []
        conditions: list[Condition] = [
            attribute_exists(self.registry.pk),
            _unmoved(self.registry.type_attribute, item),
        ]
        stamped = untyped or (self.aliases and item[self.registry.type_attribute] != {"S": schema.type})
        if stamped:
            actions.append(set_attribute(self.registry.type_attribute, {"S": schema.type}, schema.type))
        indexed = self.index_keys and self._index(schema, item, actions, conditions, page)
        if actions and not await self._write(item, actions, conditions):
            return False
        if actions:
            page.counts["typed"] += stamped
            page.counts["indexed"] += bool(indexed)
            if stamped:
                page.counts[f"type:{schema.type}"] += 1
        return True

    def _schema(self, item: Item, page: _Page) -> EntitySchema | None:
        stored = item.get(self.registry.type_attribute)
        if stored is not None:
            if "S" not in stored:
                self._leave(item, f"its {self.registry.type_attribute} is no text", page)
            # Rows of types that nobody knows, and of our own guard rows, are not this app's to touch.
            return self.registry.by_type.get(stored.get("S", ""))
        if self.infer is None:
            found = self.registry.infer(item)
            if found is None:
                self._leave(item, "its key fits no class, or several", page)
            return found
        name = self.infer(item)
        found = None if name is None else self.registry.by_type.get(name)
        if found is None:
            reason = "the function does not tell its type" if name is None else f"the function says {name!r}, no type"
            self._leave(item, reason, page)
        return found

    def _leave(self, item: Item, reason: str, page: _Page) -> None:
        page.counts["left"] += 1
        page.left.append({"key": pack_key({name: item[name] for name in self.registry.key_names}), "reason": reason})

    def _index(
        self,
        schema: EntitySchema,
        item: Item,
        actions: list[Action],
        conditions: list[Condition],
        page: _Page,
    ) -> bool:
        """Add the actions that bring a row's index keys to what a put would write."""
        try:
            entity = decoder(schema)(item)
            wanted = _index_attributes(schema, entity.__dict__)
        except (DataError, RequestError) as error:
            self._leave(item, f"its index keys cannot be told ({type(error).__name__})", page)
            return False
        before = len(actions)
        sources: set[str] = set()
        for index_key in schema.index_keys.values():
            changed = False
            for key in index_key.written:
                value = wanted.get(key.attribute)
                if not equal_wire(item.get(key.attribute), value):
                    changed = True
                    actions.append(
                        remove_attribute(key.attribute)
                        if value is None
                        else set_attribute(key.attribute, value, key.attribute)
                    )
                    conditions.append(_unmoved(key.attribute, item))
            if changed:
                sources.update(index_key.names)
        for name in sorted(sources):
            attribute = schema.by_name[name].attribute
            if attribute not in self.registry.key_names:
                conditions.append(_unmoved(attribute, item))
        return len(actions) > before

    async def _write(self, item: Item, actions: Sequence[Action], conditions: Sequence[Condition]) -> bool:
        if self.dry_run:
            return True
        renderer = Renderer()
        request = Request(
            "UpdateItem",
            {
                "Key": {name: item[name] for name in self.registry.key_names},
                "UpdateExpression": renderer.render_update(actions),
                "ConditionExpression": renderer.render_condition(all_of(*conditions)),
                "ExpressionAttributeNames": renderer.names,
                "ExpressionAttributeValues": renderer.values,
                "ReturnConsumedCapacity": "TOTAL",
            },
        )
        try:
            await self.shared.send(request)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            # After a lost answer our own first write fails the condition; it is the same write, and done.
            return decide_failure(error.history).outcome != "failed"
        return True


def _index_attributes(schema: EntitySchema, values: Mapping[str, Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for index_key in schema.index_keys.values():
        found.update(index_key.render(values, schema.name) or {})
    return found


def _unmoved(attribute: str, item: Item) -> Condition:
    """The attribute is as it was when the row was read."""
    value = item.get(attribute)
    return attribute_not_exists(attribute) if value is None else equals(attribute, value, f"{attribute}_seen")
