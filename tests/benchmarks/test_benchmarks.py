"""The parts of the benchmarks that could measure the wrong thing unnoticed."""

from __future__ import annotations

import json
import zlib
from collections import Counter

import pytest

from benchmarks.data import PAGE, PAGES, WORKSPACE_OF_PAGES, rows, wire_item
from benchmarks.environments import LIBRARIES, chosen
from benchmarks.imports import IMPORTS
from benchmarks.report import ratios, table
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


def test_ratios_are_ours_over_the_others():
    """A ratio under one says that tablekit is cheaper."""
    figures = {"get": {"tablekit": {"cpu_us": 50.0, "wall_us": 1.0}, "pynamodb": {"cpu_us": 100.0, "wall_us": 1.0}}}
    assert ratios(figures) == {"get": {"tablekit / pynamodb": 0.5}}
    assert "2.00 x" in table(figures, ["tablekit", "pynamodb"], ["get"])


def test_every_library_says_how_it_is_imported():
    """None is left out of a measurement unseen, and an unknown name is refused."""
    assert {library.module for library in LIBRARIES} == set(IMPORTS)
    with pytest.raises(SystemExit, match="nosuch"):
        chosen("nosuch")
