"""What a table is, as descriptions of it say: DescribeTable, CreateTable bodies, CloudFormation, Terraform."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit._types import Item, KeyType
from tablekit.api.table import Table
from tablekit.definition.indexes import GlobalIndex, Index, LocalIndex
from tablekit.definition.registry import table_name_problem
from tablekit.errors import TablekitError
from tablekit.tools.adopt_cloudformation import parse_yaml, tables_of_template
from tablekit.tools.adopt_hcl import NotRead, tables_of_terraform
from tablekit.wire.plain import mapping_of

__all__ = ["YAML", "AdoptError", "BadRow", "SourceTable", "is_definition", "read_definitions", "table_of"]

YAML = (".yaml", ".yml")
"""How the names of files end that are read as YAML."""


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
    def usable_name(self) -> str:
        """The name, or one that is like it where DynamoDB takes no such name: of a file, of a template's expression."""
        if table_name_problem(self.name) is None:
            return self.name
        clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name).strip("-.")[:200]
        return clean if len(clean) > 2 else f"table-{clean}".rstrip("-")

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of the primary key."""
        return (self.pk,) if self.sk is None else (self.pk, self.sk)

    def as_table(self, **options: Any) -> Table:
        """A `Table` of it, without entities. Parameters are those of `Table`."""
        types: dict[str, KeyType] = {name: tag for name, tag in self.key_types.items() if tag != "S"}
        return Table(self.usable_name, pk=self.pk, sk=self.sk, indexes=self.indexes, key_types=types, **options)


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
    """The tables that a file defines: a CreateTable body, a CloudFormation template, or Terraform.

    Parameters:
        path: JSON (a CreateTable body, a DescribeTable answer, a template, ``cdk synth``), YAML (a template, SAM,
            serverless.yml), or a ``.tf`` file, whose folder is looked through for variables and locals.

    YAML and Terraform need the extra ``tablekit[adopt]``. Raises `AdoptError`.
    """
    place = Path(path)
    text = _text(place)
    try:
        if place.suffix == ".tf":
            beside = [_text(each) for each in sorted(place.parent.glob("*.tf")) if each.name != place.name]
            tables = [
                attrs.evolve(table_of(found.body, origin=place.name), notes=found.notes)
                for found in tables_of_terraform(text, beside)
            ]
        else:
            content = _parsed(place, text)
            tables = [table_of(body, name=name, origin=place.name) for name, body in _bodies(content, place.stem)]
    except NotRead as problem:
        raise AdoptError(
            f"{place} cannot be read as Terraform. {problem} A CreateTable body or the answer of DescribeTable can be "
            "given in its place."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AdoptError(
            f"{place} holds a table that cannot be read: {type(error).__name__} {error}. Give the CreateTable body or "
            "the answer of DescribeTable in its place."
        ) from None
    if not tables:
        raise AdoptError(f"{place} defines no DynamoDB table.")
    return tables


def _text(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AdoptError(f"{place} cannot be read ({type(error).__name__}).") from None


def _parsed(place: Path, text: str) -> Any:
    if place.suffix not in YAML:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise AdoptError(
                f"{place} is no JSON. Give a CreateTable body or a CloudFormation template; YAML in a .yaml or .yml "
                "file, Terraform in a .tf file."
            ) from None
    try:
        return parse_yaml(text)
    except ImportError:
        raise AdoptError(f'{place} is YAML, which needs the extra: pip install "tablekit[adopt]".') from None
    except ValueError as problem:
        raise AdoptError(f"{place} cannot be read: {problem}.") from None


def is_definition(content: Any) -> bool:
    """Whether JSON defines tables and holds no rows."""
    return isinstance(content, dict) and bool(_bodies(content, ""))


def _bodies(found: Any, stem: str) -> list[tuple[str, Mapping[str, Any]]]:
    content: Mapping[str, Any] = mapping_of(found) or {}
    described = mapping_of(content.get("Table")) or content
    if isinstance(described.get("KeySchema"), list):
        return [(stem, described)]
    return tables_of_template(content)
