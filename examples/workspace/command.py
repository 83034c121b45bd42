"""The command line of the example."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console

from examples.workspace.connecting import address, options_for
from examples.workspace.files import Problem, import_files, markdown_files
from examples.workspace.history import Commit, import_history, read_history
from examples.workspace.models import AppFlags, Comment, Workspace, app
from examples.workspace.showing import show_feed, show_flags, show_partition, show_problems
from tablekit import TablekitError
from tablekit.local import LocalEngine

__all__ = ["main"]

DOCS = Path(__file__).parents[2] / "docs"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--path",
    type=click.Path(exists=True, file_okay=False, readable=True, path_type=Path),
    default=DOCS,
    help="The folder of Markdown files to import; this repository's docs otherwise.",
)
@click.option(
    "--endpoint",
    metavar="URL",
    callback=address,
    help="A DynamoDB to use, which keeps the data; an engine that is started for this run otherwise.",
)
def main(path: Path, endpoint: str | None) -> None:
    """Import a folder of Markdown files as a workspace, and show what one query of it gives.

    Each file becomes a document. Where the folder has git history, each commit that touched a file becomes a comment
    on it, and each author a member.

    The exit status is 1 when something was left out.
    """
    console = Console()
    problems: list[Problem] = []
    try:
        with _connected(console, endpoint):
            _run(console, path, problems)
    except TablekitError as error:
        raise click.ClickException(str(error)) from error
    if problems:
        raise click.exceptions.Exit(1)


@contextmanager
def _connected(console: Console, endpoint: str | None) -> Generator[None]:
    with ExitStack() as stack:
        if endpoint is None:
            console.print("Starting a DynamoDB engine on this machine; its data is gone when this ends.")
            engine = stack.enter_context(LocalEngine())
            app.connect(**engine.connect_options())
        else:
            app.connect(**options_for(endpoint))
        stack.callback(app.close)
        app.create_table()
        yield


def _run(console: Console, folder: Path, problems: list[Problem]) -> None:
    if not markdown_files(folder):
        raise click.ClickException(f"{folder} holds no Markdown files (*.md). Give another folder with --path.")
    _open_for_use()
    workspace_id = folder.resolve().name.replace("#", "-") or "root"
    Workspace(workspace_id=workspace_id, name=workspace_id).put()
    documents = [document.doc_id for document in import_files(folder, workspace_id, problems)]
    commits = read_history(folder)
    rows = list(import_history(_signed_up(commits), workspace_id, frozenset(documents), problems))
    comments = sum(isinstance(row, Comment) for row in rows)
    history = "no git history there" if commits is None else f"{comments} comments from {len(commits)} commits"
    console.print(f"Imported {len(documents)} documents into workspace {workspace_id!r}; {history}.", markup=False)
    show_problems(console, problems)
    show_partition(console, workspace_id)
    show_feed(console, workspace_id)
    show_flags(console)


def _open_for_use() -> None:
    """Open an app that nobody has set up yet, and respect what an operator has set since.

    Without its row the flags hold their safe values: sign-up closed, maintenance on.
    """
    if AppFlags.load().source == "default":
        AppFlags.update(signup_enabled=True, maintenance_mode=False)
    if AppFlags.get().maintenance_mode:
        raise click.ClickException(
            "The app is in maintenance. Open it: tablekit --app examples.workspace.models:app flags set AppFlags "
            "maintenance_mode=false"
        )


def _signed_up(commits: list[Commit] | None) -> list[Commit]:
    """The history whose authors may become members: none while sign-up is closed."""
    return commits if commits is not None and AppFlags.get().signup_enabled else []
