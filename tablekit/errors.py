"""The error tree.

::

    TablekitError
    ├── DefinitionError(TypeError)       a class, table or template is wrong
    ├── RequestError(ValueError)         refused before anything was sent
    │   ├── KeyPartError                 a key part is missing, empty, or would not be injective
    │   ├── EncodeError                  a value is not what its field can store
    │   ├── ExpressionError              DynamoDB would refuse the condition, update or projection
    │   ├── KeyChanged                   a field of the primary key was given another value
    │   ├── LimitExceeded                a size or a count is over DynamoDB's limit
    │   ├── QueryError                   the query cannot mean what it says
    │   ├── CursorError                  a cursor is cut, altered, or of another query
    │   └── PartialEntity                a partially loaded entity cannot be written as a whole
    ├── DataError                        a stored row is not what was asked for
    │   ├── UnknownEntityType            its type is no registered class
    │   ├── MissingEntityType            it has no type
    │   ├── WrongEntityType              its type is another class's
    │   ├── DecodeError                  an attribute is not what the field can read
    │   └── InvalidStreamRecord          an event is not a stream's, or of another table's stream
    ├── NotLoaded                        a field of a partially loaded entity
    ├── ItemNotFound(LookupError)        get_or_raise, update or save of a missing row
    ├── SeveralItems(LookupError)        several items where exactly one was asked for
    ├── ConditionFailed                  a condition did not hold; carries the stored item
    │   ├── ItemExists                   create of a row that is there
    │   ├── VersionConflict              another writer was first
    │   ├── StaleEntity                  a loaded value that the write relied on has changed
    │   └── UniqueViolation              a unique value belongs to another row
    ├── TransactionCancelled             .reasons, one for each action in the caller's order
    ├── BatchIncomplete                  .unprocessed, after the retries
    ├── WriteOutcomeUnknown              the write may or may not have been applied
    └── ServiceError                     DynamoDB, or the way to it, said no; .code
        ├── Throttled                    too many requests or units
        ├── AccessDenied                 credentials or permissions
        ├── TableNotFound                no such table or index
        ├── ValidationFailed             DynamoDB refused the request's form
        ├── TransactionConflict          another transaction holds the item
        ├── TransactionInProgress        the same token is being worked on
        ├── IdempotencyMismatch          the same token came with another request
        ├── ServerFault                  a 5xx answer
        ├── ConnectionFailed             no answer: connection refused, reset, or timed out
        ├── DeadlineExceeded             the time of app.deadline(seconds=...) was over
        └── InvalidResponse              an answer that is not DynamoDB's

Each message says what, where and the remedy. The data is kept as attributes. Field values are never
printed; keys are. `docs/reference/errors.md` has an entry for each name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tablekit._types import Attempt, Item

__all__ = [
    "AccessDenied",
    "BatchIncomplete",
    "CancellationReason",
    "ConditionFailed",
    "ConnectionFailed",
    "CursorError",
    "DataError",
    "DeadlineExceeded",
    "DecodeError",
    "DefinitionError",
    "EncodeError",
    "ExpressionError",
    "IdempotencyMismatch",
    "InvalidResponse",
    "InvalidStreamRecord",
    "ItemExists",
    "ItemNotFound",
    "KeyChanged",
    "KeyPartError",
    "LimitExceeded",
    "MissingEntityType",
    "NotLoaded",
    "PartialEntity",
    "QueryError",
    "RequestError",
    "ServerFault",
    "ServiceError",
    "SeveralItems",
    "StaleEntity",
    "TableNotFound",
    "TablekitError",
    "Throttled",
    "TransactionCancelled",
    "TransactionConflict",
    "TransactionInProgress",
    "UniqueViolation",
    "UnknownEntityType",
    "ValidationFailed",
    "VersionConflict",
    "WriteOutcomeUnknown",
    "WrongEntityType",
]


class TablekitError(Exception):
    """The base of every error that tablekit raises on purpose.

    Attributes:
        history: the attempts of the request that failed, when one was sent.
    """

    history: tuple[Attempt, ...] = ()
    anchor: ClassVar[str] = "tablekit-error"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.anchor = "".join("-" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("-")

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # The initialisers take keywords; the base class would call them with the message alone.
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[TablekitError], args: tuple[Any, ...], state: dict[str, Any]) -> TablekitError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class DefinitionError(TablekitError, TypeError):
    """A class, a table, an index or a key template is wrong; raised when the class is made.

    Attributes:
        owner: the name of the class or table.
        field: the field concerned, when there is one.
    """

    def __init__(self, message: str, *, owner: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.owner = owner
        self.field = field


class RequestError(TablekitError, ValueError):
    """A call was refused before anything was sent."""


class KeyPartError(RequestError):
    """A part of a key is missing, empty, or holds what would make two keys equal.

    Attributes:
        entity: the class's name. template: the key template. part: the name of the field.
    """

    def __init__(self, message: str, *, entity: str = "", template: str = "", part: str = "") -> None:
        super().__init__(message)
        self.entity = entity
        self.template = template
        self.part = part


class EncodeError(RequestError):
    """A value is not of the field's type, or is one that DynamoDB cannot store.

    Attributes:
        entity: the class's name. field: the field. path: where inside the value, such as ``[2].price``.
    """

    def __init__(self, message: str, *, entity: str = "", field: str = "", path: str = "") -> None:
        super().__init__(message)
        self.entity = entity
        self.field = field
        self.path = path


class ExpressionError(RequestError):
    """A condition, an update or a projection that DynamoDB would refuse.

    Attributes:
        paths: the document paths concerned, as the caller wrote them.
    """

    def __init__(self, message: str, *, paths: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.paths = tuple(paths)


class KeyChanged(RequestError):
    """A field that makes up the primary key was given another value.

    Attributes:
        entity: the class's name. field: the field.
    """

    def __init__(self, message: str, *, entity: str = "", field: str = "") -> None:
        super().__init__(message)
        self.entity = entity
        self.field = field


class LimitExceeded(RequestError):
    """A size or a count is over a limit of DynamoDB.

    Attributes:
        limit: the limit. actual: what the request has, in the limit's unit.
    """

    def __init__(self, message: str, *, limit: int = 0, actual: int = 0) -> None:
        super().__init__(message)
        self.limit = limit
        self.actual = actual


class QueryError(RequestError):
    """A query that DynamoDB cannot answer as it is asked."""


class CursorError(RequestError):
    """A cursor is cut, altered, expired, or belongs to another query."""


class PartialEntity(RequestError):
    """A partially loaded entity was to be written as a whole, which would erase what was not loaded.

    Attributes:
        entity: the class's name. missing: the fields that were not loaded.
    """

    def __init__(self, message: str, *, entity: str = "", missing: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.entity = entity
        self.missing = tuple(missing)


class DataError(TablekitError):
    """A stored row is not what was asked for.

    Attributes:
        pk: the row's partition key. sk: its sort key, or None in a table without one.
    """

    def __init__(self, message: str, *, pk: Any = None, sk: Any = None) -> None:
        super().__init__(message)
        self.pk = pk
        self.sk = sk


class UnknownEntityType(DataError):
    """A row's type is not the type or an alias of any registered class.

    Attributes:
        found: the stored type. known: the registered types.
    """

    def __init__(
        self, message: str, *, found: str = "", known: Sequence[str] = (), pk: Any = None, sk: Any = None
    ) -> None:
        super().__init__(message, pk=pk, sk=sk)
        self.found = found
        self.known = tuple(known)


class MissingEntityType(DataError):
    """A row has no type attribute, and the untyped policy is to raise."""


class WrongEntityType(DataError):
    """A row belongs to another class than the one it was read or written through.

    Attributes:
        expected: the types of the class. found: the stored type, or None where there is none.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: Sequence[str] = (),
        found: str | None = None,
        pk: Any = None,
        sk: Any = None,
    ) -> None:
        super().__init__(message, pk=pk, sk=sk)
        self.expected = tuple(expected)
        self.found = found


class DecodeError(DataError):
    """A stored attribute is not what its field can read.

    Attributes:
        entity: the class's name. field: the field. attribute: the stored attribute's name.
    """

    def __init__(
        self,
        message: str,
        *,
        entity: str = "",
        field: str = "",
        attribute: str = "",
        pk: Any = None,
        sk: Any = None,
    ) -> None:
        super().__init__(message, pk=pk, sk=sk)
        self.entity = entity
        self.field = field
        self.attribute = attribute


class InvalidStreamRecord(DataError):
    """What was given as a stream's event or record does not have the shape of one, or is of another table.

    Attributes:
        event_id: the record's event id. sequence_number: its place in the stream. Both are None where it has none.
    """

    def __init__(self, message: str, *, event_id: str | None = None, sequence_number: str | None = None) -> None:
        super().__init__(message)
        self.event_id = event_id
        self.sequence_number = sequence_number


class NotLoaded(TablekitError):
    """A field of a partially loaded entity was touched that the read did not bring.

    It is no AttributeError, so that ``getattr(doc, "body", None)`` does not hide it.

    Attributes:
        entity: the class's name. field: the field.
    """

    def __init__(self, message: str, *, entity: str = "", field: str = "") -> None:
        super().__init__(message)
        self.entity = entity
        self.field = field


class ItemNotFound(TablekitError, LookupError):
    """There is no row under the key.

    Attributes:
        entity: the class's name. pk, sk: the key.
    """

    def __init__(self, message: str, *, entity: str = "", pk: Any = None, sk: Any = None) -> None:
        super().__init__(message)
        self.entity = entity
        self.pk = pk
        self.sk = sk


class SeveralItems(TablekitError, LookupError):
    """There are several items where exactly one was asked for."""


class ConditionFailed(TablekitError):
    """A condition of a write did not hold.

    Attributes:
        entity: the class's name. pk, sk: the key. item: the stored row in DynamoDB JSON, or None when
            there is none or DynamoDB did not send it. stored: the same as an entity, when it decodes.
    """

    def __init__(
        self,
        message: str,
        *,
        entity: str = "",
        pk: Any = None,
        sk: Any = None,
        item: Item | None = None,
        stored: Any = None,
    ) -> None:
        super().__init__(message)
        self.entity = entity
        self.pk = pk
        self.sk = sk
        self.item = item
        self.stored = stored


class ItemExists(ConditionFailed):
    """A row to be created is there already."""


class VersionConflict(ConditionFailed):
    """Another writer changed the row first: its version is not the one that was loaded.

    Attributes:
        expected: the version that was loaded. found: the stored version.
    """

    expected: int | None = None
    found: int | None = None


class StaleEntity(ConditionFailed):
    """A loaded value that the write relied on has changed in the table.

    Attributes:
        fields: the fields whose loaded values were pinned in the condition.
    """

    fields: tuple[str, ...] = ()


class UniqueViolation(ConditionFailed):
    """A unique value already belongs to another row.

    Attributes:
        fields: the unique field, or the fields of a compound. owner: the key of the row that holds it.
    """

    fields: tuple[str, ...] = ()
    owner: tuple[Any, Any] | None = None


class CancellationReason:
    """Why one action of a cancelled transaction failed.

    Attributes:
        index: the action's place, from 0, in the caller's order.
        code: DynamoDB's code, such as ``"ConditionalCheckFailed"``; None when this action was fine.
        entity: the class's name. pk, sk: the key. item: the stored row when DynamoDB sent it.
        error: what the same single write would have raised; None when this action was fine.
    """

    __slots__ = ("code", "entity", "error", "index", "item", "pk", "sk")

    def __init__(
        self,
        index: int,
        code: str | None,
        *,
        entity: str = "",
        pk: Any = None,
        sk: Any = None,
        item: Item | None = None,
        error: TablekitError | None = None,
    ) -> None:
        self.index = index
        self.code = code
        self.entity = entity
        self.pk = pk
        self.sk = sk
        self.item = item
        self.error = error

    def __repr__(self) -> str:
        return (
            f"CancellationReason({self.index}, {self.code!r}, entity={self.entity!r}, pk={self.pk!r}, sk={self.sk!r})"
        )


class TransactionCancelled(TablekitError):
    """A transaction was cancelled and nothing of it was applied.

    Attributes:
        reasons: one `CancellationReason` for each action, in the caller's order.
    """

    def __init__(self, message: str, *, reasons: Sequence[CancellationReason] = ()) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)

    @property
    def failed(self) -> tuple[CancellationReason, ...]:
        """The reasons of the actions that failed."""
        return tuple(reason for reason in self.reasons if reason.code is not None)


class BatchIncomplete(TablekitError):
    """Part of a batch was not processed within the retries, or an error ended it.

    Attributes:
        unprocessed: what is left: for writes entities and keys as they were given, for reads keys.
        errors: for each of `unprocessed`, in its order, the error that kept it back; None where DynamoDB did not get
            round to it, or it was not tried.
        unknown: writes that were sent and whose answer was lost.
    """

    def __init__(
        self,
        message: str,
        *,
        unprocessed: Sequence[Any] = (),
        unknown: Sequence[Any] = (),
        errors: Sequence[TablekitError | None] = (),
    ) -> None:
        super().__init__(message)
        self.unprocessed = tuple(unprocessed)
        self.errors = tuple(errors) or (None,) * len(self.unprocessed)
        self.unknown = tuple(unknown)


class WriteOutcomeUnknown(TablekitError):
    """A write was sent, its answer was lost, and nothing shows whether it was applied.

    Read the row again before you decide; the next write should be conditional on what you read.

    Attributes:
        operation: DynamoDB's operation. entity, pk, sk: the row. marker: the write marker that was sent,
            or None. token: the client request token of a transaction, or None. matches: whether the row
            now equals what was written (a rival may have written the same). history: the attempts.
    """

    def __init__(
        self,
        message: str,
        *,
        operation: str = "",
        entity: str = "",
        pk: Any = None,
        sk: Any = None,
        marker: str | None = None,
        token: str | None = None,
        matches: bool | None = None,
        history: Sequence[Attempt] = (),
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.entity = entity
        self.pk = pk
        self.sk = sk
        self.marker = marker
        self.token = token
        self.matches = matches
        self.history = tuple(history)


class ServiceError(TablekitError):
    """DynamoDB, or the way to it, refused or failed.

    Attributes:
        code: DynamoDB's error code, or the name of the network error. operation: DynamoDB's operation.
        status: the HTTP status, or None. request_id: AWS's request id, or None. response: the parsed
            error body, with the modelled fields (``Item``, ``CancellationReasons``).
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        operation: str = "",
        status: int | None = None,
        request_id: str | None = None,
        response: Mapping[str, Any] | None = None,
        history: Sequence[Attempt] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.operation = operation
        self.status = status
        self.request_id = request_id
        self.response: Mapping[str, Any] = response if response is not None else {}
        self.history = tuple(history)


class Throttled(ServiceError):
    """Too many requests or units for the table, the index, the account, or one partition."""


class AccessDenied(ServiceError):
    """The credentials are missing, expired, or may not do this."""


class TableNotFound(ServiceError):
    """There is no such table or index, or it is not active yet."""


class ValidationFailed(ServiceError):
    """DynamoDB refused the request's form."""


class TransactionConflict(ServiceError):
    """Another transaction is working on the item."""


class TransactionInProgress(ServiceError):
    """A transaction with the same token is still being worked on."""


class IdempotencyMismatch(ServiceError):
    """A client token was used before, with another request."""


class ServerFault(ServiceError):
    """DynamoDB answered with a 5xx status; a write may have been applied."""


class ConnectionFailed(ServiceError):
    """There was no answer: the connection could not be made, was reset, or timed out."""


class DeadlineExceeded(ServiceError, TimeoutError):
    """The time of ``app.deadline(seconds=...)`` was over before there was an answer.

    Without a history nothing was sent. A write that was under way raises `WriteOutcomeUnknown`, caused by this one.
    """


class InvalidResponse(ServiceError):
    """The answer was not DynamoDB's: a proxy's page, or a body that is cut."""
