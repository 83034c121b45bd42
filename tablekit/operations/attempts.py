"""The history of a call: what became of each attempt that botocore made.

botocore retries by itself, so one call may be several attempts, and a write whose answer was lost may have
been applied by an attempt that looks failed. Two public events tell: ``before-send`` comes when a request is
about to be given to the network and ``response-received`` when its answer is in. Between the two an attempt is
*maybe*; an interrupt or a cancelled task leaves it there. Both botocore and aiobotocore emit them, and the
state of a call stands in a ``ContextVar``, so that the same handlers serve threads and tasks.

AWS on retried writes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Final, Literal

from tablekit._types import Attempt
from tablekit.operations.deadline import current_deadline, overdue
from tablekit.wire.response import FAST_OPERATIONS, body_problem, is_dynamodb, parse_body

__all__ = ["CURRENT", "ONCE", "Call", "Outcome", "classify_answer", "classify_exception", "register"]

Outcome = Literal["applied", "refused", "maybe"]
"""What became of an attempt; see `tablekit._types.Attempt`."""

# After DynamoDB's own 200 these are never sent again: the write has happened, and a second ADD would count
# twice. BatchWriteItem is not among them, since its body says what is left to do.
ONCE: Final = frozenset({"DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
"""Operations that are not repeated after a 200."""

# DynamoDB's 4xx answers that leave it open whether the write was, or will be, applied.
_OPEN_CODES: Final = frozenset(
    {
        "PriorRequestNotComplete",
        "RequestTimeout",
        "RequestTimeoutException",
        "TransactionInProgressException",
        "408",
    }
)

# What the HTTP libraries raise before a connection stands, as the reason of an EndpointConnectionError.
# aiobotocore gives that error also for a connection that is reset in the middle of an answer.
_NOT_CONNECTED: Final = frozenset(
    {
        "ClientConnectorCertificateError",
        "ClientConnectorDNSError",
        "ClientConnectorError",
        "ClientConnectorSSLError",
        "ConnectError",
        "ConnectTimeoutError",
        "ConnectionRefusedError",
        "NameResolutionError",
        "NewConnectionError",
        "gaierror",
    }
)


class Call:
    """One call of the transport and its attempts so far.

    Parameters:
        operation: DynamoDB's operation. fast: whether answers are read by `tablekit.wire.response`.

    Attributes:
        attempts: the attempts, in order. problem: why the body of the last 200 is unusable, or ``""``.
    """

    __slots__ = ("_checked", "attempts", "deadline", "fast", "operation", "problem")

    def __init__(self, operation: str, *, fast: bool = True) -> None:
        self.operation = operation
        self.fast = fast and operation in FAST_OPERATIONS
        self.attempts: list[Attempt] = []
        self.deadline = current_deadline()
        self.problem = ""
        self._checked = False

    def open(self) -> None:
        """An attempt is being given to the network. Raises `DeadlineExceeded` when it comes too late."""
        if self.deadline is not None and self.deadline.left() <= 0:
            raise overdue(self.operation, "", self.attempts)
        self.attempts.append(Attempt("maybe", "Sent"))
        self.problem = ""
        self._checked = False

    def close(self, outcome: Outcome, reason: str) -> None:
        """The last attempt has ended."""
        if not self.attempts:  # it failed before it was handed over
            self.attempts.append(Attempt(outcome, reason))
        self.attempts[-1].outcome = outcome
        self.attempts[-1].reason = reason

    def read(self, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        """The parsed body of a 2xx answer; ``{}`` with `problem` set when it is unusable. Never raises.

        An exception out of botocore's hook would skip ``response-received`` and be retried.
        """
        self._checked = True
        self.problem = "" if is_dynamodb(headers) else "NotDynamoDB"
        if self.problem:
            return {}
        self.problem = body_problem(headers, body)
        if self.problem or (not body and self.operation not in FAST_OPERATIONS):
            return {}  # TagResource and its like answer with nothing
        try:
            return parse_body(body)
        except ValueError:
            self.problem = "UnreadableBody"
            return {}

    def check(self, headers: Mapping[str, str], body: bytes) -> None:
        """Look at a 2xx answer that botocore parsed by itself."""
        if not self._checked:
            self.read(headers, body)


CURRENT: ContextVar[Call | None] = ContextVar("tablekit_call", default=None)
"""The call that this thread or task is making."""


def register(events: Any) -> None:
    """Listen to a client's events.

    Parameters:
        events: the event emitter of a botocore or aiobotocore DynamoDB client, ``client.meta.events``.
    """
    # Last, so that a handler of the user that fails first leaves no attempt that was never sent.
    events.register_last("before-send.dynamodb", _before_send)
    events.register_last("before-parse.dynamodb", _before_parse)
    events.register_first("response-received.dynamodb", _response_received)
    events.register_first("needs-retry.dynamodb", _needs_retry)


def classify_answer(status: int, code: str, *, genuine: bool) -> tuple[Outcome, str]:
    """What an answer says about its attempt, and a word for it.

    Parameters:
        status: the HTTP status. code: the error code, or ``""``. genuine: whether the content type is
            DynamoDB's.
    """
    if status == HTTPStatus.OK and genuine:
        # Also when the body is unreadable: the status alone says that the write was applied.
        return "applied", "200"
    refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if refused and status != HTTPStatus.REQUEST_TIMEOUT and code not in _OPEN_CODES:
        return "refused", code or str(status)
    return "maybe", code or str(status)


def classify_exception(error: BaseException) -> tuple[Outcome, str]:
    """What a network error says about its attempt, and a word for it.

    Only errors that come before the request can have left are *refused*; everything else is *maybe*.
    """
    name = type(error).__name__
    if name in ("ConnectTimeoutError", "ProxyConnectionError"):
        return "refused", name
    if name == "EndpointConnectionError":
        inner = _inner(error)
        connected = inner is not None and type(inner).__name__ not in _NOT_CONNECTED
        return ("maybe" if connected else "refused"), name
    if name == "SSLError" and _is_certificate_error(error):
        return "refused", name
    return "maybe", name


def _inner(error: BaseException) -> BaseException | None:
    given = getattr(error, "kwargs", {}).get("error")
    return given if isinstance(given, BaseException) else None


def _is_certificate_error(error: BaseException) -> bool:
    # A TLS error may also come while the answer is read; only a refused certificate proves that nothing left.
    seen: BaseException | None = error
    for _ in range(6):
        if seen is None:
            return False
        if type(seen).__name__ == "SSLCertVerificationError":
            return True
        nested = next((arg for arg in seen.args if isinstance(arg, BaseException)), None)
        seen = _inner(seen) or nested or seen.__cause__ or seen.__context__
    return False


def _call(event_name: str) -> Call | None:
    # Endpoint discovery sends requests of its own in the middle of a call.
    call = CURRENT.get()
    return call if call is not None and event_name.endswith("." + call.operation) else None


def _before_send(event_name: str, **_: Any) -> None:
    call = _call(event_name)
    if call is not None:
        call.open()


def _before_parse(
    event_name: str, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    call = _call(event_name)
    if call is not None and call.fast and _is_success(response_dict["status_code"]):
        customized_response_dict.update(call.read(response_dict["headers"], response_dict["body"]))
        response_dict["body"] = b""  # botocore's own walk finds nothing to do


def _response_received(
    event_name: str,
    response_dict: dict[str, Any] | None,
    parsed_response: dict[str, Any] | None,
    exception: BaseException | None,
    **_: Any,
) -> None:
    call = _call(event_name)
    if call is None:
        return
    if response_dict is None:
        call.close(*_outcome_of_exception(call, exception))
        return
    status, headers = response_dict["status_code"], response_dict["headers"]
    if _is_success(status):
        call.check(headers, response_dict["body"])
    code = str((parsed_response or {}).get("Error", {}).get("Code", ""))
    outcome, reason = classify_answer(status, code, genuine=is_dynamodb(headers))
    call.close(outcome, call.problem or reason)


def _is_success(status: int) -> bool:
    # botocore raises no error below this, and would return an empty answer.
    return status < HTTPStatus.MULTIPLE_CHOICES


def _outcome_of_exception(call: Call, exception: BaseException | None) -> tuple[Outcome, str]:
    if exception is None:
        return "maybe", "Unknown"
    outcome, reason = classify_exception(exception)
    if not call.attempts or call.attempts[-1].reason != "Sent":
        return "refused", reason  # another handler failed before this attempt was opened
    return outcome, reason


def _needs_retry(event_name: str, response: Any = None, **_: Any) -> None:
    """Let botocore repeat what it will, but no write that was answered with 200: it would for a bad checksum.

    Taking the checksum away is understood by every botocore. ``False`` is not: up to some release after 1.36 it is a
    pause of no seconds, and the write would be sent again and again.
    """
    call = _call(event_name)
    if call is None or call.operation not in ONCE or response is None:
        return
    if call.attempts and call.attempts[-1].outcome == "applied":
        response[0].headers.pop("x-amz-crc32", None)
