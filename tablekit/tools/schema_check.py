"""The classes against the table that is there: what differs, why it matters, and the way to mend it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.errors import ServiceError
from tablekit.operations.ddl import create_table_body, describe_table
from tablekit.operations.driver import run
from tablekit.operations.session import Session, SessionSource
from tablekit.tools.schema import ttl_attribute
from tablekit.wire.requests import Request

__all__ = ["Difference", "check_schema", "check_table", "schema_differences"]


@attrs.frozen
class Difference:
    """One difference between the classes and the table.

    Attributes:
        subject: what differs, such as ``"index GSI1"``. declared, found: both sides in words. why: what it does.
        remedy: how it is mended. severity: ``"error"`` when calls fail or answers are wrong, else ``"note"``.
    """

    subject: str
    declared: str
    found: str
    why: str
    remedy: str
    severity: Literal["error", "note"] = "error"

    def __str__(self) -> str:
        return f"{self.subject}: declared {self.declared}, found {self.found}. {self.why} {self.remedy}"


def check_table(app: TableDefinition) -> list[Difference]:
    """Compare an app with the table that is there: its key, key types, indexes, projections and time to live.

    Raises `TableNotFound`.
    """
    return run(schema_differences(cast(SessionSource, app).session()))


async def schema_differences(session: Session) -> list[Difference]:
    """The coroutine of `check_table`, over a session."""
    description = await describe_table(session)
    return check_schema(session.registry, description, await _described_ttl(session))


async def _described_ttl(session: Session) -> Mapping[str, Any] | None:
    if not session.capabilities.ttl:
        return None
    try:
        answer = await session.send(Request("DescribeTimeToLive", {}))
    except ServiceError as error:
        if error.code in ("UnknownOperationException", "AccessDeniedException"):
            return None  # what cannot be seen is not compared
        raise
    found: Mapping[str, Any] | None = answer.body.get("TimeToLiveDescription")
    return found


def check_schema(
    app: TableDefinition, description: Mapping[str, Any], ttl: Mapping[str, Any] | None = None
) -> list[Difference]:
    """Compare an app with DynamoDB's description of its table.

    Parameters:
        description: the ``Table`` of a DescribeTable answer. ttl: the ``TimeToLiveDescription``; None when it was not
            asked for.
    """
    wanted = create_table_body(app)
    found = _table_key(wanted, description)
    found += _attribute_types(app, description)
    found += _indexes(wanted, description, "GlobalSecondaryIndexes", "global index")
    found += _indexes(wanted, description, "LocalSecondaryIndexes", "local index")
    found += [_vector_index(index) for index in description.get("VectorIndexes", [])]
    if ttl is not None:
        found += _ttl(app, ttl)
    return found


def _keys(schema: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(f"{key['AttributeName']} ({key['KeyType']})" for key in schema)


def _table_key(wanted: Mapping[str, Any], description: Mapping[str, Any]) -> list[Difference]:
    declared, found = _keys(wanted["KeySchema"]), _keys(description.get("KeySchema", []))
    if declared == found:
        return []
    return [
        Difference(
            "the primary key",
            declared,
            found or "none",
            "Every call fails.",
            "A table's key cannot be changed: declare pk= and sk= as the table has them, or use another table.",
        )
    ]


def _attribute_types(app: TableDefinition, description: Mapping[str, Any]) -> list[Difference]:
    found: list[Difference] = []
    for definition in description.get("AttributeDefinitions", []):
        name, tag = definition["AttributeName"], definition["AttributeType"]
        used = {*app.key_names, *(key for index in app.indexes.values() for key in index.keys)}
        if name in used and app.key_type(name) != tag:
            found.append(
                Difference(
                    f"the key attribute {name}",
                    app.key_type(name),
                    tag,
                    "Writes are refused with a type mismatch.",
                    f"Say what the table has: Table(..., key_types={{{name!r}: {tag!r}}}).",
                )
            )
    return found


def _indexes(wanted: Mapping[str, Any], description: Mapping[str, Any], kind: str, word: str) -> list[Difference]:
    declared = {index["IndexName"]: index for index in wanted.get(kind, [])}
    present = {index["IndexName"]: index for index in description.get(kind, [])}
    found = [_missing_index(word, name, index) for name, index in declared.items() if name not in present]
    for name, index in present.items():
        if name not in declared:
            found.append(_extra_index(word, name, index))
        else:
            found += _index_differences(word, name, declared[name], index)
    return found


def _missing_index(word: str, name: str, index: Mapping[str, Any]) -> Difference:
    add = (
        "Add it to the table; its keys are filled for new writes only, so run the backfill of index keys afterwards."
        if word == "global index"
        else "Local indexes are made with the table only: use a global index, or a new table."
    )
    return Difference(f"{word} {name}", _keys(index["KeySchema"]), "no such index", "Queries of it fail.", add)


def _extra_index(word: str, name: str, index: Mapping[str, Any]) -> Difference:
    return Difference(
        f"{word} {name}",
        "no such index",
        _keys(index["KeySchema"]),
        "Nothing reads it through the classes; writes to its key attributes are still billed.",
        "Declare it, or drop it from the table.",
        "note",
    )


def _vector_index(index: Mapping[str, Any]) -> Difference:
    return Difference(
        f"vector index {index.get('IndexName', '?')}",
        "nothing: classes know no vector indexes",
        "a vector index",
        "It is neither compared nor priced; writes of its attribute are billed for it.",
        "None is needed: search it with DynamoDB's own client.",
        "note",
    )


def _index_differences(
    word: str, name: str, declared: Mapping[str, Any], present: Mapping[str, Any]
) -> list[Difference]:
    found: list[Difference] = []
    keys, theirs = _keys(declared["KeySchema"]), _keys(present["KeySchema"])
    additive = (
        "An index's key and projection cannot be changed: add another index under a new name, fill it with the "
        "backfill, move the queries, then drop this one."
    )
    if keys != theirs:
        found.append(Difference(f"the key of {word} {name}", keys, theirs, "Queries of it fail.", additive))
    mine, other = _projection(declared["Projection"]), _projection(present["Projection"])
    if mine != other:
        lost = _lost(declared["Projection"], present["Projection"])
        why = "Fields that the class expects are not loaded." if lost else "The index holds more than is declared."
        remedy = f"Declare what it holds, with projects_type=False where that lacks the type. Or change it: {additive}"
        found.append(
            Difference(f"the projection of {word} {name}", mine, other, why, remedy, "error" if lost else "note")
        )
    status = present.get("IndexStatus", "ACTIVE")
    if status != "ACTIVE":
        found.append(
            Difference(
                f"{word} {name}", "ACTIVE", status, "Queries of it fail or are not whole.", "Wait until it is built."
            )
        )
    return found


def _projection(projection: Mapping[str, Any]) -> str:
    names = ", ".join(sorted(projection.get("NonKeyAttributes", [])))
    kind: str = projection["ProjectionType"]
    return f"{kind} of {names}" if names else kind


def _lost(declared: Mapping[str, Any], present: Mapping[str, Any]) -> bool:
    order = {"KEYS_ONLY": 0, "INCLUDE": 1, "ALL": 2}
    mine, other = order[declared["ProjectionType"]], order[present["ProjectionType"]]
    if mine == other == 1:
        return not set(declared["NonKeyAttributes"]) <= set(present["NonKeyAttributes"])
    return mine > other


def _ttl(app: TableDefinition, ttl: Mapping[str, Any]) -> list[Difference]:
    declared = ttl_attribute(app)
    enabled = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    found = ttl.get("AttributeName") if enabled else None
    if declared == found:
        return []
    if declared is None:
        return [
            Difference(
                "time to live",
                "no ttl() field",
                f"rows expire by {found}",
                "DynamoDB deletes rows by an attribute that no class declares.",
                f"Declare it: `expires_at: Field[datetime | None] = ttl(default=None, name={found!r})`.",
                "note",
            )
        ]
    why = "Rows never expire." if found is None else "Rows expire by another attribute."
    return [
        Difference(
            "time to live",
            f"rows expire by {declared}",
            "off" if found is None else f"rows expire by {found}",
            why,
            "Enable it on the table for the declared attribute (create_table does so for a new table).",
        )
    ]
