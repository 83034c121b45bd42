"""The entity chart: which types a table holds, under which keys, in which indexes, with which fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema

__all__ = ["ChartFormat", "EntityRow", "chart", "chart_text"]

ChartFormat = Literal["text", "markdown", "mermaid"]


@attrs.frozen
class EntityRow:
    """One entity of the chart.

    Attributes:
        name: the class. type, aliases: its stored type and old spellings. keys: key attribute to template.
        index_keys: index to the templates of its key attributes. fields: name, Python type and notes of each.
        when: index to the fields that decide whether a row is in it, where ``when=`` was given.
    """

    name: str
    type: str
    aliases: tuple[str, ...]
    keys: dict[str, str]
    index_keys: dict[str, dict[str, str]]
    fields: tuple[tuple[str, str, str], ...]
    when: dict[str, tuple[str, ...]] = attrs.Factory(dict[str, "tuple[str, ...]"])


def chart(app: TableDefinition) -> list[EntityRow]:
    """The entities of an app, in the order of their keys."""
    rows = [_row(schema) for schema in app.entities.values()]
    return sorted(rows, key=lambda row: tuple(row.keys.values()))


def _row(schema: EntitySchema) -> EntityRow:
    return EntityRow(
        schema.name,
        schema.type,
        schema.aliases,
        {key.attribute: key.template.text for key in schema.keys},
        {
            index_key.index.name: {key.attribute: key.template.text for key in index_key.keys}
            for index_key in schema.index_keys.values()
        },
        tuple((field.name, field.codec.name, ", ".join(_notes(schema, field))) for field in schema.fields),
        {each.index.name: each.uses for each in schema.index_keys.values() if each.conditional},
    )


def _notes(schema: EntitySchema, field: FieldSchema) -> Iterable[str]:
    if field.name in schema.key_fields:
        yield "key"
    if not field.given:
        yield f"{field.kind}()"
    elif field.required:
        yield "required"
    if field.kind == "ttl":
        yield "ttl()"
    if field.attribute != field.name:
        yield f"stored as {field.attribute}"
    if field.unique:
        yield "unique"
    if field.secret:
        yield "secret"


def chart_text(app: TableDefinition, format: ChartFormat = "text") -> str:
    """The chart as text for a terminal, as Markdown tables, or as a Mermaid class diagram."""
    rows = chart(app)
    if format == "markdown":
        return _markdown(app, rows)
    if format == "mermaid":
        return _mermaid(rows)
    return _plain(app, rows)


def _index_names(app: TableDefinition) -> list[str]:
    return list(app.indexes)


def _keys(keys: dict[str, str] | None) -> str:
    return " / ".join(keys.values()) if keys else "-"


def _index_cell(row: EntityRow, index: str) -> str:
    """The key in an index, with the fields that decide whether it is written."""
    keys = _keys(row.index_keys.get(index))
    return f"{keys} (when {', '.join(row.when[index])})" if index in row.when else keys


def _plain(app: TableDefinition, rows: Sequence[EntityRow]) -> str:
    header = ["Type", *app.key_names, *_index_names(app)]
    body = [
        [
            ", ".join((row.type, *row.aliases)),
            *(row.keys[name] for name in app.key_names),
            *(_index_cell(row, name) for name in _index_names(app)),
        ]
        for row in rows
    ]
    widths = [max(len(line[number]) for line in [header, *body]) for number in range(len(header))]
    lines = [_line(header, widths), "  ".join("-" * width for width in widths)]
    lines += [_line(line, widths) for line in body]
    for row in rows:
        lines += ["", row.name]
        wide = max((len(name) for name, _, _ in row.fields), default=0)
        kinds = max((len(kind) for _, kind, _ in row.fields), default=0)
        lines += [f"  {name:{wide}}  {kind:{kinds}}  {notes}".rstrip() for name, kind, notes in row.fields]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths)).rstrip()


def _markdown(app: TableDefinition, rows: Sequence[EntityRow]) -> str:
    header = ["Type", *(f"`{name}`" for name in app.key_names), *(f"index `{name}`" for name in _index_names(app))]
    lines = [_cells(header), _cells(["---"] * len(header))]
    for row in rows:
        keys = [f"`{row.keys[name]}`" for name in app.key_names]
        index_keys = [f"`{_index_cell(row, n)}`" if row.index_keys.get(n) else "" for n in _index_names(app)]
        spellings = f" ({', '.join(row.aliases)})" if row.aliases else ""
        lines.append(_cells([f"{row.type}{spellings}", *keys, *index_keys]))
    for row in rows:
        lines += ["", f"**{row.name}**", "", _cells(["Field", "Type", ""]), _cells(["---"] * 3)]
        lines += [_cells([f"`{name}`", f"`{kind}`", notes]) for name, kind, notes in row.fields]
    return "\n".join(lines) + "\n"


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _mermaid(rows: Sequence[EntityRow]) -> str:
    lines = ["classDiagram"]
    for row in rows:
        lines.append(f"    class {row.name} {{")
        lines += [f"        {_bare(kind)} {name}" for name, kind, _ in row.fields]
        lines.append("    }")
        lines.append(f'    note for {row.name} "{_note(row)}"')
    return "\n".join(lines) + "\n"


def _bare(kind: str) -> str:
    # Mermaid writes generics with tildes and ends a member at a brace.
    return kind.replace("[", "~").replace("]", "~").replace(" ", "").replace("|", "or")


def _note(row: EntityRow) -> str:
    parts = [f"{name}: {template}" for name, template in row.keys.items()]
    parts += [f"{index}: {_index_cell(row, index)}" for index in row.index_keys]
    return "\\n".join(parts).replace('"', "'")
