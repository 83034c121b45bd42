"""The fast reading of answers, against botocore's own parser."""

from __future__ import annotations

import base64
import json

import pytest
from botocore.parsers import create_parser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tablekit.wire.response import FAST_OPERATIONS, body_problem, is_dynamodb, parse_body
from tests.support.validation import service_model

JSON_TYPE = "application/x-amz-json-1.0"


def by_botocore(operation, body):
    """What botocore's shape walk makes of a body."""
    shape = service_model().operation_model(operation).output_shape
    response = {"status_code": 200, "headers": {}, "body": body}
    parsed = create_parser("json").parse(response, shape)
    del parsed["ResponseMetadata"]
    return parsed


def on_the_wire(body):
    """A body as DynamoDB sends it, bytes in base64."""
    return json.dumps(body, default=lambda value: base64.b64encode(value).decode()).encode()


names = st.sampled_from(["B", "BS", "M", "L", "S", "Items", "PK", "é", 'a"B"']) | st.text(min_size=1, max_size=6)
numbers = st.integers(-(10**20), 10**20).map(str)
scalars = (
    st.text(max_size=8).map(lambda value: {"S": value})
    | numbers.map(lambda value: {"N": value})
    | st.binary(max_size=12).map(lambda value: {"B": value})
    | st.lists(st.binary(max_size=6), min_size=1, max_size=3).map(lambda value: {"BS": value})
    | st.lists(st.text(max_size=4), min_size=1, max_size=3).map(lambda value: {"SS": value})
    | st.lists(numbers, min_size=1, max_size=3).map(lambda value: {"NS": value})
    | st.booleans().map(lambda value: {"BOOL": value})
    | st.just({"NULL": True})
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda value: {"L": value})
        | st.dictionaries(names, inner, max_size=3).map(lambda value: {"M": value})
    ),
    max_leaves=8,
)
items = st.dictionaries(names, values, max_size=4)
keys = st.dictionaries(
    names,
    st.text(min_size=1, max_size=8).map(lambda value: {"S": value})
    | numbers.map(lambda value: {"N": value})
    | st.binary(min_size=1, max_size=12).map(lambda value: {"B": value}),
    min_size=1,
    max_size=2,
)
tables = st.dictionaries(st.sampled_from(["B", "BS", "orders"]), st.lists(items, max_size=2), max_size=2)
metric = st.builds(lambda key: {"ItemCollectionKey": key, "SizeEstimateRangeGB": [0.0, 1.5]}, items)
metrics_by_table = st.dictionaries(names, st.lists(metric, max_size=2), max_size=2)
put_or_delete = items.map(lambda item: {"PutRequest": {"Item": item}}) | keys.map(
    lambda key: {"DeleteRequest": {"Key": key}}
)
keys_left = st.lists(keys, min_size=1, max_size=2).map(lambda keys: {"Keys": keys, "ConsistentRead": True})

BODIES = {
    "GetItem": st.fixed_dictionaries({}, optional={"Item": items}),
    "Query": st.fixed_dictionaries(
        {"Items": st.lists(items, max_size=3), "Count": st.integers(0, 3), "ScannedCount": st.integers(0, 9)},
        optional={
            "LastEvaluatedKey": keys,
            "ConsumedCapacity": st.just({"TableName": "t", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}}),
        },
    ),
    "Scan": st.fixed_dictionaries({"Items": st.lists(items, max_size=3)}, optional={"LastEvaluatedKey": keys}),
    "PutItem": st.fixed_dictionaries({}, optional={"Attributes": items, "ItemCollectionMetrics": metric}),
    "UpdateItem": st.fixed_dictionaries({}, optional={"Attributes": items}),
    "DeleteItem": st.fixed_dictionaries({}, optional={"Attributes": items}),
    "BatchGetItem": st.fixed_dictionaries(
        {"Responses": tables}, optional={"UnprocessedKeys": st.dictionaries(names, keys_left, max_size=2)}
    ),
    "BatchWriteItem": st.fixed_dictionaries(
        {"UnprocessedItems": st.dictionaries(names, st.lists(put_or_delete, max_size=2), max_size=2)},
        optional={"ItemCollectionMetrics": metrics_by_table},
    ),
    "TransactGetItems": st.fixed_dictionaries(
        {"Responses": st.lists(st.fixed_dictionaries({}, optional={"Item": items}), max_size=3)}
    ),
    "TransactWriteItems": st.fixed_dictionaries({}, optional={"ItemCollectionMetrics": metrics_by_table}),
}


def test_every_fast_operation_is_compared():
    """No operation is read fast that this module does not compare."""
    assert BODIES.keys() == FAST_OPERATIONS


# The first drawing of text builds a table of all characters, which on a busy machine takes seconds.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("operation", sorted(BODIES))
@given(data=st.data())
def test_an_answer_equals_what_botocore_reads(operation, data):
    """Any answer of a data operation is read as botocore reads it, nested binaries included."""
    body = data.draw(BODIES[operation])
    raw = on_the_wire(body)
    assert parse_body(raw) == by_botocore(operation, raw) == body


def test_an_attribute_named_b_is_not_taken_for_a_binary():
    """The tag B means bytes, an attribute of that name does not."""
    raw = b'{"Item": {"B": {"S": "YQ=="}, "BS": {"L": [{"S": "YQ=="}]}, "x": {"B": "YQ=="}}}'
    assert parse_body(raw)["Item"] == {"B": {"S": "YQ=="}, "BS": {"L": [{"S": "YQ=="}]}, "x": {"B": b"a"}}


def test_a_null_member_is_left_out():
    """A member that an engine sends as null is missing, as with botocore."""
    raw = b'{"Items": [], "LastEvaluatedKey": null}'
    assert parse_body(raw) == by_botocore("Query", raw) == {"Items": []}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html></html>",
        b'{"Item": {"a": {"S"',
        b"[1]",
        b"null",
        b'{"Item": {"a": {"B": "YQ="}}}',
        b'{"Item": {"a": {"B": 7}}}',
        b'{"Items": 7, "x": {"B": ""}}',
        b"\xff\xfe",
        b'{"Item": ' + b"[" * 100_000,
    ],
)
def test_an_unusable_body_is_a_value_error(raw):
    """A body that is cut, foreign or misshapen raises one kind of error."""
    with pytest.raises(ValueError, match=r"."):
        parse_body(raw)


@pytest.mark.parametrize(
    ("headers", "genuine"),
    [
        ({"content-type": JSON_TYPE}, True),
        ({"Content-Type": "Application/X-Amz-Json-1.0; charset=utf-8"}, True),
        ({"content-type": "text/html"}, False),
        ({"content-type": "application/json"}, False),
        ({}, False),
    ],
)
def test_only_dynamodbs_content_type_is_dynamodbs(headers, genuine):
    """An answer with any other content type, or none, comes from somewhere else."""
    assert is_dynamodb(headers) is genuine


@pytest.mark.parametrize(
    ("headers", "problem"),
    [({}, ""), ({"x-amz-crc32": "2745614147"}, ""), ({"X-Amz-Crc32": "1"}, "ChecksumMismatch")],
)
def test_the_checksum_is_looked_at_where_it_came(headers, problem):
    """A wrong CRC-32 is told, a right one and a missing one pass."""
    assert body_problem(headers, b"{}") == problem
