"""``python -m benchmarks``: the same work by tablekit and its peers, in interleaved rounds; a table, and JSON.

Everything runs on this machine. A server with canned answers has one core, and the library that is measured the other;
each library has a process and an environment of its own. Figures are medians over the rounds, CPU as
``time.process_time`` sees it (all threads), with the garbage collector on. Before anything is timed each library has to
return the right rows: how many, of which class, with values of which type.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import CACHED_READS, PAGE, PAGES
from benchmarks.environments import LIBRARIES, Library, chosen, prepare
from benchmarks.report import ratios, table
from benchmarks.running import Server, WorkerProcess, fresh

WORKLOADS = (
    "query",
    "query 20 pages",
    "get",
    "put",
    "save",
    "batch write",
    "batch get",
    "transaction",
    "streams",
    "singleton",
    "threads 1",
    "threads 4",
    "threads 16",
    "import",
    "first call",
    "memory",
)
"""What is measured. Rows are counted where a workload has many: a figure is for one row, one call or one process."""

ROWS = {"query": PAGE, "query 20 pages": PAGE * PAGES, "streams": 10_000, "singleton": CACHED_READS}
FULL = {"query": 6, "query 20 pages": 1, "batch write": 2, "batch get": 2, "transaction": 10, "streams": 1}
QUICK = {"query": 2, "query 20 pages": 1, "batch write": 1, "batch get": 1, "transaction": 5, "streams": 1}
MEMORY_PAGES = {False: 100, True: 10}
ROUNDS = {False: 15, True: 3}
ONCE = ("import", "first call", "memory")

Figures = dict[str, dict[str, dict[str, float]]]


class Run:
    """One run of the benchmarks."""

    def __init__(self, libraries: tuple[Library, ...], workloads: list[str], *, quick: bool) -> None:
        self.workloads = workloads
        self.quick = quick
        self.problems: dict[str, str] = prepare(libraries)
        self.libraries = [library for library in libraries if library.name not in self.problems]
        self.samples: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
        self.absent: dict[str, list[str]] = defaultdict(list)

    def measure(self) -> Figures:
        """Measure everything; gives the figures."""
        self.server = Server([library.name for library in self.libraries])
        self.workers: dict[str, WorkerProcess] = {}
        try:
            for library in self.libraries:
                self._begin(library)
            self._rounds()
            self._beginnings()
            self._memory()
        finally:
            for worker in self.workers.values():
                worker.close()
            self.server.close()
        return self._figures()

    def _begin(self, library: Library) -> None:
        """Start a worker, let it put its rows, and check what it reads; a failure is reported, not hidden."""
        try:
            worker = WorkerProcess(library, self.server.endpoint(library))
            self.workers[library.name] = worker
            worker.ask("store")
            self.server.freeze(library)
            worker.ask("check")
            offered = worker.ask("offers")
        except RuntimeError as error:
            self.problems[library.name] = str(error)
            broken = self.workers.pop(library.name, None)
            if broken is not None:
                broken.close()
            return
        for workload in self.workloads:
            if workload not in offered and workload not in ONCE:
                self.absent[workload].append(library.name)

    def _rounds(self) -> None:
        order = list(self.workers)
        repeated = [workload for workload in self.workloads if workload not in ONCE]
        for number in range(ROUNDS[self.quick] + 1):
            random.shuffle(order)
            for workload in repeated:
                if self.quick and number > 1 and workload == "query 20 pages":
                    continue
                for name in order:
                    if name not in self.absent[workload]:
                        self._sample(name, workload, keep=number > 0)

    def _sample(self, name: str, workload: str, *, keep: bool) -> None:
        times = (QUICK if self.quick else FULL).get(workload, 40 if self.quick else 150)
        worker = self.workers[name]
        try:
            found = worker.ask("measure", workload=workload, times=times if keep else min(times, 5))
        except RuntimeError as error:
            self.problems[f"{name}: {workload}"] = str(error)
            self.absent[workload].append(name)
            return
        if keep:
            units = found.get("times", times) * (ROWS.get(workload) or worker.units.get(workload, 1))
            sample = {"cpu_us": found["cpu"] / units * 1e6, "wall_us": found["wall"] / units * 1e6}
            self.samples[workload, name].append({**sample, "rss_mb": found["rss"]})

    def _beginnings(self) -> None:
        libraries = [library for library in self.libraries if library.name in self.workers]
        for workload, mode in (("import", "--import"), ("first call", "--first")):
            if workload not in self.workloads:
                continue
            for _ in range(2 if self.quick else 9):
                random.shuffle(libraries)
                for library in libraries:
                    found = fresh(mode, library, self.server.endpoint(library))
                    sample = {"cpu_us": found["cpu"] * 1e6, "wall_us": found["wall"] * 1e6, "rss_mb": found["rss"]}
                    self.samples[workload, library.name].append(sample)

    def _memory(self) -> None:
        """In new processes: an old one has free memory to fill."""
        if "memory" not in self.workloads:
            return
        for library in self.libraries:
            if library.name in self.workers:
                worker = WorkerProcess(library, self.server.endpoint(library))
                worker.ask("measure", workload="query", times=2)
                found = worker.ask("measure", workload="memory", times=MEMORY_PAGES[self.quick])
                worker.close()
                each = found["mb"] * 1e6 / found["entities"]
                self.samples["memory", library.name].append({"rss_mb": found["mb"], "bytes_each": each})

    def _figures(self) -> Figures:
        figures: Figures = {}
        for workload in self.workloads:
            for library in self.libraries:
                samples = self.samples.get((workload, library.name))
                if samples:
                    middle = {name: median(each[name] for each in samples) for name in samples[0]}
                    figures.setdefault(workload, {})[library.name] = {k: round(v, 3) for k, v in middle.items()}
        return figures


def main(arguments: list[str]) -> int:
    """Run what the command line asks for; 1 when a library could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under 50 s once the environments are there")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there")
    parser.add_argument("--only", metavar="WORKLOAD", action="append", choices=WORKLOADS, help="; ".join(WORKLOADS))
    names = ", ".join(library.name for library in LIBRARIES)
    parser.add_argument("--peers", metavar="LIST", help=f"names, separated by commas: {names}")
    given = parser.parse_args(arguments)
    workloads = [name for name in WORKLOADS if not given.only or name in given.only]
    run = Run(chosen(given.peers), workloads, quick=given.quick)
    began = time.monotonic()
    figures = run.measure()
    found: dict[str, Any] = {**figures, "ratios": ratios(figures)}
    print(table(figures, [library.name for library in run.libraries], WORKLOADS))
    for name, problem in run.problems.items():
        print(f"not measured: {name}: {problem}")
    for workload, missing in run.absent.items():
        if missing:
            print(f"not offered, {workload}: {', '.join(missing)}")
    print(f"{time.monotonic() - began:.0f} s")
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
