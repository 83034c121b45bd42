"""What an access pattern costs: units, and money by a dated list of prices.

Capacity comes from `tablekit.wire.units`. A price is a fact of one day and one region, and is given as such; the
list price of today is at https://aws.amazon.com/dynamodb/pricing/ and can be read from a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal

import attrs

from tablekit.errors import RequestError
from tablekit.operations.estimates import ReadFacts
from tablekit.wire.units import INDEX_OVERHEAD, batch_read_units, index_write_units, read_units, write_units

__all__ = ["PRICES", "AccessPattern", "Cost", "Option", "Prices", "Storage", "compare", "cost"]

SECONDS_IN_MONTH = 730 * 3600
"""AWS bills by months of 730 hours."""

Mode = Literal["on-demand", "provisioned"]
Narrowed = Literal["get", "key", "filter", "sparse"]


@attrs.frozen(kw_only=True)
class Prices:
    """Prices of one region on one day, in US dollars, without tax, free tier, reserved capacity or data transfer.

    Attributes:
        region: the region. as_of: the day. read_million, write_million: a million request units on demand.
        read_hour, write_hour: one provisioned capacity unit for an hour. storage_month: a gigabyte (10**9 bytes) for
            a month, in the Standard table class.
    """

    region: str
    as_of: date
    read_million: float
    write_million: float
    read_hour: float
    write_hour: float
    storage_month: float

    @classmethod
    def load(cls, path: str | Path) -> Prices:
        """Prices from a JSON file: an object with the attributes of this class, the day as ``"2026-11-30"``.

        Raises `RequestError` for a file that is none.
        """
        try:
            given: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
            numbers = {name: float(value) for name, value in given.items() if name not in ("region", "as_of")}
            if not all(0 <= number < math.inf for number in numbers.values()):
                raise ValueError("a price is a number of at least 0")  # noqa: TRY301  (told as every other)
            return cls(region=str(given["region"]), as_of=date.fromisoformat(given["as_of"]), **numbers)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            names = ", ".join(field.name for field in attrs.fields(cls))
            raise RequestError(f"{path} is no price file ({error}). It is a JSON object of {names}.") from None

    def __str__(self) -> str:
        return f"prices of {self.region} as of {self.as_of.isoformat()}, in US dollars"


PRICES = Prices(
    region="us-east-1",
    as_of=date(2026, 8, 20),
    read_million=0.125,
    write_million=0.625,
    read_hour=0.00013,
    write_hour=0.00065,
    storage_month=0.25,
)
"""The list prices that are taken when none are given; check them against AWS's page before money depends on them."""


@attrs.frozen(kw_only=True)
class AccessPattern:
    """One thing that an application does over and over.

    Parameters:
        name: what it is called.
        items: rows that lie where it reads: of the partition or the whole table; 1 for a get.
        item_bytes: bytes of a row, on average; in an index, of what it projects.
        matching: the part of the rows that is wanted, 0 to 1; as important for the cost as the size.
        narrowed: how the wanted rows are found: ``"get"`` (by their full keys, one BatchGetItem or GetItem), ``"key"``
            (a key condition that holds only them), ``"filter"`` (of all rows that are read), ``"sparse"`` (an index
            that only they are in).
        reads_per_second, writes_per_second: calls, on average.
        consistent: strongly consistent reads; transactional: reads and writes in transactions.
        indexes: indexes that the written rows are in. index_bytes: bytes of an entry; None for `item_bytes`.
        key_changes: the part of the writes that moves the row within its indexes, 0 to 1, each billed twice.
        vector: whether it reads or writes a vector index, which is not priced here.
    """

    name: str
    items: int = 1
    item_bytes: int
    matching: float = 1.0
    narrowed: Narrowed = "key"
    reads_per_second: float = 0.0
    writes_per_second: float = 0.0
    consistent: bool = False
    transactional: bool = False
    indexes: int = 0
    index_bytes: int | None = None
    key_changes: float = 0.0
    vector: bool = False

    def __attrs_post_init__(self) -> None:
        for name in ("items", "item_bytes", "reads_per_second", "writes_per_second", "indexes"):
            if not 0 <= getattr(self, name) < math.inf:
                raise RequestError(f"{self.name}: {name}={getattr(self, name)} is no number of at least 0.")
        for name in ("matching", "key_changes"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"{self.name}: {name} is a part of all, from 0 to 1.")
        if self.narrowed == "sparse" and self.consistent:
            raise RequestError(f"{self.name}: a global index has no consistent reads.")

    @property
    def wanted(self) -> int:
        """Rows that are wanted."""
        return round(self.items * self.matching)

    @property
    def read_units(self) -> float:
        """Read units of one call."""
        if self.transactional:
            rows = self.items if self.narrowed == "filter" else self.wanted
            return batch_read_units([self.item_bytes] * max(1, rows), transactional=True)
        if self.narrowed == "get":
            return self.wanted * read_units(self.item_bytes, consistent=self.consistent)
        facts = ReadFacts(operation="Query", consistent=self.consistent)
        return facts.units(self.items if self.narrowed == "filter" else self.wanted, self.item_bytes)

    @property
    def discarded_units(self) -> float:
        """Read units of one call that pay for rows which are not wanted."""
        if self.narrowed != "filter":
            return 0.0
        return self.read_units - attrs.evolve(self, narrowed="key").read_units

    @property
    def write_units(self) -> float:
        """Write units of one call, those of its indexes included; transactions do not double these."""
        entry = self.item_bytes if self.index_bytes is None else self.index_bytes
        stays, moves = (index_write_units(entry, entry, moved=moved) for moved in (False, True))
        in_indexes = self.indexes * (stays * (1 - self.key_changes) + moves * self.key_changes)
        return write_units(self.item_bytes, transactional=self.transactional) + in_indexes


@attrs.frozen(kw_only=True)
class Cost:
    """What an access pattern costs.

    Attributes:
        pattern: what was priced. mode: how capacity is bought. prices: the list.
        read_units, write_units: of one call. read_units_per_second, write_units_per_second: of all calls.
        monthly: US dollars a month; None where it is not priced.
    """

    pattern: AccessPattern
    mode: Mode
    prices: Prices
    monthly: float | None

    @property
    def read_units(self) -> float:
        """Read units of one call."""
        return self.pattern.read_units

    @property
    def write_units(self) -> float:
        """Write units of one call."""
        return self.pattern.write_units

    @property
    def read_units_per_second(self) -> float:
        """Read units of all calls in a second."""
        return self.pattern.read_units * self.pattern.reads_per_second

    @property
    def write_units_per_second(self) -> float:
        """Write units of all calls in a second."""
        return self.pattern.write_units * self.pattern.writes_per_second

    def __str__(self) -> str:
        price = "not priced" if self.monthly is None else f"${self.monthly:,.2f} a month {self.mode}"
        return (
            f"{self.pattern.name}: {self.read_units:g} read units a read ({self.pattern.discarded_units:g} of them for "
            f"rows that are dropped), {self.write_units:g} write units a write; {price}, {self.prices}"
        )


def cost(
    pattern: AccessPattern, *, mode: Mode = "on-demand", prices: Prices = PRICES, utilisation: float = 0.7
) -> Cost:
    """What an access pattern costs in a month.

    Parameters:
        mode: ``"on-demand"``, or ``"provisioned"`` for capacity that is bought by the hour.
        prices: the list of prices. utilisation: the part of provisioned capacity that is used on average.
    """
    if mode not in ("on-demand", "provisioned"):
        raise RequestError(f"mode={mode!r} is not known; take 'on-demand' or 'provisioned'.")
    if not 0 < utilisation <= 1:
        raise RequestError(f"utilisation={utilisation} is a part of what is provisioned, over 0 and up to 1.")
    reads = pattern.read_units * pattern.reads_per_second
    writes = pattern.write_units * pattern.writes_per_second
    if pattern.vector:
        monthly = None
    elif mode == "on-demand":
        monthly = SECONDS_IN_MONTH * (reads * prices.read_million + writes * prices.write_million) / 1e6
    else:
        monthly = 730 * (reads * prices.read_hour + writes * prices.write_hour) / utilisation
    return Cost(pattern=pattern, mode=mode, prices=prices, monthly=monthly)


@attrs.frozen
class Option:
    """One way to serve an access pattern.

    Attributes:
        name: such as ``"filter"`` or ``"sparse index"``. on_demand, provisioned: what it costs.
    """

    name: str
    on_demand: Cost
    provisioned: Cost


def compare(pattern: AccessPattern, *, prices: Prices = PRICES, utilisation: float = 0.7) -> list[Option]:
    """The same pattern by a filter, by a key condition of its own, and by a sparse index, the cheapest first.

    A sparse index is written too: each write of a wanted row is billed for one more entry.
    """

    def option(name: str, changed: AccessPattern) -> Option:
        on_demand = cost(changed, prices=prices)
        return Option(name, on_demand, cost(changed, mode="provisioned", prices=prices, utilisation=utilisation))

    options = [option(name, changed) for name, changed in _ways(pattern)]
    return sorted(options, key=lambda each: each.on_demand.monthly or 0.0)


def _ways(pattern: AccessPattern) -> Iterator[tuple[str, AccessPattern]]:
    base = attrs.evolve(pattern, indexes=max(0, pattern.indexes - (pattern.narrowed == "sparse")))
    yield "filter", attrs.evolve(base, narrowed="filter")
    yield "key condition", attrs.evolve(base, narrowed="key")
    yield "sparse index", attrs.evolve(base, narrowed="sparse", consistent=False, indexes=base.indexes + 1)


@attrs.frozen(kw_only=True)
class Storage:
    """What rows cost to keep.

    Parameters:
        items: rows. item_bytes: bytes of each. indexes: entries of each row, by bytes of an entry and index name.
    """

    items: int
    item_bytes: int
    indexes: Mapping[str, int] = attrs.Factory(dict[str, int])

    @property
    def gigabytes(self) -> float:
        """Billed size, table and indexes, in 10**9 bytes: 100 bytes more for each row in each of them."""
        entries = [self.item_bytes, *self.indexes.values()]
        return self.items * sum(size + INDEX_OVERHEAD for size in entries) / 1e9

    def monthly(self, prices: Prices = PRICES) -> float:
        """US dollars a month."""
        return self.gigabytes * prices.storage_month
