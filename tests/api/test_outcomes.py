"""What becomes of a write whose answer is lost: success, a named failure, or `WriteOutcomeUnknown`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tablekit import (
    Capabilities,
    ConditionFailed,
    ItemExists,
    Table,
    Throttled,
    TransactionConflict,
    VersionConflict,
    WriteOutcomeUnknown,
    WrongEntityType,
)
from tests.support.models import Document, Member
from tests.support.models import app as workspace_app
from tests.support.rows import only
from tests.support.stub import bad_checksum, closed, cut, error, lost, ok, page, raises, unconnected
from tests.support.write_models import Card, Counter
from tests.support.write_models import app as writes_app

KEY = Document.key(workspace_id="a", doc_id="d")
LOST = [lost(), closed(), error("InternalServerError", 500), page(502)]
LOST_IDS = ["timeout", "closed", "500", "502"]


@pytest.fixture
def app(stub) -> Iterator[Table]:
    """The workspace app on a scripted DynamoDB."""
    with workspace_app.bound(name="t", port=stub.port(), capabilities=Capabilities()):
        yield workspace_app


@pytest.fixture
def writes(stub) -> Iterator[Table]:
    """The write models on a scripted DynamoDB."""
    with writes_app.bound(name="t", port=stub.port(), capabilities=Capabilities()):
        yield writes_app


def loaded(**values) -> Document:
    """A document as a reader has it, at version 1 with the marker ``loaded``."""
    item = Document(workspace_id="a", doc_id="d", title="One", **values).to_item()
    return Document.from_item({**item, "_w": {"S": "loaded"}})


def failed(item=None):
    """A failed condition, with the row that stands there."""
    return error("ConditionalCheckFailedException", **({} if item is None else {"Item": item}))


def own(title: str, version: int = 2):
    """Answers that the row has what this very request wrote: its marker, read from the request."""

    def reply(wire):
        values = wire.get("ExpressionAttributeValues", {})
        marker = wire["Item"]["_w"] if "Item" in wire else values[":marker"]
        return failed(row(title, version, marker))

    return reply


def row(title: str, version: int, marker) -> dict:
    """The document's row as others left it."""
    item = Document(workspace_id="a", doc_id="d", title=title).to_item()
    return {**item, "revision": {"N": str(version)}, "_w": marker if isinstance(marker, dict) else {"S": marker}}


@pytest.mark.parametrize("first", LOST, ids=LOST_IDS)
def test_a_save_recognises_its_own_write(app, stub, first) -> None:
    """The retry meets the version moved by our own first attempt; the marker tells that it was ours."""
    doc = loaded()
    doc.title = "Two"
    stub.script("UpdateItem", first, own("Two"))
    doc.save()
    assert (doc.title, doc.revision) == ("Two", 2)
    stub.script("UpdateItem", ok())
    doc.title = "Three"
    doc.save()
    assert "revision_before" in stub.sent("UpdateItem")[-1]["ConditionExpression"]
    assert stub.sent("UpdateItem")[-1]["ExpressionAttributeValues"][":revision_before"] == {"N": "2"}


@pytest.mark.parametrize("first", LOST, ids=LOST_IDS)
def test_a_create_recognises_its_own_row(app, stub, first) -> None:
    """A create whose first answer was lost finds its own row, and has succeeded."""
    stub.script("PutItem", first, own("One", 1))
    doc = Document(workspace_id="a", doc_id="d", title="One").create()
    assert doc.revision == 1


def test_an_update_gives_the_row_it_recognised(app, stub) -> None:
    """The result is the row that came with the failed condition."""
    stub.script("UpdateItem", lost(), own("Two"))
    found = KEY.update(Document.title.set("Two"), version=1)
    assert (found.title, found.revision) == ("Two", 2)


def test_the_loaded_marker_proves_the_failure(app, stub) -> None:
    """When what was loaded still stands, the lost attempt was not applied, and the failure is the truth."""
    doc = loaded()
    doc.title = "Two"
    stub.script("UpdateItem", lost(), failed(row("One", 1, "loaded")))
    with pytest.raises(ConditionFailed) as caught:
        doc.save(condition=Document.words > 5)
    assert len(caught.value.history) == 2


def test_a_rivals_write_after_a_lost_answer_is_unknown(app, stub) -> None:
    """The version moved and the marker is another's: ours may have been there before, so nobody can say."""
    doc = loaded()
    doc.title = "Two"
    stub.script("UpdateItem", lost(), failed(row("Theirs", 3, "theirs")))
    with pytest.raises(WriteOutcomeUnknown) as caught:
        doc.save()
    assert (caught.value.entity, caught.value.matches, doc.revision) == ("Document", False, 1)
    assert caught.value.marker is not None


def test_a_conflict_without_a_lost_answer_is_a_conflict(app, stub) -> None:
    """An attempt that never left, or that was throttled, leaves no doubt."""
    doc = loaded()
    doc.title = "Two"
    stub.script("UpdateItem", unconnected(), error("ThrottlingException"), failed(row("Theirs", 2, "theirs")))
    with pytest.raises(VersionConflict):
        doc.save()


def test_a_ring_sees_our_write_under_anothers(writes, stub) -> None:
    """On a hot row our marker stands in the ring behind that of a later writer."""
    item = Counter(name="c").to_item()
    counter = Counter.from_item({**item, "_w": {"L": [{"S": "loaded"}]}})

    def reply(wire):
        ours = wire["ExpressionAttributeValues"][":marker"]["L"]
        return failed({**item, "revision": {"N": "3"}, "_w": {"L": [{"S": "theirs"}, *ours]}})

    stub.script("UpdateItem", lost(), reply)
    counter.n = 5
    counter.save()
    assert counter.revision == 2


def test_a_ring_without_us_proves_the_failure(writes, stub) -> None:
    """A ring that reaches back to what was loaded and has not our marker says that others were first."""
    item = Counter(name="c").to_item()
    counter = Counter.from_item({**item, "_w": {"L": [{"S": "loaded"}]}})
    ring = {"L": [{"S": "theirs"}, {"S": "loaded"}]}
    stub.script("UpdateItem", lost(), failed({**item, "revision": {"N": "2"}, "_w": ring}))
    counter.n = 5
    with pytest.raises(VersionConflict):
        counter.save()


def test_an_unversioned_row_that_matches_is_unknown(app, stub) -> None:
    """Without a marker an equal row may be a rival's, so that it is reported and not claimed."""
    stub.script("PutItem", lost(), lambda wire: failed(wire["Item"]))
    with pytest.raises(WriteOutcomeUnknown) as caught:
        Member(workspace_id="a", email="x").create()
    assert caught.value.matches is True
    assert caught.value.__cause__ is not None


def test_a_later_throttle_does_not_mask(app, stub) -> None:
    """Lost, then throttled to the end: the write may have been applied, whatever came last."""
    stub.script("PutItem", lost())
    stub.always("PutItem", error("ThrottlingException"))
    with pytest.raises(WriteOutcomeUnknown) as caught:
        Member(workspace_id="a", email="x").put()
    assert [attempt.outcome for attempt in caught.value.history][:2] == ["maybe", "refused"]


def test_a_throttle_alone_is_a_throttle(app, stub) -> None:
    """Refused attempts leave the named failure."""
    stub.always("PutItem", error("ThrottlingException"))
    with pytest.raises(Throttled):
        Member(workspace_id="a", email="x").put()


@pytest.mark.parametrize("reply", [bad_checksum({}), cut({"Attributes": {"a": {"S": "x"}}})], ids=["crc", "cut"])
def test_an_unreadable_200_is_success(app, stub, reply) -> None:
    """DynamoDB's own 200 says that the write was applied, though its body is damaged; it is not sent again."""
    stub.script("PutItem", reply)
    member = Member(workspace_id="a", email="x").create()
    stub.script("UpdateItem", ok())
    member.role = "owner"
    member.save()
    assert len(stub.sent("PutItem")) == 1


def test_an_unreadable_answer_of_an_update_is_read_again(app, stub) -> None:
    """The row that the update should have returned is read, strongly consistent."""
    stub.script("UpdateItem", cut({"Attributes": row("Two", 2, "x")}))
    stub.script("GetItem", ok({"Item": row("Two", 2, "x")}))
    assert KEY.update(Document.title.set("Two")).title == "Two"
    assert only(stub.sent("GetItem"))["ConsistentRead"] is True


def test_a_read_that_fails_does_not_hide_the_write(app, stub) -> None:
    """When the row cannot be read after an applied write, the error says that the write may have been applied."""
    stub.script("UpdateItem", cut({"Attributes": row("Two", 2, "x")}))
    stub.always("GetItem", error("ThrottlingException"))
    with pytest.raises(WriteOutcomeUnknown, match="ThrottlingException"):
        KEY.update(Document.title.set("Two"))


def test_a_foreign_200_is_unknown(app, stub) -> None:
    """The page of a proxy is no answer of DynamoDB's."""
    stub.always("PutItem", page(200))
    with pytest.raises(WriteOutcomeUnknown):
        Member(workspace_id="a", email="x").put()


@pytest.mark.parametrize(
    "action",
    [
        Card.items.append(["x"]),
        Card.items[1].remove(),
        Card.items[9].set("x"),
    ],
    ids=["append", "remove element", "set element"],
)
def test_what_adds_up_is_unknown_after_a_lost_answer(writes, stub, action) -> None:
    """A success on the second try may be the second time."""
    stub.script("UpdateItem", lost(), ok({"Attributes": Card(card_id="c").to_item()}))
    with pytest.raises(WriteOutcomeUnknown):
        Card.key(card_id="c").update(action)


@pytest.mark.parametrize(
    "action",
    [Card.labels.add({"x"}), Card.labels.delete({"x"}), Card.items.set(["x"]), Card.meta["a"].remove()],
    ids=["add to set", "delete from set", "set", "remove key"],
)
def test_what_can_be_repeated_is_success(writes, stub, action) -> None:
    """Doing these twice leaves what doing them once does."""
    stub.script("UpdateItem", lost(), ok({"Attributes": Card(card_id="c").to_item()}))
    assert Card.key(card_id="c").update(action) is not None


def test_the_old_row_of_a_repeated_write_is_not_guessed(app, stub) -> None:
    """The row before the second attempt may be our own first: asked for, it is unknown."""
    stub.script("UpdateItem", lost(), ok({"Attributes": row("Two", 2, "x")}))
    with pytest.raises(WriteOutcomeUnknown, match="old row") as caught:
        KEY.update(Document.title.set("Two"), returning="old")
    assert caught.value.matches is True
    stub.script("DeleteItem", lost(), ok(), lost(), ok())
    KEY.delete()
    with pytest.raises(WriteOutcomeUnknown):
        KEY.delete(returning="old")


def test_a_delete_that_finds_nothing_after_a_lost_answer(app, stub) -> None:
    """A conditional delete whose row is gone has what it wanted, and cannot say by whom."""
    stub.script("DeleteItem", lost(), failed())
    with pytest.raises(WriteOutcomeUnknown) as caught:
        KEY.delete(condition=Document.words == 0)
    assert caught.value.matches is True


def test_an_interrupt_stays_itself(app, stub) -> None:
    """Ctrl-C in the middle is KeyboardInterrupt, with the history attached; the entity is as it was."""
    doc = loaded()
    doc.title = "Two"
    stub.script("UpdateItem", raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        doc.save()
    assert [attempt.outcome for attempt in caught.value.history] == ["maybe"]
    assert doc.revision == 1


# Exactly once


def test_add_once_is_a_transaction_with_one_token(app, stub) -> None:
    """The retry of a lost answer carries the same token and body, so that DynamoDB counts once."""
    stub.script("TransactWriteItems", lost(), ok())
    stub.script("GetItem", ok({"Item": row("One", 2, "x")}))
    found = KEY.update(Document.words.add(1, once=True))
    first, second = stub.sent("TransactWriteItems")
    assert first == second
    assert set(first["TransactItems"][0]) == {"Update"}
    assert found.revision == 2


def test_add_once_names_its_failure(app, stub) -> None:
    """The only reason of the cancelled transaction is what the single write would have raised."""
    item = {**row("One", 1, "x"), "EntityType": {"S": "Comment"}}
    reasons = [{"Code": "ConditionalCheckFailed", "Item": item}]
    stub.script("TransactWriteItems", error("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(WrongEntityType):
        KEY.update(Document.words.add(1), once=True)


def test_add_once_asks_again_after_a_conflict(app, stub) -> None:
    """A transaction is cancelled by a rival write on the row; it is asked again a few times, then named."""
    conflict = error("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}])
    stub.script("TransactWriteItems", conflict, ok())
    assert KEY.update(Document.words.add(1, once=True), returning=None) is None
    stub.always("TransactWriteItems", conflict)
    with pytest.raises(TransactionConflict):
        KEY.update(Document.words.add(1, once=True), returning=None)


def test_create_once_names_the_row_that_is_there(app, stub) -> None:
    """``create(once=True)`` is a transaction as well."""
    reasons = [{"Code": "ConditionalCheckFailed", "Item": row("One", 1, "x")}]
    stub.script("TransactWriteItems", error("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(ItemExists):
        Document(workspace_id="a", doc_id="d", title="One").create(once=True)


def test_an_unknown_transaction_carries_its_token(app, stub) -> None:
    """When every answer is lost, the error has the token with which the outcome could be asked for."""
    stub.always("TransactWriteItems", lost())
    with pytest.raises(WriteOutcomeUnknown) as caught:
        KEY.update(Document.words.add(1, once=True))
    assert caught.value.token == stub.sent("TransactWriteItems")[0]["ClientRequestToken"]


@pytest.mark.transactions
def test_add_once_counts(full_app) -> None:
    """On an engine with transactions the instance is brought up to date."""
    doc = Document(workspace_id="a", doc_id="d", title="One").create()
    doc.update(Document.words.add(2, once=True))
    assert (doc.words, doc.revision) == (2, 2)
    assert Document.get_or_raise(workspace_id="a", doc_id="d") == doc
