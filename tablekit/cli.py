"""The command `tablekit`: arguments in, library functions called, reports out.

Exit codes: 0 when all is well, 1 when something was found, 2 for wrong usage and for errors.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, cast

import click

from tablekit.cli_adopt import adopt, workbench
from tablekit.cli_context import Commands, Context, pass_context, reporting, say, was_given
from tablekit.cli_live import backfill, count, doctor, reading, sizes
from tablekit.cli_reads import browse, cost, explain, flags
from tablekit.cli_split import split
from tablekit.tools import census as censuses
from tablekit.tools import chart as charts
from tablekit.tools import lock as locks
from tablekit.tools import schema as schemas
from tablekit.tools import schema_check as checks

__all__ = ["main"]


SETTINGS = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "TABLEKIT", "show_default": True}


@click.group(cls=Commands, context_settings=SETTINGS)
@click.version_option(package_name="tablekit")
@click.pass_context
def main(context: click.Context, /) -> None:
    """Work with one DynamoDB table of many entities.

    The options below may stand before a command or after it.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    output: Any = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        # A terminal that cannot show a character gets its escape, not a traceback.
        output.reconfigure(errors="backslashreplace")


@main.command()
@click.option(
    "--as", "kind", type=click.Choice(["text", "markdown", "mermaid", "svg"]), default="text", help="The chart's form."
)
@click.option("--count", "counted", is_flag=True, help="Count the rows and bytes of each type: reads the table.")
@reading
@pass_context
@reporting
def types(context: Context, /, kind: str, counted: bool, **options: Any) -> None:
    """Chart the entities: types, keys, index keys, fields.

    --count reads the table, all of it or a sample. Exit code 1 when it holds rows that no class knows.
    """
    if not counted and any(was_given(name) for name in options):
        raise click.UsageError("--sample, --segments, --rate and --parallel go with --count.")
    app = context.app()
    if counted:
        _count(context, count(app, options))
    elif context.format != "table":
        context.show(
            [
                {
                    "type": row.type,
                    "aliases": list(row.aliases),
                    "keys": row.keys,
                    "index_keys": row.index_keys,
                    "when": row.when,
                    "fields": [{"name": name, "type": kept, "notes": notes} for name, kept, notes in row.fields],
                }
                for row in charts.chart(app)
            ]
        )
    else:
        click.echo(charts.chart_text(app, cast(charts.ChartFormat, kind)), nl=False)


def _count(context: Context, found: censuses.Census) -> None:
    sampled = found.sample < 1
    context.show(
        [
            {
                "Type": f"{each.type} (no class)" if context.is_table and _foreign(each) else each.type,
                "known": each.known,
                "rows": each.rows,
                **({"rows in all": found.in_all(each.rows)} if sampled else {}),
                "bytes": each.bytes,
                "mean": round(each.mean, 1),
                "share": round(each.bytes / found.bytes, 3),
            }
            for each in found.types
        ]
    )
    part = f", {found.sample:.2%} of the table" if sampled else ""
    say(f"{found.rows:,} rows and {found.bytes:,} bytes read{part}, {found.units:g} units.")
    raise SystemExit(1 if any(_foreign(each) or each.type == censuses.UNTYPED for each in found.types) else 0)


def _foreign(each: censuses.TypeCount) -> bool:
    return not each.known and each.type != censuses.UNTYPED


@main.command()
@click.option("--file", "path", default=locks.LOCK_NAME, type=click.Path(dir_okay=False), help="The lock file.")
@click.option("--dry-run", is_flag=True, help="Print the lock, and write no file.")
@pass_context
@reporting
def lock(context: Context, path: str, dry_run: bool) -> None:
    """Write the lock: what the classes say of stored rows."""
    if dry_run:
        click.echo(locks.lock_text(context.app()), nl=False)
        return
    say(f"wrote {locks.write_lock(context.app(), path)}")


@main.command()
@click.option("--file", "path", default=locks.LOCK_NAME, type=click.Path(dir_okay=False), help="The lock file.")
@pass_context
@reporting
def check(context: Context, path: str) -> None:
    """Compare the classes with the lock, and say what a change would do to stored rows.

    Exit code 1 when a change would orphan or misread rows. When it is meant, write the lock anew.
    """
    changes = locks.check_lock(context.app(), path)
    rows = [
        {"severity": each.severity, "entity": each.entity, "change": each.what, "consequence": each.consequence}
        for each in changes
    ]
    context.show_blocks(rows, ("severity", "entity", "change"), ("consequence",))
    if not changes:
        say(f"no difference from {path}.")
    raise SystemExit(1 if any(change.severity == "error" for change in changes) else 0)


@main.command()
@click.option("--check", "compare", is_flag=True, help="Compare with the table that is there.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["create-table", "cloudformation", "cdk", "terraform", "workbench"]),
    default="create-table",
    help="The form of the definition.",
)
@click.option("--capacity", nargs=2, type=click.IntRange(1), help="Provisioned read and write units, not on demand.")
@click.option(
    "--stream",
    type=click.Choice(["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]),
    help="With a stream of this view type.",
)
@click.option("--deletion-protection", is_flag=True, help="Refuse to delete the table.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="A tag; may be given several times.")
@pass_context
@reporting
def schema(context: Context, /, compare: bool, kind: str, tags: tuple[str, ...], **options: Any) -> None:
    """Print the table as infrastructure code, or --check it against the one that is there.

    Exit code 1 when calls would fail or answer wrongly.
    """
    app = context.app()
    if compare:
        _compare(context, app.name, checks.check_table(app))
    capacity = options.pop("capacity")
    text = schemas.schema_text(
        app,
        app.name,
        cast(schemas.SchemaFormat, kind),
        billing=capacity or "PAY_PER_REQUEST",
        tags=dict(_pair(tag) for tag in tags),
        **options,
    )
    click.echo(text, nl=False)
    say(schemas.LEFT_OUT)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--tag {text!r} is not KEY=VALUE.")
    return key, value


def _compare(context: Context, name: str, found: list[checks.Difference]) -> None:
    rows = [
        {
            "severity": each.severity,
            "subject": each.subject,
            "declared": each.declared,
            "found": each.found,
            "why": each.why,
            "remedy": each.remedy,
        }
        for each in found
    ]
    if context.is_table:
        for row in rows:
            row["declared"], row["found"] = f"declared: {row['declared']}", f"found: {row['found']}"
    context.show_blocks(rows, ("severity", "subject"), ("declared", "found", "why", "remedy"))
    if not found:
        say(f"{name}: the table is as it is declared.")
    raise SystemExit(1 if any(each.severity == "error" for each in found) else 0)


for command in (adopt, backfill, browse, cost, doctor, explain, flags, sizes, split, workbench):
    main.add_command(command)


if __name__ == "__main__":
    main(prog_name="tablekit")
