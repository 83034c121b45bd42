"""The commands that look: browse, explain, cost, flags."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from tablekit import Entity, Field, Table
from tablekit.cli import main
from tablekit.tools.browse import browse, browse_row
from tests.support.engines import Engine
from tests.support.flag_models import Account, AppFlags
from tests.support.flag_models import app as flags_app
from tests.support.models import Comment, Document, Workspace
from tests.support.reading import Book, shelf
from tests.support.tables import Connect

Run = Callable[..., Result]

inferring = Table("notes", untyped="infer")


class Note(Entity, table=inferring, pk="N#{number}", sk="META"):
    """A row whose key tells its type."""

    number: Field[str]


@pytest.fixture
def tablekit() -> Run:
    """Runs a command on the workspace app in this process."""
    return lambda *arguments: CliRunner().invoke(main, ["--app", "tests.support.models:app", *arguments])


@pytest.fixture
def flags(connect_full: Connect) -> Run:
    """Runs a command on the app with the singleton."""
    connect_full(flags_app)
    AppFlags.invalidate()
    return lambda *arguments: CliRunner().invoke(main, ["--app", "tests.support.flag_models:app", *arguments])


def fill() -> None:
    """A workspace, a document and two comments."""
    Workspace(workspace_id="acme", name="Acme").create()
    Document(workspace_id="acme", doc_id="d1", title="Spec").create()
    for number in range(2):
        Comment(workspace_id="acme", doc_id="d1", comment_id=f"c{number}", body="x").create()


def test_browse_lines_rows_up_under_their_type(full_app: Table, tablekit: Run) -> None:
    """The Type column comes first, and the request and its units are on the error stream."""
    fill()

    result = tablekit("browse", "--pk", "WS#acme")

    assert result.exit_code == 0, result.output
    types = [line.split()[0] for line in result.stdout.splitlines()[2:]]
    assert types == ["Document", "Comment", "Comment", "Workspace"]
    assert "4 rows read" in result.stderr


def test_browse_shows_rows_that_no_class_knows_as_such(full_app: Table, ministack: Engine, tablekit: Run) -> None:
    """Unknown and untyped rows are marked, not dropped."""
    client = ministack.client()
    for sk, extra in (("A", {"EntityType": {"S": "Invoice"}}), ("B", {})):
        client.put_item(TableName=full_app.name, Item={"PK": {"S": "WS#acme"}, "SK": {"S": sk}, **extra})

    rows = json.loads(tablekit("--format", "json", "browse", "--pk", "WS#acme").stdout)

    assert [row["Type"] for row in rows] == ["Invoice (unknown)", "(untyped)"]


def test_browse_never_scans_unasked(full_app: Table, tablekit: Run) -> None:
    """Without a partition it is a usage error; with --scan it says so."""
    fill()

    assert tablekit("browse").exit_code == 2
    assert "Scan: 4 rows read" in tablekit("browse", "--scan").stderr


def test_browse_pages_with_the_cursor_that_it_prints(full_app: Table, tablekit: Run) -> None:
    """Two pages make the whole."""
    fill()
    first = tablekit("--format", "json", "browse", "--pk", "WS#acme", "--limit", "3")
    cursor = first.stderr.split("--cursor ")[1].strip()

    second = tablekit("--format", "json", "browse", "--pk", "WS#acme", "--limit", "3", "--cursor", cursor)

    assert len(json.loads(first.stdout)) + len(json.loads(second.stdout)) == 4


def test_browse_narrows_to_a_type(full_app: Table, tablekit: Run) -> None:
    """--type asks for one class."""
    fill()

    rows = json.loads(tablekit("--format", "json", "browse", "--pk", "WS#acme", "--type", "Document").stdout)

    assert [row["Type"] for row in rows] == ["Document"]


def test_browse_of_a_type_shows_untyped_and_unreadable_rows_as_such(
    full_app: Table, ministack: Engine, tablekit: Run
) -> None:
    """One bad row does not hide the others from who looks for it."""
    fill()
    client = ministack.client()
    for name, extra in (("d2", {}), ("d3", {"EntityType": {"S": "Document"}, "title": {"N": "1"}})):
        key = {"PK": {"S": "WS#acme"}, "SK": {"S": f"DOC#{name}"}}
        client.put_item(TableName=full_app.name, Item={**key, **extra})

    rows = json.loads(tablekit("--format", "json", "browse", "--pk", "WS#acme", "--type", "Document").stdout)

    assert [row["Type"] for row in rows] == ["Document", "(untyped)", "Document"]
    assert rows[2]["title"] == {"N": "1"}


def test_browse_shows_an_untyped_row_as_such_where_the_table_infers(connect_full: Connect, ministack: Engine) -> None:
    """What the row holds is shown, and not what a policy makes of it."""
    inferred = connect_full(inferring)
    key = {"PK": {"S": "N#1"}, "SK": {"S": "META"}}
    ministack.client().put_item(TableName=inferred.name, Item=key)

    assert [row.label for row in browse(inferred, pk="N#1").rows] == ["(untyped)"]
    row = browse_row(inferred, pk="N#1", sk="META")
    assert row is not None
    assert row.label == "(untyped)"


def test_one_row_is_shown_with_all_that_it_holds(full_app: Table, ministack: Engine, tablekit: Run) -> None:
    """Index keys and attributes that the class does not declare, and the request with its capacity."""
    fill()
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#d1"}}
    ministack.client().update_item(
        TableName=full_app.name,
        Key=key,
        UpdateExpression="SET legacy = :x, GSI1PK = :stale",
        ExpressionAttributeValues={":x": {"S": "old"}, ":stale": {"S": "WS#other"}},
    )

    result = tablekit("--format", "json", "browse", "--pk", "WS#acme", "--sk", "DOC#d1")
    (row,) = json.loads(result.stdout)

    assert (row["Type"], row["title"], row["legacy"], row["GSI1PK"]) == (
        "Document", "Spec", {"S": "old"}, {"S": "WS#other"},
    )  # fmt: skip
    assert "GetItem, strongly consistent" in result.stderr
    assert "1 units" in result.stderr
    assert '"legacy"' in tablekit("--format", "json", "browse", "--pk", "WS#acme").stdout


def test_browse_reads_the_full_rows_of_an_index_that_holds_no_type(connect_full: Connect) -> None:
    """The request says so."""
    connect_full(shelf)
    Book(shelf_id="s", book_id="1", title="One").create()

    page = browse(shelf, index="KEYS", scan=True)

    assert [(row.label, row.values["title"]) for row in page.rows] == [("Book", "One")]
    assert "BatchGetItem" in page.request


def test_browse_masks_secrets(flags: Run) -> None:
    """A secret field's value is nowhere in the output."""
    Account(account_id="a1", password="hunter2").create()

    result = flags("browse", "--pk", "A#a1", "--full")

    assert "***" in result.stdout
    assert "hunter2" not in result.output


def test_explain_shows_the_request_and_sends_nothing(tablekit: Run) -> None:
    """Text, AWS CLI and boto3 forms, and an estimate."""
    result = tablekit("explain", "Document", "workspace_id=acme", "--items", "100", "--item-bytes", "2048")

    assert result.exit_code == 0, result.output
    assert "KeyConditionExpression" in result.stdout
    command = tablekit("explain", "Document", "workspace_id=acme", "--as", "cli").stdout
    assert command.startswith("aws dynamodb query")


def test_cost_compares_the_ways_to_the_same_rows(tablekit: Run) -> None:
    """A filter reads all rows; a sparse index only those that are wanted."""
    arguments = ["--items", "100", "--item-bytes", "2000", "--matching", "0.3", "--reads", "10"]

    result = tablekit("--format", "json", "cost", *arguments)

    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)) > 1
    assert "us-east-1 as of" in result.stderr


def test_flags_lists_values_with_their_source(flags: Run) -> None:
    """Before the row exists every value is the default."""
    rows = json.loads(flags("--format", "json", "flags").stdout)

    assert {row["source"] for row in rows} == {"default"}
    assert [row["value"] for row in rows if row["name"] == "token"] == ["***"]


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ("signup_enabled=true", "signup_enabled", True),
        ("limit=25", "limit", 25),
        ("mode=open", "mode", "open"),
        ('names=["a"]', "names", ["a"]),
    ],
)
def test_flags_set_reads_the_value_by_the_fields_type(flags: Run, change: str, field: str, value: object) -> None:
    """Old and new are shown, and the row has the new one."""
    result = flags("--format", "json", "flags", "set", "AppFlags", change)

    assert result.exit_code == 0, result.output
    assert [row["value"] for row in json.loads(flags("--format", "json", "flags").stdout) if row["name"] == field] == [
        value
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("AppFlag", "limit=1"), "Did you mean 'AppFlags'?"),
        (("AppFlags", "limits=1"), "Did you mean 'limit'?"),
        (("AppFlags", "limit=x"), "takes int"),
        (("AppFlags", "mode=ajar"), "'open' or 'closed'"),
        (("AppFlags", "signup_enabled=perhaps"), "true or false"),
        (("AppFlags", "limit"), "is not field=value"),
    ],
)
def test_flags_set_says_what_is_accepted(flags: Run, arguments: tuple[str, str], message: str) -> None:
    """A wrong name or value changes nothing and is told."""
    result = flags("flags", "set", *arguments)

    assert result.exit_code == 2
    assert message in result.stderr


def test_browse_shows_what_is_stored(full_app: Table, tablekit: Run) -> None:
    """An enum's text, a number, a time in ISO form, and a set as a list; not what Python makes of them."""
    made = Document(workspace_id="acme", doc_id="d1", title="Spec", tags={"b", "a"}, words=3).create()
    stored = made.to_item()

    (row,) = json.loads(tablekit("--format", "json", "browse", "--pk", "WS#acme").stdout)

    assert (row["status"], row["words"], row["tags"]) == ("draft", 3, ["a", "b"])
    assert row["updated_at"] == stored["updated_at"]["S"]
