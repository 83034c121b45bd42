"""What the simulation found, each as the shortest script that shows it."""

from __future__ import annotations

import pytest

from tablekit import BatchIncomplete, Capabilities, ConditionFailed, WriteOutcomeUnknown
from tests.faults.models import Doc, Note, User, app
from tests.support.stub import bad_checksum, error, lost, ok

NOTE = Note.key(name="n", part="0")
DOC = Doc.key(name="d")


@pytest.fixture
def bound(stub):
    """The models on a scripted DynamoDB."""
    with app.bound(name="t", port=stub.port(), capabilities=Capabilities()):
        yield stub


def row(version, marker, n=1):
    """The document as it is stored."""
    return {**Doc(name="d", n=n).to_item(), "revision": {"N": str(version)}, "_w": {"S": marker}}


def test_an_addition_that_was_lost_and_then_answered_with_damage_is_unknown(bound):
    """The second answer says that it was applied, and the first attempt may have been applied as well."""
    bound.script("UpdateItem", lost(), bad_checksum({}))
    with pytest.raises(WriteOutcomeUnknown, match="adds up"):
        NOTE.update(Note.n.add(1), returning=None)


def test_a_marker_tells_of_one_attempt_and_not_of_two(bound):
    """Two answers were lost, and the row has our marker: it was added once or twice."""

    def ours(wire):
        marker = wire["ExpressionAttributeValues"][":marker"]["S"]
        return error("ConditionalCheckFailedException", Item=row(4, marker))

    bound.script("UpdateItem", lost(), lost(), ours)
    with pytest.raises(WriteOutcomeUnknown, match="adds up"):
        DOC.update(Doc.n.add(1), condition=Doc.n < 2, returning=None)


def test_one_lost_addition_with_our_marker_in_the_row_is_success(bound):
    """One attempt was unclear, and the marker says that it was applied."""

    def ours(wire):
        marker = wire["ExpressionAttributeValues"][":marker"]["S"]
        return error("ConditionalCheckFailedException", Item=row(2, marker, n=2))

    bound.script("UpdateItem", lost(), ours)
    assert DOC.update(Doc.n.add(1), condition=Doc.n < 2).n == 2


@pytest.mark.parametrize(("version", "told"), [(1, ConditionFailed), (3, WriteOutcomeUnknown)])
def test_the_loaded_marker_counts_only_at_its_own_depth(bound, version, told):
    """A rival's addition, applied again by its own retry on top of our write, puts the marker there that we loaded."""
    doc = Doc.from_item(row(1, "loaded"))
    doc.n = 2
    bound.script("UpdateItem", lost(), error("ConditionalCheckFailedException", Item=row(version, "loaded")))
    with pytest.raises(told):
        doc.save(condition=Doc.n > 5)


def test_a_row_that_was_lost_and_then_given_back_is_unknown(bound):
    """DynamoDB gives a row back unprocessed to the second attempt; the first one may have written it."""
    note = Note(name="n", n=2)
    left = {"UnprocessedItems": {"t": [{"PutRequest": {"Item": note.to_item()}}]}}
    bound.script("BatchWriteItem", lost())
    bound.always("BatchWriteItem", ok(left))
    with pytest.raises(BatchIncomplete) as caught:
        app.batch_write([note])
    assert (caught.value.unprocessed, caught.value.unknown) == ((), (note,))


@pytest.mark.parametrize(
    ("work", "reads_first"),
    [
        (lambda: User.key(name="u").update(User.email.set("y")), True),
        (lambda: NOTE.update(Note.n.add(1), once=True), False),
    ],
    ids=["unique", "once"],
)
def test_a_row_that_cannot_be_read_back_does_not_make_the_write_a_failure(bound, work, reads_first):
    """The transaction was applied, and the read for its result is throttled: the error says that it was applied."""
    if reads_first:
        bound.script("GetItem", ok({"Item": User(name="u", email="x").to_item()}))
    bound.script("TransactWriteItems", ok())
    bound.always("GetItem", error("ThrottlingException"))
    with pytest.raises(WriteOutcomeUnknown, match="it was applied") as caught:
        work()
    assert caught.value.matches is True
