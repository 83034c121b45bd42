"""A DynamoDB engine on this machine, for development and tests: no account, no network, no Java.

`LocalEngine` runs ministack (extra ``tablekit[local]``) as a child process that listens on 127.0.0.1 only::

    from tablekit.local import LocalEngine

    with LocalEngine() as engine:
        app.connect(**engine.connect_options())

From a shell, ``python -m tablekit.local`` runs one in the foreground and prints its endpoint.

The child binds its own port and names it over a pipe, so that a stranger on a port is never taken for the
engine. A second pipe ties its life to this process: when this one ends, by whatever signal, the child ends too.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Final, TypedDict

from typing_extensions import NotRequired, Self

from tablekit._engine import HOST, SHUTDOWN_SECONDS
from tablekit.errors import TablekitError

__all__ = ["ConnectOptions", "EngineError", "EngineMissing", "LocalEngine"]

ENGINE_VERSION: Final = "1.5.33"
"""The version of ministack that tablekit is tested with, and that the extra ``local`` pins."""

INSTALL_COMMAND: Final = 'pip install "tablekit[local]"'

_LOG_LINES: Final = 20
_DROPPED_PREFIXES: Final = ("AWS_", "LOCALSTACK_", "MINISTACK_")
_OPTIONS: Final = {
    "BINDHOST": HOST,
    "SERVICES": "dynamodb,dynamodbstreams",
    # The engine emulates more of AWS: it would open further ports, and reset S3 data and containers of this machine.
    "SFTP_ENABLED": "0",
    "IOT_MTLS_ENABLED": "0",
    "USE_SSL": "0",
    "S3_PERSIST": "0",
    "DOCKERHOST": "unix:///nonexistent/tablekit-uses-no-containers",
}


class ConnectOptions(TypedDict):
    """The arguments of `Table.connect` that reach an engine: ``app.connect(**engine.connect_options())``."""

    endpoint_url: str
    region: str
    aws_access_key_id: NotRequired[str]
    aws_secret_access_key: NotRequired[str]


class EngineError(TablekitError):
    """The local engine did not start, or is not running.

    Attributes:
        log: the last lines that the engine wrote; empty when it wrote none.
    """

    def __init__(self, message: str, *, log: str = "") -> None:
        super().__init__(f"{message}\nThe engine's last lines:\n{log}" if log else message)
        self.log = log


class EngineMissing(EngineError):
    """The package that holds the engine is not installed.

    Attributes:
        command: the shell command that installs it.
    """

    def __init__(self, message: str, *, command: str = INSTALL_COMMAND) -> None:
        super().__init__(message)
        self.command = command


class LocalEngine:
    """A DynamoDB engine in a child process, listening on 127.0.0.1.

    It is a context manager; `start` and `stop` do the same by hand. It stops with this process at the
    latest. A process forked from this one can use the endpoint, and never stops the engine.

    Parameters:
        port: the port to listen on; None takes a free one.
        keep: a folder that keeps the data from one run to the next, made when it is missing; None discards
            the data. The data is written when the engine stops, not at each request.
        timeout: seconds to wait for the engine to answer.
    """

    def __init__(
        self, *, port: int | None = None, keep: str | os.PathLike[str] | None = None, timeout: float = 30.0
    ) -> None:
        self.keep: Path | None = Path(keep).absolute() if keep is not None else None
        self.timeout = timeout
        self._wanted_port = port
        self._child: _Child | None = None

    def __repr__(self) -> str:
        return f"<LocalEngine {self._child.endpoint_url if self._child and self.running else 'stopped'}>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the child process is alive."""
        return self._child is not None and self._child.alive

    @property
    def endpoint_url(self) -> str:
        """The address to connect to, such as ``"http://127.0.0.1:40123"``.

        Raises:
            EngineError: the engine is not running.
        """
        return self._running_child().endpoint_url

    @property
    def pid(self) -> int:
        """The process id of the engine.

        Raises:
            EngineError: the engine is not running.
        """
        return self._running_child().process.pid

    def connect_options(self) -> ConnectOptions:
        """The arguments of `Table.connect` that reach this engine: endpoint, region, and made-up credentials.

        The engine keeps the data of each access key and region apart; use the same ones to see the same data.

        Raises:
            EngineError: the engine is not running.
        """
        return {
            "endpoint_url": self.endpoint_url,
            "region": "us-east-1",
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
        }

    def start(self) -> Self:
        """Start the engine and wait until it answers; does nothing when it runs already.

        Raises:
            EngineMissing: the package is not installed.
            EngineError: the port is taken, or the engine ended or did not answer in time.
        """
        if self.running:
            return self
        self.stop()
        _require_engine()
        child = _Child(self._wanted_port or 0, self.keep)
        try:
            child.wait_until_ready(self.timeout)
        except BaseException:
            child.close()
            raise
        self._child = child
        return self

    def stop(self) -> None:
        """Stop the engine and wait for its end; does nothing when it is not running."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def wait(self) -> int:
        """Block until the engine ends, and return its exit status.

        Raises:
            EngineError: the engine is not running.
        """
        return self._running_child().process.wait()

    def reset(self) -> None:
        """Remove every table, also from the folder that keeps the data.

        Raises:
            EngineError: the engine is not running, or refused.
        """
        child = self._running_child()
        try:
            status = child.call("POST", "/_ministack/reset", self.timeout)
        except OSError as error:
            raise EngineError(f"The engine at {child.endpoint_url} did not answer a reset.", log=child.log()) from error
        if status != http.client.OK:
            raise EngineError(f"The engine at {child.endpoint_url} answered a reset with {status}.", log=child.log())

    def _running_child(self) -> _Child:
        child = self._child
        if child is None:
            raise EngineError("The engine is not running. Call start(), or use `with LocalEngine() as engine:`.")
        if not child.alive:
            status = child.process.returncode
            raise EngineError(
                f"The engine ended with status {status}. Call start() to start it again.", log=child.log()
            )
        return child


def _require_engine() -> None:
    if importlib.util.find_spec("ministack") is None:
        raise EngineMissing(f"The local engine is not installed in {sys.prefix}. Install it: {INSTALL_COMMAND}")
    found = importlib.metadata.version("ministack")
    if found != ENGINE_VERSION:
        warnings.warn(
            f"ministack {found} is installed; tablekit is tested with {ENGINE_VERSION}, and others answer "
            f"differently. Install it: {INSTALL_COMMAND}",
            RuntimeWarning,
            stacklevel=4,
        )


# The child process -----------------------------------------------------------------------

_children: weakref.WeakSet[_Child] = weakref.WeakSet()


class _Child:
    """One started child process, its pipes and its scratch folder."""

    def __init__(self, port: int, keep: Path | None) -> None:
        self.owner = os.getpid()
        self.port = port
        self.folder = Path(tempfile.mkdtemp(prefix="tablekit-engine-"))
        try:
            self.process = _spawn(self.folder, port, keep)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        # Runs at exit too, and when the last reference is dropped.
        self.finalizer = weakref.finalize(self, _end, self.process, self.folder, self.owner)
        _children.add(self)

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def alive(self) -> bool:
        if os.getpid() != self.owner:
            return True  # a forked process cannot ask about a child of its parent
        return self.process.poll() is None

    def close(self) -> None:
        self.finalizer()

    def log(self) -> str:
        with contextlib.suppress(OSError):
            lines = (self.folder / "engine.log").read_text(errors="replace").splitlines()
            return "\n".join(lines[-_LOG_LINES:])
        return ""

    def call(self, method: str, path: str, timeout: float) -> int:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        finally:
            connection.close()

    def wait_until_ready(self, timeout: float) -> None:
        """Wait for the child's word on its port, then for its first answer."""
        report = self._read_report(timeout)
        if "error" in report:
            raise EngineError(report["error"])
        self.port = int(report["port"])
        try:
            # The child listens before it loads the engine: the connection is to it, and waits for it.
            status = self.call("GET", "/_ministack/health", timeout)
        except (OSError, http.client.HTTPException) as error:
            raise self._not_ready(timeout) from error
        if status != http.client.OK:
            raise EngineError(f"The engine answered its first request with {status}.", log=self.log())

    def _read_report(self, timeout: float) -> dict[str, Any]:
        lines: list[bytes] = []
        stdout = _pipe(self.process.stdout)
        reader = threading.Thread(target=lambda: lines.append(stdout.readline()), daemon=True)
        reader.start()
        reader.join(timeout)
        if not lines or not lines[0]:
            raise self._not_ready(timeout)
        report: dict[str, Any] = json.loads(lines[0])
        return report

    def _not_ready(self, timeout: float) -> EngineError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(0.5)
            return EngineError(f"The engine ended with status {status} before it answered.", log=self.log())
        return EngineError(f"The engine did not answer within {timeout:g} seconds.", log=self.log())


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "the child is started with pipes"
    return stream


def _spawn(folder: Path, port: int, keep: Path | None) -> subprocess.Popen[bytes]:
    # The child imports from where this process does, whatever changed sys.path since it started.
    path = [str(Path(entry).absolute()) for entry in sys.path]
    settings = json.dumps({"path": path, "port": port, "keep": str(keep) if keep else None, "folder": str(folder)})
    program = "import json, sys; s = json.loads(sys.argv[1]); sys.path[:] = s['path']; "
    program += "from tablekit._engine import serve; serve(s)"
    with (folder / "engine.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-c", program, settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(folder, keep),
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops the child in order
        )


def _environment(folder: Path, keep: Path | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED_PREFIXES)}
    state = {"PERSIST_STATE": "1" if keep else "0", "STATE_DIR": str((keep or folder) / "ministack")}
    return {**kept, **_OPTIONS, **state, "TMPDIR": str(folder), "LOG_LEVEL": "INFO", "PYTHONWARNINGS": "ignore"}


def _end(process: subprocess.Popen[bytes], folder: Path, owner: int) -> None:
    with contextlib.suppress(OSError):
        _pipe(process.stdin).close()
    if os.getpid() != owner:
        return
    try:
        process.wait(SHUTDOWN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        # Not before the process ended: a thread may wait for its report, and closing would wait for that thread.
        _pipe(process.stdout).close()
        shutil.rmtree(folder, ignore_errors=True)


def _close_pipes_after_fork() -> None:
    # A forked process that held the pipe open would keep the engine alive beyond its owner.
    for child in list(_children):
        with contextlib.suppress(OSError):
            _pipe(child.process.stdin).close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_pipes_after_fork)


# The command --------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run an engine in the foreground until Ctrl-C or SIGTERM; the endpoint is the first line printed.

    Parameters:
        arguments: the command's arguments; None takes those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m tablekit.local", description="Run a local DynamoDB engine.")
    parser.add_argument("--port", type=int, default=None, help="the port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--keep", metavar="DIR", help="keep the data in this folder (default: discard it)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with LocalEngine(port=options.port, keep=options.keep) as engine:
            print(engine.endpoint_url, flush=True)
            kept = f"kept in {engine.keep}" if engine.keep else "discarded at the end"
            print(f"The data is {kept}. Stop with Ctrl-C.", file=sys.stderr, flush=True)
            return engine.wait()
    except KeyboardInterrupt:
        return 0
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
