"""The table that the rows of one type alone need: the key of the shared table, and the indexes that they are in."""

from __future__ import annotations

import re
from typing import Any

from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import RequestError
from tablekit.operations.ddl import create_table_body

__all__ = ["entity_of", "own_table_body", "own_table_name"]

_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def entity_of(app: TableDefinition, type: str) -> EntitySchema:
    """The class of a stored type or alias. Raises `RequestError` naming those that there are."""
    found = app.by_type.get(type)
    if found is None:
        known = ", ".join(sorted(app.entities)) or "none"
        raise RequestError(f"No class of table {app.label!r} has the type {type!r}; there are: {known}.")
    return found


def own_table_body(app: TableDefinition, schema: EntitySchema | None, *, local: bool = True) -> dict[str, Any]:
    """The body of CreateTable for the rows of a class, without the table's name.

    Parameters:
        schema: the class; None for rows of no class, which may be in any index. local: with its local indexes.
    """
    body = create_table_body(app)
    if not local:
        body.pop("LocalSecondaryIndexes", None)
    for kind in _INDEXES:
        body[kind] = [each for each in body.get(kind, ()) if schema is None or _names(each) <= schema.known]
    return _whole(body)


def _names(described: dict[str, Any]) -> set[str]:
    return {key["AttributeName"] for key in described["KeySchema"]}


def _whole(body: dict[str, Any]) -> dict[str, Any]:
    """The body without empty members, and with the definitions of those attributes alone that are keys."""
    used = _names(body)
    for kind in _INDEXES:
        used = used.union(*map(_names, body[kind]))
    body["AttributeDefinitions"] = [each for each in body["AttributeDefinitions"] if each["AttributeName"] in used]
    return {name: value for name, value in body.items() if value != []}


def own_table_name(app: TableDefinition, output: str) -> str:
    """A name for the table, of the characters that there may be in one."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{app.label}-{output}").strip("-")
    return name[:255].ljust(3, "-")
