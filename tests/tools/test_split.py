"""Splitting an export by type."""

from __future__ import annotations

import csv
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tablekit import Entity, Field, RequestError, Table
from tablekit.tools.export_source import ExportError
from tablekit.tools.split import split
from tablekit.tools.split_plan import safe_name
from tests.support.exports import write_export
from tests.support.models import Document, app

FIXTURES = Path(__file__).parent.parent / "fixtures"

ALL_TYPES: dict[str, Any] = {
    "PK": {"S": "WS#acme"},
    "SK": {"S": "DOC#d1"},
    "EntityType": {"S": "Document"},
    "workspace_id": {"S": "acme"},
    "doc_id": {"S": "d1"},
    "title": {"S": "Späß 漢字"},
    "tags": {"SS": ["b", "a"]},
    "words": {"N": "1E+2"},
    "revision": {"N": "3"},
    "created_at": {"S": "2026-01-01T00:00:00.000000Z"},
    "updated_at": {"S": "2026-01-01T00:00:00.000000Z"},
    "b": {"B": "AP8Q"},
    "bs": {"BS": ["AA==", "/w=="]},
    "ns": {"NS": ["1.50", "2"]},
    "l": {"L": [{"NULL": True}, {"BOOL": False}]},
    "m": {"M": {"a.b": {"N": "0.1"}}},
}


def item(type: str | None, number: int = 0) -> dict[str, Any]:
    """A row of a type."""
    row = {"PK": {"S": "WS#acme"}, "SK": {"S": f"X#{number}"}}
    return row if type is None else {**row, "EntityType": {"S": type}}


def lines(path: Path) -> list[Any]:
    """The JSON lines of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_parquet_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read or written, and not as the fault of a row."""
    write_export(tmp_path / "in", [[item("Document")]])
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(RequestError, match=r"tablekit\[parquet\]"):
        split(tmp_path / "in", tmp_path / "out", app=app, format="parquet")

    assert not (tmp_path / "out").exists()


def test_each_row_goes_to_the_output_of_its_type(tmp_path: Path) -> None:
    """R53: types, unknown types and untyped rows are counted apart, and the totals meet the manifest."""
    files = [[item("Document"), item("Comment"), item("Invoice")], [], [item(None), item("Document", 1)]]
    write_export(tmp_path / "in", files)

    report = split(tmp_path / "in", tmp_path / "out", app=app)

    assert {name: output.rows for name, output in report.outputs.items()} == {
        "Comment": 1,
        "Document": 2,
        "_unknown-Invoice": 1,
        "_untyped": 1,
    }
    assert report.rows == report.expected == 5


@pytest.mark.parametrize("format", ["dynamodb-json", "json", "csv", "parquet", "import-ready"])
def test_an_export_as_aws_lays_it_out_is_split(tmp_path: Path, format: Any) -> None:
    """With every file and every line of the manifests that its documentation shows."""
    report = split(FIXTURES / "full_export", tmp_path, app=app, format=format)

    assert {name: output.rows for name, output in report.outputs.items()} == {
        "Comment": 2,
        "Document": 2,
        "Workspace": 1,
        "_unknown-Invoice": 1,
        "_untyped": 1,
    }
    assert (report.rows, report.expected, report.files) == (7, 7, 3)


def test_an_incremental_export_as_aws_lays_it_out_is_split(tmp_path: Path) -> None:
    """Its data files lie beside its own folder: a delete, a change and a new row."""
    report = split(FIXTURES / "incremental_export", tmp_path, app=app)

    assert {name: output.rows for name, output in report.outputs.items()} == {
        "Comment": 1,
        "Document": 1,
        "Workspace": 1,
    }


def test_dynamodb_json_lines_are_byte_for_byte_those_of_the_export(tmp_path: Path) -> None:
    """R52: type tags, number text and base64 stay as they are, and the row loads with real sets and bytes."""
    write_export(tmp_path / "in", [[ALL_TYPES]])

    split(tmp_path / "in", tmp_path / "out", app=app)

    (found,) = lines(tmp_path / "out" / "Document.jsonl")
    assert found == {"Item": ALL_TYPES}
    doc = Document.from_item(found["Item"])
    assert (doc.tags, doc.words) == ({"a", "b"}, 100)


def test_plain_json_keeps_every_digit(tmp_path: Path) -> None:
    """R03: numbers of 38 digits and of a hundred zeros are written as they are, not through a float."""
    big = {"N": "1234567895171680000000000000000000000000"}
    row = {**item("Comment"), "big": big, "small": {"N": "0.12345678901234567890123456789"}}
    write_export(tmp_path / "in", [[row]])

    split(tmp_path / "in", tmp_path / "out", app=app, format="json")

    text = (tmp_path / "out" / "Comment.json").read_text()
    found = json.loads(text, parse_float=Decimal)
    assert found["big"] == 1234567895171680000000000000000000000000
    assert found["small"] == Decimal("0.12345678901234567890123456789")


@pytest.mark.parametrize("number", ["1" + "0" * 100, "1234567895171680000000000000000000000000", "1E+100"])
def test_r03_large_round_numbers_go_through_every_form(tmp_path: Path, number: str) -> None:
    """Read as a Decimal by the class, and with each digit from JSON, CSV and Parquet."""
    table = Table("t")

    class Sum(Entity, table=table, pk="S#{id}", sk="META"):
        id: Field[str]
        amount: Field[Decimal]

    key = {"PK": {"S": "S#1"}, "SK": {"S": "META"}, "EntityType": {"S": "Sum"}}
    write_export(tmp_path / "in", [[{**key, "id": {"S": "1"}, "amount": {"N": number}}]])
    paths = [
        split(tmp_path / "in", tmp_path / form, app=table, format=form).outputs["Sum"].path
        for form in ("dynamodb-json", "json", "csv", "parquet")
    ]

    assert Sum.from_item(lines(paths[0])[0]["Item"]).amount == Decimal(number)
    assert json.loads(paths[1].read_text(), parse_int=Decimal, parse_float=Decimal)["amount"] == Decimal(number)
    assert next(csv.DictReader(paths[2].read_text().splitlines()))["amount"] == number
    assert pyarrow.parquet.read_table(paths[3]).to_pylist()[0]["amount"] == number


def test_csv_has_a_column_for_each_field(tmp_path: Path) -> None:
    """Cells are plain; sets and maps are JSON."""
    write_export(tmp_path / "in", [[ALL_TYPES], [ALL_TYPES]])

    split(tmp_path / "in", tmp_path / "out", app=app, format="csv")

    with (tmp_path / "out" / "Document.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    assert (rows[0]["title"], rows[0]["tags"], rows[0]["words"]) == ("Späß 漢字", '["b","a"]', "1E+2")


def test_parquet_is_typed_by_the_fields(tmp_path: Path) -> None:
    """Strings, string lists and numbers with all their digits."""
    write_export(tmp_path / "in", [[ALL_TYPES], [ALL_TYPES]])

    split(tmp_path / "in", tmp_path / "out", app=app, format="parquet")

    table = pyarrow.parquet.read_table(tmp_path / "out" / "Document.parquet")
    assert table.num_rows == 2
    assert table.to_pylist()[0]["tags"] == ["b", "a"]
    assert table.to_pylist()[0]["words"] == "1E+2"


def test_aliases_are_folded_into_their_type(tmp_path: Path) -> None:
    """Old spellings land in the output of the class."""
    table = Table("t")

    class Paper(Entity, table=table, pk="P#{id}", sk="META", aliases=("Doc", "paper_v1")):
        id: Field[str]

    write_export(tmp_path / "in", [[item("Doc"), item("Paper"), item("paper_v1")]])

    assert split(tmp_path / "in", tmp_path / "out", app=table).outputs["Paper"].rows == 3


def test_a_file_that_does_not_hold_what_its_manifest_says_is_an_error(tmp_path: Path) -> None:
    """R53: a count that differs names the file, and no output is written."""
    folder = write_export(tmp_path / "in", [[item("Document")]], summary={"itemCount": 2})
    manifest = folder / "manifest-files.json"
    manifest.write_text(manifest.read_text().replace('"itemCount": 1', '"itemCount": 2'))

    with pytest.raises(ExportError, match=r"00000\.json\.gz holds 1 rows, and its manifest says 2"):
        split(tmp_path / "in", tmp_path / "out", app=app)

    assert list((tmp_path / "out").glob("*.jsonl")) == []


def test_an_interrupted_split_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Files with a record are not read again; the result is that of one run."""
    write_export(tmp_path / "in", [[item("Document", n)] for n in range(4)])

    def stop(done: int, of: int, rows: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        split(tmp_path / "in", tmp_path / "out", app=app, processes=1, progress=stop)
    report = split(tmp_path / "in", tmp_path / "out", app=app, processes=1)

    assert report.resumed == 2
    assert [row["Item"]["SK"]["S"] for row in lines(tmp_path / "out" / "Document.jsonl")] == [
        f"X#{n}" for n in range(4)
    ]


def test_a_split_of_another_export_does_not_go_on_with_the_parts_of_the_first(tmp_path: Path) -> None:
    """Parts of two exports are never mixed."""
    write_export(tmp_path / "a", [[item("Document")], [item("Document")]])
    write_export(tmp_path / "b", [[item("Comment")]])

    def stop(done: int, of: int, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        split(tmp_path / "a", tmp_path / "out", app=app, processes=1, progress=stop)
    with pytest.raises(ExportError, match="unfinished split of another export"):
        split(tmp_path / "b", tmp_path / "out", app=app)


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".", "nul", "", "x" * 500, "\0", "Ä", "a\nb", "%2F"])
def test_no_type_leads_out_of_the_output_folder(tmp_path: Path, name: str) -> None:
    """R53: whatever a type is called, its output lies in the folder."""
    write_export(tmp_path / "in", [[item(name)]])

    report = split(tmp_path / "in", tmp_path / "out", app=app)

    (output,) = report.outputs.values()
    assert output.path.parent == tmp_path / "out"
    assert [path.name for path in tmp_path.iterdir()] == ["in", "out"] or len(list(tmp_path.iterdir())) == 2


def test_two_types_have_two_file_names() -> None:
    """Encoding is injective for names of usual length."""
    names = ["a/b", "a%2Fb", "a_b", "a-b", "a.b", "A", "a", "..", "%2E%2E"]

    assert len({safe_name(name) for name in names}) == len(names)


def test_an_incremental_export_is_split_by_the_image_that_there_is(tmp_path: Path) -> None:
    """A deletion goes with the type of its old image; a change without images is untyped."""
    key = {"PK": {"S": "a"}, "SK": {"S": "b"}}
    changes = [
        {"Metadata": {}, "Keys": key, "NewImage": item("Document")},
        {"Metadata": {}, "Keys": key, "OldImage": item("Comment")},
        {"Metadata": {}, "Keys": key},
    ]
    write_export(tmp_path / "in", [changes], summary={"exportType": "INCREMENTAL_EXPORT"}, wrap=False)

    report = split(tmp_path / "in", tmp_path / "out", app=app, format="json")

    assert set(report.outputs) == {"Document", "Comment", "_untyped"}
    assert lines(tmp_path / "out" / "Comment.json")[0]["new"] is None
    with pytest.raises(ExportError, match="incremental"):
        split(tmp_path / "in", tmp_path / "out", app=app, format="csv")


def test_a_row_of_nearly_400_kb_is_one_row(tmp_path: Path) -> None:
    """R53: a long line is read whole."""
    row = {**item("Document"), "title": {"S": "x" * 390_000}}
    write_export(tmp_path / "in", [[row]])

    assert split(tmp_path / "in", tmp_path / "out", app=app).outputs["Document"].bytes > 390_000
