"""Splitting an export by type: one output for each kind of row.

Each data file is worked on by one process, which writes a part for each type it meets. A split that was interrupted
goes on with the files that have no parts yet. In the end the parts of a type are joined into its output, which takes
its name when it is whole.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.errors import TablekitError
from tablekit.tools.export_source import Export, ExportError, find_export
from tablekit.tools.import_ready import OBJECTS, finish_import, group_objects, make_room
from tablekit.tools.split_parquet import need_pyarrow
from tablekit.tools.split_parts import Counts, FileJob, JoinJob, begin_worker, join_job, part_paths, split_file
from tablekit.tools.split_plan import UNKNOWN, UNTYPED, Format, SplitPlan, file_names, plan_split
from tablekit.tools.split_writers import SUFFIXES

__all__ = ["Output", "SplitReport", "split"]

T = TypeVar("T")
R = TypeVar("R")

PARTS = ".tablekit-split"
Progress = Callable[[int, int, int], Any]
"""Called after each data file with the number of files done, of all files, and of the rows so far."""


@attrs.frozen
class Output:
    """One output of a split.

    Attributes:
        name: its name: a type, ``_unknown-<type>``, ``_untyped``, or ``_internal-<type>`` for what tablekit keeps for
            itself. path: the file; for ``import-ready`` the folder. rows: how many it holds.
        bytes: the bytes of those rows in the export, uncompressed.
    """

    name: str
    path: Path
    rows: int
    bytes: int


@attrs.frozen
class SplitReport:
    """What a split did, or in a dry run would do.

    Attributes:
        outputs: by name. rows: all of them. files: how many data files. resumed: how many had been done before.
        expected: the number of items that the manifest promises; None without a manifest.
    """

    outputs: Mapping[str, Output]
    rows: int
    files: int
    resumed: int
    expected: int | None

    @property
    def untyped(self) -> int:
        """How many rows have no type."""
        found = self.outputs.get(UNTYPED)
        return 0 if found is None else found.rows

    @property
    def unknown(self) -> dict[str, int]:
        """How many rows have a type that no class has, by output."""
        return {name: output.rows for name, output in self.outputs.items() if name.startswith(UNKNOWN)}


def split(
    source: str | Path,
    out: str | Path,
    *,
    app: TableDefinition,
    format: Format = "dynamodb-json",
    processes: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> SplitReport:
    """Split an export by type into one output for each.

    Parameters:
        source: the folder of an export, or any parent of one.
        out: the folder for the outputs; nothing is written outside it.
        app: the table whose classes know the types and aliases.
        format: ``"dynamodb-json"`` (each line as it is in the export), ``"json"`` (plain values, one object a line),
            ``"csv"`` or ``"parquet"`` (typed by the fields, with the extra ``[parquet]``), or ``"import-ready"``
            (a folder for each type, of the objects and the request that DynamoDB's import from S3 takes).
        processes: how many processes work at once; all cores by default.
        dry_run: write nothing, and count what would be written.
        progress: called after each data file.

    Raises `RequestError` where the extra of the format is missing; `ExportError` for an export that is not whole, and
    when a file is not what its manifest says; ``OSError`` where the outputs cannot be written. What was done until then
    is not done again by the next call.
    """
    if format == "parquet" and not dry_run:
        need_pyarrow()  # told now, and not as the fault of the first row
    export = find_export(source)
    _check_format(export, format)
    target, plan = Path(out), plan_split(app, format)
    parts = None if dry_run else _prepare(target, export, plan)
    jobs = [FileJob(number, file, parts, plan) for number, file in enumerate(export.files)]
    with _pool(processes, len(jobs)) as run:
        records, resumed = _split_files(jobs, run, progress)
        if parts is None:
            outputs = _report(records, plan, target)
        else:
            outputs = _join(records, app, plan, parts, run)
    if parts is not None:
        shutil.rmtree(parts)
    return SplitReport(outputs, sum(each.rows for each in outputs.values()), len(jobs), resumed, export.items)


def _check_format(export: Export, format: Format) -> None:
    if export.incremental and format not in ("dynamodb-json", "json"):
        raise ExportError(
            f"{export.folder} is an incremental export, whose lines are changes, not rows. "
            "Split it as dynamodb-json or json.",
            path=str(export.folder),
        )


def _prepare(target: Path, export: Export, plan: SplitPlan) -> Path:
    """The folder of the parts: of this very export, format and classes, and of no other run."""
    # A file that has parts is what its MD5 says; one that was cut may be copied again before the split goes on.
    files = [
        [str(file.path), file.items, file.path.stat().st_size if file.md5 is None else file.md5.hex()]
        for file in export.files
    ]
    identity = json.dumps({"export": str(export.folder.resolve()), "files": files, "plan": plan.digest})
    parts = target / PARTS
    parts.mkdir(parents=True, exist_ok=True)
    if parts.is_symlink():
        raise TablekitError(f"{parts} is a link, and leads out of the output folder. Take it away.")
    marker = parts / "run.json"
    if not marker.is_file():
        write_whole(marker, identity)
    elif marker.read_text(encoding="utf-8") != identity:
        raise ExportError(
            f"{parts} holds the unfinished split of another export or format, or by other classes. Finish that one, "
            "or delete the folder.",
            path=str(parts),
        )
    for left in parts.glob("*.part"):
        shutil.rmtree(left, ignore_errors=True)
    return parts


# Processes

Run = Callable[[Callable[[T], R], Sequence[T]], Iterator[tuple[T, R]]]


@contextmanager
def _pool(processes: int | None, jobs: int) -> Generator[Any]:
    """Something that runs a function on each of many things, and gives the results as they come."""
    workers = min(processes or os.cpu_count() or 1, max(1, jobs))
    if workers == 1:
        yield _in_turn
        return
    # Spawned, not forked: the caller may have threads and open connections.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    with concurrent.futures.ProcessPoolExecutor(workers, context, begin_worker, (stop,)) as pool:
        try:
            yield partial(_at_once, pool, workers)
        except BrokenProcessPool:
            raise TablekitError(
                "A process of the split was killed, or ran out of memory. Run it again: it goes on from there."
            ) from None
        except BaseException:
            stop.set()
            raise


def _in_turn(function: Callable[[T], R], things: Sequence[T]) -> Iterator[tuple[T, R]]:
    for thing in things:
        yield thing, function(thing)


def _at_once(pool: Any, workers: int, function: Callable[[T], R], things: Sequence[T]) -> Iterator[tuple[T, R]]:
    left = iter(things)
    running: dict[Any, T] = {}
    while True:
        # No more than the workers can take soon: a failure has little to call off, and little waits in memory.
        while len(running) < 2 * workers and (thing := next(left, None)) is not None:
            running[pool.submit(function, thing)] = thing
        if not running:
            return
        done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future.result()


# Files to parts

Records = list[tuple[FileJob, dict[str, Counts]]]


def _split_files(jobs: list[FileJob], run: Any, progress: Progress | None) -> tuple[Records, int]:
    """Split the files that have no parts yet; gives the records of all, and how many were there before."""
    found: dict[int, dict[str, Counts]] = {}
    for job in jobs:
        record = None if job.parts is None else job.record()
        if record is not None:
            found[job.number] = record
    left = [job for job in jobs if job.number not in found]
    rows = sum(_rows(record) for record in found.values())
    for job, counts in run(split_file, left):
        found[job.number] = counts
        rows += _rows(counts)
        if progress is not None:
            progress(len(found), len(jobs), rows)
    return [(job, found[job.number]) for job in jobs], len(jobs) - len(left)


def _rows(record: Mapping[str, Counts]) -> int:
    return sum(counts.rows for counts in record.values())


def _report(records: Records, plan: SplitPlan, target: Path) -> dict[str, Output]:
    totals: dict[str, Counts] = {}
    for _, record in records:
        for output, counts in record.items():
            before = totals.get(output, Counts(0, 0))
            totals[output] = Counts(before.rows + counts.rows, before.bytes + counts.bytes)
    names, suffix = file_names(totals), SUFFIXES[plan.format]
    return {
        output: Output(output, target / f"{names[output]}{suffix}", counts.rows, counts.bytes)
        for output, counts in sorted(totals.items())
    }


# Parts to outputs


def _join(records: Records, app: TableDefinition, plan: SplitPlan, parts: Path, run: Any) -> dict[str, Output]:
    """Put the parts of each output together that is not whole yet, and take its parts away."""
    outputs = _report(records, plan, parts.parent)
    paths = part_paths(records)
    marks = {name: parts / f"joined-{number}" for number, name in enumerate(outputs)}
    joins = [join for name in outputs if not marks[name].exists() for join in _joins(outputs[name], paths[name], plan)]
    waiting = Counter(join.output for join in joins)
    for join, name in run(join_job, joins):
        waiting[name] -= 1
        if not waiting[name]:
            _finish(join, outputs[name], app)
            # From here on the parts are not needed, and may go one by one.
            marks[name].touch()
            for path, _ in paths[name]:
                path.unlink(missing_ok=True)
    return outputs


def _joins(output: Output, parts: Sequence[tuple[Path, Counts]], plan: SplitPlan) -> list[JoinJob]:
    working = output.path.with_name(f".{output.path.name}.part")
    if plan.format != "import-ready":
        return [JoinJob(output.name, tuple(path for path, _ in parts), working, plan)]
    make_room(output.path, check=True)
    if working.is_symlink():
        working.unlink()
    shutil.rmtree(working, ignore_errors=True)
    (working / OBJECTS).mkdir(parents=True)
    return [
        JoinJob(output.name, group, working / OBJECTS / f"{number:05}.json.gz", plan)
        for number, group in enumerate(group_objects(parts))
    ]


def _finish(join: JoinJob, output: Output, app: TableDefinition) -> None:
    if join.plan.format == "import-ready":
        finish_import(app, output.name, join.target.parent.parent, output.path)
    else:
        join.target.replace(output.path)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f"{path.name}.part")
    temporary.unlink(missing_ok=True)
    with temporary.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
