"""The split as a Spark job, in local mode, beside the split on one machine."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tablekit.tools import spark as jobs
from tablekit.tools.export_source import ExportError
from tablekit.tools.split import split
from tests.support.exports import write_export
from tests.support.models import app

if shutil.which("java") is None:
    pytest.fail("java is not on the PATH; Spark needs 17 or later", pytrace=False)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session on this machine, with two threads."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tablekit tests").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def document(number: int, **attributes: Any) -> dict[str, Any]:
    """A row of the workspace app."""
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": f"DOC#{number}"}, "EntityType": {"S": "Document"}}
    fields = {"workspace_id": {"S": "acme"}, "doc_id": {"S": str(number)}, "title": {"S": 'Späß, "漢字"\nzwei'}}
    return {
        **key,
        **fields,
        "tags": {"SS": ["b", "a"]},
        "words": {"N": "1234567890123456789012345678901234567"},
        **attributes,
    }


def other(type: str | None, number: int) -> dict[str, Any]:
    """A row with a key and a type alone."""
    row = {"PK": {"S": "WS#acme"}, "SK": {"S": f"X#{number}"}}
    return row if type is None else {**row, "EntityType": {"S": type}}


FILES = [
    [document(1), other("Comment", 1), other("Invoice", 1), document(2, words={"N": "1E+2"})],
    [],
    [other(None, 1), document(3, b={"B": "AP8="}), other("invoice", 2), other("../../etc", 3), other("2024", 4)],
]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of three files, with an empty one, a blank line, an alien file, and types of every kind."""
    folder = write_export(tmp_path_factory.mktemp("export"), FILES)
    (folder / "data" / "stray.json.gz").write_bytes(gzip.compress(b"nonsense"))
    return folder


def text_of(folder: Path) -> list[str]:
    """The lines of the part files of an output, sorted."""
    parts = [path.read_bytes().decode() for path in folder.glob("part-*")]
    return sorted(line for part in parts for line in part.split("\n") if line)


@pytest.mark.parametrize("format", ["dynamodb-json", "json"])
def test_spark_writes_the_lines_of_the_split(spark: Any, export: Path, tmp_path: Path, format: Any) -> None:
    """R52, R03: the same outputs, the same counts, the same lines, byte for byte."""
    alone = split(export, tmp_path / "alone", app=app, format=format)

    report = jobs.split(spark, str(export), str(tmp_path / "spark"), app=app, format=format)

    assert {name: (each.rows, each.bytes) for name, each in report.outputs.items()} == {
        name: (each.rows, each.bytes) for name, each in alone.outputs.items()
    }
    assert (report.rows, report.expected) == (9, 9)
    for name, output in alone.outputs.items():
        lines = sorted(output.path.read_text(encoding="utf-8").splitlines())
        assert text_of(Path(report.outputs[name].path)) == lines
        assert Path(report.outputs[name].path).name == output.path.name


def test_spark_writes_the_cells_of_the_split(spark: Any, export: Path, tmp_path: Path) -> None:
    """Each part file of a CSV begins with the header."""
    alone = split(export, tmp_path / "alone", app=app, format="csv")

    report = jobs.split(spark, str(export), str(tmp_path / "spark"), app=app, format="csv")

    for name, output in alone.outputs.items():
        found = [row for part in Path(report.outputs[name].path).glob("part-*") for row in rows_of(part)]
        assert sorted(found, key=str) == sorted(rows_of(output.path), key=str)


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_spark_writes_the_values_of_the_split(spark: Any, export: Path, tmp_path: Path) -> None:
    """Parquet columns have the same names and values."""
    alone = split(export, tmp_path / "alone", app=app, format="parquet")

    report = jobs.split(spark, str(export), str(tmp_path / "spark"), app=app, format="parquet")

    for name, output in alone.outputs.items():
        found = pyarrow.parquet.read_table(report.outputs[name].path, partitioning=None).to_pylist()
        assert sorted(found, key=str) == sorted(pyarrow.parquet.read_table(output.path).to_pylist(), key=str)


def test_an_export_that_spark_alone_can_read_has_its_manifest_read_by_spark(
    spark: Any, export: Path, tmp_path: Path
) -> None:
    """A place with a scheme is the export's own folder."""
    report = jobs.split(spark, export.as_uri(), (tmp_path / "out").as_uri(), app=app)

    assert (report.rows, report.expected, report.outputs["Document"].rows) == (9, 9, 3)
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []


def test_a_file_with_fewer_rows_than_its_manifest_says_is_an_error(spark: Any, tmp_path: Path) -> None:
    """R53: it is named, and no output is written."""
    folder = write_export(tmp_path, FILES)
    (folder / "data" / "00000.json.gz").write_bytes(gzip.compress(b""))

    with pytest.raises(ExportError, match=r"00000\.json\.gz .* holds 0 rows, and its manifest says 4"):
        jobs.split(spark, str(folder), str(tmp_path / "out"), app=app)

    assert list((tmp_path / "out").glob("*")) == []


def test_a_line_that_is_no_record_is_an_error_with_its_place(spark: Any, tmp_path: Path) -> None:
    """File and line, as on one machine."""
    folder = write_export(tmp_path, [[{"Item": document(1)}, {"Oops": 1}]], wrap=False)

    with pytest.raises(ExportError, match=r"00000\.json\.gz, line 2, is no record"):
        jobs.split(spark, str(folder), str(tmp_path / "out"), app=app)


def test_a_file_that_is_cut_is_an_error(spark: Any, tmp_path: Path) -> None:
    """Spark's reader says so; what it says is in the error."""
    folder = write_export(tmp_path, [[document(number) for number in range(2_000)]])
    path = folder / "data" / "00000.json.gz"
    path.write_bytes(path.read_bytes()[:-200])

    with pytest.raises(ExportError, match="could not read the export"):
        jobs.split(spark, str(folder), str(tmp_path / "out"), app=app)


def test_outputs_that_are_there_are_replaced_only_where_that_was_said(spark: Any, export: Path, tmp_path: Path) -> None:
    """As Spark's own writers do."""
    jobs.split(spark, str(export), str(tmp_path / "out"), app=app)

    with pytest.raises(Exception, match=r"(?i)already exists"):
        jobs.split(spark, str(export), str(tmp_path / "out"), app=app)
    again = jobs.split(spark, str(export), str(tmp_path / "out"), app=app, overwrite=True)

    assert again.rows == 9


@pytest.mark.parametrize("name", ["full_export", "incremental_export"])
def test_spark_counts_an_export_as_aws_lays_it_out_as_the_split_does(spark: Any, tmp_path: Path, name: str) -> None:
    """The same rows for each type."""
    source = ROOT / "tests" / "fixtures" / name
    alone = split(source, tmp_path / "alone", app=app)

    report = jobs.split(spark, str(source), str(tmp_path / "spark"), app=app)

    assert {each: found.rows for each, found in report.outputs.items()} == {
        each: found.rows for each, found in alone.outputs.items()
    }


def test_changes_are_split_as_changes(spark: Any, tmp_path: Path) -> None:
    """An incremental export, whose data files lie in the folder that all of them share; as JSON, not as columns."""
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    changes = [{"Metadata": {}, "Keys": key, "OldImage": other("Comment", 1)}, {"Keys": key, "NewImage": document(1)}]
    summary = {"exportType": "INCREMENTAL_EXPORT"}
    folder = write_export(tmp_path, [changes], summary=summary, wrap=False, shared_data=True)

    report = jobs.split(spark, folder.as_uri(), str(tmp_path / "out"), app=app, format="json")

    assert {name: each.rows for name, each in report.outputs.items()} == {"Comment": 1, "Document": 1}
    (line,) = text_of(tmp_path / "out" / "Comment.json")
    assert json.loads(line)["new"] is None
    with pytest.raises(ExportError, match="incremental"):
        jobs.split(spark, str(folder), str(tmp_path / "csv"), app=app, format="csv")


def test_the_job_has_a_command_line(export: Path, tmp_path: Path) -> None:
    """The script that the documentation shows; exit code 1 for rows that no class knows, a line for each output."""
    script = tmp_path / "split_job.py"
    script.write_text("from tablekit.tools.spark import main\n\nmain()\n")
    command = [sys.executable, str(script), str(export), str(tmp_path / "out"), "--app", "tests.support.models:app"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": shutil.os.environ["PATH"], "SPARK_LOCAL_IP": "127.0.0.1"}

    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=tmp_path)

    outputs = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert [each["rows"] for each in outputs if each["name"] == "Document"] == [3]
