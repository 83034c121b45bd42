"""The commands: arguments, output and exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tablekit import Table
from tablekit.cli import main
from tests.support.engines import Engine
from tests.support.exports import write_export
from tests.support.models import Document, Workspace

Run = Callable[..., Result]
APP = "tests.support.models:app"


@pytest.fixture
def tablekit() -> Run:
    """Runs a command in this process."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["--app", APP, *arguments])

    return run


def test_types_prints_the_chart(tablekit: Run) -> None:
    """Each entity with its keys."""
    result = tablekit("types")

    assert result.exit_code == 0
    assert "DOC#{doc_id}#CMT#{comment_id}" in result.stdout


def test_types_as_json_is_for_programs(tablekit: Run) -> None:
    """The global format applies."""
    found = json.loads(tablekit("--format", "json", "types").stdout)

    assert found[0]["keys"] == {"PK": "WS#{workspace_id}", "SK": "DOC#{doc_id}"}


def test_types_as_json_says_when_a_row_is_in_an_index() -> None:
    """The condition is one text, as in the chart."""
    result = CliRunner().invoke(main, ["--app", "tests.support.cli_models:orders", "--format", "json", "types"])

    assert json.loads(result.stdout)[0]["when"] == {"OPEN": "shipped is False"}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "is not package.module:table"),
        ("no.such.module:app", "no module"),
        ("tests.support.models:nothing", "has no Table 'nothing' (it has: app)"),
    ],
)
def test_an_app_that_is_not_there_is_a_usage_error(path: str, message: str) -> None:
    """Exit code 2, and what would be right."""
    result = CliRunner().invoke(main, ["--app", path, "types"])

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_command_without_an_app_says_how_to_name_one() -> None:
    """Exit code 2."""
    result = CliRunner().invoke(main, ["types"])

    assert (result.exit_code, "--app package.module:table" in result.stderr) == (2, True)


def test_split_writes_the_outputs_and_reports_them(tablekit: Run, tmp_path: Path) -> None:
    """Exit code 1 when rows without a type were among them."""
    typed = {"PK": {"S": "a"}, "SK": {"S": "b"}, "EntityType": {"S": "Document"}}
    untyped = {"PK": {"S": "a"}, "SK": {"S": "c"}}
    write_export(tmp_path / "in", [[typed, untyped]])

    result = tablekit("--format", "csv", "split", str(tmp_path / "in"), str(tmp_path / "out"))

    assert result.exit_code == 1
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["output"], row["rows"]) for row in rows] == [("Document", "1"), ("_untyped", "1")]
    assert "1 rows without a type" in result.stderr


def test_a_damaged_export_is_an_error_on_the_error_stream(tablekit: Run, tmp_path: Path) -> None:
    """Exit code 2, one line, no traceback."""
    (tmp_path / "empty").mkdir()

    result = tablekit("split", str(tmp_path / "empty"), str(tmp_path / "out"))

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.output


def test_backfill_announces_its_cost_before_it_begins(full_app: Table, ministack: Engine, tablekit: Run) -> None:
    """Units are said first; the report is on the output."""
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": "META"}}
    row = {**key, "workspace_id": {"S": "acme"}, "name": {"S": "Acme"}}
    ministack.client().put_item(TableName=full_app.name, Item=row)

    result = tablekit("--format", "json", "backfill", "--no-recovery")

    assert result.exit_code == 0, result.output
    assert "read units" in result.stderr
    assert json.loads(result.stdout)[0]["typed"] == 1
    assert Workspace.get(workspace_id="acme") is not None


def test_backfill_refuses_a_table_without_recovery(full_app: Table, tablekit: Run) -> None:
    """Exit code 2, with the remedy."""
    result = tablekit("backfill")

    assert result.exit_code == 2
    assert "--no-recovery" in result.stderr


def test_doctor_exits_with_1_when_something_was_found(full_app: Table, ministack: Engine, tablekit: Run) -> None:
    """For CI; with --fix the next run is clean."""
    Document(workspace_id="acme", doc_id="1", title="x").create()
    assert tablekit("doctor").exit_code == 0
    ministack.client().update_item(
        TableName=full_app.name,
        Key={"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#1"}},
        UpdateExpression="REMOVE EntityType",
    )

    assert tablekit("doctor", "--fix", "--no-recovery").exit_code == 1
    assert tablekit("doctor").exit_code == 0


def test_check_compares_with_the_lock(tablekit: Run, tmp_path: Path) -> None:
    """A fresh lock passes; one with another template fails and says what it does."""
    path = tmp_path / "tablekit.lock.json"
    assert tablekit("lock", "--file", str(path)).exit_code == 0
    assert tablekit("check", "--file", str(path)).exit_code == 0
    path.write_text(path.read_text().replace('"MEMBER#{email}"', '"PERSON#{email}"'))

    result = tablekit("check", "--file", str(path))

    assert result.exit_code == 1
    assert "not found by get" in result.stdout


def test_schema_prints_what_the_aws_cli_takes(tablekit: Run) -> None:
    """Valid JSON on the output; what it cannot know on the error stream."""
    result = tablekit("schema", "--stream", "KEYS_ONLY")

    assert json.loads(result.stdout)["StreamSpecification"]["StreamViewType"] == "KEYS_ONLY"
    assert "point-in-time recovery" in result.stderr


def test_schema_check_compares_with_the_table(full_app: Table, tablekit: Run) -> None:
    """A table that tablekit made has no difference."""
    assert tablekit("schema", "--check").exit_code == 0


def test_what_rows_hold_cannot_move_the_cursor(tablekit: Run, tmp_path: Path) -> None:
    """Control characters of a stored type are printed as escapes."""
    evil: dict[str, Any] = {"PK": {"S": "a"}, "SK": {"S": "b"}, "EntityType": {"S": "\x1b[2J"}}
    write_export(tmp_path / "in", [[evil]])

    result = tablekit("split", str(tmp_path / "in"), str(tmp_path / "out"))

    assert "\x1b" not in result.output


def test_a_check_without_findings_says_so(full_app: Table, tablekit: Run, tmp_path: Path) -> None:
    """On the error stream, so that the report stays empty."""
    path = str(tmp_path / "tablekit.lock.json")
    tablekit("lock", "--file", path)

    assert "no difference" in tablekit("check", "--file", path).stderr
    assert "as it is declared" in tablekit("schema", "--check").stderr


def test_the_environment_may_name_the_endpoint_and_the_table() -> None:
    """TABLEKIT_ENDPOINT and TABLEKIT_TABLE stand for --endpoint and --table."""
    variables = {"TABLEKIT_ENDPOINT": "http://127.0.0.1:9", "TABLEKIT_TABLE": "seen"}
    context = main.make_context("tablekit", ["--app", APP, "types"])
    assert context.obj.connection == {}

    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        taken = main.make_context("tablekit", ["--app", APP, "types"]).obj

    assert taken.connection == {"endpoint_url": "http://127.0.0.1:9", "name": "seen"}
