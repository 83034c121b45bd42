"""Entities of many kinds in one DynamoDB table.

Importing this package has no side effect: pynamodb and botocore are imported with the first request.
"""

from __future__ import annotations

from tablekit.api.batch import AioBatch, Batch
from tablekit.api.entity import Entity
from tablekit.api.index import BoundIndex, index_key
from tablekit.api.keys import Key
from tablekit.api.query import Grouped, Page, Query
from tablekit.api.streams import StreamChange, StreamRouter
from tablekit.api.table import Table
from tablekit.api.transaction import AioTransaction, Transaction
from tablekit.codecs.base import Codec
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import register_codec
from tablekit.definition.fields import Field, created_at, field, ttl, unique, updated_at, version
from tablekit.definition.indexes import GlobalIndex, LocalIndex
from tablekit.definition.registry import KeyOverlapWarning, ProjectionWarning
from tablekit.errors import (
    AccessDenied,
    BatchIncomplete,
    CancellationReason,
    ConditionFailed,
    ConnectionFailed,
    CursorError,
    DataError,
    DeadlineExceeded,
    DecodeError,
    DefinitionError,
    EncodeError,
    ExpressionError,
    IdempotencyMismatch,
    InvalidResponse,
    InvalidStreamRecord,
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
    SeveralItems,
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
from tablekit.operations.estimates import Alternative, Estimate, WriteEstimate
from tablekit.operations.explain import Explanation
from tablekit.operations.observe import DryRun, Meter, Observation, PlannedRequest
from tablekit.operations.scan import ScanProgress
from tablekit.operations.session import Capabilities
from tablekit.patterns.counter import ShardedCounter
from tablekit.patterns.singleton import Singleton

__all__ = [
    "AccessDenied",
    "AioBatch",
    "AioTransaction",
    "Alternative",
    "Batch",
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
    "DeadlineExceeded",
    "DecodeError",
    "DefinitionError",
    "DryRun",
    "EncodeError",
    "Entity",
    "Estimate",
    "Explanation",
    "ExpressionError",
    "Field",
    "GlobalIndex",
    "Grouped",
    "IdempotencyMismatch",
    "InvalidResponse",
    "InvalidStreamRecord",
    "ItemExists",
    "ItemNotFound",
    "Key",
    "KeyChanged",
    "KeyOverlapWarning",
    "KeyPartError",
    "LimitExceeded",
    "LocalIndex",
    "Meter",
    "MissingEntityType",
    "NotLoaded",
    "Observation",
    "Page",
    "PartialEntity",
    "PlannedRequest",
    "ProjectionWarning",
    "Query",
    "QueryError",
    "RawItem",
    "RequestError",
    "ScanProgress",
    "ServerFault",
    "ServiceError",
    "SeveralItems",
    "ShardedCounter",
    "Singleton",
    "StaleEntity",
    "StreamChange",
    "StreamRouter",
    "Table",
    "TableNotFound",
    "TablekitError",
    "Throttled",
    "Transaction",
    "TransactionCancelled",
    "TransactionConflict",
    "TransactionInProgress",
    "UniqueViolation",
    "UnknownEntityType",
    "ValidationFailed",
    "VersionConflict",
    "WriteEstimate",
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
