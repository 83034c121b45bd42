"""What a class body says: fields, managed fields, index keys and unique values, as the user wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from typing_extensions import Never

from tablekit._types import UNSET, Unset
from tablekit.codecs.base import Codec, is_a
from tablekit.expressions.columns import Column

__all__ = [
    "Declaration",
    "Field",
    "IndexKeyDeclaration",
    "Kind",
    "Managed",
    "UniqueDeclaration",
    "created_at",
    "field",
    "ttl",
    "unique",
    "updated_at",
    "version",
]

T = TypeVar("T")
Kind = Literal["data", "version", "created_at", "updated_at", "ttl"]
Validator = Callable[[Any, Any, Any], Any]
"""An attrs validator: called with the entity, a record with ``name``, and the value; it raises."""


class Field(Generic[T]):
    """The annotation of a field: ``title: Field[str]``.

    On the class, ``Document.title`` is a `Column`, with which conditions and updates are written. On an
    instance, ``doc.title`` is the value.
    """

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: Any) -> Column[T]: ...
        @overload
        def __get__(self, obj: object, owner: Any) -> T: ...
        def __get__(self, obj: Any, owner: Any) -> Any: ...

        def __set__(self, obj: object, value: T) -> None: ...


class Managed(Generic[T]):
    """The type of a field that tablekit keeps: it can be read and used in conditions, not set."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: Any) -> Column[T]: ...
        @overload
        def __get__(self, obj: object, owner: Any) -> T: ...
        def __get__(self, obj: Any, owner: Any) -> Any: ...

        def __set__(self, obj: object, value: Never) -> None: ...


class Declaration:
    """One field as the class body declares it; the schema makes a `FieldSchema` of it."""

    __slots__ = (
        "codec",
        "default",
        "factory",
        "hide_expired",
        "kind",
        "marker",
        "name",
        "on_missing",
        "ring",
        "secret",
        "unique",
        "validators",
    )

    def __init__(
        self,
        kind: Kind = "data",
        *,
        default: Any = UNSET,
        factory: Callable[[], Any] | Unset = UNSET,
        name: str | None = None,
        validators: tuple[Validator, ...] = (),
        secret: bool = False,
        codec: Codec[Any] | None = None,
        unique: bool = False,
        on_missing: Any = UNSET,
        marker: bool = True,
        ring: int = 1,
        hide_expired: bool = False,
    ) -> None:
        self.kind: Kind = kind
        self.default = default
        self.factory = factory
        self.name = name
        self.validators = validators
        self.secret = secret
        self.codec = codec
        self.unique = unique
        self.on_missing = on_missing
        self.marker = marker
        self.ring = ring
        self.hide_expired = hide_expired


def _as_tuple(validator: Any) -> tuple[Validator, ...]:
    if validator is None:
        return ()
    # What is neither is refused with the class and the field named, when the class is made.
    return (validator,) if callable(validator) or not is_a(validator, Sequence) else tuple(validator)


@overload
def field(
    *,
    default: T,
    name: str | None = None,
    validator: Validator | Sequence[Validator] | None = None,
    secret: bool = False,
    codec: Codec[Any] | None = None,
    unique: bool = False,
    on_missing: Any = UNSET,
) -> Field[T]: ...
@overload
def field(
    *,
    factory: Callable[[], T],
    name: str | None = None,
    validator: Validator | Sequence[Validator] | None = None,
    secret: bool = False,
    codec: Codec[Any] | None = None,
    unique: bool = False,
    on_missing: Any = UNSET,
) -> Field[T]: ...
@overload
def field(
    *,
    name: str | None = None,
    validator: Validator | Sequence[Validator] | None = None,
    secret: bool = False,
    codec: Codec[Any] | None = None,
    unique: bool = False,
    on_missing: Any = UNSET,
) -> Any: ...
def field(
    *,
    default: Any = UNSET,
    factory: Callable[[], Any] | Unset = UNSET,
    name: str | None = None,
    validator: Validator | Sequence[Validator] | None = None,
    secret: bool = False,
    codec: Codec[Any] | None = None,
    unique: bool = False,
    on_missing: Any = UNSET,
) -> Any:
    """Say more about a field than its type.

    ``status: Field[Status] = field(default=Status.DRAFT)``

    Parameters:
        default: a constant. A missing attribute reads as it. Mutable values are refused: use `factory`.
        factory: called for each new instance that is not given the field. It is not run on reads; with
            ``list``, ``dict`` or ``set`` a missing attribute reads as the empty container.
        name: the stored attribute's name, where it differs from the field's.
        validator: an attrs validator, or several; run when user code sets the field, not on reads.
        secret: mask the value in repr, errors, explain, logs and dry runs.
        codec: how the value stands as an attribute value, in place of the one the type gives.
        unique: no two rows of the entity may hold the same value; kept by a guard row in the same
            transaction.
        on_missing: what a missing attribute reads as, where neither `default` nor an empty container says.
    """
    return Declaration(
        default=default,
        factory=factory,
        name=name,
        validators=_as_tuple(validator),
        secret=secret,
        codec=codec,
        unique=unique,
        on_missing=on_missing,
    )


def version(*, name: str | None = None, marker: bool = True, ring: int = 1) -> Managed[int]:
    """A version that each write bumps and that each write of a loaded entity checks.

    Parameters:
        name: the stored attribute's name.
        marker: also write a random marker of a few bytes, by which a write whose answer was lost
            recognises itself.
        ring: how many markers of the last writes the row keeps, 1 to 8. On a row that many write, a
            longer ring says "unknown" less often.
    """
    declaration: Any = Declaration("version", name=name, marker=marker, ring=ring)
    return declaration  # type: ignore[no-any-return]


def created_at(*, name: str | None = None) -> Managed[datetime]:
    """The time of the first write, aware and in UTC."""
    declaration: Any = Declaration("created_at", name=name)
    return declaration  # type: ignore[no-any-return]


def updated_at(*, name: str | None = None) -> Managed[datetime]:
    """The time of the last write, aware and in UTC."""
    declaration: Any = Declaration("updated_at", name=name)
    return declaration  # type: ignore[no-any-return]


@overload
def ttl(*, default: timedelta, name: str | None = None, hide_expired: bool = False) -> Any: ...
@overload
def ttl(*, default: T, name: str | None = None, hide_expired: bool = False) -> Field[T]: ...
@overload
def ttl(*, name: str | None = None, hide_expired: bool = False) -> Any: ...
def ttl(*, default: Any = UNSET, name: str | None = None, hide_expired: bool = False) -> Any:
    """The time after which DynamoDB may delete the row, stored as epoch seconds.

    It takes an aware datetime, a timedelta from now, or epoch seconds, and reads as an aware datetime.
    Milliseconds are refused: DynamoDB would take them for a year far away and never delete the row.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html

    Parameters:
        default: ``None`` for rows that do not expire; a timedelta for a time from now, taken for each new object.
        name: the stored attribute's name; it must be the one that the table's TTL setting names.
        hide_expired: reads leave out rows whose time has come; DynamoDB deletes them days later.
    """
    return Declaration("ttl", default=default, name=name, hide_expired=hide_expired)


class IndexKeyDeclaration:
    """The key of an entity in an index, as the class body declares it."""

    __slots__ = ("index", "pk", "sk", "uses", "when")

    def __init__(
        self,
        index: str,
        pk: str | tuple[str, ...] | None = None,
        sk: str | tuple[str, ...] | None = None,
        *,
        when: Mapping[str, Any] | Callable[[Any], bool] | None = None,
        uses: tuple[str, ...] = (),
    ) -> None:
        self.index = index
        self.pk = pk
        self.sk = sk
        self.when = when
        self.uses = uses


class UniqueDeclaration:
    """Several fields whose values together are unique among the rows of the entity."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields


def unique(*fields: str) -> UniqueDeclaration:
    """Let no two rows of the entity hold the same values of these fields together.

    Assign it without an annotation: ``slug_in_workspace = unique("workspace_id", "slug")``.
    """
    return UniqueDeclaration(fields)
