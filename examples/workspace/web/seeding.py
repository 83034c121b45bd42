"""What a first run finds: the documentation as a workspace, and an app that is open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from examples.workspace.files import Problem, import_files, markdown_files
from examples.workspace.history import import_history, read_history
from examples.workspace.models import AppFlags, Workspace

__all__ = ["first_run"]


def first_run(folder: Path | None, say: Callable[[str], object]) -> None:
    """Open an app that nobody has set up yet, and import a folder as its first workspace."""
    if AppFlags.load().source != "default":
        return
    if folder is not None and markdown_files(folder):
        _import(folder, say)
    # At the end, so that a first run that was interrupted is done again. Without its row the flags are closed.
    AppFlags.update(signup_enabled=True, maintenance_mode=False)


def _import(folder: Path, say: Callable[[str], object]) -> None:
    name = folder.resolve().name.replace("#", "-") or "root"
    problems: list[Problem] = []
    Workspace(workspace_id=name, name=name.capitalize()).put()
    documents = [document.doc_id for document in import_files(folder, name, problems)]
    rows = list(import_history(read_history(folder) or [], name, frozenset(documents), problems))
    say(f"Imported {len(documents)} documents of {folder} and {len(rows)} rows of their history.")
    for problem in problems:
        say(f"Left out: {problem}")
