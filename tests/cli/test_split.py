"""The command `split`: its forms, a scan as the source, a table as the target."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tablekit import Table
from tablekit.cli import main
from tablekit.tools.own_table import own_table_body
from tests.support.engines import Engine
from tests.support.exports import write_export
from tests.support.validation import RequestRecorder

ROOT = Path(__file__).parents[2]
APP = "tests.support.models:app"
Run = Callable[..., Result]


@pytest.fixture
def tablekit() -> Run:
    """Runs a command in this process."""

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(main, ["--app", APP, "--format", "json", *map(str, arguments)])

    return run


@pytest.fixture
def target(full_app: Table, ministack: Engine) -> Iterator[str]:
    """An empty table with the key of the app's."""
    name = f"{full_app.name}-own"
    ministack.client().create_table(TableName=name, **own_table_body(full_app, None))
    yield name
    ministack.client().delete_table(TableName=name)


def row(type: str | None, number: int) -> dict[str, Any]:
    """A row of a type."""
    found: dict[str, Any] = {"PK": {"S": "WS#a"}, "SK": {"S": f"X#{number}"}, "words": {"N": "7"}}
    return found if type is None else {**found, "EntityType": {"S": type}}


def documents(folder: Path, count: int = 3) -> Path:
    """An export of documents."""
    write_export(folder, [[row("Document", n) for n in range(count)]])
    return folder


@pytest.mark.parametrize(
    ("form", "name"),
    [("dynamodb-json", "Document.jsonl"), ("json", "Document.json"), ("csv", "Document.csv"),
     ("parquet", "Document.parquet")],
)  # fmt: skip
def test_each_form_has_its_ending(tablekit: Run, tmp_path: Path, form: str, name: str) -> None:
    """Exit code 0 where each row has a class."""
    result = tablekit("split", documents(tmp_path / "in"), tmp_path / "out", "--as", form)

    assert result.exit_code == 0, result.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


def test_import_ready_writes_a_folder_for_each_type(tablekit: Run, tmp_path: Path) -> None:
    """The request lies beside the objects."""
    result = tablekit("split", documents(tmp_path / "in"), tmp_path / "out", "--import-ready")

    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "out" / "Document").iterdir()) == ["data", "import-table.json"]


def test_a_dry_run_counts_and_writes_nothing(tablekit: Run, tmp_path: Path) -> None:
    """The report is the one of the split, and its exit code too."""
    write_export(tmp_path / "in", [[row("Document", 1), row("Oops", 2)]])

    result = tablekit("split", tmp_path / "in", tmp_path / "out", "--dry-run")

    assert result.exit_code == 1
    assert [(each["output"], each["rows"]) for each in json.loads(result.stdout)] == [
        ("Document", 1),
        ("_unknown-Oops", 1),
    ]
    assert "2 rows of 1 files; nothing was written" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["in"],
        ["in", "out", "--scan"],
        ["nowhere", "out"],
        ["in", "out", "--type", "Document"],
        ["in", "out", "--to-table", "x"],
        ["in", "out", "--create"],
        ["in", "out", "--wcu", "5"],
        ["in", "out", "--import-ready", "--as", "csv"],
        ["in", "out", "--import-ready", "--to-table", "x", "--type", "Document"],
        ["in", "out", "--as", "xlsx"],
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    tablekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """Exit code 2 before anything is read."""
    monkeypatch.chdir(tmp_path)
    documents(tmp_path / "in")

    result = tablekit("split", *arguments)

    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_told_in_a_line(tablekit: Run, tmp_path: Path) -> None:
    """Exit code 2, with the path."""
    (tmp_path / "file").touch()

    result = tablekit("split", documents(tmp_path / "in"), tmp_path / "file" / "out")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "file/out" in result.stderr


def test_a_table_is_split_by_a_scan(full_app: Table, ministack: Engine, tablekit: Run, tmp_path: Path) -> None:
    """What it takes is said first; the scan itself is not left behind."""
    for number in range(3):
        ministack.client().put_item(TableName=full_app.name, Item=row("Document", number))

    result = tablekit("split", "--scan", tmp_path / "out", "--segments", "2")

    assert result.exit_code == 0, result.stderr
    assert "read units" in result.stderr.splitlines()[0]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["Document.jsonl"]
    assert len((tmp_path / "out" / "Document.jsonl").read_text().splitlines()) == 3


def test_a_scan_for_parquet_without_its_extra_reads_nothing(
    full_app: Table, tablekit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No units are spent on rows that could not be written then."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with full_app.meter() as meter:
        result = tablekit("split", "--scan", tmp_path / "out", "--as", "parquet")

    assert result.exit_code == 2
    assert "tablekit[parquet]" in result.stderr
    assert meter.requests == 0


def test_a_dry_run_of_a_scan_reads_nothing(full_app: Table, tablekit: Run, tmp_path: Path) -> None:
    """It says the units."""
    result = tablekit("split", "--scan", tmp_path / "out", "--dry-run")

    assert result.exit_code == 0, result.stderr
    assert "read units" in result.stderr
    assert not (tmp_path / "out").exists()


def test_rows_of_one_type_go_to_their_table(target: str, tablekit: Run, tmp_path: Path) -> None:
    """The units are said before, the report says that counts and checksums agree; no state is left."""
    source = documents(tmp_path / "in")

    result = tablekit(
        "split", source, tmp_path / "out", "--to-table", target, "--type", "Document", "--no-recovery", "--wcu", "100"
    )

    assert result.exit_code == 0, result.stderr
    assert "putting them takes about 3 write units" in result.stderr.splitlines()[0]
    (report,) = json.loads(result.stdout)
    assert (report["written"], report["found"], report["matches"]) == (3, 3, True)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_row_that_was_kept_is_a_finding(target: str, ministack: Engine, tablekit: Run, tmp_path: Path) -> None:
    """R54: exit code 1, and the row of the live table is as it was."""
    live = {**row("Document", 0), "words": {"N": "8"}}
    ministack.client().put_item(TableName=target, Item=live)
    source = documents(tmp_path / "in")

    result = tablekit("split", source, tmp_path / "out", "--to-table", target, "--type", "Document", "--no-recovery")

    assert result.exit_code == 1
    assert "1 rows of" in result.stderr
    key = {"PK": live["PK"], "SK": live["SK"]}
    assert ministack.client().get_item(TableName=target, Key=key)["Item"] == live


def test_a_dry_run_of_a_lift_writes_nothing(target: str, ministack: Engine, tablekit: Run, tmp_path: Path) -> None:
    """Not even its state."""
    source = documents(tmp_path / "in")

    result = tablekit("split", source, tmp_path / "out", "--to-table", target, "--type", "Document", "--dry-run")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)[0]["rows"] == 3
    assert ministack.client().scan(TableName=target)["Count"] == 0
    assert not (tmp_path / "out").exists()


def test_a_target_without_recovery_is_refused(target: str, tablekit: Run, tmp_path: Path) -> None:
    """Exit code 2, with the option that waives it."""
    source = documents(tmp_path / "in")

    result = tablekit("split", source, tmp_path / "out", "--to-table", target, "--type", "Document")

    assert result.exit_code == 2
    assert "--no-recovery" in result.stderr


@pytest.mark.parametrize(
    ("to", "type_", "told"),
    [
        ("{app}-own", "Nothing", "has the type 'Nothing'"),
        ("{app}-own", "Document", "--no-recovery"),
        ("{app}-none", "Document", "found no such table"),
        ("{app}", "Document", "is the table that the rows come from"),
    ],
)
def test_a_lift_that_would_be_refused_scans_nothing(
    full_app: Table,
    target: str,
    recorder: RequestRecorder,
    tablekit: Run,
    tmp_path: Path,
    to: str,
    type_: str,
    told: str,
) -> None:
    """The scan would be paid for nothing."""
    to = to.format(app=full_app.name)

    result = tablekit("split", "--scan", tmp_path / "out", "--to-table", to, "--type", type_)

    assert result.exit_code == 2
    assert told in result.stderr
    assert "Scan" not in recorder.operations
    assert not (tmp_path / "out").exists()


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    """A bar on the error stream, which is a terminal here; the report stays clean."""
    pty = pytest.importorskip("pty", reason="terminals are of POSIX")
    here, there = pty.openpty()
    source = documents(tmp_path / "in")
    command = [
        sys.executable,
        "-m",
        "tablekit.cli",
        "--app",
        APP,
        "--format",
        "json",
        "split",
        source,
        tmp_path / "out",
    ]
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, env={**os.environ, "TERM": "xterm"}, stdout=-1, stderr=there, check=True
    )
    os.close(there)

    assert "files" in read_all(here)
    assert json.loads(done.stdout)[0]["rows"] == 3


def read_all(descriptor: int) -> str:
    """What a terminal was given."""
    data = b""
    try:
        while block := os.read(descriptor, 4096):
            data += block
    except OSError:
        # How Linux tells that nobody holds the other end any more.
        pass
    os.close(descriptor)
    return data.decode()
