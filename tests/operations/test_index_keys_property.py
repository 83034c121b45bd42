"""For random entities and random updates, the keys on the row equal those of a fresh put of the resulting values."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablekit import KeyPartError, Table
from tests.support.rows import stored
from tests.support.write_models import Task, Ticket
from tests.support.write_models import app as writes_app

KEYS = ("PK", "SK", "EntityType", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "owner")
TASKS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["", "a", "b"]),
        "status": st.sampled_from(["open", "done"]),
        "due": st.none() | st.dates(date(2024, 1, 1), date(2024, 3, 1)),
        "owner": st.sampled_from([None, "ann", "bob"]),
        "points": st.integers(0, 9),
    },
)
TICKETS = st.fixed_dictionaries(
    {}, optional={"status": st.sampled_from(["open", "closed"]), "priority": st.integers(0, 99)}
)
CASES = st.tuples(st.just(Task), TASKS, st.lists(TASKS, max_size=4)) | st.tuples(
    st.just(Ticket), TICKETS, st.lists(TICKETS, max_size=4)
)
WAYS = st.sampled_from(["save", "put", "update", "update by key"])
PARTS = {Task: {"project": "p", "task_id": "t"}, Ticket: {"project": "p", "number": 7}}


@pytest.fixture
def writes(connect_full) -> Table:
    """The write models on one table of ministack for all examples."""
    return connect_full(writes_app)


def changed(entity, values, way):
    """The entity after a change that was made in one of the ways."""
    actions = [getattr(type(entity), name).set(value) for name, value in values.items()]
    if way == "update" and actions:
        return entity.update(*actions)
    if way == "update by key" and actions:
        try:
            return type(entity).key(**PARTS[type(entity)]).update(*actions)
        except KeyPartError:
            # A part is not known: refused before sending. Through the entity it is.
            return entity.update(*actions)
    for name, value in values.items():
        setattr(entity, name, value)
    return entity.put() if way == "put" else entity.save()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=CASES, data=st.data())
def test_the_keys_are_those_of_a_fresh_put(writes, case, data) -> None:
    """Save, put, update and update by key give the same keys for the same values."""
    cls, first, changes = case
    entity = cls(**PARTS[cls], **first).put(guard=False)
    for values in changes:
        entity = changed(entity, values, data.draw(WAYS))
    data_fields = {field.name: getattr(entity, field.name) for field in cls.__schema__.fields if field.given}
    fresh = cls(**data_fields).to_item()
    row = stored(writes, fresh["PK"]["S"], fresh["SK"]["S"])
    assert {name: row.get(name) for name in KEYS} == {name: fresh.get(name) for name in KEYS}
    assert cls.key(**PARTS[cls]).get(consistent=True) == entity
