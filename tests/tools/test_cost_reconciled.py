"""The billing rules against the ConsumedCapacity of the engines, where these are right.

Dynalite is right for reads and for writes of the table; ministack for writes with their indexes and in transactions.
Where both are right both are asked. Nothing here is said of a capacity that an engine gets wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tablekit import Entity, Field, GlobalIndex, LocalIndex, Table, index_key
from tablekit.operations.observe import consumed_units
from tablekit.tools.cost import AccessPattern
from tablekit.wire.sizes import item_size
from tablekit.wire.units import (
    batch_read_units,
    query_units,
    read_units,
    write_units,
    write_units_by_index,
)
from tests.support.engines import Engine
from tests.support.tables import Connect, connector

bills = Table(
    "bills",
    indexes=[
        GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"),
        GlobalIndex("GSI2", pk="GSI2PK", projection=["day"]),
        LocalIndex("LSI1", sk="day"),
    ],
)


class Bill(Entity, table=bills, pk="B#{owner}", sk="{number}"):
    """A row in two global indexes and a local one."""

    owner: Field[str]
    number: Field[str]
    day: Field[str]
    text: Field[str]
    by_day = index_key("GSI1", pk="DAY#{day}", sk="{number}")
    by_owner = index_key("GSI2", pk="OWNER#{owner}")


def sized(number: str, size: int, **changes: Any) -> dict[str, Any]:
    """A row of exactly so many bytes, in no index."""
    row: dict[str, Any] = {"PK": {"S": "B#a"}, "SK": {"S": number}, "text": {"S": ""}, **changes}
    row["text"] = {"S": "x" * (size - item_size(row))}
    assert item_size(row) == size
    return row


def units(answer: dict[str, Any]) -> dict[str, float]:
    """What an engine says that a request consumed, by index."""
    return {name: figure for name, figure in consumed_units(answer).items() if figure}


@pytest.fixture
def dynalite_bills(dynalite_endpoint: str, table_name: str, recorder: Any) -> Iterator[tuple[Any, str]]:
    """A client and a table of dynalite, which is right for reads."""
    engine = Engine("dynalite", dynalite_endpoint)
    for connect in connector(engine, table_name):
        yield engine.client(), connect(bills).name


@pytest.fixture
def ministack_bills(connect_full: Connect, ministack: Engine) -> tuple[Any, str]:
    """A client and a table of ministack, which is right for writes."""
    return ministack.client(), connect_full(bills).name


TOTAL = {"ReturnConsumedCapacity": "TOTAL"}
KEYS = [{"PK": {"S": "B#a"}, "SK": {"S": number}} for number in ("1", "2")]
SIZES = (1_500, 6_500)


@pytest.mark.parametrize("consistent", [False, True])
def test_r60_reads_of_two_rows_are_rounded_one_by_one_or_once(
    dynalite_bills: tuple[Any, str], consistent: bool
) -> None:
    """R60: get and batch round each row; a query sums first; a filter that drops all changes nothing."""
    client, name = dynalite_bills
    for key, size in zip(("1", "2"), SIZES):
        client.put_item(TableName=name, Item=sized(key, size))
    read = {"ConsistentRead": consistent, **TOTAL}
    partition = {
        "TableName": name,
        "KeyConditionExpression": "PK = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "B#a"}},
    }
    dropping = {**partition, "FilterExpression": "attribute_exists(nothing)"}

    gets = [sum(units(client.get_item(TableName=name, Key=key, **read)).values()) for key in KEYS]
    batch = client.batch_get_item(RequestItems={name: {"Keys": KEYS, "ConsistentRead": consistent}}, **TOTAL)

    assert gets == [read_units(size, consistent=consistent) for size in SIZES]
    assert sum(units(batch).values()) == batch_read_units(SIZES, consistent=consistent) == (3.0 if consistent else 1.5)
    for request in (partition, dropping):
        found = sum(units(client.query(**request, **read)).values())
        assert found == query_units(sum(SIZES), consistent=consistent) == (2.0 if consistent else 1.0)


def test_r60_a_row_that_is_missing_is_billed_as_a_block(dynalite_bills: tuple[Any, str]) -> None:
    """R60: half a unit, or one where the read is consistent."""
    client, name = dynalite_bills

    found = [
        sum(units(client.get_item(TableName=name, Key=KEYS[0], ConsistentRead=strong, **TOTAL)).values())
        for strong in (False, True)
    ]

    assert found == [read_units(0), read_units(0, consistent=True)] == [0.5, 1.0]


@pytest.mark.parametrize("size", [1, 4_095, 4_096, 4_097, 9_000])
def test_a_read_is_rounded_up_to_4_kb(dynalite_bills: tuple[Any, str], size: int) -> None:
    """At the boundary, too."""
    client, name = dynalite_bills
    row = sized("1", max(size, 40))
    client.put_item(TableName=name, Item=row)

    found = client.get_item(TableName=name, Key=KEYS[0], ConsistentRead=True, **TOTAL)

    assert sum(units(found).values()) == read_units(item_size(row), consistent=True)


@pytest.mark.parametrize(("size", "before"), [(40, 0), (1_024, 0), (1_025, 0), (1_100, 0), (200, 5_000), (5_000, 200)])
def test_a_put_is_billed_by_the_larger_of_before_and_after(
    connect: Connect, engine: Engine, size: int, before: int
) -> None:
    """R60: a row of 1.1 KB is two units; both engines are right here."""
    client, name = engine.client(), connect(bills).name
    if before:
        client.put_item(TableName=name, Item=sized("1", before))

    found = client.put_item(TableName=name, Item=sized("1", size), **TOTAL)

    assert sum(units(found).values()) == write_units(size, before=before)


@pytest.mark.parametrize("size", [900, 1_100])
def test_r60_writes_in_a_transaction_are_doubled(ministack_bills: tuple[Any, str], size: int) -> None:
    """R60: 1.1 KB are four units."""
    client, name = ministack_bills
    put = {"Put": {"TableName": name, "Item": sized("1", size)}}

    found = client.transact_write_items(TransactItems=[put], **TOTAL)

    assert sum(units(found).values()) == write_units(size, transactional=True)
    assert AccessPattern(name="w", item_bytes=size, transactional=True).write_units == write_units(
        size, transactional=True
    )


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("day", {"day": "2026-11-02"}),
    ("text", {"text": "y" * 100}),
    ("nothing", {}),
]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=[name for name, _ in CHANGES])
def test_r60_an_index_is_billed_when_its_entry_changes(
    ministack_bills: tuple[Any, str], what: str, change: dict[str, Any]
) -> None:
    """R60: an entry under another key is deleted and put; one with other contents is written; one as it was is not."""
    client, name = ministack_bills
    bill = Bill(owner="a", number="1", day="2026-11-01", text="x" * 100)
    before = bill.to_item()
    after = bill.replace(**change).to_item() if change else before
    rules = {"indexes": bills.indexes.values(), "table_keys": bills.key_names, "type_attribute": "EntityType"}

    created = client.put_item(TableName=name, Item=before, ReturnConsumedCapacity="INDEXES")
    changed = client.put_item(TableName=name, Item=after, ReturnConsumedCapacity="INDEXES")

    assert units(created) == write_units_by_index(before, None, **rules)
    expected = write_units_by_index(after, before, **rules)
    assert units(changed) == expected
    assert expected.get("GSI1") == {"day": 2.0, "text": 1.0, "nothing": None}[what]


def test_a_sparse_index_is_billed_for_the_rows_that_enter_it(ministack_bills: tuple[Any, str]) -> None:
    """A row without the index key costs the table alone; a delete takes the entries with it."""
    client, name = ministack_bills
    row = Bill(owner="a", number="1", day="2026-11-01", text="x").to_item()
    outside = {key: value for key, value in row.items() if not key.startswith("GSI")}
    rules = {"indexes": bills.indexes.values(), "table_keys": bills.key_names, "type_attribute": "EntityType"}

    put = client.put_item(TableName=name, Item=outside, ReturnConsumedCapacity="INDEXES")
    enters = client.put_item(TableName=name, Item=row, ReturnConsumedCapacity="INDEXES")
    deleted = client.delete_item(TableName=name, Key=KEYS[0], ReturnConsumedCapacity="INDEXES")

    assert units(put) == write_units_by_index(outside, None, **rules)
    assert units(enters) == write_units_by_index(row, outside, **rules)
    assert units(deleted) == write_units_by_index(None, row, **rules)


def test_a_pattern_is_priced_by_the_units_that_an_engine_bills(dynalite_bills: tuple[Any, str]) -> None:
    """Ten rows of 2 KB of which three are wanted, by a filter: `cost` expects what the engine consumes."""
    client, name = dynalite_bills
    for number in range(10):
        client.put_item(TableName=name, Item=sized(f"{number}", 2_048))
    pattern = AccessPattern(name="p", items=10, item_bytes=2_048, matching=0.3, narrowed="filter")

    found = client.query(
        TableName=name,
        KeyConditionExpression="PK = :pk",
        FilterExpression="begins_with(#text, :none)",
        ExpressionAttributeNames={"#text": "text"},
        ExpressionAttributeValues={":pk": {"S": "B#a"}, ":none": {"S": "z"}},
        **TOTAL,
    )

    assert pattern.read_units == sum(units(found).values()) == 2.5
