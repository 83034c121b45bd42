"""The work of a split that processes do: one data file into parts, and the parts of one output into its file.

A data file's parts lie in a folder that takes its name when all of them are whole, with a record of what the file
held. Whatever is killed leaves folders of another name behind, which nobody reads.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from tablekit.tools.export_lines import ExportRecord, Reader, parse_record
from tablekit.tools.export_source import DataFile, ExportError
from tablekit.tools.split_plan import SplitPlan
from tablekit.tools.split_writers import Part, join_parts, open_part

__all__ = [
    "UNWRITABLE",
    "Counts",
    "FileJob",
    "JoinJob",
    "begin_worker",
    "check_promises",
    "join_job",
    "part_paths",
    "split_file",
    "unwritable",
]

HELD = 2 << 20
"""Bytes of lines that a process holds before it adds them to its parts."""
RECORD = "record.json"

_stop: Any = None
"""Set in a worker process: the event by which the first one calls the work off."""


class Stopped(Exception):
    """The split was called off."""


@attrs.frozen
class Counts:
    """What one data file, or one output of it, holds.

    Attributes:
        rows: how many. bytes: of them in the export.
    """

    rows: int
    bytes: int


@attrs.frozen
class FileJob:
    """One data file to be split.

    Attributes:
        number: its place in the manifest. file: the file. parts: the folder of all parts; None to count alone.
        plan: how rows are told apart and written.
    """

    number: int
    file: DataFile
    parts: Path | None
    plan: SplitPlan

    @property
    def folder(self) -> Path:
        """Where its parts lie when they are whole."""
        assert self.parts is not None
        return self.parts / f"{self.number:06d}"

    def record(self) -> dict[str, Counts] | None:
        """What the file held, by output, in the order of its parts; None when it was not split yet."""
        try:
            found: dict[str, list[int]] = json.loads((self.folder / RECORD).read_bytes())
        except FileNotFoundError:
            return None
        return {name: Counts(*counts) for name, counts in found.items()}


@attrs.frozen
class JoinJob:
    """Some parts of one output to be put together.

    Attributes:
        output: its name. parts: in order. target: the file to write. plan: the format.
    """

    output: str
    parts: tuple[Path, ...]
    target: Path
    plan: SplitPlan


def begin_worker(stop: Any) -> None:
    """What a worker process does first."""
    global _stop  # noqa: PLW0603  (a process pool has no other place for what its workers share)
    _stop = stop
    # Ctrl-C reaches every process of a terminal; the first one tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Rows are trees: reference counts alone free them.
    gc.disable()
    # Arrow's own pool keeps what it was once given.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    """End this process when the one that started it was killed."""
    parent.join()
    os._exit(1)


def _check_stopped() -> None:
    if _stop is not None and _stop.is_set():
        raise Stopped


def split_file(job: FileJob) -> dict[str, Counts]:
    """Write the parts of one data file, and its record; gives the rows and bytes of each output.

    Raises `ExportError` for what is no record, and where the file is not what its manifest promises.
    """
    if job.parts is None:
        return _count_file(job)
    working = job.parts / f"{job.number:06d}.{os.getpid()}.part"
    shutil.rmtree(working, ignore_errors=True)
    working.mkdir()
    try:
        parts = _write_parts(job, working)
        counts = {name: Counts(part.rows, part.bytes) for name, part in parts.items()}
        record = {name: attrs.astuple(each) for name, each in counts.items()}
        with (working / RECORD).open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        working.replace(job.folder)
    except BaseException:
        shutil.rmtree(working, ignore_errors=True)
        raise
    return counts


def _write_parts(job: FileJob, working: Path) -> dict[str, Part]:
    reader, parts = Reader(job.file.path), _Parts(job.plan, working)
    number = held = 0
    for block in reader.blocks():
        _check_stopped()
        for line in block:
            number += 1
            if not line or line.isspace():
                continue
            record = parse_record(line, reader.path, number)
            try:
                parts[job.plan.output_of(record.image)].add(line, record)
            except UNWRITABLE as error:
                raise unwritable(reader.path, number, error) from None
            held += len(line)
        if held > HELD:
            held = 0
            for part in parts.values():
                part.flush()
    for part in parts.values():
        part.close()
    check_promises(job.file, sum(part.rows for part in parts.values()), reader.md5.digest())
    return parts


class _Parts(dict[str, Part]):
    """The parts of one data file, by output; each is made when its first row comes."""

    def __init__(self, plan: SplitPlan, folder: Path) -> None:
        super().__init__()
        self.plan = plan
        self.folder = folder

    def __missing__(self, output: str) -> Part:
        part = self[output] = open_part(self.plan, output, self.folder / str(len(self)))
        return part


UNWRITABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError, RecursionError)
"""What a value raises that is no attribute value, or has no place in the format."""


def unwritable(path: Path, number: int, error: BaseException) -> ExportError:
    """The error for a row that has a value which the format has no place for; the value is not told."""
    return ExportError(
        f"{path}, line {number}, holds a value that this format has no place for ({type(error).__name__}). "
        "Split as dynamodb-json, which keeps every line as it is, or mend the row.",
        path=str(path),
        line=number,
    )


def _count_file(job: FileJob) -> dict[str, Counts]:
    reader = Reader(job.file.path)
    rows: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for number, line in reader.lines():
        record: ExportRecord = parse_record(line, reader.path, number)
        output = job.plan.output_of(record.image)
        rows[output] = rows.get(output, 0) + 1
        sizes[output] = sizes.get(output, 0) + len(line)
    check_promises(job.file, sum(rows.values()), reader.md5.digest())
    return {output: Counts(number, sizes[output]) for output, number in rows.items()}


def check_promises(file: DataFile, rows: int, md5: bytes | None) -> None:
    """Compare a file with its manifest. Raises `ExportError`."""
    if file.items is not None and file.items != rows:
        raise ExportError(
            f"{file.path} holds {rows} rows, and its manifest says {file.items}. Copy the file again.",
            path=str(file.path),
        )
    if file.md5 is not None and md5 is not None and file.md5 != md5:
        raise ExportError(
            f"{file.path} is not the file that its manifest describes: its MD5 is another. Copy the file again.",
            path=str(file.path),
        )


def join_job(job: JoinJob) -> str:
    """Put some parts of an output together; gives the output's name."""
    _check_stopped()
    join_parts(job.plan, job.output, job.parts, job.target)
    return job.output


def part_paths(records: Sequence[tuple[FileJob, Mapping[str, Counts]]]) -> dict[str, list[tuple[Path, Counts]]]:
    """The parts of each output, in the order of the data files."""
    found: dict[str, list[tuple[Path, Counts]]] = {}
    for job, record in records:
        for place, (output, counts) in enumerate(record.items()):
            found.setdefault(output, []).append((job.folder / str(place), counts))
    return found
