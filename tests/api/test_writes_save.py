"""Saving: what changed is sent, and nothing else is lost."""

from __future__ import annotations

from datetime import date

import pytest

from tablekit import ItemExists, ItemNotFound, PartialEntity, StaleEntity, Table, WrongEntityType
from tests.support.models import Document, Member, Workspace
from tests.support.rows import assigned, only, removed, rows, store, stored
from tests.support.write_models import Card, Contact, Place, Task
from tests.support.write_models import app as writes_app


@pytest.fixture
def writes(connect) -> Table:
    """The table of the write models, on each engine in turn."""
    return connect(writes_app)


def loaded_card(**values) -> Card:
    """A card as a reader gets it."""
    Card(card_id="c", **values).create()
    return Card.key(card_id="c").get_or_raise(consistent=True)


def test_saving_a_new_entity_creates_it(app: Table) -> None:
    """A second new object under the key does not overwrite the first."""
    Member(workspace_id="a", email="x").save()
    with pytest.raises(ItemExists):
        Member(workspace_id="a", email="x", role="owner").save()


def test_nothing_changed_sends_nothing(writes, recorder) -> None:
    """A save without changes is no request; so is one after a value was set back."""
    card = loaded_card(labels={"a"}, items=["x"])
    card.save()
    card.enabled = True
    card.enabled = False
    card.items.append("y")
    card.items.pop()
    card.save()
    assert recorder.sent("UpdateItem") == []


def test_changes_inside_containers_are_seen(writes, recorder) -> None:
    """A set, a dict and a list that were changed in place are sent, other fields are not."""
    card = loaded_card(labels={"a"}, items=["x"], meta={"k": "v"})
    card.labels.add("b")
    card.items.append("y")
    card.meta["k"] = "w"
    card.save()
    assert set(assigned(only(recorder.sent("UpdateItem")))) == {"labels", "items", "meta", "EntityType"}
    assert Card.get(card_id="c") == card


def test_a_nested_change_is_sent_by_path(writes, recorder) -> None:
    """A nested object is compared attribute by attribute, at every depth."""
    card = loaded_card(contact=Contact("Ann", Place("Main St", "Reno", "CA")))
    card.contact.place.state = "NV"
    card.save()
    assert set(assigned(only(recorder.sent("UpdateItem")))) == {"contact.place.state", "EntityType"}
    assert Card.get(card_id="c") == card


def test_a_nested_value_that_may_be_missing_is_sent_whole(writes, recorder) -> None:
    """A nested value that reads as its default may not be stored, and a path into it would fail."""
    row = {"PK": {"S": "CARD#c"}, "SK": {"S": "CARD"}, "EntityType": {"S": "Card"}, "card_id": {"S": "c"}}
    store(writes, {**row, "contact": {"M": {"name": {"S": "Ann"}}}})
    card = Card.get_or_raise(card_id="c")
    card.contact.place.city = "Reno"
    card.save()
    assert Card.get_or_raise(card_id="c").contact == Contact("Ann", Place("", "Reno"))


def test_attributes_that_the_class_does_not_know_survive(writes) -> None:
    """They stay at the top and inside nested values, through save and through put."""
    card = loaded_card(contact=Contact("Ann", Place("Main St", "Reno")))
    row = stored(writes, "CARD#c", "CARD")
    row["legacy"] = {"N": "7"}
    row["contact"]["M"]["place"]["M"]["zip"] = {"S": "89501"}
    store(writes, row)
    card.refresh()
    card.contact.place.city = "Elko"
    card.save()
    card.contact.place.street = "Oak St"
    card.put()
    after = stored(writes, "CARD#c", "CARD")
    assert after["legacy"] == {"N": "7"}
    assert after["contact"]["M"]["place"]["M"]["zip"] == {"S": "89501"}


def test_none_removes_the_attribute(writes, recorder) -> None:
    """None in a field whose default is None is written by leaving the attribute out."""
    card = loaded_card(contact=Contact("Ann"))
    card.contact = None
    card.save()
    assert removed(only(recorder.sent("UpdateItem"))) == {"contact"}
    assert Card.get(card_id="c") == card


def test_a_secret_is_masked_in_the_request(writes) -> None:
    """A dry run shows a saved secret as stars."""
    card = loaded_card(secret="before")
    card.secret = "hush-hush"
    with writes.dry_run() as plan:
        card.save()
    assert "hush-hush" not in str(plan)
    assert "hush-hush" not in repr(plan.requests)


def test_a_dry_run_leaves_the_entity_as_it_was(app: Table, recorder) -> None:
    """Building a request changes nothing: after a dry run the change is still to be saved."""
    doc = Document(workspace_id="a", doc_id="d", title="One").create()
    doc.title = "Two"
    with app.dry_run() as plan:
        doc.save()
    assert [request.operation for request in plan.requests] == ["UpdateItem"]
    assert doc.revision == 1
    doc.save()
    assert Document.get_or_raise(workspace_id="a", doc_id="d").title == "Two"


def test_a_partial_entity_saves_what_it_has(app: Table) -> None:
    """Fields that were not loaded stay in the row; a put would erase them and is refused."""
    Document(workspace_id="a", doc_id="d", title="One", words=9).create()
    part = Document.key(workspace_id="a", doc_id="d").get(select=[Document.title])
    part.title = "Two"
    part.save()
    with pytest.raises(PartialEntity):
        part.put()
    found = Document.get_or_raise(workspace_id="a", doc_id="d")
    assert (found.title, found.words, found.revision) == ("Two", 9, 2)


def test_a_field_set_on_a_partial_entity_is_saved_once(app: Table, recorder) -> None:
    """A field that was not loaded and is set counts as changed, until it is saved."""
    Member(workspace_id="a", email="x").create()
    part = Member.key(workspace_id="a", email="x").get(select=[Member.email])
    part.role = "owner"
    part.save()
    part.save()
    assert len(recorder.sent("UpdateItem")) == 1
    assert Member.get_or_raise(workspace_id="a", email="x").role == "owner"


def test_a_foreign_key_is_kept(app: Table) -> None:
    """A row under a key that its template would not render is saved, put and deleted under that key."""
    item = {**Member(workspace_id="a", email="x").to_item(), "SK": {"S": "MEMBER#OLD#x"}}
    store(app, item)
    member = app.query(pk="WS#a").one()
    member.role = "owner"
    member.save()
    member.role = "admin"
    member.put()
    assert [row["SK"]["S"] for row in rows(app)] == ["MEMBER#OLD#x"]
    member.delete()
    assert rows(app) == []


def test_saving_a_row_that_is_gone_is_an_error(app: Table) -> None:
    """A save never makes a row."""
    member = Member(workspace_id="a", email="x").create()
    Member.key(workspace_id="a", email="x").delete()
    member.role = "owner"
    with pytest.raises(ItemNotFound):
        member.save()
    assert rows(app) == []


def test_a_save_does_not_touch_another_classs_row(app: Table) -> None:
    """A row that has become another type's in the meantime is left alone."""
    member = Member(workspace_id="a", email="x").create()
    item = Workspace(workspace_id="a", name="n").to_item()
    store(app, {**item, "SK": {"S": "MEMBER#x"}})
    member.role = "owner"
    with pytest.raises(WrongEntityType, match="Workspace"):
        member.save()


def test_an_unguarded_save_changes_no_type(app: Table) -> None:
    """Without the guard the fields are written, and the row's type stays what it is."""
    member = Member(workspace_id="a", email="x").create()
    store(app, {**Workspace(workspace_id="a", name="n").to_item(), "SK": {"S": "MEMBER#x"}})
    member.role = "owner"
    member.save(guard=False)
    row = stored(app, "WS#a", "MEMBER#x")
    assert (row["EntityType"], row["role"]) == ({"S": "Workspace"}, {"S": "owner"})


def test_two_savers_of_different_parts_of_one_index_key(writes) -> None:
    """Unversioned savers pin the parts that they loaded: the second one is told, and no stale key is left."""
    Task(project="p", task_id="t", status="open", due=None, owner="ann").create()
    Task.key(project="p", task_id="t").update(Task.due.set(None), Task.status.set("open"))
    first, second = (Task.get_or_raise(project="p", task_id="t") for _ in range(2))
    first.status = "done"
    second.due = date(2024, 5, 1)
    second.save()
    with pytest.raises(StaleEntity) as caught:
        first.save()
    assert caught.value.fields == ("due",)
    row = stored(writes, "PROJ#p", "TASK#t")
    assert row["GSI1SK"] == {"S": "open#2024-05-01"}


def test_a_saver_of_a_field_outside_the_key_is_not_pinned(writes) -> None:
    """Only what an index key is made of is pinned: other savers do not meet."""
    Task(project="p", task_id="t").create()
    first, second = (Task.get_or_raise(project="p", task_id="t") for _ in range(2))
    first.title, second.owner = "T", "ann"
    first.save()
    second.save()
    found = Task.get_or_raise(project="p", task_id="t")
    assert (found.title, found.owner) == ("T", "ann")


def test_a_change_made_while_the_save_is_on_its_way_stays_unsaved(app: Table) -> None:
    """What was set after the request was built is sent by the next save."""
    member = Member(workspace_id="a", email="x").create()
    member.role = "first"
    stop = app.on_request(lambda operation, wire: setattr(member, "role", "second"))
    member.save()
    stop()
    assert Member.get_or_raise(workspace_id="a", email="x").role == "first"
    member.save()
    assert Member.get_or_raise(workspace_id="a", email="x").role == "second"
