"""The commands that read a table or the singletons in it: browse, explain, cost, flags."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, cast

import click

from tablekit.cli_context import Context, pass_context, reporting, say
from tablekit.errors import RequestError
from tablekit.tools import browse as browsing
from tablekit.tools import cost as costs
from tablekit.tools import flags as flagging
from tablekit.tools.printing import format_rows, printable, text_width

__all__ = ["browse", "cost", "explain", "flags"]

COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_yellow")
SHOWN = 60
"""Characters of a row's values in a table; --full shows them whole."""


@click.command()
@click.option("--pk", help="The partition key, as it is stored.")
@click.option("--sk", help="With --pk: one row in full, by its whole key.")
@click.option("--index", help="Browse an index; --pk is then its partition key.")
@click.option("--type", "kind", help="Only rows of this type.")
@click.option("--scan", is_flag=True, help="Read the whole table or index, page by page, which is billed.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="Rows on the page.")
@click.option("--reverse", is_flag=True, help="In descending order.")
@click.option("--cursor", help="Go on after a page, with the cursor that it printed.")
@click.option("--before", help="Go back before a page, with the cursor that it printed.")
@click.option("--full", is_flag=True, help="Show each row in full.")
@pass_context
@reporting
def browse(
    context: Context, /, pk: str | None, sk: str | None, kind: str | None, scan: bool, full: bool, **paging: Any
) -> None:
    """Look at a partition, an index, a page of a scan, or one row, with the Type column first.

    The request and its capacity are printed to the error stream.
    """
    app = context.app()
    if sk is not None:
        if pk is None or scan or kind or any(paging[name] for name in ("index", "cursor", "before", "reverse")):
            raise click.UsageError("--sk goes with --pk alone: the whole key of one row.")
        _browse_row(context, app, pk, sk)
        return
    if pk is None and not scan:
        raise click.UsageError("Name a partition with --pk, or say --scan: it reads and bills the whole table.")
    key = None if pk is None else _key(app, pk, paging["index"])
    page = browsing.browse(app, pk=key, type=kind, scan=scan, **paging)
    if not context.is_table:
        context.show([_whole(app, row) for row in page.rows])
    elif full:
        for row in page.rows:
            _print_row(app, row)
    else:
        _print_table(app, page.rows)
    say(page.request)
    say(f"{page.operation}: {page.scanned} rows read, {page.consumed:g} units.")
    if page.previous is not None:
        say(f"back: --before {page.previous}")
    if page.cursor is not None:
        say(f"more: --cursor {page.cursor}")


def _key(app: Any, text: str, index: str | None) -> Any:
    """A partition key from its text, in the type that the table, or the index, stores it in."""
    if index is None:
        attribute = app.pk
    elif index in app.indexes:
        attribute = app.indexes[index].pk[0]
    else:
        raise click.UsageError(f"No index {index!r}; there are: {', '.join(app.indexes) or 'none'}.")
    readers: dict[str, Callable[[str], Any]] = {"S": str, "N": Decimal, "B": base64.b64decode}
    try:
        return readers[app.key_type(attribute)](text)
    except (ArithmeticError, ValueError):
        what = "a number" if app.key_type(attribute) == "N" else "base64, as binary keys are written"
        raise click.UsageError(f"--pk {text!r} is not {what}, which {attribute} holds.") from None


def _browse_row(context: Context, app: Any, pk: str, sk: str) -> None:
    with app.meter() as meter:
        row = browsing.browse_row(app, pk=pk, sk=sk)
    say(f"GetItem, strongly consistent: {app.pk}={pk!r} {app.sk}={sk!r}, {meter.units:g} units.")
    if row is None:
        say(f"There is no row under {app.pk}={pk!r} {app.sk}={sk!r}.")
        raise SystemExit(1)
    if context.is_table:
        _print_row(app, row)
    else:
        context.show([_whole(app, row)])


def _print_row(app: Any, row: browsing.BrowseRow) -> None:
    click.echo(format_rows([{"": name, " ": value} for name, value in _whole(app, row).items()], "table"))


def _whole(app: Any, row: browsing.BrowseRow) -> dict[str, Any]:
    key = {app.pk: row.pk} if app.sk is None else {app.pk: row.pk, app.sk: row.sk}
    # A field may be named as an attribute is under which another is stored.
    held = {**row.others, **row.values}
    return {"Type": row.label, **key, **{name: _plain(held[name]) for name in (*row.values, *row.others)}}


def _plain(value: Any) -> Any:
    """A value in terms of JSON: bytes in base64, as DynamoDB JSON has them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        members: list[Any] = [*value]
        return [_plain(inner) for inner in members]
    return value


def _print_table(app: Any, rows: Sequence[browsing.BrowseRow]) -> None:
    shown: list[dict[str, Any]] = []
    for row in rows:
        cut = _cut(" ".join(f"{name}={_short(value)}" for name, value in row.values.items()))
        given = {app.pk: row.pk} if app.sk is None else {app.pk: row.pk, app.sk: row.sk}
        key = {name: _cut(str(value)) for name, value in given.items()}
        shown.append({"Type": row.label, **key, "values": cut})
    lines = format_rows(shown, "table").splitlines()
    colours: dict[str, str] = {}
    for number, line in enumerate(lines):
        label = shown[number - 2]["Type"] if number > 1 else ""
        colour = colours.setdefault(label, COLOURS[len(colours) % len(COLOURS)]) if label else None
        width = len(printable(label))
        click.echo(click.style(line[:width], fg=colour) + line[width:])


def _short(value: Any) -> str:
    # A value of 400 KB is not rendered to show sixty characters of it.
    return value[:SHOWN] if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False, default=str)


def _cut(text: str) -> str:
    """As much of a text as fits in the column."""
    if text_width(text[: SHOWN + 1]) <= SHOWN and len(text) <= SHOWN:
        return text
    kept = text[: SHOWN - 1]
    while text_width(printable(kept)) > SHOWN - 1:
        kept = kept[:-1]
    return f"{kept}…"


@click.command()
@click.argument("words", nargs=-1, metavar="CLASS... FIELD=VALUE...")
@click.option("--index", help="Of an index.")
@click.option(
    "--items",
    type=click.IntRange(0),
    help="Rows of the partition of all classes, for an estimate; of the table for a scan.",
)
@click.option("--item-bytes", type=click.IntRange(1), help="Bytes of each.")
@click.option(
    "--matching", type=click.IntRange(0), help="How many of them are of the classes asked for; all by default."
)
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
    if items is None and (item_bytes is not None or matching is not None):
        raise click.UsageError("An estimate needs --items and --item-bytes.")
    explanation = app.query(*classes, index=index, **values).explain()
    estimate = None
    if items is not None:
        if item_bytes is None:
            raise click.UsageError("An estimate needs --item-bytes too: bytes of a row, such as `tablekit sizes` says.")
        estimate = explanation.estimate(items=items, item_bytes=item_bytes, matching=matching)
    if not context.is_table:
        row = {"operation": explanation.operation, "request": explanation.request}
        context.show([row if estimate is None else {**row, "read_units": estimate.read_units}])
        return
    click.echo({"text": explanation.text, "cli": explanation.aws_cli, "boto3": explanation.boto3}[form])
    if estimate is not None:
        click.echo(estimate)


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
@click.option("--item-bytes", type=click.IntRange(1), required=True, help="Bytes of a row; `sizes` says them.")
@click.option("--matching", type=float, default=1.0, help="The part of the rows that is wanted, 0 to 1.")
@click.option("--reads", type=float, default=0.0, help="Reads a second.")
@click.option("--writes", type=float, default=0.0, help="Writes a second.")
@click.option("--indexes", type=click.IntRange(0), default=0, help="Indexes that the written rows are in.")
@click.option("--index-bytes", type=click.IntRange(1), help="Bytes of an index entry; those of a row by default.")
@click.option("--key-changes", type=float, default=0.0, help="The part of the writes that change an index key.")
@click.option("--consistent", is_flag=True, help="Strongly consistent reads.")
@click.option("--transactional", is_flag=True, help="Reads and writes in transactions.")
@click.option("--vector", is_flag=True, help="It uses a vector index, which is not priced.")
@click.option("--stored", type=click.IntRange(0), default=0, help="Rows that the table keeps, for the storage.")
@click.option("--utilisation", type=float, default=0.7, help="The part of provisioned capacity that is used, 0 to 1.")
@click.option("--prices", type=click.Path(exists=True, dir_okay=False), help="A price file, in place of the defaults.")
@pass_context
@reporting
def cost(context: Context, /, prices: str | None, utilisation: float, stored: int, **given: Any) -> None:
    """Price an access pattern: by key, by filter, by a sparse index; on demand and provisioned.

    Sums are US dollars a month, by the list prices of a day and a region, which are named.
    """
    renamed = {"reads": "reads_per_second", "writes": "writes_per_second"}
    pattern = costs.AccessPattern(name="pattern", **{renamed.get(name, name): value for name, value in given.items()})
    table = costs.Prices.load(prices) if prices is not None else costs.PRICES
    context.show([_way(way, stored) for way in costs.compare(pattern, prices=table, utilisation=utilisation)])
    say(f"US dollars a month, {table.region} as of {table.as_of}; provisioned at {utilisation:.0%} of use.")
    region = context.connection.get("region")
    if region not in (None, table.region):
        say(f"The prices of {region} are others: give them as a file with --prices.")
    if pattern.vector:
        say("A vector index is not priced.")


def _way(way: costs.Option, stored: int) -> dict[str, Any]:
    pattern = way.on_demand.pattern
    entry = pattern.item_bytes if pattern.index_bytes is None else pattern.index_bytes
    entries = {str(number): entry for number in range(pattern.indexes)}
    storage = costs.Storage(items=stored, item_bytes=pattern.item_bytes, indexes=entries)
    return {
        "way": way.name,
        "units a read": way.on_demand.read_units,
        "for nothing": pattern.discarded_units,
        "units a write": way.on_demand.write_units,
        "on demand": _dollars(way.on_demand.monthly),
        "provisioned": _dollars(way.provisioned.monthly),
        **({"storage": _dollars(storage.monthly(way.on_demand.prices))} if stored else {}),
    }


def _dollars(sum_: float | None) -> float | str:
    return "not priced" if sum_ is None else round(sum_, 2)


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
@click.argument("changes", nargs=-1, required=True, metavar="FIELD=VALUE...")
@click.option("--dry-run", is_flag=True, help="Check the values and show old and new, and write nothing.")
@pass_context
@reporting
def set_flags(context: Context, singleton: str, changes: tuple[str, ...], dry_run: bool) -> None:
    """Change values in one conditional write: `flags set AppFlags signup_enabled=true`."""
    values: dict[str, str] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise click.UsageError(f"{name!r} is not field=value.")
        values[name] = text
    app = context.app()

    def announce(units: float) -> None:
        say(f"{app.name}: {'would take' if dry_run else 'takes'} about {units:g} write units.")

    flips = flagging.set_flags(app, singleton, values, dry_run=dry_run, announce=announce)
    context.show([{"name": flip.name, "old": flip.old, "new": flip.new} for flip in flips])
