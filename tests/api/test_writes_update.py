"""Updates by actions: what they send, and what they leave in the row."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from tablekit import (
    ConditionFailed,
    ExpressionError,
    ItemNotFound,
    KeyPartError,
    RequestError,
    StaleEntity,
    Table,
    ValidationFailed,
)
from tablekit.errors import DecodeError, EncodeError, KeyChanged
from tests.support.models import Document, Member
from tests.support.rows import assigned, data_calls, only, removed, rows, store, stored
from tests.support.write_models import Card, Contact, Counter, Place, Task, Ticket
from tests.support.write_models import app as writes_app


@pytest.fixture
def writes(connect) -> Table:
    """The table of the write models, on each engine in turn."""
    return connect(writes_app)


def card(**values) -> Card:
    """A stored card."""
    return Card(card_id="c", **values).create()


def test_r05_setting_an_empty_set_removes_it(writes, recorder) -> None:
    """R05: an update to an empty set sends REMOVE; the field reads as empty, and adding makes a set again."""
    made = card(labels={"a"})
    made.update(Card.labels.set(set()))
    assert removed(only(recorder.sent("UpdateItem"))) == {"labels"}
    assert Card.key(card_id="c").get().labels == set()
    made.update(Card.labels.add({"b"}))
    assert stored(writes, "CARD#c", "CARD")["labels"] == {"SS": ["b"]}


def test_r05_saving_empty_containers(writes) -> None:
    """R05: a save leaves an empty set out, and stores an empty list and dict as they are."""
    made = card(labels={"a"}, items=["x"], meta={"k": "v"})
    made.labels, made.items, made.meta = set(), [], {}
    made.save()
    row = stored(writes, "CARD#c", "CARD")
    assert "labels" not in row
    assert (row["items"], row["meta"]) == ({"L": []}, {"M": {}})


def test_a_set_that_would_read_back_full_is_not_emptied() -> None:
    """A missing attribute of this field reads as its default, so that an empty set cannot be written."""
    with pytest.raises(ExpressionError, match="reads as another value"):
        Card.extra_labels.set(frozenset())


def test_a_set_inside_a_nested_class_may_be_emptied(writes) -> None:
    """Where the nested class reads a missing set as empty, an update may empty it."""
    made = card(contact=Contact("Ann", phones={"1"}))
    made.update(Card.contact.at(lambda c: c.phones).set(set()))
    assert made.contact.phones == set()


def test_r12_an_update_keeps_the_case_of_keys(app: Table) -> None:
    """R12: keys and key fields keep their exact case through an update; another case is another row."""
    Document(workspace_id="acme", doc_id="AbC-9_x", title="One").create()
    Document(workspace_id="acme", doc_id="abc-9_x", title="Two").create()
    Document.key(workspace_id="acme", doc_id="AbC-9_x").update(Document.title.set("Three"))
    found = [(doc.doc_id, doc.title) for doc in Document.query(workspace_id="acme")]
    assert found == [("AbC-9_x", "Three"), ("abc-9_x", "Two")]


def test_r15_a_key_field_cannot_be_changed(app: Table, recorder) -> None:
    """R15: save, update and an update of the column refuse another key before anything is sent."""
    doc = Document(workspace_id="acme", doc_id="old", title="One").create()
    doc.doc_id = "new"
    for attempt in (doc.save, doc.put, doc.delete, lambda: doc.update(Document.title.set("x"))):
        with pytest.raises(KeyChanged):
            attempt()
    with pytest.raises(KeyChanged):
        Document.key(workspace_id="acme", doc_id="old").update(Document.doc_id.set("new"))
    assert data_calls(recorder) == ["PutItem"]
    assert len(rows(app)) == 1


def test_r15_the_unchanged_key_field_may_be_among_the_actions(app: Table, recorder) -> None:
    """R15: a key field set to its own value changes nothing and is not sent."""
    Member(workspace_id="acme", email="a@b").create()
    Member.key(workspace_id="acme", email="a@b").update(Member.email.set("a@b"), Member.role.set("owner"))
    assert set(assigned(only(recorder.sent("UpdateItem")))) == {"role", "EntityType"}


def test_refresh_reads_the_row_whose_key_was_changed_in_memory(app: Table) -> None:
    """Refresh drops unsaved changes, those of key fields included."""
    member = Member(workspace_id="acme", email="a@b").create()
    member.email = "other"
    assert member.refresh().email == "a@b"


def test_r16_an_update_of_a_missing_row_is_refused(app: Table) -> None:
    """R16: no row comes to be by an update."""
    with pytest.raises(ItemNotFound):
        Member.key(workspace_id="acme", email="a@b").update(Member.role.set("owner"))
    assert rows(app) == []


def test_an_unguarded_update_and_save_make_no_ghost(app: Table) -> None:
    """Without the guard, the row must still be there."""
    member = Member(workspace_id="acme", email="a@b").create()
    Member.key(workspace_id="acme", email="a@b").delete()
    member.role = "owner"
    with pytest.raises(ItemNotFound):
        member.save(guard=False)
    with pytest.raises(ItemNotFound):
        Member.key(workspace_id="acme", email="a@b").update(Member.role.set("owner"), guard=False)
    assert rows(app) == []


def test_r26_an_update_of_nothing_is_refused() -> None:
    """R26: without an action there is no request."""
    with pytest.raises(ExpressionError, match="no action"):
        Member.key(workspace_id="acme", email="a@b").update()


def test_r26_a_removal_alone_is_sent_without_values(writes, recorder) -> None:
    """R26: a removal sends no value but what the guard and the type need."""
    card(meta={"a": "1"})
    Card.key(card_id="c").update(Card.meta["a"].remove(), guard=False)
    sent = only(recorder.sent("UpdateItem"))
    assert removed(sent) == {"meta.a"}
    assert set(sent["ExpressionAttributeValues"].values().__iter__().__next__()) == {"S"}


@pytest.mark.parametrize(
    "actions",
    [
        (Card.meta.set({"color": "red"}), Card.meta["color"].set("red")),
        (Card.items.set([]), Card.items[0].remove()),
        (Card.enabled.set(True), Card.enabled.set(False)),
    ],
)
def test_r27_overlapping_paths_are_refused(actions) -> None:
    """R27: one path twice, or a path and one inside it, is an error that names both."""
    with pytest.raises(ExpressionError) as caught:
        Card.key(card_id="c").update(*actions)
    assert len(caught.value.paths) == 2


def test_r27_managed_attributes_are_not_set_by_hand(app: Table) -> None:
    """R27: version and times are tablekit's, on the class and on the instance; the type is no field at all."""
    with pytest.raises(ExpressionError, match="kept by tablekit"):
        Document.key(workspace_id="a", doc_id="d").update(Document.revision.set(7))
    doc = Document(workspace_id="a", doc_id="d", title="t")
    with pytest.raises(RequestError):
        doc.revision = 7  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        doc.entity_type = "Comment"


def test_r27_neighbouring_paths_are_sent(writes) -> None:
    """R27: two elements of a list and two keys with a common prefix do not overlap."""
    made = card(meta={"a": "1"}, items=["x", "y"])
    made.update(Card.items[0].set("p"), Card.items[1].set("q"), Card.meta["a"].set("2"), Card.meta["ab"].set("3"))
    assert (made.items, made.meta) == (["p", "q"], {"a": "2", "ab": "3"})


def test_r28_a_missing_parent_is_named(writes) -> None:
    """R28: changing a part of a value that is not there says which field is missing, and changes nothing."""
    card()
    before = stored(writes, "CARD#c", "CARD")
    with pytest.raises(ValidationFailed, match="contact"):
        Card.key(card_id="c").update(Card.contact.at(lambda c: c.place.city).set("Rome"))
    assert stored(writes, "CARD#c", "CARD") == before


def test_r29_a_part_is_changed_alone(writes, recorder) -> None:
    """R29: one attribute of a nested value is set by path; the others stay."""
    made = card(contact=Contact("Ann", Place("Main St", "Reno", "CA")))
    Card.key(card_id="c").update(Card.contact.at(lambda c: c.place.state).set("NV"))
    assert "contact.place.state" in assigned(only(recorder.sent("UpdateItem")))
    assert made.refresh().contact.place == Place("Main St", "Reno", "NV")


def test_r30_several_elements_are_removed_at_once(writes, recorder) -> None:
    """R30: indexes mean the list as it was before the update."""
    made = card(items=["a", "b", "c", "d", "e"])
    made.update(Card.items[1].remove(), Card.items[2].remove())
    assert made.items == ["a", "d", "e"]
    assert removed(only(recorder.sent("UpdateItem"))) == {"items[1]", "items[2]"}
    with pytest.raises(ExpressionError):
        _ = Card.items[-1]


def test_r31_appending_creates_the_list(writes, recorder) -> None:
    """R31: append works where the attribute is missing; other updates carry no default for it."""
    store(writes, {"PK": {"S": "CARD#c"}, "SK": {"S": "CARD"}, "EntityType": {"S": "Card"}, "card_id": {"S": "c"}})
    key = Card.key(card_id="c")
    assert key.update(Card.items.append(["x"])).items == ["x"]
    key.update(Card.enabled.set(True))
    assert "empty" not in str(recorder.sent("UpdateItem")[-1])


def test_r32_an_update_leaves_other_fields_alone(writes, recorder) -> None:
    """R32: defaults are not written again by an update."""
    card(enabled=True)
    assert Card.key(card_id="c").update(Card.items.set(["x"])).enabled is True
    assert set(assigned(only(recorder.sent("UpdateItem")))) == {"items", "EntityType"}


# What comes back


def test_returning_new_gives_the_row_after(app: Table) -> None:
    """By default an update by key gives the entity as it is now, with its next version."""
    Document(workspace_id="a", doc_id="d", title="One").create()
    found = Document.key(workspace_id="a", doc_id="d").update(Document.title.set("Two"))
    assert (found.title, found.revision) == ("Two", 2)


def test_returning_old_gives_the_row_before(app: Table) -> None:
    """``returning="old"`` gives the entity as it was; None when an upsert made the row."""
    Document(workspace_id="a", doc_id="d", title="One").create()
    key = Document.key(workspace_id="a", doc_id="d")
    assert key.update(Document.title.set("Two"), returning="old").title == "One"
    fresh = Member.key(workspace_id="a", email="x")
    assert fresh.update(Member.role.set("owner"), upsert=True, returning="old") is None


def test_returning_changed_gives_whole_values(writes) -> None:
    """``returning="changed"`` gives each changed field whole, also where only a part of it was changed."""
    card(contact=Contact("Ann", Place("Main St", "Reno")), items=["a", "b"])
    found = Card.key(card_id="c").update(
        Card.contact.at(lambda c: c.name).set("Bob"), Card.items[1].set("z"), Card.meta.remove(), returning="changed"
    )
    assert found == {"contact": Contact("Bob", Place("Main St", "Reno")), "items": ["a", "z"], "meta": {}}


def test_returning_changed_names_managed_fields(app: Table) -> None:
    """The version and the time that the update wrote are among what changed."""
    Document(workspace_id="a", doc_id="d", title="One").create()
    found = Document.key(workspace_id="a", doc_id="d").update(Document.words.add(2), returning="changed")
    assert (found["words"], found["revision"], set(found)) == (2, 2, {"words", "revision", "updated_at"})


def test_returning_nothing_asks_for_nothing(app: Table, recorder) -> None:
    """``returning=None`` gives None and asks DynamoDB for no attributes."""
    Member(workspace_id="a", email="x").create()
    assert Member.key(workspace_id="a", email="x").update(Member.role.set("o"), returning=None) is None
    assert only(recorder.sent("UpdateItem"))["ReturnValues"] == "NONE"


def test_a_returned_row_that_cannot_be_read_says_that_the_update_was_applied(writes) -> None:
    """A row with a value that its field cannot read is an error, not a missing result."""
    card()
    row = stored(writes, "CARD#c", "CARD")
    store(writes, {**row, "enabled": {"S": "yes"}})
    with pytest.raises(DecodeError, match="was applied"):
        Card.key(card_id="c").update(Card.items.set(["x"]))
    assert stored(writes, "CARD#c", "CARD")["items"] == {"L": [{"S": "x"}]}


# Through an entity


def test_an_instance_update_keeps_unsaved_changes(app: Table) -> None:
    """Local changes stay, and the next save sends them."""
    doc = Document(workspace_id="a", doc_id="d", title="One").create()
    doc.title = "Local"
    doc.tags.add("mine")
    doc.update(Document.words.add(5))
    assert (doc.title, doc.tags, doc.words, doc.revision) == ("Local", {"mine"}, 5, 2)
    doc.save()
    found = Document.get(workspace_id="a", doc_id="d")
    assert (found.title, found.tags, found.revision) == ("Local", {"mine"}, 3)


def test_an_update_through_a_partial_entity_checks_the_version(app: Table) -> None:
    """A partial entity brings its version, so that an update through it loses no race."""
    Document(workspace_id="a", doc_id="d", title="One").create()
    part = Document.key(workspace_id="a", doc_id="d").get(select=[Document.title])
    part.update(Document.title.set("Two"))
    assert (part.title, part.revision) == ("Two", 2)


def test_a_condition_of_another_class_is_refused() -> None:
    """A condition is made of the columns of the class that is written."""
    with pytest.raises(ExpressionError, match="speaks of Member"):
        Document(workspace_id="a", doc_id="d", title="t").put(condition=Member.role == "x")
    with pytest.raises(ExpressionError, match="Card"):
        Member.key(workspace_id="a", email="x").update(Member.role.set("x"), Card.items.set([]))


# Time to live


def test_a_ttl_is_set_as_a_time_from_now(writes) -> None:
    """An update takes an aware datetime, a timedelta from now, or seconds; None removes the attribute."""
    made = card()
    made.update(Card.expires_at.set(timedelta(hours=1)))  # type: ignore[arg-type]
    assert abs(made.expires_at - datetime.now(timezone.utc) - timedelta(hours=1)) < timedelta(minutes=1)
    made.update(Card.expires_at.set(datetime(2030, 1, 1, tzinfo=timezone.utc)))
    assert stored(writes, "CARD#c", "CARD")["expires_at"] == {"N": "1893456000"}
    made.update(Card.expires_at.set(None))
    assert "expires_at" not in stored(writes, "CARD#c", "CARD")


def test_a_ttl_is_moved_by_a_span(writes) -> None:
    """Adding a timedelta moves the stored time; adding a time or a bare number is refused."""
    made = card(expires_at=datetime(2030, 1, 1, tzinfo=timezone.utc))
    made.update(Card.expires_at.add(timedelta(days=1)))  # type: ignore[arg-type]
    made.update(Card.expires_at.set(Card.expires_at - timedelta(hours=1)))  # type: ignore[operator]
    assert made.expires_at == datetime(2030, 1, 1, 23, tzinfo=timezone.utc)
    with pytest.raises(EncodeError):
        Card.expires_at.add(3600)  # type: ignore[arg-type]


def test_a_ttl_in_milliseconds_is_refused() -> None:
    """DynamoDB would take milliseconds for a year far away."""
    with pytest.raises(EncodeError, match="milliseconds"):
        Card.expires_at.set(1_893_456_000_000)  # type: ignore[arg-type]


# Upsert


def test_r16_an_upsert_makes_a_whole_row(writes) -> None:
    """R16: the row that an upsert makes is the one that a create of the same values would make."""
    made = Task.key(project="p", task_id="t").update(Task.status.set("done"), Task.due.set(None), upsert=True)
    assert made == Task(project="p", task_id="t", status="done")
    row = stored(writes, "PROJ#p", "TASK#t")
    assert row == Task(project="p", task_id="t", status="done").to_item()


def test_r32_an_upsert_leaves_what_is_there(writes) -> None:
    """R32: defaults reach an existing row through if_not_exists only."""
    card(enabled=True, items=["x"])
    found = Card.key(card_id="c").update(Card.meta.set({"a": "b"}), upsert=True)
    assert (found.enabled, found.items) == (True, ["x"])


def test_an_upsert_keeps_version_and_creation(writes) -> None:
    """The first upsert begins the version and the creation time, the next one goes on."""
    key = Counter.key(name="c")
    first = key.update(Counter.n.add(1), upsert=True)
    second = key.update(Counter.n.add(1), upsert=True)
    assert (first.revision, second.revision, second.n) == (1, 2, 2)
    assert second.made == first.made


def test_an_upsert_without_a_required_field_is_refused(app: Table, recorder) -> None:
    """A row that could not be read is not made."""
    with pytest.raises(RequestError, match="title"):
        Document.key(workspace_id="a", doc_id="d").update(Document.words.add(1), upsert=True)
    assert data_calls(recorder) == []


def test_an_upsert_asks_for_a_default_that_feeds_an_index_key(writes, recorder) -> None:
    """Whether the row is new is not known, so that the default's index key could not be right."""
    with pytest.raises(KeyPartError, match="priority"):
        Ticket.key(project="p", number=1).update(Ticket.status.set("open"), upsert=True)
    with pytest.raises(KeyPartError, match="status"):
        Ticket.key(project="p", number=1).update(Ticket.priority.set(2), upsert=True)
    assert data_calls(recorder) == []
    made = Ticket.key(project="p", number=1).update(Ticket.status.set("done"), upsert=True)
    assert made.status == "done"


def test_composite_values_are_asserted(writes) -> None:
    """A field that an index key needs may be supplied, and the row must hold it."""
    Task(project="p", task_id="t", status="open", due=date(2024, 5, 1)).create()
    key = Task.key(project="p", task_id="t")
    with pytest.raises(StaleEntity) as caught:
        key.update(Task.status.set("done"), composite={"due": date(2024, 6, 1)})
    assert caught.value.fields == ("due",)
    key.update(Task.status.set("done"), composite={"due": date(2024, 5, 1)})
    assert stored(writes, "PROJ#p", "TASK#t")["GSI1SK"] == {"S": "done#2024-05-01"}


def test_composite_must_not_contradict_the_update() -> None:
    """A field is either set or said to be stored."""
    with pytest.raises(RequestError, match="changes status"):
        Task.key(project="p", task_id="t").update(Task.status.set("done"), composite={"status": "open"})


def test_a_failed_condition_is_told_from_a_missing_row(app: Table) -> None:
    """The caller's condition is parenthesised, and its failure carries the stored entity."""
    member = Member(workspace_id="a", email="x").create()
    wanted = (Member.role == "owner") | (Member.role == "admin")
    with pytest.raises(ConditionFailed) as caught:
        Member.key(workspace_id="a", email="x").update(Member.role.set("o"), condition=wanted)
    assert caught.value.stored == member


def test_what_is_no_action_or_condition_is_refused_with_the_remedy() -> None:
    """A comparison in place of an assignment, a bare column, and what Python's 'is' gives."""
    key = Document.key(workspace_id="acme", doc_id="1")

    with pytest.raises(ExpressionError, match=r"\.set\(\.\.\.\) assigns"):
        key.update(Document.title == "x")  # type: ignore[arg-type]
    with pytest.raises(ExpressionError, match="bare column"):
        key.update(Document.title)  # type: ignore[arg-type]
    with pytest.raises(ExpressionError, match="'is None' write == None"):
        key.update(Document.title.set("x"), condition=Document.title is None)  # type: ignore[arg-type]
