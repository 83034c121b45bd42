"""Scans in segments: each row once, bounded memory, cancelled, at a rate, with progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablekit import QueryError, Table, UnknownEntityType
from tablekit.operations.rate import TokenBucket
from tablekit.operations.scan import ScanProgress
from tests.support.engines import Engine
from tests.support.reading import Book, Loan, Note, Shelf, row, shared, shelf
from tests.support.stub import StubTransport, ok
from tests.support.validation import RequestRecorder

ROWS = [
    *(Book(shelf_id=f"s{n % 7}", book_id=str(n)) for n in range(60)),
    *(Note(shelf_id=f"s{n % 7}", book_id=str(n), number=1) for n in range(40)),
]


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """A hundred rows in seven partitions."""
    with shared(engine, __name__, ROWS) as app:
        yield app


def workers() -> list[threading.Thread]:
    """The threads of scans that run."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("tablekit-scan")]


@pytest.mark.parametrize("segments", [1, 2, 5])
def test_segments_give_each_row_once(table: Table, recorder: RequestRecorder, segments: int) -> None:
    """The segments together are the table, for one class and for whatever is there."""
    found = list(table.scan(segments=segments).page_size(9))

    assert len(found) == len({(type(item), item.book_id) for item in found}) == 100
    assert len(Book.scan(segments=segments).all()) == 60
    assert {wire.get("Segment", 0) for wire in recorder.sent("Scan")} == set(range(segments))
    assert table.scan(Note, segments=segments).count() == 40


def test_conditions_and_limits_apply_to_the_whole(table: Table) -> None:
    """A limit is of all segments together; a condition of each."""
    assert len(table.scan(segments=4).limit(13).all()) == 13
    assert [book.book_id for book in Book.scan(segments=4).where(Book.shelf_id == "s1", Book.book_id == "8")] == ["8"]
    assert table.scan(segments=4).first() is not None


def test_leaving_the_loop_ends_the_threads(table: Table) -> None:
    """A loop that is broken off leaves no thread behind."""
    for _ in table.scan(segments=4).page_size(1):
        break

    deadline = time.monotonic() + 10
    while workers() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not workers()


def test_a_scan_is_closed_at_once(table: Table) -> None:
    """close() waits for the requests under way; no more rows come."""
    with iter(table.scan(segments=4).page_size(1)) as rows:
        next(rows)

    assert not workers()
    assert list(rows) == []


def test_an_error_of_a_segment_comes_out_and_ends_the_others(stub: StubTransport) -> None:
    """A row that cannot be returned raises in the reader's thread."""
    stub.always("Scan", ok({"Items": [row("S", "X", "Foreign")], "Count": 1, "LastEvaluatedKey": row("S", "X")}))

    with shelf.bound(name="t", port=stub.port()) as app, pytest.raises(UnknownEntityType):
        list(app.scan(segments=3))
    assert not workers()


def test_memory_is_bounded(stub: StubTransport) -> None:
    """A slow reader lets the workers read no more than a page each ahead, and one each waiting."""

    def endless(wire: dict[str, Any]) -> Any:
        items = [row("S#a", "META", "Shelf", shelf_id="a")]
        return ok({"Items": items, "Count": 1, "LastEvaluatedKey": row("S#a", "META")})

    stub.always("Scan", endless)
    with shelf.bound(name="t", port=stub.port()) as app, iter(app.scan(Shelf, segments=3)) as rows:
        next(rows)
        time.sleep(0.5)
        assert len(stub.sent("Scan")) <= 1 + 3 + 3
        next(rows)


def test_progress_is_told_after_each_request(table: Table) -> None:
    """The last report is of everything that was read."""
    reports: list[ScanProgress] = []

    found = list(table.scan(Book, segments=3, progress=reports.append).page_size(10))

    last = reports[-1]
    assert (last.segments, last.finished, last.scanned, last.returned) == (3, 3, 100, len(found))
    assert last.requests == len(reports)
    assert last.units > 0


def test_a_rate_is_kept(stub: StubTransport) -> None:
    """Pages of 10 units at 100 units a second take a tenth of a second each, over all segments together."""
    pages = iter(range(100))

    def page(wire: dict[str, Any]) -> Any:
        body: dict[str, Any] = {"Items": [], "Count": 0, "ConsumedCapacity": {"TableName": "t", "CapacityUnits": 10.0}}
        if next(pages) < 18:
            body["LastEvaluatedKey"] = row("S#a", "META")
        return ok(body)

    stub.always("Scan", page)
    port = stub.port()
    port._sleep = time.sleep
    began = time.monotonic()
    with shelf.bound(name="t", port=port) as app:
        assert app.scan(Shelf, segments=2, units_per_second=100).all() == []

    seconds = time.monotonic() - began
    assert len(stub.sent("Scan")) == 20
    assert seconds > 1.5


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def test_a_bucket_spreads_what_it_lets_through() -> None:
    """After a request of 50 units at 10 a second the next waits 5 seconds, and the one after it 5 more."""
    clock = Clock()
    bucket = TokenBucket(10, clock)
    bucket.settle(bucket.reserve()[1], 50)

    assert bucket.reserve() == (5.0, 50.0)
    assert bucket.reserve() == (10.0, 50.0)


def test_a_bucket_saves_up_no_more_than_a_second() -> None:
    """A pause is not made up for in one burst."""
    clock = Clock()
    bucket = TokenBucket(10, clock)
    bucket.settle(bucket.reserve()[1], 30)
    clock.now = 1_000.0

    assert bucket.reserve()[0] == 0.0
    assert bucket.reserve()[0] == 2.0


@pytest.mark.parametrize(
    "options", [{"segments": 0}, {"segments": 1_000_001}, {"segments": True}, {"units_per_second": 0}], ids=str
)
def test_senseless_options_are_refused(options: dict[str, Any]) -> None:
    """Before anything is sent."""
    with pytest.raises(QueryError):
        shelf.scan(**options)


@pytest.mark.parametrize("call", [lambda scan: scan.page(), lambda scan: next(scan.pages())], ids=["page", "pages"])
def test_a_scan_in_segments_has_no_pages(call: Callable[[Any], Any]) -> None:
    """It has no one position that a cursor could hold; a scan of one segment has."""
    with pytest.raises(QueryError, match="no position"):
        call(shelf.scan(Book, segments=2))


def test_a_scan_of_one_segment_has_cursors(table: Table) -> None:
    """Pages of a scan go on exactly, and belong to the scan."""
    pages = [len(page) for page in Book.scan().pages(25)]

    assert sum(pages) == 60
    assert pages[0] == 25
    with pytest.raises(QueryError, match="takes no parts"):
        shelf.scan(Loan)._with(parts={"day": "x"}).all()


def test_a_bucket_expects_of_a_request_what_the_last_of_its_kind_took() -> None:
    """A page of a scan and the write of a row share the rate, and not the guess."""
    clock = Clock()
    bucket = TokenBucket(10, clock)
    bucket.settle(bucket.reserve("Scan")[1], 50, "Scan")
    clock.now = 5.0

    assert bucket.reserve("UpdateItem") == (0.0, 0.0)
    assert bucket.reserve("Scan") == (0.0, 50.0)
    assert bucket.reserve("UpdateItem")[0] == 5.0
