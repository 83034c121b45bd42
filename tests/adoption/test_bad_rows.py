"""Rows that their class cannot read: each is told with its key and the reason, and the others are read."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tablekit import DataError, DecodeError, Entity, Field, QueryError, RawItem, RequestError, Table
from tests.support.engines import Engine
from tests.support.rows import store
from tests.support.tables import Connect

log = Table("log")
BAD = {"PK": {"S": "L#a"}, "SK": {"S": "N#2"}, "EntityType": {"S": "Line"}, "day": {"S": "a"}, "number": {"N": "2"}}
FOREIGN = {"PK": {"S": "L#a"}, "SK": {"S": "N#4"}, "EntityType": {"S": "Mark"}}


class Line(Entity, table=log, pk="L#{day}", sk="N#{number:d}"):
    """A line with a count, which line 2 has as a text."""

    day: Field[str]
    number: Field[int]
    count: Field[int]


class Mark(Entity, table=log, pk="L#{day}", sk="M#{number:d}"):
    """Another kind of row; one of them has the key of a line."""

    day: Field[str]
    number: Field[int]


@pytest.fixture
def lines(connect: Connect) -> Table:
    """Lines 1 to 3, of which 2 cannot be read."""
    app = connect(log)
    for number in (1, 3):
        Line(day="a", number=number, count=number).put()
    store(app, {**BAD, "count": {"S": "secret"}})
    return app


def numbers(found: Any) -> list[int]:
    """The numbers of lines."""
    return [line.number for line in found]


def test_a_bad_row_stops_a_read_unless_told_otherwise(lines: Table) -> None:
    """Strict by default: the rows before it are given, and then its error."""
    rows = iter(Line.query(day="a"))

    assert next(rows).number == 1
    with pytest.raises(DecodeError, match="N#2"):
        next(rows)


def test_a_function_is_told_of_each_bad_row_and_the_others_are_read(lines: Table) -> None:
    """Class, attribute and key, and no value; in queries and scans."""
    for query in (Line.query(day="a"), Line.scan(), lines.scan(), lines.query(pk="L#a")):
        bad: list[DataError] = []

        assert sorted(numbers(query.undecodable(bad.append))) == [1, 3]
        (problem,) = bad
        assert isinstance(problem, DecodeError)
        assert (problem.entity, problem.attribute, problem.pk, problem.sk) == ("Line", "count", "L#a", "N#2")
        assert "secret" not in str(problem)


def test_what_is_skipped_is_counted(lines: Table) -> None:
    """On the page, under the class's type; a cursor goes on past it."""
    first = Line.query(day="a").undecodable("skip").page(1)
    second = Line.query(day="a").undecodable("skip").page(1, cursor=first.cursor)

    assert (numbers(first), numbers(second), dict(second.skipped)) == ([1], [3], {"Line": 1})


def test_a_limit_counts_what_can_be_read(lines: Table) -> None:
    """Two entities are two entities, and the only one is the only one."""
    query = Line.query(day="a").undecodable("skip")

    assert numbers(query.limit(2).all()) == [1, 3]
    assert query.reverse().limit(2).first().number == 3  # type: ignore[union-attr]
    assert numbers(query.select(Line.number, Line.count)) == [1, 3]


def test_a_raw_query_gives_the_row_and_tells_the_reason(lines: Table) -> None:
    """Both: the row as it is stored, and why it is no entity."""
    bad: list[DataError] = []

    found = Line.query(day="a").raw().undecodable(bad.append).all()

    assert [type(row) for row in found] == [Line, RawItem, Line]
    assert len(bad) == 1


@pytest.mark.parametrize("segments", [1, 3])
def test_a_scan_in_segments_tells_of_bad_rows(lines: Table, segments: int) -> None:
    """Of every segment, from whichever worker reads it."""
    bad: list[DataError] = []

    assert sorted(numbers(Line.scan(segments=segments).undecodable(bad.append))) == [1, 3]
    assert [problem.sk for problem in bad] == ["N#2"]


def test_a_batch_get_tells_of_bad_rows(lines: Table) -> None:
    """None stands in its place; a row of another class is told as well, and a missing one is none."""
    store(lines, FOREIGN)
    bad: list[DataError] = []

    found = lines.batch_get([Line.key(day="a", number=n) for n in (3, 2, 4, 5)], undecodable=bad.append)

    assert [None if line is None else line.number for line in found] == [3, None, None, None]
    assert {(type(problem).__name__, problem.sk) for problem in bad} == {
        ("DecodeError", "N#2"), ("WrongEntityType", "N#4"),
    }  # fmt: skip


def test_a_stream_tells_of_bad_images(lines: Table) -> None:
    """The change comes with the raw row, and the reason is told."""
    bad: list[DataError] = []
    image = {**BAD, "count": {"S": "secret"}}
    record = {"eventName": "INSERT", "dynamodb": {"Keys": {n: BAD[n] for n in ("PK", "SK")}, "NewImage": image}}

    (change,) = lines.decode_stream(record, undecodable=bad.append)

    assert isinstance(change.new, RawItem)
    assert [problem.sk for problem in bad] == ["N#2"]


def test_a_report_may_log_or_stop(lines: Table, caplog: pytest.LogCaptureFixture) -> None:
    """Any function is one; what it raises comes out."""

    def stop(problem: DataError) -> None:
        raise SystemExit(str(problem))

    with caplog.at_level(logging.WARNING):
        Line.query(day="a").undecodable(logging.getLogger("rows").warning).all()
    assert "N#2" in caplog.text
    with pytest.raises(SystemExit):
        Line.query(day="a").undecodable(stop).all()


@pytest.mark.parametrize("kind", ["query", "scan", "table scan", "segments", "whole partition"])
def test_awaited_reads_tell_of_bad_rows(lines: Table, engine: Engine, kind: str) -> None:
    """`undecodable` goes with a query and a scan however they are read: by `async for`, all at once, and by pages."""
    query: Any = {
        "query": Line.query(day="a"),
        "scan": Line.scan(),
        "table scan": lines.scan(),
        "segments": Line.scan(segments=2),
        "whole partition": lines.query(pk="L#a"),
    }[kind]
    bad: list[DataError] = []

    async def read() -> list[int]:
        async with lines.aio.connected(name=lines.name, **engine.connect_options()):
            told = query.undecodable(bad.append)
            found = sorted([line.number async for line in told])
            assert sorted(numbers(await query.undecodable("skip").aio.all())) == found
            if kind != "segments":
                page = await query.undecodable("skip").aio.page()
                assert (sorted(numbers(page)), dict(page.skipped)) == (found, {"Line": 1})
            return found

    assert asyncio.run(read()) == [1, 3]
    assert [problem.sk for problem in bad] == ["N#2"]


def test_an_awaited_batch_get_tells_of_bad_rows(lines: Table, engine: Engine) -> None:
    """As the other does: None in its place, and the reason."""
    bad: list[DataError] = []

    async def read() -> list[Line | None]:
        async with lines.aio.connected(name=lines.name, **engine.connect_options()):
            return await lines.aio.batch_get([Line.key(day="a", number=n) for n in (1, 2)], undecodable=bad.append)

    assert [line is None for line in asyncio.run(read())] == [False, True]
    assert [problem.sk for problem in bad] == ["N#2"]


def test_what_is_no_policy_is_refused(lines: Table) -> None:
    """With what is one; a batch has no skip, since None stands there for a row that is missing."""
    with pytest.raises(QueryError, match="no policy"):
        Line.query(day="a").undecodable("ignore")  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="look like one that is missing"):
        lines.batch_get([Line.key(day="a", number=1)], undecodable="skip")  # type: ignore[call-overload]
