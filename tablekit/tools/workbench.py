"""NoSQL Workbench models: to tables with rows, and from classes.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.html
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import Item
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.operations.ddl import create_table_body
from tablekit.tools.adopt_rows import read_rows
from tablekit.tools.adopt_tables import AdoptError, SourceTable, table_of
from tablekit.wire.plain import json_item, mapping_of

__all__ = ["is_workbench", "read_workbench", "workbench_model", "write_workbench"]


def is_workbench(content: Any) -> bool:
    """Whether JSON is a Workbench model."""
    return isinstance((mapping_of(content) or {}).get("DataModel"), list)


def read_workbench(source: str | Path | Mapping[str, Any], *, repair: bool = False) -> list[SourceTable]:
    """The tables of a model, with the rows of their sample data and of their facets.

    Parameters:
        source: a file, or its content. repair: read plain values inside maps and lists, which Workbench writes and
            DynamoDB JSON does not have, as what they look like; each such row is noted.

    Raises `AdoptError`.
    """
    content: Any = source
    origin = "Workbench model"
    if isinstance(source, (str, Path)):
        origin = Path(source).name
        try:
            content = json.loads(Path(source).read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            raise AdoptError(f"{source} cannot be read as JSON ({type(error).__name__}).") from None
    if not is_workbench(content):
        raise AdoptError(f"{origin} is no model of NoSQL Workbench: it has no DataModel.")
    try:
        return [_table(entry, origin, repair=repair) for entry in content["DataModel"]]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise AdoptError(
            f"{origin} does not have the form of a NoSQL Workbench model ({type(error).__name__} {error}). Export the "
            "model again from Workbench."
        ) from None


def _table(entry: Mapping[str, Any], origin: str, *, repair: bool) -> SourceTable:
    body = {
        "TableName": entry.get("TableName"),
        "KeySchema": _key_schema(entry.get("KeyAttributes", {})),
        "AttributeDefinitions": list(_definitions(entry)),
        "GlobalSecondaryIndexes": [
            {**index, "KeySchema": _key_schema(index.get("KeyAttributes", {}))}
            for index in entry.get("GlobalSecondaryIndexes", [])
        ],
    }
    table = table_of(body, origin=origin)
    given = [(f"row {number}", row) for number, row in enumerate(entry.get("TableData") or [], 1)]
    facets: list[Mapping[str, Any]] = entry.get("TableFacets") or []
    for facet in facets:
        rows = enumerate(facet.get("TableData") or [], 1)
        given += [(f"facet {facet.get('FacetName')}, row {number}", row) for number, row in rows]
    read = read_rows(given, table.key_names, repair=repair)
    return attrs.evolve(table, rows=read.rows, bad=read.bad, notes=read.notes)


def _key_schema(attributes: Mapping[str, Any]) -> list[dict[str, str]]:
    sides = (("PartitionKey", "HASH"), ("SortKey", "RANGE"))
    found: list[dict[str, str]] = []
    for side, kind in sides:
        given = attributes.get(side)
        found += [{"AttributeName": key["AttributeName"], "KeyType": kind} for key in _several(given)]
    return found


def _several(given: Any) -> list[Mapping[str, Any]]:
    """One key attribute, or those of a multi-attribute key."""
    if isinstance(given, list):
        return cast("list[Mapping[str, Any]]", given)
    return [given] if given else []


def _definitions(entry: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    for holder in (entry, *entry.get("GlobalSecondaryIndexes", [])):
        for given in holder.get("KeyAttributes", {}).values():
            for key in _several(given):
                yield {"AttributeName": key["AttributeName"], "AttributeType": key.get("AttributeType", "S")}


# From classes


def workbench_model(
    app: TableDefinition, rows: Iterable[Item] = (), *, name: str | None = None, author: str = "", description: str = ""
) -> dict[str, Any]:
    """The model of a table's classes, with a facet for each entity; ``json.dumps`` of it is what Workbench imports.

    Parameters:
        rows: sample rows in DynamoDB JSON, such as ``[doc.to_item() for doc in docs]``. name: the model's and the
            table's name. author, description: for its head.
    """
    kept = list(rows)
    body = create_table_body(app)
    types = {entry["AttributeName"]: entry["AttributeType"] for entry in body["AttributeDefinitions"]}
    label = name or app.label
    now = datetime.now(timezone.utc).strftime("%b %d, %Y, %I:%M %p")
    entry: dict[str, Any] = {
        "TableName": label,
        "KeyAttributes": _key_attributes(body["KeySchema"], types),
        "NonKeyAttributes": _non_key(app, kept, types),
        "TableFacets": [_facet(app, schema) for schema in app.entities.values() if not schema.internal],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index["IndexName"],
                "KeyAttributes": _key_attributes(index["KeySchema"], types),
                "Projection": index["Projection"],
            }
            for index in body.get("GlobalSecondaryIndexes", [])
        ],
        "TableData": [json_item(row) for row in kept],
        "DataAccess": {"MySql": {}},
        "BillingMode": "PAY_PER_REQUEST",
    }
    head = {
        "Author": author,
        "DateCreated": now,
        "DateLastModified": now,
        "Description": description,
        "AWSService": "Amazon DynamoDB",
        "Version": "3.0",
    }
    return {"ModelName": label, "ModelMetadata": head, "DataModel": [entry]}


def _key_attributes(key_schema: Sequence[Mapping[str, str]], types: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for side, kind in (("PartitionKey", "HASH"), ("SortKey", "RANGE")):
        names = [key["AttributeName"] for key in key_schema if key["KeyType"] == kind]
        keys = [{"AttributeName": name, "AttributeType": types[name]} for name in names]
        if keys:
            found[side] = keys[0] if len(keys) == 1 else keys
    return found


def _non_key(app: TableDefinition, rows: Sequence[Item], types: Mapping[str, str]) -> list[dict[str, str]]:
    found = {app.type_attribute: "S"}
    for schema in app.entities.values():
        for field in schema.fields:
            found.setdefault(field.attribute, next(iter(field.codec.tags), "S"))
        found.update({key.attribute: key.type for each in schema.index_keys.values() for key in each.written})
    for row in rows:
        for attribute, value in row.items():
            found.setdefault(attribute, next(iter(value)))
    return [{"AttributeName": key, "AttributeType": tag} for key, tag in found.items() if key not in app.key_names]


def _facet(app: TableDefinition, schema: EntitySchema) -> dict[str, Any]:
    aliases = {"PartitionKeyAlias": schema.pk.template.text}
    if schema.sk is not None:
        aliases["SortKeyAlias"] = schema.sk.template.text
    names = [app.type_attribute, *(field.attribute for field in schema.fields)]
    return {
        "FacetName": schema.name,
        "KeyAttributeAlias": aliases,
        "NonKeyAttributes": [each for each in dict.fromkeys(names) if each not in app.key_names],
        "DataAccess": {"MySql": {}},
    }


def write_workbench(app: TableDefinition, path: str | Path, rows: Iterable[Item] = (), **options: Any) -> Path:
    """Write the model of a table's classes to a file; options as for `workbench_model`."""
    place = Path(path)
    text = json.dumps(workbench_model(app, rows, **options), indent=2)
    place.write_text(text + "\n", encoding="utf-8")
    return place
