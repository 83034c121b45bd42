"""The processes of a run: the server, and one worker for each library, of which one works at a time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import Any

from benchmarks.environments import ROOT, Library

__all__ = ["Server", "WorkerProcess", "fresh"]


PATIENCE = 60
"""Seconds that a worker is waited for: nothing takes a minute, but to fill the memory."""


def environment() -> dict[str, str]:
    """The environment of every process: nothing of AWS's configuration, and this folder to import from."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON", "DYN"))}
    off = {
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    return {
        **kept,
        **off,
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
    }


class Server:
    """The canned server, on the first core.

    Attributes:
        ports: the port of each library.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.server", *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=ROOT,
        )
        if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(self._process.pid, {min(os.sched_getaffinity(0))})
        assert self._process.stdout is not None
        self.ports: dict[str, int] = json.loads(self._process.stdout.readline())

    def endpoint(self, library: Library) -> str:
        """Where a library sends to."""
        return f"http://127.0.0.1:{self.ports[library.name]}"

    def freeze(self, library: Library) -> None:
        """Make the answers of what the library has put."""
        from http.client import HTTPConnection

        connection = HTTPConnection("127.0.0.1", self.ports[library.name])
        connection.request("POST", "/freeze", b"")
        connection.getresponse().read()
        connection.close()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(5)


class WorkerProcess:
    """A library in its own process. Raises ``RuntimeError`` when it fails to begin.

    Attributes:
        units: how many rows a workload has, where that is not one. ended: whether it has been given up.
    """

    def __init__(self, library: Library, endpoint: str) -> None:
        self.library = library
        self.ended = False
        # A file: whatever a library complains of, a pipe that nobody reads would fill, and the library would wait.
        self._complaints = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            command(library, [library.module, endpoint, *library.options]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=environment(),
            cwd=ROOT,
        )
        self.units: dict[str, int] = self._answer()["units"]

    def ask(self, do: str, *, patience: float = PATIENCE, **more: Any) -> Any:
        """Have it do something within so many seconds; raises ``RuntimeError`` with what went wrong there."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise RuntimeError(self._last_words()) from None
        answer = self._answer(patience)
        if isinstance(answer, dict) and "problem" in answer:
            raise RuntimeError(f"{do}: {answer['problem']}")
        return answer

    def _answer(self, patience: float = PATIENCE) -> Any:
        assert self._process.stdout is not None
        # A library that hangs is reported like one that fails.
        watch = threading.Timer(patience, self._process.kill)
        watch.start()
        try:
            while True:
                line = self._process.stdout.readline()
                if not line:
                    raise RuntimeError(self._last_words())
                if line.startswith(("{", "[")):  # a library may print
                    return json.loads(line)
        finally:
            watch.cancel()

    def _last_words(self) -> str:
        self._process.kill()
        self._process.wait()
        self.ended = True
        self._complaints.seek(0)
        lines = self._complaints.read().strip().splitlines()
        return lines[-1] if lines else "it ended, or did not answer in time"

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._complaints):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def command(library: Library, arguments: Sequence[str]) -> list[str]:
    """The command line of a worker."""
    return [str(library.interpreter), "-m", "benchmarks.worker", *arguments]


def fresh(mode: str, library: Library, endpoint: str) -> dict[str, float]:
    """What the beginning takes, ``--import`` or ``--first``, in a process made for it."""
    done = subprocess.run(
        command(library, [mode, library.module, endpoint, *library.options]),
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"status {done.returncode}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
