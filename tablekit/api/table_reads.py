"""What a table reads: queries and scans over several classes, rows by bare key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast, overload

from tablekit._types import AttributeValue, Item
from tablekit.api.entity import Entity
from tablekit.api.query import Query
from tablekit.definition.entity import schema_of
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import QueryError, RequestError
from tablekit.operations.driver import run
from tablekit.operations.queryspec import QuerySpec, Source
from tablekit.operations.read import get_any
from tablekit.operations.session import Session, SessionSource

__all__ = ["TableReads"]

A = TypeVar("A", bound=Entity)
B = TypeVar("B", bound=Entity)
C = TypeVar("C", bound=Entity)
D = TypeVar("D", bound=Entity)
F = TypeVar("F", bound=Entity)
G = TypeVar("G", bound=Entity)


class TableReads(TableDefinition):
    """The reading half of `Table`."""

    def _reading(self) -> Session:
        return cast(SessionSource, self).session()

    # Reading

    @overload
    def query(self, *, pk: Any) -> Query[Entity]: ...
    @overload
    def query(self, a: type[A], /, **parts: Any) -> Query[A]: ...
    @overload
    def query(self, a: type[A], b: type[B], /, **parts: Any) -> Query[A | B]: ...
    @overload
    def query(self, a: type[A], b: type[B], c: type[C], /, **parts: Any) -> Query[A | B | C]: ...
    @overload
    def query(self, a: type[A], b: type[B], c: type[C], d: type[D], /, **parts: Any) -> Query[A | B | C | D]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[F], /, **parts: Any
    ) -> Query[A | B | C | D | F]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[F], f: type[G], /, **parts: Any
    ) -> Query[A | B | C | D | F | G]: ...
    @overload
    def query(self, *classes: type[A], **parts: Any) -> Query[A]: ...
    def query(self, *classes: Any, **parts: Any) -> Any:  # type: ignore[misc]  # mypy counts positional-only names as keywords
        """The entities of one partition.

        ``app.query(Workspace, Document, workspace_id="acme")`` asks for classes by the fields of their keys;
        rows of other types are dropped, and counted on the page. ``app.query(pk="WS#acme")`` gives whatever is
        there, each row as its class.
        """
        if not classes:
            return Query(self._whole_partition(parts))
        sources = tuple(Source(self._own(cls)) for cls in classes)
        return Query(self._spec(sources=sources, parts=parts))

    def _own(self, cls: type[Any]) -> EntitySchema:
        schema = schema_of(cls)
        if schema.registry is not self:
            raise QueryError(
                f"{schema.name} is of table {schema.registry.label!r}, not of {self.label!r}. Query it through its own."
            )
        return schema

    def _whole_partition(self, parts: Mapping[str, Any]) -> QuerySpec:
        if set(parts) != {"pk"}:
            given = ", ".join(sorted(set(parts) - {"pk"})) or "nothing"
            raise QueryError(
                f"query() without classes takes pk=, the partition key as it is stored, and was given {given}. "
                "Name the classes to query by their fields."
            )
        return self._spec(raw_pk=self._key_value(self.pk, parts["pk"]))

    def _spec(self, **asked: Any) -> QuerySpec:
        return QuerySpec(registry=self, unknown=self.unknown, untyped=self.untyped, **asked)

    def _key_value(self, attribute: str, value: Any) -> AttributeValue:
        tag = self.key_type(attribute)
        wanted = {"S": str, "B": bytes}.get(tag)
        if wanted is not None and not isinstance(value, wanted):
            raise RequestError(f"{attribute}= of table {self.label!r} is a {wanted.__name__}, as the key is stored.")
        return {tag: str(value) if tag == "N" else value}

    @overload
    def scan(self) -> Query[Entity]: ...
    @overload
    def scan(self, a: type[A], /) -> Query[A]: ...
    @overload
    def scan(self, a: type[A], b: type[B], /) -> Query[A | B]: ...
    @overload
    def scan(self, a: type[A], b: type[B], c: type[C], /) -> Query[A | B | C]: ...
    @overload
    def scan(self, *classes: type[A]) -> Query[A]: ...
    def scan(self, *classes: type[Any]) -> Query[Any]:
        """The entities of the whole table, in no order. DynamoDB reads and bills every row."""
        sources = tuple(Source(self._own(cls)) for cls in classes) or None
        return Query(self._spec(sources=sources, scan=True))

    def get(self, *, pk: Any, sk: Any = None, consistent: bool = False) -> Entity | None:
        """The row under a key as it is stored, as its class; None when there is none."""
        return run(get_any(self._reading(), self, self._bare_key(pk, sk), consistent=consistent))  # type: ignore[no-any-return]

    def _bare_key(self, pk: Any, sk: Any) -> Item:
        key = {self.pk: self._key_value(self.pk, pk)}
        if self.sk is not None:
            if sk is None:
                raise RequestError(f"Table {self.label!r} has a sort key: give sk=, as it is stored.")
            key[self.sk] = self._key_value(self.sk, sk)
        elif sk is not None:
            raise RequestError(f"Table {self.label!r} has no sort key: leave sk= out.")
        return key
