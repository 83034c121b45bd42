"""The commands that read a table or the singletons in it: browse, explain, cost, flags."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, cast

import click

from tablekit.cli_context import Context, pass_context, reporting
from tablekit.errors import RequestError
from tablekit.tools import browse as browsing
from tablekit.tools import cost as costs
from tablekit.tools import flags as flagging
from tablekit.tools.printing import format_rows

__all__ = ["browse", "cost", "explain", "flags"]

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_yellow")
SHOWN = 60
"""Characters of a row's values in a table; --full shows them whole."""


@click.command()
@click.option("--pk", help="The partition key, as it is stored.")
@click.option("--index", help="Browse an index; --pk is then its partition key.")
@click.option("--type", "kind", help="Only rows of this type.")
@click.option("--scan", is_flag=True, help="Read the whole table, page by page, which is billed.")
@click.option("--limit", type=click.IntRange(1), default=20, help="Rows on the page.")
@click.option("--reverse", is_flag=True, help="In descending order.")
@click.option("--cursor", help="Go on after a page, with the cursor that it printed.")
@click.option("--full", is_flag=True, help="Show each row in full.")
@pass_context
@reporting
def browse(
    context: Context, /, pk: str | None, index: str | None, kind: str | None, scan: bool, full: bool, **paging: Any
) -> None:
    """Look at a partition, an index, or a page of a scan, with the Type column first."""
    app = context.app()
    if pk is None and not scan:
        raise click.UsageError("Name a partition with --pk, or say --scan: it reads and bills the whole table.")
    page = browsing.browse(app, pk=pk, index=index, type=kind, scan=scan, **paging)
    if context.format != "table":
        context.show([_whole(app, row) for row in page.rows])
    elif full:
        for row in page.rows:
            click.echo(format_rows([{"": name, " ": value} for name, value in _whole(app, row).items()], "table"))
    else:
        _print_table(app, page.rows)
    click.echo(f"{page.request}", err=True)
    click.echo(f"{page.operation}: {page.scanned} rows read, {page.consumed:g} units.", err=True)
    if page.cursor is not None:
        click.echo(f"more: --cursor {page.cursor}", err=True)


def _whole(app: Any, row: browsing.BrowseRow) -> dict[str, Any]:
    key = {app.pk: row.pk} if app.sk is None else {app.pk: row.pk, app.sk: row.sk}
    return {"Type": row.label, **key, **row.values}


def _print_table(app: Any, rows: Sequence[browsing.BrowseRow]) -> None:
    shown: list[dict[str, Any]] = []
    for row in rows:
        values = " ".join(f"{name}={value}" for name, value in row.values.items())
        cut = values if len(values) <= SHOWN else f"{values[: SHOWN - 1]}…"
        key = {app.pk: row.pk} if app.sk is None else {app.pk: row.pk, app.sk: row.sk}
        shown.append({"Type": row.label, **key, "values": cut})
    lines = format_rows(shown, "table").splitlines()
    colours: dict[str, str] = {}
    for number, line in enumerate(lines):
        label = shown[number - 2]["Type"] if number > 1 else ""
        colour = colours.setdefault(label, COLOURS[len(colours) % len(COLOURS)]) if label else None
        click.echo(click.style(line[: len(label)], fg=colour) + line[len(label) :])


@click.command()
@click.argument("words", nargs=-1, metavar="CLASS... FIELD=VALUE...")
@click.option("--index", help="Of an index.")
@click.option("--items", type=click.IntRange(0), help="Rows where it reads, for an estimate.")
@click.option("--item-bytes", type=click.IntRange(1), help="Bytes of each.")
@click.option("--matching", type=click.IntRange(0), help="How many of them are wanted.")
@click.option("--as", "form", type=click.Choice(["text", "cli", "boto3"]), default="text", help="The request's form.")
@pass_context
@reporting
def explain(
    context: Context,
    words: tuple[str, ...],
    index: str | None,
    items: int | None,
    item_bytes: int | None,
    matching: int | None,
    form: str,
) -> None:
    """Show the request of a query without sending it.

    Give the classes, and parts of their keys: `tablekit explain Document workspace_id=acme`.
    """
    app = context.app()
    classes = [_class(app, word) for word in words if "=" not in word]
    values = dict(_part(app, classes, word) for word in words if "=" in word)
    if not classes:
        raise click.UsageError("Name the classes to query, such as Document workspace_id=acme.")
    explanation = app.query(*classes, index=index, **values).explain()
    click.echo({"text": explanation.text, "cli": explanation.aws_cli, "boto3": explanation.boto3}[form])
    if items is not None and item_bytes is not None:
        click.echo(explanation.estimate(items=items, item_bytes=item_bytes, matching=matching))


def _class(app: Any, name: str) -> type[Any]:
    schema = app.by_type.get(name) or next((s for s in app.entities.values() if s.name == name), None)
    if schema is None:
        raise click.UsageError(f"No class {name!r}; there are: {', '.join(sorted(app.entities))}.")
    entity: type[Any] = schema.entity
    return entity


def _part(app: Any, classes: Sequence[type[Any]], word: str) -> tuple[str, Any]:
    name, _, text = word.partition("=")
    for cls in classes:
        field = getattr(cls, "__schema__").by_name.get(name)  # noqa: B009  (of a class that is only known by name)
        if field is not None:
            return name, flagging.parse_value(field, text)
    raise RequestError(f"{name!r} is no field of {', '.join(cls.__name__ for cls in classes)}.")


@click.command()
@click.option("--items", type=click.IntRange(0), default=1, help="Rows that lie where it reads.")
@click.option("--item-bytes", type=click.IntRange(1), required=True, help="Bytes of a row.")
@click.option("--matching", type=float, default=1.0, help="The part of them that is wanted, 0 to 1.")
@click.option("--reads", type=float, default=0.0, help="Reads a second.")
@click.option("--writes", type=float, default=0.0, help="Writes a second.")
@click.option("--indexes", type=click.IntRange(0), default=0, help="Indexes that the written rows are in.")
@click.option("--consistent", is_flag=True)
@click.option("--transactional", is_flag=True)
@click.option("--prices", type=click.Path(exists=True, dir_okay=False), help="A price file, in place of the defaults.")
@pass_context
@reporting
def cost(
    context: Context,
    items: int,
    item_bytes: int,
    matching: float,
    reads: float,
    writes: float,
    indexes: int,
    consistent: bool,
    transactional: bool,
    prices: str | None,
) -> None:
    """Price an access pattern: by key, by filter, by a sparse index; on demand and provisioned."""
    pattern = costs.AccessPattern(
        name="pattern",
        items=items,
        item_bytes=item_bytes,
        matching=matching,
        reads_per_second=reads,
        writes_per_second=writes,
        indexes=indexes,
        consistent=consistent,
        transactional=transactional,
    )
    table = costs.Prices.load(prices) if prices is not None else costs.PRICES
    attrs = importlib.import_module("attrs")
    context.show([_flat(attrs.asdict(option)) for option in costs.compare(pattern, prices=table)])
    click.echo(f"Prices of {table.region} as of {table.as_of}.", err=True)


def _flat(option: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in option.items():
        if isinstance(value, dict):
            flat.update(_flat(cast("dict[str, Any]", value)))
        else:
            flat[name] = value
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in flat.items()}


@click.group(invoke_without_command=True)
@click.pass_context
def flags(click_context: click.Context) -> None:
    """List every singleton with its values, source and age; `flags set` changes them."""
    if click_context.invoked_subcommand is None:
        click_context.invoke(_list_flags)


@click.command()
@pass_context
@reporting
def _list_flags(context: Context) -> None:
    context.show(
        [
            {
                "singleton": row.singleton,
                "name": row.name,
                "value": row.value,
                "source": row.source,
                "age": None if row.age is None else round(row.age, 1),
                "version": row.version,
            }
            for row in flagging.list_flags(context.app())
        ]
    )


@flags.command("set")
@click.argument("singleton")
@click.argument("changes", nargs=-1, required=True)
@pass_context
@reporting
def set_flags(context: Context, singleton: str, changes: tuple[str, ...]) -> None:
    """Change values in one conditional write: `flags set AppFlags signup_enabled=true`."""
    values: dict[str, str] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise click.UsageError(f"{change!r} is not field=value.")
        values[name] = text
    flips = flagging.set_flags(context.app(), singleton, values)
    context.show([{"name": flip.name, "old": flip.old, "new": flip.new} for flip in flips])
