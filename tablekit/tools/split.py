"""Splitting an export by type: one output for each kind of row.

Each data file is worked on by one process, which writes a part for each type it meets; a part is renamed into
place when it is whole, and a record of what the file held is written last. A split that was interrupted goes on
with the files that have no record. In the end the parts of a type are joined into its output.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.tools.export_source import (
    DataFile,
    Export,
    ExportError,
    ExportRecord,
    find_export,
    parse_record,
    read_lines,
)
from tablekit.tools.split_plan import UNTYPED, Format, SplitPlan, plan_split
from tablekit.tools.split_writers import SUFFIXES, join_parts, open_part

__all__ = ["Output", "SplitReport", "split"]

PARTS = ".tablekit-split"
Progress = Callable[[int, int, int], Any]
"""Called after each data file with the number of files done, of all files, and of the rows so far."""


@attrs.frozen
class Output:
    """One output of a split.

    Attributes:
        name: its name: a type, ``_unknown-<type>`` or ``_untyped``. path: the file. rows: how many it holds.
        bytes: the bytes of those rows in the export, uncompressed.
    """

    name: str
    path: Path
    rows: int
    bytes: int


@attrs.frozen
class SplitReport:
    """What a split did.

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
        return {name: output.rows for name, output in self.outputs.items() if name.startswith("_unknown-")}


@attrs.frozen
class _Job:
    number: int
    file: DataFile
    parts: Path
    plan: SplitPlan


def split(
    source: str | Path,
    out: str | Path,
    *,
    app: TableDefinition,
    format: Format = "dynamodb-json",
    processes: int | None = None,
    progress: Progress | None = None,
) -> SplitReport:
    """Split an export by type into one file for each.

    Parameters:
        source: the folder of an export, or any parent of one.
        out: the folder for the outputs; nothing is written outside it.
        app: the table whose classes know the types and aliases.
        format: ``"dynamodb-json"`` (each line as it is in the export), ``"json"`` (plain values, one object a line),
            ``"csv"`` or ``"parquet"`` (typed by the fields, with the extra ``[parquet]``).
        processes: how many processes work at once; all cores by default.
        progress: called after each data file.

    Raises `ExportError` for an export that is not whole, and when a file's lines are not as many as its manifest
    says.
    """
    export = find_export(source)
    if export.incremental and format in ("csv", "parquet"):
        raise ExportError(
            f"{export.folder} is an incremental export, whose lines are changes, not rows. "
            "Split it as dynamodb-json or json.",
            path=str(export.folder),
        )
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    parts = target / PARTS
    plan = plan_split(app, format)
    _check_same_run(parts, export, format)
    jobs = [_Job(number, file, parts, plan) for number, file in enumerate(export.files)]
    left = [job for job in jobs if not _record_path(job).is_file()]
    done = len(jobs) - len(left)
    rows = sum(_rows_of(job) for job in jobs if job not in left)
    for job_rows in _run(left, processes):
        done += 1
        rows += job_rows
        if progress is not None:
            progress(done, len(jobs), rows)
    outputs = _join(jobs, plan, target)
    shutil.rmtree(parts)
    return SplitReport(outputs, rows, len(jobs), len(jobs) - len(left), export.items)


def _check_same_run(parts: Path, export: Export, format: Format) -> None:
    """Go on only with the parts of this very export and format."""
    identity = json.dumps({"export": str(export.folder.resolve()), "format": format})
    marker = parts / "run.json"
    if marker.is_file() and marker.read_text(encoding="utf-8") != identity:
        raise ExportError(
            f"{parts} holds the unfinished split of another export or format. Finish that one, or delete the folder.",
            path=str(parts),
        )
    parts.mkdir(exist_ok=True)
    _write_whole(marker, identity)


def _run(jobs: list[_Job], processes: int | None) -> Iterator[int]:
    workers = min(processes or os.cpu_count() or 1, max(1, len(jobs)))
    if workers == 1:
        yield from map(_split_file, jobs)
        return
    # Spawned, not forked: the caller may have threads and open connections.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        pending = {pool.submit(_split_file, job) for job in jobs}
        try:
            for future in concurrent.futures.as_completed(pending):
                yield future.result()
        except BaseException:
            for future in pending:
                future.cancel()
            raise


def _split_file(job: _Job) -> int:
    """Write the parts of one data file, and then its record; gives the number of its rows."""
    writers: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    path = job.file.path
    try:
        for number, line in enumerate(read_lines(path), 1):
            record = parse_record(line, path, number)
            output = job.plan.output_of(record.image)
            writer = writers.get(output)
            if writer is None:
                writer = writers[output] = open_part(job.plan, output, _part_path(job, output))
            _write(writer, line, record, path, number)
            counts[output] += 1
            sizes[output] += len(line)
        for writer in writers.values():
            writer.close()
    except BaseException:
        for writer in writers.values():
            writer.abandon()
        raise
    _check_count(job.file, sum(counts.values()))
    _write_whole(_record_path(job), json.dumps({"rows": counts, "bytes": sizes}))
    return sum(counts.values())


def _write(writer: Any, line: bytes, record: ExportRecord, path: Path, number: int) -> None:
    try:
        writer.write(line, record)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ExportError(
            f"{path}, line {number}, holds a value that cannot be written ({type(error).__name__}).",
            path=str(path),
            line=number,
        ) from None


def _check_count(file: DataFile, rows: int) -> None:
    if file.items is not None and file.items != rows:
        raise ExportError(
            f"{file.path} holds {rows} rows, and its manifest says {file.items}. Copy the file again.",
            path=str(file.path),
        )


def _part_path(job: _Job, output: str) -> Path:
    return job.parts / f"{job.number:06d}.{output}"


def _record_path(job: _Job) -> Path:
    return job.parts / f"{job.number:06d}.done"


def _record(job: _Job) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(_record_path(job).read_text(encoding="utf-8"))
    return found


def _rows_of(job: _Job) -> int:
    return sum(_record(job)["rows"].values())


def _join(jobs: list[_Job], plan: SplitPlan, target: Path) -> dict[str, Output]:
    rows: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    parts: dict[str, list[Path]] = {}
    for job in jobs:
        record = _record(job)
        rows.update(record["rows"])
        sizes.update(record["bytes"])
        for output in record["rows"]:
            parts.setdefault(output, []).append(_part_path(job, output))
    outputs: dict[str, Output] = {}
    for output in sorted(parts):
        path = target / f"{output}{SUFFIXES[plan.format]}"
        temporary = path.with_name(f".{path.name}.part")
        join_parts(plan, output, parts[output], temporary)
        temporary.replace(path)
        outputs[output] = Output(output, path, rows[output], sizes[output])
    return outputs


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f"{path.name}.part")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        _flush(file)
    temporary.replace(path)


def _flush(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())
