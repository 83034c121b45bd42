"""What DynamoDB bills, in capacity units, worked out from sizes; nothing is sent.

Reads are billed by what is read, before any filter and projection; writes by the larger of the row before and
after. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html

Sizes come from `tablekit.wire.sizes`, which is as exact as DynamoDB's own description of it: approximate for
numbers. What a real answer says in ``ConsumedCapacity`` is the bill; this is what to expect of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tablekit._types import Item
from tablekit.definition.indexes import Index
from tablekit.wire.sizes import item_size

__all__ = [
    "INDEX_OVERHEAD",
    "PAGE_BYTES",
    "READ_BLOCK",
    "WRITE_BLOCK",
    "batch_read_units",
    "batch_write_units",
    "index_write_units",
    "page_sizes",
    "projected_size",
    "query_units",
    "read_units",
    "stored_bytes",
    "write_units",
    "write_units_by_index",
]

READ_BLOCK = 4096
"""Bytes that one read unit pays for, strongly consistent."""

WRITE_BLOCK = 1024
"""Bytes that one write unit pays for."""

PAGE_BYTES = 1_048_576
"""Bytes that one Query or Scan request reads at most, before any filter."""

INDEX_OVERHEAD = 100
"""Bytes that storage is billed for beyond an item's own, in the table and in each index."""


def _blocks(size: int, block: int) -> int:
    return max(1, -(-size // block))


def read_units(size: int, *, consistent: bool = False, transactional: bool = False) -> float:
    """Read units of one GetItem, or of one item of a batch or transaction.

    Parameters:
        size: bytes of the whole item; 0 for one that is missing, which is billed as a block.
        consistent: a strongly consistent read, at twice the units of an eventually consistent one.
        transactional: a read in a transaction, which is consistent and costs twice that.
    """
    blocks = _blocks(size, READ_BLOCK)
    if transactional:
        return blocks * 2.0
    return float(blocks) if consistent else blocks / 2


def query_units(size: int, *, consistent: bool = False) -> float:
    """Read units of one page of a Query or Scan: all rows that it read are summed, then rounded once.

    Parameters:
        size: bytes of all rows that the request read, those that a filter dropped included.
    """
    return read_units(size, consistent=consistent)


def batch_read_units(sizes: Iterable[int], *, consistent: bool = False, transactional: bool = False) -> float:
    """Read units of a BatchGetItem or TransactGetItems: each item is rounded by itself, then they are summed."""
    return sum(read_units(size, consistent=consistent, transactional=transactional) for size in sizes)


def write_units(size: int, *, before: int = 0, transactional: bool = False) -> float:
    """Write units of one row of the table, its indexes left out.

    Parameters:
        size: bytes of the row after the write; 0 for a delete. before: bytes of the row before it; 0 for none.
            The larger one is billed. transactional: a write in a transaction, at twice the units.

    A write whose condition fails is billed too, by the row that is there.
    """
    units = float(_blocks(max(size, before), WRITE_BLOCK))
    return units * 2 if transactional else units


def batch_write_units(sizes: Iterable[int]) -> float:
    """Write units of a BatchWriteItem, its indexes left out: each row by itself, then summed."""
    return sum(write_units(size) for size in sizes)


def index_write_units(after: int | None, before: int | None = None, *, moved: bool = False) -> float:
    """Write units of one index for one write; in a transaction they are not doubled.

    Parameters:
        after, before: bytes of the row's entry in the index after and before the write; None where it has none.
        moved: whether the index key changed, so that the old entry is deleted and a new one put.
    """
    if after is None or before is None:
        size = before if after is None else after
        return 0.0 if size is None else write_units(size)
    if moved:
        return write_units(after) + write_units(before)
    return write_units(after, before=before)


def projected_size(item: Item, index: Index, table_keys: Sequence[str], type_attribute: str) -> int | None:
    """Bytes of a row's entry in an index; None when the row is not in it.

    Parameters:
        table_keys: the attributes of the table's own key, which every index holds. type_attribute: the attribute
            that an INCLUDE projection of tablekit holds as well.
    """
    held = _projected(item, index, table_keys, type_attribute)
    return None if held is None else item_size(held)


def _projected(item: Item, index: Index, table_keys: Sequence[str], type_attribute: str) -> Item | None:
    if any(name not in item for name in index.keys):
        return None
    return {name: value for name, value in item.items() if index.holds(name, table_keys, type_attribute)}


def write_units_by_index(
    after: Item | None,
    before: Item | None,
    *,
    indexes: Iterable[Index] = (),
    table_keys: Sequence[str] = (),
    type_attribute: str = "",
    transactional: bool = False,
) -> dict[str, float]:
    """Write units of a put, an update or a delete by index name, with the table's own under ``""``.

    Parameters:
        after, before: the whole row after and before the write; None where there is none. indexes: those of the
            table. table_keys, type_attribute: as for `projected_size`.
    """
    size = 0 if after is None else item_size(after)
    old = 0 if before is None else item_size(before)
    units = {"": write_units(size, before=old, transactional=transactional)}
    for index in indexes:
        new_entry = None if after is None else _projected(after, index, table_keys, type_attribute)
        old_entry = None if before is None else _projected(before, index, table_keys, type_attribute)
        # An entry that the write leaves as it was is not written.
        if new_entry == old_entry:
            continue
        moved = new_entry is not None and old_entry is not None and _key(new_entry, index) != _key(old_entry, index)
        units[index.name] = index_write_units(
            None if new_entry is None else item_size(new_entry),
            None if old_entry is None else item_size(old_entry),
            moved=moved,
        )
    return units


def _key(entry: Item, index: Index) -> list[object]:
    return [entry[name] for name in index.keys]


def page_sizes(items: int, item_bytes: int, *, limit: int | None = None) -> Iterator[int]:
    """Bytes of each page when rows of one size are queried; at least one page, which may be empty.

    Parameters:
        items: rows to read. item_bytes: bytes of each. limit: rows that one request reads at most.
    """
    # The row that reaches the megabyte still belongs to its page.
    rows = max(1, -(-PAGE_BYTES // max(1, item_bytes)))
    rows = rows if limit is None else min(rows, limit)
    yield min(items, rows) * item_bytes
    for start in range(rows, items, rows):
        yield min(rows, items - start) * item_bytes


def stored_bytes(item: Item) -> int:
    """Bytes that storage is billed for: the item's own and 100 more."""
    return item_size(item) + INDEX_OVERHEAD
