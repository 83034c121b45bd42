"""The folders that DynamoDB's import from S3 takes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tablekit import Entity, Field, GlobalIndex, LocalIndex, Table, index_key
from tablekit.tools import import_ready
from tablekit.tools.split import split
from tests.support.engines import Engine
from tests.support.exports import write_export
from tests.support.models import app


def row(type: str, number: int) -> dict[str, Any]:
    """A row of a type."""
    return {"PK": {"S": "WS#a"}, "SK": {"S": f"X#{number}"}, "EntityType": {"S": type}, "words": {"N": "1E+2"}}


def request_of(folder: Path) -> dict[str, Any]:
    """The request that a split put beside the objects."""
    found: dict[str, Any] = json.loads((folder / "import-table.json").read_text())
    return found


def test_the_objects_hold_the_lines_of_the_export_and_nothing_else_lies_beside_them(tmp_path: Path) -> None:
    """R52: the import takes every object under its prefix, each line an item in DynamoDB JSON."""
    write_export(tmp_path / "in", [[row("Document", 1)], [row("Comment", 1), row("Document", 2)]])

    report = split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready")

    (found,) = (report.outputs["Document"].path / "data").iterdir()
    lines = gzip.decompress(found.read_bytes()).splitlines()
    assert [json.loads(line) for line in lines] == [{"Item": row("Document", 1)}, {"Item": row("Document", 2)}]


def test_the_request_is_one_that_botocore_takes(tmp_path: Path, ministack: Engine) -> None:
    """ImportTable's own shape, without a call."""
    write_export(tmp_path / "in", [[row("Document", 1)]])
    folder = split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready").outputs["Document"].path
    client = ministack.client()
    seen: list[Any] = []
    # Answered before it is sent: no engine here has an import.
    client.meta.events.register(
        "before-call.dynamodb.ImportTable", lambda params, **_: seen.append(params) or (_Answer(), {})
    )

    client.import_table(**request_of(folder))

    body = json.loads(seen[0]["body"])
    assert (body["InputFormat"], body["InputCompressionType"]) == ("DYNAMODB_JSON", "GZIP")
    assert body["S3BucketSource"]["S3KeyPrefix"].endswith("/Document/data/")


class _Answer:
    status_code = 200


def test_the_table_of_the_request_can_be_created(tmp_path: Path, ministack: Engine) -> None:
    """Its key and the indexes that the type stands in, and no attribute that no key has."""
    write_export(tmp_path / "in", [[row("Document", 1), row("Comment", 1)]])
    outputs = split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready").outputs

    document = request_of(outputs["Document"].path)["TableCreationParameters"]
    comment = request_of(outputs["Comment"].path)["TableCreationParameters"]

    assert [each["IndexName"] for each in document["GlobalSecondaryIndexes"]] == ["GSI1"]
    assert "GlobalSecondaryIndexes" not in comment
    for body in (document, comment):
        ministack.client().create_table(**body)
        ministack.client().delete_table(TableName=body["TableName"])


def test_local_indexes_are_left_out(tmp_path: Path) -> None:
    """An import cannot make them."""
    table = Table("shop", indexes=[LocalIndex("ByTotal", sk="total_key"), GlobalIndex("GSI1", pk="GPK", sk="GSK")])

    class Order(Entity, table=table, pk="O#{id}", sk="META"):
        id: Field[str]
        total: Field[str]
        by_total = index_key("ByTotal", sk="{total}")

    write_export(tmp_path / "in", [[row("Order", 1)]])

    folder = split(tmp_path / "in", tmp_path / "out", app=table, format="import-ready").outputs["Order"].path

    body = request_of(folder)["TableCreationParameters"]
    assert "LocalSecondaryIndexes" not in body
    assert {each["AttributeName"] for each in body["AttributeDefinitions"]} == {"PK", "SK"}


def test_a_large_output_is_several_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are imported side by side; the rows keep their order."""
    monkeypatch.setattr(import_ready, "OBJECT_BYTES", 250)
    write_export(tmp_path / "in", [[row("Document", n)] for n in range(5)])

    folder = split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready", processes=1).outputs["Document"]

    objects = sorted((folder.path / "data").iterdir())
    lines = [line for path in objects for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert len(objects) == 3
    assert [json.loads(line)["Item"]["SK"]["S"] for line in lines] == [f"X#{n}" for n in range(5)]


def test_the_folder_of_an_earlier_split_is_replaced(tmp_path: Path) -> None:
    """As a file would be."""
    write_export(tmp_path / "in", [[row("Document", 1)]])
    first = split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready").outputs["Document"].path
    (first / "data" / "left.json.gz").touch()

    split(tmp_path / "in", tmp_path / "out", app=app, format="import-ready")

    assert [path.name for path in (first / "data").iterdir()] == ["00000.json.gz"]
