"""Git history as comments on documents."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import attrs

from examples.workspace.files import Problem
from examples.workspace.models import Comment, Member
from tablekit import ServiceError, TablekitError

__all__ = ["Commit", "import_history", "read_history"]

RECORD, UNIT = "\x1e", "\x1f"
FORMAT = RECORD + UNIT.join(["%H", "%at", "%an", "%ae", "%s"]) + UNIT
MOST_COMMITS = 500


@attrs.frozen
class Commit:
    """One commit, and the files of the folder that it touched."""

    hash: str
    at: datetime
    author: str
    email: str
    subject: str
    files: tuple[str, ...]


def read_history(folder: Path) -> list[Commit] | None:
    """The commits that touched a folder, newest first; None where there is no git history."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "log", "--no-merges", f"--max-count={MOST_COMMITS}", f"--format={FORMAT}"]
    command += ["--name-only", "--relative", "-z", "--", "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)  # noqa: S603  (git, with fixed words)
    if run.returncode != 0:
        return None
    records = run.stdout.decode("utf-8", "replace").split(RECORD)[1:]
    return [_commit(record) for record in records] or None


def _commit(record: str) -> Commit:
    hash_, seconds, author, email, subject, names = record.split(UNIT, 5)
    files = tuple(name for name in (part.strip("\n") for part in names.split("\0")) if name)
    return Commit(hash_, datetime.fromtimestamp(int(seconds), timezone.utc), author, email, subject, files)


def import_history(
    commits: Sequence[Commit], workspace_id: str, documents: Collection[str], problems: list[Problem]
) -> Iterator[Comment | Member]:
    """Write the authors as members and each commit as a comment on the documents that it touched, and give them."""
    # A person's name is the one of their newest commit.
    for email, name in {commit.email: commit.author for commit in reversed(commits)}.items():
        member = Member(workspace_id=workspace_id, email=email, name=name, role="writer")
        yield from _put(member, f"the author {name}", problems)
    for commit in commits:
        for name in commit.files:
            if name in documents:
                yield from _put(_comment(commit, workspace_id, name), f"commit {commit.hash[:8]} on {name}", problems)


def _comment(commit: Commit, workspace_id: str, doc_id: str) -> Comment:
    return Comment(
        workspace_id=workspace_id,
        doc_id=doc_id,
        comment_id=f"{commit.at:%Y%m%dT%H%M%SZ}-{commit.hash[:8]}",
        author=commit.author,
        body=commit.subject,
        written_at=commit.at,
    )


def _put(entity: Comment | Member, name: str, problems: list[Problem]) -> Iterator[Comment | Member]:
    try:
        yield entity.put()
    except ServiceError:
        raise
    except TablekitError as error:
        problems.append(Problem(name, str(error)))
