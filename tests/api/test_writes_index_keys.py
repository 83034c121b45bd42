"""Index keys: recomputed by every write that touches a field they are made of."""

from __future__ import annotations

from datetime import date

import pytest

from tablekit import KeyPartError, Table
from tablekit.errors import EncodeError, LimitExceeded
from tests.support.rows import assigned, data_calls, only, removed, store, stored
from tests.support.write_models import Task, Ticket
from tests.support.write_models import app as writes_app


@pytest.fixture
def writes(connect) -> Table:
    """The table of the write models, on each engine in turn."""
    return connect(writes_app)


def task(**values) -> Task:
    """A stored task."""
    return Task(project="p", task_id="t", **values).create()


KEY = Task.key(project="p", task_id="t")


def test_r24_a_missing_part_is_named(writes, recorder) -> None:
    """R24: an update by key of one part is refused before sending and names the other."""
    with pytest.raises(KeyPartError, match="due") as caught:
        KEY.update(Task.status.set("done"))
    assert caught.value.part == "due"
    assert data_calls(recorder) == []


def test_r24_a_loaded_entity_supplies_the_part(writes, recorder) -> None:
    """R24: through an entity both are sent, and the loaded part is asserted."""
    loaded = task(due=date(2024, 5, 1))
    loaded.update(Task.status.set("done"))
    sent = only(recorder.sent("UpdateItem"))
    assert {"status", "GSI1PK", "GSI1SK"} <= set(assigned(sent))
    assert "due_before" in sent["ConditionExpression"]
    assert stored(writes, "PROJ#p", "TASK#t")["GSI1SK"] == {"S": "done#2024-05-01"}


def test_r24_a_computed_part_is_refused(writes) -> None:
    """R24: a value that only DynamoDB will know cannot be part of a key."""
    loaded = Ticket(project="p", number=1).create()
    with pytest.raises(KeyPartError, match="only DynamoDB knows"):
        loaded.update(Ticket.priority.add(1))


def test_r25_leaving_a_sparse_index(writes, recorder) -> None:
    """R25: clearing the field that gates the index removes both keys in the same request as the rest."""
    loaded = task(due=date(2024, 5, 1))
    loaded.update(Task.due.set(None), Task.title.set("t2"))
    sent = only(recorder.sent("UpdateItem"))
    assert removed(sent) == {"due", "GSI1PK", "GSI1SK"}
    assert Task.board.query(project="p").all() == []
    assert Task.get_or_raise(project="p", task_id="t").title == "t2"
    loaded.due = date(2024, 6, 1)
    loaded.save()
    assert Task.board.query(project="p").all() == [loaded]


def test_r25_leaving_needs_no_other_part(writes) -> None:
    """R25: by key, clearing the gating field is enough, whatever the other parts are."""
    task(due=date(2024, 5, 1), status="done")
    KEY.update(Task.due.set(None))
    assert "GSI1PK" not in stored(writes, "PROJ#p", "TASK#t")


def test_when_decides_membership(writes) -> None:
    """A row enters and leaves the index as ``when=`` says, by save and by update."""
    ticket = Ticket(project="p", number=1, priority=2).create()
    ticket.status = "closed"
    ticket.save()
    assert Ticket.queue.query().all() == []
    ticket.update(Ticket.status.set("open"))
    assert stored(writes, "PROJ#p", "TICKET#000001")["GSI1SK"] == {"S": "02#000001"}
    Ticket.key(project="p", number=1).update(Ticket.status.set("closed"))
    assert "GSI1SK" not in stored(writes, "PROJ#p", "TICKET#000001")


def test_a_key_that_a_row_lacks_stays_absent_until_a_part_changes(writes) -> None:
    """A save does not fill in an index key that an older writer left out; a change of a part does."""
    made = task(due=date(2024, 5, 1))
    row = {name: value for name, value in stored(writes, "PROJ#p", "TASK#t").items() if name != "GSI1PK"}
    store(writes, row)
    made.refresh()
    made.title = "x"
    made.save()
    assert "GSI1PK" not in stored(writes, "PROJ#p", "TASK#t")
    made.status = "done"
    made.save()
    assert stored(writes, "PROJ#p", "TASK#t")["GSI1PK"] == {"S": "PROJ#p"}


def test_a_put_of_a_loaded_entity_recomputes_all(writes) -> None:
    """A put writes the keys of its values, and leaves out those it has no values for."""
    made = task(due=date(2024, 5, 1))
    made.due = None
    made.put()
    assert stored(writes, "PROJ#p", "TASK#t") == made.to_item()


@pytest.mark.parametrize("write", ["put", "save", "update"])
def test_an_empty_native_key_is_refused(writes, recorder, write) -> None:
    """A field that is itself an index key may be missing, not empty; DynamoDB would refuse the row."""
    made = task(owner="ann")
    with pytest.raises(EncodeError, match="ByOwner"):
        if write == "update":
            KEY.update(Task.owner.set(""))
        else:
            made.owner = ""
            getattr(made, write)()
    assert data_calls(recorder) == ["PutItem"]
    made.owner = None
    made.save()
    assert "owner" not in stored(writes, "PROJ#p", "TASK#t")


def test_a_native_key_that_is_too_long_is_refused(writes, recorder) -> None:
    """A field that is itself an index key is measured before anything is sent."""
    with pytest.raises(LimitExceeded, match=r"Task\.owner, a key of index 'ByOwner', has 2049 bytes"):
        task(owner="x" * 2049)
    assert data_calls(recorder) == []
