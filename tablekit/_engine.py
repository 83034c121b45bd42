"""The process that `tablekit.local.LocalEngine` starts: it serves the engine, and ends with its parent.

It knows its parent by two pipes. Standard output carries one line of JSON, ``{"port": ...}`` or ``{"error": ...}``;
the end of standard input, whatever brought it about, is the word to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["HOST", "SHUTDOWN_SECONDS", "serve"]

HOST: Final = "127.0.0.1"
"""The address that an engine listens on."""

SHUTDOWN_SECONDS: Final = 5.0
"""How long an engine may take to end before it is ended."""


def serve(settings: dict[str, Any]) -> None:
    """Run the engine until standard input ends; the entry point of the child process."""
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the engine's prints go to the log; the pipe is for the one report
    try:
        keep_lock = _lock(settings["keep"])
        listener = _listen(settings["port"])
    except OSError as error:
        print(json.dumps({"error": str(error)}), file=report, flush=True)
        raise SystemExit(1) from None
    port = listener.getsockname()[1]
    print(json.dumps({"port": port}), file=report, flush=True)
    report.close()
    os.environ["GATEWAY_PORT"] = str(port)
    with keep_lock or contextlib.nullcontext():
        asyncio.run(_serve_until_end_of_input(listener))
    # Where the parent was killed nobody else removes the folder. After a failure the parent reads the log there.
    shutil.rmtree(settings["folder"], ignore_errors=True)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if port and os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an engine that just ended leaves TIME_WAIT
    try:
        listener.bind((HOST, port))
        listener.listen(1024)
    except OSError as error:
        raise OSError(
            f"Port {port} on {HOST} cannot be used: {error.strerror}. Give another port, or none to take a free one."
        ) from error
    return listener


def _lock(keep: str | None) -> IO[str] | None:
    if keep is None:
        return None
    try:
        Path(keep).mkdir(parents=True, exist_ok=True)
        lock = (Path(keep) / "engine.lock").open("w")
    except OSError as error:
        raise OSError(f"The folder {keep} cannot be used: {error.strerror}.") from error
    try:
        import fcntl
    except ImportError:  # Windows: two engines in one folder are not noticed there
        return lock
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        message = f"Another engine keeps its data in {keep}. Stop it, or use another folder."
        raise OSError(message) from error
    return lock


async def _serve_until_end_of_input(listener: socket.socket) -> None:
    # Neither package is fully typed; imports by name give Any in place of unknown types.
    app = importlib.import_module("ministack.app").app
    engine_server = importlib.import_module("hypercorn.asyncio").serve
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.keep_alive_timeout = 75
    config.graceful_timeout = 0.2
    config.accesslog = None
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def end(*_signal: object) -> None:
        loop.call_soon_threadsafe(ended.set)

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=_await_end_of_input, args=(end,), daemon=True).start()
    await engine_server(app, config, shutdown_trigger=ended.wait)


def _await_end_of_input(end: Callable[[], None]) -> None:
    while os.read(0, 4096):
        pass
    with contextlib.suppress(RuntimeError):  # the loop has ended already
        end()
    # A request that never ends must not keep the process.
    timer = threading.Timer(SHUTDOWN_SECONDS, os._exit, [1])
    timer.daemon = True
    timer.start()
