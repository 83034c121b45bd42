"""What the port sends and what it answers."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap

import botocore.credentials
import botocore.session
import pytest

from tablekit.errors import AccessDenied, RequestError, ServiceError
from tablekit.operations.settings import client_options
from tablekit.operations.transport import Settings, SyncPort
from tests.support.calls import Request, get, put, send
from tests.support.stub import error, ok

ITEM = {"PK": {"S": "k"}, "B": {"B": b"\x00\xff"}, "deep": {"M": {"BS": {"L": [{"BS": [b"a"]}]}}}}


@pytest.fixture
def no_aws(monkeypatch, tmp_path):
    """A machine on which nothing of AWS is configured."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


def run_script(text, **environment):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return done.stdout.strip()


@pytest.mark.parametrize("fast_parse", [True, False])
def test_both_parsers_give_the_same_body(stub, fast_parse):
    """The fast reading and botocore's own give equal bodies."""
    stub.script("GetItem", ok({"Item": ITEM}))
    body = send(stub.port(fast_parse=fast_parse), get()).body
    assert body["Item"] == ITEM
    assert body["ResponseMetadata"]["RequestId"] == "scripted-request"


def test_a_request_is_sent_as_it_is_rendered(stub):
    """Nothing is added to the wire dict: no consumed capacity that was not asked for."""
    stub.script("PutItem", ok())
    send(stub.port(), put("k", "v"), "orders")
    assert stub.requests == [("PutItem", {"TableName": "orders", "Item": {"PK": {"S": "k"}, "text": {"S": "v"}}})]


def test_consumed_capacity_is_returned_where_the_request_asks(stub):
    """The request's own ReturnConsumedCapacity is left alone."""
    stub.script("GetItem", ok({"ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 0.5}}))
    request = Request("GetItem", {"Key": {"PK": {"S": "k"}}, "ReturnConsumedCapacity": "INDEXES"})
    assert send(stub.port(), request).body["ConsumedCapacity"]["CapacityUnits"] == 0.5
    assert stub.sent("GetItem")[0]["ReturnConsumedCapacity"] == "INDEXES"


def test_an_operation_of_the_control_plane_keeps_botocores_types(stub):
    """DescribeTimeToLive takes no capacity parameter, and is read by botocore's parser."""
    stub.script("DescribeTimeToLive", ok({"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}))
    body = send(stub.port(), Request("DescribeTimeToLive")).body
    assert body["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}


def test_a_failed_condition_carries_the_stored_item(stub):
    """The error's response has the item in DynamoDB JSON, with bytes decoded."""
    stub.script("PutItem", error("ConditionalCheckFailedException", Item=ITEM))
    with pytest.raises(ServiceError) as caught:
        send(stub.port(), put())
    assert (caught.value.code, caught.value.response["Item"]) == ("ConditionalCheckFailedException", ITEM)
    assert (caught.value.status, caught.value.request_id) == (400, "scripted-request")


def test_a_cancelled_transaction_carries_its_reasons_in_order(stub):
    """The reasons come raw, one for each action, with decoded items."""
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "no", "Item": ITEM}]
    stub.script("TransactWriteItems", error("TransactionCanceledException", CancellationReasons=reasons))
    action = {"Put": {"TableName": "orders", "Item": {"PK": {"S": "k"}}}}
    request = Request("TransactWriteItems", {"TransactItems": [action, action], "ClientRequestToken": "t"})
    request.to_wire = lambda _table: dict(request.wire)
    with pytest.raises(ServiceError) as caught:
        send(stub.port(), request)
    assert caught.value.response["CancellationReasons"] == reasons


def test_a_listener_sees_each_request_until_it_is_taken_off(stub):
    """on_request is called with operation and wire dict, and returns its own removal."""
    stub.always("GetItem", ok())
    port, seen = stub.port(), []
    remove = port.on_request(lambda operation, wire: seen.append((operation, wire["TableName"])))
    send(port, get())
    remove()
    send(port, get())
    assert seen == [("GetItem", "orders")]


def test_the_recorder_keeps_and_checks_what_every_port_sends(stub, recorder):
    """A request that the service model does not know fails the test that sent it."""
    stub.script("GetItem", ok())
    send(stub.port(), get("a"))
    assert recorder.sent("GetItem") == [{"TableName": "orders", "Key": {"PK": {"S": "a"}}}]
    with pytest.raises(AssertionError, match="Consistent"):
        send(stub.port(), Request("GetItem", {"Key": {"PK": {"S": "k"}}, "Consistent": True}))


def test_r61_keys_are_in_no_repr():
    """R61: neither settings nor port print a secret."""
    settings = Settings(aws_access_key_id="AKIAKEY", aws_secret_access_key="hush", aws_session_token="pst")
    shown = f"{settings!r} {settings} {SyncPort(settings)!r}"
    assert not {word for word in ("AKIAKEY", "hush", "pst") if word in shown}


def test_r61_the_log_has_no_values(stub, caplog):
    """R61: tablekit's DEBUG log names operation, table and attempts, and no value."""
    caplog.set_level(logging.DEBUG, logger="tablekit")
    stub.script("PutItem", ok({"Attributes": {"text": {"S": "sesame"}}}))
    send(stub.port(), put("sesame", "sesame"))
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("tablekit")]
    assert len(lines) == 1
    assert lines[0].startswith("PutItem on orders: 1 attempts")
    assert "sesame" not in lines[0]


@pytest.mark.parametrize(
    "options",
    [
        {"aws_access_key_id": "a"},
        {"aws_secret_access_key": "b"},
        {"aws_session_token": "c"},
        {"session": object(), "profile": "p"},
        {"profile": "p", "aws_access_key_id": "a", "aws_secret_access_key": "b"},
        {"max_attempts": 0},
    ],
)
def test_settings_that_contradict_each_other_are_refused(options):
    """Half a key pair and two sources of credentials are told before anything is sent."""
    with pytest.raises(RequestError):
        Settings(**options)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_an_endpoint_on_this_machine_needs_no_configuration(stub, no_aws, host):
    """A local engine gets placeholder keys and a region when nothing is configured."""
    stub.script("GetItem", ok())
    port = stub.port(endpoint_url=f"http://{host}:1")
    send(port, get())
    assert (stub.keys, port.client.meta.region_name) == (["local"], "us-east-1")


def test_configured_credentials_are_used_on_this_machine_too(stub, no_aws, monkeypatch):
    """The placeholders stand in only for what is missing."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    stub.script("GetItem", ok())
    port = stub.port()
    send(port, get())
    assert (stub.keys, port.client.meta.region_name) == (["mine"], "eu-west-1")


@pytest.mark.parametrize("endpoint", [None, "http://dynamodb.internal:8000"])
def test_missing_credentials_are_told_with_what_to_do(stub, no_aws, endpoint):
    """Elsewhere than on this machine nothing is sent without credentials, and no client is built."""
    port = stub.port(endpoint_url=endpoint, region="eu-west-1")
    with pytest.raises(AccessDenied, match="aws_access_key_id= to connect") as caught:
        send(port, get())
    assert (caught.value.code, stub.clients) == ("NoCredentialsError", [])


def test_a_missing_region_is_told_with_what_to_do(stub, no_aws):
    """Without a region the error says how to give one."""
    port = stub.port(endpoint_url=None, aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(ServiceError, match="region= to connect") as caught:
        send(port, get())
    assert caught.value.code == "NoRegionError"


def test_an_unknown_profile_is_access_denied(stub, no_aws):
    """A profile that is not in the files is named."""
    with pytest.raises(AccessDenied, match="ProfileNotFound"):
        send(stub.port(profile="nobody", region="eu-west-1"), get())


def test_a_botocore_session_is_used_and_left_as_it_was(stub, no_aws):
    """The given session's keys sign, and its events do not get tablekit's handlers."""
    session = botocore.session.Session()
    session.set_credentials("theirs", "hush")
    stub.script("GetItem", ok())
    send(stub.port(session=session), get())
    assert stub.keys == ["theirs"]
    assert session.get_component("event_emitter").emit("before-send.dynamodb.GetItem", request=None) == []


def test_a_session_of_boto3s_shape_is_used_by_its_public_names(stub, no_aws):
    """A boto3 session has client() where botocore's has create_client()."""

    class Boto3Session:
        region_name = "eu-north-1"
        inner = botocore.session.Session()

        def get_credentials(self):
            return botocore.credentials.Credentials("boto3", "hush")

        def client(self, service, region_name=None, **options):
            keys = {"aws_access_key_id": "boto3", "aws_secret_access_key": "hush"}
            return self.inner.create_client(service, region_name=region_name or self.region_name, **keys, **options)

    stub.script("GetItem", ok())
    port = stub.port(session=Boto3Session())
    send(port, get())
    assert (stub.keys, port.client.meta.region_name) == (["boto3"], "eu-north-1")


def test_settings_reach_the_client(stub):
    """Timeouts, attempts and pool size are those given."""
    config = stub.port(connect_timeout=1.5, read_timeout=2.5, max_attempts=7, max_pool_connections=3).client.meta.config
    assert (config.connect_timeout, config.read_timeout, config.max_pool_connections) == (1.5, 2.5, 3)
    assert config.retries == {"total_max_attempts": 7, "mode": "standard"}


def test_pynamodbs_settings_file_changes_nothing(tmp_path):
    """A global PYNAMODB_CONFIG does not reach tablekit's client."""
    config = tmp_path / "settings.py"
    config.write_text(
        "region = 'us-gov-west-1'\nread_timeout_seconds = 99\nconnect_timeout_seconds = 99\n"
        "max_retry_attempts = 99\nmax_pool_connections = 99\nextra_headers = {'x-theirs': '1'}\n"
    )
    script = """
        from tablekit.operations.transport import Settings, SyncPort
        client = SyncPort(Settings(endpoint_url="http://127.0.0.1:1")).client
        print(client.meta.region_name, client.meta.config.read_timeout, client.meta.config.max_pool_connections)
    """
    shown = run_script(script, PYNAMODB_CONFIG=str(config), AWS_DEFAULT_REGION="eu-west-1")
    assert shown == "eu-west-1 30.0 32"


def test_importing_the_transport_imports_neither_pynamodb_nor_botocore():
    """The libraries that reach the network are imported by the first call."""
    script = """
        import sys
        import tablekit.operations.transport
        print([name for name in ("pynamodb", "botocore") if name in sys.modules])
    """
    assert run_script(script) == "[]"


def test_a_closed_port_builds_a_new_client(stub):
    """close() ends the connections, and the port may be used again."""
    stub.always("GetItem", ok())
    port = stub.port()
    send(port, get())
    port.close()
    send(port, get())
    assert len(stub.clients) == 2


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"])
def test_an_endpoint_of_the_environment_on_this_machine_needs_no_keys(no_aws, monkeypatch, variable):
    """As one that is given; the environment may also say that such variables do not count."""
    monkeypatch.setenv(variable, "http://127.0.0.1:8000")
    options = client_options(Settings(), has_region=False, has_credentials=False)
    assert options["aws_access_key_id"] == "local"

    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert not Settings().is_local
