"""What access patterns cost."""

from __future__ import annotations

import json
from datetime import date

import pytest

from tablekit import RequestError
from tablekit.tools.cost import PRICES, AccessPattern, Prices, Storage, compare, cost

FEED = AccessPattern(
    name="documents of the feed", items=100, item_bytes=2048, matching=0.3, narrowed="filter", reads_per_second=10
)
ROUND = Prices(
    region="eu-test-1",
    as_of=date(2026, 1, 2),
    read_million=1,
    write_million=2,
    read_hour=0.01,
    write_hour=0.02,
    storage_month=0.5,
)
MONTH = 730 * 3600


def test_a_filter_pays_for_what_it_drops():
    """100 rows of 2 KB of which 30 are wanted: 25 units, 17.5 of them in vain."""
    assert (FEED.read_units, FEED.discarded_units) == (25, 17.5)


def test_on_demand_is_units_times_price():
    """Ten calls a second of 25 units, for a month of 730 hours."""
    assert cost(FEED, prices=ROUND).monthly == pytest.approx(250 * MONTH / 1e6)


def test_provisioned_pays_for_what_is_not_used():
    """Capacity is bought by the hour, more of it than is used on average."""
    assert cost(FEED, mode="provisioned", prices=ROUND, utilisation=0.5).monthly == pytest.approx(
        250 * 0.01 * 730 / 0.5
    )


def test_the_ways_to_one_pattern_are_compared():
    """Of filter, key and sparse index the cheapest comes first, index writes counted in."""
    written = AccessPattern(
        **{**{a: getattr(FEED, a) for a in ("name", "items", "item_bytes", "matching")}, "narrowed": "filter"},
        reads_per_second=10,
        writes_per_second=1,
    )
    options = compare(written, prices=ROUND)
    assert [option.name for option in options] == ["key condition", "sparse index", "filter"]
    by_name = {option.name: option.on_demand for option in options}
    assert by_name["sparse index"].read_units == 7.5
    assert by_name["sparse index"].write_units == by_name["filter"].write_units + 2


def test_index_writes_are_counted_and_moves_twice():
    """A write of 1 KB with two indexes of 1 KB, half of the writes moving the row: 1 + 2 * 1.5."""
    pattern = AccessPattern(name="save", item_bytes=1024, indexes=2, key_changes=0.5, writes_per_second=1)
    assert pattern.write_units == 4


def test_transactions_double_the_table_alone():
    """Reads cost twice a consistent read, writes twice in the table and once in the index."""
    pattern = AccessPattern(name="pay", items=2, item_bytes=1024, transactional=True, narrowed="get", indexes=1)
    assert (pattern.read_units, pattern.write_units) == (4, 3)


def test_gets_are_rounded_one_by_one():
    """Ten gets of 1 KB are ten half units, where a query of the same rows is 1.5."""
    rows = {"name": "ten", "items": 10, "item_bytes": 1024}
    assert AccessPattern(**rows, narrowed="get").read_units == 5
    assert AccessPattern(**rows).read_units == 1.5


def test_vector_indexes_are_not_priced():
    """What is not known is no zero."""
    found = cost(AccessPattern(name="similar", item_bytes=10, reads_per_second=1, vector=True))
    assert found.monthly is None
    assert "not priced" in str(found)


def test_the_default_prices_say_their_day_and_region():
    """A sum of money stands beside the list it is made by."""
    assert (PRICES.region, PRICES.as_of) == ("us-east-1", date(2026, 8, 20))
    assert "us-east-1 as of 2026-08-20" in str(cost(FEED))


def test_prices_can_come_from_a_file(tmp_path):
    """Another region or another day is a file."""
    path = tmp_path / "prices.json"
    path.write_text(
        json.dumps(
            {
                "region": "eu-test-1",
                "as_of": "2026-01-02",
                "read_million": 1,
                "write_million": 2,
                "read_hour": 0.01,
                "write_hour": 0.02,
                "storage_month": 0.5,
            }
        )
    )
    assert Prices.load(path) == ROUND


def test_a_broken_price_file_is_refused(tmp_path):
    """A file that is no price list says what one holds."""
    path = tmp_path / "prices.json"
    whole = '{"region": "x", "as_of": "2026-01-01", "read_million": NaN, "write_million": 1, "read_hour": 1, '
    for text in ("{}", "[]", "", "\x00", whole + '"write_hour": 1, "storage_month": 1}'):
        path.write_text(text)
        with pytest.raises(RequestError, match="read_million"):
            Prices.load(path)


def test_storage_counts_indexes_and_overhead():
    """A million rows of 900 bytes and an index of 400: 1.5 GB."""
    storage = Storage(items=1_000_000, item_bytes=900, indexes={"GSI1": 400})
    assert storage.gigabytes == pytest.approx(1.5)
    assert storage.monthly(ROUND) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "wrong",
    [
        {"matching": 1.1},
        {"items": -1},
        {"key_changes": 2},
        {"narrowed": "sparse", "consistent": True},
        {"reads_per_second": float("nan")},
        {"writes_per_second": float("inf")},
    ],
)
def test_impossible_patterns_are_refused(wrong):
    """A part over one, a negative number, a consistent read of a global index."""
    with pytest.raises(RequestError):
        AccessPattern(name="x", item_bytes=1, **wrong)


def test_impossible_questions_are_refused():
    """Modes and utilisation that are none."""
    with pytest.raises(RequestError):
        cost(FEED, mode="spot")
    with pytest.raises(RequestError):
        cost(FEED, utilisation=0)
