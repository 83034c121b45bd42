"""What the awaited transports make of faults that no engine produces: what the synchronous ones make of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tablekit.errors import ConnectionFailed, InvalidResponse, ServiceError
from tests.support.aio_stub import AWAITED_TRANSPORTS
from tests.support.calls import Request, get, history, history_of_cancelled, put, send
from tests.support.stub import bad_checksum, closed, cut, error, lost, ok, page, unconnected

ITEM = {
    "PK": {"S": "k"},
    "B": {"B": b"\x00\xff"},
    "BS": {"BS": [b"\x01", b"\x02"]},
    "deep": {"M": {"B": {"L": [{"B": b"x"}, {"NS": ["1"]}]}, "none": {"NULL": True}}},
}
KEY = {"PK": ITEM["PK"], "B": ITEM["B"]}
FAULTS = {
    "success": [ok({"Attributes": {"a": {"S": "x"}}})],
    "lost, then success": [lost(), ok()],
    "closed, throttled, success": [closed(), error("ThrottlingException"), ok()],
    "500, page, success": [error("InternalServerError", 500), page(502), ok()],
    "throttled to the end": [error("ProvisionedThroughputExceededException")] * 4,
    "lost to the end": [lost()] * 4,
    "not connected": [unconnected()] * 4,
    "wrong checksum": [bad_checksum({})],
    "page with 200": [page()],
    "page with 403": [page(403)],
    "cut": [cut({"Attributes": {"a": {"S": "x"}}})],
    "condition": [error("ConditionalCheckFailedException", Item={"a": {"B": b"\x00"}})],
    "refused": [error("ValidationException")],
    "token in use": [error("TransactionInProgressException"), ok()],
}


def told(work: Any) -> tuple[Any, ...]:
    """What a caller is told: the answer and its history, or the error and its own."""
    try:
        answer = work()
    except ServiceError as failure:
        kept = {name: failure.response.get(name) for name in ("Item", "Error")}
        return type(failure), failure.code, failure.status, str(failure), kept, history(failure.history)
    return answer.body.get("Attributes"), history(answer.attempts), answer.uncertain


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
@pytest.mark.parametrize("script", FAULTS.values(), ids=FAULTS)
def test_a_write_is_told_as_without_await(aio_stub: Any, script: Any, transport: str) -> None:
    """Error class, code, status, message, response, and history are equal in both colours."""
    aio_stub.script("PutItem", *script)
    expected = told(lambda: send(aio_stub.port(transport=transport), put()))

    aio_stub.script("PutItem", *script)
    assert told(lambda: asyncio.run(aio_stub.aio_port(transport=transport).send(put(), "orders"))) == expected
    assert len(aio_stub.requests) % 2 == 0
    assert not any(aio_stub._scripts.values())


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
@pytest.mark.parametrize("reply", [page(), cut({"Item": {"a": {"S": "x"}}})], ids=["page", "cut"])
def test_an_unreadable_answer_to_a_read_is_never_a_missing_row(aio_stub: Any, transport: str, reply: Any) -> None:
    """A captive portal's page is an error."""
    aio_stub.always("GetItem", reply)

    with pytest.raises((InvalidResponse, ConnectionFailed)):
        asyncio.run(aio_stub.aio_port(transport=transport).send(get(), "orders"))


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
def test_a_read_with_a_wrong_checksum_is_repeated(aio_stub: Any, transport: str) -> None:
    """Reading again does no harm."""
    aio_stub.script("GetItem", bad_checksum({}), ok({"Item": ITEM}))

    answer = asyncio.run(aio_stub.aio_port(transport=transport).send(get(), "orders"))
    assert answer.body["Item"] == ITEM


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
def test_a_write_is_not_repeated_after_dynamodbs_own_200(aio_stub: Any, transport: str) -> None:
    """A wrong checksum on the answer to an ADD does not count it twice."""
    add = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    aio_stub.always("UpdateItem", bad_checksum({}))

    with pytest.raises(InvalidResponse) as caught:
        request = Request("UpdateItem", {"Key": {"PK": {"S": "k"}}, **add})
        asyncio.run(aio_stub.aio_port(transport=transport).send(request, "orders"))
    assert (history(caught.value.history), len(aio_stub.requests)) == (["applied"], 1)


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("GetItem", {"Item": ITEM}),
        ("GetItem", {}),
        ("Query", {"Items": [ITEM, {"B": {"S": "B"}}], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": KEY}),
        ("BatchGetItem", {"Responses": {"orders": [ITEM]}, "UnprocessedKeys": {}}),
        ("UpdateItem", {"Attributes": ITEM, "ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 1.5}}),
    ],
)
def test_the_fast_reading_path_gives_what_aiobotocore_gives(aio_stub: Any, operation: str, answer: Any) -> None:
    """The body is read without aiobotocore's walk, to equal values: binary, nested, and attributes named B."""
    aio_stub.always(operation, ok(answer))
    request = Request(operation, {"Key": {"PK": {"S": "k"}}})
    if operation == "Query":
        request = Request(
            operation, {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "k"}}}
        )
    if operation == "BatchGetItem":
        request = Request(operation)
        request.to_wire = lambda table: {"RequestItems": {table: {"Keys": [{"PK": {"S": "k"}}]}}}
    bodies = [asyncio.run(aio_stub.aio_port(fast_parse=fast).send(request, "orders")).body for fast in (True, False)]

    fast, slow = ({name: value for name, value in body.items() if name != "ResponseMetadata"} for body in bodies)
    assert fast == slow == answer


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
def test_a_write_that_is_cancelled_while_it_is_sent_carries_its_attempts(aio_stub: Any, transport: str) -> None:
    """CancelledError stays itself; what was refused before it and what may have been applied are both told."""
    aio_stub.script("PutItem", error("ThrottlingException"))
    aio_stub.answered = 1

    async def work() -> Any:
        port = aio_stub.aio_port(transport=transport)
        task = asyncio.create_task(port.send(put(), "orders"))
        await aio_stub.come(2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value

    assert history_of_cancelled(asyncio.run(work())) == ["refused", "maybe"]


@pytest.mark.parametrize("transport", AWAITED_TRANSPORTS)
def test_a_timeout_of_the_callers_own_ends_the_call(aio_stub: Any, transport: str) -> None:
    """A timeout of the loop ends a request that hangs, and the port goes on working."""
    aio_stub.always("GetItem", ok({"Item": ITEM}))
    aio_stub.answered = 1

    async def work() -> Any:
        port = aio_stub.aio_port(transport=transport)
        await port.send(get(), "orders")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(port.send(get(), "orders"), 0.02)
        aio_stub.answered = None
        return (await port.send(get(), "orders")).body["Item"]

    assert asyncio.run(work()) == ITEM
