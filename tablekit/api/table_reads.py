"""What a table reads: queries and scans over several classes, rows by bare key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeVar, cast, overload

from tablekit._types import AttributeValue, Item
from tablekit.api.entity import Entity
from tablekit.api.keys import Key
from tablekit.api.query import Query
from tablekit.api.streams import StreamChange, decode_changes
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.numbers import decimal_text
from tablekit.definition.entity import schema_of
from tablekit.definition.indexes import Index
from tablekit.definition.keytext import is_plain_text
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.definition.templates import check_key_size
from tablekit.errors import QueryError, RequestError
from tablekit.operations.dispatch import RawItem
from tablekit.operations.driver import run
from tablekit.operations.get_many import BadKeys, batch_get_of
from tablekit.operations.queryspec import QuerySpec, Source, index_source
from tablekit.operations.read import get_any
from tablekit.operations.scan import ScanProgress
from tablekit.operations.session import Session, SessionSource
from tablekit.operations.streams import StreamPolicy, UndecodablePolicy

__all__ = ["TableReads"]

A = TypeVar("A", bound=Entity)
B = TypeVar("B", bound=Entity)
C = TypeVar("C", bound=Entity)
D = TypeVar("D", bound=Entity)
F = TypeVar("F", bound=Entity)
G = TypeVar("G", bound=Entity)

Progress = Callable[[ScanProgress], Any]


def _number_text(attribute: str, value: int | Decimal) -> str:
    try:
        return decimal_text(Decimal(value))
    except ValueProblem as problem:
        raise RequestError(f"{attribute}= {problem}.") from None


class TableReads(TableDefinition):
    """The reading half of `Table`."""

    def _reading(self) -> Session:
        return cast(SessionSource, self).session()

    # Reading

    @overload
    def query(self, *, pk: Any, index: str | None = None) -> Query[Entity]: ...
    @overload
    def query(self, a: type[A], /, *, index: str | None = None, **parts: Any) -> Query[A]: ...
    @overload
    def query(self, a: type[A], b: type[B], /, *, index: str | None = None, **parts: Any) -> Query[A | B]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C | D]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[F], /, *, index: str | None = None, **parts: Any
    ) -> Query[A | B | C | D | F]: ...
    @overload
    def query(
        self,
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[F],
        f: type[G],
        /,
        *,
        index: str | None = None,
        **parts: Any,
    ) -> Query[A | B | C | D | F | G]: ...
    @overload
    def query(self, *classes: type[A], index: str | None = None, **parts: Any) -> Query[A]: ...
    def query(self, *classes: Any, index: str | None = None, **parts: Any) -> Any:  # type: ignore[misc]  # mypy counts positional-only names as keywords
        """The entities of one partition of the table, or of an index.

        ``app.query(Workspace, Document, workspace_id="acme")`` asks for classes by the fields of their keys;
        rows of other types are dropped, and counted on the page. ``app.query(pk="WS#acme")`` gives whatever is
        there, each row as its class; for an index with several partition attributes `pk` is a tuple.

        Parameters:
            classes: the classes. index: the name of an index; the parts are then those of the classes' keys in it.
            parts: fields of the keys, from the left. A key part that is itself called ``index`` or ``pk`` is given to
                ``Document.query`` instead.
        """
        chosen = None if index is None else self._index(index)
        if not classes:
            return Query[Any](self._whole_partition(parts, chosen))
        return Query[Any](self._spec(sources=self._sources(classes, chosen), index=chosen, parts=parts))

    def _index(self, name: str) -> Index:
        found = self.indexes.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(sorted(self.indexes)) or "none"
            raise QueryError(f"Table {self.label!r} has no index {name!r}; it has: {known}.")
        return found

    def _sources(self, classes: Sequence[type[Any]], index: Index | None) -> tuple[Source, ...] | None:
        schemas = dict.fromkeys(self._own(cls) for cls in classes)
        return tuple(Source(schema) if index is None else index_source(schema, index) for schema in schemas) or None

    def _own(self, cls: type[Any]) -> EntitySchema:
        schema = schema_of(cls)
        if schema.refusal is not None:
            raise QueryError(schema.refusal)
        if schema.registry is not self:
            raise QueryError(
                f"{schema.name} is of table {schema.registry.label!r}, not of {self.label!r}. Query it through its own."
            )
        return schema

    def _whole_partition(self, parts: Mapping[str, Any], index: Index | None) -> QuerySpec:
        if set(parts) != {"pk"}:
            given = ", ".join(sorted(set(parts) - {"pk"})) or "nothing"
            raise QueryError(
                f"query() without classes takes pk=, the partition key as it is stored, and was given {given}. "
                "Name the classes to query by their fields."
            )
        names = (self.pk,) if index is None else index.pk
        values: tuple[Any, ...] = parts["pk"] if isinstance(parts["pk"], tuple) else (parts["pk"],)  # pyright: ignore[reportUnknownVariableType]
        if len(values) != len(names):
            raise QueryError(f"pk= takes {len(names)} value(s) here ({', '.join(names)}), and was given {len(values)}.")
        raw = tuple(self._key_value(name, value) for name, value in zip(names, values))
        return self._spec(raw_pk=raw, index=index)

    def _spec(self, **asked: Any) -> QuerySpec:
        return QuerySpec(registry=self, unknown=self.unknown, untyped=self.untyped, **asked)

    def _key_value(self, attribute: str, value: Any) -> AttributeValue:
        tag = self.key_type(attribute)
        if tag == "N":
            if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
                raise RequestError(f"{attribute}= of table {self.label!r} is a number, an int or a Decimal.")
            return {"N": _number_text(attribute, value)}
        wanted = str if tag == "S" else bytes
        if not isinstance(value, wanted) or not value:
            raise RequestError(
                f"{attribute}= of table {self.label!r} is a {wanted.__name__} that is not empty, as the key is stored."
            )
        if isinstance(value, str) and not is_plain_text(value):
            raise RequestError(f"{attribute}= of table {self.label!r} holds a lone surrogate, which UTF-8 cannot hold.")
        found: AttributeValue = {tag: value}
        check_key_size(found, "sk" if attribute == self.sk else "pk", f"{attribute}= of table {self.label!r}")
        return found

    @overload
    def scan(
        self,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[Entity]: ...
    @overload
    def scan(
        self,
        a: type[A],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A]: ...
    @overload
    def scan(
        self,
        a: type[A],
        b: type[B],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A | B]: ...
    @overload
    def scan(
        self,
        a: type[A],
        b: type[B],
        c: type[C],
        /,
        *,
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A | B | C]: ...
    @overload
    def scan(
        self,
        *classes: type[A],
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[A]: ...
    def scan(
        self,
        *classes: type[Any],
        index: str | None = None,
        segments: int = 1,
        units_per_second: float | None = None,
        progress: Progress | None = None,
    ) -> Query[Any]:
        """The entities of the whole table, or of an index, in no order. DynamoDB reads and bills every row.

        Parameters:
            classes: the classes; none for whatever is there. index: the name of an index; a sparse one holds few rows.
            segments: workers that scan at the same time, in threads or tasks. Leaving the loop ends them.
            units_per_second: the capacity units that the scan may use, on average.
            progress: called with a `ScanProgress` after each request, by one worker at a time.
        """
        chosen = None if index is None else self._index(index)
        asked = self._spec(
            sources=self._sources(classes, chosen),
            index=chosen,
            scan=True,
            segments=segments,
            units_per_second=units_per_second,
            progress=progress,
        )
        asked.check()
        return Query(asked)

    # The first is the narrower one: keys of one class, which a list of several classes does not match.
    @overload
    def batch_get(  # pyright: ignore[reportOverlappingOverload]
        self, keys: Sequence[Key[A]], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> list[A | None]: ...
    @overload
    def batch_get(
        self, keys: Sequence[Key[Any]], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> list[Entity | None]: ...
    @overload
    def batch_get(
        self, a: Key[A], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None]: ...
    @overload
    def batch_get(
        self, a: Key[A], b: Key[B], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None, B | None]: ...
    @overload
    def batch_get(
        self, a: Key[A], b: Key[B], c: Key[C], /, *, consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    def batch_get(
        self,
        a: Key[A],
        b: Key[B],
        c: Key[C],
        d: Key[D],
        /,
        *,
        consistent: bool | None = None,
        undecodable: BadKeys = "raise",
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    def batch_get(
        self, *keys: Key[Any], consistent: bool | None = None, undecodable: BadKeys = "raise"
    ) -> tuple[Entity | None, ...]: ...
    def batch_get(self, *keys: Any, consistent: bool | None = None, undecodable: BadKeys = "raise") -> Any:
        """The entities under several keys, in the order asked; None where there is no row.

        ``doc, workspace = app.batch_get(Document.key(...), Workspace.key(...))``; a list of keys gives a list. Keys
        may repeat, be of several classes, and be more than the 100 that one request takes.

        Parameters:
            consistent: strongly consistent, at twice the units; None for the table's default.
            undecodable: ``"raise"``, or a function that is given the error of each row that cannot be given as the
                class of its key, with the row's key; None stands in its place, and the others are read.

        Raises `BatchIncomplete` with the keys that DynamoDB did not get round to; `WrongEntityType`, `DecodeError`.
        """
        return run(batch_get_of(self._reading(), keys, consistent=consistent, undecodable=undecodable))

    def get(self, *, pk: Any, sk: Any = None, consistent: bool | None = None) -> Entity | None:
        """The row under a key as it is stored, as its class; None when there is none.

        Raises `UnknownEntityType` and `MissingEntityType` as the table's policies say; skipped rows are None.
        """
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

    # Its stream

    def decode_stream(
        self,
        event: Any,
        *,
        unknown: StreamPolicy = "raw",
        untyped: StreamPolicy | Literal["infer"] | None = None,
        undecodable: UndecodablePolicy = "raise",
    ) -> list[StreamChange[Entity | RawItem]]:
        """The changes that an event of the table's stream tells, their rows as entities.

        Parameters:
            event: a Lambda event, an answer of GetRecords, one record or a list of them, in DynamoDB JSON or as the
                plain values of Powertools; or JSON text.
            unknown: what becomes of a row of a type that no class has: ``"raw"`` (its images are `RawItem`),
                ``"skip"`` or ``"raise"``. One foreign row must not hold up a shard, so that raw is the default.
            untyped: the same for a row without a type, and ``"infer"`` for telling it by its key, which is the default
                where the table's own policy is.
            undecodable: ``"raise"``, or ``"raw"`` for an image whose fields cannot be read; a function is given the
                error of each such image, which is raw then.

        Raises `InvalidStreamRecord` for what is no record or is another table's, `DecodeError`, and
        `UnknownEntityType` or `MissingEntityType` as the policies say.
        """
        return list(decode_changes(self, event, unknown=unknown, untyped=untyped, undecodable=undecodable))
