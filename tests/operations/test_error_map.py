"""Every error of the libraries below becomes one of tablekit's, by its code or class."""

from __future__ import annotations

import inspect

import botocore.exceptions
import botocore.parsers
import pynamodb.exceptions
import pytest

from tablekit import errors
from tablekit._types import Attempt
from tablekit.operations.errors_map import CLASSES, CODES, attach_history, is_transport_error, map_error
from tests.support.validation import service_model

BOTOCORE = [
    cls
    for _, cls in inspect.getmembers(botocore.exceptions, inspect.isclass)
    if issubclass(cls, Exception)
    and not issubclass(cls, Warning)
    and cls.__module__ == "botocore.exceptions"
    and cls is not botocore.exceptions.BotoCoreError
]
PYNAMODB = [
    cls
    for _, cls in inspect.getmembers(pynamodb.exceptions, inspect.isclass)
    if issubclass(cls, pynamodb.exceptions.PynamoDBException)
]


def answered(code, status=400, message="said", **fields):
    """Botocore's error for an answer of DynamoDB."""
    response = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "r-1"},
        **fields,
    }
    return botocore.exceptions.ClientError(response, "PutItem")


def blank(cls):
    """An instance without its arguments: classes are told apart by name alone."""
    return cls.__new__(cls)


@pytest.mark.parametrize("cls", BOTOCORE, ids=lambda cls: cls.__name__)
def test_every_exception_of_botocore_has_an_entry(cls):
    """A class of botocore, or a nearer base than BotoCoreError, stands in the table."""
    assert any(base.__name__ in CLASSES for base in cls.__mro__), f"{cls.__name__} is not decided on"
    error = map_error(blank(cls), "GetItem")
    assert isinstance(error, errors.ServiceError)
    assert (error.code, error.operation) == (cls.__name__, "GetItem")


@pytest.mark.parametrize("cls", PYNAMODB, ids=lambda cls: cls.__name__)
def test_an_exception_of_pynamodb_is_mapped_by_the_answer_behind_it(cls):
    """Pynamodb's wrappers keep botocore's error as their cause, whose code decides."""
    error = blank(cls)
    error.cause = answered("ThrottlingException")
    assert isinstance(map_error(error, "PutItem"), errors.Throttled)


def test_every_error_code_of_the_service_model_has_an_entry():
    """Each code that botocore's model of DynamoDB knows stands in the table."""
    model = service_model()
    codes = {shape.error_code for name in model.operation_names for shape in model.operation_model(name).error_shapes}
    assert codes
    assert codes <= CODES.keys(), f"not decided on: {sorted(codes - CODES.keys())}"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingException", errors.Throttled),
        ("ProvisionedThroughputExceededException", errors.Throttled),
        ("AccessDeniedException", errors.AccessDenied),
        ("ExpiredTokenException", errors.AccessDenied),
        ("ResourceNotFoundException", errors.TableNotFound),
        ("ValidationException", errors.ValidationFailed),
        ("TransactionConflictException", errors.TransactionConflict),
        ("TransactionInProgressException", errors.TransactionInProgress),
        ("IdempotentParameterMismatchException", errors.IdempotencyMismatch),
        ("ConditionalCheckFailedException", errors.ServiceError),
        ("TransactionCanceledException", errors.ServiceError),
        ("NeverHeardOfException", errors.ServiceError),
    ],
)
@pytest.mark.parametrize("message", ["said", "ThrottlingException AccessDenied", ""])
def test_a_code_decides_and_the_wording_does_not(code, kind, message):
    """The same code with any message becomes the same error."""
    error = map_error(answered(code, message=message), "PutItem", [Attempt("refused", code)])
    assert type(error) is kind
    assert (error.code, error.status, error.request_id) == (code, 400, "r-1")
    assert error.history == (Attempt("refused", code),)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("InternalServerError", 500, errors.ServerFault),
        ("NeverHeardOfException", 503, errors.ServerFault),
        ("502", 502, errors.ServerFault),
        ("403", 403, errors.InvalidResponse),
        ("", 302, errors.InvalidResponse),
    ],
)
def test_an_unknown_code_is_judged_by_its_status(code, status, kind):
    """A 5xx is a fault of the server's; an answer without a code is not DynamoDB's."""
    assert type(map_error(answered(code, status), "GetItem")) is kind


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        ("EndpointConnectionError", errors.ConnectionFailed),
        ("ReadTimeoutError", errors.ConnectionFailed),
        ("ConnectTimeoutError", errors.ConnectionFailed),
        ("ConnectionClosedError", errors.ConnectionFailed),
        ("SSLError", errors.ConnectionFailed),
        ("NoCredentialsError", errors.AccessDenied),
        ("SSOTokenLoadError", errors.AccessDenied),
        ("ParamValidationError", errors.ValidationFailed),
        ("CapacityNotAvailableError", errors.Throttled),
        ("NoRegionError", errors.ServiceError),
    ],
)
def test_a_network_or_set_up_error_is_mapped_by_its_class(cls, kind):
    """What happens on this side of DynamoDB has an error of its own kind."""
    assert type(map_error(blank(getattr(botocore.exceptions, cls)), "GetItem")) is kind


def test_a_parser_error_is_an_invalid_response():
    """What botocore cannot parse is not DynamoDB's."""
    assert type(map_error(botocore.parsers.ResponseParserError("x"), "GetItem")) is errors.InvalidResponse


@pytest.mark.parametrize(
    "message",
    [
        "1 validation error detected: Value 'sesame' at 'key.sk' failed to satisfy constraint",
        "The parameter cannot be converted to a numeric value: sesame",
        "lower bound operand: AttributeValue: {S:sesame}, upper bound operand: AttributeValue: {S:sesame}",
        "One or more parameter values were invalid: Input collection [sesame, sesame] contains duplicates.",
    ],
)
def test_a_value_that_dynamodb_quotes_is_not_printed(message):
    """The text leaves values out, and the response keeps DynamoDB's own words."""
    error = map_error(answered("ValidationException", message=message), "PutItem")
    assert "sesame" not in str(error)
    assert error.response["Error"]["Message"] == message


def test_the_message_says_what_where_and_what_to_do():
    """Operation, table, code, number of attempts, DynamoDB's words and a remedy are in the text."""
    history = [Attempt("refused", "ThrottlingException")] * 4
    error = map_error(answered("ThrottlingException", message="Rate exceeded."), "PutItem", history, "orders")
    assert str(error) == (
        "PutItem on table 'orders' was throttled after 4 attempts (ThrottlingException). Rate exceeded. "
        "Send less at once, raise the table's capacity, or spread the load over more partition keys."
    )


def test_a_tablekit_error_keeps_its_class_and_gets_the_history():
    """What is mapped already is not mapped again."""
    error = errors.Throttled("once")
    assert map_error(error, "GetItem", [Attempt("refused")]) is error
    assert error.history == (Attempt("refused"),)


def test_an_exception_that_takes_no_attributes_is_left_alone():
    """A history that cannot be attached does not replace the exception."""

    class Closed(BaseException):
        def __setattr__(self, name, value):
            raise AttributeError(name)

    attach_history(Closed(), [Attempt("maybe")])


@pytest.mark.parametrize(("error", "ours"), [(ValueError("x"), False), (answered("x"), True)])
def test_only_the_libraries_errors_are_mapped(error, ours):
    """An error of somebody's own code in a hook stays what it is."""
    assert is_transport_error(error) is ours
