"""Random writes of several entities, on ministack and on a plain dict, compared after each step.

In CI more than 2,000 steps are made; elsewhere a few.
"""

from __future__ import annotations

import os
from datetime import date
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tablekit import (
    ConditionFailed,
    ItemExists,
    ItemNotFound,
    KeyPartError,
    StaleEntity,
    TablekitError,
    VersionConflict,
)
from tests.support.write_models import Task, Ticket, app

EXAMPLES, STEPS = (50, 50) if "CI" in os.environ else (6, 25)

Key = tuple[type, Any]
KEYS = st.sampled_from([(Task, "t1"), (Task, "t2"), (Ticket, 1), (Ticket, 2)])
DUES = st.sampled_from([None, date(2024, 1, 1), date(2024, 2, 2)])
CHANGES: dict[type, st.SearchStrategy[dict[str, Any]]] = {
    Task: st.fixed_dictionaries(
        {}, optional={"title": st.sampled_from("ab"), "status": st.sampled_from(["open", "done"]), "due": DUES}
    ),
    Ticket: st.fixed_dictionaries(
        {}, optional={"status": st.sampled_from(["open", "closed"]), "priority": st.integers(1, 3)}
    ),
}
DEFAULTS: dict[type, dict[str, Any]] = {
    Task: {"title": "", "status": "open", "due": None},
    Ticket: {"status": "open", "priority": 3, "revision": 0},
}


def parts(key: Key) -> dict[str, Any]:
    """The key's fields."""
    cls, name = key
    return {"project": "p", "task_id": name} if cls is Task else {"project": "p", "number": name}


def values_of(entity: Any) -> dict[str, Any]:
    """The fields of an entity that the model keeps."""
    return {name: getattr(entity, name) for name in DEFAULTS[type(entity)]}


class Held:
    """An entity in the program's hands, and the values that it was loaded with."""

    def __init__(self, key: Key, entity: Any) -> None:
        self.key = key
        self.entity = entity
        self.base = values_of(entity)

    def changed(self) -> dict[str, Any]:
        """What the program changed."""
        return {name: value for name, value in values_of(self.entity).items() if value != self.base[name]}


class Writes(RuleBasedStateMachine):
    """The table and its model."""

    steps: ClassVar[int] = 0
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[Key, dict[str, Any]] = {}

    @initialize()
    def empty(self) -> None:
        """Begin with no rows."""
        for entity in app.query(Task, Ticket, project="p"):
            entity.delete(guard=False)

    def expect(self, wanted: type[TablekitError] | None, call: Any) -> Any:
        """Make a call that should raise an error of this very class, or none; gives its result, None after an error."""
        Writes.steps += 1
        if wanted is None:
            return call()
        with pytest.raises(wanted) as caught:
            call()
        assert type(caught.value) is wanted
        return None

    def bump(self, key: Key) -> None:
        """One write more."""
        if key[0] is Ticket:
            self.model[key]["revision"] += 1

    # Whole rows

    @rule(target=held, key=KEYS, data=st.data(), verb=st.sampled_from(["create", "save", "put"]))
    def write_new(self, key: Key, data: st.DataObject, verb: str) -> Held:
        """Create, save or put a new object."""
        entity = key[0](**parts(key), **data.draw(CHANGES[key[0]]))
        refused = key in self.model and (verb != "put" or key[0] is Ticket)
        if not refused:
            self.model[key] = values_of(entity) | ({"revision": 1} if key[0] is Ticket else {})
        self.expect(ItemExists if refused else None, getattr(entity, verb))
        return Held(key, key[0](**parts(key)) if refused else entity)

    @rule(target=held, key=KEYS)
    def get(self, key: Key) -> Held:
        """Read a row; a new object where there is none."""
        found = self.expect(None, lambda: key[0].key(**parts(key)).get(consistent=True))
        assert (None if found is None else values_of(found)) == self.model.get(key)
        return Held(key, found if found is not None else key[0](**parts(key)))

    @rule(held=held, data=st.data())
    def change(self, held: Held, data: st.DataObject) -> None:
        """Change an object in memory."""
        for name, value in data.draw(CHANGES[held.key[0]]).items():
            setattr(held.entity, name, value)

    @rule(held=held)
    def save(self, held: Held) -> None:
        """Save an object, however old it is."""
        if not self.loaded(held):
            return
        changed = held.changed()
        wanted = self.lost(held, changed) if changed else None
        if wanted is None and changed:
            self.model[held.key].update(changed)
            self.bump(held.key)
        self.expect(wanted, held.entity.save)
        if wanted is None:
            held.base = values_of(held.entity)

    @rule(held=held)
    def put(self, held: Held) -> None:
        """Put a loaded object as a whole."""
        if not self.loaded(held):
            return
        fenced = held.key[0] is Ticket and self.stored_version(held.key) != held.entity.revision
        if not fenced:
            self.model[held.key] = values_of(held.entity)
            self.bump(held.key)
        self.expect(VersionConflict if fenced else None, held.entity.put)
        if not fenced:
            held.base = values_of(held.entity)

    @rule(held=held)
    def delete(self, held: Held) -> None:
        """Delete a loaded object's row."""
        if not self.loaded(held):
            return
        found = self.stored_version(held.key)
        fenced = held.key[0] is Ticket and found is not None and found != held.entity.revision
        if not fenced:
            self.model.pop(held.key, None)
        self.expect(VersionConflict if fenced else None, held.entity.delete)

    def loaded(self, held: Held) -> bool:
        """Whether the object stands for a row; new ones have a rule of their own."""
        return "_tk_base" in held.entity.__dict__

    def stored_version(self, key: Key) -> int | None:
        """The model's version of a row, or None where there is no row."""
        return self.model[key].get("revision", 0) if key in self.model else None

    def lost(self, held: Held, changed: dict[str, Any]) -> type[TablekitError] | None:
        """What a save must be told, if anything."""
        if held.key not in self.model:
            return ItemNotFound
        if held.key[0] is Ticket:
            return VersionConflict if self.stored_version(held.key) != held.base["revision"] else None
        relied = {"status", "due"} - changed.keys() if {"status", "due"} & changed.keys() else set()
        if "due" in changed and changed["due"] is None:
            relied = set()
        moved = any(self.model[held.key][name] != held.base[name] for name in relied)
        return StaleEntity if moved else None

    # By key

    @rule(key=KEYS, data=st.data(), upsert=st.booleans(), check=st.booleans())
    def update_key(self, key: Key, data: st.DataObject, upsert: bool, check: bool) -> None:
        """Update by key, with or without upsert and a condition."""
        cls, row = key[0], self.model.get(key)
        changes = data.draw(CHANGES[cls].filter(bool))
        condition = (cls.status == "open") if check else None
        wanted = self.refused(cls, changes, upsert=upsert)
        if wanted is None and row is None and not upsert:
            wanted = ItemNotFound
        if wanted is None and check and (row is None or row["status"] != "open"):
            wanted = ConditionFailed
        if wanted is None:
            self.model[key] = (row or dict(DEFAULTS[cls])) | changes
            self.bump(key)
        actions = [getattr(cls, name).set(value) for name, value in changes.items()]
        self.expect(wanted, lambda: cls.key(**parts(key)).update(*actions, condition=condition, upsert=upsert))

    def refused(self, cls: type, changes: dict[str, Any], *, upsert: bool) -> type[TablekitError] | None:
        """Whether an index key would need a part that is not given."""
        made_of = {"status", "due"} if cls is Task else {"status", "priority"}
        out = ("due", None) if cls is Task else ("status", "closed")
        given = made_of & changes.keys()
        if out[0] in changes and changes[out[0]] == out[1]:
            return None
        if given and given != made_of:
            return KeyPartError
        # The default priority of a new ticket would feed its key; a new task's default keeps it out of the board.
        return KeyPartError if upsert and not given and cls is Ticket else None

    @rule(key=KEYS)
    def delete_key(self, key: Key) -> None:
        """Delete by key, there or not."""
        row = self.model.pop(key, None)
        found = self.expect(None, lambda: key[0].key(**parts(key)).delete(returning="old"))
        assert (None if found is None else values_of(found)) == row

    # What must always hold

    @invariant()
    def rows_are_the_models(self) -> None:
        """A query of the partition gives the model's rows, and the indexes those that belong in them."""
        found = {_key(entity): values_of(entity) for entity in app.query(Task, Ticket, project="p")}
        assert found == self.model
        board = {_key(task): values_of(task) for task in Task.board.query(project="p")}
        assert board == {k: v for k, v in self.model.items() if k[0] is Task and v["due"] is not None}
        queue = [_key(ticket) for ticket in Ticket.queue.query()]
        waiting = {k: v for k, v in self.model.items() if k[0] is Ticket and v["status"] == "open"}
        assert queue == sorted(waiting, key=lambda key: (waiting[key]["priority"], key[1]))


def _key(entity: Any) -> Key:
    return type(entity), entity.task_id if isinstance(entity, Task) else entity.number


def test_random_writes_agree_with_a_dict(connect_full) -> None:
    """Whatever the order of writes, the table and the indexes hold what a dict would."""
    connect_full(app)
    Writes.steps = 0
    chosen = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    run_state_machine_as_test(Writes, settings=chosen)
    assert Writes.steps > EXAMPLES * STEPS / 2
