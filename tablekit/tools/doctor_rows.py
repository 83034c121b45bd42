"""What the doctor looks for in rows: each fault noted with its count and a few keys, in memory that does not grow."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tablekit._types import Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DecodeError, RequestError
from tablekit.operations.dispatch import INTERNAL
from tablekit.tools.schema import ttl_attribute
from tablekit.wire.items import decoder
from tablekit.wire.sizes import ITEM_LIMIT, attribute_sizes, item_size

__all__ = ["Heaviest", "Kind", "Notes", "RowCheck"]

EXAMPLES = 5
SUBJECTS = 1_000
"""So many subjects are told apart, of each fault; what comes after them is counted under one."""
OTHERS = "(others)"
NEARLY_FULL = 0.8
"""The share of 400 KB from which a row is reported."""
HOT_SHARE = 0.2
"""The share of all rows from which one partition looks hot, where at least `HOT_ROWS` were read."""
HOT_ROWS = 1_000
COLLECTION_BYTES = 10 * 1024**3
"""What the rows of one partition key may take in a table with local indexes, their index entries included.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit"""

Kind = Literal[
    "untyped",
    "unknown-type",
    "type-case",
    "key-template",
    "index-key",
    "undecodable",
    "missing-attribute",
    "ttl-milliseconds",
    "nearly-full",
    "hot-partition",
    "full-collection",
    "singleton-missing",
    "singleton-type",
    "singleton-size",
    "schema",
]


class Notes:
    """Faults by kind and subject: how often, and a few examples."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[Kind, str]] = Counter()
        self.examples: dict[tuple[Kind, str], list[str]] = {}

    def add(self, kind: Kind, subject: str, example: str) -> None:
        """Note one fault."""
        if (kind, subject) not in self.counts and len(self.counts) >= SUBJECTS:
            subject = OTHERS
        self.counts[kind, subject] += 1
        examples = self.examples.setdefault((kind, subject), [])
        if len(examples) < EXAMPLES:
            examples.append(example)


class Heaviest:
    """The names that make up the largest shares of a sum, in memory that does not grow.

    When twice as many names are held as are kept, what the first of the others has is taken from all of them, and who
    has nothing left is forgotten (after Misra and Gries, 1982).

    Parameters:
        places: names kept. A figure is less than the true one by at most the sum divided by this.
    """

    def __init__(self, places: int = 2_000) -> None:
        self.places = places
        self.figures: dict[str, int] = {}

    def add(self, name: str, figure: int = 1) -> None:
        """Count a figure for a name."""
        self.figures[name] = self.figures.get(name, 0) + figure
        if len(self.figures) > 2 * self.places:
            cut = sorted(self.figures.values(), reverse=True)[self.places]
            self.figures = {each: value - cut for each, value in self.figures.items() if value > cut}

    def most(self, number: int) -> list[tuple[str, int]]:
        """The names with the largest figures."""
        return sorted(self.figures.items(), key=lambda pair: -pair[1])[:number]


class RowCheck:
    """Looks at rows, from several threads.

    Attributes:
        read, bytes: rows looked at, and their size. by_type: rows by stored type. notes: what was found.
    """

    def __init__(self, registry: TableDefinition) -> None:
        self.registry = registry
        self.read = 0
        self.bytes = 0
        self.by_type: Counter[str] = Counter()
        self.notes = Notes()
        self._ttl = ttl_attribute(registry)
        self._rows = Heaviest()
        self._sizes = Heaviest()
        self._lock = threading.Lock()

    def rows(self, items: Sequence[Item]) -> None:
        """Look at the rows of one page."""
        found = [(item, item_size(item), self._look(item)) for item in items]
        with self._lock:
            self.read += len(items)
            for item, size, faults in found:
                self.bytes += size
                partition = str(self.registry.plain_key(item)[0])
                self._rows.add(partition)
                self._sizes.add(partition, size)
                self._count(_type_of(self.registry, item))
                for kind, subject in faults:
                    self.notes.add(kind, subject, self.registry.show_key(item))

    def _count(self, name: str) -> None:
        known = name in self.by_type or len(self.by_type) < SUBJECTS
        self.by_type[name if known else OTHERS] += 1

    def _look(self, item: Item) -> list[tuple[Kind, str]]:
        found: list[tuple[Kind, str]] = []
        if item_size(item) > ITEM_LIMIT * NEARLY_FULL:
            heaviest = next(iter(attribute_sizes(item)))
            found.append(("nearly-full", f"{_type_of(self.registry, item)}.{heaviest}"))
        if self._ttl is not None and _milliseconds(item.get(self._ttl)):
            found.append(("ttl-milliseconds", f"{_type_of(self.registry, item)}.{self._ttl}"))
        stored = item.get(self.registry.type_attribute)
        if stored is None or "S" not in stored:
            told = self.registry.infer(item) if stored is None else None
            if told is not None and self.registry.untyped == "infer":
                return found + self._look_closer(told, item)
            return [*found, ("untyped", "" if told is None else told.type)]
        name = stored["S"]
        if name.startswith(INTERNAL):
            return found  # our own guard rows, markers and shard counts
        schema = self.registry.by_type.get(name)
        if schema is None:
            drift = any(known.lower() == name.lower() for known in self.registry.by_type)
            return [*found, ("type-case" if drift else "unknown-type", name)]
        return found + self._look_closer(schema, item)

    def _look_closer(self, schema: EntitySchema, item: Item) -> list[tuple[Kind, str]]:
        found: list[tuple[Kind, str]] = []
        if schema.spelled(item) is None:
            found.append(("key-template", schema.type))
        try:
            entity = decoder(schema)(item)
        except DecodeError as error:
            field = schema.by_name.get(error.field or "")
            missing = field is not None and field.attribute not in item
            return [*found, ("missing-attribute" if missing else "undecodable", f"{schema.type}.{error.field}")]
        wrong: list[tuple[Kind, str]] = [
            ("index-key", f"{schema.type}.{name}") for name in _wrong_index_keys(schema, entity, item)
        ]
        return found + wrong

    def partitions(self, share: float, rows: int) -> None:
        """Note the partitions that hold much of the table.

        Parameters:
            share: the part of the table that was read. rows: what DynamoDB says that the table has.
        """
        whole = max(rows, self.read / share)
        for partition, number in self._rows.most(5):
            if self.read >= HOT_ROWS and number > whole * HOT_SHARE:
                self.notes.add("hot-partition", partition, f"{number:,} of {whole:,.0f} rows")
        if any(index.local for index in self.registry.indexes.values()):
            for partition, size in self._sizes.most(5):
                if size > COLLECTION_BYTES * NEARLY_FULL:
                    self.notes.add("full-collection", partition, f"{size:,} bytes without the index entries")


def _type_of(registry: TableDefinition, item: Item) -> str:
    name: str = item.get(registry.type_attribute, {}).get("S", "(untyped)")
    return name


def _milliseconds(value: Mapping[str, Any] | None) -> bool:
    text = (value or {}).get("N")
    return text is not None and float(text) > 100_000_000_000


def _wrong_index_keys(schema: EntitySchema, entity: Any, item: Item) -> list[str]:
    wrong: list[str] = []
    for name, index_key in schema.index_keys.items():
        try:
            wanted = index_key.render(entity.__dict__, schema.name) or {}
        except RequestError:
            wrong.append(name)
            continue
        stored = {key.attribute: item.get(key.attribute) for key in index_key.written}
        if any(not equal_wire(value, wanted.get(attribute)) for attribute, value in stored.items()):
            wrong.append(name)
    return wrong
