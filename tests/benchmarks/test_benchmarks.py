"""The parts of the benchmarks that could measure the wrong thing unnoticed."""

from __future__ import annotations

import json
import sys
import zlib
from collections import Counter
from xml.etree import ElementTree as ET

import pytest

from benchmarks import running
from benchmarks.data import PAGE, PAGES, RECORDS, WORKSPACE_OF_PAGES, rows, stream_event, wire_item
from benchmarks.environments import LIBRARIES, Library, chosen
from benchmarks.imports import IMPORTS
from benchmarks.plot import plot
from benchmarks.report import figures_of, ratios, table
from benchmarks.server import Store


def content(answer):
    """The body of an HTTP answer, its checksum checked."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"x-amz-crc32: {zlib.crc32(body)}".encode() in head
    return json.loads(body)


@pytest.fixture
def store():
    """A store with the rows of the benchmark in it."""
    made = Store()
    for kind, values in rows():
        made.answer("PutItem", json.dumps({"Item": wire_item(kind, values)}).encode())
    made.freeze()
    return made


def test_the_page_has_the_rows_it_should(store):
    """A thousand rows: one workspace, 300 documents, 699 comments."""
    items = content(store.answer("Query", b"{}"))["Items"]
    assert Counter(item["EntityType"]["S"] for item in items) == {"Workspace": 1, "Document": 300, "Comment": 699}


def test_twenty_pages_follow_each_other_and_end(store):
    """Each page gives the key of the next; the last gives none."""
    request, count = {"x": WORKSPACE_OF_PAGES}, 0
    while True:
        answer = content(store.answer("Query", json.dumps(request).encode()))
        count += len(answer["Items"])
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert count == PAGE * PAGES


def test_a_batch_gets_the_rows_it_asks_for(store):
    """The rows of the keys, in their order."""
    keys = [{name: item[name] for name in ("PK", "SK")} for item in store.items[5:8]]
    answer = content(store.answer("BatchGetItem", json.dumps({"RequestItems": {"t": {"Keys": keys}}}).encode()))
    assert answer["Responses"]["t"] == store.items[5:8]


def figure(cpu):
    """What one round gives."""
    return {"cpu_us": cpu, "wall_us": cpu * 2, "rss_mb": 1.0}


SAMPLES = {
    ("get", "tablekit"): {1: figure(50.0), 2: figure(10.0), 3: figure(90.0)},
    ("get", "pynamodb"): {1: figure(100.0), 2: figure(100.0), 3: figure(100.0), 4: figure(5.0)},
}


def test_ratios_are_taken_within_rounds():
    """Ours over theirs, the median of the rounds that both were in: under one, tablekit is cheaper."""
    assert ratios(SAMPLES) == {"get": {"tablekit / pynamodb": 0.5}}


def test_the_table_has_the_medians_and_the_ratios():
    """One line for each library, the cheapest first."""
    lines = table(figures_of(SAMPLES), ratios(SAMPLES), ["get"]).splitlines()
    assert [line.split() for line in lines if "tablekit  " in line or "pynamodb" in line] == [
        ["tablekit", "50.0", "100.0"],
        ["pynamodb", "100.0", "200.0", "0.50"],
    ]


def test_the_plot_is_a_drawing_of_the_figures():
    """An SVG with a bar for each library."""
    drawn = ET.fromstring(plot({**figures_of(SAMPLES), "ratios": {}, "environment": {"rounds": 3}}))
    bars = [each for each in drawn.iter("{http://www.w3.org/2000/svg}rect") if each.get("x")]
    assert len(bars) == 2
    assert float(bars[1].get("width")) > float(bars[0].get("width"))


def test_an_event_has_the_rows_of_the_page_in_turn(store):
    """Ten thousand records, each with one of the images."""
    records = stream_event(store.items)["Records"]
    assert len(records) == RECORDS
    assert records[1001]["dynamodb"]["NewImage"] == store.items[1]


def test_every_library_says_how_it_is_imported():
    """None is left out of a measurement unseen, and an unknown name is refused."""
    assert {library.module for library in LIBRARIES} == set(IMPORTS)
    with pytest.raises(SystemExit, match="nosuch"):
        chosen("nosuch")


def test_a_quick_run_has_the_nearest_peers():
    """Fewer libraries, the floor and the rivals among them."""
    names = {library.name for library in chosen(None, quick=True)}
    assert {"tablekit", "tablekit direct", "pynamodb", "floor: json and decoders"} <= names
    assert len(names) < len(chosen(None))


def test_a_worker_that_complains_a_lot_does_not_wait(monkeypatch):
    """What it writes to standard error fills no pipe, and is told when it ends."""
    library = Library("x", "floor_")
    script = (
        "import sys; print('{\"units\": {}}', flush=True); sys.stderr.write('x' * 300_000 + '\\nlast words'); "
        "sys.stdin.readline(); print('[1]', flush=True)"
    )
    monkeypatch.setattr(running, "command", lambda *_: [sys.executable, "-c", script])
    worker = running.WorkerProcess(library, "")
    assert worker.ask("anything") == [1]
    with pytest.raises(RuntimeError, match="last words"):
        worker.ask("more")
    worker.close()
