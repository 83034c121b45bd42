"""Stamping types and index keys onto rows that lack them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tablekit import RequestError, Table
from tablekit.tools.backfill import backfill
from tablekit.tools.scanning import parse_segments
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Member, Workspace

ROOT = Path(__file__).parent.parent.parent


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


KILLED = """
import sys, time
from tests.support.models import app
from tablekit.tools.backfill import backfill
app.connect(name=sys.argv[1], endpoint_url=sys.argv[2])
print("ready", flush=True)
report = backfill(app, require_recovery=False, checkpoint=sys.argv[3], segments=4, parallel=2, page_size=50,
                  progress=lambda counts: time.sleep(float(sys.argv[4])))
print(report.scanned, report.typed, report.resumed, flush=True)
"""


def test_a_run_that_is_killed_twice_ends_with_every_row_typed_once(
    full_app: Table, ministack: Engine, tmp_path: Path
) -> None:
    """Kill -9, resume, kill -9, resume; live writers and deleters go on meanwhile and lose nothing."""
    _load(full_app, ministack, 1_200)
    script, checkpoint = tmp_path / "run.py", tmp_path / "checkpoint.json"
    script.write_text(textwrap.dedent(KILLED))
    acknowledged: dict[str, int] = {}
    deleted: set[str] = set()
    stop = threading.Event()
    writer = threading.Thread(target=_write_and_delete, args=(full_app, ministack, stop, acknowledged, deleted))
    writer.start()

    def begin(pause: float) -> subprocess.Popen[str]:
        arguments = [sys.executable, str(script), full_app.name, ministack.endpoint_url, str(checkpoint), str(pause)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)

    for _ in range(2):
        process = begin(0.2)
        assert process.stdout is not None
        process.stdout.readline()
        _wait_for_change(checkpoint)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    output, _ = begin(0).communicate()
    stop.set()
    writer.join()

    rows = _all_rows(full_app, ministack)
    assert output.split()[-1] == "True"
    assert all(row["EntityType"] == {"S": "Member"} for row in rows.values())
    assert deleted.isdisjoint(rows)
    assert {sk: rows[sk]["hits"]["N"] for sk in acknowledged} == {sk: str(n) for sk, n in acknowledged.items()}


def _wait_for_change(path: Path) -> None:
    before = path.read_bytes() if path.exists() else b""
    until = time.monotonic() + 30
    while (path.read_bytes() if path.exists() else b"") == before:
        assert time.monotonic() < until, "the run does not get on"
        time.sleep(0.01)


def _load(app: Table, engine: Engine, number: int) -> None:
    client = engine.client()
    rows = [
        {
            "PK": {"S": f"WS#{n % 50}"},
            "SK": {"S": f"MEMBER#{n}"},
            "workspace_id": {"S": f"{n % 50}"},
            "email": {"S": f"{n}"},
            "pad": {"S": "x" * 200},
        }
        for n in range(number)
    ]
    for start in range(0, number, 25):
        requests = [{"PutRequest": {"Item": row}} for row in rows[start : start + 25]]
        client.batch_write_item(RequestItems={app.name: requests})


def _write_and_delete(
    app: Table, engine: Engine, stop: threading.Event, acknowledged: dict[str, int], deleted: set[str]
) -> None:
    client = engine.client()
    number = 0
    while not stop.is_set():
        number = (number + 7) % 1_200
        sk = f"MEMBER#{number}"
        key = {"PK": {"S": f"WS#{number % 50}"}, "SK": {"S": sk}}
        if number % 5 == 0:
            acknowledged.pop(sk, None)
            client.delete_item(TableName=app.name, Key=key)
            deleted.add(sk)
        elif sk not in deleted:
            add = {":one": {"N": "1"}}
            client.update_item(
                TableName=app.name, Key=key, UpdateExpression="ADD hits :one", ExpressionAttributeValues=add
            )
            acknowledged[sk] = acknowledged.get(sk, 0) + 1


def _all_rows(app: Table, engine: Engine) -> dict[str, Any]:
    pages = engine.client().get_paginator("scan").paginate(TableName=app.name, ConsistentRead=True)
    return {item["SK"]["S"]: item for page in pages for item in page["Items"]}


def test_workspaces_are_told_by_their_constant_sort_key(app: Table, engine: Engine) -> None:
    """A template without parts is a key as well."""
    old_row(app, engine, "META", workspace_id="acme", name="Acme")

    stamp(app)

    assert Workspace.get(workspace_id="acme") is not None
