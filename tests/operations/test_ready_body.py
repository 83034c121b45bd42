"""Bodies that botocore does not build: they say the same, and a session's handlers see what they did before."""

from __future__ import annotations

import json

import botocore.session
import pytest

from tablekit.operations.ready_body import encode_body, endpoint_part
from tests.support.calls import Request, put, send
from tests.support.stub import ok

ITEM = {
    "PK": {"S": "k"},
    "raw": {"B": b"\x00\xff"},
    "tags": {"SS": ["a", "é"]},
    "map": {"M": {"x": {"L": [{"N": "1"}]}}},
}
KEY = {"PK": {"S": "k"}}
REQUESTS = [
    Request("PutItem", {"Item": ITEM, "ReturnConsumedCapacity": "TOTAL"}),
    Request("UpdateItem", {"Key": {"PK": {"S": "k"}}, "UpdateExpression": "REMOVE a"}),
    Request("Query", {"KeyConditionExpression": "PK = :pk", "ExpressionAttributeValues": {":pk": {"B": b"k"}}}),
]


class Whole:
    """A request whose tables stand inside."""

    def __init__(self, operation, wire):
        self.operation, self.wire = operation, wire

    def to_wire(self, table_name):
        """The wire dict."""
        return dict(self.wire)


WRITES = {"t": [{"PutRequest": {"Item": ITEM}}], "u": [{"DeleteRequest": {"Key": KEY}}]}
REQUESTS += [
    Whole("BatchWriteItem", {"RequestItems": WRITES}),
    Whole("BatchGetItem", {"RequestItems": {"t": {"Keys": [KEY], "ConsistentRead": True}}}),
    Whole(
        "TransactWriteItems",
        {"ClientRequestToken": "1", "TransactItems": [{"Put": {"TableName": "t", "Item": ITEM}}]},
    ),
    Whole("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "t", "Key": KEY}}]}),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: each.operation)
def test_a_ready_body_says_what_botocore_would_have_said(stub, request_):
    """The same request, built by botocore and by us, reaches DynamoDB alike."""
    stub.always(request_.operation, ok())
    for fast in (True, False):
        send(stub.port(transport="pynamodb", fast_parse=fast), request_)
    ours, theirs = stub.sent(request_.operation)
    assert ours == theirs


def test_the_token_that_botocore_adds_is_in_the_body(stub):
    """A transaction without a token gets botocore's, once for all its attempts."""
    stub.always("TransactWriteItems", ok())
    wire = {"TransactItems": [{"Put": {"TableName": "t", "Item": ITEM}}]}
    send(stub.port(transport="pynamodb"), Whole("TransactWriteItems", wire))
    assert len(stub.sent("TransactWriteItems")[0]["ClientRequestToken"]) == 36


@pytest.fixture
def session():
    """A session of the user's own."""
    made = botocore.session.Session()
    made.set_credentials("a", "b")
    return made


def test_handlers_see_whole_parameters_and_may_change_them(stub, session):
    """A handler of the session adds a member, which is sent."""
    stub.always("PutItem", ok())
    session.register(
        "provide-client-params.dynamodb.PutItem", lambda params, **_: {**params, "ReturnValues": "ALL_OLD"}
    )
    seen = []
    session.register("before-parameter-build", lambda params, **_: seen.append(dict(params)))
    send(stub.port(transport="pynamodb", session=session, region="eu-west-1"), put())
    assert seen[0]["Item"] == {"PK": {"S": "k"}, "text": {"S": "v"}}
    assert stub.sent("PutItem")[0]["ReturnValues"] == "ALL_OLD"


def test_handlers_see_the_whole_body_before_the_call(stub, session):
    """What is about to be signed is there to be looked at."""
    stub.always("PutItem", ok())
    seen = []
    session.register("before-call.dynamodb.PutItem", lambda params, **_: seen.append(json.loads(params["body"])))
    send(stub.port(transport="pynamodb", session=session, region="eu-west-1"), put())
    assert seen[0]["Item"] == {"PK": {"S": "k"}, "text": {"S": "v"}}


def test_a_listener_may_keep_the_wire_form(stub):
    """What it was given is whole after the call, too."""
    stub.always("PutItem", ok())
    port, seen = stub.port(transport="pynamodb"), []
    port.on_request(lambda operation, wire: seen.append(wire))
    send(port, put())
    assert seen[0]["Item"] == {"PK": {"S": "k"}, "text": {"S": "v"}}


@pytest.mark.parametrize(
    ("wire", "part"),
    [
        ({"TableName": "t", "Key": {}}, {"TableName": "t"}),
        ({"RequestItems": {"t": [1], "u": [2]}}, {"RequestItems": {"t": [], "u": []}}),
        ({"RequestItems": {"t": {"Keys": [1]}}}, {"RequestItems": {"t": {}}}),
        (
            {
                "TransactItems": [
                    {"Put": {"TableName": "t"}},
                    {"Put": {"TableName": "t"}},
                    {"Delete": {"TableName": "u"}},
                ]
            },
            {"TransactItems": [{"Put": {"TableName": "t"}}, {"Delete": {"TableName": "u"}}]},
        ),
        ({}, {}),
    ],
)
def test_an_endpoint_is_chosen_by_the_tables_alone(wire, part):
    """Each table stands there once."""
    assert endpoint_part(wire) == part


def test_what_json_cannot_say_is_left_to_botocore():
    """The encoder raises, and the parameters stay as they are."""
    with pytest.raises(TypeError):
        encode_body({"Item": {"PK": {"S": object()}}})
