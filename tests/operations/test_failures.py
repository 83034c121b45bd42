"""How a failed condition is named by the row that DynamoDB sent with it, word by word."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tablekit import (
    ConditionFailed,
    DecodeError,
    Entity,
    Field,
    GlobalIndex,
    ItemExists,
    ItemNotFound,
    MissingEntityType,
    StaleEntity,
    Table,
    VersionConflict,
    WrongEntityType,
    field,
    index_key,
    version,
)
from tablekit.definition.entity import schema_of
from tablekit.errors import TablekitError
from tablekit.operations.delete import plan_delete, plan_delete_key
from tablekit.operations.plans import Expectation, WritePlan, decode_result, decode_stored
from tablekit.operations.put import plan_put
from tablekit.operations.save import plan_save
from tablekit.operations.update import Update, plan_update
from tablekit.wire.requests import Request

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
app = Table("notes", indexes=[GlobalIndex("GSI1", pk="G1P", sk="G1S")])
KEY = {"PK": {"S": "N#1"}, "SK": {"S": "NOTE"}}
WHERE = "Note PK='N#1' SK='NOTE'"


class Note(Entity, table=app, pk="N#{note_id}", sk="NOTE", aliases=("Memo",)):
    """Versioned."""

    note_id: Field[str]
    text: Field[str] = field(default="")
    revision = version()


class Task(Note, table=app, pk="N#{note_id}", sk="NOTE"):
    """A note that keeps more."""

    done: Field[bool] = field(default=False)


class Plain(Entity, table=app, pk="P#{plain_id}", sk="PLAIN"):
    """Without a version, and in an index by two fields."""

    plain_id: Field[str]
    owner: Field[str] = field(default="ada")
    rank: Field[int] = field(default=1)
    by_owner = index_key("GSI1", pk="OWNER#{owner}", sk="{rank:03d}")


class Shelved(Entity, table=app, pk="S#{shelf_id}", sk="S"):
    """Stored under other names than its fields have."""

    shelf_id: Field[str]
    owner: Field[str] = field(default="ada", name="own")
    rank: Field[int] = field(default=1, name="rk")


def row(type: str | None = "Note", **more: Any) -> dict[str, Any]:
    """A stored note, version 2."""
    found = {**KEY, "note_id": {"S": "1"}, "text": {"S": "theirs"}, "revision": {"N": "2"}, **more}
    return found if type is None else {**found, "EntityType": {"S": type}}


def loaded() -> Note:
    """A note of version 1, as a reader has it."""
    return Note.from_item(row(revision={"N": "1"}))


def saving() -> WritePlan:
    """The save of a changed note."""
    note = loaded()
    note.text = "mine"
    plan = plan_save(note, NOW)
    assert plan is not None
    return plan


def updating(*, upsert: bool = False, condition: Any = None) -> WritePlan:
    """An update of a note by its key."""
    asked = Update((Note.text.set("mine"),), upsert=upsert, condition=condition)
    return plan_update(schema_of(Note), dict(KEY), {"note_id": "1"}, asked, NOW)


def creating() -> WritePlan:
    """The creation of a note."""
    return plan_put(Note(note_id="1"), NOW, create=True)


TAKEN = "there is a row under the key already"
FIRST = "another writer was first: version 1 was expected and"
AGAIN = "read the row again (.stored), apply the change to it and write once more."
FAILED = [
    (creating, row(), ItemExists, f"create of {{}}: {TAKEN}; get() it and save() the change, or use update()."),
    (creating, None, ItemExists, f"create of {{}}: {TAKEN}; get() it and save() the change, or use update()."),
    (
        lambda: plan_put(Note(note_id="1"), NOW),
        row(),
        ItemExists,
        (
            f"put of {{}}: {TAKEN}; an entity that was not loaded would reset its version: get() it first, or change "
            "it by update()."
        ),
    ),
    (saving, row(), VersionConflict, f"save of {{}}: {FIRST} its version is 2; {AGAIN}"),
    (saving, row(revision={"S": "x"}), VersionConflict, f"save of {{}}: {FIRST} its version is None; {AGAIN}"),
    (saving, None, ItemNotFound, "save of {}: there is no row under the key. Create it first."),
    (saving, row("Other"), WrongEntityType, "save of {}: the row is a 'Other', not a 'Note'. Nothing was changed."),
    (
        saving,
        row(None),
        MissingEntityType,
        (
            "save of {}: the row has no EntityType, and its class cannot be told by its key. Give the table "
            "untyped='infer', run the backfill, or switch the guard off for this call with guard=False."
        ),
    ),
    (
        saving,
        row("Task"),
        WrongEntityType,
        (
            "save of {}: the row is a 'Task', not a 'Note'. Nothing was changed. Task keeps more than Note does of "
            "what this write changes; write it through Task."
        ),
    ),
    (updating, None, ItemNotFound, "update of {}: there is no row under the key. Create it first, or say upsert=True."),
    (
        lambda: updating(condition=Note.text == "x"),
        row(),
        ConditionFailed,
        "update of {}: the condition did not hold; read .stored and decide.",
    ),
    (lambda: plan_delete(loaded()), row(), VersionConflict, f"delete of {{}}: {FIRST} its version is 2; {AGAIN}"),
    (lambda: plan_delete(loaded()), None, VersionConflict, f"delete of {{}}: {FIRST} the row is gone; {AGAIN}"),
    (
        lambda: plan_delete_key(schema_of(Note), KEY, condition=Note.text == "x"),
        None,
        ConditionFailed,
        "delete of {}: the condition did not hold, and there is no row.",
    ),
]


@pytest.mark.parametrize(("plan", "item", "kind", "message"), FAILED)
def test_a_failed_condition_is_named_in_full(plan: Any, item: Any, kind: type[TablekitError], message: str) -> None:
    """What was done, to which row, why it failed, and what to do; the key stands in the error as well."""
    error = plan().explain(item)
    assert type(error) is kind
    assert str(error) == message.format(WHERE)
    assert (error.pk, error.sk) == ("N#1", "NOTE")  # type: ignore[attr-defined]
    if isinstance(error, (ConditionFailed, ItemNotFound)):
        assert error.entity == "Note"
    if isinstance(error, ConditionFailed):
        assert error.item == item
    if isinstance(error, WrongEntityType):
        assert (error.expected, error.found) == (("Note", "Memo"), item["EntityType"]["S"])


def test_a_version_conflict_carries_what_is_stored() -> None:
    """The row as its own class, and both versions."""
    error = saving().explain(row())
    assert isinstance(error, VersionConflict)
    assert (error.expected, error.found, error.entity) == (1, 2, "Note")
    assert error.stored == Note.from_item(row())
    assert error.item == row()


def test_a_row_without_a_version_counts_as_version_0() -> None:
    """It was loaded so, and then something else failed."""
    bare = {name: value for name, value in row().items() if name != "revision"}
    note = Note.from_item(bare)
    note.text = "mine"
    plan = plan_save(note, NOW, condition=Note.text == "x")
    assert plan is not None
    assert type(plan.explain(bare)) is ConditionFailed
    conflict = saving().explain(bare)
    assert isinstance(conflict, VersionConflict)
    assert (conflict.expected, conflict.found, conflict.item) == (1, None, bare)


def test_an_index_key_that_rests_on_what_moved_names_the_fields() -> None:
    """A save that renders an index key of a field that it did not set relies on it."""
    stored = Plain(plain_id="1").to_item()
    plain = Plain.from_item(stored)
    plain.rank = 2
    plan = plan_save(plain, NOW)
    assert plan is not None

    error = plan.explain({**stored, "owner": {"S": "bob"}})

    assert isinstance(error, StaleEntity)
    assert error.fields == ("owner",)
    assert str(error) == (
        "save of Plain PK='P#1' SK='PLAIN': owner is not stored as this write relied on: another writer changed it; "
        "read the row again and repeat the change."
    )


def test_each_field_that_moved_is_named_and_the_row_is_carried() -> None:
    """By the names of the fields, however they are stored; and an attribute that is no field's by its own."""
    schema = schema_of(Shelved)
    expected = Expectation("save", pins={"rk": ({"N": "1"},), "own": ({"S": "ada"}, None), "GSI1PK": ({"S": "x"},)})
    plan = WritePlan(Request("UpdateItem", {}), schema, {"PK": {"S": "S#1"}, "SK": {"S": "S"}}, expected, dict)
    item = {**Shelved(shelf_id="1", owner="bob", rank=2).to_item(), "GSI1PK": {"S": "y"}}

    error = plan.explain(item)

    assert isinstance(error, StaleEntity)
    assert error.fields == ("rank", "owner", "GSI1PK")
    assert "rank, owner, GSI1PK is not stored as this write relied on" in str(error)
    assert error.item == item
    assert error.stored == Shelved(shelf_id="1", owner="bob", rank=2)
    assert "owner" not in getattr(plan.explain({**item, "own": {"S": "ada"}}), "fields", ())


def test_without_a_version_an_existing_row_has_another_remedy() -> None:
    """There is no version to reset."""
    error = plan_put(Plain(plain_id="1"), NOW, create=True).explain(Plain(plain_id="1").to_item())
    assert str(error).endswith("there is a row under the key already; use put() or update().")


def test_what_is_stored_is_decoded_as_its_own_class_or_not_at_all() -> None:
    """Nothing that goes wrong with it may hide the error that carries it."""
    schema = schema_of(Note)
    assert decode_stored(schema, None) is None
    assert type(decode_stored(schema, row("Task"))) is Task
    assert decode_stored(schema, row("Stranger")) is None
    assert decode_stored(schema, row("Task", done={"S": "x"})) is None
    assert decode_stored(schema, {**row(), "EntityType": {"N": "1"}}) is None
    untyped = {name: av for name, av in Shelved(shelf_id="1").to_item().items() if name != "EntityType"}
    assert decode_stored(schema, untyped) == Shelved(shelf_id="1")


def test_a_returned_row_that_cannot_be_read_says_that_the_write_was_applied() -> None:
    """The caller must not write again."""
    with pytest.raises(
        DecodeError, match=r"^The update was applied, and the row that it returned cannot be read\. \S"
    ) as caught:
        decode_result(schema_of(Note), row(text={"N": "1"}), "update")
    assert caught.value.args == (str(caught.value),)


@pytest.mark.parametrize(
    ("type", "exact", "kind"),
    [
        ("Note", False, Note),
        ("Task", False, Task),
        ("Task", True, Note),
        ("Stranger", False, Note),
        (None, False, Note),
    ],
)
def test_a_returned_row_is_of_its_own_class(type: str | None, exact: bool, kind: Any) -> None:
    """Unless the caller switched the guard off, and wants this very class."""
    found = decode_result(schema_of(Note), row(type), "update", exact=exact)
    assert found.__class__ is kind
