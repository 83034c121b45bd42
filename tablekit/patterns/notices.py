"""What a singleton reports: each thing once, to the logger ``tablekit.singleton``, and never a value."""

from __future__ import annotations

import logging
from typing import Any

from tablekit._types import Item
from tablekit.definition.entity import EXTRA, EntityBase
from tablekit.definition.schema import EntitySchema
from tablekit.errors import TablekitError
from tablekit.patterns.cache import State
from tablekit.patterns.entries import Entry
from tablekit.patterns.options import Options
from tablekit.wire.items import encode_item
from tablekit.wire.sizes import attribute_sizes, item_size

__all__ = ["report_failure", "report_missing", "report_problem", "report_row", "report_write"]

_log = logging.getLogger("tablekit.singleton")

BLOCK = 4096
"""The bytes that one read unit pays for.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html"""


def report_failure(state: State, schema: EntitySchema, error: TablekitError, entry: Entry) -> None:
    """A read failed: what is served in place of the row."""
    code = getattr(error, "code", "") or type(error).__name__
    if not state.first(f"failure:{code}"):
        return
    served = {
        "stale": "The last values that were read are served, marked source='stale'.",
        "default": "No values were read before, so the safe values are served, marked source='default'.",
    }.get(entry.source, "")
    if entry.raises:
        served = "No values were read before, so the error is raised, as on_failure='raise' asks."
    _log.warning("%s could not be read (%s). %s It is tried again shortly.", schema.name, code, served)


def report_problem(state: State, schema: EntitySchema, error: TablekitError) -> None:
    """The row is there and cannot be used."""
    what = type(error).__name__
    if state.first(f"problem:{what}"):
        where = schema.registry.show_key(schema.key_of({}))
        detail = ", ".join(
            f"{name} {value}"
            for name, value in (
                ("attribute", getattr(error, "attribute", "")),
                ("stored type", getattr(error, "found", "")),
            )
            if value
        )
        _log.warning(
            "%s: the row %s cannot be used (%s%s). The safe values are in force as a whole until the row is mended.",
            schema.name,
            where,
            what,
            f": {detail}" if detail else "",
        )


def report_missing(state: State, schema: EntitySchema) -> None:
    """There is no row."""
    if state.first("missing"):
        _log.info(
            "%s: there is no row %s; the safe values are in force. %s.ensure() writes them.",
            schema.name,
            schema.registry.show_key(schema.key_of({})),
            schema.name,
        )


def report_row(state: State, schema: EntitySchema, item: Item, snapshot: EntityBase) -> None:
    """A row was read: forget what was wrong before, and say what is unusual about it."""
    if state.reported:
        for what in [each for each in list(state.reported) if each.startswith(("failure:", "problem:", "missing"))]:
            state.forget(what)
    extra = snapshot.__dict__.get(EXTRA)
    if extra and state.first("extra"):
        names = ", ".join(sorted(extra))
        _log.info("%s: the row has attributes that the class does not declare: %s. They are kept.", schema.name, names)
    version = schema.version
    if version is not None and version.attribute not in item and state.first("unversioned"):
        _log.info(
            "%s: the row has no %s; it counts as version 0, and the next write sets it.", schema.name, version.attribute
        )
    _report_size(state, schema, item)


def report_write(state: State, schema: EntitySchema, options: Options, snapshot: EntityBase) -> None:
    """A write of this process was applied: warn of a row that is too large, or written as often as a counter."""
    count = state.count_write(options.clock())
    if count > options.writes_per_minute and state.first("rate"):
        _log.warning(
            "%s was written %d times within a minute by this process. Each write replaces the only row, and all "
            "writers wait for one another: a value that is bumped on each request is a counter, see ShardedCounter. "
            "If this is meant, raise writes_per_minute.",
            schema.name,
            count,
        )
    own: dict[str, Any] = snapshot.__dict__
    if "large" not in state.reported and all(own.get(field.name) is not None or field.given for field in schema.fields):
        _report_size(state, schema, encode_item(schema, own, extra=own.get(EXTRA)))


def _report_size(state: State, schema: EntitySchema, item: Item) -> None:
    if "large" in state.reported:
        return
    size = item_size(item)
    if size <= BLOCK or not state.first("large"):
        return
    blocks = -(-size // BLOCK)
    heavy = ", ".join(f"{name} ({part:,} bytes)" for name, part in list(attribute_sizes(item).items())[:3])
    _log.warning(
        "%s is %s bytes: a read costs %d units strongly consistent and %g eventually consistent, where up to 4,096 "
        "bytes cost 1 and 0.5; the next block begins at %s bytes, and each write costs %d units. Largest: %s. Keep "
        "flags and small settings in the singleton, and lists or texts in rows of their own.",
        schema.name,
        f"{size:,}",
        blocks,
        blocks / 2,
        f"{blocks * BLOCK:,}",
        -(-size // 1024),
        heavy,
    )
