"""The example as its users run it: a process of its own, against ministack."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engines import Engine

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def keys() -> dict[str, str]:
    """Ministack takes a key of 12 digits for an account, so each test has its own."""
    account = str(uuid.uuid4().int)[:12]
    return {"AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}


@pytest.fixture
def flags(ministack: Engine, keys: dict[str, str]) -> Callable[..., None]:
    """Sets flags of the example's app, as an operator does, by the command line."""
    table = "from examples.workspace.models import app; app.connect(endpoint_url={!r}); app.create_table()"

    def set_flags(*changes: str) -> None:
        environment = {**os.environ, **keys}
        create = [sys.executable, "-c", table.format(ministack.endpoint_url)]
        subprocess.run(create, cwd=ROOT, env=environment, check=True, timeout=60)
        command = [sys.executable, "-m", "tablekit.cli", "--app", "examples.workspace.models:app"]
        command += ["--endpoint", ministack.endpoint_url, "flags", "set", "AppFlags", *changes]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=60, capture_output=True)

    return set_flags


@pytest.fixture
def run(ministack: Engine, keys: dict[str, str]) -> Run:
    """Runs the example with options."""

    def run(*options: object, endpoint: str | None = ministack.endpoint_url) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "examples.workspace", *map(str, options)]
        command += ["--endpoint", endpoint] if endpoint else []
        environment = {**os.environ, **keys, "COLUMNS": "160", "PYTHONUTF8": "1"}
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False
        )

    return run


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with two Markdown files and one that is none."""
    folder = tmp_path / "notes"
    (folder / "plans").mkdir(parents=True)
    (folder / "first.md").write_text("# The first note\n\nThree more words.\n")
    (folder / "plans" / "second.md").write_text("No heading.\n")
    (folder / "picture.svg").write_text("<svg/>")
    return folder


def git(folder: Path, *arguments: str) -> None:
    """Run git with a made-up author and none of this machine's settings."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def test_it_imports_the_docs_of_this_repository_on_an_engine_of_its_own(run):
    """Without options it starts an engine and imports docs/."""
    done = run(endpoint=None)

    assert done.returncode == 0, done.stderr
    assert "documents into workspace 'docs'" in done.stdout


def test_it_shows_the_type_of_each_row_and_the_object_it_came_back_as(run, notes):
    """One query gives the rows with their Type, and each as its class."""
    shown = " ".join(run("--path", notes).stdout.split())

    assert "│ WS#notes │ DOC#first.md │ Document │" in shown
    assert "│ WS#notes │ META │ Workspace │" in shown
    assert "│ Document │ 'The first note', 7 words, revision 1 │" in shown
    assert "Classes: 2 Document, 1 Workspace" in shown


def test_it_shows_the_request_behind_each_query_and_its_capacity(run, notes):
    """The query of the partition and the one of the index are shown as they are sent."""
    shown = " ".join(run("--path", notes).stdout.split())

    assert "KeyConditionExpression #PK = :PK AND #SK BETWEEN :SK_low AND :SK_high" in shown
    assert "IndexName GSI1" in shown
    assert "Sent 1 time, 3 rows read. Capacity: 0.5 units reported here; 0.5 by DynamoDB's rules for " in shown
    assert "Sent 1 time, 2 rows read. Capacity: 0.5 units reported here; 0.5 by DynamoDB's rules for " in shown


def test_commits_become_comments_and_authors_members(run, notes):
    """Each commit that touched a file is a comment on it; its author is a member."""
    git(notes, "init", "-q")
    git(notes, "add", ".")
    git(notes, "commit", "-q", "-m", "Begin the notes")

    shown = run("--path", notes).stdout

    assert "2 comments from 1 commits" in shown
    assert "Ada: Begin the notes" in shown
    assert "MEMBER#ada@example.com" in shown


def test_a_second_import_saves_only_what_changed(run, notes):
    """A file that changed has a new revision; the other keeps its own."""
    run("--path", notes)
    (notes / "first.md").write_text("# The first note, again\n")

    shown = run("--path", notes).stdout

    assert "'The first note, again', 5 words, revision 2" in shown
    assert "'second', 2 words, revision 1" in shown


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("latin.md", b"caf\xe9", "is not UTF-8: byte 0xe9 at offset 3"),
        ("large.md", b"x" * 400 * 1024, "bytes as an item, and DynamoDB stores at most 409,600"),
        ("a#b.md", b"text", "holds '#', which separates the parts"),
    ],
)
def test_a_file_that_cannot_be_stored_is_named_and_the_others_are_imported(run, notes, name, content, reason):
    """The file and the reason are printed, the exit status tells, and the rest is there."""
    (notes / name).write_bytes(content)

    done = run("--path", notes)

    assert f"Left out: {name}: " in done.stdout
    assert reason in done.stdout
    assert "Classes: 2 Document, 1 Workspace" in done.stdout
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_imported(run, notes):
    """A link to nothing is a file that cannot be read, by root also."""
    (notes / "gone.md").symlink_to(notes / "nothing")

    done = run("--path", notes)

    assert "Left out: gone.md: cannot be read: No such file or directory." in done.stdout
    assert "Imported 2 documents" in done.stdout


def test_a_folder_that_is_not_there_is_said_to_be_missing(run, tmp_path):
    """The message names the folder, and nothing is started."""
    done = run("--path", tmp_path / "nowhere")

    assert done.returncode == 2
    assert "nowhere' does not exist" in done.stderr
    assert done.stdout == ""


def test_a_folder_without_markdown_is_an_error(run, tmp_path):
    """The message says what was looked for."""
    done = run("--path", tmp_path)

    assert done.returncode == 1
    assert "holds no Markdown files" in done.stderr


def test_an_endpoint_where_nothing_listens_is_an_error(run, notes):
    """The message says that DynamoDB was not reached, without a traceback."""
    done = run("--path", notes, endpoint="http://127.0.0.1:9")

    assert done.returncode == 1
    assert "Check the endpoint" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_endpoint_that_is_no_address_is_an_error(run):
    """The message shows what an address looks like."""
    done = run(endpoint="localhost")

    assert done.returncode == 2
    assert "'localhost' is no address" in done.stderr


def test_help_says_what_it_does(run):
    """--help names both options."""
    shown = run("--help").stdout

    assert "--path" in shown
    assert "--endpoint" in shown


def test_a_new_app_is_opened_and_its_flags_are_shown(run, notes):
    """The first run sets the flags; they are shown with the views of the feed."""
    shown = " ".join(run("--path", notes).stdout.split())
    assert "maintenance_mode │ False" in shown
    assert "Looks at the feed so far: 1." in shown


def test_an_app_in_maintenance_is_refused_with_the_command_that_opens_it(run, notes, flags):
    """The exit status is 1, and nothing is imported."""
    flags("maintenance_mode=true")

    done = run("--path", notes)

    assert done.returncode == 1
    assert "flags set AppFlags maintenance_mode=false" in done.stderr
    assert "Imported" not in done.stdout


def test_closed_sign_up_brings_no_members(run, notes, flags):
    """The documents are imported, their authors are not."""
    git(notes, "init", "-q")
    git(notes, "add", ".")
    git(notes, "commit", "-q", "-m", "Begin the notes")
    flags("maintenance_mode=false", "signup_enabled=false")

    shown = run("--path", notes).stdout

    assert "Imported 2 documents" in shown
    assert "MEMBER#" not in shown
