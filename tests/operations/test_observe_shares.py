"""How the units of one request fall to the types of its rows."""

from __future__ import annotations

import pytest

from tablekit.operations.observe import consumed_units, observed
from tablekit.operations.shares import UNKNOWN
from tablekit.wire.requests import BatchRequest, Request, TransactionRequest
from tests.support.models import app

KEY = {"PK": {"S": "WS#acme"}, "SK": {"S": "META"}}
WORKSPACE = {**KEY, "EntityType": {"S": "Workspace"}}
BIG = {**KEY, "EntityType": {"S": "Document"}, "body": {"S": "b" * 2500}}
STRANGE = {"PK": {"S": "?"}, "SK": {"S": "?"}}


def seen(request, body, units=4.0):
    """The observation of a request that consumed so many units."""
    capacity = {"ConsumedCapacity": [{"TableName": "t", "CapacityUnits": units}]}
    return observed(request, "t", app, {**body, **capacity}, attempts=1, seconds=0.1)


def test_a_batch_write_is_divided_by_rows():
    """A put pays by its size, a delete is told by its key and pays one share."""
    writes = [{"PutRequest": {"Item": BIG}}, {"DeleteRequest": {"Key": KEY}}]
    found = seen(BatchRequest("BatchWriteItem", {"t": writes}), {})
    assert found.by_entity == {"Document": 3, "Workspace": 1}
    assert (found.size, found.read) == (2, 0)


def test_a_batch_get_is_divided_by_rows_found():
    """Missing keys have no type; what is found pays for them."""
    found = seen(BatchRequest("BatchGetItem", {"t": {"Keys": [KEY, STRANGE]}}), {"Responses": {"t": [WORKSPACE]}})
    assert found.by_entity == {"Workspace": 4}
    assert (found.size, found.read, found.count) == (2, 1, 1)


def test_a_transaction_is_divided_by_its_actions():
    """Puts are told by their item, other actions by their key."""
    actions = [{"Put": {"Item": WORKSPACE}}, {"Update": {"Key": STRANGE}}]
    assert seen(TransactionRequest("TransactWriteItems", actions), {}).by_entity == {"Workspace": 2, UNKNOWN: 2}


def test_a_transactional_get_reads_what_it_finds():
    """Rows of TransactGetItems stand one by one, missing ones empty."""
    request = TransactionRequest("TransactGetItems", [{"Get": {"Key": KEY}}] * 2)
    found = seen(request, {"Responses": [{"Item": WORKSPACE}, {}]})
    assert (found.by_entity, found.read, found.size) == ({"Workspace": 4}, 1, 2)


def test_a_request_of_one_class_pays_whole():
    """A query for one class is that class's, whatever a filter dropped."""
    request = Request("Query", {}, entity="Document", index="GSI1")
    found = seen(request, {"Items": [], "Count": 0, "ScannedCount": 9})
    assert (found.by_entity, found.read, found.count) == ({"Document": 4}, 9, 0)


@pytest.mark.parametrize("body", [{}, {"ConsumedCapacity": None}])
def test_an_answer_without_capacity_costs_nothing_that_is_known(body):
    """Engines that say nothing are not guessed at."""
    assert consumed_units(body) == {}


def test_capacity_of_indexes_is_taken_apart():
    """The table's own units are the total less those of its indexes."""
    capacity = {"CapacityUnits": 5.0, "GlobalSecondaryIndexes": {"GSI1": {"CapacityUnits": 2.0}}}
    assert consumed_units({"ConsumedCapacity": capacity}) == {"": 3.0, "GSI1": 2.0}
