"""What a query asks for, before it is known how DynamoDB is best asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.definition.indexes import Index
from tablekit.definition.registry import TableDefinition, UnknownPolicy, UntypedPolicy
from tablekit.definition.schema import EntitySchema, IndexKeySchema, KeyAttribute
from tablekit.errors import QueryError
from tablekit.expressions.conditions import Condition

__all__ = ["Bound", "QuerySpec", "RangeOperator", "Source"]

RangeOperator = Literal["between", "begins_with", "before", "after", "at_least", "at_most"]


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


@attrs.frozen(kw_only=True)
class QuerySpec:
    """Everything that a query was told; immutable, each call of the builder makes another.

    Attributes:
        registry: the table. sources: the classes asked for, or None for whatever is there. index: the index,
            or None. parts: values of key fields. raw_pk: the partition key where no class is named.
        bounds: ranges of the sort key. where: conditions on attributes. select: columns, or None for all.
        reverse, consistent: as DynamoDB has them. limit: entities in all. page_size: rows that one request reads.
        unknown, untyped: the policies. raw: give rows that are no entities as raw items. hydrate: read the
            full rows of what an index holds in part. scan: read the whole table or index. start: where to go on.
    """

    registry: TableDefinition
    sources: tuple[Source, ...] | None = None
    index: Index | None = None
    parts: Mapping[str, Any] = attrs.Factory(dict[str, Any])
    raw_pk: AttributeValue | None = None
    bounds: tuple[Bound, ...] = ()
    where: tuple[Condition, ...] = ()
    select: tuple[Any, ...] | None = None
    reverse: bool = False
    consistent: bool = False
    limit: int | None = None
    page_size: int | None = None
    unknown: UnknownPolicy = "raise"
    untyped: UntypedPolicy = "raise"
    raw: bool = False
    hydrate: bool = False
    scan: bool = False
    start: Item | None = None

    @property
    def schemas(self) -> tuple[EntitySchema, ...] | None:
        """The classes asked for, or None."""
        return None if self.sources is None else tuple(source.schema for source in self.sources)

    @property
    def key_attributes(self) -> tuple[str, ...]:
        """The attributes of the key that is queried."""
        return self.registry.key_names if self.index is None else self.index.keys

    @property
    def where_text(self) -> str:
        """What is read, for messages."""
        place = f"table {self.registry.label!r}"
        return place if self.index is None else f"index {self.index.name!r} of {place}"

    def check(self) -> None:
        """Refuse what DynamoDB cannot answer. Raises `QueryError`."""
        for name, value in (("limit", self.limit), ("page_size", self.page_size)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise QueryError(f"{name}({value!r}) must be a whole number of at least 1.")
        if self.consistent and self.index is not None and not self.index.local:
            raise QueryError(
                f"Index {self.index.name!r} is global, and DynamoDB has no consistent reads of global indexes. "
                "Query the table or a local index, or leave consistent() out."
            )
