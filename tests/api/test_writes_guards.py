"""The type guard: no call through one class touches another's row."""

from __future__ import annotations

import pytest

from tablekit import (
    Entity,
    Field,
    ItemExists,
    MissingEntityType,
    Table,
    WrongEntityType,
    field,
)
from tests.support.models import Document, Member
from tests.support.rows import assigned, only, store, stored
from tests.support.write_models import Animal, Dog, Racer, Runner
from tests.support.write_models import app as writes_app

LEGACY = Table("legacy-app", untyped="infer")


class Note(Entity, table=LEGACY, pk="N#{note_id}", sk="NOTE"):
    """A class whose old rows have no type."""

    note_id: Field[str]
    text: Field[str] = field(default="")


@pytest.fixture
def writes(connect) -> Table:
    """The table of the write models, on each engine in turn."""
    return connect(writes_app)


@pytest.fixture
def legacy(connect) -> Table:
    """A table that infers types, on each engine in turn."""
    return connect(LEGACY)


def foreign(table: Table) -> dict:
    """A row of another type under a member's key."""
    item = {**Member(workspace_id="a", email="x").to_item(), "EntityType": {"S": "Invoice"}}
    store(table, item)
    return item


@pytest.mark.parametrize(
    "write",
    [
        lambda: Member(workspace_id="a", email="x").put(),
        lambda: Member.key(workspace_id="a", email="x").update(Member.role.set("o")),
        lambda: Member.key(workspace_id="a", email="x").update(Member.role.set("o"), upsert=True),
        lambda: Member.key(workspace_id="a", email="x").delete(),
        lambda: Member(workspace_id="a", email="x").delete(),
        lambda: Member(workspace_id="a", email="x").update(Member.role.set("o")),
    ],
)
def test_r23_another_types_row_is_left_alone(app: Table, write) -> None:
    """R23: put, update, upsert and delete through the wrong class are refused, and the row is unchanged."""
    item = foreign(app)
    with pytest.raises(WrongEntityType) as caught:
        write()
    assert (caught.value.found, caught.value.expected) == ("Invoice", ("Member",))
    assert stored(app, "WS#a", "MEMBER#x") == item


def test_r23_the_guard_can_be_switched_off(app: Table) -> None:
    """R23: with ``guard=False`` a put replaces the row and a delete removes it."""
    foreign(app)
    Member(workspace_id="a", email="x").put(guard=False)
    assert stored(app, "WS#a", "MEMBER#x")["EntityType"] == {"S": "Member"}
    foreign(app)
    Member.key(workspace_id="a", email="x").delete(guard=False)
    assert stored(app, "WS#a", "MEMBER#x") is None


def test_an_unguarded_update_changes_no_type(app: Table) -> None:
    """An update without the guard writes its fields and leaves the type that is there."""
    foreign(app)
    Member.key(workspace_id="a", email="x").update(Member.role.set("o"), guard=False, returning=None)
    row = stored(app, "WS#a", "MEMBER#x")
    assert (row["EntityType"], row["role"]) == ({"S": "Invoice"}, {"S": "o"})


def test_r23_refresh_keeps_the_class(writes) -> None:
    """R23: a subclass's entity is refreshed as what it is."""
    dog = Dog(animal_id="1", name="Rex").create()
    Animal.key(animal_id="1").update(Animal.weight.set(30))
    assert type(dog.refresh()) is Dog
    assert dog.weight == 30


def test_deleting_a_missing_row_succeeds(app: Table) -> None:
    """Gone is what a delete wants; the old row comes back only when asked for."""
    key = Member.key(workspace_id="a", email="x")
    assert key.delete() is None
    member = Member(workspace_id="a", email="x").create()
    assert key.delete(returning="old") == member
    assert key.delete(returning="old") is None
    member.delete()


def test_a_deleted_entity_can_be_created_again(app: Table) -> None:
    """The object lives on as one that was never stored."""
    doc = Document(workspace_id="a", doc_id="d", title="t").create()
    doc.title = "u"
    doc.save()
    doc.delete()
    doc.save()
    assert Document.get_or_raise(workspace_id="a", doc_id="d").revision == 1


def test_a_keyed_update_through_a_base_does_not_restamp(writes, recorder) -> None:
    """A class with subclasses writes its type with if_not_exists, and gets a subclass's row back as that class."""
    Dog(animal_id="1", tricks=3).create()
    found = Animal.key(animal_id="1").update(Animal.name.set("Rex"))
    assert (type(found), found.name, found.tricks) == (Dog, "Rex", 3)
    assert assigned(only(recorder.sent("UpdateItem")))["EntityType"].startswith("if_not_exists(EntityType")


def test_an_alias_is_taken_and_rewritten_by_save(writes) -> None:
    """A row under an old spelling passes the guard; the next save writes the new one."""
    dog = Dog(animal_id="1").create()
    store(writes, {**dog.to_item(), "EntityType": {"S": "Hound"}})
    dog.name = "Rex"
    dog.save()
    assert stored(writes, "ANIMAL#1", "ANIMAL")["EntityType"] == {"S": "Dog"}


def test_a_put_through_the_base_does_not_replace_a_subclass(writes) -> None:
    """A put writes the whole row, and would drop what the subclass keeps."""
    Dog(animal_id="1").create()
    with pytest.raises(WrongEntityType):
        Animal(animal_id="1").put()


def test_a_base_does_not_update_what_a_subclass_indexes(writes) -> None:
    """The base knows nothing of the subclass's index key, so that its update passes such rows by and says why."""
    racer = Racer(runner_id="1", weight=50).create()
    Runner(runner_id="2", weight=50).create()
    with pytest.raises(WrongEntityType, match="through Racer"):
        Runner.key(runner_id="1").update(Runner.weight.set(60))
    assert Runner.key(runner_id="2").update(Runner.weight.set(60)).weight == 60
    assert Runner.key(runner_id="1").update(Runner.note.set("fast")).note == "fast"
    assert stored(writes, "RUNNER#1", "RUNNER") == {**racer.to_item(), "note": {"S": "fast"}}


def test_create_tells_of_any_row(app: Table) -> None:
    """A create under a key that is taken is `ItemExists`, whatever the type."""
    foreign(app)
    with pytest.raises(ItemExists):
        Member(workspace_id="a", email="x").create()


UNTYPED = {"PK": {"S": "N#1"}, "SK": {"S": "NOTE"}, "note_id": {"S": "1"}}


def test_an_untyped_row_passes_where_reads_infer_its_class(legacy) -> None:
    """A read would take the row for a note, so that a write may; it is stamped by the way."""
    store(legacy, UNTYPED)
    Note.key(note_id="1").update(Note.text.set("t"))
    assert stored(legacy, "N#1", "NOTE")["EntityType"] == {"S": "Note"}


def test_an_untyped_row_under_a_foreign_key_does_not_pass(legacy) -> None:
    """Reads could not tell its class by the key, so that a write must not take it for one."""
    store(legacy, {**UNTYPED, "SK": {"S": "OLD"}, "EntityType": {"S": "Note"}})
    note = Note.from_item(stored(legacy, "N#1", "OLD"))
    store(legacy, {**UNTYPED, "SK": {"S": "OLD"}})
    note.text = "t"
    with pytest.raises(MissingEntityType):
        note.save()


def test_an_untyped_row_is_refused_where_reads_raise(app: Table) -> None:
    """The guard follows the untyped policy; without the guard the row is written and stamped."""
    item = Member(workspace_id="a", email="x").to_item()
    del item["EntityType"]
    store(app, item)
    key = Member.key(workspace_id="a", email="x")
    with pytest.raises(MissingEntityType):
        key.update(Member.role.set("o"))
    assert key.update(Member.role.set("o"), guard=False).role == "o"
    assert stored(app, "WS#a", "MEMBER#x")["EntityType"] == {"S": "Member"}
