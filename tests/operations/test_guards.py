"""Guards as they are built: rendered once for a class, and following the untyped policy."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tablekit import Entity, Field, Table, field, version
from tablekit.definition.entity import schema_of
from tablekit.expressions.conditions import Condition
from tablekit.operations.delete import plan_delete
from tablekit.operations.guards import (
    delete_guard,
    passes_untyped,
    present_guard,
    put_guard,
    type_condition,
    version_check,
)
from tablekit.operations.put import plan_put
from tablekit.operations.save import plan_save
from tablekit.wire.rendering import Renderer

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


def rendered(condition: Condition) -> tuple[str, dict[str, str], dict[str, Any]]:
    """A condition as it is sent: its text, names and values."""
    renderer = Renderer()
    text = renderer.render_condition(condition)
    return text, dict(renderer.names or {}), dict(renderer.values or {})


ONE = {":Note": {"S": "Note"}}
TWO = {":Note": {"S": "Note"}, ":Memo": {"S": "Memo"}}


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (type_condition(schema_of(Note), ("Note",)), "#EntityType = :Note", ONE),
        (type_condition(schema_of(Note), ("Note", "Memo")), "#EntityType IN (:Note, :Memo)", TWO),
        (put_guard(schema_of(Note), ("Note",)), "attribute_not_exists(#PK) OR #EntityType = :Note", ONE),
        (
            put_guard(schema_of(Note), ("Note",), untyped=True),
            "attribute_not_exists(#PK) OR #EntityType = :Note OR attribute_not_exists(#EntityType)",
            ONE,
        ),
        (delete_guard(schema_of(Note), ("Note",)), "attribute_not_exists(#PK) OR #EntityType = :Note", ONE),
        (
            delete_guard(schema_of(Note), ("Note", "Memo"), untyped=True),
            "attribute_not_exists(#PK) OR #EntityType IN (:Note, :Memo) OR attribute_not_exists(#EntityType)",
            TWO,
        ),
        (present_guard(schema_of(Note), ("Note",)), "#EntityType = :Note", ONE),
        (
            present_guard(schema_of(Note), ("Note",), untyped=True),
            "attribute_exists(#PK) AND (#EntityType = :Note OR attribute_not_exists(#EntityType))",
            ONE,
        ),
        (
            version_check(schema_of(Note), 0),
            "attribute_exists(#PK) AND attribute_not_exists(#revision)",
            {},
        ),
        (version_check(schema_of(Note), 3), "#revision = :revision_before", {":revision_before": {"N": "3"}}),
    ],
)
def test_each_guard_is_exact(condition: Condition, text: str, values: dict[str, Any]) -> None:
    """A row is there or not, is of the class, and has the version that was loaded."""
    assert rendered(condition)[0] == text
    assert rendered(condition)[2] == values
