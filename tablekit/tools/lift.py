"""Lifting one type out of an export into a table of its own.

Each row is put on the condition that its key is free, so that no row of the target is ever overwritten, whoever wrote
it, and a row may be put twice. What stands under a key that is taken is compared: the same row is there already, and
another one is kept and counted. In the end the target is read, and counts and checksums are compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import attrs

from tablekit._types import Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import RequestError, ServiceError, TablekitError, TableNotFound
from tablekit.expressions.conditions import Condition, any_of, attribute_not_exists, compare
from tablekit.operations.ddl import describe_table
from tablekit.operations.driver import run
from tablekit.operations.observe import consumed_units
from tablekit.operations.rate import TokenBucket
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.lift_rows import LiftSource, Total, read_target, row_digest, total_of
from tablekit.tools.own_table import entity_of, own_table_body
from tablekit.tools.scanning import Checkpoint, recovery_enabled
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request
from tablekit.wire.units import write_units_by_index

__all__ = ["LiftPlan", "LiftReport", "check_lift", "lift"]

PAGE = 200
"""Rows that are put between two writes of the checkpoint."""
POLL_SECONDS = 0.25
Put = Literal["written", "present", "kept", "gone"]


@attrs.frozen
class LiftPlan:
    """What a lift is about to do.

    Attributes:
        rows: how many rows of the type the export holds. bytes: of them, by DynamoDB's rules.
        write_units: what putting all of them consumes, index entries included. read_units: what reading them back
            consumes about, from a target that holds nothing else.
        recovery: whether the target has point-in-time recovery; None where that cannot be told.
        creates: whether the target is to be created.
    """

    rows: int
    bytes: int
    write_units: float
    read_units: float
    recovery: bool | None
    creates: bool


@attrs.frozen
class LiftReport:
    """What a lift did.

    Attributes:
        rows: rows of the type in the export. written: rows that were put. present: rows that were in the target as
            they are in the export, by an earlier run or twice in the export. kept: rows whose key had another row in
            the target, which was left as it is, or deleted while this ran.
        found: rows of the type in the target in the end; None when they were not read. matches: whether counts and
            checksums agree, rows that were kept taken as they are; None when the target was not read.
        dry_run: whether nothing was written. units: capacity units of this run, read and written.
    """

    rows: int
    written: int
    present: int
    kept: int
    found: int | None
    matches: bool | None
    dry_run: bool
    units: float


def lift(
    source: str | Path,
    to: str,
    *,
    app: TableDefinition,
    type: str,
    rate: float | None = None,
    read_rate: float | None = None,
    parallel: int = 8,
    replace_older: bool = False,
    create: bool = False,
    checkpoint: str | Path | None = None,
    dry_run: bool = False,
    verify: bool = True,
    require_recovery: bool = True,
    announce: Callable[[LiftPlan], Any] | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> LiftReport:
    """Put the rows of one type of an export into another table, as they are.

    Parameters:
        source: the folder of a full export, or any parent of one. to: the physical name of the other table, which is
            reached as `app` is. app: the table whose classes know the types. type: a stored type, or an alias of it.
            Guard rows of its unique values go with it.
        rate: write units a second; read_rate: read units a second, in the end; None for no limit. parallel: puts that
            are under way at once.
        replace_older: of a class with a version, replace a row of the target whose version is lower.
        create: create the table, with the indexes that the type is in, where there is none.
        checkpoint: a file from which an interrupted run goes on. dry_run: write nothing, and count what would be.
        verify: read the target in the end, and compare. require_recovery: refuse a target without point-in-time
            recovery; a table that is created by this call needs none.
        announce: called with the `LiftPlan` before anything is written. progress: called with the rows that are done,
            and all of them, after each page.

    Raises `RequestError` for a target that is the table itself, has another key, or has no point-in-time recovery
    where that was not waived; `TableNotFound`; `ExportError` for an export that is not whole.
    """
    session = cast(SessionSource, app).session()
    rows = LiftSource(source, app, _schema_for(session, app, to, type, replace_older=replace_older))
    job = _Lift(session, to, rows, rate, replace_older=replace_older)
    identity = {"export": str(rows.export.folder.resolve()), "type": rows.schema.type, "table": to}
    identity["digest"] = rows.export_digest
    return run(
        job.run(
            _Options(
                parallel=parallel,
                create=create,
                state=Checkpoint(None if dry_run else checkpoint, {**identity, "replace_older": replace_older}),
                dry_run=dry_run,
                verify=verify,
                require_recovery=require_recovery,
                read_rate=read_rate,
                announce=announce,
                progress=progress,
            )
        )
    )


def check_lift(
    app: TableDefinition,
    to: str,
    *,
    type: str,
    replace_older: bool = False,
    create: bool = False,
    require_recovery: bool = True,
) -> None:
    """Refuse what `lift` would refuse of these, before units are spent on a scan that it is to read.

    Parameters:
        app, to, type, replace_older, create, require_recovery: as for `lift`.

    Raises `RequestError`, `TableNotFound`.
    """
    session = cast(SessionSource, app).session()
    schema = _schema_for(session, app, to, type, replace_older=replace_older)
    run(_check_target(_at(session, to), schema, create=create, require_recovery=require_recovery))


def _schema_for(session: Session, app: TableDefinition, to: str, type: str, *, replace_older: bool) -> EntitySchema:
    schema = entity_of(app, type)
    if session.name == to:
        raise RequestError(f"{to!r} is the table that the rows come from. Give the name of another one.")
    if replace_older and schema.version is None:
        raise RequestError(f"{schema.name} has no version, so that no row of it is known to be older.")
    return schema


def _at(source: Session, table: str) -> Session:
    """The same connection, to another table."""
    return Session(source.registry, source.port, table, source.capabilities, source.listeners, awaited=source.awaited)


async def _check_target(target: Session, schema: EntitySchema, *, create: bool, require_recovery: bool) -> None:
    creates = await _describe(target, schema, create=create) is None
    if require_recovery and not creates:
        _check_recovery(target.name, await recovery_enabled(target))


async def _describe(target: Session, schema: EntitySchema, *, create: bool) -> Mapping[str, Any] | None:
    """The target's description; None where it is to be created. Raises `RequestError` where its key is another."""
    try:
        table = await describe_table(target)
    except TableNotFound:
        if create:
            return None
        raise
    body = own_table_body(target.registry, schema)
    if _key_of(table) != _key_of(body):
        raise RequestError(
            f"Table {target.name!r} has the key {_told(table)}, and rows of {schema.name} have "
            f"{_told(body)}. Give a table with that key, or a new name with create=True (--create)."
        )
    return table


def _check_recovery(table: str, recovery: bool | None) -> None:
    if recovery:
        return
    what = (
        "has no point-in-time recovery, so that a mistake could not be undone. Enable it"
        if recovery is False
        else "does not show whether it has point-in-time recovery (dynamodb:DescribeContinuousBackups). Allow that"
    )
    raise RequestError(f"Table {table!r} {what}, or say require_recovery=False (--no-recovery).")


@attrs.frozen(kw_only=True)
class _Options:
    parallel: int
    create: bool
    state: Checkpoint
    dry_run: bool
    verify: bool
    require_recovery: bool
    read_rate: float | None
    announce: Callable[[LiftPlan], Any] | None
    progress: Callable[[int, int], Any] | None


class _Lift:
    def __init__(self, source: Session, to: str, rows: LiftSource, rate: float | None, *, replace_older: bool) -> None:
        self.registry = rows.registry
        self.schema = rows.schema
        self.rows = rows
        self.target = _at(source, to)
        self.bucket = None if rate is None else TokenBucket(rate)
        self.replace_older = replace_older
        self.units = 0.0

    async def run(self, options: _Options) -> LiftReport:
        """Plan, put, compare."""
        creates = await _describe(self.target, self.schema, create=options.create) is None
        recovery = None if creates else await recovery_enabled(self.target)
        total = total_of(self.rows, self._write_units)
        read_units = float(-(-total.bytes // 4096)) if options.verify else 0.0
        plan = LiftPlan(total.rows, total.bytes, total.write_units, read_units, recovery, creates)
        if options.announce is not None:
            options.announce(plan)
        if options.dry_run:
            return LiftReport(total.rows, 0, 0, 0, None, None, dry_run=True, units=0.0)
        if options.require_recovery and not creates:
            _check_recovery(self.target.name, recovery)
        if creates:
            await self._create()
        await self._put_all(options, total.rows)
        counts = options.state.counts
        found = await self._verify(options, total) if options.verify else None
        return LiftReport(
            total.rows,
            counts.get("written", 0),
            counts.get("present", 0),
            counts.get("kept", 0) + counts.get("gone", 0),
            None if found is None else found[0],
            None if found is None else found[1],
            dry_run=False,
            units=self.units,
        )

    # The target

    async def _create(self) -> None:
        await self.target.send(Request("CreateTable", own_table_body(self.registry, self.schema)))
        waited = 0.0
        while (await self._status()) != "ACTIVE":
            if waited > 300:
                raise TablekitError(f"Table {self.target.name!r} was not ACTIVE after 300 seconds. Run this again.")
            await self.target.port.sleep(POLL_SECONDS)
            waited += POLL_SECONDS

    async def _status(self) -> str:
        try:
            return str((await describe_table(self.target)).get("TableStatus", ""))
        except TableNotFound:
            # DescribeTable is eventually consistent: a table that was just created may not be seen yet.
            return ""

    # Putting

    async def _put_all(self, options: _Options, rows: int) -> None:
        done = sum(options.state.counts.get(kind, 0) for kind in get_args(Put))
        for number in range(len(self.rows.export.files)):
            start, whole = options.state.start_of(number)
            if whole:
                continue
            begin = 0 if start is None else int(start["line"]["N"])
            for line, page in self.rows.pages(number, begin, PAGE):
                counts = await self._put_page(page, options.parallel)
                options.state.save(number, {"line": {"N": str(line)}}, counts)
                done += len(page)
                if options.progress is not None:
                    options.progress(done, rows)
            options.state.save(number, None, {})

    async def _put_page(self, page: Sequence[Item], parallel: int) -> Counter[str]:
        """Put the rows of a page, several at once; gives how many became what, and what kept rows change."""
        counts: Counter[str] = Counter()
        for kind, change in await self.target.gather([self._put(row) for row in page], parallel):
            counts[kind] += 1
            if change:
                counts["change"] += change
        return counts

    async def _put(self, row: Item) -> tuple[Put, int]:
        """Put one row where its key is free; gives what became of it, and by what a row that was kept differs."""
        try:
            await self._send(self._request(row), self._write_units(row))
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            stored = error.response.get("Item") or await self._read(row)
        else:
            return "written", 0
        if stored is None:
            # It was deleted in between: a live target has the last word.
            return "gone", -row_digest(row)
        if stored.keys() == row.keys() and all(equal_wire(stored[name], value) for name, value in row.items()):
            # Put by an earlier run, or by our own first try, whose answer was lost.
            return "present", 0
        return "kept", row_digest(stored) - row_digest(row)

    def _request(self, row: Item) -> Request:
        renderer = Renderer()
        return Request(
            "PutItem",
            {
                "Item": row,
                "ConditionExpression": renderer.render_condition(self._condition(row)),
                "ExpressionAttributeNames": renderer.names,
                "ExpressionAttributeValues": renderer.values or None,
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD" if self.target.capabilities.old_item else None,
                "ReturnConsumedCapacity": "TOTAL",
            },
            entity=self.schema.name,
        )

    def _condition(self, row: Item) -> Condition:
        free = attribute_not_exists(self.registry.pk)
        version = None if self.schema.version is None else row.get(self.schema.version.attribute)
        if not self.replace_older or version is None or self.schema.version is None:
            return free
        return any_of(free, compare(self.schema.version.attribute, "<", version, "version"))

    async def _read(self, row: Item) -> Item | None:
        key = {name: row[name] for name in self.registry.key_names}
        request = Request("GetItem", {"Key": key, "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"})
        found: Item | None = (await self._send(request, 1.0)).get("Item")
        return found

    async def _send(self, request: Request, expected: float) -> Mapping[str, Any]:
        """Send a request when the rate allows it; a failed condition is billed as the write would have been."""
        delay, reserved = (0.0, 0.0) if self.bucket is None else self.bucket.reserve(request.operation)
        units = expected
        try:
            if delay > 0:
                await self.target.port.sleep(delay)
            body = (await self.target.send(request)).body
            units = sum(consumed_units(body).values()) or expected
        finally:
            self.units += units
            if self.bucket is not None:
                self.bucket.settle(reserved, units, request.operation)
        return body

    def _write_units(self, row: Item) -> float:
        return sum(
            write_units_by_index(
                row,
                None,
                indexes=self.registry.indexes.values(),
                table_keys=self.registry.key_names,
                type_attribute=self.registry.type_attribute,
            ).values()
        )

    # Comparing

    async def _verify(self, options: _Options, total: Total) -> tuple[int, bool]:
        """Read the target; gives the rows of the type in it, and whether they are those that should be there."""
        rows, digest, units = await read_target(self.target, self.rows.wants, options.read_rate, options.parallel)
        self.units += units
        counts = options.state.counts
        expected = total.rows - counts.get("gone", 0), (total.digest + counts.get("change", 0)) % (1 << 128)
        return rows, (rows, digest) == expected


def _key_of(table: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    types = {each["AttributeName"]: each["AttributeType"] for each in table.get("AttributeDefinitions", ())}
    return {
        each["KeyType"]: (each["AttributeName"], types.get(each["AttributeName"], "?"))
        for each in table.get("KeySchema", ())
    }


def _told(table: Mapping[str, Any]) -> str:
    return json.dumps(dict(_key_of(table).values()))
