"""An entity's key in an index, as a member of the class: ``Document.feed.query(...)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs

from tablekit.api.query import Query
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.fields import IndexKeyDeclaration
from tablekit.errors import DefinitionError
from tablekit.operations.queryspec import QuerySpec, Source
from tablekit.operations.scan import ScanProgress

__all__ = ["BoundIndex", "index_key"]

E = TypeVar("E", bound=EntityBase)


class BoundIndex(Generic[E]):
    """An index, seen through the class whose rows are asked for."""

    __slots__ = ("_entity", "_name")

    def __init__(self, entity: type[E], name: str) -> None:
        self._entity = entity
        self._name = name

    def __repr__(self) -> str:
        key = schema_of(self._entity).index_keys[self._name]
        templates = " / ".join(repr(each.template.text) for each in key.keys)
        return f"<Index key {self._entity.__name__}.{self._name} in {key.index.name!r}: {templates}>"

    def _spec(self, parts: Mapping[str, Any], *, scan: bool, **options: Any) -> QuerySpec:
        schema = schema_of(self._entity)
        key = schema.index_keys[self._name]
        spec = QuerySpec(
            registry=schema.registry,
            sources=(Source(schema, key),),
            index=key.index,
            parts=parts,
            unknown=schema.registry.unknown,
            untyped=schema.registry.untyped,
            scan=scan,
        )
        return attrs.evolve(spec, **options)

    def query(self, **parts: Any) -> Query[E]:
        """The entities of this class in one partition of the index, by the fields of its key."""
        return Query(self._spec(parts, scan=False))

    def scan(
        self,
        *,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Callable[[ScanProgress], Any] | None = None,
    ) -> Query[E]:
        """All entities of this class in the index; cheap where the index is sparse. Options as for `Table.scan`."""
        spec = self._spec({}, scan=True, segments=segments, units_per_second=units_per_second, progress=progress)
        spec.check()
        return Query(spec)


class index_key(IndexKeyDeclaration):  # noqa: N801  (it reads as a function in a class body)
    """The key of an entity in an index.

    Parameters:
        index: the index's name. pk, sk: key templates; tuples of them for multi-attribute keys; left out where
            the index is keyed on fields, or on the table's own keys.
        when: the rows that belong in the index: ``{"status": Status.OPEN}``, or a function of the entity,
            which says what it reads in `uses`. Rows for which it is false have no key there (a sparse index).
        uses: the fields that `when` reads.
    """

    def __init__(
        self,
        index: str,
        pk: str | tuple[str, ...] | None = None,
        sk: str | tuple[str, ...] | None = None,
        *,
        when: Mapping[str, Any] | Callable[[Any], bool] | None = None,
        uses: tuple[str, ...] = (),
    ) -> None:
        super().__init__(index, pk, sk, when=when, uses=uses)
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, obj: E | None, owner: type[E]) -> BoundIndex[E]:
        if "__schema__" not in owner.__dict__:
            raise DefinitionError(f"{owner.__name__}.{self._name}: {owner.__name__} is abstract.", owner=owner.__name__)
        return BoundIndex(owner, self._name)
