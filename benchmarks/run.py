"""One run: workers begun and checked, then asked in turn, round after round."""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.environments import Library, prepare
from benchmarks.running import Server, WorkerProcess, fresh
from benchmarks.workloads import CALLS, FULL, MEMORY_PAGES, ONCE, QUICK, RARE, ROWS, WORKLOADS

__all__ = ["Run"]

QUICK_ROUNDS = 3
QUICK_SECONDS = 20.0
"""When a quick run begins no further round; processes made for imports and memory come after the rounds."""


class Run:
    """One run of the benchmarks.

    Parameters:
        libraries: what is compared. workloads: by what. quick: within 50 seconds. rounds: of a run that is not.

    Attributes:
        samples: by workload and library, then by round. problems: what could not be measured, and why.
        absent: the libraries that do not offer a workload. rounds_done: how many rounds there were.
    """

    def __init__(
        self, libraries: tuple[Library, ...], workloads: Sequence[str], *, quick: bool, rounds: int = 9
    ) -> None:
        self.workloads = workloads
        self.quick = quick
        self.rounds = QUICK_ROUNDS if quick else rounds
        self.rounds_done = 0
        self.problems: dict[str, str] = prepare(libraries)
        self.libraries = [library for library in libraries if library.name not in self.problems]
        self.samples: dict[tuple[str, str], dict[int, dict[str, float]]] = defaultdict(dict)
        self.absent: dict[str, list[str]] = defaultdict(list)
        self.workers: dict[str, WorkerProcess] = {}
        self._began = 0.0

    def measure(self) -> None:
        """Measure everything, into `samples`."""
        self._began = time.monotonic()
        self.server = Server([library.name for library in self.libraries])
        try:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(self._begin, self.libraries))
            self._say("begun")
            for worker in self.workers.values():
                worker.ask("settle")
            self._rounds()
            self._beginnings()
            self._memory()
        finally:
            for worker in self.workers.values():
                worker.close()
            self.server.close()

    def _say(self, what: str) -> None:
        if not self.quick:
            print(f"{time.monotonic() - self._began:6.0f} s  {what}", file=sys.stderr, flush=True)

    def _begin(self, library: Library) -> None:
        """Start a worker, let it put its rows, and check what it reads; a failure is reported, not hidden."""
        worker = None
        try:
            worker = WorkerProcess(library, self.server.endpoint(library))
            worker.ask("store")
            self.server.freeze(library)
            worker.ask("check", whole=not self.quick)
            offered = worker.ask("offers")
        except RuntimeError as error:
            self.problems[library.name] = str(error)
            if worker is not None:
                worker.close()
            return
        self.workers[library.name] = worker
        for workload in self.workloads:
            if workload not in offered and workload not in ONCE:
                self.absent[workload].append(library.name)

    def _rounds(self) -> None:
        repeated = [workload for workload in WORKLOADS if workload in self.workloads and workload not in ONCE]
        for number in range(self.rounds + 1):
            late = self.quick and number > 1 and time.monotonic() - self._began > QUICK_SECONDS
            if not repeated or late:
                return
            for workload in repeated:
                if workload not in RARE or (number == 1 if self.quick else number % 2 == 1):
                    self._round(number, workload)
            self.rounds_done = number
            self._say(f"round {number} of {self.rounds}")

    def _round(self, number: int, workload: str) -> None:
        """One workload by each library, in a new order each time; round 0 only warms up."""
        order = [name for name in self.workers if name not in self.absent[workload]]
        random.shuffle(order)
        for name in order:
            self._sample(name, workload, number)

    def _sample(self, name: str, workload: str, number: int) -> None:
        times = (QUICK if self.quick else FULL).get(workload, CALLS[self.quick])
        worker = self.workers[name]
        try:
            found = worker.ask("measure", workload=workload, times=times if number else min(times, 5))
        except RuntimeError as error:
            self.problems[f"{name}: {workload}"] = str(error)
            if worker.ended:
                self.workers.pop(name)
            self.absent[workload].append(name)
            return
        if number:
            units = found.get("times", times) * (ROWS.get(workload) or worker.units.get(workload, 1))
            sample = {"cpu_us": found["cpu"] / units * 1e6, "wall_us": found["wall"] / units * 1e6}
            self.samples[workload, name][number] = {**sample, "rss_mb": found["rss"]}

    def _beginnings(self) -> None:
        """Imports and first calls, each in a new process."""
        libraries = [library for library in self.libraries if library.name in self.workers]
        for workload, mode in (("import", "--import"), ("first call", "--first")):
            if workload not in self.workloads:
                continue
            for number in range(1 if self.quick else self.rounds):
                random.shuffle(libraries)
                for library in libraries:
                    found = fresh(mode, library, self.server.endpoint(library))
                    sample = {"cpu_us": found["cpu"] * 1e6, "wall_us": found["wall"] * 1e6, "rss_mb": found["rss"]}
                    self.samples[workload, library.name][number] = sample
            self._say(workload)

    def _memory(self) -> None:
        """In new processes: an old one has free memory to fill. Two at a time, since nothing is timed."""
        if "memory" not in self.workloads:
            return
        with ThreadPoolExecutor(2) as pool:
            for library, found in zip(self.libraries, pool.map(self._remember, self.libraries), strict=True):
                if found:
                    self.samples["memory", library.name][0] = found

    def _remember(self, library: Library) -> dict[str, float]:
        if library.name not in self.workers:
            return {}
        try:
            worker = WorkerProcess(library, self.server.endpoint(library))
            worker.ask("measure", workload="query", times=2)
            found = worker.ask("measure", patience=600, workload="memory", times=MEMORY_PAGES[self.quick])
        except RuntimeError as error:
            self.problems[f"{library.name}: memory"] = str(error)
            return {}
        worker.close()
        return {"rss_mb": found["mb"], "bytes_each": round(found["mb"] * 1e6 / found["entities"], 1)}
