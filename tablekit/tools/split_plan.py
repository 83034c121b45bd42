"""What a split needs to know of the app, as plain data that worker processes can be given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast
from urllib.parse import quote

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema

__all__ = ["UNTYPED", "Column", "Format", "SplitPlan", "plan_split", "safe_name"]

Format = Literal["dynamodb-json", "json", "csv", "parquet"]
UNTYPED = "_untyped"
"""The output of rows without a type."""

_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")


@attrs.frozen
class Column:
    """One column of a CSV or Parquet output.

    Attributes:
        name: the field's name. attribute: the stored attribute. kind: the wire tags of the field's type, by which
            a Parquet column gets its type.
    """

    name: str
    attribute: str
    kind: tuple[str, ...]


@attrs.frozen
class SplitPlan:
    """How rows are told apart and written.

    Attributes:
        type_attribute: the attribute that holds the type. types: stored type or alias to the type it counts as.
        columns: for each known type its columns. key_names: the table's key attributes. format: the outputs' format.
    """

    type_attribute: str
    types: Mapping[str, str]
    columns: Mapping[str, tuple[Column, ...]]
    key_names: tuple[str, ...]
    format: Format

    def output_of(self, image: Mapping[str, Any]) -> str:
        """The name of the output that a row belongs to: its type, an unknown type, or untyped."""
        stored = image.get(self.type_attribute)
        name = cast("dict[str, Any]", stored).get("S") if isinstance(stored, dict) else None
        if not isinstance(name, str):
            return UNTYPED
        known = self.types.get(name)
        return safe_name(known) if known is not None else f"_unknown-{safe_name(name)}"

    def columns_of(self, output: str) -> tuple[Column, ...] | None:
        """The columns of an output; None where the class is not known."""
        for name, columns in self.columns.items():
            if safe_name(name) == output:
                return columns
        return None


def plan_split(app: TableDefinition, format: Format) -> SplitPlan:
    """The plan for the entities of an app; aliases are folded into their class's type."""
    types = {spelling: schema.type for schema in app.entities.values() for spelling in schema.own_types}
    columns = {schema.type: _columns(schema) for schema in app.entities.values()}
    return SplitPlan(app.type_attribute, types, columns, app.key_names, format)


def _columns(schema: EntitySchema) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.attribute, tuple(sorted(field.codec.tags))) for field in schema.fields)


def safe_name(name: str) -> str:
    """A type as a file name: letters, digits, ``-`` and ``_`` as they are, anything else percent-encoded."""
    safe = quote(name, safe="").replace(".", "%2E").replace("~", "%7E")
    if _RESERVED.match(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    # Percent-encoding triples a byte; file names end at 255 bytes.
    return safe[:200] or "%00"
