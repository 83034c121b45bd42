"""How a query is put to DynamoDB: the cheapest request that is correct, and what to do with its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tablekit._types import AttributeValue, Item
from tablekit.definition.schema import EntitySchema
from tablekit.errors import QueryError
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition, conjunction, paths
from tablekit.expressions.paths import Path, attribute
from tablekit.operations.dispatch import Acceptor, Counts, Dispatcher, hides_expired, sound_key
from tablekit.operations.judging import judge
from tablekit.operations.keyranges import comparable, could_lie_in, key_interval, spells
from tablekit.operations.queryfilters import check_filter, concerns, ttl_clauses, type_filter, where_clauses
from tablekit.operations.querykeys import ReadKeys, family_of, plan_keys
from tablekit.operations.queryspec import QuerySpec, Source, index_sources
from tablekit.operations.read import projection
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["Narrowing", "QueryPlan", "check_columns", "plan_query"]

Narrowing = Literal["key", "filter", "hydrate", "none"]


class QueryPlan:
    """A query made ready.

    Attributes:
        spec: what was asked. narrowing: how the classes are told from others: ``"key"`` (the key condition
            holds only theirs), ``"filter"`` (by type, after DynamoDB has read and billed the others),
            ``"hydrate"`` (the index holds no type: by the full rows, which are read one by one) or ``"none"``
            (no class was named). intervals: each class's range of sort keys. cover: the range that is read.
        clauses: the conditions of the filter. filtered: whether a filter is sent. checked: whether rows that the
            key condition brings along are dropped here.
        partition: the attributes of the partition key that is read, with their values.
        attributes: the attributes that make up the entities when they are partial, else None.
        generation: the table's `generation` when the plan was made.
    """

    __slots__ = (
        "_body",
        "_entity",
        "_keys",
        "_secrets",
        "attributes",
        "checked",
        "clauses",
        "cover",
        "filtered",
        "generation",
        "intervals",
        "narrowing",
        "partition",
        "spec",
    )

    def __init__(
        self,
        spec: QuerySpec,
        body: Mapping[str, Any],
        keys: ReadKeys,
        *,
        narrowing: Narrowing,
        clauses: Sequence[Condition],
        attributes: frozenset[str] | None,
        secrets: frozenset[str],
    ) -> None:
        self.spec = spec
        self.generation = spec.registry.generation
        self.partition = keys.partition
        self.intervals = keys.intervals
        self.cover = keys.cover
        self.checked = keys.checked
        self.narrowing: Narrowing = narrowing
        self.clauses = tuple(clauses)
        self.filtered = bool(clauses)
        self.attributes = attributes
        self._body = dict(body)
        self._keys = keys
        self._secrets = secrets
        schemas = spec.schemas
        self._entity = schemas[0].name if schemas is not None and len(schemas) == 1 else ""

    def request(self, *, start: Item | None = None, limit: int | None = None, count: bool = False) -> Request:
        """The request for one page.

        Parameters:
            start: the key after which to go on. limit: rows to read. count: ask for the number of rows only.
        """
        body = {**self._body, "ExclusiveStartKey": start, "Limit": limit}
        if count:
            body["Select"] = "COUNT"
        index = None if self.spec.index is None else self.spec.index.name
        operation = "Scan" if self.spec.scan else "Query"
        return Request(operation, body, secrets=self._secrets, entity=self._entity, index=index)

    def neighbours(self) -> list[EntitySchema]:
        """The classes that were not asked for and whose rows may lie where the request reads."""
        return list(_strangers(self.spec, self._keys))

    def strays(self) -> bool:
        """Whether rows of the classes that were asked for, but not these rows, may lie where the request reads."""
        return self.checked and any(self._may_stray(source) for source in family_of(self.spec))

    def _may_stray(self, source: Source) -> bool:
        """Whether rows of a class may lie outside its range; parts of the partition key are the same in all rows."""
        shared = {name for key in source.pk for name in key.names}
        values = {name: value for name, value in self.spec.parts.items() if name in shared}
        whole = key_interval(source.sk[0], values, (), source.schema.name)
        return whole != self.intervals[source.schema.entity]

    def dispatcher(self, now: Callable[[], datetime], counts: Counts | None = None) -> Dispatcher:
        """What hands the rows to their classes.

        Parameters:
            now: gives the time by which expired rows are hidden. counts: go on counting there.
        """
        spec = self.spec
        sole = spec.schemas[0] if spec.schemas and not spec.knows_types and not spec.hydrate else None
        return Dispatcher(
            spec.registry,
            spec.schemas,
            unknown=spec.unknown,
            untyped=spec.untyped,
            undecodable=spec.undecodable,
            raw=spec.raw,
            attributes=self.attributes,
            accept=self._acceptor() if self.checked else None,
            judge=self._judge() if spec.untyped == "infer" else None,
            handle=spec.handle,
            sole=sole if spec.handle is not None else None,
            now=now,
            counts=counts,
        )

    def full_row_options(self) -> Mapping[str, Any]:
        """What a BatchGetItem of the full rows asks for: all of them, or the selected columns."""
        if self.spec.select is None:
            return {}
        renderer = Renderer()
        _, wanted = _selected(self.spec)
        return {
            "ProjectionExpression": renderer.render_projection(wanted),
            "ExpressionAttributeNames": renderer.names,
        }

    def _acceptor(self) -> Acceptor:
        """`_accept`, with a short way for classes whose range is a prefix: it runs for each row."""
        found = {schema: self._plain_prefix(schema) for schema in self.spec.candidates}
        prefixes = {schema: prefix for schema, prefix in found.items() if prefix is not None}
        return Acceptor(self.spec.key_attributes[-1], prefixes, self._accept)

    def _plain_prefix(self, schema: EntitySchema) -> str | None:
        found = (self.intervals[cls] for cls in schema.entity.__mro__ if cls in self.intervals)
        interval = next(found, None)
        return None if interval is None or interval.loose else interval.prefix

    def _accept(self, schema: EntitySchema | None, item: Item) -> bool:
        """Whether a row's sort key lies in its class's range; None is a row whose class is not known."""
        name = self.spec.key_attributes[-1]
        stored = item.get(name)
        if stored is None:
            return True
        (tag,) = stored
        value = comparable(stored, tag)  # type: ignore[arg-type]
        if schema is None:
            return any(value in interval for interval in self.intervals.values())
        for cls in schema.entity.__mro__:
            interval = self.intervals.get(cls)
            if interval is not None:
                return value in interval and (not interval.loose or self._spells(cls, stored))
        return False

    def _spells(self, cls: type[Any], stored: AttributeValue) -> bool:
        for source in family_of(self.spec):
            if source.schema.entity is cls:
                return spells(source.sk[0], self.spec.parts, stored)
        return True

    def _judge(self) -> Callable[[EntitySchema, Item], bool] | None:
        """The caller's conditions for rows whose class is told by their key, after DynamoDB let them pass."""
        if not self.spec.where or (self.spec.sources is not None and len(self.spec.candidates) == 1):
            return None
        conditions = self.spec.where
        return lambda schema, item: all(judge(each, schema, item) for each in conditions)

    def fingerprint(self) -> Mapping[str, Any]:
        """What tells this query from others.

        It does not depend on which other classes the process has registered, on when it is asked, or on how much
        of the answer is wanted at a time.
        """
        spec = self.spec
        renderer = Renderer()
        where = [[renderer.render_condition(each), _owner_types(each)] for each in spec.where]
        ranges = {
            source.schema.type: [_end(interval.low), interval.low_open, _end(interval.high), interval.high_open]
            for source in spec.sources or ()
            if (interval := self.intervals.get(source.schema.entity)) is not None
        }
        key = None
        if self._keys.condition is not None and not self.intervals:
            key = renderer.render_condition(self._keys.condition)
        return {
            "index": None if spec.index is None else spec.index.name,
            "scan": [spec.segment, spec.segments] if spec.scan else None,
            "reverse": spec.reverse,
            "types": None if spec.sources is None else sorted(source.schema.type for source in spec.sources),
            "partition": self.partition,
            "ranges": ranges,
            "key": key,
            "where": where,
            "names": renderer.names,
            "values": renderer.values,
        }

    def resume_key(self, item: Item) -> Item:
        """The key after which a query goes on that returned this row last."""
        names = dict.fromkeys((*self.spec.registry.key_names, *self.spec.key_attributes))
        return sound_key(self.spec.registry, {name: item[name] for name in names if name in item})


def _end(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, bytes)) else str(value)


def _owner_types(condition: Condition) -> list[str]:
    """The type of each field's class, in order: two classes may store different things under one name."""
    return [getattr(path.owner, "entity_type", "") if path.owner is not None else "" for path in paths(condition)]


def plan_query(spec: QuerySpec, now: datetime, *, counting: bool = False) -> QueryPlan:
    """Choose the request for a query.

    Parameters:
        now: the time by which expired rows are hidden. counting: ask DynamoDB for a number, so that a row
            must be told by the filter, not here.

    Raises `QueryError`, `KeyPartError`, `ExpressionError`, `LimitExceeded`.
    """
    spec.check()
    keys = plan_keys(spec)
    narrowing = _narrowing(spec, keys)
    clauses = where_clauses(spec)
    told_by_filter = narrowing == "filter" or (counting and spec.sources is not None)
    if told_by_filter and spec.knows_types and spec.registry.type_attribute not in keys.named:
        clauses.append(type_filter(spec))
    check_filter(spec, clauses)
    clauses += ttl_clauses(spec, now)
    renderer = Renderer()
    key_text = None if keys.condition is None else renderer.render_key_condition(keys.condition)
    condition = conjunction(*clauses)
    filter_text = None if condition is None else renderer.render_filter(condition)
    attributes, projected = _projection(spec)
    asked = None if projected is None or counting else renderer.render_projection(projected)
    body = {
        "IndexName": None if spec.index is None else spec.index.name,
        "KeyConditionExpression": key_text,
        "FilterExpression": filter_text,
        "ProjectionExpression": asked,
        "ExpressionAttributeNames": renderer.names,
        "ExpressionAttributeValues": renderer.values,
        "ScanIndexForward": False if spec.reverse else None,
        "ConsistentRead": True if spec.reads_consistently else None,
        "Segment": spec.segment if spec.segments > 1 else None,
        "TotalSegments": spec.segments if spec.segments > 1 else None,
        "ReturnConsumedCapacity": "TOTAL",
    }
    return QueryPlan(
        spec,
        body,
        keys,
        narrowing=narrowing,
        clauses=clauses,
        attributes=attributes,
        secrets=renderer.secrets,
    )


# Which rows are of the classes


def _narrowing(spec: QuerySpec, keys: ReadKeys) -> Narrowing:
    if spec.sources is None:
        return "none"
    if not any(_strangers(spec, keys)):
        return "key"
    return "filter" if spec.knows_types else "hydrate"


def _strangers(spec: QuerySpec, keys: ReadKeys) -> Iterator[EntitySchema]:
    """The classes that were not asked for and whose rows may lie where the request reads."""
    wanted = {schema.entity for schema in spec.candidates}
    for other in spec.registry.entities.values():
        if other.entity not in wanted and _could_appear(spec, other, keys):
            yield other


def _could_appear(spec: QuerySpec, other: EntitySchema, keys: ReadKeys) -> bool:
    """Whether a row of another class may lie where the request reads; never a wrong no."""
    sources = [Source(other)] if spec.index is None else index_sources(other, spec.index)
    return any(_overlaps(spec, source, keys) for source in sources)


def _overlaps(spec: QuerySpec, source: Source, keys: ReadKeys) -> bool:
    if spec.scan:
        return True
    for key in source.pk:
        value = keys.partition.get(key.attribute)
        if value is not None and key.match(value) is None:
            return False
    if len(source.sk) != 1:
        return True
    return could_lie_in(source.sk[0], keys.cover)


# What is asked for of each row


def _projection(spec: QuerySpec) -> tuple[frozenset[str] | None, list[Path] | None]:
    """The attributes that make up the entities when they are partial, and the paths to ask for."""
    registry, index = spec.registry, spec.index
    if spec.select is not None:
        _check_select(spec)
        attributes, wanted = _selected(spec)
    else:
        attributes, wanted = None, None
    if spec.handle is not None or spec.hydrate:
        return attributes, [attribute(name) for name in _bare_names(spec)]
    if wanted is not None:
        return attributes, [*wanted, *(attribute(name) for name in spec.key_attributes)]
    if index is None or index.projection == "ALL":
        return None, None
    held = frozenset(
        field.attribute for schema in spec.candidates for field in schema.fields if spec.holds(field.attribute)
    )
    return held | set(registry.key_names), None


def _bare_names(spec: QuerySpec) -> list[str]:
    """The attributes by which a row is told and found again."""
    registry = spec.registry
    names = [*registry.key_names, *spec.key_attributes]
    if spec.knows_types:
        names.append(registry.type_attribute)
    names += [schema.ttl.attribute for schema in spec.candidates if hides_expired(schema) and schema.ttl is not None]
    return [name for name in dict.fromkeys(names) if spec.holds(name)]


def _selected(spec: QuerySpec) -> tuple[frozenset[str], list[Path]]:
    """The attributes of a selection, and its paths; what comes along unasked is left out where an index lacks it."""
    assert spec.select is not None
    found, attributes = projection(spec.candidates, spec.select)
    for path in found:
        if path.owner is not None and not spec.holds(path.attribute) and not spec.hydrate:
            raise QueryError(
                f"select() names {path}, which is not in {spec.where_text}. Add .hydrate(), or project the attribute."
            )
    if spec.hydrate:
        return attributes, found
    return frozenset(filter(spec.holds, attributes)), [path for path in found if spec.holds(path.attribute)]


def check_columns(columns: Sequence[Any]) -> None:
    """Refuse what is no column. Raises `QueryError`."""
    for column in columns:
        if not isinstance(column, Column):
            raise QueryError(f"select() takes columns, such as Document.title, not {column!r}.")


def _check_select(spec: QuerySpec) -> None:
    if not spec.candidates:
        raise QueryError("select() needs a class whose columns it names.")
    check_columns(spec.select or ())
    for column in spec.select or ():
        path = column.path
        if path.owner is not None and not any(concerns([path.owner], schema) for schema in spec.candidates):
            names = ", ".join(schema.name for schema in spec.candidates)
            raise QueryError(f"select() names {path}, and the query gives {names}. Ask for that class too.")
