"""Turn what botocore and pynamodb raise into tablekit's errors, in one place.

Errors are told apart by code and by class, never by their wording, which differs by region and date. Classes
are known by name, so that nothing of botocore is imported here and aiobotocore's errors map alike.

Codes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from tablekit._types import Attempt
from tablekit.errors import (
    AccessDenied,
    ConnectionFailed,
    IdempotencyMismatch,
    InvalidResponse,
    ServerFault,
    ServiceError,
    TablekitError,
    TableNotFound,
    Throttled,
    TransactionConflict,
    TransactionInProgress,
    ValidationFailed,
)
from tablekit.wire.requests import on_tables
from tablekit.wire.shape import with_sound_items

__all__ = [
    "CLASSES",
    "CODES",
    "attach_history",
    "error_of_response",
    "invalid_response",
    "is_transport_error",
    "map_error",
    "no_credentials",
]

_Kind = type[ServiceError]

_BY_CODE: Final[Mapping[_Kind, str]] = {
    Throttled: """ProvisionedThroughputExceededException RequestLimitExceeded ThrottlingException Throttling
        ThrottledException RequestThrottled RequestThrottledException TooManyRequestsException SlowDown
        BandwidthLimitExceeded EC2ThrottledException RequestThrottledError 429""",
    AccessDenied: """AccessDenied AccessDeniedException ExpiredToken ExpiredTokenException
        IncompleteSignature IncompleteSignatureException InvalidClientTokenId InvalidSignatureException
        MissingAuthenticationToken MissingAuthenticationTokenException NotAuthorized OptInRequired
        SignatureDoesNotMatch UnrecognizedClientException""",
    TableNotFound: "IndexNotFoundException ResourceNotFoundException TableNotFoundException",
    ValidationFailed: """InvalidAction InvalidEndpointException InvalidParameterCombination
        InvalidParameterValue InvalidQueryParameter ItemCollectionSizeLimitExceededException
        MalformedQueryString MissingAction MissingParameter SerializationException UnknownOperationException
        ValidationError ValidationException""",
    TransactionConflict: "ReplicatedWriteConflictException TransactionConflictException",
    TransactionInProgress: "TransactionInProgressException",
    IdempotencyMismatch: "IdempotentParameterMismatchException",
    ServerFault: """InternalError InternalFailure InternalServerError InternalServiceError
        ServiceUnavailable ServiceUnavailableException""",
    ConnectionFailed: "408 PriorRequestNotComplete RequestTimeout RequestTimeoutException",
    # Answers to particular operations, which the operation itself understands by their code.
    ServiceError: """BackupInUseException BackupNotFoundException ConditionalCheckFailedException
        ContinuousBackupsUnavailableException DuplicateItemException ExportConflictException
        ExportNotFoundException GlobalTableAlreadyExistsException GlobalTableNotFoundException
        ImportConflictException ImportNotFoundException InvalidExportTimeException
        InvalidRestoreTimeException LimitExceededException PointInTimeRecoveryUnavailableException
        PolicyNotFoundException ReplicaAlreadyExistsException ReplicaNotFoundException ResourceInUseException
        TableAlreadyExistsException TableInUseException TransactionCanceledException""",
}

CODES: Final[Mapping[str, _Kind]] = {code: kind for kind, codes in _BY_CODE.items() for code in codes.split()}
"""DynamoDB's error codes, and the codes that every AWS service shares, with the error each becomes."""

_BY_CLASS: Final[Mapping[_Kind, str]] = {
    ConnectionFailed: """ConnectionError HTTPClientError IncompleteReadError""",
    Throttled: "CapacityNotAvailableError",
    AccessDenied: """CredentialRetrievalError InvalidIMDSEndpointError InvalidIMDSEndpointModeError LoginError
        MetadataRetrievalError NoAuthTokenError NoCredentialsError PartialCredentialsError ProfileNotFound
        RefreshWithMFAUnsupportedError SSOError TokenRetrievalError UnknownCredentialError
        UnknownTokenProviderError""",
    InvalidResponse: "ChecksumError EventStreamError FlexibleChecksumError ResponseParserError",
    ValidationFailed: """AwsChunkedWrapperError MissingParametersError ParamValidationError UnknownParameterError
        UnseekableStreamError ValidationError""",
    # The client cannot be set up, or an error of another service's or a waiter's; nothing was sent.
    ServiceError: """ApiVersionNotFoundError BaseEndpointResolverError ClientError
        ConfigNotFound ConfigParseError DataNotFoundError EndpointProviderError InvalidChecksumConfigError
        InvalidConfigError InvalidDNSNameError InvalidDefaultsMode InvalidEndpointConfigurationError
        InvalidEndpointDiscoveryConfigurationError InvalidExpressionError InvalidHostLabelError
        InvalidProxiesConfigError InvalidRegionError InvalidRetryConfigurationError
        InvalidS3AddressingStyleError InvalidS3UsEast1RegionalEndpointConfigError
        InvalidSTSRegionalEndpointsConfigError MD5UnavailableError MissingDependencyException
        OperationNotPageableError PaginationError ServiceNotInRegionError StubResponseError
        UndefinedModelAttributeError UnknownClientMethodError UnknownRegionError UnknownServiceStyle
        UnknownSignatureVersionError
        UnsupportedOutpostResourceError UnsupportedS3AccesspointConfigurationError UnsupportedS3ArnError
        UnsupportedS3ConfigurationError
        UnsupportedS3ControlArnError UnsupportedS3ControlConfigurationError UnsupportedServiceProtocolsError
        UnsupportedSignatureVersionError WaiterConfigError WaiterError""",
}

CLASSES: Final[Mapping[str, _Kind]] = {name: kind for kind, names in _BY_CLASS.items() for name in names.split()}
"""botocore's exception classes by name, with the error each becomes; a subclass goes with its nearest base."""

_REMEDIES: Final[Mapping[_Kind, tuple[str, str]]] = {
    Throttled: (
        "was throttled",
        "Send less at once, raise the table's capacity, or spread the load over more partition keys.",
    ),
    AccessDenied: (
        "was not allowed",
        "Check the credentials (environment, profile, role, or the keys given to connect) and their policy.",
    ),
    TableNotFound: (
        "found no such table or index",
        "Check the table's name, the region and the endpoint, and that the table is active.",
    ),
    ValidationFailed: (
        "was refused as malformed",
        "If tablekit built this request, please report it; explain() shows it.",
    ),
    TransactionConflict: (
        "met another transaction on the same item",
        "Try again, or let fewer writers share the item.",
    ),
    TransactionInProgress: (
        "met its own earlier attempt, still being worked on",
        "Send it again with the same token after a few seconds; do not start a new one.",
    ),
    IdempotencyMismatch: (
        "reused a client token of another request",
        "Use a new token for a new request; a token is good for ten minutes.",
    ),
    ServerFault: ("failed inside DynamoDB", "A read may be repeated; read a row before writing it again."),
    ConnectionFailed: (
        "got no answer",
        "Check the endpoint, the network and the timeouts.",
    ),
    InvalidResponse: (
        "got an answer that cannot be read as DynamoDB's",
        "Look for a proxy, a captive portal or a wrong endpoint_url between here and DynamoDB.",
    ),
    ServiceError: ("failed", "The code says why; response has DynamoDB's own words."),
}

_SETUP_REMEDIES: Final[Mapping[str, str]] = {
    "NoRegionError": "Give region= to connect, or set AWS_REGION or a profile's region.",
    "NoCredentialsError": (
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, use a profile or a role, or give session=, profile= or "
        "aws_access_key_id= to connect. An endpoint on this machine needs none."
    ),
    "ProfileNotFound": "Check the profile's name in AWS's configuration files.",
}

_LONGEST_TEXT: Final = 4_000
"""Characters of an answer's message that are looked through: the search takes the square of them at worst."""

# DynamoDB quotes values in these wordings; the whole text stays in ``response``.
_VALUE_IN_MESSAGE: Final = re.compile(
    r"""(?<=Value\ ')(?:.*?)(?='\ at\ ')
      | (?<=numeric\ value:\ ).*
      | (?<=AttributeValue:\ )\{.*?\}
      | (?<=Input\ collection\ )\[.*?\](?=\ contains)
      | (?<=duplicates:\ ).*""",
    re.VERBOSE | re.DOTALL,
)


def map_error(exc: BaseException, operation: str, history: Sequence[Attempt] = (), table: str = "") -> TablekitError:
    """The tablekit error for an exception out of botocore, aiobotocore or pynamodb.

    Parameters:
        exc: what was raised. operation: DynamoDB's operation. history: the attempts. table: its name.

    A tablekit error comes back as it is, with the history attached. A conditional write that failed and a
    cancelled transaction are plain `ServiceError`; ``code`` and ``response`` (``Item``,
    ``CancellationReasons``, in DynamoDB JSON with bytes decoded) are for the operation to interpret.
    """
    if isinstance(exc, TablekitError):
        attach_history(exc, history)
        return exc
    response = _response(exc)
    if response is not None:
        return error_of_response(response, operation, history, table)
    name = type(exc).__name__
    kind = InvalidResponse if _parsing_failed(exc) else _kind_of_class(type(exc))
    return kind(
        _message(kind, operation, table, name, history=history),
        code=name,
        operation=operation,
        history=history,
    )


def invalid_response(problem: str, operation: str, history: Sequence[Attempt], table: str = "") -> InvalidResponse:
    """The error for a 2xx answer whose body cannot be used.

    Parameters:
        problem: ``"NotDynamoDB"``, ``"ChecksumMismatch"`` or ``"UnreadableBody"``; it becomes the code.

    For a write, the history says whether it was applied: DynamoDB's own 200 is, whatever its body.
    """
    message = _message(InvalidResponse, operation, table, problem, history=history)
    return InvalidResponse(message, code=problem, operation=operation, status=200, history=history)


def no_credentials() -> AccessDenied:
    """The error for a table whose credentials are nowhere to be found."""
    code = "NoCredentialsError"
    return AccessDenied(_message(AccessDenied, "Connect", "", code, history=()), code=code, operation="Connect")


def attach_history(exc: BaseException, history: Sequence[Attempt]) -> None:
    """Set ``history`` on any exception that allows it, such as ``KeyboardInterrupt``."""
    with contextlib.suppress(AttributeError, TypeError):
        exc.history = tuple(history)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]


def is_transport_error(exc: BaseException) -> bool:
    """Whether an exception comes from the libraries that send, and not from somebody's code."""
    roots = {cls.__module__.partition(".")[0] for cls in type(exc).__mro__}
    known = bool(roots & {"aiobotocore", "botocore", "boto3", "pynamodb", "urllib3"})
    return isinstance(exc, TablekitError) or known or _parsing_failed(exc)


def _parsing_failed(exc: BaseException) -> bool:
    """Whether botocore or pynamodb failed over an answer of another shape: with a TypeError, a KeyError, and so on.

    The handlers of users fail elsewhere.
    """
    trace, module = exc.__traceback__, ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        if module == "botocore.parsers" or trace.tb_frame.f_code.co_name == "_add_modeled_error_fields":
            return True
        trace = trace.tb_next
    # pynamodb looks into the reasons of a cancelled transaction by itself.
    return module == "pynamodb.connection.base" and isinstance(exc, (KeyError, TypeError, AttributeError))


def _kind_of_class(cls: type[BaseException]) -> _Kind:
    for base in cls.__mro__:
        kind = CLASSES.get(base.__name__)
        # The built-in ConnectionError shares its name with botocore's and means the same.
        if kind is not None:
            return kind
    return ServiceError


def _response(exc: BaseException) -> Mapping[str, Any] | None:
    """The parsed answer behind an exception.

    pynamodb's errors keep only a part of it; the whole stands on botocore's error that they were raised from.
    """
    seen: BaseException | None = exc
    found: Mapping[str, Any] | None = None
    for _ in range(4):
        response = getattr(seen, "response", None)
        if isinstance(response, Mapping):
            found = response  # pyright: ignore[reportUnknownVariableType]
        cause = getattr(seen, "cause", None) or getattr(seen, "__cause__", None)
        if not isinstance(cause, BaseException):
            break
        seen = cause
    return found if found is not None and found.get("Error") else None


def error_of_response(
    response: Mapping[str, Any], operation: str, history: Sequence[Attempt], table: str = ""
) -> ServiceError:
    """The error for DynamoDB's own error answer, in botocore's parsed shape."""
    response = with_sound_items(response)
    error = response["Error"]
    metadata = response.get("ResponseMetadata", {})
    code, status = str(error.get("Code", "")), metadata.get("HTTPStatusCode")
    kind = _kind_of_code(code, status)
    # A proxy's page is no explanation.
    text = "" if kind is InvalidResponse else str(error.get("Message") or error.get("message") or "")
    headers = metadata.get("HTTPHeaders", {})
    return kind(
        _message(kind, operation, table, code, text, history=history),
        code=code,
        operation=operation,
        status=status,
        request_id=metadata.get("RequestId") or headers.get("x-amzn-requestid"),
        response=response,
        history=history,
    )


def _kind_of_code(code: str, status: int | None) -> _Kind:
    kind = CODES.get(code)
    if kind is not None:
        return kind
    if status is not None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFault
    # botocore puts the HTTP status where a body has no code: the answer is not DynamoDB's.
    return InvalidResponse if code.isdigit() or not code else ServiceError


def _message(kind: _Kind, operation: str, table: str, code: str, text: str = "", *, history: Sequence[Attempt]) -> str:
    what, remedy = _REMEDIES[kind]
    tries = f" after {len(history)} attempts" if len(history) > 1 else ""
    said = f" {_VALUE_IN_MESSAGE.sub('...', text[:_LONGEST_TEXT]).strip().rstrip('.')}." if text else ""
    advice = _SETUP_REMEDIES.get(code, remedy)
    return f"{operation}{on_tables(table)} {what}{tries} ({code}).{said}{_arrival(kind, history)} {advice}"


def _arrival(kind: _Kind, history: Sequence[Attempt]) -> str:
    if kind is not ConnectionFailed or not history:
        return ""
    arrived = any(attempt.outcome != "refused" for attempt in history)
    return " It may have reached DynamoDB." if arrived else " It did not reach DynamoDB."
