"""Guards as they are built: rendered once for a class, and following the untyped policy."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from tablekit import Entity, Field, Table, field, version
from tablekit.definition.entity import schema_of
from tablekit.operations.delete import plan_delete
from tablekit.operations.guards import passes_untyped
from tablekit.operations.put import plan_put
from tablekit.operations.save import plan_save

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
inferring = Table("inferring-app", untyped="infer")


class Note(Entity, table=inferring, pk="N#{note_id}", sk="NOTE", aliases=("Memo",)):
    """Versioned, with an alias."""

    note_id: Field[str]
    text: Field[str] = field(default="")
    revision = version()


def loaded(revision: int) -> Note:
    """A note as a reader has it."""
    item = {**Note(note_id="1").to_item(), "revision": {"N": str(revision)}, "_w": {"S": "m"}}
    return Note.from_item(item)


@pytest.mark.parametrize("plan", [lambda note: plan_put(note, NOW), plan_delete], ids=["put", "delete"])
def test_a_guard_is_rendered_once(plan) -> None:
    """Two requests share text and names, and each checks the version of its own entity."""
    first, second = plan(loaded(1)).request.body, plan(loaded(7)).request.body
    assert first["ConditionExpression"] is second["ConditionExpression"]
    assert first["ExpressionAttributeValues"][":revision_before"] == {"N": "1"}
    assert second["ExpressionAttributeValues"][":revision_before"] == {"N": "7"}


def test_a_rendered_guard_is_the_one_that_is_rendered_anew() -> None:
    """With a condition of the caller the same guard stands in the request, in full."""
    alone = plan_put(loaded(1), NOW).request.body
    along = plan_put(loaded(1), NOW, condition=Note.text == "x").request.body
    assert along["ConditionExpression"].endswith(alone["ConditionExpression"])
    assert alone["ExpressionAttributeValues"].items() <= along["ExpressionAttributeValues"].items()


def test_a_guard_takes_the_aliases() -> None:
    """Old spellings of the type pass."""
    values = plan_put(loaded(1), NOW).request.body["ExpressionAttributeValues"]
    assert {"S": "Memo"} in values.values()


def test_an_untyped_row_passes_by_its_key() -> None:
    """Where the table infers types, only a key that the class alone renders lets an untyped row pass."""
    schema = schema_of(Note)
    key = {"PK": {"S": "N#1"}, "SK": {"S": "NOTE"}}
    assert passes_untyped(schema, schema.own_types, key)
    assert not passes_untyped(schema, schema.own_types, {**key, "SK": {"S": "OLD"}})


def test_planning_does_not_touch_the_entity() -> None:
    """Building a request changes nothing in memory."""
    note = loaded(1)
    note.text = "x"
    before = {name: repr(value) for name, value in note.__dict__.items()}
    plan_save(note, NOW)
    plan_put(note, NOW)
    plan_delete(note)
    assert {name: repr(value) for name, value in note.__dict__.items()} == before
