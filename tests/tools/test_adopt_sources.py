"""Where rows and definitions come from."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tablekit import GlobalIndex, LocalIndex, QueryError, Table
from tablekit.tools.adopt import adopt
from tablekit.tools.adopt_check import loaded
from tablekit.tools.adopt_sources import read_source
from tablekit.tools.adopt_tables import AdoptError, read_definitions
from tablekit.tools.doctor import doctor
from tablekit.tools.schema import schema_text
from tablekit.tools.workbench import read_workbench, workbench_model, write_workbench
from tests.support.exports import write_export
from tests.support.models import Document, Workspace
from tests.support.models import app as workspace_app
from tests.support.rows import store
from tests.support.tables import Connect

PLAIN = {"PK": "A#1", "SK": "M", "n": 1.5}
WIRE = {"PK": {"S": "A#1"}, "SK": {"S": "M"}, "n": {"N": "1.5"}}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([PLAIN]),
        json.dumps(PLAIN) + "\n" + json.dumps({**PLAIN, "SK": "N"}),
        json.dumps({"Items": [WIRE], "Count": 1}),
        json.dumps({"shop": [{"PutRequest": {"Item": WIRE}}]}),
        json.dumps({"RequestItems": {"shop": [{"PutRequest": {"Item": WIRE}}]}}),
        "\ufeff" + json.dumps({"Item": WIRE}),
        json.dumps([{"Put": {"Item": WIRE, "TableName": "shop"}}]),
    ],
)
def test_a_file_of_rows_is_read_in_every_form(tmp_path: Path, text: str) -> None:
    """Plain or DynamoDB JSON; a list, lines, and the bodies of requests."""
    (tmp_path / "shop.json").write_text(text, encoding="utf-8")

    (table,) = read_source(tmp_path / "shop.json")

    assert (table.name, table.key_names, table.rows[0]) == ("shop", ("PK", "SK"), WIRE)


def test_lines_are_held_as_far_as_they_are_looked_at(tmp_path: Path) -> None:
    """Forty megabytes of rows, a sample of a hundred: what is held is bounded by the sample, and the module says so."""
    file = tmp_path / "shop.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(
            json.dumps({"PK": f"U#{number}", "SK": "META", "text": "x" * 350}) + "\n" for number in range(100_000)
        )
    tracemalloc.start()
    try:
        found = adopt(file, limit=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found.tables[0].read == {"U": 100}
    assert "Only the first 100 rows were looked at." in found.source
    assert peak < 12_000_000


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    """With its number; a line after those that are looked at is not read."""
    file = tmp_path / "shop.jsonl"
    file.write_text(f"{json.dumps(PLAIN)}\n\n{{cut", encoding="utf-8")

    with pytest.raises(AdoptError, match="line 3 is no JSON"):
        adopt(file)
    assert adopt(file, limit=1).complete


def test_an_export_is_read_through_its_manifest(tmp_path: Path) -> None:
    """Its rows, and the key from their names."""
    write_export(tmp_path, [[WIRE]])

    assert adopt(tmp_path).tables[0].read == {"A": 1}


def test_a_key_that_rows_leave_open_is_asked_for(tmp_path: Path) -> None:
    """Two attributes tell the rows apart: which is the key is not guessed."""
    file = tmp_path / "shop.json"
    file.write_text(json.dumps([{"x": "1", "y": "a"}, {"x": "2", "y": "b"}]), encoding="utf-8")
    with pytest.raises(AdoptError, match=r"'x', 'y' tells the rows apart.*--keys"):
        read_source(file)
    assert read_source(file, keys=["y"])[0].key_names == ("y",)


defined = Table(
    "shop",
    pk="p",
    sk="s",
    key_types={"s": "N", "when": "N"},
    indexes=[
        GlobalIndex("by_a", pk="a", sk="when", projection="ALL"),
        GlobalIndex("many", pk=("a", "b"), sk=("c", "s"), projection=["x"]),
        GlobalIndex("turned", pk="s", sk="p"),
        LocalIndex("late", sk="when"),
    ],
)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("create-table", "shop.json"), ("cloudformation", "stack.json"), ("terraform", "main.tf")],
)
def test_a_definition_is_read_back(tmp_path: Path, kind: Any, name: str) -> None:
    """What `tablekit schema` writes is the table again: keys, types, indexes, projections."""
    (tmp_path / name).write_text(schema_text(defined, "shop", kind), encoding="utf-8")

    (found,) = read_definitions(tmp_path / name)
    table = found.as_table()

    assert (table.name, table.pk, table.sk, table.key_type("s"), table.key_type("when")) == ("shop", "p", "s", "N", "N")
    assert {n: (i.pk, i.sk) for n, i in table.indexes.items()} == {n: (i.pk, i.sk) for n, i in defined.indexes.items()}
    assert set(table.indexes["many"].projection) == {"x", "EntityType"}


def test_terraform_is_read_among_other_things(tmp_path: Path) -> None:
    """Comments, functions, other resources and a name that is an expression."""
    (tmp_path / "main.tf").write_text(
        """
        # hash_key = "no"
        resource "aws_s3_bucket" "b" { bucket = "x" }
        resource "aws_dynamodb_table" "orders" {
          name     = var.name   /* an expression */
          hash_key = "id"
          tags     = merge(local.tags, { hash_key = "no" })
          attribute { name = "id" type = "B" }
          ttl {
            attribute_name = "gone"
            enabled = true
          }
        }
        """,
        encoding="utf-8",
    )

    (found,) = read_definitions(tmp_path / "main.tf")

    assert (found.name, found.pk, found.sk, found.key_types, found.ttl) == ("var.name", "id", None, {"id": "B"}, "gone")


@pytest.mark.parametrize("text", ["{", '{"KeySchema": [{"AttributeName": "a"}]}', "{}"])
def test_what_defines_no_table_is_told(tmp_path: Path, text: str) -> None:
    """A file that is no JSON, half a definition, and none."""
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(AdoptError):
        read_definitions(tmp_path / "x.json")


def test_a_workbench_model_of_classes_is_read_back(tmp_path: Path) -> None:
    """Keys, indexes and rows come back; each entity has a facet."""
    rows = [
        Workspace(workspace_id="a", name="A").to_item(),
        Document(workspace_id="a", doc_id="1", title="T").to_item(),
    ]
    path = write_workbench(workspace_app, tmp_path / "model.json", rows)

    (found,) = read_workbench(path)

    assert (found.key_names, list(found.rows)) == (("PK", "SK"), rows)
    assert [index.name for index in found.indexes] == [n for n, i in workspace_app.indexes.items() if not i.local]
    model = json.loads(path.read_text(encoding="utf-8"))
    assert "Document" in [facet["FacetName"] for facet in model["DataModel"][0]["TableFacets"]]
    assert adopt(path).complete


def test_values_without_wire_types_are_repaired_when_asked(tmp_path: Path) -> None:
    """Workbench writes plain values into maps; each such row is reported, or mended and counted."""
    model = workbench_model(Table("shop"), [])
    broken = {"PK": {"S": "A#1"}, "SK": {"S": "M"}, "m": {"M": {"on": True, "deep": {"M": {"HP": {"N": "5"}}}}}}
    model["DataModel"][0]["TableData"] = [{**broken, "SK": {"S": "N"}, "m": {"M": {"M": {"HP": {"N": "5"}}}}}, broken]

    assert len(read_workbench(model)[0].bad) == 2
    (mended,) = read_workbench(model, repair=True)
    assert not mended.bad
    assert mended.rows[1]["m"] == {"M": {"on": {"BOOL": True}, "deep": {"M": {"HP": {"N": "5"}}}}}
    assert mended.notes == ("2 rows with values without wire types inside maps or lists; repaired",)


def test_a_live_table_is_sampled_and_its_classes_are_healthy(connect_full: Connect) -> None:
    """Keys and indexes come from the table; the doctor finds nothing in rows that are told by their keys."""
    physical = connect_full(Table("shop", indexes=[GlobalIndex("GSI1", pk="mail")]))
    for number in range(12):
        store(physical, {"PK": {"S": f"U#{number}"}, "SK": {"S": "META"}, "mail": {"S": f"m{number}"}})

    found = adopt(physical)
    with loaded(found.source) as module:
        app = module.app.connect(port=physical.binding.port, name=physical.name)

        assert found.complete
        assert sorted(user.mail for user in module.U.scan()) == sorted(f"m{number}" for number in range(12))
        assert doctor(app).healthy


@pytest.mark.filterwarnings("error")
def test_an_index_of_others_without_the_type_is_declared_as_it_is(connect_full: Connect) -> None:
    """Nothing of its rows is lost unseen: a query of it says what to do, and the doctor has nothing against it."""
    indexes = [
        GlobalIndex("by_mail", pk="mail", projection=["name"], projects_type=False),
        GlobalIndex("by_name", pk="name", projection="KEYS_ONLY", projects_type=False),
    ]
    physical = connect_full(Table("shop", type_attribute="kind", indexes=indexes))
    for number in range(12):
        row = {"PK": f"U#{number}", "SK": "META", "kind": "user", "mail": f"m{number}", "name": f"n{number}"}
        store(physical, {name: {"S": text} for name, text in row.items()})

    found = adopt(physical)
    with loaded(found.source) as module:
        app = module.app.connect(port=physical.binding.port, name=physical.name)
        mine = module.User.by_mail.query(mail="m3")

        with pytest.raises(QueryError, match="does not project kind"):
            mine.untyped("skip").all()
        assert [user.name for user in mine.hydrate()] == ["n3"]
        assert doctor(app).healthy
