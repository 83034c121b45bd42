"""The port against real engines."""

from __future__ import annotations

import time

import pytest

from tablekit.errors import ServiceError, TableNotFound, ValidationFailed
from tablekit.operations.transport import Settings, SyncPort
from tests.support.calls import Request, get, history, put, send
from tests.support.transports import TRANSPORTS, make_port

CREATE = Request(
    "CreateTable",
    {
        "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    },
)


@pytest.fixture(params=TRANSPORTS)
def port(request, engine, recorder):
    """A port of the engine by each transport, whose requests are checked."""
    port = make_port(transport=request.param, **engine.connect_options())
    yield port
    port.close()


@pytest.fixture
def table(port, table_name):
    """A table of one string key, ready for use."""
    send(port, CREATE, table_name)
    while send(port, Request("DescribeTable"), table_name).body["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.02)
    return table_name


def test_an_item_comes_back_as_it_was_put(port, table):
    """Binary values inside maps and lists, and an attribute named B, survive the round trip."""
    item = {"PK": {"S": "k"}, "B": {"B": b"\x00\xff"}, "m": {"M": {"BS": {"L": [{"BS": [b"a"]}, {"B": b"b"}]}}}}
    send(port, Request("PutItem", {"Item": item}), table)
    answer = send(port, get(), table)
    assert answer.body["Item"] == item
    assert history(answer.attempts) == ["applied"]


@pytest.mark.parametrize("fast_parse", [True, False])
def test_both_parsers_read_a_page_alike(engine, table, port, fast_parse):
    """A page of binary rows and its cursor are the same by either way."""
    for key in "abc":
        send(port, Request("PutItem", {"Item": {"PK": {"S": key}, "x": {"BS": [b"1", b"2"]}}}), table)
    other = SyncPort(Settings(**engine.connect_options(), fast_parse=fast_parse))
    body = send(other, Request("Scan", {"Limit": 2}), table).body
    assert [row["x"]["BS"] for row in body["Items"]] == [[b"1", b"2"]] * 2
    assert body["LastEvaluatedKey"] == {"PK": body["Items"][-1]["PK"]}
    other.close()


def test_a_failed_create_brings_the_row_that_is_there(port, table):
    """The engine refuses the second create, and sends the stored item where it can."""
    create = put(text="first")
    create.wire |= {
        "ConditionExpression": "attribute_not_exists(PK)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    send(port, create, table)
    with pytest.raises(ServiceError) as caught:
        send(port, create, table)
    assert caught.value.code == "ConditionalCheckFailedException"
    assert caught.value.response.get("Item") in (create.wire["Item"], None)
    assert history(caught.value.history) == ["refused"]


def test_a_missing_table_is_told(port, table_name):
    """The error names the table."""
    with pytest.raises(TableNotFound, match=table_name):
        send(port, get(), table_name)


def test_a_request_that_the_engine_refuses_is_told(port, table):
    """A key of another type is a validation error of the engine's."""
    with pytest.raises(ValidationFailed):
        send(port, Request("GetItem", {"Key": {"PK": {"N": "1"}}}), table)
