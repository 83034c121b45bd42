"""Capacity units worked out from sizes, as DynamoDB's page on read and write operations has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit import GlobalIndex
from tablekit.wire.sizes import item_size, number_size
from tablekit.wire.units import (
    PAGE_BYTES,
    batch_read_units,
    batch_write_units,
    index_write_units,
    page_sizes,
    projected_size,
    query_units,
    read_units,
    stored_bytes,
    write_units,
    write_units_by_index,
)

KB = 1024
SMALL, LARGE = KB * 3 // 2, KB * 13 // 2
FEED = GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")
NARROW = GlobalIndex("GSI2", pk="GSI2PK", projection=["title"])
KEY = {"PK": {"S": "a"}, "SK": {"S": "b"}}
IN_FEED = {**KEY, "GSI1PK": {"S": "a"}, "GSI1SK": {"S": "1"}}


def by_index(after, before, **options):
    """Write units of one write on a table with the feed."""
    return write_units_by_index(
        after, before, indexes=[FEED], table_keys=("PK", "SK"), type_attribute="EntityType", **options
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("27", 2),
        ("-27", 3),
        ("461", 3),
        ("1000", 2),
        ("1E3", 2),
        ("0", 1),
        ("1E125", 2),
        ("1" * 38, 20),
        ("1786461547", 6),
    ],
)
def test_r58_numbers_are_sized_by_digit_pairs(text, size):
    """R58: a number takes a byte for two digits and one more, however its exponent is written."""
    assert number_size(text) == size


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"é": {"S": "日本"}}, 8),
        ({"b": {"B": b"\0" * 9}}, 10),
        ({"n": {"NULL": True}}, 2),
        ({"l": {"L": []}}, 4),
        ({"l": {"L": [{"S": "a"}]}}, 6),
        ({"m": {"M": {"k": {"BOOL": True}}}}, 7),
    ],
)
def test_r59_names_bytes_and_containers_are_counted(item, size):
    """R59: sizes are of UTF-8 and of raw bytes, with names and the overhead of containers."""
    assert item_size(item) == size


@pytest.mark.parametrize(("consistent", "units"), [(False, 1.5), (True, 3.0)])
def test_r60_a_batch_rounds_each_item(consistent, units):
    """R60: a BatchGetItem of 1.5 KB and 6.5 KB is billed 4 KB and 8 KB."""
    assert batch_read_units([SMALL, LARGE], consistent=consistent) == units


@pytest.mark.parametrize(("consistent", "units"), [(False, 1.0), (True, 2.0)])
def test_r60_a_query_rounds_the_sum(consistent, units):
    """R60: a Query of the same two rows is billed 8 KB, a filter makes no difference."""
    assert query_units(SMALL + LARGE, consistent=consistent) == units


def test_r60_a_transaction_costs_twice_a_consistent_read():
    """R60: a transactional get of both is (1 + 2) * 2."""
    assert batch_read_units([SMALL, LARGE], transactional=True) == 6


@pytest.mark.parametrize(("consistent", "units"), [(False, 0.5), (True, 1.0)])
def test_r60_a_missing_item_costs_a_block(consistent, units):
    """R60: a get of nothing is billed as the smallest read."""
    assert read_units(0, consistent=consistent) == units


@pytest.mark.parametrize(("transactional", "units"), [(False, 2.0), (True, 4.0)])
def test_r60_writes_round_to_kilobytes(transactional, units):
    """R60: a write of 1.1 KB takes two units, four in a transaction."""
    assert write_units(KB * 11 // 10, transactional=transactional) == units


def test_a_write_is_billed_by_the_larger_row():
    """Replacing or deleting a large row costs what the large row does."""
    assert write_units(10, before=3 * KB) == 3
    assert write_units(0, before=3 * KB) == 3


def test_a_batch_write_is_the_sum_of_its_rows():
    """Two small rows take two units."""
    assert batch_write_units([1, 1]) == 2


def test_r60_a_new_index_key_is_two_writes():
    """R60: a changed index key deletes one entry and puts another, while the table is written once."""
    moved = {**IN_FEED, "GSI1SK": {"S": "2"}}
    assert by_index(moved, IN_FEED) == {"": 1, "GSI1": 2}


@pytest.mark.parametrize(
    ("after", "before", "units"),
    [
        (KEY, None, {"": 1}),
        (IN_FEED, None, {"": 1, "GSI1": 1}),
        (None, IN_FEED, {"": 1, "GSI1": 1}),
        (KEY, IN_FEED, {"": 1, "GSI1": 1}),
    ],
    ids=["outside the index", "enters", "deleted", "leaves"],
)
def test_only_rows_in_an_index_are_billed_for_it(after, before, units):
    """A row without the index key costs nothing there; entering and leaving are one write each."""
    assert by_index(after, before) == units


def test_an_unchanged_entry_is_not_written():
    """An index that projects none of what changed costs nothing."""
    row = {**KEY, "GSI2PK": {"S": "x"}, "title": {"S": "t"}}
    changed = {**row, "words": {"N": "1"}}
    units = write_units_by_index(changed, row, indexes=[NARROW], table_keys=("PK", "SK"), type_attribute="EntityType")
    assert units == {"": 1}


def test_transactions_do_not_double_index_writes():
    """The table is billed twice in a transaction, its indexes once."""
    assert by_index(IN_FEED, None, transactional=True) == {"": 2, "GSI1": 1}


def test_an_entry_holds_what_the_index_projects():
    """An INCLUDE projection is sized by its keys, its attributes and the type."""
    row = {**KEY, "GSI2PK": {"S": "x"}, "title": {"S": "t"}, "body": {"S": "b" * 500}}
    without_body = {name: value for name, value in row.items() if name != "body"}
    assert projected_size(row, NARROW, ("PK", "SK"), "EntityType") == item_size(without_body)
    assert projected_size(KEY, NARROW, ("PK", "SK"), "EntityType") is None


def test_index_units_by_size():
    """An entry that stays is billed once by its larger size, one that moves by both."""
    assert index_write_units(2 * KB, KB) == 2
    assert index_write_units(2 * KB, KB, moved=True) == 3
    assert index_write_units(None, None) == 0


def test_an_empty_page_is_a_page():
    """A query that finds nothing is one request, of half a unit."""
    assert list(page_sizes(0, 500)) == [0]
    assert query_units(0) == 0.5


@given(items=st.integers(0, 20_000), size=st.integers(1, 400_000), limit=st.none() | st.integers(1, 500))
def test_pages_hold_every_row_once(items, size, limit):
    """The pages add up to all rows, and none but the row that crosses the megabyte lies over it."""
    pages = list(page_sizes(items, size, limit=limit))
    assert sum(pages) == items * size
    assert all(page < PAGE_BYTES + size for page in pages)
    assert limit is None or all(page <= limit * size for page in pages)


def test_storage_is_billed_with_an_overhead():
    """Each item is stored with 100 bytes more."""
    assert stored_bytes(KEY) == item_size(KEY) + 100
