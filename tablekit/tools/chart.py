"""The entity chart: which types a table holds, under which keys, in which indexes, with which fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from tablekit.definition.registry import TableDefinition
from tablekit.tools.chart_rows import EntityRow, chart
from tablekit.tools.chart_svg import chart_svg
from tablekit.tools.printing import format_rows, printable

__all__ = ["ChartFormat", "EntityRow", "chart", "chart_text"]

ChartFormat = Literal["text", "markdown", "mermaid", "svg"]


def chart_text(app: TableDefinition, format: ChartFormat = "text") -> str:
    """The chart as text for a terminal, as Markdown tables, as a Mermaid class diagram, or as a picture in SVG."""
    rows = chart(app)
    if format == "markdown":
        return _markdown(app, rows)
    if format == "mermaid":
        return _mermaid(rows)
    if format == "svg":
        return chart_svg(rows)
    return _plain(app, rows)


def _index_names(app: TableDefinition) -> list[str]:
    return list(app.indexes)


def _keys(keys: dict[str, str] | None) -> str:
    return " / ".join(keys.values()) if keys else "-"


def _index_cell(row: EntityRow, index: str) -> str:
    """The key in an index, with the condition under which it is written."""
    keys = _keys(row.index_keys.get(index))
    return f"{keys} (when {row.when[index]})" if index in row.when else keys


def _plain(app: TableDefinition, rows: Sequence[EntityRow]) -> str:
    table = [
        {
            "Type": ", ".join((row.type, *row.aliases)),
            **{name: row.keys[name] for name in app.key_names},
            **{name: _index_cell(row, name) for name in _index_names(app)},
        }
        for row in rows
    ]
    lines = format_rows(table, "table").splitlines()
    for row in rows:
        lines += ["", printable(row.name)]
        wide = max((len(name) for name, _, _ in row.fields), default=0)
        kinds = max((len(kind) for _, kind, _ in row.fields), default=0)
        lines += [printable(f"  {name:{wide}}  {kind:{kinds}}  {notes}".rstrip()) for name, kind, notes in row.fields]
    return "\n".join(lines) + "\n" if lines else ""


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
