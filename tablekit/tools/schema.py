"""The table as infrastructure code: what CreateTable, CloudFormation, the CDK and Terraform say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from tablekit.definition.registry import TableDefinition
from tablekit.operations.ddl import Billing, create_table_body
from tablekit.tools.workbench import workbench_model

__all__ = ["LEFT_OUT", "SchemaFormat", "schema_body", "schema_text"]

SchemaFormat = Literal["create-table", "cloudformation", "cdk", "terraform", "workbench"]

LEFT_OUT = (
    "Not in the classes, and so not here: point-in-time recovery, encryption keys, auto scaling, table class, "
    "resource policies, replicas, alarms."
)
"""What a definition of entities cannot say of a table."""


def schema_body(
    app: TableDefinition,
    name: str,
    *,
    billing: Billing = "PAY_PER_REQUEST",
    stream: str | None = None,
    deletion_protection: bool = False,
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The input of CreateTable: what ``aws dynamodb create-table --cli-input-json`` takes.

    Parameters:
        app: the table. name: the physical name. billing, stream, deletion_protection, tags: as for
            `Table.create_table`.
    """
    body = create_table_body(app, billing=billing, stream=stream, deletion_protection=deletion_protection, tags=tags)
    return {"TableName": name, **body}


def schema_text(app: TableDefinition, name: str, format: SchemaFormat = "create-table", **options: Any) -> str:
    """The table in one of the formats, ready to be written to a file.

    Parameters:
        format: ``"create-table"`` and ``"cdk"`` (the properties of ``CfnTable``) are JSON, ``"cloudformation"`` is a
            template, ``"terraform"`` a resource, ``"workbench"`` a model of NoSQL Workbench, with a facet for each
            entity. options: as for `schema_body`; a model has no place for them.
    """
    if format == "workbench":
        return _json(workbench_model(app, name=name))
    body = schema_body(app, name, **options)
    ttl = ttl_attribute(app)
    if format == "create-table":
        return _json(body)
    if format == "cloudformation":
        return _json(_cloudformation(body, ttl))
    if format == "cdk":
        return _json(_lower_first(_properties(body, ttl)))
    return _terraform(body, ttl)


def ttl_attribute(app: TableDefinition) -> str | None:
    """The attribute by which rows expire, of the first class that has one."""
    return next((schema.ttl.attribute for schema in app.entities.values() if schema.ttl is not None), None)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _properties(body: Mapping[str, Any], ttl: str | None) -> dict[str, Any]:
    properties = dict(body)
    stream = properties.pop("StreamSpecification", None)
    if stream is not None:
        # CloudFormation takes the view type alone; that it is there enables the stream.
        properties["StreamSpecification"] = {"StreamViewType": stream["StreamViewType"]}
    if ttl is not None:
        properties["TimeToLiveSpecification"] = {"AttributeName": ttl, "Enabled": True}
    return properties


def _cloudformation(body: Mapping[str, Any], ttl: str | None) -> dict[str, Any]:
    resource = {
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": _properties(body, ttl),
    }
    return {"AWSTemplateFormatVersion": "2010-09-09", "Description": LEFT_OUT, "Resources": {"Table": resource}}


def _lower_first(value: Any) -> Any:
    """Property names as the CDK's L1 constructs have them."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key[:1].lower() + key[1:]: _lower_first(inner) for key, inner in entries.items()}
    if isinstance(value, list):
        elements: list[Any] = [*value]
        return [_lower_first(inner) for inner in elements]
    return value


# Terraform


def _terraform(body: Mapping[str, Any], ttl: str | None) -> str:
    # The resource aws_dynamodb_table; its key_schema blocks carry multi-attribute keys.
    lines = [f"# {LEFT_OUT}", 'resource "aws_dynamodb_table" "table" {']
    lines += [f"  name         = {_hcl(body['TableName'])}", f"  billing_mode = {_hcl(body['BillingMode'])}"]
    for key in body["KeySchema"]:
        lines.append(
            f"  {'hash_key    ' if key['KeyType'] == 'HASH' else 'range_key   '} = {_hcl(key['AttributeName'])}"
        )
    lines += _throughput(body.get("ProvisionedThroughput"), "  ")
    if body.get("DeletionProtectionEnabled"):
        lines.append("  deletion_protection_enabled = true")
    stream = body.get("StreamSpecification")
    if stream is not None:
        lines += ["  stream_enabled   = true", f"  stream_view_type = {_hcl(stream['StreamViewType'])}"]
    for definition in body["AttributeDefinitions"]:
        lines += ["", "  attribute {", f"    name = {_hcl(definition['AttributeName'])}"]
        lines += [f"    type = {_hcl(definition['AttributeType'])}", "  }"]
    for kind, block in (("GlobalSecondaryIndexes", "global"), ("LocalSecondaryIndexes", "local")):
        for index in body.get(kind, []):
            lines += ["", f"  {block}_secondary_index {{", *_terraform_index(index, block), "  }"]
    if ttl is not None:
        lines += ["", "  ttl {", f"    attribute_name = {_hcl(ttl)}", "    enabled        = true", "  }"]
    lines += _tags(body.get("Tags", []))
    return "\n".join([*lines, "}", ""])


def _terraform_index(index: Mapping[str, Any], block: str) -> list[str]:
    lines = [f"    name            = {_hcl(index['IndexName'])}"]
    keys = index["KeySchema"]
    parts = {kind: [key["AttributeName"] for key in keys if key["KeyType"] == kind] for kind in ("HASH", "RANGE")}
    if len(parts["HASH"]) > 1 or len(parts["RANGE"]) > 1:
        for key in keys:
            lines += ["    key_schema {", f"      attribute_name = {_hcl(key['AttributeName'])}"]
            lines += [f"      key_type       = {_hcl(key['KeyType'])}", "    }"]
    else:
        if block == "global":
            lines.append(f"    hash_key        = {_hcl(parts['HASH'][0])}")
        lines += [f"    range_key       = {_hcl(name)}" for name in parts["RANGE"]]
    projection = index["Projection"]
    lines.append(f"    projection_type = {_hcl(projection['ProjectionType'])}")
    if "NonKeyAttributes" in projection:
        names = ", ".join(map(_hcl, projection["NonKeyAttributes"]))
        lines.append(f"    non_key_attributes = [{names}]")
    return lines + _throughput(index.get("ProvisionedThroughput"), "    ")


def _throughput(throughput: Mapping[str, int] | None, indent: str) -> list[str]:
    if throughput is None:
        return []
    return [
        f"{indent}read_capacity  = {throughput['ReadCapacityUnits']}",
        f"{indent}write_capacity = {throughput['WriteCapacityUnits']}",
    ]


def _tags(tags: list[Mapping[str, str]]) -> list[str]:
    if not tags:
        return []
    return ["", "  tags = {", *(f"    {_hcl(tag['Key'])} = {_hcl(tag['Value'])}" for tag in tags), "  }"]


def _hcl(text: str) -> str:
    """A string of Terraform's language; ``${`` and ``%{`` begin templates in it and are doubled."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
