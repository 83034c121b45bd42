"""Versions: checked and bumped by every write, so that no update is lost."""

from __future__ import annotations

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest

from tablekit import ConditionFailed, ItemExists, NotLoaded, RequestError, StaleEntity, Table, VersionConflict
from tests.support.models import Document
from tests.support.rows import rows, store, stored
from tests.support.write_models import Card, Counter, Ticket
from tests.support.write_models import app as writes_app


@pytest.fixture
def writes(connect) -> Table:
    """The table of the write models, on each engine in turn."""
    return connect(writes_app)


def two_readers() -> tuple[Document, Document]:
    """Two entities of one row, as two readers got them."""
    Document(workspace_id="a", doc_id="d", title="One").create()
    first, second = (Document.get_or_raise(workspace_id="a", doc_id="d") for _ in range(2))
    return first, second


def test_each_write_bumps(app: Table) -> None:
    """Create writes 1; save, update and put of a loaded entity go on from there."""
    doc = Document(workspace_id="a", doc_id="d", title="One").create()
    assert doc.revision == 1
    doc.title = "Two"
    doc.save()
    doc.update(Document.words.add(1))
    doc.put()
    assert doc.revision == 4
    assert Document.get_or_raise(workspace_id="a", doc_id="d") == doc


@pytest.mark.parametrize(
    "write",
    [
        lambda doc: doc.save(),
        lambda doc: doc.put(),
        lambda doc: doc.update(Document.words.add(1)),
        lambda doc: doc.delete(),
    ],
)
def test_the_second_writer_is_told(app: Table, write) -> None:
    """A lost race is `VersionConflict`, which carries both versions and the stored entity; the loser is unchanged."""
    first, second = two_readers()
    first.title = "First"
    first.save()
    second.title = "Second"
    with pytest.raises(VersionConflict) as caught:
        write(second)
    assert (caught.value.expected, caught.value.found, caught.value.stored) == (1, 2, first)
    assert (second.title, second.revision) == ("Second", 1)


@pytest.mark.parametrize("foreign", [{"N": "1.5"}, {"S": "one"}, {"N": "1e40"}])
def test_a_version_that_is_no_whole_number_is_a_conflict(app: Table, foreign: dict[str, str]) -> None:
    """What another writer left as the version is not the one that was loaded, whatever it is."""
    doc, _ = two_readers()
    store(app, {**stored(app, "WS#a", "DOC#d"), "revision": foreign})
    doc.title = "Mine"
    with pytest.raises(VersionConflict) as caught:
        doc.save()
    assert caught.value.expected == 1


def test_a_failed_condition_is_no_conflict(app: Table) -> None:
    """The version is told apart from the caller's condition."""
    first, _ = two_readers()
    first.title = "x"
    with pytest.raises(ConditionFailed) as caught:
        first.save(condition=Document.words > 5)
    assert type(caught.value) is ConditionFailed


def test_r35_a_blind_update_bumps(app: Table) -> None:
    """R35: an update by key goes on from the stored version, and an older writer is told."""
    first, _ = two_readers()
    assert Document.key(workspace_id="a", doc_id="d").update(Document.title.set("x")).revision == 2
    first.title = "stale"
    with pytest.raises(VersionConflict):
        first.save()


def test_an_update_by_key_may_check(app: Table) -> None:
    """``version=`` is checked by update and by delete; a class without versions refuses it."""
    two_readers()
    key = Document.key(workspace_id="a", doc_id="d")
    assert key.update(Document.title.set("x"), version=1).revision == 2
    for call in (lambda: key.update(Document.title.set("y"), version=1), lambda: key.delete(version=1)):
        with pytest.raises(VersionConflict):
            call()
    key.delete(version=2)
    assert rows(app) == []


def test_a_version_needs_a_version_field(writes) -> None:
    """A check that can check nothing is refused."""
    with pytest.raises(RequestError, match="no version"):
        Card.key(card_id="c").delete(version=1)


def test_a_put_of_a_new_versioned_entity_does_not_reset(app: Table) -> None:
    """A put of an object that was not loaded would set the version back to 1, and is refused."""
    two_readers()
    with pytest.raises(ItemExists, match=r"get\(\) it first"):
        Document(workspace_id="a", doc_id="d", title="New").put()


def test_a_put_of_a_row_that_is_gone_does_not_bring_it_back(app: Table) -> None:
    """A loaded versioned entity is put where its row still is."""
    first, _ = two_readers()
    Document.key(workspace_id="a", doc_id="d").delete()
    with pytest.raises(VersionConflict, match="gone"):
        first.put()
    assert rows(app) == []


def test_a_row_from_before_the_version_counts_as_zero(app: Table) -> None:
    """The first save of a row without a version writes 1 and is fenced against another first save."""
    item = Document(workspace_id="a", doc_id="d", title="One").to_item()
    store(app, {name: value for name, value in item.items() if name not in ("revision", "_w", "created_at")})
    first, second = (Document.get_or_raise(workspace_id="a", doc_id="d") for _ in range(2))
    assert first.revision == 0
    with pytest.raises(NotLoaded):
        _ = first.created_at
    first.title, second.title = "First", "Second"
    first.save()
    with pytest.raises(VersionConflict):
        second.save()
    assert stored(app, "WS#a", "DOC#d")["revision"] == {"N": "1"}


def test_an_unguarded_save_of_a_versioned_entity_pins_index_parts(writes) -> None:
    """Without the version check, the parts of an index key that were loaded are asserted."""
    Ticket(project="p", number=1).create()
    first, second = (Ticket.get_or_raise(project="p", number=1) for _ in range(2))
    second.status = "closed"
    second.save()
    first.priority = 1
    with pytest.raises(StaleEntity):
        first.save(guard=False)


def test_a_ring_keeps_the_last_markers(writes) -> None:
    """``version(ring=4)`` keeps the markers of the last four checked writes, the newest first."""
    counter = Counter(name="c").create()
    seen = []
    for _ in range(5):
        counter.update(Counter.n.add(1))
        seen.insert(0, stored(writes, "COUNTER#c", "COUNTER")["_w"]["L"][0])
    assert stored(writes, "COUNTER#c", "COUNTER")["_w"]["L"] == seen[:4]


def test_an_unchecked_write_begins_the_ring_anew(writes) -> None:
    """A writer that checked no version knows no ring: one with a gap would make others doubt their own write."""
    counter = Counter(name="c").create()
    stale = Counter.get_or_raise(name="c")
    counter.update(Counter.n.add(1))
    stale.n = 9
    stale.save(guard=False)
    assert len(stored(writes, "COUNTER#c", "COUNTER")["_w"]["L"]) == 1
    Counter.key(name="c").update(Counter.n.add(1))
    assert len(stored(writes, "COUNTER#c", "COUNTER")["_w"]["L"]) == 1


def test_times_are_kept(writes) -> None:
    """The creation time stays, the update time moves, and neither is set by hand."""
    counter = Counter(name="c").create()
    made, changed = counter.made, counter.changed
    counter.n = 1
    counter.save()
    assert counter.made == made
    assert counter.changed > changed
    assert Counter.get_or_raise(name="c") == counter
    assert date.today() - made.date() < date.resolution * 2  # noqa: DTZ011


def test_fifty_threads_lose_no_increment(connect_full) -> None:
    """50 threads make 1,000 versioned increments, each retried when it lost; the end is exactly 1,000."""
    connect_full(writes_app)
    Counter(name="c").create()

    def increment() -> None:
        for tries in itertools.count():
            counter = Counter.key(name="c").get_or_raise(consistent=True)
            counter.n += 1
            try:
                counter.save()
            except VersionConflict:
                # Without a pause that grows, fifty threads would mostly lose.
                time.sleep(random.uniform(0, min(3, 0.05 * 2**tries)))
            else:
                return

    def work(_: int) -> None:
        for _ in range(20):
            increment()

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(work, range(50)))
    found = Counter.key(name="c").get_or_raise(consistent=True)
    assert (found.n, found.revision) == (1000, 1001)
