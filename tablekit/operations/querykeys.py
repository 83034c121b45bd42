"""What a query reads: the partition, and the range of sort keys that covers those of its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import attrs

from tablekit._types import AttributeValue
from tablekit.codecs.compare import equal_wire
from tablekit.definition.schema import KeyAttribute
from tablekit.errors import KeyPartError, QueryError
from tablekit.expressions.conditions import Condition, all_of, equals, paths
from tablekit.operations.intervals import EVERYTHING, Interval, cover
from tablekit.operations.keyranges import key_interval, partition_conditions, sort_condition
from tablekit.operations.queryspec import QuerySpec, Source
from tablekit.wire.rendering import Renderer

__all__ = ["ReadKeys", "family_of", "plan_keys"]


@attrs.frozen(kw_only=True)
class ReadKeys:
    """What is read: the key condition, and the ranges of sort keys that it covers."""

    partition: Mapping[str, AttributeValue] = attrs.Factory(dict[str, AttributeValue])
    condition: Condition | None = None
    intervals: Mapping[type, Interval] = attrs.Factory(dict[type, Interval])
    cover: Interval = EVERYTHING
    checked: bool = False

    @property
    def named(self) -> set[str]:
        """The attributes that the key condition is on."""
        return set() if self.condition is None else {path.attribute for path in paths(self.condition)}


def family_of(spec: QuerySpec) -> list[Source]:
    """The sources of a query, and those of their subclasses that lie in the same partition."""
    found: list[Source] = []
    for source in spec.sources or ():
        found.append(source)
        found += [each for each in source.family[1:] if _same_partition(spec, source, each)]
    return found


def _same_partition(spec: QuerySpec, base: Source, other: Source) -> bool:
    if [key.template.text for key in base.pk] == [key.template.text for key in other.pk]:
        return True
    try:
        mine = partition_conditions(base.pk, spec.parts, base.schema.name)
        return _equal(mine, partition_conditions(other.pk, spec.parts, other.schema.name))
    except KeyPartError:
        return False


def plan_keys(spec: QuerySpec) -> ReadKeys:
    """The key condition of a query. Raises `QueryError`, `KeyPartError`."""
    if spec.scan:
        _check_no_parts(spec)
        return ReadKeys()
    # A misspelt part is told before the one that is missing for it.
    _check_parts(spec, spec.sources or ())
    partition = _partition(spec)
    conditions: list[Condition] = [equals(name, value, name) for name, value in partition.items()]
    if spec.sources is None:
        return ReadKeys(partition=partition, condition=all_of(*conditions))
    first = spec.sources[0]
    if len(first.sk) > 1:
        conditions += _multi_attribute(spec)
        return ReadKeys(partition=partition, condition=all_of(*conditions))
    intervals = {source.schema.entity: _interval(spec, source) for source in family_of(spec)}
    covering = cover(list(intervals.values()))
    if first.sk:
        condition = sort_condition(first.sk[0].attribute, covering, first.sk[0].type)
        if condition is not None:
            conditions.append(condition)
    return ReadKeys(
        partition=partition,
        condition=all_of(*conditions),
        intervals=intervals,
        cover=covering,
        checked=len(set(intervals.values())) > 1 or not covering.sent_exactly,
    )


def _check_no_parts(spec: QuerySpec) -> None:
    if spec.parts:
        raise QueryError(
            f"A scan takes no parts of keys ({', '.join(spec.parts)}). Query by them, or filter with where()."
        )


def _partition(spec: QuerySpec) -> dict[str, AttributeValue]:
    """The partition that the query reads."""
    if spec.sources is None:
        assert spec.raw_pk is not None
        return dict(zip(spec.key_attributes, spec.raw_pk))
    first, *others = spec.sources
    for source in others:
        try:
            mine = partition_conditions(first.pk, spec.parts, first.schema.name)
            same = _equal(mine, partition_conditions(source.pk, spec.parts, source.schema.name))
        except KeyPartError as error:
            # A part that only one of the classes has is no oversight.
            if error.part in spec.parts or set(_names(first)) == set(_names(source)):
                raise
            same = False
        if not same:
            raise QueryError(
                f"{first.schema.name} and {source.schema.name} lie in different partitions of {spec.where_text} "
                f"({_templates(first.pk)} and {_templates(source.pk)}); one query reads one. Query them apart."
            )
    return partition_conditions(first.pk, spec.parts, first.schema.name)


def _names(source: Source) -> list[str]:
    return [name for key in source.pk for name in key.template.names]


def _equal(one: Mapping[str, AttributeValue], other: Mapping[str, AttributeValue]) -> bool:
    return all(equal_wire(one[name], other.get(name)) for name in one)


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
    if not sources:
        return
    used = {
        part for source in sources for key in (*source.pk, *source.sk) for part in (*key.template.names, *key.names)
    }
    for name in spec.parts:
        if name not in used:
            known = ", ".join(sorted(used)) or "none"
            names = ", ".join(source.schema.name for source in sources)
            near = get_close_matches(name, sorted(used), n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else "Use where() for other fields."
            raise QueryError(
                f"{name!r} is no part of the key of {names} in {spec.where_text} (parts: {known}). {remedy}"
            )


def _multi_attribute(spec: QuerySpec) -> list[Condition]:
    """Conditions on the sort attributes of a multi-attribute key, which must be the same for every class."""
    assert spec.sources is not None
    first, *others = spec.sources
    found = _multi_attribute_of(spec, first)
    wanted = _texts(found)
    for source in others:
        if _texts(_multi_attribute_of(spec, source)) != wanted:
            raise QueryError(
                f"{first.schema.name} and {source.schema.name} need different sort keys in {spec.where_text}, and one "
                "request takes one condition for each attribute. Query them apart, or give fewer parts."
            )
    return found


def _texts(conditions: Sequence[Condition]) -> Any:
    renderer = Renderer()
    return [renderer.render_condition(each) for each in conditions], renderer.names, renderer.values


def _multi_attribute_of(spec: QuerySpec, source: Source) -> list[Condition]:
    """Equalities from the left, then a range of the next attribute."""
    for bound in spec.bounds:
        if all(bound.field not in key.template.names for key in source.sk):
            raise QueryError(
                f"{bound.field!r} is no part of the sort key of {source.schema.name} in {spec.where_text}."
            )
    conditions: list[Condition] = []
    last: str | None = None
    for key in source.sk:
        here = [bound for bound in spec.bounds if bound.field in key.template.names]
        given = [name for name in key.template.names if name in spec.parts]
        if key.template.constant or given or here:
            if last is not None and (given or here):
                raise QueryError(
                    f"{(given or [here[0].field])[0]!r} of {spec.where_text} is given, and the sort attribute {last!r} "
                    "before it is not, or is a range; DynamoDB takes them from the left without gaps."
                )
            interval = key_interval(key, _own_parts(spec, source), here, source.schema.name)
            condition = sort_condition(key.attribute, interval, key.type) if last is None else None
            if condition is not None:
                conditions.append(condition)
            _check_sent(key, interval)
            if interval.exact:
                continue
        last = last or key.attribute
    return conditions


def _check_sent(key: KeyAttribute, interval: Interval) -> None:
    if not interval.sent_exactly:
        raise QueryError(
            f"This range of {key.template.text!r} leaves out an end that BETWEEN takes in, and a multi-attribute key "
            "is not checked row by row. Use between() with both ends, or at_least() and at_most()."
        )
