"""A partition of over 3 MB with types side by side: every way of reading gives each row exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablekit import Table
from tests.support.engines import Engine
from tests.support.reading import Book, Note, shared
from tests.support.validation import RequestRecorder

TEXT = "x" * 70_000
ROWS = [
    each
    for n in range(25)
    for each in (
        Book(shelf_id="big", book_id=f"{n:02d}", text=TEXT, owner="ann", words=n % 4),
        Note(shelf_id="big", book_id=f"{n:02d}", number=1, text=TEXT, owner="ann"),
    )
]
BOOKS = [f"{n:02d}" for n in range(25)]
BOTH = [name for name in BOOKS for _ in range(2)]


@pytest.fixture
def table(engine: Engine, recorder: RequestRecorder) -> Iterator[Table]:
    """25 books and 25 notes of 70 KB, in turn."""
    with shared(engine, __name__, ROWS) as app:
        yield app


def pages(query: Any, size: int | None) -> list[Any]:
    """The entities of all pages."""
    return [item for page in query.pages(size) for item in page]


MODES: dict[str, tuple[Callable[[Table], Any], list[str]]] = {
    "all of a class": (lambda app: Book.query(shelf_id="big").all(), BOOKS),
    "all of two": (lambda app: app.query(Book, Note, shelf_id="big").all(), BOTH),
    "whatever is there": (lambda app: list(app.query(pk="S#big")), BOTH),
    "reversed": (lambda app: app.query(Book, Note, shelf_id="big").reverse().all()[::-1], BOTH),
    "by request": (lambda app: pages(app.query(Book, Note, shelf_id="big"), None), BOTH),
    "pages of seven": (lambda app: pages(Book.query(shelf_id="big"), 7), BOOKS),
    "small requests": (lambda app: pages(Book.query(shelf_id="big").page_size(3), 7), BOOKS),
    "a limit": (lambda app: Book.query(shelf_id="big").limit(20).all(), BOOKS[:20]),
    "filtered": (lambda app: Book.query(shelf_id="big").where(Book.words == 1).all(), BOOKS[1::4]),
    "selected": (lambda app: Book.query(shelf_id="big").select(Book.book_id).all(), BOOKS),
    "an index": (lambda app: app.query(Book, index="OWNER", owner="ann").all(), BOOKS),
    "hydrated": (lambda app: sorted(Book.by_key.query(shelf_id="big").hydrate(), key=lambda b: b.book_id), BOOKS),
    "scanned": (lambda app: sorted(Book.scan(), key=lambda b: b.book_id), BOOKS),
    "scanned in segments": (lambda app: sorted(Book.scan(segments=3), key=lambda b: b.book_id), BOOKS),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_row_comes_exactly_once(table: Table, mode: str) -> None:
    """Each mode gives the rows that it asks for, once each, over several requests."""
    read, expected = MODES[mode]

    assert [item.book_id for item in read(table)] == expected


def test_counts_are_of_the_whole(table: Table, recorder: RequestRecorder) -> None:
    """A count goes over all requests, for a class, two, and a condition."""
    assert Book.query(shelf_id="big").count() == 25
    assert len(recorder.sent("Query")) > 3
    assert table.query(Book, Note, shelf_id="big").count() == 50
    assert Book.query(shelf_id="big").where(Book.words == 1).count() == 6
    assert Book.scan().count() == 25


def test_awaited_reads_are_the_same(table: Table, engine: Engine) -> None:
    """Async for, pages, all, count and a scan in segments give what the synchronous names give."""

    async def read() -> dict[str, Any]:
        async with table.aio.connected(name=table.name, **engine.connect_options()):
            query = table.query(Book, Note, shelf_id="big")
            return {
                "for": [item.book_id async for item in query],
                "pages": [item.book_id async for page in query.aio.pages(7) for item in page],
                "all": [item.book_id for item in await query.aio.all()],
                "page": [item.book_id for item in await query.aio.page(50)],
                "segments": sorted([item.book_id async for item in table.scan(Book, Note, segments=4)]),
                "count": await query.aio.count(),
                "exists": await query.aio.exists(),
                "first": [(await query.aio.first()).book_id],
                "grouped": [item.book_id for item in (await query.aio.grouped())[Book]],
            }

    found = asyncio.run(read())

    for name in ("for", "pages", "all", "page", "segments"):
        assert found[name] == BOTH, name
    assert (found["count"], found["exists"], found["first"], found["grouped"]) == (50, True, ["00"], BOOKS)
