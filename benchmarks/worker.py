"""One library in a process of its own: does what its standard input asks, and prints what it took.

``python -m benchmarks.worker MODULE ENDPOINT [OPTION ...]``; with ``--import`` or ``--first`` the beginning alone.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import resource
import sys
import threading
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.data import BATCH, PAGE, PAGES, RECORDS, TRANSACTION, WORKSPACE, WORKSPACE_OF_PAGES, rows
from benchmarks.imports import IMPORTS

EXPECTED = {"Workspace": 1, "Document": 300, "Comment": 699}


def rss_mb() -> float:
    """Resident memory now, where the system tells; else its peak."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


class Worker:
    """Runs the workloads of one peer."""

    def __init__(self, module: str, endpoint: str, options: list[str]) -> None:
        self.peer: Any = importlib.import_module(f"benchmarks.peers.{module}").Peer(endpoint, *options)
        self.loop = asyncio.new_event_loop()
        start = getattr(self.peer, "start", None)
        if start is not None:
            self.call(start)

    def call(self, method: Any, *arguments: Any) -> Any:
        """Call a method, in the loop when it is a coroutine."""
        result = method(*arguments)
        return self.loop.run_until_complete(result) if asyncio.iscoroutine(result) else result

    def store(self) -> None:
        """Put the rows, in the library's own form."""
        for kind, values in rows():
            self.call(self.peer.store, kind, values)

    def settle(self) -> None:
        """Stay on one core from here on."""
        pin()

    def check(self, whole: bool = True) -> None:
        """Fail unless the library returns what it should: how many, of which class, of which types.

        Parameters:
            whole: ask for twenty pages as well.
        """
        found: list[Any] = []
        for name, count in ((WORKSPACE_OF_PAGES, PAGE * PAGES), (WORKSPACE, PAGE))[not whole :]:
            found = self.call(self.peer.query, name)
            assert len(found) == count, f"{len(found)} rows in place of {count}"
            classes = Counter(self.peer.kind(each) for each in found)
            expected = {kind: number * count // PAGE for kind, number in EXPECTED.items()}
            assert classes == expected, f"classes {classes}"
        self._check_values(found)
        self._check_document(self.call(self.peer.get))
        if getattr(self.peer, "batch_get", None):
            assert len(self.call(self.peer.batch_get)) == BATCH
        if getattr(self.peer, "streams", None):
            assert len(self.call(self.peer.streams)) == RECORDS

    def _check_values(self, found: list[Any]) -> None:
        by_kind = {self.peer.kind(each): each for each in found}
        read = self.peer.read
        self._check_document(by_kind["Document"])
        assert type(read(by_kind["Workspace"], "active")) is bool
        assert read(by_kind["Comment"], "mentions")[0].startswith("user")
        assert isinstance(read(by_kind["Comment"], "created_at"), getattr(self.peer, "moment", datetime))

    def _check_document(self, found: Any) -> None:
        read = self.peer.read
        assert type(read(found, "title")) is str
        size = read(found, "size")
        assert size >= 1_000
        assert isinstance(size, getattr(self.peer, "number", int)), f"size is a {type(size).__name__}"
        tags, meta = read(found, "tags"), read(found, "meta")
        assert list(tags)[:2] == ["report", "finance"]
        assert meta["format"] == "markdown"

    def offers(self) -> list[str]:
        """The workloads that the peer has."""
        single = ("get", "put", "save", "batch_write", "batch_get", "transaction", "streams", "singleton")
        offered = ["query", "query 20 pages", *(name for name in single if getattr(self.peer, name, None)), "memory"]
        tasks = ["tasks 50"] if asyncio.iscoroutinefunction(self.peer.get) else ["threads 1", "threads 4", "threads 16"]
        return [name.replace("_", " ") for name in offered] + tasks

    def measure(self, workload: str, times: int) -> dict[str, float]:
        """Seconds of CPU and of the clock that a workload takes."""
        if workload == "memory":
            return self._memory(times)
        if workload.startswith("threads"):
            return self._threads(int(workload.split()[1]), times)
        if workload.startswith("tasks"):
            count = int(workload.split()[1])
            return self.loop.run_until_complete(_many_tasks(self.peer.get, count, max(2, times // 5)))
        method, arguments = self._method(workload)
        return self._timed(method, arguments, times)

    def _method(self, workload: str) -> tuple[Any, tuple[Any, ...]]:
        if workload == "query":
            return self.peer.query, (WORKSPACE,)
        if workload == "query 20 pages":
            return self.peer.query, (WORKSPACE_OF_PAGES,)
        return getattr(self.peer, workload.replace(" ", "_")), ()

    def _timed(self, method: Any, arguments: tuple[Any, ...], times: int) -> dict[str, float]:
        if asyncio.iscoroutinefunction(method):
            return self.loop.run_until_complete(_timed_async(method, arguments, times))
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(times):
            method(*arguments)
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}

    def _memory(self, times: int) -> dict[str, float]:
        gc.collect()
        before = rss_mb()
        kept = [self.call(self.peer.query, WORKSPACE) for _ in range(times)]
        gc.collect()
        grown = rss_mb() - before
        return {"mb": grown, "entities": float(sum(map(len, kept)))}

    def _threads(self, count: int, times: int) -> dict[str, float]:
        each = max(1, times // count)
        threads = [
            threading.Thread(target=lambda: [self.peer.get() for _ in range(each)], daemon=True) for _ in range(count)
        ]
        wall, cpu = time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "times": float(count * each)}


async def _timed_async(method: Any, arguments: tuple[Any, ...], times: int) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        await method(*arguments)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


async def _many_tasks(method: Any, count: int, each: int) -> dict[str, float]:
    async def task() -> None:
        for _ in range(each):
            await method()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(task() for _ in range(count)))
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "times": float(count * each)}


def serve(worker: Worker) -> None:
    """Do what each line of standard input asks."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "measure":
                answer: Any = worker.measure(asked["workload"], asked["times"])
                answer["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
            else:
                options = {name: given for name, given in asked.items() if name != "do"}
                answer = getattr(worker, asked["do"])(**options) or {}
        except Exception as error:
            answer = {"problem": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), flush=True)


def beginning(mode: str, module: str, endpoint: str, options: list[str]) -> None:
    """What an import, or everything up to the first answer, takes in a fresh process."""
    statement = IMPORTS[module]
    wall, cpu = time.perf_counter(), time.process_time()
    if mode == "--import":
        exec(statement, {})
    else:
        worker = Worker(module, endpoint, options)
        worker.call(worker.peer.get)
    taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "rss": rss_mb()}
    print(json.dumps(taken), flush=True)
    os._exit(0)


def pin() -> None:
    """Stay on the last core; the server has the first."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        cores = {max(os.sched_getaffinity(0))}
        for thread in _threads():
            os.sched_setaffinity(thread, cores)


def _threads() -> list[int]:
    """The threads of this process, those of libraries in other languages included; else the present one."""
    try:
        return [int(each.name) for each in Path("/proc/self/task").iterdir()]
    except OSError:
        return [0]


def main() -> None:
    """Begin as the arguments say."""
    arguments = sys.argv[1:]
    if arguments[0] in ("--import", "--first"):
        pin()
        beginning(arguments[0], arguments[1], arguments[2], arguments[3:])
        return
    worker = Worker(arguments[0], arguments[1], arguments[2:])
    print(json.dumps({"units": {"batch write": BATCH, "batch get": BATCH, "transaction": TRANSACTION}}), flush=True)
    serve(worker)


if __name__ == "__main__":
    main()
