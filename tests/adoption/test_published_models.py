"""`adopt` on every published model: rows, those read back, those with a type, those that are reported.

The models lie where ``TABLEKIT_PUBLISHED_DATA`` says, outside of the repository; ``.ci/run`` says it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tablekit.tools.adopt import adopt
from tablekit.tools.adopt_check import loaded, read_back
from tablekit.tools.adopt_sources import read_source
from tablekit.tools.adopt_tables import read_definitions
from tablekit.tools.workbench import read_workbench, write_workbench
from tests.support.published import FOLDER, MODELS, model, needs_models

# Source, rows, read back, with a stored type, reported as no rows; then read and reported with repair=True.
TABLE = [
    ("acl/ACL.json", 5, 5, 5, 0, 5, 0),
    ("bank-payments/BankModel.json", 6, 6, 0, 0, 6, 0),
    ("battle-royale/items.json", 835, 835, 0, 0, 835, 0),
    ("bcgov-attendance-revenue/data_model.json", 18, 17, 0, 1, 18, 0),
    ("chat-sample/amazon_dynamodb_chat_sample.json", 3, 2, 0, 1, 2, 1),
    ("chat-system/ChatSystemSchema.json", 8, 8, 0, 0, 8, 0),
    ("connected-vehicles/ConnectedVehiclesSchema.json", 12, 4, 0, 8, 12, 0),
    ("device-state-log/DeviceStateLog_3.json", 11, 11, 0, 0, 11, 0),
    ("device-state-log/DeviceStateLog_7.json", 11, 11, 0, 0, 11, 0),
    ("game-player-profiles/GamePlayerProfilesSchema.json", 14, 2, 2, 12, 14, 0),
    ("global-serverless/sample-data.json", 13, 13, 0, 0, 13, 0),
    ("hospital/Hospital.json", 8, 8, 8, 0, 8, 0),
    ("hospital/OneTable.json", 8, 5, 5, 3, 5, 3),
    ("hotel-reservations/Hotel Reservations.json", 5, 5, 5, 0, 5, 0),
    ("phone-billing/Phone Billing.json", 7, 7, 7, 0, 7, 0),
    ("planet-games/Twitch - Games.json", 21, 21, 0, 0, 21, 0),
    ("plutomi-older/NoSQLWorkbench.json", 46, 46, 46, 0, 46, 0),
    ("plutomi/NoSQLWorkbench.json", 17, 17, 15, 0, 17, 0),
    ("product-catalog/ProductCatalog.json", 8, 8, 0, 0, 8, 0),
    ("product-totals/Twitch Episode 2.json", 16, 16, 0, 0, 16, 0),
    ("reports-denormalised/reports_data_exploration.json", 20, 20, 0, 0, 20, 0),
    ("reports-denormalised/reports_final.json", 30, 30, 0, 0, 30, 0),
    ("reports-denormalised/final_model.json", 1000, 1000, 0, 0, 1000, 0),
    ("s3-export", 3, 3, 0, 0, 3, 0),
    ("social-network/SocialNetworkSchema.json", 17, 17, 0, 0, 17, 0),
]
PATHS = [entry[0] for entry in TABLE]
each_model = pytest.mark.parametrize("path", PATHS)


def test_a_folder_that_is_named_holds_models():
    """A variable that points to nowhere is no reason to test nothing."""
    if "TABLEKIT_PUBLISHED_DATA" in os.environ and (FOLDER or os.environ.get("CI")):
        assert MODELS is not None, "TABLEKIT_PUBLISHED_DATA is set and empty"
        assert sorted(MODELS.glob("*/*.json")), "TABLEKIT_PUBLISHED_DATA names a folder without models"


@needs_models()
def test_every_model_with_rows_is_in_the_table():
    """No published model is left out: only the folder of bare definitions has no rows."""
    assert MODELS is not None
    folders = {path.name for path in MODELS.iterdir()} - {"electrodb-table-definitions"}
    assert {path.partition("/")[0] for path in PATHS} == folders


@needs_models()
@pytest.mark.parametrize(("path", "rows", "read", "typed", "reported", "mended", "still"), TABLE, ids=PATHS)
def test_each_row_is_read_or_named(path, rows, read, typed, reported, mended, still):
    """What is read and what is reported add up to the rows there are, with repair and without."""
    for repair, expected in ((False, (rows, read, typed, 0, reported)), (True, (rows, mended, None, 0, still))):
        tables = adopt(model(path), repair=repair).tables
        found = (
            sum(table.rows for table in tables),
            sum(sum(table.read.values()) for table in tables),
            sum(table.typed for table in tables) if expected[2] is not None else None,
            sum(len(table.unread) for table in tables),
            sum(len(table.bad) for table in tables),
        )
        assert found == expected
        assert all(row.key and row.reason for table in tables for row in table.bad)


@needs_models()
@each_model
def test_a_put_of_what_was_read_writes_the_row_as_it_was(path):
    """Decoding loses nothing: an entity's item holds each attribute of its row, equal on the wire."""
    tables = adopt(model(path), repair=True).tables
    changed = {name: dict(each) for table in tables for name, each in table.changed.items()}
    # The one attribute that is NULL in every row that has it: a put leaves it out.
    assert changed == ({"S3Export": {"b": 1}} if path == "s3-export" else {})


@needs_models()
@each_model
def test_the_module_is_what_was_checked(path):
    """The text itself, loaded anew, reads every row that the report counts as read."""
    found = adopt(model(path))
    tables = read_source(model(path))
    with loaded(found.source) as module:
        for result, table in zip(found.tables, tables):
            verdicts = read_back(getattr(module, result.variable), table.rows)
            assert sum(verdict.entity is not None for verdict in verdicts) == sum(result.read.values())


OTHERS = {
    "battle-royale/items.json",
    "product-catalog/ProductCatalog.json",
    "global-serverless/sample-data.json",
    "hospital/OneTable.json",
    "reports-denormalised/final_model.json",
    "s3-export",
}


@needs_models()
@pytest.mark.parametrize("path", [path for path in PATHS if path not in OTHERS])
def test_a_workbench_model_goes_to_classes_and_back(path, tmp_path):
    """Name, key, key types, indexes, projections and rows: what the classes write as a model is the model again."""
    found = adopt(model(path), repair=True)
    tables = read_workbench(model(path), repair=True)
    assert len(tables) == len(found.tables)
    with loaded(found.source) as module:
        for result, table in zip(found.tables, tables):
            written = write_workbench(getattr(module, result.variable), tmp_path / "model.json", table.rows)
            (again,) = read_workbench(written)
            assert (again.name, again.pk, again.sk) == (result.name, table.pk, table.sk)
            assert shape(again) == shape(table)
            assert again.rows == table.rows
            assert sum(adopt(written).tables[0].read.values()) == sum(result.read.values())


@needs_models()
def test_what_goes_not_back_is_no_workbench_model():
    """Rows, a OneTable schema and an export: every file that is a model takes part in the test above."""
    for path in OTHERS - {"s3-export"}:
        first, _, rest = model(path).read_text(encoding="utf-8-sig").partition("\n")
        assert '"DataModel"' not in first + rest, path


def shape(table):
    """Indexes and key types of a table; an INCLUDE projection also holds the type, which the classes need."""
    keys = {*table.key_names, *(name for index in table.indexes for name in index.keys)}
    return (
        {name: table.key_types.get(name, "S") for name in keys},
        {
            index.name: (index.pk, index.sk, index.projection if isinstance(index.projection, str) else "INCLUDE")
            for index in table.indexes
        },
    )


@needs_models()
def test_the_modules_pass_mypy_in_strict_mode(tmp_path):
    """Every written module is clean for a type checker, all of them in one run."""
    for number, path in enumerate(PATHS):
        (tmp_path / f"models_{number}.py").write_text(adopt(model(path), repair=True).source, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-version=3.10", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_models()
def test_definitions_of_tables_become_tables():
    """CreateTable bodies with every kind of key and index, and a CloudFormation template, make a `Table` each."""
    assert MODELS is not None
    files = [*sorted((MODELS / "electrodb-table-definitions").glob("*.json"))]
    files.append(model("bcgov-attendance-revenue/cloudformation_template.json"))
    tables = [table for file in files for table in read_definitions(file)]
    assert len(tables) == 16
    for table in tables:
        with loaded(adopt(next(file for file in files if file.name == table.origin)).source) as module:
            assert set(module.app.indexes) == {index.name for index in table.indexes}
            assert {name: module.app.key_type(name) for name in table.key_types} == dict(table.key_types)
