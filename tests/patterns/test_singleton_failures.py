"""What a singleton gives when it cannot be read: the last good values, the safe ones, or the error; reported once."""

from __future__ import annotations

import logging

import pytest

from tablekit import AccessDenied, DecodeError, MissingEntityType, Throttled, WrongEntityType
from tests.patterns.flags import denied, found, row, stubbed, throttled
from tests.support.stub import lost, ok, page


@pytest.fixture(autouse=True)
def _log_level(caplog):
    caplog.set_level(logging.INFO, "tablekit.singleton")


def logged(caplog):
    """What the logger of singletons said."""
    return [record.getMessage() for record in caplog.records if record.name == "tablekit.singleton"]


def test_r50_a_missing_row_is_cached_for_the_ttl(stub, caplog):
    """R50 (a): no row gives the safe values, ``source="default"``, for the whole time to live; logged once."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", ok({}))
    for _ in range(3):
        seen = flags.get()
        clock.now += 14

    assert (seen.source, seen.problem, len(stub.requests)) == ("default", None, 1)
    assert len(logged(caplog)) == 1


def test_r50_a_throttled_first_read_is_not_taken_for_a_missing_row(stub, caplog):
    """R50 (b): a first read that fails gives the safe values for a moment only, with the problem; logged once."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", throttled(), throttled(), found())
    first = flags.get()
    held = flags.get()
    clock.now += 0.6
    flags.get()
    clock.now += 1.1

    assert (first.source, type(first.problem), held.cached) == ("default", Throttled, True)
    assert (flags.get().source, len(stub.requests)) == ("table", 3)
    assert len(logged(caplog)) == 1


def test_r50_a_throttled_refresh_serves_the_last_good_values(stub, caplog):
    """R50 (c): after a good read, a failed one gives the last values as stale, retried after a short while."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), throttled(), found(revision={"N": "2"}))
    flags.get()
    clock.now += 31
    stale = [flags.get() for _ in range(50)]
    age = stale[0].age
    clock.now += 0.6
    fresh = flags.get()

    assert {(each.source, each.signup, each.version) for each in stale} == {("stale", True, 1)}
    assert age == 31
    assert (fresh.source, fresh.version, len(stub.requests)) == ("table", 2, 3)
    assert len(logged(caplog)) == 1


@pytest.mark.parametrize("policy", ["default", "raise"])
def test_r50_access_denied_is_never_silent(stub, caplog, policy):
    """R50 (d): without permission the error is raised, or the safe values come with the problem and one log line."""
    flags, _ = stubbed(stub, on_failure=policy)
    stub.always("GetItem", denied())
    for _ in range(3):
        if policy == "raise":
            with pytest.raises(AccessDenied):
                flags.get()
        else:
            assert (flags.get().source, type(flags.get().problem)) == ("default", AccessDenied)

    assert len(stub.requests) == 1
    assert len(logged(caplog)) == 1


def test_the_pause_after_failures_doubles_up_to_the_ttl(stub):
    """An outage is not met by more and more requests: one in at most `cache_seconds` in the end."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", lost())
    for _ in range(1000):
        flags.get()
        clock.now += 1

    assert 30 <= len(stub.requests) <= 60


def test_max_stale_ends_the_last_good_values(stub):
    """Values that were good are served no longer than `max_stale` seconds after their expiry."""
    flags, clock = stubbed(stub, max_stale=60)
    stub.script("GetItem", found())
    stub.always("GetItem", throttled())
    flags.get()

    clock.now += 80
    assert flags.get().source == "stale"
    clock.now += 31
    assert (flags.get().source, flags.get().signup) == ("default", False)


def test_a_proxys_page_is_no_missing_row(stub):
    """A 200 that is not DynamoDB's is a failure: the last good values stay."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), page(200))
    flags.get()
    clock.now += 31

    assert (flags.get().source, flags.get().signup) == ("stale", True)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"EntityType": {"S": "Other"}}, WrongEntityType),
        ({"EntityType": {"N": "1"}}, WrongEntityType),
        ({"hits": {"S": "many"}}, DecodeError),
        ({"signup": {"NULL": True}}, DecodeError),
    ],
)
def test_a_row_that_cannot_be_used_gives_the_safe_values_as_a_whole(stub, caplog, bad, problem):
    """A wrong type or an undecodable field puts every field on its safe value, for the time to live; logged once."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", found(**bad))
    for _ in range(2):
        seen = flags.get()
        clock.now += 31

    assert (seen.signup, seen.maintenance, seen.source) == (False, True, "default")
    assert isinstance(seen.problem, problem)
    assert len(logged(caplog)) == 1
    assert "many" not in caplog.text


def test_a_row_without_a_type_gives_the_safe_values(stub, caplog):
    """A row that nobody stamped is not trusted, unless the table infers types."""
    flags, _ = stubbed(stub)
    untyped = row()
    del untyped["EntityType"]
    stub.always("GetItem", ok({"Item": untyped}))

    assert (flags.get().source, type(flags.get().problem)) == ("default", MissingEntityType)
    assert len(logged(caplog)) == 1


def test_a_row_without_a_type_is_read_where_the_table_infers(stub):
    """With ``untyped="infer"`` the key tells the class."""
    flags, _ = stubbed(stub)
    flags.__table__.untyped = "infer"
    untyped = row()
    del untyped["EntityType"]
    stub.always("GetItem", ok({"Item": untyped}))

    assert (flags.get().source, flags.get().signup) == ("table", True)


def test_a_row_that_cannot_be_used_is_raised_by_the_policy(stub):
    """With ``on_failure="raise"`` the error comes each time, from one read."""
    flags, _ = stubbed(stub, on_failure="raise")
    stub.always("GetItem", found(hits={"S": "many"}))
    for _ in range(3):
        with pytest.raises(DecodeError):
            flags.get()

    assert len(stub.requests) == 1


def test_with_the_policy_raise_good_values_still_outlive_a_failure(stub):
    """Where good values are known they are served; the policy is for when there are none."""
    flags, clock = stubbed(stub, on_failure="raise")
    stub.script("GetItem", found(), throttled())
    flags.get()
    clock.now += 31

    assert flags.get().source == "stale"


def test_unknown_attributes_are_logged_once_by_name(stub, caplog):
    """Attributes that the class does not declare are no problem; their names are logged once."""
    flags, clock = stubbed(stub)
    stub.always("GetItem", found(future={"S": "a-value"}))
    for _ in range(2):
        assert flags.get().source == "table"
        clock.now += 31

    (message,) = logged(caplog)
    assert "future" in message
    assert "a-value" not in message


def test_a_row_without_a_version_is_read_and_logged_once(stub, caplog):
    """A row without the version attribute counts as version 0."""
    flags, clock = stubbed(stub)
    plain = row()
    del plain["revision"]
    stub.always("GetItem", ok({"Item": plain}))
    for _ in range(2):
        assert (flags.get().source, flags.get().version) == ("table", 0)
        clock.now += 31

    assert len(logged(caplog)) == 1


def test_a_second_outage_is_logged_again(stub, caplog):
    """A good read between two outages makes the second one news."""
    flags, clock = stubbed(stub)
    stub.script("GetItem", found(), throttled(), found(), throttled())
    for _ in range(4):
        flags.get()
        clock.now += 31

    assert len(logged(caplog)) == 2


def test_a_write_after_an_outage_ends_it(stub):
    """A write that succeeds brings a value, whatever reads did before."""
    flags, _ = stubbed(stub)
    stub.script("GetItem", throttled(), found())
    stub.script("UpdateItem", ok({"Attributes": row(revision={"N": "2"})}))
    flags.get()

    flags.update(signup=True)

    assert (flags.get().source, flags.get().version) == ("table", 2)


def test_load_follows_the_policy_too(stub):
    """`load` of a table that cannot be read gives what `get` would, and says so."""
    flags, _ = stubbed(stub)
    stub.always("GetItem", throttled())

    assert (flags.load().source, type(flags.load().problem)) == ("default", Throttled)
