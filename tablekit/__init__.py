"""Entities of many kinds in one DynamoDB table.

Importing this package has no side effect: pynamodb and botocore are imported with the first request.
"""

from __future__ import annotations

from tablekit.api.entity import Entity
from tablekit.api.index import BoundIndex, index_key
from tablekit.api.keys import Key
from tablekit.api.query import Grouped, Page, Query
from tablekit.api.table import Table
from tablekit.codecs.base import Codec
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import register_codec
from tablekit.definition.fields import Field, created_at, field, ttl, unique, updated_at, version
from tablekit.definition.indexes import GlobalIndex, LocalIndex
from tablekit.errors import (
    AccessDenied,
    BatchIncomplete,
    CancellationReason,
    ConditionFailed,
    ConnectionFailed,
    CursorError,
    DataError,
    DecodeError,
    DefinitionError,
    EncodeError,
    ExpressionError,
    IdempotencyMismatch,
    InvalidResponse,
    ItemExists,
    ItemNotFound,
    KeyChanged,
    KeyPartError,
    LimitExceeded,
    MissingEntityType,
    NotLoaded,
    PartialEntity,
    QueryError,
    RequestError,
    ServerFault,
    ServiceError,
    StaleEntity,
    TablekitError,
    TableNotFound,
    Throttled,
    TransactionCancelled,
    TransactionConflict,
    TransactionInProgress,
    UniqueViolation,
    UnknownEntityType,
    ValidationFailed,
    VersionConflict,
    WriteOutcomeUnknown,
    WrongEntityType,
)
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.operations.dispatch import RawItem
from tablekit.operations.session import Capabilities

__all__ = [
    "AccessDenied",
    "BatchIncomplete",
    "BoundIndex",
    "CancellationReason",
    "Capabilities",
    "Codec",
    "Column",
    "Condition",
    "ConditionFailed",
    "ConnectionFailed",
    "CursorError",
    "DataError",
    "DecodeError",
    "DefinitionError",
    "EncodeError",
    "Entity",
    "ExpressionError",
    "Field",
    "GlobalIndex",
    "Grouped",
    "IdempotencyMismatch",
    "InvalidResponse",
    "ItemExists",
    "ItemNotFound",
    "Key",
    "KeyChanged",
    "KeyPartError",
    "LimitExceeded",
    "LocalIndex",
    "MissingEntityType",
    "NotLoaded",
    "Page",
    "PartialEntity",
    "Query",
    "QueryError",
    "RawItem",
    "RequestError",
    "ServerFault",
    "ServiceError",
    "StaleEntity",
    "Table",
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
    "created_at",
    "custom_codec",
    "field",
    "index_key",
    "register_codec",
    "ttl",
    "unique",
    "updated_at",
    "version",
]

__version__ = "0.1.0"
