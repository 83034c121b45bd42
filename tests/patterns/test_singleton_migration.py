"""A new shape in a row of its own: read through the old row, written once, and the way back."""

from __future__ import annotations

import pytest

from tablekit import DefinitionError, Field, RequestError, Singleton, Table, WriteOutcomeUnknown, field, version
from tests.patterns.flags import counted, found, in_threads, make_flags, row, stubbed
from tests.support.stub import lost, ok

pytestmark = pytest.mark.transactions


def successor(old, sk="FLAGS#V2", **options):
    """The next shape: `signup` is a word, and `hits` is kept."""

    class Next(
        Singleton, table=old.__table__, pk="SETTINGS#APP", sk=sk, type=f"Next-{sk}", migrates_from=old, **options
    ):
        signup: Field[str] = field(default="closed")
        hits: Field[int] = field(default=0)

        revision = version()

        @classmethod
        def transform(cls, before):
            return cls(signup="open" if before.signup in {True, "open"} else "closed", hits=before.hits)

    return Next


@pytest.fixture
def old(connect_full):
    """The first shape, on a fresh table."""
    return make_flags(connect_full(Table("flags")))


@pytest.fixture
def new(old):
    """The second shape."""
    return successor(old)


def test_before_it_is_written_it_reads_as_the_old_one_transformed(old, new):
    """Without a row of its own the successor gives the old values in its shape, as version 0."""
    old.update(signup=True, hits=7)

    seen = new.get()

    assert (seen.signup, seen.hits, seen.source, seen.version) == ("open", 7, "table", 0)


def test_without_either_row_it_has_its_own_safe_values(new):
    """Where there is nothing to transform the successor's defaults are in force."""
    assert (new.get().signup, new.get().source) == ("closed", "default")


def test_migrate_writes_it_in_one_transaction(old, new):
    """`migrate` puts the new row and checks the old one's version in the same request."""
    old.update(signup=True)
    sent = counted(old.__table__)

    stored = new.migrate()

    assert (stored.signup, stored.version, sent.count("TransactWriteItems")) == ("open", 1, 1)
    assert new.load() == stored
    assert old.load().signup is True


def test_migrate_is_idempotent(old, new):
    """A second `migrate`, and several at once, leave the row that is there."""
    old.update(signup=True)
    seen = in_threads(lambda _: new.migrate(), 4)
    new.update(hits=5)

    assert {each.signup for each in seen} == {"open"}
    assert (new.migrate().hits, new.load().version) == (5, 2)


def test_migrate_starts_again_when_the_old_row_moves(old, new, monkeypatch):
    """An old row that changes between the read and the write is transformed anew."""
    old.update(hits=1)
    moved = []

    def transform(before):
        if not moved:
            moved.append(old.update(hits=2))
        return new(hits=before.hits)

    monkeypatch.setattr(new, "transform", transform)

    assert new.migrate().hits == 2


def test_migrate_without_an_old_row_asserts_that_there_is_none(old, new):
    """With no row at all the safe values are written."""
    assert (new.migrate().signup, new.migrate().version) == ("closed", 1)


def test_the_first_write_migrates(old, new):
    """An update or an edit of the successor begins with the old values, not with the safe ones."""
    old.update(signup=True, hits=7)

    assert (new.update(hits=8).signup, new.get().version) == ("open", 2)
    new.delete()
    assert new.edit(lambda mine: mine.replace(hits=mine.hits + 1)).hits == 8
    new.delete()
    assert new.ensure().hits == 7


def test_a_rollback_is_a_delete(old, new):
    """After the new row is deleted both shapes follow the old row again."""
    old.update(signup=True)
    new.migrate()
    new.update(signup="closed")

    new.delete()

    assert (new.get().signup, old.get().signup) == ("open", True)


def test_the_old_row_serves_old_processes(old, new):
    """Once migrated the two rows are independent."""
    new.migrate()
    old.update(signup=True)

    assert (old.load().signup, new.load().signup) == (True, "closed")


def test_a_chain_of_versions_reads_through(old, new):
    """The third shape reads the second, which reads the first, and is migrated with both checked."""
    third = successor(new, sk="FLAGS#V3")
    old.update(signup=True, hits=3)

    assert third.get().hits == 3
    assert (third.migrate().hits, new.load().version) == (3, 0)


def test_a_class_without_a_version_is_compared_field_by_field(connect_full):
    """Without a version on the old class, `migrate` checks every stored field."""
    table = connect_full(Table("flags"))

    class Old(Singleton, table=table, pk="SETTINGS#APP", sk="V1"):
        signup: Field[bool] = field(default=False)
        hits: Field[int] = field(default=0)

    new = successor(Old)
    Old.update(hits=4)

    assert new.migrate().hits == 4


@pytest.mark.parametrize("bad", ["raises", "returns"])
def test_a_transform_that_fails_gives_the_safe_values(old, new, monkeypatch, bad):
    """A reader is not disturbed by a transform that raises or returns something else; `migrate` is."""
    old.update(signup=True)
    monkeypatch.setattr(new, "transform", (lambda _: 1 / 0) if bad == "raises" else (lambda _: {}))

    assert (new.get().signup, new.get().source) == ("closed", "default")
    with pytest.raises(type(new.get().problem), match="transform"):
        new.migrate()


def test_an_engine_without_transactions_refuses(stub):
    """Where there are no transactions the error says what to do."""
    old, _ = stubbed(stub)
    new = successor(old)
    stub.script("GetItem", ok({}), found())
    table = old.__table__
    table.binding.capabilities = type(table.binding.capabilities)(transactions=False)

    with pytest.raises(RequestError, match="transaction"):
        new.migrate()


def test_a_lost_answer_is_unknown_and_can_be_repeated(stub):
    """A migration whose answer was lost says so, and the next one finds the row."""
    old, _ = stubbed(stub)
    new = successor(old)
    stub.script("GetItem", ok({}), found())
    stub.script("TransactWriteItems", lost())
    with pytest.raises(WriteOutcomeUnknown, match="again"):
        new.migrate()
    stub.script(
        "GetItem", ok({"Item": row(SK={"S": "FLAGS#V2"}, EntityType={"S": "Next-FLAGS#V2"}, signup={"S": "x"})})
    )

    assert new.migrate().signup == "x"


def test_only_a_successor_migrates(old):
    """`migrate` of the first shape is an error."""
    with pytest.raises(DefinitionError):
        old.migrate()
