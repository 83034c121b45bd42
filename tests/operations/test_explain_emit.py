"""Requests as commands and as code: what is pasted is what would have been sent."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from botocore import xform_name
from hypothesis import given, settings
from hypothesis import strategies as st

from tablekit.operations.emit import aws_cli, boto3_call, masked
from tests.support.validation import input_shape, service_model, validate_request

QUERY = {
    "TableName": "workspace-app",
    "KeyConditionExpression": "#PK = :PK",
    "ExpressionAttributeNames": {"#PK": "PK"},
    "ExpressionAttributeValues": {":PK": {"S": 'it\'s "$HOME" `x` \\ \n %'}},
    "ScanIndexForward": False,
    "ConsistentRead": True,
    "Limit": 5,
}
PUT = {"TableName": "t", "Item": {"PK": {"S": "-a"}, "data": {"B": b"\0\xff"}, "set": {"BS": [b"1", b"2"]}}}
TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20)


def words_of(command):
    """The words that a POSIX shell makes of a command."""
    script = 'aws() { for word in "$@"; do printf "%s\\0" "$word"; done; }\n' + command
    output = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout
    return [word.decode() for word in output.split(b"\0")[:-1]]


def request_of(command):
    """The operation and the wire dict that the AWS CLI would make of a command."""
    service, operation, *words = words_of(command)
    assert service == "dynamodb"
    name = next(name for name in service_model().operation_names if xform_name(name, "-") == operation)
    members = {xform_name(member, "-"): (member, shape) for member, shape in input_shape(name).members.items()}
    wire, rest = {}, iter(words)
    for word in rest:
        option, _, joined = word.removeprefix("--").partition("=")
        if option == "no-paginate" or (option == "cli-binary-format" and next(rest) == "base64"):
            continue
        if option.removeprefix("no-") in members and members[option.removeprefix("no-")][1].type_name == "boolean":
            wire[members[option.removeprefix("no-")][0]] = not option.startswith("no-")
            continue
        member, shape = members[option]
        wire[member] = parsed(joined or next(rest), shape)
    return name, wire


def parsed(text, shape):
    """An option's value by its shape: text as it is, anything else from JSON."""
    return text if shape.type_name == "string" else with_bytes(json.loads(text), shape)


def with_bytes(value, shape):
    """JSON with base64 made bytes by the service model."""
    if shape.type_name == "structure":
        return {name: with_bytes(inner, shape.members[name]) for name, inner in value.items()}
    if shape.type_name == "map":
        return {name: with_bytes(inner, shape.value) for name, inner in value.items()}
    if shape.type_name == "list":
        return [with_bytes(inner, shape.member) for inner in value]
    return base64.b64decode(value) if shape.type_name == "blob" else value


def called(code):
    """The client method that a text of Python calls, and what it gives it."""
    calls = []

    class Client:
        def __getattr__(self, method):
            return lambda **wire: calls.append((method, wire))

    module = SimpleNamespace(client=lambda service: Client())
    before = sys.modules.get("boto3")
    sys.modules["boto3"] = module
    try:
        exec(compile(code, "<boto3>", "exec"), {})
    finally:
        sys.modules.pop("boto3") if before is None else sys.modules.update(boto3=before)
    return calls


@pytest.mark.parametrize(("operation", "wire"), [("Query", QUERY), ("PutItem", PUT)])
def test_the_command_is_the_request(operation, wire):
    """A shell and the CLI's own rules make the wire dict again of the command, whatever quotes it holds."""
    found = request_of(aws_cli(operation, wire))
    assert found == (operation, wire)
    validate_request(*found)


def test_a_transaction_is_one_command():
    """The actions of a transaction stand in one option, with the token."""
    wire = {"TransactItems": [{"Put": PUT}], "ClientRequestToken": "t1", "ReturnConsumedCapacity": "TOTAL"}
    assert request_of(aws_cli("TransactWriteItems", wire)) == ("TransactWriteItems", wire)


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_paged_command_asks_for_one_page(operation):
    """The CLI would go on by itself, and so would cost more than what was explained."""
    assert "--no-paginate" in aws_cli(operation, {"TableName": "t"})


def test_a_value_is_never_taken_for_an_option_or_a_file():
    """Values that begin with a dash, or like a file's address, are joined to their option."""
    wire = {"TableName": "-t", "KeyConditionExpression": "file:///etc/passwd"}
    assert "--table-name=-t" in words_of(aws_cli("Query", wire))
    assert "--key-condition-expression=file:///etc/passwd" in words_of(aws_cli("Query", wire))


@pytest.mark.parametrize(("operation", "wire"), [("Query", QUERY), ("PutItem", PUT)])
def test_the_code_is_the_request(operation, wire):
    """The text for boto3 runs, and gives the client the wire dict."""
    ((method, given_wire),) = called(boto3_call(operation, wire))
    assert (method, given_wire) == (xform_name(operation), wire)


@settings(max_examples=40, deadline=None)
@given(name=TEXT, text=TEXT, data=st.binary(max_size=8))
def test_code_keeps_any_text(name, text, data):
    """No text breaks out of its quotes in Python."""
    wire = {"TableName": "t", "Item": {name: {"L": [{"S": text}, {"B": data}] * 4}}}
    ((_, given_wire),) = called(boto3_call("PutItem", wire))
    assert given_wire == wire


@settings(max_examples=15, deadline=None)
@given(name=TEXT, text=TEXT)
def test_commands_keep_any_text(name, text):
    """No text breaks out of its quotes in a shell."""
    wire = {"TableName": "t", "Item": {name: {"S": text}}}
    assert request_of(aws_cli("PutItem", wire)) == ("PutItem", wire)


def test_r61_masks_by_attribute_and_by_placeholder():
    """R61: secret attributes of an item and secret values of an expression are masked, and nothing else is."""
    wire = {
        "Item": {"token": {"S": "s3cret"}, "key": {"B": b"s3cret"}, "pins": {"NS": ["1"]}, "title": {"S": "t"}},
        "ExpressionAttributeValues": {":token": {"S": "s3cret"}, ":title": {"S": "t"}},
    }
    shown = masked(wire, frozenset({"token", "key", "pins", ":token"}))
    assert "s3cret" not in repr(shown)
    assert shown["Item"] == {"token": {"S": "***"}, "key": {"B": b"***"}, "pins": {"S": "***"}, "title": {"S": "t"}}
    assert shown["ExpressionAttributeValues"] == {":token": {"S": "***"}, ":title": {"S": "t"}}
    assert wire["Item"]["token"] == {"S": "s3cret"}


def test_r61_masks_inside_batches_and_transactions():
    """R61: items of a batch and actions of a transaction are masked alike."""
    item = {"token": {"S": "s3cret"}}
    for wire in (
        {"RequestItems": {"t": [{"PutRequest": {"Item": item}}]}},
        {"TransactItems": [{"Put": {"Item": item}}]},
    ):
        assert "s3cret" not in repr(masked(wire, frozenset({"token"})))
