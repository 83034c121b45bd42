"""`tablekit adopt` and `tablekit workbench`: arguments, output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tablekit.cli import main

ROWS = [{"PK": f"U#{number}", "SK": "META", "name": "x"} for number in range(3)]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of rows."""
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(ROWS), encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    """A command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_adopt_prints_a_module_and_says_what_it_read(rows: Path) -> None:
    """The module on standard output, the report on the error stream, exit code 0 when every row was read."""
    result = run("adopt", rows)

    assert result.exit_code == 0
    assert "class U(Entity" in result.stdout
    assert "shop: 3 of 3 rows read back by 1 class." in result.stderr


def test_adopt_does_not_write_over_a_file(rows: Path, tmp_path: Path) -> None:
    """A models.py that somebody edited is safe, unless --force says otherwise."""
    out = tmp_path / "models.py"

    assert run("adopt", rows, "--out", out).exit_code == 0
    assert run("adopt", rows, "--out", out).exit_code == 2
    assert run("adopt", rows, "--out", out, "--force").exit_code == 0
    assert "class U(Entity" in out.read_text(encoding="utf-8")


def test_adopt_names_the_rows_that_it_left(tmp_path: Path) -> None:
    """Exit code 1, with key and reason."""
    path = tmp_path / "shop.json"
    path.write_text(json.dumps([*ROWS, {"PK": "U#9"}]), encoding="utf-8")

    result = run("adopt", path, "--keys", "PK,SK")

    assert result.exit_code == 1
    assert "left: row 4, PK='U#9': the key attribute 'SK' is missing" in result.stderr


def test_the_report_is_the_output_where_a_file_takes_the_module(tmp_path: Path) -> None:
    """As JSON it names every row that was left, and nothing else stands beside it."""
    path = tmp_path / "shop.json"
    path.write_text(json.dumps([*ROWS, {"PK": "U#9"}]), encoding="utf-8")
    command = ("adopt", path, "--keys", "PK,SK", "--out", tmp_path / "models.py", "--force")

    (row,) = json.loads(run(*command, "--format", "json").stdout)
    lines = run(*command).stdout.splitlines()

    assert {name: row[name] for name in ("table", "rows", "read", "classes", "typed", "left")} == {
        "table": "shop", "rows": 4, "read": 3, "classes": 1, "typed": 0, "left": 1,
    }  # fmt: skip
    assert row["by_class"] == {"U": 3}
    assert row["rows_left"] == [{"place": "row 4", "key": "PK='U#9'", "reason": "the key attribute 'SK' is missing"}]
    assert lines[0].split() == ["table", "rows", "read", "classes", "typed", "left"]
    assert lines[-1].split() == ["shop", "4", "3", "1", "0", "1"]


def test_a_report_beside_a_printed_module_is_on_the_error_stream(rows: Path) -> None:
    """In whichever form: the module alone is what a shell puts into models.py."""
    result = run("--format", "json", "adopt", rows)

    compile(result.stdout, "models.py", "exec")
    assert json.loads(result.stderr)[0]["read"] == 3


def test_adopt_asks_for_what_it_cannot_know(tmp_path: Path) -> None:
    """No source, and rows whose key is open."""
    path = tmp_path / "shop.json"
    path.write_text(json.dumps([{"a": "1", "b": "2"}, {"a": "2", "b": "1"}]), encoding="utf-8")

    assert "tablekit --table NAME adopt" in run("adopt").stderr
    assert "--keys" in run("adopt", path).stderr


def test_workbench_writes_a_model(tmp_path: Path) -> None:
    """The classes of an app, for NoSQL Workbench."""
    result = run("--app", "tests.support.models:app", "workbench", tmp_path / "model.json")

    assert result.exit_code == 0
    assert json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))["ModelMetadata"]
