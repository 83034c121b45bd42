"""Requests: values that render themselves, each time anew."""

from __future__ import annotations

import pytest

from tablekit.wire.requests import BatchRequest, Request, TransactionRequest

PUT = Request(
    "PutItem",
    {"Item": {"PK": {"S": "a"}}, "ConditionExpression": None, "ReturnConsumedCapacity": "TOTAL"},
    secrets=frozenset({"token"}),
    entity="Doc",
)
BATCH = BatchRequest("BatchGetItem", {"t": {"Keys": [{"PK": {"S": "a"}}]}})
TRANSACTION = TransactionRequest("TransactWriteItems", [{"Put": PUT.part("t")}], token="once")


def test_a_request_leaves_out_what_is_none() -> None:
    """DynamoDB takes no null for a missing expression."""
    assert PUT.to_wire("t") == {
        "TableName": "t",
        "Item": {"PK": {"S": "a"}},
        "ReturnConsumedCapacity": "TOTAL",
    }


@pytest.mark.parametrize("request_", [PUT, BATCH, TRANSACTION], ids=["one", "batch", "transaction"])
def test_a_request_renders_a_fresh_dict(request_: Request | BatchRequest | TransactionRequest) -> None:
    """What a transport adds to one rendering is not in the next."""
    first = request_.to_wire("t")
    before = dict(first)
    first.clear()
    first["Added"] = 1
    assert request_.to_wire("t") == before


def test_a_changed_request_is_another() -> None:
    """`replace` keeps the first as it was, with what it is for."""
    other = PUT.replace(ReturnConsumedCapacity=None, ReturnValues="ALL_OLD")
    assert other.to_wire("t") == {"TableName": "t", "Item": {"PK": {"S": "a"}}, "ReturnValues": "ALL_OLD"}
    assert (other.entity, other.secrets) == ("Doc", frozenset({"token"}))
    assert "ReturnConsumedCapacity" in PUT.to_wire("t")


def test_an_action_of_a_transaction_has_no_return_values_of_its_own() -> None:
    """They belong to the request as a whole."""
    assert PUT.part("t") == {"TableName": "t", "Item": {"PK": {"S": "a"}}}


def test_a_transaction_has_the_same_token_in_every_rendering() -> None:
    """Retries must be byte-identical for DynamoDB to know them again."""
    assert TRANSACTION.to_wire("t") == TRANSACTION.to_wire("t")
    assert TRANSACTION.to_wire("t")["ClientRequestToken"] == "once"


@pytest.mark.parametrize("request_", [PUT, BATCH, TRANSACTION], ids=["one", "batch", "transaction"])
def test_a_request_shows_no_values(request_: Request | BatchRequest | TransactionRequest) -> None:
    """R61: what it carries stays out of logs."""
    assert "'S'" not in repr(request_)
    assert request_.operation in repr(request_)
