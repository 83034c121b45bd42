"""What the requests of a block consumed, added up."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor

import pytest

from tablekit import ItemExists, Throttled
from tablekit.operations.observe import FILTERED, Meter, Observation
from tests.support.models import Comment, Document, Status, Workspace
from tests.support.models import app as workspace_app
from tests.support.stub import error, ok


def fill(documents=3, comments=2):
    """A workspace with documents and comments."""
    Workspace(workspace_id="acme", name="Acme").create()
    for number in range(documents):
        Document(workspace_id="acme", doc_id=str(number), title="t").create()
    for number in range(comments):
        Comment(workspace_id="acme", doc_id="0", comment_id=str(number), body="b").create()


def test_units_fall_to_operation_and_type(app):
    """Each write's units stand under its operation and its type."""
    with app.meter() as meter:
        Workspace(workspace_id="acme", name="Acme").create()
        Workspace.get(workspace_id="acme")
    assert meter.requests == 2
    assert meter.by_operation == {"PutItem": 1, "GetItem": 0.5}
    assert meter.by_entity == {"Workspace": 1.5}
    assert meter.units == 1.5
    assert meter.seconds >= meter.slowest > 0


def test_units_fall_to_indexes(full_app):
    """A row in an index is written there too, and reading the index costs nothing in the table."""
    with full_app.meter() as writes:
        Document(workspace_id="acme", doc_id="d1", title="t").create()
    with full_app.meter() as reads:
        Document.feed.query(workspace_id="acme").all()
    assert writes.by_index == {"": 1, "GSI1": 1}
    assert reads.by_index == {"GSI1": 0.5, "": 0}


def test_rows_are_counted_read_returned_and_discarded(app):
    """Rows that a filter drops are read and billed, and seen."""
    fill()
    with app.meter() as meter:
        found = Document.query(workspace_id="acme").all()
    assert len(found) == 3
    assert meter.returned == {"Document": 3}
    assert meter.items == 3 + sum(meter.discarded.values())


def test_a_filter_of_the_caller_is_counted(app):
    """Rows that a condition drops on the server have no type that is known."""
    fill(comments=0)
    with app.meter() as meter:
        Document.query(workspace_id="acme").where(Document.status == Status.PUBLISHED).all()
    assert (meter.items, meter.returned, meter.discarded) == (3, {}, {FILTERED: 3})


def test_a_mixed_page_is_divided_by_the_size_of_its_rows(app):
    """One request on several types: each pays for its rows, and the shares are the whole."""
    fill()
    with app.meter() as meter:
        list(app.query(Document, Comment, workspace_id="acme"))
    assert set(meter.by_entity) == {"Document", "Comment"}
    assert sum(meter.by_entity.values()) == pytest.approx(meter.units)
    assert meter.by_entity["Document"] > meter.by_entity["Comment"]


@pytest.mark.transactions
def test_a_transaction_is_metered(app):
    """A transaction is one request, at twice the units, divided among its types."""
    with app.meter() as meter, app.transaction() as tx:
        tx.create(Workspace(workspace_id="acme", name="Acme"))
        tx.create(Comment(workspace_id="acme", doc_id="d", comment_id="c", body="b"))
    assert meter.by_operation == {"TransactWriteItems": 4}
    assert meter.by_entity == {"Workspace": 2, "Comment": 2}


def test_batches_are_metered_in_threads(app):
    """Batches run in threads of their own, and still count into the meter of the block."""
    with app.meter() as meter:
        with app.batch() as batch:
            for number in range(60):
                batch.put(Comment(workspace_id="acme", doc_id="d", comment_id=str(number), body="b"))
        found = app.batch_get([Comment.key(workspace_id="acme", doc_id="d", comment_id=str(n)) for n in range(120)])
    assert sum(entity is not None for entity in found) == 60
    assert (meter.requests, meter.items, meter.returned) == (5, 60, {"Comment": 60})


def test_gets_count_what_they_find(app):
    """A missing row is read as nothing, and billed."""
    with app.meter() as meter:
        Document.get(workspace_id="acme", doc_id="none")
    assert (meter.items, meter.returned, meter.units) == (0, {}, 0.5)


def test_a_failure_is_counted_by_its_code(app):
    """A failed condition is a request too, though DynamoDB does not say what it billed."""
    workspace = Workspace(workspace_id="acme", name="Acme").create()
    with app.meter() as meter, pytest.raises(ItemExists):
        Workspace(workspace_id="acme", name="Rival").create()
    assert meter.errors["ConditionalCheckFailedException"] == 1
    assert workspace.name == "Acme"


def test_retries_are_counted(stub):
    """A throttled request is sent again, and the meter says so."""
    stub.script("GetItem", error("ProvisionedThroughputExceededException"), ok({}))
    with workspace_app.bound(name="t", port=stub.port()), workspace_app.meter() as meter:
        Workspace.get(workspace_id="acme")
    assert (meter.requests, meter.retries) == (1, 1)


def test_retries_of_a_request_that_fails_are_counted(stub):
    """A request that was throttled to its end counts every attempt."""
    stub.always("GetItem", error("ThrottlingException"))
    bound = workspace_app.bound(name="t", port=stub.port(max_attempts=3))
    with bound, workspace_app.meter() as meter, pytest.raises(Throttled):
        Workspace.get(workspace_id="acme")
    assert (meter.requests, meter.retries, sum(meter.errors.values())) == (1, 2, 1)


def test_the_callback_sees_each_request_without_values(app):
    """A callback is given operation, table, index and type, and nothing that an item holds."""
    seen: list[Observation] = []
    with app.meter(seen.append):
        Workspace(workspace_id="acme", name="hush").create()
        Document.feed.query(workspace_id="acme").limit(5).all()
    assert [(each.operation, each.index, each.entity) for each in seen] == [
        ("PutItem", None, "Workspace"),
        ("Query", "GSI1", "Document"),
    ]
    assert seen[1].options["Limit"] == 5
    assert "hush" not in repr(seen)


def test_a_callback_that_fails_changes_nothing(app, caplog):
    """A write that succeeded has succeeded, whatever its watcher does; the failure is logged."""

    def fail(seen):
        raise RuntimeError("broken")

    with app.meter(fail) as meter:
        Workspace(workspace_id="acme", name="Acme").create()
    assert meter.requests == 1
    assert "callback of a meter failed" in caplog.text


def test_operations_on_tables_are_requests_without_units(app):
    """Describing a table asks for no capacity, which DynamoDB would refuse there."""
    with app.meter() as meter:
        app.describe_table()
    assert (meter.requests, meter.units) == (1, 0)


def test_meters_nest(app):
    """The inner meter's requests are the outer one's too."""
    with app.meter() as outer:
        Workspace.get(workspace_id="a")
        with app.meter() as inner:
            Workspace.get(workspace_id="b")
    assert (outer.requests, inner.requests) == (2, 1)


def test_threads_share_a_meter(app):
    """Workers that run in a copy of the context count into one meter, and lose nothing."""
    with app.meter() as meter, ThreadPoolExecutor(4) as pool:
        calls = [contextvars.copy_context() for _ in range(40)]
        list(pool.map(lambda context: context.run(Workspace.get, workspace_id="acme"), calls))
    assert (meter.requests, meter.units, meter.by_operation) == (40, 20, {"GetItem": 20})


def test_a_meter_adds_under_contention():
    """Many threads that observe at once lose no request."""
    meter = Meter()
    seen = Observation(operation="GetItem", table="t", units={"": 0.5}, by_entity={"Document": 0.5}, read=1, count=1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [meter.observe(seen) for _ in range(500)], range(8)))
    assert (meter.requests, meter.units, meter.items, meter.by_entity) == (4000, 2000, 4000, {"Document": 2000})


def test_a_meter_reads_well(app):
    """A meter printed is a summary."""
    with app.meter() as meter:
        Workspace.get(workspace_id="acme")
    assert "0.5 units in 1 requests" in str(meter)
    assert "by entity: Workspace 0.5" in str(meter)
