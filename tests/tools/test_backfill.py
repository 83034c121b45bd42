"""Stamping types and index keys onto rows that lack them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import backfill_run
from tablekit import Entity, Field, RequestError, Table, TablekitError
from tablekit.tools.backfill import backfill
from tablekit.tools.scanning import parse_segments
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Member, Workspace
from tests.support.stub import StubTransport, error, ok


def old_row(app: Table, engine: Engine, sk: str, **attributes: Any) -> None:
    """Write a row as it was before there were types."""
    plain = {name: {"S": value} for name, value in attributes.items()}
    engine.client().put_item(TableName=app.name, Item={"PK": {"S": "WS#acme"}, "SK": {"S": sk}, **plain})


def stored(app: Table, engine: Engine, sk: str) -> dict[str, Any]:
    """A row as it is stored; empty when there is none."""
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": sk}}
    found: dict[str, Any] = engine.client().get_item(TableName=app.name, Key=key, ConsistentRead=True).get("Item", {})
    return found


def stamp(app: Table, **options: Any) -> Any:
    """A backfill of a table without point-in-time recovery."""
    return backfill(app, require_recovery=False, **options)


def test_untyped_rows_get_the_type_that_their_key_spells(app: Table, engine: Engine) -> None:
    """A comment, a document and a member are told by their sort keys; nothing else of the rows changes."""
    old_row(app, engine, "DOC#1", workspace_id="acme", doc_id="1", title="old", extra="kept")
    old_row(app, engine, "DOC#1#CMT#7", workspace_id="acme", doc_id="1", comment_id="7", body="x")
    old_row(app, engine, "MEMBER#a@b", workspace_id="acme", email="a@b")

    report = stamp(app)

    assert dict(report.by_type) == {"Document": 1, "Comment": 1, "Member": 1}
    assert Member.get(workspace_id="acme", email="a@b") is not None
    assert Comment.get(workspace_id="acme", doc_id="1", comment_id="7") is not None
    assert stored(app, engine, "DOC#1")["extra"] == {"S": "kept"}


def renamed(app: Table) -> Table:
    """A table object whose class Paper was called Document before."""
    table = Table(app.name)

    class Paper(Entity, table=table, pk="WS#{workspace_id}", sk="DOC#{doc_id}", aliases=("Document",)):
        workspace_id: Field[str]
        doc_id: Field[str]

    return table


def test_aliases_become_the_type_when_asked_for(app: Table, engine: Engine) -> None:
    """A row with the old spelling gets the new one, once, and keeps the rest."""
    old_row(app, engine, "DOC#1", workspace_id="acme", doc_id="1", title="old", EntityType="Document")
    paper = renamed(app).connect(name=app.name, **engine.connect_options())

    assert (stamp(paper).typed, stamp(paper, aliases=True).typed, stamp(paper, aliases=True).typed) == (0, 1, 0)
    assert stored(app, engine, "DOC#1") | {"title": {"S": "old"}, "EntityType": {"S": "Paper"}} == stored(
        app, engine, "DOC#1"
    )


def test_a_second_run_changes_nothing(app: Table, engine: Engine) -> None:
    """The backfill is idempotent."""
    old_row(app, engine, "MEMBER#a@b", workspace_id="acme", email="a@b")
    stamp(app)
    before = stored(app, engine, "MEMBER#a@b")

    report = stamp(app)

    assert (report.typed, report.scanned) == (0, 1)
    assert stored(app, engine, "MEMBER#a@b") == before


def test_a_row_that_cannot_be_told_is_listed_and_left(app: Table, engine: Engine) -> None:
    """A key that fits no class is reported with its key."""
    old_row(app, engine, "SOMETHING#1", x="y")

    report = stamp(app)

    assert (report.ambiguous, report.left[0].sk) == (1, "SOMETHING#1")
    assert "EntityType" not in stored(app, engine, "SOMETHING#1")


def test_a_function_can_tell_the_type(app: Table, engine: Engine) -> None:
    """What the key does not say, an attribute may."""
    old_row(app, engine, "X#1", kind="m", workspace_id="acme", email="a@b")

    stamp(app, infer=lambda item: "Member" if item.get("kind") == {"S": "m"} else None)

    assert stored(app, engine, "X#1")["EntityType"] == {"S": "Member"}


def test_a_dry_run_counts_and_writes_nothing(app: Table, engine: Engine) -> None:
    """The report is that of the real run."""
    old_row(app, engine, "MEMBER#a@b", workspace_id="acme", email="a@b")

    report = stamp(app, dry_run=True)

    assert (report.typed, report.dry_run) == (1, True)
    assert "EntityType" not in stored(app, engine, "MEMBER#a@b")


def test_a_row_deleted_in_between_is_not_brought_back(app: Table, engine: Engine) -> None:
    """R54: between the scan and the write the row goes; it stays gone, and is counted as moved."""
    old_row(app, engine, "MEMBER#a@b", workspace_id="acme", email="a@b")
    client = engine.client()

    def delete(operation: str, wire: dict[str, Any]) -> None:
        if operation == "UpdateItem":
            client.delete_item(TableName=app.name, Key=wire["Key"])

    off = app.on_request(delete)
    report = stamp(app)
    off()

    assert (report.typed, report.moved) == (0, 1)
    assert stored(app, engine, "MEMBER#a@b") == {}


def test_a_row_typed_in_between_keeps_the_live_writers_type(app: Table, engine: Engine) -> None:
    """A writer that was first wins."""
    old_row(app, engine, "MEMBER#a@b", workspace_id="acme", email="a@b")

    def write(operation: str, wire: dict[str, Any]) -> None:
        if operation == "UpdateItem":
            old_row(app, engine, "MEMBER#a@b", EntityType="Guest")

    off = app.on_request(write)
    report = stamp(app)
    off()

    assert (report.typed, report.moved) == (0, 1)
    assert stored(app, engine, "MEMBER#a@b")["EntityType"] == {"S": "Guest"}


def test_missing_and_stale_index_keys_are_mended(app: Table, engine: Engine) -> None:
    """Index keys become what a put would write."""
    doc = Document(workspace_id="acme", doc_id="1", title="x").create()
    client = engine.client()
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#1"}}
    client.update_item(
        TableName=app.name,
        Key=key,
        UpdateExpression="SET GSI1PK = :wrong REMOVE GSI1SK",
        ExpressionAttributeValues={":wrong": {"S": "WS#other"}},
    )

    report = stamp(app, index_keys=True)

    assert report.indexed == 1
    assert Document.feed.query(workspace_id="acme").all() == [doc]


def test_index_keys_are_not_made_of_what_a_live_writer_changed(app: Table, engine: Engine) -> None:
    """A source field that moved since the scan fails the condition, and the row is left to its writer."""
    Document(workspace_id="acme", doc_id="1", title="x").create()
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#1"}}
    engine.client().update_item(TableName=app.name, Key=key, UpdateExpression="REMOVE GSI1PK, GSI1SK")

    def save(operation: str, wire: dict[str, Any]) -> None:
        if operation == "UpdateItem" and "GSI1PK" in str(wire):
            off()
            Document.key(workspace_id="acme", doc_id="1").update(Document.title.set("newer"))

    off = app.on_request(save)
    report = stamp(app, index_keys=True)

    assert (report.indexed, report.moved) == (0, 1)
    assert [doc.title for doc in Document.feed.query(workspace_id="acme")] == ["newer"]


def test_a_table_without_recovery_is_refused(full_app: Table) -> None:
    """The plan is announced, and nothing is read or written."""
    plans: list[Any] = []

    with pytest.raises(RequestError, match="point-in-time recovery"):
        backfill(full_app, announce=plans.append)

    assert plans[0].recovery is False


def test_segments_can_be_shared_between_machines(app: Table, engine: Engine) -> None:
    """Two runs over the halves of the segments stamp each row once."""
    for number in range(40):
        old_row(app, engine, f"MEMBER#{number}", workspace_id="acme", email=f"{number}")

    reports = [stamp(app, segments=share) for share in ("0-3/8", "4-7/8")]

    assert sum(report.typed for report in reports) == 40
    assert sum(report.scanned for report in reports) == 40


@pytest.mark.parametrize("text", ["", "a", "0-3", "3-0/8", "0-8/8", "-1-2/8", "0-1/0", "0-1/99999999999"])
def test_segments_that_mean_nothing_are_refused(text: str) -> None:
    """The error shows the form."""
    with pytest.raises(RequestError, match="from-to/of"):
        parse_segments(text)


def test_runs_that_are_killed_twice_end_with_every_row_typed_once(tmp_path: Path) -> None:
    """Two machines share the segments, are killed with -9 and resumed beside writers and deleters; nothing is lost.

    What is checked stands in the benchmark, which does the same with 200,000 rows.
    """
    figures = tmp_path / "figures.json"

    status = backfill_run.main(["--rows", "1200", "--pause", "0.01", "--json", str(figures)])

    found = json.loads(figures.read_text(encoding="utf-8"))
    assert (status, found["problems"]) == (0, [])
    assert found["kills"] == 4
    assert found["rows_that_got_a_type"] > 900


def test_rows_that_were_left_before_an_interruption_are_listed_after_it(
    app: Table, engine: Engine, tmp_path: Path
) -> None:
    """The checkpoint keeps them with the counts."""
    checkpoint = tmp_path / "checkpoint.json"
    old_row(app, engine, "ODD")
    old_row(app, engine, "MEMBER#a", workspace_id="acme", email="a")
    stamp(app, checkpoint=checkpoint, segments=1)

    again = stamp(app, checkpoint=checkpoint, segments=1)

    assert again.resumed
    assert (again.scanned, again.typed, again.ambiguous) == (2, 1, 1)
    assert [(left.pk, left.sk) for left in again.left] == [("WS#acme", "ODD")]


def test_a_row_that_moved_is_looked_at_again(app: Table, engine: Engine) -> None:
    """Code that knows no types changes a field of the index key in between; the row is typed by what it then holds."""
    row = {"workspace_id": "acme", "doc_id": "1", "title": "x"}
    times = dict.fromkeys(("created_at", "updated_at"), "2026-11-01T00:00:00.000000Z")
    old_row(app, engine, "DOC#1", **row, **times)

    def write(operation: str, wire: dict[str, Any]) -> None:
        if operation == "UpdateItem":
            off()
            old_row(app, engine, "DOC#1", **row, **{**times, "updated_at": "2026-12-01T00:00:00.000000Z"})

    off = app.on_request(write)
    report = stamp(app, index_keys=True)

    assert (report.typed, report.moved) == (1, 1)
    assert stored(app, engine, "DOC#1")["EntityType"] == {"S": "Document"}
    assert stored(app, engine, "DOC#1")["GSI1SK"] == {"S": "2026-12-01T00:00:00.000000Z"}


def test_a_row_that_never_rests_is_left_in_the_end(app: Table, engine: Engine) -> None:
    """After a few tries it is listed."""
    Document(workspace_id="acme", doc_id="1", title="x").create()
    key = {"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#1"}}
    client = engine.client()
    minutes = iter(range(60))

    def move() -> None:
        client.update_item(
            TableName=app.name,
            Key=key,
            UpdateExpression="SET updated_at = :now",
            ExpressionAttributeValues={":now": {"S": f"2027-01-01T00:{next(minutes):02d}:00.000000Z"}},
        )

    move()
    off = app.on_request(lambda operation, _: move() if operation == "UpdateItem" else None)
    report = stamp(app, index_keys=True)
    off()

    assert (report.indexed, report.moved, report.ambiguous) == (0, 1, 1)
    assert report.left[0].reason == "a live writer was first each time"


def test_a_type_that_is_no_text_is_listed_and_left(app: Table, engine: Engine) -> None:
    """A number there is nobody's type, and not lacking either."""
    item = {"PK": {"S": "WS#acme"}, "SK": {"S": "MEMBER#a"}, "EntityType": {"N": "1"}}
    engine.client().put_item(TableName=app.name, Item=item)

    report = stamp(app)

    assert [left.reason for left in report.left] == ["its EntityType is no text"]


def test_the_plan_counts_the_indexes_that_each_row_enters(full_app: Table, ministack: Engine) -> None:
    """At most: the row, rounded up by itself, and each index entry, twice where its key may change."""
    for number in range(10):
        old_row(full_app, ministack, f"MEMBER#{number}", workspace_id="acme", email=str(number))
    plans: list[Any] = []

    stamp(full_app, announce=plans.append)
    stamp(full_app, index_keys=True, announce=plans.append, segments="0-1/4")

    size = plans[0].size
    rows = size.items + size.bytes // 1024
    assert [plan.write_units for plan in plans] == [2 * rows, 3 * rows / 2]


def test_the_plan_is_no_less_than_rows_of_unlike_sizes_take(stub: StubTransport) -> None:
    """Ten rows of 900 bytes on average: were five of 1,100 and five of 700, they would take 15 units, not 10."""
    app = Table("unlike").connect(port=stub.port())
    stub.script("DescribeTable", ok({"Table": {"ItemCount": 10, "TableSizeBytes": 9_000}}))
    stub.script("DescribeContinuousBackups", error("AccessDeniedException"))
    plans: list[Any] = []

    with pytest.raises(RequestError, match="does not show whether"):
        backfill(app, announce=plans.append)

    assert plans[0].write_units == 18


def test_recovery_that_cannot_be_seen_is_refused_too(stub: StubTransport) -> None:
    """Who may not ask has to say that it does not matter."""
    app = Table("hidden").connect(port=stub.port())
    stub.script("DescribeTable", ok({"Table": {"ItemCount": 0, "TableSizeBytes": 0}}))
    stub.script("DescribeContinuousBackups", error("AccessDeniedException"))

    with pytest.raises(RequestError, match="does not show whether"):
        backfill(app)


def test_a_failing_segment_ends_the_others(full_app: Table, ministack: Engine) -> None:
    """Nobody goes on for an hour beside a run that has failed."""
    for number in range(60):
        old_row(full_app, ministack, f"MEMBER#{number}", workspace_id="acme", email=str(number))
    asked: list[int] = []

    def infer(row: Any) -> str:
        asked.append(1)
        if len(asked) == 5:
            raise ZeroDivisionError
        return "Member"

    with pytest.raises(ZeroDivisionError):
        stamp(full_app, infer=infer, segments=4, page_size=5)

    assert len(asked) < 60


def test_a_checkpoint_that_cannot_be_written_is_told_before_anything_is_sent(
    app: Table, engine: Engine, tmp_path: Path
) -> None:
    """Not after an hour of writing."""
    old_row(app, engine, "MEMBER#a", workspace_id="acme", email="a")

    with pytest.raises(TablekitError, match="cannot be written"):
        stamp(app, checkpoint=tmp_path / "nowhere" / "checkpoint.json")

    assert "EntityType" not in stored(app, engine, "MEMBER#a")


def test_workspaces_are_told_by_their_constant_sort_key(app: Table, engine: Engine) -> None:
    """A template without parts is a key as well."""
    old_row(app, engine, "META", workspace_id="acme", name="Acme")

    stamp(app)

    assert Workspace.get(workspace_id="acme") is not None
