"""The cache of a singleton: no request inside its time, copies at every depth, never older than a write."""

from __future__ import annotations

import threading

import pytest

from tablekit import Table, WriteOutcomeUnknown
from tests.patterns.flags import found, make_flags, row, stubbed, throttled
from tests.support.stub import error, lost, ok


def test_no_request_inside_the_ttl(stub):
    """A thousand reads within 30 seconds are one GetItem, and say that they were cached."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", found())
    first = flags.get()

    clock.now += 29.9
    seen = [flags.get() for _ in range(1000)]

    assert len(stub.requests) == 1
    assert (first.cached, {each.cached for each in seen}, seen[0].source) == (False, {True}, "table")


def test_it_reads_again_after_the_ttl(stub):
    """At its expiry the value is read anew, and its age begins again."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), found(signup={"BOOL": False}, revision={"N": "2"}))
    flags.get()

    clock.now += 30
    again = flags.get()

    assert (again.signup, again.version, again.age, len(stub.requests)) == (False, 2, 0.0, 2)


def test_age_counts_from_when_it_was_asked_for(stub):
    """The age of a snapshot grows by the clock."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", found())
    flags.get()

    clock.now += 12

    assert flags.get().age == 12


def test_r49_a_caller_cannot_change_another_callers_values(stub):
    """R49: what one caller changes inside its snapshot, at any depth, no other caller sees."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found(limits={"M": {"a": {"N": "1"}}}, names={"L": [{"S": "n"}]}))
    mine = flags.get()
    mine.limits["x"] = 9
    mine.names.append("z")
    mine.signup = False
    cached = flags.get()
    cached.limits["y"] = 9

    again = flags.get()

    assert (again.limits, again.names, again.signup) == ({"a": 1}, ["n"], True)
    assert again is not cached
    assert len(stub.requests) == 1


def test_r49_a_caller_cannot_change_the_safe_values(stub):
    """R49: the same for the safe values of a missing row, also after the cache was dropped."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", ok({}))
    for _ in range(2):
        mine = flags.get()
        mine.limits["x"] = 9
        mine.names.append("z")
        assert (flags.get().limits, flags.get().names) == ({}, ["root"])
        flags.invalidate()


def test_r49_a_write_keeps_none_of_the_callers_objects(stub):
    """R49: what the function given to edit keeps hold of is not what the cache hands out."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found())
    stub.always("UpdateItem", ok({}))
    held = []

    def change(mine):
        mine.names.append("second")
        held.append(mine)

    flags.edit(change)
    held[0].names.append("third")

    assert flags.get().names == ["root", "second"]


def test_after_a_write_the_cache_holds_what_was_written(stub):
    """The read after an update sends nothing."""
    flags, _ = stubbed(stub)
    stub.script("GetItem", found())
    stub.script("UpdateItem", ok({"Attributes": row(maintenance={"BOOL": False}, revision={"N": "2"})}))
    flags.get()
    flags.update(maintenance=False)

    seen = flags.get()

    assert (seen.maintenance, seen.version, seen.cached, len(stub.requests)) == (False, 2, True, 2)


def test_update_begins_with_the_cached_version(stub):
    """With a cached version an update is one request."""
    flags, _ = stubbed(stub)
    stub.script("GetItem", found(revision={"N": "41"}))
    stub.script("UpdateItem", ok({"Attributes": row(revision={"N": "42"})}))
    flags.get()

    flags.update(maintenance=False)

    values = stub.sent("UpdateItem")[0]["ExpressionAttributeValues"]
    assert (values[":revision_before"], values[":revision_next"]) == ({"N": "41"}, {"N": "42"})


def test_after_a_failed_write_the_next_read_is_consistent(stub):
    """A write whose outcome is not known drops the cache."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found())
    stub.script("UpdateItem", lost())
    flags.get()
    with pytest.raises(WriteOutcomeUnknown):
        flags.update(maintenance=False)

    seen = flags.get()

    assert (seen.cached, stub.requests[-1][1].get("ConsistentRead")) == (False, True)


def test_an_update_whose_answer_was_lost_knows_its_marker(stub):
    """A repeated update that fails its condition on its own first attempt succeeded."""
    flags, _ = stubbed(stub)
    flags.__table__.connect(port=stub.port(max_attempts=2))
    stub.always("GetItem", found())

    def refuse(wire):
        marker = wire["ExpressionAttributeValues"][":marker"]
        return error("ConditionalCheckFailedException", Item=row(_w=marker, revision={"N": "2"}))

    stub.script("UpdateItem", lost(), refuse)

    assert flags.update(maintenance=False).version == 2


def test_invalidate_makes_the_next_read_consistent(stub):
    """Who says that the values are old gets the newest ones."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", found())
    flags.get()

    flags.invalidate()
    flags.get()

    assert [wire.get("ConsistentRead") for _, wire in stub.requests] == [None, True]


def test_load_reads_past_the_cache_into_it(stub):
    """`load` asks consistently, and `get` after it is served by what it found."""
    flags, _ = stubbed(stub)
    stub.script("GetItem", found(), found(revision={"N": "2"}))
    flags.get()

    assert flags.load().version == 2
    assert flags.get().version == 2
    assert stub.requests[-1][1]["ConsistentRead"] is True


def test_a_slow_read_never_replaces_a_newer_write(stub):
    """A read that began before a write ended does not put the old value back."""
    flags, _ = stubbed(stub)
    reading, written = threading.Event(), threading.Event()

    def slow(_wire):
        reading.set()
        written.wait(10)
        return found()

    stub.script("GetItem", slow, found())
    stub.script("UpdateItem", ok({"Attributes": row(signup={"BOOL": False}, revision={"N": "2"})}))
    reader = threading.Thread(target=flags.get)
    reader.start()
    reading.wait(10)
    flags.update(signup=False)
    written.set()
    reader.join()

    assert (flags.get().signup, flags.get().version) == (False, 2)


def test_a_lagging_read_does_not_go_back(stub):
    """An eventually consistent read of an older version is repeated consistently."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(revision={"N": "5"}), found(revision={"N": "4"}), found(revision={"N": "6"}))
    flags.get()

    clock.now += 31

    assert flags.get().version == 6
    assert [wire.get("ConsistentRead") for _, wire in stub.requests] == [None, None, True]


def test_expiry_is_jittered(stub):
    """Values expire up to the jitter's part earlier, so that processes do not read in step."""
    flags, clock = stubbed(stub, jitter=0.5)
    stub.always("GetItem", found())
    spans = []
    for _ in range(40):
        flags.load()
        spans.append(flags.__cache__.state(flags.__table__.binding.port, "flags").entry.expires - clock.now)

    assert 15 <= min(spans) < max(spans) <= 30
    assert len(set(spans)) > 30


def test_without_cache_seconds_each_read_asks(stub):
    """With ``cache_seconds=0`` nothing is served from memory."""
    flags, _ = stubbed(stub, cache_seconds=0)
    stub.always("GetItem", found())

    assert [flags.get().cached for _ in range(3)] == [False] * 3
    assert len(stub.requests) == 3


def test_a_value_is_refreshed_in_the_background(stub):
    """Within `refresh_before` of its expiry the value is served, and read anew by one thread beside."""
    flags, clock = stubbed(stub, refresh_before=10)
    done = threading.Event()

    def later(_wire):
        done.set()
        return found(revision={"N": "2"})

    stub.script("GetItem", found(), later)
    flags.get()
    clock.now += 21

    assert {flags.get().version for _ in range(3)} <= {1, 2}
    assert done.wait(10)
    for thread in threading.enumerate():
        if thread.name == "tablekit-Flags":
            thread.join(10)
    assert (flags.get().version, flags.get().age, len(stub.requests)) == (2, 0, 2)


def test_on_change_tells_reads_and_writes_that_differ(stub):
    """Listeners get the values before and after, and only when those differ."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), found(revision={"N": "2"}), found(signup={"BOOL": False}, revision={"N": "3"}))
    stub.script("UpdateItem", ok({"Attributes": row(revision={"N": "4"})}))
    seen = []
    remove = flags.on_change(lambda before, after: seen.append((before.signup, after.signup)))
    for _ in range(3):
        flags.get()
        clock.now += 31
    flags.update(signup=True)
    remove()

    assert seen == [(True, False), (False, True)]


def test_a_failing_listener_disturbs_nobody(stub, caplog):
    """An exception of a listener is logged by its class, and the reader gets its values."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), ok({}), ok({}))
    flags.on_change(lambda before, after: before.nothing)
    flags.get()
    clock.now += 31

    assert flags.get().source == "default"
    assert "AttributeError" in caplog.text


def test_a_listener_may_read(stub):
    """A listener that calls `get` gets the new values and does not wait for itself."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), found(signup={"BOOL": False}, revision={"N": "2"}))
    seen = []
    flags.on_change(lambda before, after: seen.append(flags.get().signup))
    flags.get()
    clock.now += 31
    flags.get()

    assert seen == [False]


def test_each_binding_has_a_cache_of_its_own(stub):
    """Another table name or another port is another row."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", lambda wire: found(signup={"BOOL": wire["TableName"] == "flags"}))
    table = flags.__table__

    assert flags.get().signup
    with table.bound(name="other"):
        assert not flags.get().signup
    with table.bound(port=stub.port()):
        flags.get()
    assert flags.get().cached
    assert len(stub.requests) == 3


def test_a_large_row_warns_once(stub, caplog):
    """Over 4 KB the log says once what a read costs and which attribute is heavy, without values."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", found(names={"L": [{"S": "secret" * 1000}]}))
    for _ in range(3):
        flags.get()
        clock.now += 31

    (message,) = [record.getMessage() for record in caplog.records if "bytes" in record.getMessage()]
    assert "2 units strongly consistent" in message
    assert "names (" in message
    assert "secret" not in message


def test_many_writes_a_minute_warn_once(connect, caplog):
    """A row that one process writes more often than `writes_per_minute` is called a counter."""
    flags = make_flags(connect(Table("flags")), writes_per_minute=3)
    for number in range(6):
        flags.update(hits=number)

    messages = [record.getMessage() for record in caplog.records if "ShardedCounter" in record.getMessage()]
    assert len(messages) == 1


def test_stale_is_told_by_a_snapshot_that_was_taken_before(stub):
    """A snapshot keeps the source that it had; a later failure changes the later ones."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), throttled())
    before = flags.get()
    clock.now += 31

    assert (flags.get().source, before.source) == ("stale", "table")
