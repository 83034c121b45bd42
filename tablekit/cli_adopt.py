"""The commands that lead from a table to classes and from classes to a model: adopt, workbench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tablekit.api.table import Table
from tablekit.cli_context import Context, pass_context, reporting, say
from tablekit.tools import adopt as adopting
from tablekit.tools import workbench as models
from tablekit.tools.printing import format_rows

__all__ = ["adopt", "workbench"]


@click.command()
@click.argument("source", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file to write; else it is printed.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--keys", help="The key attributes of rows that come without a definition, such as PK,SK.")
@click.option("--schema", type=click.Path(exists=True, dir_okay=False), help="A file with the table's definition.")
@click.option("--type-attribute", help="The attribute that holds the type; '' for none.")
@click.option("--limit", type=click.IntRange(1), help="Rows to look at; 2,000 of a live table by default.")
@click.option("--repair", is_flag=True, help="Read values without wire types inside maps and lists.")
@pass_context
@reporting
def adopt(
    context: Context, /, source: Path | None, out: Path | None, force: bool, keys: str | None, **rest: Any
) -> None:
    """Write models.py for a table that exists.

    SOURCE is the folder of an S3 export, a NoSQL Workbench model, a file of rows in DynamoDB JSON or plain JSON, or a
    definition (CreateTable, CloudFormation, Terraform). Without it the live table that --table names is sampled.
    The report stands on standard output where --out takes the module, else on the error stream.
    """
    if out is not None and out.exists() and not force:
        raise click.UsageError(f"{out} is there. Give another --out, or --force.")
    names = [name.strip() for name in keys.split(",")] if keys else None
    found = adopting.adopt(source if source is not None else _live(context), keys=names, **rest)
    if out is None:
        click.echo(found.source, nl=False)
    else:
        out.write_text(found.source, encoding="utf-8")
        say(f"wrote {out}")
    _report(context, found, aside=out is None)
    raise SystemExit(0 if found.complete else 1)


def _report(context: Context, found: adopting.Adoption, *, aside: bool) -> None:
    """Print what became of each table: beside a module that is printed, or as the output."""
    rows = [_row(table, whole=not context.is_table) for table in found.tables]
    if not aside:
        context.show(rows)
    elif not context.is_table:
        click.echo(format_rows(rows, context.format), nl=False, err=True)
    else:
        for row in rows:
            classes = "1 class" if row["classes"] == 1 else f"{row['classes']} classes"
            say(f"{row['table']}: {row['read']} of {row['rows']} rows read back by {classes}.")
    if context.is_table:
        for table in found.tables:
            for left in (*table.unread, *table.bad):
                say(f"left: {left}")


def _row(table: adopting.AdoptedTable, *, whole: bool) -> dict[str, Any]:
    left = [*table.unread, *table.bad]
    row: dict[str, Any] = {
        "table": table.name,
        "rows": table.rows,
        "read": sum(table.read.values()),
        "classes": len(table.read),
        "typed": table.typed,
        "left": len(left),
    }
    if whole:
        row["by_class"] = dict(table.read)
        row["changed"] = {name: dict(each) for name, each in table.changed.items()}
        row["rows_left"] = [{"place": each.place, "key": each.key, "reason": each.reason} for each in left]
    return row


def _live(context: Context) -> Table:
    if context.app_path is not None:
        return _told(context.app())
    name = context.connection.get("name")
    if name is None:
        raise click.UsageError("Give a SOURCE, or name the live table: tablekit --table NAME adopt.")
    options: dict[str, Any] = dict(context.connection)
    return _told(Table(name).connect(**options))


def _told(table: Table) -> Table:
    """Say that a live table is read, before it is."""
    say(f"{table.name}: reading a sample of its rows by scans of its segments.")
    return table


@click.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--author", default="", help="For the model's head.")
@click.option("--description", default="", help="For the model's head.")
@pass_context
@reporting
def workbench(context: Context, out: Path, author: str, description: str) -> None:
    """Write the classes as a model of NoSQL Workbench to OUT."""
    models.write_workbench(context.app(), out, author=author, description=description)
    say(f"wrote {out}")
