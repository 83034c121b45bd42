"""A sharded counter: exact, spread over partitions, and no part of what entities' queries see."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta

import pytest

from tablekit import (
    Entity,
    Field,
    KeyPartError,
    QueryError,
    RequestError,
    ShardedCounter,
    Table,
    WriteOutcomeUnknown,
    WrongEntityType,
)
from tests.patterns.flags import counted, in_threads, same_place
from tests.support.stub import error, lost, ok


def make_views(table, shards=8, **options):
    """A counter of page views; made again with another number of shards it takes the earlier one's place."""

    class Views(ShardedCounter, table=table, pk="COUNTER#views#{page}", shards=shards, **options):
        pass

    return Views


@pytest.fixture
def views(connect):
    """A counter on a fresh table of each engine."""
    return make_views(connect(Table("counters")))


@pytest.fixture
def exact(connect_full):
    """A counter where there are transactions."""
    return make_views(connect_full(Table("counters")))


def rows(table):
    """All rows, as they are stored."""
    client = table.binding.port.client
    return client.scan(TableName=table.name, ConsistentRead=True)["Items"]


def test_a_counter_that_was_never_touched_is_zero(views):
    """Untouched shards count as nothing."""
    assert views.value(page="home") == 0


def test_it_counts_what_was_added(views):
    """The value is the sum of all additions, negative ones included."""
    for number in (1, 10, -3):
        assert views.add(number, page="home") is True
    views.add(page="home")

    assert views.value(page="home") == 9
    assert views.value(page="home", consistent=False) == 9


def test_counters_of_one_class_are_told_apart_by_their_key(views):
    """Each page has a number of its own."""
    views.add(2, page="home")
    views.add(5, page="about")

    assert (views.value(page="home"), views.value(page="about")) == (2, 5)


def test_additions_are_spread_over_partitions(views):
    """The shard stands in the partition key, and the type is stamped on first touch."""
    for _ in range(60):
        views.add(page="home")

    shards = [item for item in rows(views.__schema__.registry) if item["EntityType"] == {"S": "Views"}]
    assert len({item["PK"]["S"] for item in shards}) == len(shards) > 4
    assert all(item["page"] == {"S": "home"} for item in shards)


def test_threads_lose_nothing(views):
    """Eight threads add at once, and every addition counts."""
    in_threads(lambda _: [views.add(page="home") for _ in range(10)], 8)

    assert views.value(page="home") == 80


@pytest.mark.parametrize("later", [1, 30, 150])
def test_it_stays_exact_when_the_number_of_shards_changes(connect, later):
    """After the number of shards was lowered or raised the counts of all shards are found."""
    table = connect(Table("counters"))
    before = make_views(table, shards=8)
    for _ in range(25):
        before.add(page="home")
    after = make_views(table, shards=later)

    assert after.value(page="home") == 25
    for _ in range(25):
        after.add(page="home")
    assert after.value(page="home") == 50
    assert make_views(table, shards=2).value(page="home") == 50


def test_a_reader_with_fewer_shards_sees_a_newer_writers_shards(connect):
    """A process that still has the old number finds what a process with a higher one adds."""
    table = connect(Table("counters"))
    old = make_views(table, shards=2)
    old.add(page="home")
    new = make_views(same_place(table), shards=40)
    for _ in range(40):
        new.add(page="home")

    assert old.value(page="home") == 41


def test_value_is_one_batch_get(views):
    """A read is one BatchGetItem of the shards and of the row that says how many there are."""
    views.add(page="home")
    sent = counted(views.__schema__.registry)

    views.value(page="home")

    assert sent == ["BatchGetItem"]


def test_add_is_one_update(views):
    """After the first addition of a process each one is a single UpdateItem."""
    views.add(page="home")
    sent = counted(views.__schema__.registry)

    views.add(page="home")

    assert sent == ["UpdateItem"]


def test_parts_of_the_key_may_have_types(connect):
    """A part that the body declares is encoded by its type."""

    class Daily(ShardedCounter, table=connect(Table("counters")), pk="COUNTER#daily#{day}", shards=2):
        day: Field[date]

    Daily.add(day=date(2026, 1, 1))

    assert (Daily.value(day=date(2026, 1, 1)), Daily.value(day=date(2026, 1, 2))) == (1, 0)


def test_a_counter_without_parts(connect):
    """A counter for the whole application has a constant key."""

    class Signups(ShardedCounter, table=connect(Table("counters")), pk="COUNTER#signups", shards=2):
        pass

    Signups.add(3)
    assert Signups.value() == 3


@pytest.mark.transactions
def test_an_operation_counts_once(exact):
    """With an id the addition is made once, however often it is called; the result says which call it was."""
    calls = [exact.add(3, page="home", operation_id="request-1") for _ in range(4)]

    assert calls == [True, False, False, False]
    assert exact.value(page="home") == 3


@pytest.mark.transactions
def test_an_operation_counts_once_among_threads(exact):
    """Eight threads that retry the same twenty operations count each of them once."""

    def work(_number):
        return sum(exact.add(page="home", operation_id=f"request#{n}") for n in range(10))

    assert sum(in_threads(work, 8)) == 10
    assert exact.value(page="home") == 10


@pytest.mark.transactions
def test_an_operation_belongs_to_one_counter(exact):
    """The same id for another page is another operation; for another number it is refused."""
    assert exact.add(page="home", operation_id="request-1")
    assert exact.add(page="about", operation_id="request-1")
    with pytest.raises(RequestError, match="another number"):
        exact.add(2, page="home", operation_id="request-1")


@pytest.mark.transactions
def test_what_is_remembered_expires(connect_full):
    """The row of an operation has the table's TTL attribute, at the end of `remember`."""
    table = connect_full(Table("counters"))
    views = make_views(table, remember=timedelta(hours=1), ttl_attribute="gone_at")
    views.add(page="home", operation_id="request-1")

    (mark,) = [item for item in rows(table) if item["EntityType"] == {"S": "tablekit:operation"}]
    assert mark["gone_at"]["N"].isdigit()


@pytest.mark.transactions
def test_a_lost_answer_counts_once_when_it_is_repeated(exact, stub):
    """An addition with an id that ended in the unknown is simply called again."""
    stub.script("GetItem", ok({}))
    stub.script("UpdateItem", ok({}))
    stub.script("TransactWriteItems", lost())
    table = exact.__schema__.registry
    with (
        table.bound(port=stub.port(max_attempts=1)),
        pytest.raises(WriteOutcomeUnknown, match="same operation_id"),
    ):
        exact.add(page="home", operation_id="request-1")

    assert exact.add(page="home", operation_id="request-1")


def test_a_conflict_takes_another_shard(stub):
    """An addition that meets a transaction on its shard is tried again."""
    table = Table("counters")
    table.connect(port=stub.port(max_attempts=1))
    stub.script("GetItem", ok({"Item": {"shards": {"N": "8"}}}))
    stub.script("UpdateItem", error("TransactionConflictException"), ok({}))

    assert make_views(table).add(page="home")


def test_a_plain_addition_whose_answer_was_lost_is_unknown(stub):
    """Without an id nobody can know, and the error says so."""
    table = Table("counters")
    table.connect(port=stub.port(max_attempts=1))
    stub.script("GetItem", ok({"Item": {"shards": {"N": "8"}}}))
    stub.script("UpdateItem", lost())

    with pytest.raises(WriteOutcomeUnknown):
        make_views(table).add(page="home")


def test_a_row_of_another_class_is_neither_counted_nor_changed(connect):
    """The type guard protects a row that lies under a shard's key."""
    table = connect(Table("counters"))
    views = make_views(table, shards=1)
    foreign = {
        "PK": {"S": "COUNTER#views#home#0"},
        "SK": {"S": "COUNTER"},
        "EntityType": {"S": "Other"},
        "count": {"N": "5"},
    }
    table.binding.port.client.put_item(TableName=table.name, Item=foreign)

    with pytest.raises(WrongEntityType):
        views.add(page="home")
    with pytest.raises(WrongEntityType):
        views.value(page="home")


def test_wrong_keys_are_refused_before_anything_is_sent(views):
    """A missing part, an unknown one and a number that is none name what is wrong."""
    sent = counted(views.__schema__.registry)

    for call in (views.add, lambda: views.add(pag="x"), lambda: views.value(page="a", shard=1)):
        with pytest.raises(KeyPartError):
            call()
    for wrong in (1.5, "1", True):
        with pytest.raises(RequestError, match="whole number"):
            views.add(wrong, page="home")

    assert sent == []


def test_entities_queries_do_not_see_counters(views):
    """Reads that name no class leave shards and tablekit's own rows out, and a counter cannot be queried."""
    table = views.__schema__.registry

    class Page(Entity, table=table, pk="PAGE#{page}", sk="META"):
        page: Field[str]

    page = Page(page="home").create()
    for _ in range(20):
        views.add(page="home")

    assert table.scan().all() == [page]
    with pytest.raises(QueryError, match=r"Views\.value\(\)"):
        table.query(views, page="home")


def test_a_dry_run_adds_nothing(views):
    """In a dry run the addition is recorded only."""
    table = views.__schema__.registry
    with table.dry_run() as plan:
        views.add(page="home")

    assert {request.operation for request in plan} == {"UpdateItem"}
    assert views.value(page="home") == 0


def test_the_awaited_names_count_as_well(views):
    """`aio` has the verbs, over the asynchronous transport."""

    async def main():
        table = views.__schema__.registry
        await asyncio.gather(*(views.aio.add(page="home") for _ in range(10)))
        found = await views.aio.value(page="home")
        await table.binding.aclose()
        return found

    assert asyncio.run(main()) == 10
