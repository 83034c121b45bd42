"""A table that is scanned into an export, and split and lifted from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablekit import Table, TablekitError
from tablekit.tools.export_source import find_export
from tablekit.tools.split import split
from tablekit.tools.split_scan import announce_scan, export_by_scan
from tests.support.engines import Engine
from tests.support.models import Document
from tests.support.validation import RequestRecorder

ROOT = Path(__file__).parents[2]


def row(type: str | None, number: int) -> dict[str, Any]:
    """A row with a value of each kind."""
    found: dict[str, Any] = {
        "PK": {"S": f"WS#{number}"},
        "SK": {"S": f"DOC#{number}"},
        "workspace_id": {"S": f"{number}"},
        "doc_id": {"S": f"{number}"},
        "title": {"S": "Späß\n"},
        "tags": {"SS": ["a", "b"]},
        "words": {"N": "12345678901234567890123456789012345678"},
        "raw": {"B": b"\x00\xff"},
        "raws": {"BS": [b"\x00"]},
        "inner": {"M": {"l": {"L": [{"NULL": True}, {"BOOL": False}]}}},
    }
    return found if type is None else {**found, "EntityType": {"S": type}}


def fill(engine: Engine, table: str, rows: list[dict[str, Any]]) -> None:
    """Put rows past tablekit."""
    client = engine.client()
    for start in range(0, len(rows), 25):
        batch = [{"PutRequest": {"Item": each}} for each in rows[start : start + 25]]
        assert client.batch_write_item(RequestItems={table: batch})["UnprocessedItems"] == {}


def keys_in(folder: Path) -> list[str]:
    """The sort keys of all rows in the outputs of a split, sorted."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(json.loads(line)["Item"]["SK"]["S"] for line in lines)


def test_a_table_is_split_as_its_export_would_be(app: Table, engine: Engine, tmp_path: Path) -> None:
    """R52, R53: by type, untyped and unknown rows apart, with real sets and bytes and every digit."""
    rows = [*(row("Document", n) for n in range(20)), row("Invoice", 20), row(None, 21)]
    fill(engine, app.name, rows)

    scanned = export_by_scan(app, tmp_path / "export", segments=3)
    report = split(tmp_path / "export", tmp_path / "out", app=app)

    assert (scanned.rows, report.rows, report.expected) == (22, 22, 22)
    assert {name: each.rows for name, each in report.outputs.items()} == {
        "Document": 20,
        "_unknown-Invoice": 1,
        "_untyped": 1,
    }
    lines = (tmp_path / "out" / "Document.jsonl").read_text(encoding="utf-8").splitlines()
    found = Document.from_item(json.loads(lines[0])["Item"])
    assert (found.tags, found.words, found.title) == ({"a", "b"}, 12345678901234567890123456789012345678, "Späß\n")


def test_shares_of_a_scan_are_all_of_it_together(full_app: Table, ministack: Engine, tmp_path: Path) -> None:
    """Two machines read half of the segments each, and no row twice."""
    fill(ministack, full_app.name, [row("Document", n) for n in range(40)])

    for share in ("0-3/8", "4-7/8"):
        export_by_scan(full_app, tmp_path / share.replace("/", "-"), segments=share)
        split(tmp_path / share.replace("/", "-"), tmp_path / f"out-{share[0]}", app=full_app)

    first, second = keys_in(tmp_path / "out-0"), keys_in(tmp_path / "out-4")
    assert sorted(first + second) == sorted(f"DOC#{n}" for n in range(40))
    assert first
    assert second


def test_what_a_scan_would_read_is_said_before_anything_is_read(
    full_app: Table, ministack: Engine, tmp_path: Path, recorder: RequestRecorder
) -> None:
    """R60: units from the table's size; the plan alone asks for no row."""
    fill(ministack, full_app.name, [row("Document", n) for n in range(3)])
    plans: list[Any] = []

    announce_scan(full_app, 4, plans.append)

    assert (plans[0].segments, plans[0].total) == (4, 4)
    assert "Scan" not in recorder.operations


def test_an_export_that_is_whole_is_not_written_over(full_app: Table, tmp_path: Path) -> None:
    """Another folder is asked for."""
    export_by_scan(full_app, tmp_path / "export", segments=1)

    with pytest.raises(TablekitError, match="holds an export that is whole"):
        export_by_scan(full_app, tmp_path / "export", segments=1)


def test_an_unfinished_scan_of_other_segments_is_not_gone_on_with(full_app: Table, tmp_path: Path) -> None:
    """Their borders lie elsewhere, and rows would be missing."""

    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_by_scan(full_app, tmp_path / "export", segments=2, parallel=1, progress=stop)

    with pytest.raises(TablekitError, match="the checkpoint of another run"):
        export_by_scan(full_app, tmp_path / "export", segments=3)


PROGRAM = """
import json, os, signal, sys
from tablekit.tools.split_scan import export_by_scan
from tests.support.models import app

folder, options = sys.argv[1], json.loads(sys.argv[2])
app.connect(**options)

def die(rows):
    if rows >= 20:
        os.kill(os.getpid(), signal.SIGKILL)

export_by_scan(app, folder, segments=4, parallel=2, page_size=5, progress=die)
"""


def test_a_scan_that_was_killed_goes_on_and_has_each_row_once(
    full_app: Table, ministack: Engine, tmp_path: Path
) -> None:
    """SIGKILL between two pages; bytes of a page that was not recorded do not count, and none is read twice."""
    fill(ministack, full_app.name, [row("Document", n) for n in range(60)])
    options = json.dumps({**ministack.connect_options(), "name": full_app.name})
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "export"), options]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    for path in (tmp_path / "export" / "data").iterdir():
        with path.open("ab") as file:
            file.write(b"half a page that the checkpoint does not know")

    report = export_by_scan(full_app, tmp_path / "export", segments=4, page_size=5)

    assert (report.resumed, report.rows, find_export(tmp_path / "export").items) == (True, 60, 60)
    split(tmp_path / "export", tmp_path / "out", app=full_app)
    assert keys_in(tmp_path / "out") == sorted(f"DOC#{n}" for n in range(60))
