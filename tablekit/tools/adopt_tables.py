"""What a table is, as descriptions of it say: DescribeTable, CreateTable bodies, CloudFormation, the CDK's output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import Item, KeyType
from tablekit.api.table import Table
from tablekit.definition.indexes import GlobalIndex, Index, LocalIndex
from tablekit.errors import TablekitError
from tablekit.tools.adopt_hcl import tables_of_terraform
from tablekit.wire.plain import mapping_of

__all__ = ["AdoptError", "BadRow", "SourceTable", "is_definition", "read_definitions", "table_of"]

RESOURCES = ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable")


class AdoptError(TablekitError):
    """A source cannot be adopted as it was given: what it is, or what it lacks."""


@attrs.frozen
class BadRow:
    """A row that is no row.

    Attributes:
        place: where it stands in the source. key: its key, as far as it has one. reason: what is wrong with it.
    """

    place: str
    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}, {self.key}: {self.reason}"


@attrs.frozen(kw_only=True)
class SourceTable:
    """A table as a source describes it, with the rows that were read of it.

    Attributes:
        name: its name. pk, sk: its key attributes. key_types: the scalar types of all key attributes, as far as they
            are known. indexes: its secondary indexes. ttl: the attribute by which rows expire. rows: in DynamoDB
            JSON. bad: the rows that could not be read. origin: where all this comes from. notes: what had to be
            concluded, for the reader of the result.
    """

    name: str
    pk: str
    sk: str | None
    key_types: Mapping[str, KeyType] = attrs.Factory(dict[str, KeyType])
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None
    rows: tuple[Item, ...] = ()
    bad: tuple[BadRow, ...] = ()
    origin: str = ""
    notes: tuple[str, ...] = ()

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of the primary key."""
        return (self.pk,) if self.sk is None else (self.pk, self.sk)

    def as_table(self, **options: Any) -> Table:
        """A `Table` of it, without entities. Parameters are those of `Table`."""
        types: dict[str, KeyType] = {name: tag for name, tag in self.key_types.items() if tag != "S"}
        return Table(self.name, pk=self.pk, sk=self.sk, indexes=self.indexes, key_types=types, **options)


def table_of(body: Mapping[str, Any], *, name: str | None = None, origin: str = "") -> SourceTable:
    """The table of a CreateTable body, a DescribeTable answer or the properties of a CloudFormation resource.

    Parameters:
        name: its name where the body has none. origin: where the body comes from.

    Raises `AdoptError`.
    """
    body = cast("Mapping[str, Any]", body.get("Table", body))
    try:
        pk, sk = _sides(body["KeySchema"])
        types = {entry["AttributeName"]: entry["AttributeType"] for entry in body.get("AttributeDefinitions", [])}
        # A name that CloudFormation makes up by a function is no name here.
        given = body.get("TableName")
        label = given if isinstance(given, str) else name or "table"
        return SourceTable(
            name=label,
            pk=pk[0],
            sk=sk[0] if sk else None,
            key_types=types,
            indexes=(
                *(_index(each, local=False) for each in body.get("GlobalSecondaryIndexes") or ()),
                *(_index(each, local=True) for each in body.get("LocalSecondaryIndexes") or ()),
            ),
            ttl=_ttl(body),
            origin=origin,
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise AdoptError(
            f"{origin or 'The definition'} is no definition of a table: {type(error).__name__} {error}. Give a "
            "CreateTable body, a DescribeTable answer, or a resource of CloudFormation or Terraform."
        ) from None


def _sides(key_schema: Sequence[Mapping[str, str]]) -> tuple[list[str], list[str]]:
    sides: dict[str, list[str]] = {"HASH": [], "RANGE": []}
    for entry in key_schema:
        sides[entry["KeyType"]].append(entry["AttributeName"])
    return sides["HASH"], sides["RANGE"]


def _index(body: Mapping[str, Any], *, local: bool) -> Index:
    pk, sk = _sides(body["KeySchema"])
    projection = body.get("Projection", {})
    kind = projection.get("ProjectionType", "ALL")
    chosen = tuple(projection.get("NonKeyAttributes", ())) if kind == "INCLUDE" else kind
    if local:
        return LocalIndex(body["IndexName"], sk[0], projection=chosen)
    return GlobalIndex(body["IndexName"], pk, sk or None, projection=chosen)


def _ttl(body: Mapping[str, Any]) -> str | None:
    specification: Mapping[str, Any] = body.get("TimeToLiveSpecification") or {}
    return specification.get("AttributeName") if specification.get("Enabled", True) else None


# Files


def read_definitions(path: str | Path) -> list[SourceTable]:
    """The tables that a file defines: a CreateTable body, a CloudFormation template in JSON, or Terraform.

    Raises `AdoptError`.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AdoptError(f"{place} cannot be read ({type(error).__name__}).") from None
    if place.suffix == ".tf":
        bodies = list(tables_of_terraform(text))
        return _some([table_of(body, origin=place.name) for body in bodies], place)
    try:
        found = json.loads(text)
    except ValueError:
        raise AdoptError(
            f"{place} is no JSON. Give a CreateTable body or a CloudFormation template in JSON, or Terraform in a .tf "
            "file; `cdk synth --json` writes one, and a YAML template is turned into JSON by `cfn-flip`."
        ) from None
    return _some([table_of(body, name=name, origin=place.name) for name, body in _bodies(found, place.stem)], place)


def is_definition(content: Any) -> bool:
    """Whether JSON defines tables and holds no rows."""
    return isinstance(content, dict) and bool(_bodies(content, ""))


def _some(tables: list[SourceTable], place: Path) -> list[SourceTable]:
    if not tables:
        raise AdoptError(f"{place} defines no DynamoDB table.")
    return tables


def _bodies(found: Any, stem: str) -> list[tuple[str, Mapping[str, Any]]]:
    content: Mapping[str, Any] = mapping_of(found) or {}
    described = mapping_of(content.get("Table")) or content
    resources = mapping_of(content.get("Resources")) or {}
    if isinstance(described.get("KeySchema"), list):
        return [(stem, described)]
    return [(name, each.get("Properties", {})) for name, each in resources.items() if each.get("Type") in RESOURCES]
