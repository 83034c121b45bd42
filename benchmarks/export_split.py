"""``python -m benchmarks.export_split``: an export of many rows, split, beside the least that reading it can take.

Writes an export to AWS's documented format, of as many rows as asked (2,000,000 are about 1 GB of JSON), unless the
folder holds it already. Then measures, in turn and as often as asked:

- the floor: every core decompresses data files and gives each line to ``json.loads``, and nothing else is done;
- the split into each format that is asked for.

Of each it prints the seconds, the rows a second, the share of the floor's speed, the processor seconds of all its
processes and the same share by them (which other work on the machine changes less), and the most memory that the
whole tree of processes held at once (proportional set size: pages that processes share count once).
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import gzip
import hashlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tablekit import Entity, Field, Table, field

app = Table("export-split")
KINDS = (("Workspace", 2), ("Document", 40), ("Comment", 50), ("Member", 7), ("Invoice", 1))
"""Types and their share in percent; nobody knows the last."""
POLL_SECONDS = 0.05


class Workspace(Entity, table=app, pk="WS#{workspace}", sk="META"):
    """The owner of a partition."""

    workspace: Field[str]
    title: Field[str]
    words: Field[int]


class Document(Entity, table=app, pk="WS#{workspace}", sk="DOC#{id}"):
    """A row with a number, a set and a map."""

    workspace: Field[str]
    id: Field[str]
    title: Field[str]
    words: Field[int]
    tags: Field[set[str]] = field(factory=set)
    body: Field[dict[str, str]] = field(factory=dict)
    active: Field[bool] = field(default=True)
    digest: Field[bytes] = field(default=b"")


class Comment(Document, table=app, pk="WS#{workspace}", sk="DOC#{id}#CMT"):
    """The most frequent row."""


class Member(Entity, table=app, pk="WS#{workspace}", sk="MEMBER#{id}"):
    """A small row."""

    workspace: Field[str]
    id: Field[str]
    title: Field[str]
    words: Field[int]


def rows(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Rows of a data file, of about 500 bytes of JSON."""
    chance = random.Random(seed)
    types = chance.choices([name for name, _ in KINDS], [share for _, share in KINDS], k=count)
    for number, kind in enumerate(types):
        workspace, identity = f"{chance.getrandbits(40):010x}", f"{seed:04}{number:08}"
        row: dict[str, Any] = {
            "PK": {"S": f"WS#{workspace}"},
            "SK": {"S": f"{kind[:3].upper()}#{identity}"},
            "EntityType": {"S": kind},
            "workspace": {"S": workspace},
            "id": {"S": identity},
            "title": {"S": f"The title of {identity}, of middling length"},
            "words": {"N": str(chance.getrandbits(20))},
        }
        if kind in ("Document", "Comment"):
            row["tags"] = {"SS": [f"tag-{chance.getrandbits(6)}", "blue"]}
            row["body"] = {"M": {"summary": {"S": f"{chance.getrandbits(256):064x}"}, "author": {"S": workspace}}}
            row["active"] = {"BOOL": bool(number % 3)}
            row["digest"] = {"B": base64.b64encode(chance.randbytes(32)).decode()}
        yield row


def write_file(task: tuple[Path, int, int]) -> tuple[int, int]:
    """Write one data file; gives its bytes of JSON and of gzip."""
    path, seed, count = task
    size = 0
    with gzip.open(path, "wb", compresslevel=6) as file:
        for row in rows(seed, count):
            size += file.write(json.dumps({"Item": row}, separators=(",", ":")).encode() + b"\n")
    return size, path.stat().st_size


def generate(folder: Path, items: int, files: int) -> None:
    """Write the export, unless it is there."""
    if (folder / "manifest-summary.json").exists():
        return
    (folder / "data").mkdir(parents=True, exist_ok=True)
    counts = [items // files + (number < items % files) for number in range(files)]
    tasks = [(folder / "data" / f"{number:05}.json.gz", number, count) for number, count in enumerate(counts)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        sizes = pool.map(write_file, tasks, chunksize=1)
    entries = [
        {
            "itemCount": count,
            "md5Checksum": base64.b64encode(hashlib.md5(path.read_bytes()).digest()).decode(),
            "etag": "",
            "dataFileS3Key": f"AWSDynamoDB/{folder.name}/data/{path.name}",
        }
        for path, _, count in tasks
    ]
    (folder / "manifest-files.json").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    summary = {"version": "2020-06-30", "itemCount": items, "outputFormat": "DYNAMODB_JSON"}
    (folder / "manifest-summary.json").write_text(json.dumps(summary))
    print(f"{items:,} items, {sum(size for size, _ in sizes):,} bytes of JSON, {sum(s for _, s in sizes):,} of gzip")


def read_file(path: Path) -> int:
    """The floor: decompress a file and parse each line."""
    count = 0
    with gzip.open(path, "rb") as lines:
        for line in lines:
            json.loads(line)
            count += 1
    return count


def floor(folder: Path) -> int:
    """Read the whole export with all cores; gives the number of rows."""
    files = sorted((folder / "data").glob("*.json.gz"))
    with multiprocessing.get_context("spawn").Pool() as pool:
        return sum(pool.imap_unordered(read_file, files, chunksize=1))


def split(folder: Path, out: Path, format: str) -> int:
    """Split it; gives the number of rows."""
    from tablekit.tools.split import split as split_export

    return split_export(folder, out, app=app, format=cast(Any, format)).rows


# Measuring


@dataclasses.dataclass(frozen=True)
class Figures:
    """What one task took: seconds on the clock and of the processors, its rows, and its most bytes."""

    seconds: float
    processor: float
    rows: int
    memory: int


def processor_seconds() -> float:
    """Of all processes that this one has started and waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(task: str, folder: Path) -> Figures:
    """Run one task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.export_split", "--folder", str(folder), "--task", task]
    began, before = time.perf_counter(), processor_seconds()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        most = max(most, tree_bytes(process.pid))
        time.sleep(POLL_SECONDS)
    seconds = time.perf_counter() - began
    assert process.stdout is not None
    text = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"{task} ended with status {process.returncode}")
    return Figures(seconds, processor_seconds() - before, int(text), most)


def tree_bytes(root: int) -> int:
    """The memory that a process and those it started hold, pages that they share counted once."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    tree, total = [root], 0
    for number in tree:
        tree += children.get(number, [])
        try:
            rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
    return total


def run_task(task: str, folder: Path) -> None:
    """What a measured process does; prints the number of rows."""
    if task == "floor":
        print(floor(folder))
        return
    out = Path(tempfile.mkdtemp(dir=folder.parent, prefix="split-"))
    try:
        print(split(folder, out, task))
    finally:
        shutil.rmtree(out)


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "tablekit-export" / "01-generated")
    parser.add_argument("--items", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default="dynamodb-json,json,csv,parquet,import-ready")
    parser.add_argument("--keep", action="store_true", help="leave the export there for another run")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(options.task, options.folder)
        return
    generate(options.folder, options.items, options.files)
    try:
        report(options.folder, ["floor", *options.formats.split(",")], options.rounds)
    finally:
        if not options.keep:
            shutil.rmtree(options.folder)


def report(folder: Path, tasks: list[str], rounds: int) -> None:
    """Measure the tasks in turn, and print the median of each."""
    found: dict[str, list[Figures]] = {task: [] for task in tasks}
    for _ in range(rounds):
        for task in tasks:
            found[task].append(measure(task, folder))
    floor_seconds, floor_processor = medians(found["floor"])
    print(f"{os.cpu_count()} cores, {rounds} rounds, medians\n")
    print(f"{'':16}{'seconds':>9}{'rows/s':>12}{'of floor':>10}{'CPU s':>9}{'of floor':>10}{'memory':>10}")
    for task in tasks:
        seconds, processor = medians(found[task])
        speed = f"{seconds:9.1f}{found[task][0].rows / seconds:12,.0f}{floor_seconds / seconds:10.2f}"
        most = max(each.memory for each in found[task])
        print(f"{task:16}{speed}{processor:9.1f}{floor_processor / processor:10.2f}{most / 1e6:7.0f} MB")


def medians(figures: list[Figures]) -> tuple[float, float]:
    """Seconds on the clock and of the processors."""
    return statistics.median(each.seconds for each in figures), statistics.median(each.processor for each in figures)


if __name__ == "__main__":
    main()
