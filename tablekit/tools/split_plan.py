"""What a split needs to know of the app, as plain data that worker processes can be given."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, cast
from urllib.parse import quote

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.operations.dispatch import INTERNAL

__all__ = [
    "UNKNOWN",
    "UNTYPED",
    "Column",
    "Format",
    "SplitPlan",
    "file_names",
    "output_name",
    "plan_split",
    "safe_name",
]

Format = Literal["dynamodb-json", "json", "csv", "parquet", "import-ready"]
UNTYPED = "_untyped"
"""The output of rows without a type."""
UNKNOWN = "_unknown-"
"""How the output of a type begins that no class has."""
_LIBRARY = "_internal-"
"""How the output of a type begins that tablekit keeps for itself, such as the guard rows of unique values."""

_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_LONGEST = 160
"""File names end at 255 bytes; a prefix, a suffix and the ending of a temporary name have room as well."""


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
        type_attribute: the attribute that holds the type. outputs: stored type or alias to the name of its output.
        columns: for the output of each class its columns. format: the outputs' format.
    """

    type_attribute: str
    outputs: Mapping[str, str]
    columns: Mapping[str, tuple[Column, ...]]
    format: Format

    def output_of(self, image: Mapping[str, Any]) -> str:
        """The name of the output that a row belongs to: its type, an unknown type, or untyped."""
        stored = image.get(self.type_attribute)
        name = cast("dict[str, Any]", stored).get("S") if isinstance(stored, dict) else None
        if not isinstance(name, str):
            return UNTYPED
        return self.outputs.get(name) or _foreign(name)

    def columns_of(self, output: str) -> tuple[Column, ...] | None:
        """The columns of an output; None where the class is not known."""
        return self.columns.get(output)

    @property
    def digest(self) -> str:
        """Tells whether two plans give the same outputs."""
        parts = [self.type_attribute, sorted(self.outputs.items()), repr(sorted(self.columns.items())), self.format]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@lru_cache(maxsize=4096)
def _foreign(name: str) -> str:
    if name.startswith(INTERNAL):
        return _LIBRARY + safe_name(name[len(INTERNAL) :])
    return UNKNOWN + safe_name(name)


def plan_split(app: TableDefinition, format: Format) -> SplitPlan:
    """The plan for the entities of an app; aliases are folded into their class's type."""
    outputs = {spelling: output_name(schema) for schema in app.entities.values() for spelling in schema.own_types}
    columns = {output_name(schema): _columns(schema) for schema in app.entities.values()}
    return SplitPlan(app.type_attribute, outputs, columns, format)


def output_name(schema: EntitySchema) -> str:
    """The name of a class's output."""
    # What begins with an underscore is an output of ours.
    name = safe_name(schema.type)
    return f"%5F{name[1:]}" if name.startswith("_") else name


def _columns(schema: EntitySchema) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.attribute, tuple(sorted(field.codec.tags))) for field in schema.fields)


def safe_name(name: str) -> str:
    """A type as a file name: letters, digits, ``-`` and ``_`` as they are, anything else percent-encoded.

    A name that is too long is cut, and ends in a digest of the whole.
    """
    safe = quote(name, safe="", errors="surrogatepass").replace(".", "%2E").replace("~", "%7E")
    if _RESERVED.match(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    if len(safe) > _LONGEST:
        # Two names that begin alike stay two. Nothing encoded is followed by a dot, so no short name is like this.
        safe = f"{safe[:_LONGEST]}.{_short_digest(name)}"
    return safe or "%00"


def _short_digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_names(outputs: Iterable[str]) -> dict[str, str]:
    """The file name of each output: its own, and with a digest where others differ from it in case alone.

    macOS and Windows would keep the two in one file. Types of classes never differ in case alone.
    """
    by_folded: dict[str, list[str]] = {}
    for output in outputs:
        by_folded.setdefault(output.casefold(), []).append(output)
    return {
        output: output if len(alike) == 1 else f"{output}.{_short_digest(output)}"
        for alike in by_folded.values()
        for output in alike
    }
