"""The filter of a query: the type, the caller's conditions each on its own class, and expired rows.

A condition on the fields of one class judges that class's rows and lets the others pass. A condition over
several classes is judged class by class: for each, the comparisons of the other classes' fields are taken out of
it, so that ``(Document.status == DRAFT) | (Comment.body == "")`` gives the drafts and the empty comments, and
workspaces as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from tablekit.definition.schema import EntitySchema
from tablekit.errors import QueryError
from tablekit.expressions.conditions import (
    Condition,
    Group,
    Leaf,
    Negation,
    all_of,
    any_of,
    attribute_not_exists,
    compare,
    function,
    leaves,
    one_of,
    owners,
    paths,
)
from tablekit.expressions.paths import Path, attribute
from tablekit.expressions.values import Value
from tablekit.operations.queryspec import QuerySpec
from tablekit.wire.rendering import Renderer

__all__ = ["check_filter", "concerns", "restricted", "ttl_clauses", "type_filter", "where_clauses"]

Owners = frozenset[type[Any]]


def type_filter(spec: QuerySpec) -> Condition:
    """That a row is of one of the classes asked for, or without a type where such rows follow a policy."""
    name = spec.registry.type_attribute
    types = _types(spec.candidates)
    condition = one_of(name, [{"S": each} for each in types], hints=types)
    if spec.untyped != "skip":
        # An untyped row follows its policy: it must arrive to be inferred or to raise.
        condition = condition | attribute_not_exists(name)
    return condition


def _types(schemas: Iterable[EntitySchema]) -> list[str]:
    return list(dict.fromkeys(name for schema in schemas for name in schema.own_types))


# The caller's conditions


def where_clauses(spec: QuerySpec) -> list[Condition]:
    """The caller's conditions, each made to judge only the rows of its own classes. Raises `QueryError`."""
    return [clause for condition in spec.where for clause in _scoped(spec, condition)]


def _scoped(spec: QuerySpec, condition: Condition) -> list[Condition]:
    _check_owners(spec, condition)
    candidates = spec.candidates
    groups = _groups(candidates, condition)
    if spec.sources is not None and len(groups) == 1:
        (only,) = groups
        if only == frozenset(owners(condition)):
            return [condition]
    if isinstance(condition, Group) and condition.operator == "AND":
        return [clause for term in condition.terms for clause in _scoped(spec, term)]
    if not owners(condition):
        return [condition]
    # Refused by its size before it is walked: what follows recurses.
    Renderer().render_filter(condition)
    found: list[Condition] = []
    for concerned, schemas in groups.items():
        clause = restricted(condition, concerned)
        if clause is not None:
            found.append(_of_types(spec, schemas, clause))
    return found


def _check_owners(spec: QuerySpec, condition: Condition) -> None:
    for owner in owners(condition):
        if not any(_speaks_of(owner, schema) for schema in spec.candidates):
            names = ", ".join(schema.name for schema in spec.candidates) or "no class"
            raise QueryError(
                f"where() names a field of {owner.__name__}, and the query of {spec.where_text} gives {names}. "
                "Ask for that class too, or leave the condition out."
            )
    for leaf in leaves(condition):
        found = owners(leaf)
        if len(found) > 1 and not any(concerns(found, schema) == found for schema in spec.candidates):
            names = " and ".join(sorted(owner.__name__ for owner in found))
            raise QueryError(f"A condition compares fields of {names}, and no item has both.")


def _speaks_of(owner: type[Any], schema: EntitySchema) -> bool:
    # A class that was defined anew (a notebook, a reload) is meant by columns of the old one too.
    return any(
        cls is owner or (cls.__module__ == owner.__module__ and cls.__qualname__ == owner.__qualname__)
        for cls in schema.entity.__mro__
    )


def concerns(classes: Iterable[type[Any]], schema: EntitySchema) -> Owners:
    """The classes among these whose fields a row of this schema has."""
    return frozenset(owner for owner in classes if _speaks_of(owner, schema))


def _groups(schemas: Sequence[EntitySchema], condition: Condition) -> dict[Owners, list[EntitySchema]]:
    """The classes of a query by which comparisons of a condition speak of them."""
    named = owners(condition)
    groups: dict[Owners, list[EntitySchema]] = {}
    for schema in schemas:
        groups.setdefault(concerns(named, schema), []).append(schema)
    return groups


def restricted(condition: Condition, concerned: Owners) -> Condition | None:
    """A condition without the comparisons of other classes' fields; None when nothing is left."""
    if isinstance(condition, Leaf):
        return condition if owners(condition) <= concerned else None
    if isinstance(condition, Negation):
        term = restricted(condition.term, concerned)
        return None if term is None else ~term
    assert isinstance(condition, Group)
    terms = [term for each in condition.terms if (term := restricted(each, concerned)) is not None]
    if not terms:
        return None
    return all_of(*terms) if condition.operator == "AND" else any_of(*terms)


def _of_types(spec: QuerySpec, schemas: Sequence[EntitySchema], clause: Condition) -> Condition:
    """A condition that judges the rows of some classes and lets others pass."""
    if spec.sources is not None and len(schemas) == len(spec.candidates):
        return clause
    name, types = spec.registry.type_attribute, _types(schemas)
    if not spec.knows_types:
        raise QueryError(
            f"{spec.where_text} does not hold {name}, so that a condition on one of several classes cannot be told "
            "which rows it is for. Query that class alone, or filter the hydrated rows yourself."
        )
    # NOT (type = ...) is true of a row without a type on every engine; for <> they do not agree.
    return any_of(~one_of(name, [{"S": each} for each in types], hints=types), clause)


# Expired rows


def ttl_clauses(spec: QuerySpec, now: datetime) -> list[Condition]:
    """Leave out expired rows of classes that hide them; reads check again, since time goes on."""
    found: list[Condition] = []
    for name, schemas in _hiding(spec.candidates).items():
        if not spec.holds(name):
            if spec.hydrate or spec.handle is not None:
                continue
            raise QueryError(
                f"{schemas[0].name} hides expired rows, and {spec.where_text} does not hold {name!r}, which says when "
                "they expire. Add .hydrate(), or project the attribute."
            )
        clause = attribute_not_exists(name) | compare(name, ">", {"N": str(int(now.timestamp()))}, "now")
        if any(schema.ttl is not None and not schema.ttl.omits_none for schema in schemas):
            clause = clause | function("attribute_type", attribute(name), Value({"S": "NULL"}, "null"))
        if spec.knows_types or len(schemas) == len(spec.candidates):
            found.append(_of_types(spec, schemas, clause))
    return found


def _hiding(schemas: Sequence[EntitySchema]) -> dict[str, list[EntitySchema]]:
    """The classes that hide expired rows, by the attribute that says when."""
    found: dict[str, list[EntitySchema]] = {}
    for schema in schemas:
        if schema.ttl is not None and schema.ttl.hide_expired:
            found.setdefault(schema.ttl.attribute, []).append(schema)
    return found


# What DynamoDB would refuse, or answer wrongly


def check_filter(spec: QuerySpec, clauses: Sequence[Condition]) -> None:
    """Refuse filters on the key that is queried, and on what an index does not hold. Raises `QueryError`."""
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
    if not spec.holds(path.attribute):
        name = "" if spec.index is None else spec.index.name
        raise QueryError(
            f"{path} is not in index {name!r}, so that a filter on it would drop every row. "
            "Project the attribute, or filter the hydrated rows yourself."
        )
