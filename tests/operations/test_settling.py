"""What an entity counts as changed after a write, with what was set on it while the write was on its way."""

from __future__ import annotations

from datetime import datetime, timezone

from tablekit import Entity, Field, Table, field, updated_at
from tablekit.definition.entity import DIRTY, PARTIAL, schema_of
from tablekit.operations.put import plan_put
from tablekit.operations.save import changed_fields, plan_save

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
app = Table("cards")


class Card(Entity, table=app, pk="CARD#{card_id}", sk="META"):
    """One scalar, one that may be None, one that changes in place, and a managed one."""

    card_id: Field[str]
    title: Field[str] = field(default="")
    note: Field[str | None] = field(default=None)
    tags: Field[list[str]] = field(factory=list)
    changed_at = updated_at()


def changed(card: Card) -> dict[str, object]:
    """The fields that a save would send, with the values they had."""
    return changed_fields(card, schema_of(card))


def loaded(**fields: str) -> Card:
    """A card as a query with a projection gives it: the key and these fields alone."""
    card = Card.from_item(Card(card_id="1", **fields).to_item())
    for name in ("title", "note", "tags"):
        if name not in fields:
            del card.__dict__[name]
    card.__dict__[PARTIAL] = frozenset({"card_id", *fields})
    return card


def test_nothing_is_changed_after_a_put() -> None:
    """No field stays in the journal: a save of a row that was just put costs no comparison."""
    card = Card(card_id="1", title="a", tags=["x"])
    card.title = "b"

    plan_put(card, NOW).apply({})

    assert DIRTY not in card.__dict__
    assert changed(card) == {}
    assert plan_save(card, NOW) is None


def test_nothing_is_changed_after_a_save() -> None:
    """What was sent is what was loaded from then on, the managed fields included."""
    card = Card.from_item(Card(card_id="1", title="a").to_item())
    card.title = "b"
    card.tags.append("x")
    plan = plan_save(card, NOW)
    assert plan is not None

    plan.apply({})

    assert DIRTY not in card.__dict__
    assert changed(card) == {}
    assert card.changed_at == NOW


def test_a_field_that_is_set_on_the_way_stays_a_change_from_what_was_sent() -> None:
    """Setting it back to what was sent leaves nothing to save; another value is saved."""
    card = Card(card_id="1", title="first", tags=["x"])
    plan = plan_put(card, NOW)
    card.title = "later"
    card.tags.append("y")

    plan.apply({})

    assert card.__dict__[DIRTY] == {"title": "first"}
    assert changed(card) == {"title": "first", "tags": ["x"]}
    card.title = "first"
    card.tags.pop()
    assert changed(card) == {}


def test_a_field_that_was_not_loaded_and_is_set_on_the_way_stays_a_change() -> None:
    """None as well: what is stored is not known."""
    card = loaded(title="a")
    card.title = "b"
    plan = plan_save(card, NOW)
    assert plan is not None
    card.note = None

    plan.apply({})

    assert set(changed(card)) == {"note"}


def test_a_partial_entity_knows_what_was_sent() -> None:
    """A field that was set before it was loaded counts as loaded once it was written; the others do not."""
    card = loaded(title="a")
    card.note = "n"
    plan = plan_save(card, NOW)
    assert plan is not None

    plan.apply({})

    assert card.__dict__[PARTIAL] == {"card_id", "title", "note", "changed_at"}
    assert changed(card) == {}


def test_a_whole_entity_stays_whole() -> None:
    """A write makes no entity partial."""
    card = Card(card_id="1")

    plan_put(card, NOW).apply({})

    assert PARTIAL not in card.__dict__
