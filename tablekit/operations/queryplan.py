"""How a query is put to DynamoDB: the cheapest request that is correct, and what to do with its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tablekit._types import AttributeValue, Item
from tablekit.codecs.compare import equal_wire
from tablekit.definition.schema import EntitySchema, KeyAttribute
from tablekit.errors import QueryError
from tablekit.expressions.conditions import (
    Condition,
    all_of,
    any_of,
    attribute_not_exists,
    compare,
    conjunction,
    equals,
    one_of,
    owners,
    paths,
)
from tablekit.expressions.paths import Path, attribute
from tablekit.operations.dispatch import Dispatcher
from tablekit.operations.intervals import EVERYTHING, Interval, cover
from tablekit.operations.keyranges import comparable, could_lie_in, key_interval, partition_conditions, sort_condition
from tablekit.operations.queryspec import QuerySpec, Source
from tablekit.operations.read import projection
from tablekit.wire.rendering import Renderer
from tablekit.wire.requests import Request

__all__ = ["QueryPlan", "plan_query"]

Narrowing = Literal["key", "filter", "none"]


class QueryPlan:
    """A query made ready.

    Attributes:
        spec: what was asked. narrowing: how the classes are told from others: ``"key"`` (the key condition
            holds only theirs), ``"filter"`` (by type, after DynamoDB has read and billed the others), or
            ``"none"`` (no class was named). filtered: whether a filter is sent. checked: whether rows that the
            key condition brings along are dropped here. intervals: each class's range of sort keys.
        partition: the attributes of the partition key that is read, with their values.
    """

    __slots__ = (
        "_body",
        "_entity",
        "_fingerprint",
        "_secrets",
        "attributes",
        "checked",
        "filtered",
        "intervals",
        "narrowing",
        "partition",
        "spec",
    )

    def __init__(
        self,
        spec: QuerySpec,
        body: Mapping[str, Any],
        *,
        narrowing: Narrowing,
        checked: bool,
        intervals: Mapping[type, Interval],
        attributes: frozenset[str] | None,
        secrets: frozenset[str],
        partition: Mapping[str, AttributeValue],
        fingerprint: Mapping[str, Any],
    ) -> None:
        self.spec = spec
        self.partition = partition
        self._fingerprint = fingerprint
        self._body = dict(body)
        self._secrets = secrets
        self.narrowing: Narrowing = narrowing
        self.filtered = body.get("FilterExpression") is not None
        self.checked = checked
        self.intervals = intervals
        self.attributes = attributes
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
            body.pop("ProjectionExpression", None)
        index = None if self.spec.index is None else self.spec.index.name
        operation = "Scan" if self.spec.scan else "Query"
        return Request(operation, body, secrets=self._secrets, entity=self._entity, index=index)

    def dispatcher(self, now: Callable[[], datetime]) -> Dispatcher:
        """What hands the rows to their classes; `now` gives the time by which expired rows are hidden."""
        spec = self.spec
        return Dispatcher(
            spec.registry,
            spec.schemas,
            unknown=spec.unknown,
            untyped=spec.untyped,
            raw=spec.raw,
            attributes=None if spec.hydrate else self.attributes,
            accept=self._accept if self.checked else None,
            now=now,
        )

    def _accept(self, schema: EntitySchema | None, item: Item) -> bool:
        name = self.spec.key_attributes[-1]
        stored = item.get(name)
        if stored is None:
            return True
        ((tag, _),) = stored.items()
        value = comparable(stored, tag)  # type: ignore[arg-type]
        if schema is None:
            return any(value in interval for interval in self.intervals.values())
        for cls in schema.entity.__mro__:
            if cls in self.intervals:
                return value in self.intervals[cls]
        return False

    def fingerprint(self) -> Mapping[str, Any]:
        """What tells this query from others, the time by which expired rows are hidden left out."""
        return self._fingerprint

    def resume_key(self, item: Item) -> Item:
        """The key after which a query goes on that returned this row last."""
        names = dict.fromkeys((*self.spec.registry.key_names, *self.spec.key_attributes))
        return {name: item[name] for name in names if name in item}


def plan_query(spec: QuerySpec, now: datetime, *, counting: bool = False) -> QueryPlan:
    """Choose the request for a query.

    Parameters:
        now: the time by which expired rows are hidden. counting: ask DynamoDB for a number, so that a row
            must be told by the filter, not here.

    Raises `QueryError`, `KeyPartError`, `ExpressionError`, `LimitExceeded`.
    """
    spec.check()
    partition = _partition(spec)
    key_condition, intervals, cover_interval = _keys(spec, partition)
    narrowing = _narrowing(spec, cover_interval)
    checked = len(set(intervals.values())) > 1 or not cover_interval.sent_exactly
    clauses = list(spec.where and _where_clauses(spec))
    if narrowing == "filter" or (counting and spec.sources is not None):
        clauses.insert(0, _type_filter(spec))
    _check_filter(spec, clauses)
    fingerprint = _fingerprint(key_condition, clauses)
    clauses += _ttl_clauses(spec, now)
    renderer = Renderer()
    key_text = None if key_condition is None else renderer.render_key_condition(key_condition)
    condition = conjunction(*_ordered(clauses))
    filter_text = None if condition is None else renderer.render_filter(condition)
    attributes, projected = _projection(spec)
    projection_text = None if projected is None else renderer.render_projection(projected)
    body = {
        "IndexName": None if spec.index is None else spec.index.name,
        "KeyConditionExpression": key_text,
        "FilterExpression": filter_text,
        "ProjectionExpression": projection_text,
        "ExpressionAttributeNames": renderer.names,
        "ExpressionAttributeValues": renderer.values,
        "ScanIndexForward": False if spec.reverse else None,
        "ConsistentRead": True if spec.consistent else None,
        "ReturnConsumedCapacity": "TOTAL",
    }
    return QueryPlan(
        spec,
        body,
        narrowing=narrowing,
        checked=checked and not spec.scan,
        intervals=intervals,
        attributes=attributes,
        secrets=renderer.secrets,
        partition=partition,
        fingerprint=fingerprint,
    )


def _fingerprint(key_condition: Condition | None, clauses: Sequence[Condition]) -> dict[str, Any]:
    renderer = Renderer()
    texts = [renderer.render_condition(clause) for clause in (key_condition, *clauses) if clause is not None]
    return {"expressions": texts, "names": renderer.names, "values": renderer.values}


def _ordered(clauses: Sequence[Condition]) -> Sequence[Condition]:
    """The caller's conditions first, then the type: ``(status = a OR status = b) AND type = Document``."""
    return [*clauses[1:], *clauses[:1]] if len(clauses) > 1 else clauses


# Keys


def _keys(
    spec: QuerySpec, partition: Mapping[str, AttributeValue]
) -> tuple[Condition | None, dict[type, Interval], Interval]:
    conditions: list[Condition] = [equals(name, value, name) for name, value in partition.items()]
    if spec.scan:
        return None, {}, EVERYTHING
    if spec.sources is None:
        return all_of(*conditions), {}, EVERYTHING
    first = spec.sources[0]
    _check_parts(spec, spec.sources)
    if len(first.sk) > 1:
        conditions += _multi_attribute(spec, first)
        return all_of(*conditions), {}, EVERYTHING
    intervals = {source.schema.entity: _interval(spec, source) for source in spec.sources}
    covering = cover(list(intervals.values()))
    if first.sk:
        condition = sort_condition(first.sk[0].attribute, covering, first.sk[0].type)
        if condition is not None:
            conditions.append(condition)
    return all_of(*conditions), intervals, covering


def _partition(spec: QuerySpec) -> dict[str, AttributeValue]:
    """The partition that the query reads; empty for a scan."""
    if spec.scan:
        return {}
    if spec.sources is None:
        assert spec.raw_pk is not None
        return {spec.key_attributes[0]: spec.raw_pk}
    first, *others = spec.sources
    found = partition_conditions(first.pk, spec.parts, first.schema.name)
    for source in others:
        other = partition_conditions(source.pk, spec.parts, source.schema.name)
        if any(not equal_wire(found[name], other.get(name)) for name in found):
            raise QueryError(
                f"{first.schema.name} and {source.schema.name} lie in different partitions of {spec.where_text} "
                f"({_templates(first.pk)} and {_templates(source.pk)}); one query reads one partition. Query them apart."
            )
    return found


def _templates(keys: Sequence[KeyAttribute]) -> str:
    return " / ".join(repr(key.template.text) for key in keys)


def _interval(spec: QuerySpec, source: Source) -> Interval:
    if not source.sk:
        if spec.bounds:
            raise QueryError(f"{spec.where_text} has no sort key, so that no range of it can be asked for.")
        return EVERYTHING
    return key_interval(source.sk[0], _own_parts(spec, source), spec.bounds, source.schema.name)


def _own_parts(spec: QuerySpec, source: Source) -> dict[str, Any]:
    return {name: value for name, value in spec.parts.items() if name in source.schema.by_name or "." in name}


def _check_parts(spec: QuerySpec, sources: Sequence[Source]) -> None:
    """Every part must mean something to some class; a misspelt one would widen the query unseen."""
    used = {
        part for source in sources for key in (*source.pk, *source.sk) for part in (*key.template.names, *key.names)
    }
    for name in spec.parts:
        if name not in used:
            known = ", ".join(sorted(used)) or "none"
            names = ", ".join(source.schema.name for source in sources)
            raise QueryError(
                f"{name!r} is no part of the key of {names} in {spec.where_text} (parts: {known}). "
                "Use where() for other fields."
            )


def _multi_attribute(spec: QuerySpec, source: Source) -> list[Condition]:
    """Conditions on the sort attributes of a multi-attribute index key: equalities from the left, then a range."""
    conditions: list[Condition] = []
    bounds = list(spec.bounds)
    open_ = True
    for key in source.sk:
        assert key.field is not None
        name = key.field.name
        here = [bound for bound in bounds if bound.field == name]
        if name in spec.parts or here:
            if not open_:
                raise QueryError(
                    f"{name!r} of index {spec.index.name if spec.index else ''!r} is given, and a sort attribute before "
                    "it is not; DynamoDB takes them from the left without gaps."
                )
            interval = key_interval(key, spec.parts, here, source.schema.name)
            condition = sort_condition(key.attribute, interval, key.type)
            if condition is not None:
                conditions.append(condition)
            open_ = name in spec.parts
        else:
            open_ = False
    return conditions


# Which rows are of the classes


def _narrowing(spec: QuerySpec, covering: Interval) -> Narrowing:
    if spec.sources is None:
        return "none"
    wanted = {each.entity for source in spec.sources for each in (source.schema, *source.schema.subclasses)}
    for other in spec.registry.entities.values():
        if other.entity not in wanted and _could_appear(spec, other, covering):
            return "filter"
    return "key"


def _could_appear(spec: QuerySpec, other: EntitySchema, covering: Interval) -> bool:
    """Whether a row of another class may lie where the key condition reads; never a wrong no."""
    if spec.scan:
        return True
    if spec.index is None:
        sources = [Source(other)]
    else:
        sources = [Source(other, key) for key in other.index_keys.values() if key.index is spec.index]
        if not sources:
            # Without a declared key a row is in the index only by attributes of its own.
            return set(spec.index.keys) <= {*other.by_attribute, *(key.attribute for key in other.keys)}
    return any(_overlaps(spec, source, covering) for source in sources)


def _overlaps(spec: QuerySpec, source: Source, covering: Interval) -> bool:
    assert spec.sources is not None
    partition = partition_conditions(spec.sources[0].pk, spec.parts, spec.sources[0].schema.name)
    for key in source.pk:
        value = partition.get(key.attribute)
        if value is not None and key.match(value) is None:
            return False
    if len(source.sk) != 1:
        return True
    return could_lie_in(source.sk[0], covering)


def _type_filter(spec: QuerySpec) -> Condition:
    assert spec.sources is not None
    name = spec.registry.type_attribute
    types = list(dict.fromkeys(each for source in spec.sources for each in source.schema.types))
    condition = one_of(name, [{"S": each} for each in types], hints=types)
    if spec.untyped != "skip":
        # An untyped row follows its policy: it must arrive to be inferred or to raise.
        condition = condition | attribute_not_exists(name)
    return condition


# Filters


def _where_clauses(spec: QuerySpec) -> list[Condition]:
    return [clause for condition in spec.where for clause in _scoped(spec, condition)]


def _scoped(spec: QuerySpec, condition: Condition) -> list[Condition]:
    """Let a condition on one class's fields judge that class's rows only, in a query of several."""
    classes = owners(condition)
    asked = spec.sources
    if asked is not None and len(asked) == 1:
        return [condition]
    types: list[str] = []
    for cls in classes:
        schema = getattr(cls, "__schema__", None)
        if schema is None:
            return [condition]
        types += schema.types
    if not types:
        return [condition]
    if asked is not None and {t for source in asked for t in source.schema.types} <= set(types):
        return [condition]
    name = spec.registry.type_attribute
    other = ~one_of(name, [{"S": each} for each in types], hints=types)
    if len(types) == 1:
        other = compare(name, "<>", {"S": types[0]}, types[0])
    return [any_of(other, condition)]


def _ttl_clauses(spec: QuerySpec, now: datetime) -> list[Condition]:
    """Leave out expired rows of classes that hide them; reads check again, since time goes on."""
    schemas = spec.schemas if spec.schemas is not None else tuple(spec.registry.entities.values())
    attributes = {s.ttl.attribute for s in schemas if s.ttl is not None and s.ttl.hide_expired}
    if not attributes or any(s.ttl is None or not s.ttl.hide_expired for s in schemas):
        # Rows of other classes may use the attribute for something else.
        return []
    seconds = {"N": str(int(now.timestamp()))}
    return [attribute_not_exists(name) | compare(name, ">", seconds, "now") for name in sorted(attributes)]


def _check_filter(spec: QuerySpec, clauses: Sequence[Condition]) -> None:
    keys: set[str] = set() if spec.scan else set(spec.key_attributes)
    for clause in clauses:
        for path in paths(clause):
            if path.attribute in keys:
                raise QueryError(
                    f"{path} is the key that {spec.where_text} is read by, and DynamoDB takes no filter on it. "
                    "Give it as a key part, or as a range: between(), begins_with(), after()."
                )
            _check_held(spec, path)


def _check_held(spec: QuerySpec, path: Path) -> None:
    index = spec.index
    if index is None or spec.registry.type_attribute == path.attribute:
        return
    if not index.holds(path.attribute, spec.registry.key_names, spec.registry.type_attribute):
        raise QueryError(
            f"{path} is not in index {index.name!r}, so that a filter on it would drop every row. "
            "Project the attribute, or filter the hydrated rows yourself."
        )


def _projection(spec: QuerySpec) -> tuple[frozenset[str] | None, list[Path] | None]:
    """The attributes that make up the entities when they are partial, and the paths to ask for."""
    registry, index = spec.registry, spec.index
    schemas = spec.schemas if spec.schemas is not None else tuple(registry.entities.values())
    if spec.select is not None:
        if not schemas:
            raise QueryError("select() needs a class whose columns it names.")
        found, attributes = projection(schemas, spec.select)
        found += [attribute(name) for name in spec.key_attributes]
        return attributes, found
    if index is None or index.projection == "ALL":
        return None, None
    held = frozenset(
        field.attribute
        for schema in schemas
        for field in schema.fields
        if index.holds(field.attribute, registry.key_names, registry.type_attribute)
    )
    return held, None
