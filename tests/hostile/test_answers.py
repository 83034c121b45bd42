"""Answers that are not DynamoDB's, behind DynamoDB's own headers: each operation raises what is documented."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablekit import DataError, InvalidResponse, TablekitError, WriteOutcomeUnknown
from tests.fuzz.mutations import JUNK, replaced
from tests.support.models import Document, Workspace, app
from tests.support.stub import Reply, StubTransport, _dynamodb_headers, ok
from tests.support.transports import TRANSPORTS

CASES = int(os.environ.get("TABLEKIT_TEST_INPUTS", "40"))
"""Damaged answers for each call and transport."""

KEY = {"PK": {"S": "WS#acme"}, "SK": {"S": "DOC#d1"}}
TIME = {"S": "2024-01-01T00:00:00.000000Z"}
ITEM = {
    **KEY,
    "EntityType": {"S": "Document"},
    "workspace_id": {"S": "acme"},
    "doc_id": {"S": "d1"},
    "title": {"S": "t"},
    "tags": {"SS": ["a"]},
    "status": {"S": "draft"},
    "words": {"N": "1"},
    "revision": {"N": "1"},
    "created_at": TIME,
    "updated_at": TIME,
    "other": {"M": {"B": {"B": "aGk="}, "l": {"L": [{"N": "1"}]}}},
}
TEXT_ITEM = {name: value for name, value in ITEM.items() if name != "other"}
UNITS = {"TableName": "t", "CapacityUnits": 1.0, "GlobalSecondaryIndexes": {"GSI1": {"CapacityUnits": 0.5}}}
NAME = "workspace-app"

BODIES: dict[str, dict[str, Any]] = {
    "GetItem": {"Item": ITEM, "ConsumedCapacity": UNITS},
    "Query": {"Items": [ITEM, ITEM], "Count": 2, "LastEvaluatedKey": KEY, "ConsumedCapacity": UNITS},
    "Scan": {"Items": [ITEM, ITEM], "Count": 2, "ScannedCount": 2},
    "BatchGetItem": {"Responses": {NAME: [ITEM]}, "UnprocessedKeys": {NAME: {"Keys": [KEY]}}},
    "BatchWriteItem": {"UnprocessedItems": {NAME: [{"PutRequest": {"Item": ITEM}}]}, "ConsumedCapacity": [UNITS]},
    "TransactGetItems": {"Responses": [{"Item": ITEM}, {}]},
    "TransactWriteItems": {"ConsumedCapacity": [UNITS]},
    "PutItem": {"Attributes": ITEM},
    "UpdateItem": {"Attributes": ITEM, "ConsumedCapacity": UNITS},
    "DeleteItem": {"Attributes": ITEM},
}
CODE = "com.amazonaws.dynamodb.v20120810#"
FAILURES: dict[str, dict[str, Any]] = {
    "ConditionalCheckFailedException": {"Item": ITEM},
    "TransactionCanceledException": {
        "CancellationReasons": [{"Code": "ConditionalCheckFailed", "Message": "m", "Item": ITEM}]
    },
}


def key() -> Any:
    """The key of the document."""
    return Document.key(workspace_id="acme", doc_id="d1")


def batch_write() -> None:
    """Put a workspace in a batch."""
    with app.batch() as batch:
        batch.put(Workspace(workspace_id="acme", name="n"))


def transaction() -> None:
    """Create a workspace in a transaction."""
    with app.transaction() as tx:
        tx.create(Workspace(workspace_id="acme", name="n"))


CALLS: list[tuple[str, Callable[[], Any]]] = [
    ("GetItem", lambda: key().get()),
    ("GetItem", lambda: key().get(select=[Document.title])),
    ("GetItem", lambda: app.get(pk="WS#acme", sk="DOC#d1")),
    ("Query", lambda: list(app.query(Workspace, Document, workspace_id="acme").limit(9))),
    ("Query", lambda: list(app.query(pk="WS#acme").raw().untyped("infer").limit(9))),
    ("Query", lambda: list(app.query(Document, workspace_id="acme").keys().limit(9))),
    ("Query", lambda: app.query(pk="WS#acme").page(size=1)),
    ("Query", lambda: app.query(Document, workspace_id="acme").count()),
    ("Query", lambda: list(Document.feed.query(workspace_id="acme").hydrate().limit(9))),
    ("Scan", lambda: list(app.scan().limit(9))),
    ("BatchGetItem", lambda: app.batch_get(key())),
    ("TransactGetItems", lambda: app.transact_get(key(), Document.key(workspace_id="acme", doc_id="d2"))),
    ("PutItem", lambda: Document(workspace_id="acme", doc_id="d1", title="x").put()),
    ("PutItem", lambda: Document(workspace_id="acme", doc_id="d1", title="x").create()),
    ("UpdateItem", lambda: key().update(Document.title.set("x"))),
    ("DeleteItem", lambda: key().delete()),
    ("BatchWriteItem", batch_write),
    ("TransactWriteItems", transaction),
]


@pytest.fixture(params=TRANSPORTS)
def scripted(request: pytest.FixtureRequest, stub: StubTransport) -> Iterator[StubTransport]:
    """The workspace app over a scripted DynamoDB, by each transport."""
    for operation in BODIES:
        stub.always(operation, ok())
    with app.bound(port=stub.port(transport=request.param), name=NAME):
        yield stub


def answered(status: int, body: Any) -> Reply:
    """An answer with DynamoDB's headers and a right checksum."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, raw, _dynamodb_headers(raw))


def damaged(body: dict[str, Any], chance: random.Random) -> bytes:
    """A body with some parts replaced, dropped or doubled."""
    tree = json.loads(json.dumps(body))
    for _ in range(chance.choice([1, 1, 2])):
        tree = replaced(tree, chance)
    return json.dumps(tree).replace('"@junk"', chance.choice(JUNK)).encode()


def attempt(call: Callable[[], Any]) -> None:
    """Make a call, with a meter; errors of tablekit are told without trouble."""
    try:
        with app.meter():
            call()
    except TablekitError as problem:
        str(problem)


@pytest.mark.parametrize(("operation", "call"), CALLS)
def test_a_damaged_answer_raises_what_is_documented(scripted: StubTransport, operation: str, call: Any) -> None:
    """A 200 of another shape, such as ``Items`` that is no list, and nothing of it is ever sent back."""
    chance = random.Random(operation)
    for _ in range(CASES):
        scripted._scripts.clear()
        scripted.script(operation, answered(200, damaged(BODIES[operation], chance)))
        attempt(call)


@pytest.mark.parametrize(("operation", "call"), CALLS)
def test_a_damaged_failure_raises_what_is_documented(scripted: StubTransport, operation: str, call: Any) -> None:
    """An error of another shape, such as reasons of a cancelled transaction without codes."""
    chance = random.Random(operation)
    for _ in range(CASES // 2):
        code = chance.choice(list(FAILURES))
        body = damaged({"__type": CODE + code, "message": "m", **FAILURES[code]}, chance)
        scripted._scripts.clear()
        scripted.script(operation, *[answered(400, body)] * 9)
        attempt(call)


@pytest.mark.parametrize("items", [1, "x", {"S": "x"}, [1], [[]], None])
def test_items_that_are_no_list_are_no_answer(scripted: StubTransport, items: Any) -> None:
    """The outer shape is looked at each time; null is what botocore leaves out."""
    scripted.script("Query", answered(200, {"Items": items, "Count": 1}))
    query = app.query(Document, workspace_id="acme")
    if items is None:
        assert list(query) == []
        return
    with pytest.raises(InvalidResponse, match="UnreadableBody"):
        list(query)


@pytest.mark.parametrize("name", ["title", "EntityType", "tags", "revision"])
@pytest.mark.parametrize("value", [1, "x", [], {}, {"M": 1}])
def test_a_row_with_a_bad_attribute_is_named(scripted: StubTransport, name: str, value: Any) -> None:
    """What is no attribute value is told with the key of its row, never as a TypeError out of the fast decoder."""
    scripted.script("Query", answered(200, {"Items": [{**TEXT_ITEM, name: value}], "Count": 1}))
    with pytest.raises(DataError, match="DOC#d1") as caught:
        list(app.query(Document, workspace_id="acme"))
    assert (caught.value.pk, caught.value.sk) == ("WS#acme", "DOC#d1")


@pytest.mark.parametrize("page_key", [{}, {"PK": "x"}, {"PK": {"S": 1}}, {"PK": {"M": {}}}, [], "x"])
def test_a_bad_place_to_go_on_is_never_sent_back(scripted: StubTransport, page_key: Any) -> None:
    """A LastEvaluatedKey that is no key ends the query with an error, not with wrong or endless pages."""
    scripted.script("Query", answered(200, {"Items": [], "Count": 0, "LastEvaluatedKey": page_key}))
    with pytest.raises(InvalidResponse):
        list(app.query(pk="WS#acme"))
    assert len(scripted.requests) == 1


def test_a_write_whose_answer_has_another_shape_was_applied(scripted: StubTransport) -> None:
    """DynamoDB's 200 says that the write was applied; the row is read where it is needed."""
    scripted.script("UpdateItem", answered(200, {"Attributes": {"PK": 1}}))
    scripted.script("GetItem", answered(200, {"Item": {**ITEM, "title": {"S": "x"}}}))
    assert key().update(Document.title.set("x")).title == "x"


def test_a_row_read_to_find_out_that_is_no_row_leaves_the_outcome_unknown(scripted: StubTransport) -> None:
    """Nothing is concluded from a row that is none of DynamoDB's."""
    scripted.script("UpdateItem", answered(200, {"Attributes": {"PK": 1}}))
    scripted.script("GetItem", answered(200, {"Item": {**TEXT_ITEM, "title": 1}}))
    with pytest.raises(WriteOutcomeUnknown, match="none of DynamoDB"):
        key().update(Document.title.set("x"))


def test_an_error_of_the_users_own_code_stays_itself(scripted: StubTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a damaged row explains an exception: that of a hook goes through."""

    def after_load(self: Document) -> None:
        raise TypeError("mine")

    monkeypatch.setattr(Document, "after_load", after_load)
    schema = Document.__schema__
    schema.compiled.pop("decode", None)
    scripted.script("Query", answered(200, {"Items": [ITEM], "Count": 1}))
    try:
        with pytest.raises(TypeError, match="mine"):
            list(app.query(Document, workspace_id="acme"))
    finally:
        schema.compiled.pop("decode", None)
