"""The arithmetic beside what the engines bill, where they are right: ministack for writes, dynalite for reads."""

from __future__ import annotations

import pytest

from tablekit.operations.observe import consumed_units
from tablekit.wire.sizes import item_size
from tablekit.wire.units import query_units, read_units, write_units_by_index
from tests.support.engines import Engine
from tests.support.models import Comment, Document
from tests.support.models import app as workspace_app


@pytest.fixture
def dynalite(dynalite_endpoint):
    """The engine whose read capacity is right."""
    return Engine("dynalite", dynalite_endpoint)


def comment(number, size):
    """A comment of about that many bytes."""
    return Comment(workspace_id="acme", doc_id="d", comment_id=str(number), body="b" * size)


@pytest.mark.parametrize("size", [10, 900, 5000])
def test_written_units_are_what_ministack_bills(full_app, size):
    """Table and index units of a create, an index move and a delete agree."""
    doc = Document(workspace_id="acme", doc_id="d1", title="t" * size)
    with full_app.meter() as meter:
        doc.create()
    row = doc.to_item()
    expected = write_units_by_index(
        row, None, indexes=full_app.indexes.values(), table_keys=full_app.key_names, type_attribute="EntityType"
    )
    assert meter.by_index == expected


def test_a_moved_entry_is_what_ministack_bills(full_app):
    """A save that changes the index key is one write in the table and two in the index."""
    doc = Document(workspace_id="acme", doc_id="d1", title="t").create()
    doc.title = "u"
    with full_app.meter() as meter:
        doc.save()
    assert meter.by_index == {"": 1, "GSI1": 2}


@pytest.mark.parametrize("consistent", [False, True])
def test_read_units_are_what_dynalite_bills(dynalite, table_name, recorder, consistent):
    """Gets and queries of rows about the edges of blocks agree."""
    with workspace_app.bound(name=table_name, **dynalite.connect_options()):
        workspace_app.create_table()
        rows = [comment(number, size).create() for number, size in enumerate([10, 3900, 4100, 9000])]
        sizes = [item_size(row.to_item()) for row in rows]
        with workspace_app.meter() as gets:
            keys = [Comment.key(workspace_id="acme", doc_id="d", comment_id=row.comment_id) for row in rows]
            assert all(key.get(consistent=consistent) for key in keys)
        with workspace_app.meter() as queries:
            Comment.query(workspace_id="acme", doc_id="d").consistent(consistent).all()
        workspace_app.delete_table()
    assert gets.units == sum(read_units(size, consistent=consistent) for size in sizes)
    assert queries.units == query_units(sum(sizes), consistent=consistent)


def test_the_two_dialects_of_capacity_are_read():
    """One entry, or a list of them in batches."""
    assert consumed_units({"ConsumedCapacity": [{"CapacityUnits": 1.0}, {"CapacityUnits": 2.0}]}) == {"": 3.0}
