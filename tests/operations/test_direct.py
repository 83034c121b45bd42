"""The direct transport: where it sends, what it repeats, and that it gives what the default one gives."""

from __future__ import annotations

import base64
import json
import threading
from datetime import datetime, timedelta, timezone
from typing import ClassVar

import botocore.credentials
import botocore.session
import pytest
from botocore.retries.standard import StandardRetryConditions
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit.errors import AccessDenied, ConnectionFailed, RequestError, ServerFault, ServiceError, Throttled
from tablekit.operations.direct import DirectPort
from tablekit.operations.direct_retry import Quota, is_retryable, pause
from tablekit.operations.errors_map import CODES
from tablekit.operations.ready_body import encode_body
from tablekit.operations.transport import Settings
from tests.support.calls import Request, get, history, put, send
from tests.support.stub import bad_checksum, closed, error, lost, ok, page
from tests.support.transports import TRANSPORTS
from tests.support.validation import service_model

AWS = {"region": "eu-west-1", "endpoint_url": None, "aws_access_key_id": "AKID", "aws_secret_access_key": "hush"}
ARN = "arn:aws:dynamodb:us-east-2:123456789012:table/theirs"


@pytest.fixture
def direct(stub):
    """Makes a direct port of the scripted DynamoDB."""
    return lambda **given: stub.port(transport="direct", **given)


@pytest.mark.parametrize(
    ("script", "outcomes"),
    [
        ([ok({"Attributes": {}})], ["applied"]),
        ([lost(), ok()], ["maybe", "applied"]),
        ([closed(), error("ThrottlingException"), ok()], ["maybe", "refused", "applied"]),
        ([error("InternalServerError", 500), page(502), ok()], ["maybe", "maybe", "applied"]),
        ([bad_checksum({})], ["applied"]),
        ([page()], ["maybe"]),
        ([error("ConditionalCheckFailedException", Item={"a": {"B": b"\x00"}})], ["refused"]),
        ([error("ValidationException")], ["refused"]),
        ([lost()] * 4, ["maybe"] * 4),
        ([page(403)], ["refused"]),
    ],
)
def test_both_transports_tell_the_same_of_the_same_answers(stub, script, outcomes):
    """Error class, code, status, response and history are equal whichever way a write was sent."""
    told = []
    for transport in TRANSPORTS:
        stub.script("PutItem", *script)
        try:
            answer = send(stub.port(transport=transport), put())
            told.append((answer.body["ResponseMetadata"]["RequestId"], history(answer.attempts)))
        except ServiceError as failure:
            kept = {name: failure.response.get(name) for name in ("Item", "Error")}
            told.append((type(failure), failure.code, failure.status, str(failure), kept, history(failure.history)))
    assert told[0] == told[1]
    assert told[0][-1] == outcomes


def test_requests_go_where_botocore_sends_them(direct, stub):
    """Host, path, region and user agent are those of a request that botocore built, and nothing of it was sent."""
    stub.script("GetItem", ok())
    send(direct(**AWS), get())
    (place,) = stub.places
    assert (place.url, place.region, place.service) == (
        "https://dynamodb.eu-west-1.amazonaws.com/",
        "eu-west-1",
        "dynamodb",
    )
    assert place.headers["host"] == "dynamodb.eu-west-1.amazonaws.com"
    assert place.headers["user-agent"].startswith("Botocore/")
    assert len(stub.requests) == 1


def test_a_table_given_by_its_arn_is_reached_at_its_own_accounts_host(direct, stub, monkeypatch):
    """With account-based endpoints the host is the ARN's account's, while names keep going to the caller's."""
    stub.always("GetItem", ok())
    session = botocore.session.Session()
    session.set_credentials("AKID", "hush", account_id="999999999999")
    port = direct(region="us-east-2", endpoint_url=None, session=session)
    for table in ("ours", ARN, "ours-too", ARN):
        send(port, get(), table)
    hosts = [place.headers["host"] for place in stub.places]
    assert hosts == [f"{account}.ddb.us-east-2.amazonaws.com" for account in ("999999999999", "123456789012")]


class Refreshing:
    """Credentials of which each minute has others."""

    def __init__(self):
        self.turn = 0
        self.real = botocore.credentials.RefreshableCredentials(
            "AKID0", "hush", "token0", self._soon(), self._fetch, "test", advisory_timeout=0, mandatory_timeout=0
        )

    def _soon(self):
        return datetime.now(timezone.utc) + timedelta(seconds=60)

    def _fetch(self):
        self.turn += 1
        found = {"access_key": f"AKID{self.turn}", "secret_key": "hush", "token": f"token{self.turn}"}
        return {**found, "expiry_time": self._soon().isoformat()}


def test_credentials_are_refreshed_by_botocore_before_they_end(direct, stub, monkeypatch):
    """When botocore's credentials have to be refreshed, the next request is signed with the new ones."""
    source, session = Refreshing(), botocore.session.Session()
    session._credentials = source.real
    stub.always("GetItem", ok())
    port = direct(session=session)
    send(port, get())
    source.real._expiry_time = datetime.now(timezone.utc).astimezone() - timedelta(seconds=1)
    monkeypatch.setattr("tablekit.operations.direct._KEYS_KEPT", -1.0)
    send(port, get())
    assert stub.keys == ["AKID0", "AKID1"]


def test_credentials_that_cannot_be_had_are_access_denied(direct, stub):
    """A failing provider is told as the default transport tells it."""

    class Failing:
        def get_frozen_credentials(self):
            raise botocore.exceptions.CredentialRetrievalError(provider="test", error_msg="no")

    port = direct()
    port._connect().credentials = Failing()
    with pytest.raises(AccessDenied):
        send(port, get())
    assert stub.requests == []


def test_a_client_that_signs_with_other_keys_is_refused(direct, stub):
    """The direct transport signs with the session's credentials; a client with others would be a surprise."""
    port = direct()
    port._connect().credentials = botocore.credentials.Credentials("other", "hush")
    with pytest.raises(RequestError, match="other keys"):
        send(port, get())


def test_a_transaction_carries_one_token_over_its_attempts(direct, stub):
    """A lost answer does not apply a transaction twice: the second attempt is byte for byte the first."""
    stub.script("TransactWriteItems", lost(), ok())
    request = Request("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "t", "Item": {"k": {"S": "k"}}}}]})
    request.to_wire = lambda _table: dict(request.wire)
    send(direct(), request)
    first, second = stub.sent("TransactWriteItems")
    assert first == second
    assert len(first["ClientRequestToken"]) == 36


def test_a_read_whose_checksum_is_wrong_is_repeated_and_a_write_is_not(direct, stub):
    """After DynamoDB's own 200 a write is never sent again; a read does no harm."""
    stub.script("GetItem", bad_checksum({}), ok({"Item": {"k": {"S": "k"}}}))
    assert send(direct(), get()).body["Item"] == {"k": {"S": "k"}}
    stub.script("PutItem", bad_checksum({}))
    with pytest.raises(ServiceError, match="ChecksumMismatch"):
        send(direct(), put())


def test_a_table_of_the_control_plane_is_described_through_botocore(direct, stub):
    """Operations whose answers need botocore's types take the default way, in the same port."""
    stub.script("DescribeTimeToLive", ok({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}))
    assert send(direct(), Request("DescribeTimeToLive")).body["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED"


def test_errors_are_repeated_exactly_where_botocore_repeats_them():
    """Every code of DynamoDB's at every status, against botocore's standard retry mode."""

    class Context:
        request_context: ClassVar[dict] = {}
        caught_exception = None
        attempt_number = 1
        operation_model = service_model().operation_model("PutItem")

        def __init__(self, status, code):
            self.code = code
            self.http_response = type("Response", (), {"status_code": status, "headers": {}})

        def get_error_code(self):
            return self.code

        def add_retry_metadata(self, **_):
            """Nothing to keep."""

    botocores = StandardRetryConditions(max_attempts=4)
    cases = [(status, code) for code in CODES for status in (400, 403, 408, 413, 500, 501, 502, 503, 504)]
    assert [is_retryable(*case) for case in cases] == [botocores.is_retryable(Context(*case)) for case in cases]


def test_pauses_are_random_up_to_a_limit_that_doubles():
    """A throttle waits up to a second, then two; another failure starts at a fortieth of it; none over twenty."""
    assert all(0 <= pause(1, "ThrottlingException") <= 1 for _ in range(200))
    assert max(pause(3, "ThrottlingException") for _ in range(200)) > 2
    assert all(pause(1, "500") <= 0.025 for _ in range(200))
    assert all(pause(30, "ThrottlingException") <= 20 for _ in range(200))


def test_retries_stop_when_much_fails_at_once(direct, stub):
    """A hundred retries use the quota up; then a failure is told at once, and successes fill it again."""
    stub.always("GetItem", error("ThrottlingException"))
    port = direct()
    for _ in range(40):
        with pytest.raises(Throttled) as caught:
            send(port, get())
    assert history(caught.value.history) == ["refused"]
    stub.always("GetItem", ok())
    for _ in range(5):
        send(port, get())
    stub.always("GetItem", error("InternalServerError", 500))
    with pytest.raises(ServerFault) as after:
        send(port, get())
    assert history(after.value.history) == ["maybe", "maybe"]


def test_the_quota_never_exceeds_its_capacity():
    """What is given back beyond the capacity is lost."""
    quota = Quota()
    quota.give_back(1_000)
    assert sum(quota.take(5) for _ in range(200)) == 100


def deeper(inner):
    """Lists and maps of values."""
    lists, maps = st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)
    return st.one_of(st.builds(lambda parts: {"L": parts}, lists), st.builds(lambda parts: {"M": parts}, maps))


scalars = st.one_of(
    st.builds(lambda text: {"S": text}, st.text()),
    st.builds(lambda number: {"N": str(number)}, st.integers()),
    st.builds(lambda raw: {"B": raw}, st.binary()),
    st.builds(lambda raw: {"BS": raw}, st.lists(st.binary(), min_size=1, max_size=3)),
    st.just({"NULL": True}),
    st.builds(lambda flag: {"BOOL": flag}, st.booleans()),
)
values = st.recursive(scalars, deeper, max_leaves=8)


@given(st.dictionaries(st.text(min_size=1), values, max_size=5))
@settings(max_examples=100)
def test_a_request_is_rendered_as_botocore_renders_it(item):
    """The JSON that is sent means the same as the one of botocore's serializer, bytes in base64 included."""
    from botocore.serialize import create_serializer

    wire = {"TableName": "t", "Item": item}
    serializer = create_serializer("json", include_validation=False)
    theirs = serializer.serialize_to_request(wire, service_model().operation_model("PutItem"))["body"]
    assert json.loads(encode_body(wire)) == json.loads(theirs)


def test_bytes_are_sent_in_base64():
    """A bytearray and a memoryview as well as bytes."""
    expected = base64.b64encode(b"\x00\xff").decode()
    assert [json.loads(encode_body({"B": each(b"\x00\xff")}))["B"] for each in (bytes, bytearray, memoryview)] == [
        expected
    ] * 3


def test_a_line_break_in_a_header_is_refused_before_anything_is_sent():
    """A token with a line break could else become another header."""
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_session_token": "c\r\nx-evil: 1"}
    port = DirectPort(Settings(endpoint_url="http://127.0.0.1:1", max_attempts=1, **keys))
    with pytest.raises((ValueError, ConnectionFailed, ServiceError)) as caught:
        send(port, get())
    assert "line break" in str(caught.value) or "header" in str(caught.value).lower()


def test_sixteen_threads_learn_the_place_once(direct, stub):
    """The first calls of many threads build one client and open one pool."""
    stub.always("GetItem", ok({"Item": {"PK": {"S": "k"}}}))
    port, barrier = direct(), threading.Barrier(16)
    found = []

    def work():
        barrier.wait(10)
        found.append(send(port, get()).body["Item"])

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [{"PK": {"S": "k"}}] * 16
    assert (len(stub.clients), len(stub.places)) == (1, 1)


def test_another_retry_mode_is_refused():
    """Adaptive retries are botocore's alone."""
    with pytest.raises(RequestError, match="standard"):
        Settings(transport="direct", retry_mode="adaptive")


def test_the_trace_header_of_lambda_is_sent(direct, stub, monkeypatch):
    """Lambda changes it with each invocation; it is read for each request."""
    stub.always("GetItem", ok())
    port = direct()
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    sent = []
    for trace in ("Root=1", "Root=2 x"):
        monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
        send(port, get())
        (exchange,) = port._state[1]._exchanges.values()
        sent.append(exchange.headers[-1]["x-amzn-trace-id"])
    assert sent == ["Root=1", "Root=2%20x"]
