"""The command that serves the web app."""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import click
import uvicorn

from examples.workspace.connecting import address, options_for
from examples.workspace.models import app
from examples.workspace.web.seeding import first_run
from examples.workspace.web.site import site
from tablekit import TablekitError
from tablekit.local import LocalEngine

__all__ = ["main"]

DOCS = Path(__file__).parents[3] / "docs"
HOST = "127.0.0.1"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="The port on 127.0.0.1; 0 takes a free one.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".tablekit/workspace-app"),
    help="The folder that keeps the data and the secret of the cookies.",
)
@click.option(
    "--path",
    type=click.Path(exists=True, file_okay=False, readable=True, path_type=Path),
    default=DOCS if DOCS.is_dir() else None,
    help="The folder of Markdown files that the first run imports; this repository's docs otherwise.",
)
@click.option(
    "--endpoint", metavar="URL", callback=address, help="A DynamoDB to use; an engine with kept data otherwise."
)
def main(port: int, keep: Path, path: Path | None, endpoint: str | None) -> None:
    """Serve the workspaces in a browser, on this machine alone."""
    # uvicorn raises the signal that stopped it once more when it is done; the engine is to be stopped in order then.
    signal.signal(signal.SIGTERM, _stop)
    with _listening(port) as listener, _connected(keep, endpoint):
        try:
            first_run(path, click.echo)
        except TablekitError as error:
            raise click.ClickException(str(error)) from error
        where = f"kept in {keep}" if endpoint is None else f"in the table {app.name!r} of {endpoint}"
        click.echo(f"Workspaces: http://{HOST}:{listener.getsockname()[1]}/  (data {where}; stop with Ctrl-C)")
        config = uvicorn.Config(site(_secret(keep)), log_level="warning", server_header=False, lifespan="off")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            click.echo("Stopped.")


@contextmanager
def _listening(port: int) -> Generator[socket.socket]:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise click.ClickException(f"Port {port} of {HOST}: {reason}. Give another one with --port.") from error
        yield listener


@contextmanager
def _connected(keep: Path, endpoint: str | None) -> Generator[None]:
    with ExitStack() as stack:
        try:
            options = (
                options_for(endpoint) if endpoint else stack.enter_context(LocalEngine(keep=keep)).connect_options()
            )
            # A page would rather say that the table is busy than keep its reader waiting through many attempts.
            app.connect(**options, transport="direct", connect_timeout=2, read_timeout=10, max_attempts=3)
            stack.callback(app.close)
            app.create_table()
        except TablekitError as error:
            raise click.ClickException(str(error)) from error
        yield


def _secret(keep: Path) -> str:
    """The secret that signs cookies and encrypts cursors, kept so that links and sessions outlive a restart."""
    secret = os.environ.get("WORKSPACE_SECRET", "")
    if not secret:
        path = keep / "secret"
        if not path.exists():
            keep.mkdir(parents=True, exist_ok=True)
            path.touch(0o600, exist_ok=False)
            path.write_text(secrets.token_urlsafe(32))
        secret = path.read_text()
    if importlib.util.find_spec("cryptography") is not None:
        app.cursor_secrets = (secret.encode(),)
    return secret


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
