"""Creating, describing and deleting the physical table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

from tablekit.definition.indexes import Index
from tablekit.definition.registry import TableDefinition
from tablekit.errors import RequestError, ServiceError, TablekitError, TableNotFound
from tablekit.operations.deadline import overdue
from tablekit.operations.session import Session
from tablekit.wire.requests import Request

__all__ = ["Billing", "create_table", "create_table_body", "delete_table", "describe_table"]

Billing = Union[Literal["PAY_PER_REQUEST"], tuple[int, int]]
"""On demand, or provisioned read and write units."""

POLL_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def create_table_body(
    registry: TableDefinition,
    *,
    billing: Billing = "PAY_PER_REQUEST",
    stream: str | None = None,
    deletion_protection: bool = False,
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The body of CreateTable, without the table's name.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
    """
    throughput = _throughput(billing)
    body: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": registry.key_type(name)} for name in _key_attributes(registry)
        ],
        "KeySchema": _key_schema((registry.pk,), () if registry.sk is None else (registry.sk,)),
        "BillingMode": "PAY_PER_REQUEST" if throughput is None else "PROVISIONED",
        "ProvisionedThroughput": throughput,
        "GlobalSecondaryIndexes": [
            _index_body(registry, index, throughput) for index in registry.indexes.values() if not index.local
        ],
        "LocalSecondaryIndexes": [
            _index_body(registry, index, None) for index in registry.indexes.values() if index.local
        ],
        "StreamSpecification": None if stream is None else {"StreamEnabled": True, "StreamViewType": stream},
        "DeletionProtectionEnabled": True if deletion_protection else None,
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
    }
    return {name: value for name, value in body.items() if value not in (None, [])}


def _throughput(billing: Billing) -> dict[str, int] | None:
    if billing == "PAY_PER_REQUEST":
        return None
    read, write = billing
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


def _key_attributes(registry: TableDefinition) -> list[str]:
    names = [*registry.key_names]
    for index in registry.indexes.values():
        names += index.keys
    return list(dict.fromkeys(names))


def _key_schema(pk: Sequence[str], sk: Sequence[str]) -> list[dict[str, str]]:
    keys = [{"AttributeName": name, "KeyType": "HASH"} for name in pk]
    return keys + [{"AttributeName": name, "KeyType": "RANGE"} for name in sk]


def _index_body(registry: TableDefinition, index: Index, throughput: dict[str, int] | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.pk, index.sk),
        "Projection": _projection(registry, index),
    }
    if throughput is not None:
        body["ProvisionedThroughput"] = dict(throughput)
    return body


def _projection(registry: TableDefinition, index: Index) -> dict[str, Any]:
    if isinstance(index.projection, str):
        return {"ProjectionType": index.projection}
    keys = {*registry.key_names, *index.keys}
    # The type is what makes the index's rows entities, so an INCLUDE projection gets it by itself.
    own = (registry.type_attribute,) if index.projects_type else ()
    names = [name for name in dict.fromkeys((*index.projection, *own)) if name not in keys]
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": names}


async def create_table(
    session: Session,
    *,
    wait: bool = True,
    timeout: float = 300.0,
    ttl: str | None = None,
    **options: Any,
) -> bool:
    """Create the table unless it is there, and wait until it can be used.

    Parameters:
        wait: until the table and its indexes are ACTIVE. timeout: seconds to wait.
        ttl: the attribute by which rows expire; by default the one of the entities' ttl() fields.
        options: as for `create_table_body`.

    Returns whether the table was created. Raises `RequestError` for a name that is too short, `TablekitError` when
    the table is there with another key, and when it does not become ACTIVE in time.
    """
    if len(session.name) < 3:
        raise RequestError(f"A table is named by 3 to 255 characters, and {session.name!r} has {len(session.name)}.")
    body = create_table_body(session.registry, **options)
    created = True
    try:
        await session.send(Request("CreateTable", body))
    except ServiceError as error:
        if error.code != "ResourceInUseException":
            raise
        created = False
        _check_same(session, body, await describe_table(session))
    if wait or ttl is not None or _ttl_attribute(session.registry) is not None:
        await _wait_active(session, timeout)
    await _set_ttl(session, ttl if ttl is not None else _ttl_attribute(session.registry))
    return created


def _check_same(session: Session, body: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    if _as_set(found.get("KeySchema", [])) != _as_set(body["KeySchema"]):
        raise TablekitError(
            f"There is a table {session.name!r} already, and its key is another than the one declared. "
            "Point the app at another table, or declare pk= and sk= as the table has them."
        )


def _as_set(key_schema: Sequence[Mapping[str, str]]) -> set[tuple[str, str]]:
    return {(entry["AttributeName"], entry["KeyType"]) for entry in key_schema}


def _ttl_attribute(registry: TableDefinition) -> str | None:
    found = {schema.ttl.attribute for schema in registry.entities.values() if schema.ttl is not None}
    if len(found) > 1:
        raise TablekitError(
            f"The entities of table {registry.label!r} expire by different attributes ({', '.join(sorted(found))}), "
            "and a table has one. Store the ttl() fields under one name=."
        )
    return next(iter(found), None)


async def _wait_active(session: Session, timeout: float) -> None:
    waited = 0.0
    attempt = 0
    while True:
        try:
            table = await describe_table(session)
        except TableNotFound:
            # DescribeTable is eventually consistent: a table that was just created may not be seen yet.
            table = {}
        states = [table.get("TableStatus")]
        states += [index.get("IndexStatus", "ACTIVE") for index in table.get("GlobalSecondaryIndexes", [])]
        if all(state == "ACTIVE" for state in states):
            return
        if waited >= timeout:
            raise TablekitError(
                f"Table {session.name!r} was not ACTIVE after {timeout:.0f} seconds; it is {states[0]}."
            )
        pause = POLL_SECONDS[min(attempt, len(POLL_SECONDS) - 1)]
        if not await session.rest(pause):
            raise overdue("DescribeTable", session.name)
        waited += pause
        attempt += 1


async def _set_ttl(session: Session, attribute: str | None) -> None:
    if attribute is None or not session.capabilities.ttl:
        return
    answer = await session.send(Request("DescribeTimeToLive", {}))
    present = answer.body.get("TimeToLiveDescription", {})
    if present.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and present.get("AttributeName") == attribute:
        return
    specification = {"Enabled": True, "AttributeName": attribute}
    await session.send(Request("UpdateTimeToLive", {"TimeToLiveSpecification": specification}))


async def describe_table(session: Session) -> dict[str, Any]:
    """DynamoDB's description of the table. Raises `TableNotFound`."""
    answer = await session.send(Request("DescribeTable", {}))
    table: dict[str, Any] = answer.body.get("Table", {})
    return table


async def delete_table(session: Session, *, wait: bool = True, timeout: float = 300.0) -> bool:
    """Delete the table with all that is in it; gives whether it was there."""
    try:
        await session.send(Request("DeleteTable", {}))
    except TableNotFound:
        return False
    waited = 0.0
    while wait:
        try:
            await describe_table(session)
        except TableNotFound:
            return True
        if waited >= timeout:
            raise TablekitError(f"Table {session.name!r} was not deleted after {timeout:.0f} seconds.")
        if not await session.rest(0.1):
            raise overdue("DescribeTable", session.name)
        waited += 0.1
    return True
