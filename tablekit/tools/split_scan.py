"""Writing an export of a table by scanning it: in the folder, format and manifest of DynamoDB's own export.

For tables without point-in-time recovery, and engines without exports. A scan is no picture of one moment: rows that
are written while it runs are in it as they were, or as they then are.

Each page is a gzip member at the end of its segment's file, and then a line in the checkpoint. A run that was killed
goes on after the last page that the checkpoint knows.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.errors import TablekitError
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.export_source import FILES, SUMMARY
from tablekit.tools.scanning import Checkpoint, ScanPlan, SegmentScan, Shared, plan_scan, run_segments, share_of
from tablekit.wire.plain import json_item

__all__ = ["SEGMENTS", "ScanReport", "announce_scan", "export_by_scan"]

SEGMENTS = 16
"""How many by default; each is one data file, and files are what a split's processes share."""
_PACKING = 3
_CHECKPOINT = "scan.json"


@attrs.frozen
class ScanReport:
    """What an export by scan did.

    Attributes:
        folder: the export's own folder. rows: how many it holds. units: read units of this run. resumed: whether it
            went on from an earlier one.
    """

    folder: Path
    rows: int
    units: float
    resumed: bool


def export_by_scan(
    app: TableDefinition,
    folder: str | Path,
    *,
    segments: int | str = SEGMENTS,
    parallel: int = 4,
    rate: float | None = None,
    consistent: bool = False,
    page_size: int | None = None,
    announce: Callable[[ScanPlan], Any] | None = None,
    progress: Callable[[int], Any] | None = None,
) -> ScanReport:
    """Scan a table into the folder of an export, which `split` and `lift` read.

    Parameters:
        app: the table. folder: the export's own folder, which is made; an unfinished one is gone on with.
        segments: how many segments the table is scanned in, or ``"0-63/1024"`` for a share of them, so that several
            machines can do one scan. parallel: how many are read at once.
        rate: read units a second; None for no limit. consistent: read strongly consistent, at twice the units.
        page_size: rows that one request reads at most; by default as many as 1 MB holds.
        announce: called with the `ScanPlan` before anything is read. progress: called with the rows after each page.

    Raises `TableNotFound`, and `TablekitError` where the folder holds another run.
    """
    target = Path(folder)
    if (target / SUMMARY).exists():
        raise TablekitError(f"{target} holds an export that is whole. Give another folder.")
    (target / "data").mkdir(parents=True, exist_ok=True)
    session = cast(SessionSource, app).session()
    numbers, total = share_of(segments)
    identity = {"table": session.name, "segments": [*numbers][:1] + [*numbers][-1:], "total": total}
    state = Checkpoint(target / _CHECKPOINT, identity)
    scan = _Scan(session, target, state, total, consistent=consistent, page_size=page_size, progress=progress)
    resumed = state.resumed
    units = run(scan.run([*numbers], parallel, rate, announce))
    rows = _write_manifest(target, session.name, [*numbers], state)
    return ScanReport(target, rows, units, resumed)


def announce_scan(app: TableDefinition, segments: int | str, announce: Callable[[ScanPlan], Any]) -> None:
    """Say what an export by scan would read, and read nothing. Raises `TableNotFound`."""
    numbers, total = share_of(segments)
    announce(run(plan_scan(cast(SessionSource, app).session(), len(numbers), total)))


class _Scan:
    def __init__(
        self,
        session: Session,
        folder: Path,
        state: Checkpoint,
        total: int,
        *,
        consistent: bool,
        page_size: int | None,
        progress: Callable[[int], Any] | None,
    ) -> None:
        self.session = session
        self.folder = folder
        self.state = state
        self.total = total
        self.consistent = consistent
        self.page_size = page_size
        self.progress = progress

    async def run(
        self, numbers: list[int], parallel: int, rate: float | None, announce: Callable[[ScanPlan], Any] | None
    ) -> float:
        """Read the segments; gives the units."""
        plan = await plan_scan(self.session, len(numbers), self.total)
        if announce is not None:
            announce(plan)
        shared = Shared(self.session, rate)
        await run_segments(shared, lambda segment: self._segment(segment, shared), numbers, parallel)
        return shared.units

    async def _segment(self, segment: int, shared: Shared) -> None:
        start, done = self.state.start_of(segment)
        path = data_path(self.folder, segment)
        scan = SegmentScan(segment, self.total, start=start, consistent=self.consistent, page_size=self.page_size)
        with path.open("ab") as file:
            # What was written after the last page of the checkpoint is written again.
            file.truncate(self.state.counts.get(f"bytes:{segment}", 0))
            while not done:
                rows = await scan.step(shared)
                packed = gzip.compress(b"".join(map(export_line, rows)), _PACKING, mtime=0) if rows else b""
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
                done = scan.done
                counts = {f"bytes:{segment}": len(packed), f"rows:{segment}": len(rows), "rows": len(rows)}
                self.state.save(segment, scan.start, counts)
                if self.progress is not None:
                    self.progress(self.state.counts["rows"])


def data_path(folder: Path, segment: int) -> Path:
    """The data file of a segment."""
    return folder / "data" / f"{segment:07}.json.gz"


def export_line(item: Item) -> bytes:
    """A row as a line of an export."""
    return json.dumps({"Item": json_item(item)}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write_manifest(folder: Path, table: str, numbers: list[int], state: Checkpoint) -> int:
    """Write what makes the folder an export that is whole; the summary, which is looked for, comes last."""
    entries: list[dict[str, Any]] = []
    for segment in numbers:
        path = data_path(folder, segment)
        with path.open("rb") as file:
            md5 = hashlib.md5(usedforsecurity=False)
            while block := file.read(1 << 20):
                md5.update(block)
        entries.append(
            {
                "itemCount": state.counts.get(f"rows:{segment}", 0),
                "md5Checksum": base64.b64encode(md5.digest()).decode(),
                "dataFileS3Key": f"AWSDynamoDB/{folder.name}/data/{path.name}",
            }
        )
    rows = state.counts.get("rows", 0)
    (folder / FILES).write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    summary = {"version": "2020-06-30", "tableName": table, "itemCount": rows, "outputFormat": "DYNAMODB_JSON"}
    (folder / SUMMARY).write_text(json.dumps(summary), encoding="utf-8")
    (folder / _CHECKPOINT).unlink()
    return rows
