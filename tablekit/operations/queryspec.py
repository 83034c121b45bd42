"""What a query asks for, before it is known how DynamoDB is best asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.definition.indexes import Index
from tablekit.definition.registry import TableDefinition, UnknownPolicy, UntypedPolicy
from tablekit.definition.schema import EntitySchema, IndexKeySchema, KeyAttribute
from tablekit.definition.templates import Role, Template
from tablekit.errors import DataError, QueryError
from tablekit.expressions.conditions import Condition

__all__ = ["Bound", "QuerySpec", "RangeOperator", "Source", "index_source", "index_sources", "is_whole"]

RangeOperator = Literal["between", "begins_with", "before", "after", "at_least", "at_most"]

MOST_SEGMENTS = 1_000_000
"""https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html"""


@attrs.frozen
class Bound:
    """A range of the sort key, in terms of a field.

    Attributes:
        operator: which range. field: the field. low: the value, or the lower of two. high: the upper of two.
    """

    operator: RangeOperator
    field: str
    low: Any
    high: Any = None


@attrs.frozen
class Source:
    """One class of a query, and the keys by which it is found.

    Attributes:
        schema: the class. index_key: its key in the index, or None for the table itself.
    """

    schema: EntitySchema
    index_key: IndexKeySchema | None = None

    @property
    def pk(self) -> tuple[KeyAttribute, ...]:
        """The partition key that is queried."""
        return (self.schema.pk,) if self.index_key is None else self.index_key.pk

    @property
    def sk(self) -> tuple[KeyAttribute, ...]:
        """The sort key that is queried; empty where there is none."""
        if self.index_key is not None:
            return self.index_key.sk
        return () if self.schema.sk is None else (self.schema.sk,)

    @property
    def family(self) -> tuple[Source, ...]:
        """The class and its registered subclasses, each with its own keys."""
        found: list[Source] = [self]
        for schema in self.schema.subclasses:
            if self.index_key is None:
                found.append(Source(schema))
            else:
                found += index_sources(schema, self.index_key.index)[:1]
        return tuple(found)


def index_sources(schema: EntitySchema, index: Index) -> list[Source]:
    """How the rows of a class stand in an index: by its declared keys, or by attributes that it has anyway.

    An index may be keyed on business attributes, on the table's own keys turned round, or on the type.
    """
    declared = [Source(schema, key) for key in schema.index_keys.values() if key.index is index]
    if declared:
        return declared
    name = f"natural key in {index.name}"
    if name not in schema.compiled:
        schema.compiled[name] = _natural_key(schema, index)
    natural = schema.compiled[name]
    return [] if natural is None else [Source(schema, natural)]


def index_source(schema: EntitySchema, index: Index) -> Source:
    """How a class stands in an index. Raises `QueryError` when it does not, or in several ways."""
    found = index_sources(schema, index)
    if len(found) == 1:
        return found[0]
    if not found:
        raise QueryError(
            f"{schema.name} is not in index {index.name!r}: it has no index_key({index.name!r}, ...), and does not "
            f"itself store {', '.join(index.keys)}. Declare an index key, or leave the class out."
        )
    names = [f"{schema.name}.{source.index_key.name}.query(...)" for source in found if source.index_key is not None]
    raise QueryError(
        f"{schema.name} has several keys in index {index.name!r}. Query by one of them: {' or '.join(names)}."
    )


def _natural_key(schema: EntitySchema, index: Index) -> IndexKeySchema | None:
    sides: list[tuple[KeyAttribute, ...]] = []
    roles: tuple[tuple[Role, tuple[str, ...]], ...] = (("index_pk", index.pk), ("index_sk", index.sk))
    for role, attributes in roles:
        found = [_natural_attribute(schema, name, role) for name in attributes]
        keys = tuple(key for key in found if key is not None)
        if len(keys) != len(found):
            return None
        sides.append(keys)
    return IndexKeySchema("", index, sides[0], sides[1], None, ())


def _natural_attribute(schema: EntitySchema, name: str, role: Role) -> KeyAttribute | None:
    own = next((key for key in schema.keys if key.attribute == name), None)
    if own is not None:
        return KeyAttribute(name, own.type, own.template, own.field, written=False)
    registry = schema.registry
    if name == registry.type_attribute and not set("{}[]") & set(schema.type):
        constant = Template.parse(schema.type, types={}, separator=None, role=role, owner=schema.name)
        return KeyAttribute(name, "S", constant, None, written=False)
    field = schema.by_attribute.get(name)
    if field is None or field.codec.key_type is None or field.codec.key_type != registry.key_type(name):
        return None
    template = Template.parse(
        f"{{{field.name}}}",
        types={field.name: field.annotation},
        separator=registry.separator,
        role=role,
        owner=schema.name,
        key_type=field.codec.key_type if field.codec.key_type != "S" else None,
    )
    return KeyAttribute(name, field.codec.key_type, template, field, written=False)


@attrs.frozen(kw_only=True)
class QuerySpec:
    """Everything that a query was told; immutable, each call of the builder makes another.

    Attributes:
        registry: the table. sources: the classes asked for, or None for whatever is there. index: the index,
            or None. parts: values of key fields. raw_pk: the partition key where no class is named, an attribute
            value for each of its attributes. bounds: ranges of the sort key. where: conditions on attributes.
        select: columns, or None for all. reverse: in descending order. consistent: strongly consistent, or None for
            the table's default. limit: entities in all. page_size: rows that one request reads.
        unknown, untyped, undecodable: the policies. raw: give rows that are no entities as raw items. hydrate: read the
            full rows of what an index holds in part. handle: makes a key handle of a class and a row, where the keys
            are asked for alone. scan: read the whole table or index. start: where to go on.
        segments: how many workers scan. segment: which of them this one is. units_per_second: the capacity units
            that a scan may use. progress: called after each request of a scan.
    """

    registry: TableDefinition
    sources: tuple[Source, ...] | None = None
    index: Index | None = None
    parts: Mapping[str, Any] = attrs.Factory(dict[str, Any])
    raw_pk: tuple[AttributeValue, ...] | None = None
    bounds: tuple[Bound, ...] = ()
    where: tuple[Condition, ...] = ()
    select: tuple[Any, ...] | None = None
    reverse: bool = False
    consistent: bool | None = None
    limit: int | None = None
    page_size: int | None = None
    unknown: UnknownPolicy = "raise"
    untyped: UntypedPolicy = "raise"
    undecodable: Literal["raise", "skip"] | Callable[[DataError], object] = "raise"
    raw: bool = False
    hydrate: bool = False
    handle: Callable[[type[Any], Item], Any] | None = None
    scan: bool = False
    start: Item | None = None
    segments: int = 1
    segment: int = 0
    units_per_second: float | None = None
    progress: Callable[[Any], Any] | None = None

    @property
    def schemas(self) -> tuple[EntitySchema, ...] | None:
        """The classes asked for, or None."""
        return None if self.sources is None else tuple(source.schema for source in self.sources)

    @property
    def candidates(self) -> tuple[EntitySchema, ...]:
        """Every class whose rows the query may return: those asked for with their subclasses, or all of the table."""
        if self.sources is None:
            return tuple(self.registry.entities.values())
        found = (each for source in self.sources for each in (source.schema, *source.schema.subclasses))
        return tuple({schema.entity: schema for schema in found}.values())

    @property
    def key_attributes(self) -> tuple[str, ...]:
        """The attributes of the key that is queried."""
        return self.registry.key_names if self.index is None else self.index.keys

    @property
    def where_text(self) -> str:
        """What is read, for messages."""
        place = f"table {self.registry.label!r}"
        return place if self.index is None else f"index {self.index.name!r} of {place}"

    @property
    def reads_consistently(self) -> bool:
        """Whether the read is strongly consistent; the table's default does not reach global indexes."""
        if self.consistent is not None:
            return self.consistent
        return self.registry.consistent_reads and (self.index is None or self.index.local)

    @property
    def knows_types(self) -> bool:
        """Whether the rows that are read bring their type; a KEYS_ONLY index holds none."""
        return self.holds(self.registry.type_attribute)

    def holds(self, attribute: str) -> bool:
        """Whether what is read holds an attribute."""
        registry = self.registry
        return self.index is None or self.index.holds(attribute, registry.key_names, registry.type_attribute)

    @property
    def parallel(self) -> bool:
        """Whether workers scan, in segments, at a rate, or with a progress callback."""
        return self.segments > 1 or self.units_per_second is not None or self.progress is not None

    def check(self) -> None:
        """Refuse what DynamoDB cannot answer. Raises `QueryError`."""
        for name, value in (("limit", self.limit), ("page_size", self.page_size)):
            if value is not None and not is_whole(value):
                raise QueryError(f"{name}({value!r}) must be a whole number of at least 1.")
        if self.consistent and self.index is not None and not self.index.local:
            raise QueryError(
                f"Index {self.index.name!r} is global, and DynamoDB has no consistent reads of global indexes. "
                "Query the table or a local index, or leave consistent() out."
            )
        if self.scan:
            self._check_scan()
        elif self.segments != 1 or self.parallel:
            raise QueryError("segments=, units_per_second= and progress= are for scans; a query reads one partition.")
        if self.hydrate and self.handle is not None:
            raise QueryError("keys() reads no rows, and hydrate() reads them all. Leave one of them out.")
        if self.bounds and self.sources is None:
            raise QueryError(
                "A range names a field, and this query names no class. Name the classes: query(Document, ...)."
            )

    def _check_scan(self) -> None:
        if self.bounds:
            raise QueryError(
                f"{self.bounds[0].operator}() is a range of the sort key, and a scan reads every key. "
                "Query a partition, or filter with where()."
            )
        if self.reverse:
            raise QueryError("A scan has no order, so that it cannot be reversed.")
        if not is_whole(self.segments) or self.segments > MOST_SEGMENTS:
            raise QueryError(f"segments={self.segments!r} must be a whole number from 1 to {MOST_SEGMENTS:,}.")
        rate = self.units_per_second
        if rate is not None and (isinstance(rate, bool) or not isinstance(rate, (int, float)) or not rate > 0):
            raise QueryError(f"units_per_second={rate!r} must be a number above 0.")
        if self.progress is not None and not callable(self.progress):
            raise QueryError("progress= must be a function that is given a ScanProgress.")


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number of at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
