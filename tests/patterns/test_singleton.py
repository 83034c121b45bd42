"""A singleton on the engines: read, changed on the server, safe when it is missing."""

from __future__ import annotations

import copy
import pickle

import pytest

from tablekit import (
    EncodeError,
    Field,
    MissingEntityType,
    QueryError,
    RequestError,
    Singleton,
    Table,
    VersionConflict,
    WrongEntityType,
    field,
    version,
)
from tests.patterns.flags import KEY, counted, make_flags, row

app = Table("settings")


class Simple(Singleton, table=app, pk="SETTINGS#APP", sk="SIMPLE"):
    """A class of the module, so that it can be pickled."""

    signup: Field[bool] = field(default=False)

    revision = version()


@pytest.fixture
def flags(connect):
    """A singleton on a fresh table of each engine."""
    return make_flags(connect(Table("flags")), attempts=20)


def raw(flags):
    """The row as it is stored."""
    return run_get(flags.__table__)


def run_get(table):
    """The row, past tablekit's reading."""
    return table.binding.port.client.get_item(TableName=table.name, Key=KEY, ConsistentRead=True).get("Item")


def put(flags, item):
    """Store a row as a foreign writer would."""
    table = flags.__table__
    table.binding.port.client.put_item(TableName=table.name, Item=item)
    flags.invalidate()


def test_a_missing_row_reads_as_the_safe_values(flags):
    """Without a row `get` gives the defaults and says so."""
    found = flags.get()

    assert (found.signup, found.maintenance, found.names) == (False, True, ["root"])
    assert (found.source, found.version, found.problem) == ("default", 0, None)


def test_update_creates_the_row_with_the_other_fields_safe(flags):
    """The first update writes one row: the value given, the defaults, the type and version 1."""
    stored = flags.update(signup=True)

    assert (stored.signup, stored.maintenance, stored.version, stored.source) == (True, True, 1, "table")
    assert raw(flags)["EntityType"] == {"S": "Flags"}


def test_update_sends_only_what_changes(flags):
    """The request sets the one field, the type, the version under its condition, and the marker."""
    flags.update(signup=True)
    with flags.__table__.dry_run() as plan:
        flags.update(maintenance=False)

    wire = plan.requests[0].to_wire()
    names = set(wire["ExpressionAttributeNames"].values())
    assert names == {"maintenance", "EntityType", "revision", "_w"}
    assert "#revision = :revision_before" in wire["ConditionExpression"]


def test_update_takes_actions_and_values_together(flags):
    """Typed actions and values by name go into one request."""
    flags.ensure()

    stored = flags.update(flags.hits.add(5), flags.limits["a"].set(1), signup=True)

    assert (stored.hits, stored.limits, stored.signup, stored.version) == (5, {"a": 1}, True, 2)


def test_an_action_on_a_missing_row_finds_the_safe_values(flags):
    """Actions that need what is stored work on the defaults."""
    assert flags.update(flags.limits["a"].set(1), flags.hits.add(2)).limits == {"a": 1}


def test_update_after_another_writer_keeps_both_changes(flags):
    """A writer whose version is old re-reads and retries."""
    flags.ensure()
    item = raw(flags)
    put(flags, {**item, "signup": {"BOOL": True}, "revision": {"N": "7"}})
    flags.get()
    put_behind = {**item, "signup": {"BOOL": True}, "revision": {"N": "9"}}
    flags.__table__.binding.port.client.put_item(TableName=flags.__table__.name, Item=put_behind)

    stored = flags.update(maintenance=False)

    assert (stored.signup, stored.maintenance, stored.version) == (True, False, 10)


def test_edit_changes_a_fresh_copy(flags):
    """`edit` gives the function the row as it is, writes what it changed, and returns what is stored."""
    flags.update(signup=True)

    def change(copy_):
        copy_.limits["a"] = 1
        copy_.names.append("second")

    stored = flags.edit(change)

    assert (stored.signup, stored.limits, stored.names, stored.version) == (True, {"a": 1}, ["root", "second"], 2)
    assert flags.load() == stored


def test_edit_takes_another_object(flags):
    """What the function returns in place of its argument is written."""
    flags.ensure()

    assert flags.edit(lambda old: old.replace(signup=True)).signup
    assert flags.edit(lambda _: flags(hits=4)).hits == 4
    assert flags.load().signup is False


def test_edit_that_changes_nothing_sends_no_write(flags):
    """An edit without a change leaves the version as it is."""
    flags.ensure()
    sent = counted(flags.__table__)

    assert flags.edit(lambda _: None).version == 1
    assert sent == ["GetItem"]


def test_edit_of_a_missing_row_creates_it(flags):
    """The function is given the safe values, and the row is made of what it leaves."""
    assert flags.edit(lambda old: old.replace(hits=old.hits + 1)).version == 1
    assert flags.load().hits == 1


def test_edit_is_called_again_after_a_lost_race(flags):
    """Both writers' changes are kept."""
    flags.ensure()
    calls = []

    def change(mine):
        calls.append(mine.hits)
        if len(calls) == 1:
            flags.update(hits=10)
        mine.signup = True

    stored = flags.edit(change)

    assert calls == [0, 10]
    assert (stored.hits, stored.signup, stored.version) == (10, True, 3)


def test_edit_gives_up_after_its_attempts(connect):
    """A row that another writer changes each time is a VersionConflict that says so."""
    flags = make_flags(connect(Table("flags")), attempts=3)
    flags.ensure()

    def change(mine):
        flags.update(flags.hits.add(1))
        mine.signup = True

    with pytest.raises(VersionConflict, match="3 times"):
        flags.edit(change)


def test_edit_refuses_a_foreign_result(flags):
    """A function that returns something else is told what to return."""
    flags.ensure()
    with pytest.raises(RequestError, match="returned a dict"):
        flags.edit(lambda _: {"signup": True})


def test_a_class_without_a_version_keeps_both_changes_too(connect):
    """Without a version `edit` pins the values that the function was given."""
    table = connect(Table("flags"))

    class Flags(Singleton, table=table, pk="SETTINGS#APP", sk="FLAGS#V1"):
        signup: Field[bool] = field(default=False)
        hits: Field[int] = field(default=0)

    Flags.ensure()
    calls = []

    def change(mine):
        calls.append(mine.hits)
        if len(calls) == 1:
            Flags.update(hits=10)
        mine.signup = True

    stored = Flags.edit(change)
    assert (calls, stored.hits, stored.signup, stored.version) == ([0, 10], 10, True, None)


def test_a_row_without_a_version_counts_as_version_0(flags):
    """A row that was written without tablekit is updated, and has version 1 then."""
    item = row()
    del item["revision"]
    put(flags, item)

    assert (flags.get().version, flags.get().source) == (0, "table")
    assert flags.update(maintenance=False).version == 1


def test_undeclared_attributes_stay(flags):
    """Attributes that the class does not declare survive update and edit."""
    put(flags, row(future={"S": "kept"}))

    flags.update(maintenance=False)
    flags.edit(lambda old: old.replace(hits=3))

    assert raw(flags)["future"] == {"S": "kept"}


def test_a_field_newer_than_the_row_reads_as_its_safe_value(flags):
    """A row without the attribute gives the factory's value, not the safe values as a whole."""
    put(flags, row())

    assert (flags.get().names, flags.get().signup) == (["root"], True)


def test_a_write_refuses_a_row_of_another_class(flags):
    """Neither update nor edit changes a row of another type or of none."""
    put(flags, row(EntityType={"S": "Other"}))
    with pytest.raises(WrongEntityType):
        flags.update(maintenance=False)
    with pytest.raises(WrongEntityType):
        flags.edit(lambda old: old.replace(hits=3))

    untyped = row()
    del untyped["EntityType"]
    put(flags, untyped)
    with pytest.raises(MissingEntityType):
        flags.update(maintenance=False)


def test_an_undecodable_field_can_be_repaired_by_update(flags):
    """An update of the bad field succeeds, since it asks only for the version."""
    put(flags, row(hits={"S": "many"}))
    assert flags.get().source == "default"

    assert flags.update(hits=3).signup is True
    assert flags.get().hits == 3


def test_ensure_writes_once(flags):
    """`ensure` creates the row, and leaves one that is there."""
    assert flags.ensure().version == 1
    flags.update(signup=True)

    assert flags.ensure().signup
    assert flags.load().version == 2


def test_delete_brings_the_safe_values_back(flags):
    """After a delete the next read finds no row."""
    flags.update(signup=True)

    flags.delete()

    assert (flags.get().signup, flags.get().source) == (False, "default")


def test_a_write_that_is_wrong_is_refused_before_it_is_sent(flags):
    """Unknown names, managed fields and wrong types name the field and send nothing."""
    sent = counted(flags.__table__)

    for wrong, message in (({"signap": True}, "signup"), ({"revision": 3}, "kept by tablekit"), ({}, "nothing")):
        with pytest.raises(RequestError, match=message):
            flags.update(**wrong)
    with pytest.raises(EncodeError):
        flags.update(signup="yes")

    assert sent == []


def test_a_dry_run_changes_nothing(flags):
    """In a dry run writes are recorded, and the cache keeps what the table holds."""
    flags.ensure()

    with flags.__table__.dry_run() as plan:
        flags.update(signup=True)
        flags.edit(lambda old: old.replace(signup=True))
        flags.delete()

    assert [request.operation for request in plan] == ["UpdateItem", "UpdateItem", "DeleteItem"]
    assert (flags.get().signup, flags.load().version) == (False, 1)


def test_queries_scans_and_batches_are_refused_with_the_remedy(flags):
    """What would read a singleton otherwise than by its key says what to do instead."""
    for call in (flags.query, flags.scan, flags.key):
        with pytest.raises(RequestError, match=r"Flags\.get\(\)"):
            call()
    with pytest.raises(QueryError, match=r"Flags\.get\(\)"):
        flags.__table__.query(flags)


def test_a_batch_takes_no_singleton(flags):
    """Batches and transactions say that a singleton is not theirs."""
    with pytest.raises(RequestError, match=r"Flags\.get\(\)"), flags.__table__.batch(unversioned=True) as batch:
        batch.put(flags())


def test_a_scan_of_the_table_gives_it_as_its_class(flags):
    """Where no class is named, the row is what its type says."""
    flags.update(signup=True)

    assert [type(found) for found in flags.__table__.scan()] == [flags]


def test_explain_shows_the_request_and_the_cache(flags):
    """`explain` sends nothing and says what a read costs and what is held."""
    sent = counted(flags.__table__)

    shown = flags.explain()

    assert (shown.operation, shown.request["Key"], sent) == ("GetItem", KEY, [])
    assert "Nothing is cached" in str(shown)


def test_snapshots_can_be_copied_and_pickled(connect):
    """Copies keep the values and where they came from."""
    connect(app)
    Simple.update(signup=True)
    found = Simple.get()

    for twin in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (twin, twin.source, twin.version) == (found, "table", 1)
        assert twin.age == pytest.approx(found.age, abs=1)


def test_an_instance_of_ones_own_has_no_age():
    """What was not read says that it holds the safe values' class, and no age."""
    mine = Simple(signup=True)

    assert (mine.source, mine.cached, mine.age, mine.version, mine.problem) == ("default", False, None, 0, None)
