"""The history of a call, under botocore's own retries."""

from __future__ import annotations

import socket

import botocore.exceptions
import pytest

from tablekit.errors import ConnectionFailed, InvalidResponse, ServerFault, Throttled
from tablekit.operations.attempts import CURRENT, classify_exception
from tests.support.calls import Request, get, history, put, send
from tests.support.stub import Reply, bad_checksum, closed, cut, error, lost, ok, page, raises, unconnected
from tests.support.transports import TRANSPORT

PER_CALL_HANDLERS = pytest.mark.skipif(
    TRANSPORT == "direct", reason="the direct transport runs botocore's handlers once for a place, not for each call"
)
UPDATE = Request(
    "UpdateItem",
    {
        "Key": {"PK": {"S": "k"}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    },
)


@pytest.mark.parametrize(
    ("first", "outcome"),
    [
        (lost(), "maybe"),
        (closed(), "maybe"),
        (unconnected(), "refused"),
        (error("InternalServerError", 500), "maybe"),
        (error("ServiceUnavailable", 503), "maybe"),
        (page(502), "maybe"),
        (error("ThrottlingException"), "refused"),
        (error("ProvisionedThroughputExceededException"), "refused"),
        (error("TransactionInProgressException"), "maybe"),
        (error("RequestTimeoutException"), "maybe"),
    ],
)
def test_an_attempt_that_is_repeated_keeps_its_outcome(stub, first, outcome):
    """The answer tells of the attempt before it, and calls itself uncertain when that may have been applied."""
    stub.script("PutItem", first, ok())
    answer = send(stub.port(), put())
    assert history(answer.attempts) == [outcome, "applied"]
    assert answer.uncertain is (outcome == "maybe")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (page(), "maybe"),
        (page(302), "maybe"),
        (page(403), "refused"),
        (page(408), "maybe"),
        (cut({"Attributes": {"a": {"S": "x"}}}), "applied"),
        (bad_checksum({}), "applied"),
    ],
)
@pytest.mark.parametrize("fast_parse", [True, False])
def test_an_answer_that_is_no_dynamodb_json_is_an_error(stub, reply, outcome, fast_parse):
    """A page, a cut body and a wrong checksum are no empty answer; the history says what became of the write."""
    stub.script("PutItem", reply)
    with pytest.raises((InvalidResponse, ConnectionFailed)) as caught:
        send(stub.port(max_attempts=1, fast_parse=fast_parse), put())
    assert history(caught.value.history) == [outcome]


@pytest.mark.parametrize("fast_parse", [True, False])
@pytest.mark.parametrize("reply", [page(), cut({"Item": {"a": {"S": "x"}}})])
def test_an_unreadable_answer_to_a_read_is_never_a_missing_row(stub, reply, fast_parse):
    """A get that got a captive portal's page does not say that there is no item."""
    stub.script("GetItem", reply)
    with pytest.raises(InvalidResponse) as caught:
        send(stub.port(fast_parse=fast_parse), get())
    assert caught.value.code in {"NotDynamoDB", "UnreadableBody"}


@pytest.mark.parametrize("fast_parse", [True, False])
def test_a_write_is_not_repeated_after_dynamodbs_own_200(stub, fast_parse):
    """A wrong checksum on the answer to an ADD does not count it twice."""
    stub.always("UpdateItem", bad_checksum({}))
    with pytest.raises(InvalidResponse) as caught:
        send(stub.port(fast_parse=fast_parse), UPDATE)
    assert (history(caught.value.history), len(stub.requests)) == (["applied"], 1)


@pytest.mark.parametrize("fast_parse", [True, False])
def test_an_operation_without_an_output_may_answer_with_nothing(stub, fast_parse):
    """TagResource has no body; only data operations always have one."""
    stub.script("TagResource", Reply(200, b"", {"content-type": "application/x-amz-json-1.0"}))
    request = Request("TagResource", {"ResourceArn": "arn:aws:x", "Tags": [{"Key": "a", "Value": "b"}]})
    request.to_wire = lambda _table: dict(request.wire)
    assert history(send(stub.port(fast_parse=fast_parse), request).attempts) == ["applied"]


def test_a_read_with_a_wrong_checksum_is_repeated(stub):
    """Reading again does no harm."""
    stub.script("GetItem", bad_checksum({}), ok({"Item": {"PK": {"S": "k"}}}))
    assert send(stub.port(), get()).body["Item"] == {"PK": {"S": "k"}}


def test_a_batch_write_with_a_wrong_checksum_is_repeated(stub):
    """Its body says what is left to write, so it has to be read."""
    stub.script("BatchWriteItem", bad_checksum({}), ok({"UnprocessedItems": {}}))
    request = Request("BatchWriteItem", {"RequestItems": {"orders": [{"DeleteRequest": {"Key": {"PK": {"S": "k"}}}}]}})
    request.to_wire = lambda _table: dict(request.wire)
    assert history(send(stub.port(), request).attempts) == ["applied", "applied"]


def test_a_later_throttle_does_not_hide_a_lost_answer(stub):
    """The error is the last one, and its history begins with what may have been applied."""
    stub.script("PutItem", lost(), *[error("ThrottlingException")] * 3)
    with pytest.raises(Throttled) as caught:
        send(stub.port(max_attempts=4), put())
    assert history(caught.value.history) == ["maybe", "refused", "refused", "refused"]


def test_every_answer_lost_is_a_history_of_maybes(stub):
    """Four lost answers are four attempts that may have been applied."""
    stub.always("PutItem", lost())
    with pytest.raises(ConnectionFailed, match="may have reached DynamoDB") as caught:
        send(stub.port(max_attempts=4), put())
    assert history(caught.value.history) == ["maybe"] * 4


def test_a_connection_that_was_never_made_says_so(stub):
    """When no attempt left the machine the error says that nothing arrived."""
    stub.always("PutItem", unconnected())
    with pytest.raises(ConnectionFailed, match="did not reach DynamoDB") as caught:
        send(stub.port(max_attempts=2), put())
    assert history(caught.value.history) == ["refused", "refused"]


def test_ctrl_c_while_sending_stays_itself_with_the_history(stub):
    """An interrupt in the middle of a write leaves its attempt maybe."""
    stub.script("PutItem", error("ThrottlingException"), raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        send(stub.port(), put())
    assert history(caught.value.history) == ["refused", "maybe"]
    assert CURRENT.get() is None


@PER_CALL_HANDLERS
def test_an_error_in_a_users_handler_stays_itself_and_opens_no_attempt(stub):
    """A handler that fails before the request is handed over has sent nothing."""

    def failing(**_):
        raise LookupError("theirs")

    stub.script("PutItem", ok())
    port = stub.port(max_attempts=1)
    port.client.meta.events.register_first("before-send.dynamodb", failing)
    with pytest.raises(LookupError, match="theirs") as caught:
        send(port, put())
    assert history(caught.value.history) == ["refused"]
    assert stub.requests == []


@PER_CALL_HANDLERS
def test_a_request_in_the_middle_of_a_call_is_not_of_its_history(stub):
    """Endpoint discovery, or a user's handler, may send something of its own through the same client."""
    stub.script("PutItem", ok())
    stub.script("DescribeEndpoints", error("InternalServerError", 500), ok({"Endpoints": []}))
    port = stub.port()
    port.client.meta.events.register_last("before-send.dynamodb.PutItem", lambda **_: discover(port.client))
    assert history(send(port, put()).attempts) == ["applied"]
    assert len(stub.sent("DescribeEndpoints")) == 2


def discover(client):
    """A request past tablekit; the handler answers nothing."""
    client.describe_endpoints()


def test_a_5xx_at_the_end_is_a_server_fault(stub):
    """The last attempt's error is the error, with all attempts."""
    stub.always("PutItem", error("InternalServerError", 500))
    with pytest.raises(ServerFault) as caught:
        send(stub.port(max_attempts=2), put())
    assert (caught.value.status, history(caught.value.history)) == (500, ["maybe", "maybe"])


def test_a_request_to_a_port_where_nobody_listens_is_refused(quick_retries):
    """With a real socket: a refused connection sent nothing."""
    from tablekit.operations.transport import Settings, SyncPort

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = SyncPort(Settings(endpoint_url=f"http://127.0.0.1:{taken.getsockname()[1]}", max_attempts=2))
        with pytest.raises(ConnectionFailed) as caught:
            send(port, put())
    assert history(caught.value.history) == ["refused", "refused"]


class ServerDisconnectedError(Exception):
    """What aiohttp raises for a connection reset in the middle of an answer."""


class ClientConnectorDNSError(Exception):
    """What aiohttp raises for a name that does not resolve."""


@pytest.mark.parametrize(
    ("inner", "outcome"),
    [(ServerDisconnectedError(), "maybe"), (ClientConnectorDNSError(), "refused"), (None, "refused")],
)
def test_an_endpoint_error_is_judged_by_its_reason(inner, outcome):
    """Aiobotocore reports a reset answer as an endpoint that cannot be reached."""
    error = botocore.exceptions.EndpointConnectionError(endpoint_url="http://x", error=inner)
    assert classify_exception(error)[0] == outcome


def test_only_a_refused_certificate_proves_that_nothing_was_sent():
    """Another TLS error may come while the answer is read."""
    import ssl

    refused = botocore.exceptions.SSLError(endpoint_url="https://x", error=Exception(ssl.SSLCertVerificationError(1)))
    broken = botocore.exceptions.SSLError(endpoint_url="https://x", error=ssl.SSLError(1, "bad record"))
    assert classify_exception(refused)[0] == "refused"
    assert classify_exception(broken)[0] == "maybe"
