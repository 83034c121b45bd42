"""Counting rows and bytes by type."""

from __future__ import annotations

import pytest

from tablekit import RequestError, Table
from tablekit.tools.census import census, count_rows
from tablekit.wire.sizes import item_size
from tests.support.engines import Engine
from tests.support.models import Comment, Document, Member
from tests.support.models import app as workspace


def test_rows_and_bytes_are_counted_by_type(app: Table, engine: Engine) -> None:
    """Those of the engine, without a type as well."""
    rows = [Member(workspace_id="acme", email=str(number)).create() for number in range(3)]
    Comment(workspace_id="acme", doc_id="1", comment_id="1", body="x" * 2_000).create()
    engine.client().put_item(TableName=app.name, Item={"PK": {"S": "a"}, "SK": {"S": "b"}})

    found = census(app)

    assert [(each.type, each.known, each.rows) for each in found.types] == [
        ("Comment", True, 1),
        ("Member", True, 3),
        ("(untyped)", False, 1),
    ]
    assert found.types[1].bytes == sum(item_size(row.to_item()) for row in rows)
    assert (found.rows, found.bytes) == (5, sum(each.bytes for each in found.types))


def test_the_heaviest_attribute_comes_first() -> None:
    """With its part of the row; entries of an index are counted as the index holds them."""
    (found,) = count_rows(workspace, [Document(workspace_id="a", doc_id="1", title="x" * 995).to_item()])

    assert (found.attributes[0].name, found.attributes[0].bytes) == ("title", 1_000)
    assert found.attributes[0].share == pytest.approx(1_000 / found.bytes)
    assert found.index_bytes == {"GSI1": found.bytes}
    assert (found.read_units, found.write_units) == (0.5, 2.0)


def test_a_part_of_the_table_stands_for_the_whole(app: Table) -> None:
    """Two of four segments: figures are doubled."""
    for number in range(40):
        Member(workspace_id=str(number), email="a").create()

    halves = [census(app, segments=share) for share in ("0-1/4", "2-3/4")]

    assert sum(half.rows for half in halves) == 40
    assert halves[0].in_all(halves[0].rows) == 2 * halves[0].rows


def test_a_sample_is_a_share(app: Table) -> None:
    """Anything else is refused."""
    with pytest.raises(RequestError, match="no share"):
        census(app, sample=0)


def test_what_tablekit_keeps_for_itself_is_known() -> None:
    """The rows that guard unique values are no finding."""
    types = count_rows(workspace, [{"PK": {"S": "U"}, "SK": {"S": "U"}, "EntityType": {"S": "tablekit:unique"}}])
    assert [each.known for each in types] == [True]
