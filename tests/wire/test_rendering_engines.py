"""Engines take what is rendered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings

from tablekit.expressions.actions import Action
from tablekit.expressions.conditions import Condition
from tablekit.wire.rendering import Renderer
from tests.support.columns import column
from tests.support.engines import Engine
from tests.support.expressions import conditions, updates

KEY = {"PK": {"S": "a"}}
SHARED_TABLE = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def send(engine: Engine, table_name: str) -> Iterator[Any]:
    """A call that sends an UpdateItem for one row of a new table."""
    client = engine.client()
    client.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=table_name, WaiterConfig={"Delay": 1})

    def update(renderer: Renderer, **texts: str) -> dict[str, Any]:
        bindings = {"ExpressionAttributeNames": renderer.names, "ExpressionAttributeValues": renderer.values}
        given_bindings = {name: value for name, value in bindings.items() if value is not None}
        return dict(
            client.update_item(TableName=table_name, Key=KEY, ReturnValues="ALL_NEW", **texts, **given_bindings)
        )

    yield update
    client.delete_table(TableName=table_name)


@SHARED_TABLE
@given(condition=conditions())
def test_engine_takes_every_condition(send: Any, condition: Condition) -> None:
    """Whatever the names and the nesting, the engine parses the condition: it holds, or it does not."""
    renderer = Renderer()
    code = ""
    try:
        send(renderer, ConditionExpression=renderer.render_condition(condition))
    except ClientError as error:
        code = error.response["Error"]["Code"]
    assert code in ("", "ConditionalCheckFailedException")


@SHARED_TABLE
@given(actions=updates())
def test_r34_engine_changes_exactly_the_named_attributes(send: Any, actions: list[Action]) -> None:
    """R34: each attribute is changed under exactly its own name."""
    renderer = Renderer()
    stored = send(renderer, UpdateExpression=renderer.render_update(actions))["Attributes"]
    for action in actions:
        assert (action.path.attribute in stored) is (action.clause == "SET")


def test_r30_r31_list_actions_on_an_engine(send: Any) -> None:
    """R30, R31: append starts a missing list, and prepend and append put elements at their own ends."""
    items = column("items", list[str])
    for action in (items.append(["b"]), items.prepend(["a"]), items.append(["c"])):
        renderer = Renderer()
        stored = send(renderer, UpdateExpression=renderer.render_update([action]))["Attributes"]
    assert [value["S"] for value in stored["items"]["L"]] == ["a", "b", "c"]


def test_arithmetic_with_a_default_on_an_engine(send: Any) -> None:
    """A counter with a default starts at the default and then counts."""
    count = column("count", int)
    for _ in range(3):
        renderer = Renderer()
        action = count.set(count.if_not_exists(10) + 1)
        stored = send(renderer, UpdateExpression=renderer.render_update([action]))["Attributes"]
    assert stored["count"] == {"N": "13"}
