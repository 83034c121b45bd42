"""One row of the table in full; where edits are switched on, with a form for its fields."""

from __future__ import annotations

import json
from typing import Any

import attrs
from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import app
from examples.workspace.web.errors import NotFound
from examples.workspace.web.rendering import render, shown
from tablekit import Entity
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.tools.browse import BrowseRow, browse_row

__all__ = ["Cell", "cells", "editable", "show", "show_row"]


@attrs.frozen
class Cell:
    """One value of a row.

    Attributes:
        name: the field, or the attribute of a row that no class reads. text: its value as text. takes: its Python
            type. note: what is particular about it. editable: whether the form offers it.
    """

    name: str
    text: str
    takes: str = ""
    note: str = ""
    editable: bool = False

    @property
    def json(self) -> str:
        """The text as JSON: a browser that sends it back changes no end of a line in it."""
        return json.dumps(self.text)

    @property
    def long(self) -> bool:
        """Whether the text wants more than a line."""
        return len(self.text) > 60 or "\n" in self.text


def show(request: Request) -> Response:
    """The row of the address."""
    return show_row(request, {}, {})


def show_row(request: Request, given: dict[str, str], problems: dict[str, str], status: int = 200) -> Response:
    """A row.

    Parameters:
        given: what the form already has, by field. problems: what is wrong with it.
    """
    pk, sk = request.query_params.get("pk", ""), request.query_params.get("sk", "")
    row = browse_row(app, pk=pk, sk=sk) if pk and sk else None
    if row is None:
        raise NotFound("row under this key")
    found = cells(row)
    values: dict[str, Any] = {"row": row, "cells": found, "given": given, "problems": problems}
    return render(request, "row.html", status=status, can_edit=any(cell.editable for cell in found), **values)


def cells(row: BrowseRow) -> list[Cell]:
    """What a row holds, by field."""
    schema = app.by_type.get(row.type)
    fields = {} if schema is None else {field.name: field for field in schema.fields}
    return [
        Cell(name, shown(value))
        if schema is None or name not in fields
        else Cell(
            name, shown(value), _type_of(fields[name]), _note(schema, fields[name]), editable(schema, fields[name])
        )
        for name, value in row.values.items()
    ]


def editable(schema: EntitySchema, field: FieldSchema) -> bool:
    """Whether a field may be edited here: data of an entity that is no part of its key and no secret."""
    plain = issubclass(schema.entity, Entity) and field.given and not field.secret
    return plain and field.name not in schema.key_fields


def _type_of(field: FieldSchema) -> str:
    return (
        getattr(field.annotation, "__name__", str(field.annotation))
        if isinstance(field.annotation, type)
        else str(field.annotation)
    )


def _note(schema: EntitySchema, field: FieldSchema) -> str:
    if field.secret:
        return "secret: its value is not shown"
    if field.name in schema.key_fields:
        return "part of the key"
    return "" if field.given else "kept by tablekit"
