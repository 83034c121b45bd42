"""The command `tablekit`: arguments in, library functions called, reports out.

Exit codes: 0 when all is well, 1 when something was found, 2 for wrong usage and for errors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from tablekit.cli_adopt import adopt, workbench
from tablekit.cli_context import Context, Tick, pass_context, reporting
from tablekit.cli_reads import browse, cost, explain, flags
from tablekit.tools import backfill as backfills
from tablekit.tools import chart as charts
from tablekit.tools import doctor as doctors
from tablekit.tools import lock as locks
from tablekit.tools import schema as schemas
from tablekit.tools import schema_check as checks
from tablekit.tools import split as splits
from tablekit.tools.printing import OutputFormat

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "TABLEKIT"})
@click.option("--app", metavar="MODULE:TABLE", envvar="TABLEKIT_APP", help="The Table, such as shop.models:app.")
@click.option(
    "--table", "name", metavar="NAME", envvar=["TABLEKIT_TABLE", "TABLEKIT_NAME"], help="The physical table's name."
)
@click.option(
    "--endpoint", "endpoint_url", metavar="URL", envvar=["TABLEKIT_ENDPOINT", "TABLEKIT_ENDPOINT_URL"],
    help="Another endpoint than AWS's.",
)  # fmt: skip
@click.option("--profile", help="A profile of AWS's configuration.")
@click.option("--region", help="An AWS region.")
@click.option(
    "--format", type=click.Choice(["table", "json", "jsonl", "csv"]), default="table", help="How reports are printed."
)
@click.version_option(package_name="tablekit")
@click.pass_context
def main(context: click.Context, /, app: str | None, format: str, **connection: str | None) -> None:
    """Work with one DynamoDB table of many entities."""
    context.obj = Context(app, cast(OutputFormat, format), connection)


@main.command()
@click.option(
    "--as", "kind", type=click.Choice(["text", "markdown", "mermaid"]), default="text", help="The chart's form."
)
@pass_context
@reporting
def types(context: Context, kind: str) -> None:
    """Chart the entities: types, keys, index keys, fields."""
    app = context.app()
    if context.format in ("json", "jsonl"):
        rows = [
            {
                "type": row.type,
                "aliases": list(row.aliases),
                "keys": row.keys,
                "index_keys": row.index_keys,
                "when": {index: list(fields) for index, fields in row.when.items()},
            }
            for row in charts.chart(app)
        ]
        context.show(rows)
        return
    click.echo(charts.chart_text(app, cast(charts.ChartFormat, kind)), nl=False)


@main.command()
@click.argument("source", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--as", "kind", type=click.Choice(["dynamodb-json", "json", "csv", "parquet"]), default="dynamodb-json",
    help="The form of the outputs.",
)  # fmt: skip
@click.option("--processes", type=click.IntRange(1), help="How many work at once; all cores by default.")
@pass_context
@reporting
def split(context: Context, source: Path, out: Path, kind: str, processes: int | None) -> None:
    """Split an export in SOURCE by type into files in OUT."""
    app = context.app()
    with Tick("files") as tick:
        report = splits.split(
            source,
            out,
            app=app,
            format=cast("Any", kind),
            processes=processes,
            progress=lambda done, of, _rows: tick(done, of),
        )
    context.show(
        [
            {"output": name, "rows": output.rows, "bytes": output.bytes, "file": str(output.path)}
            for name, output in report.outputs.items()
        ]
    )
    if report.untyped or report.unknown:
        click.echo(f"{report.untyped} rows without a type, {sum(report.unknown.values())} of unknown types.", err=True)
        raise SystemExit(1)


@main.command()
@click.option("--types/--no-types", default=True, help="Stamp the type onto rows without one.")
@click.option("--index-keys", is_flag=True, help="Set index keys that are missing or stale.")
@click.option("--segments", default="4", help="How many, or a share such as 0-63/1024.")
@click.option("--parallel", type=click.IntRange(1), default=4, help="Segments worked on at once.")
@click.option("--rate", type=float, help="Capacity units a second, reads and writes together.")
@click.option("--checkpoint", type=click.Path(dir_okay=False), help="A file to go on from after an interruption.")
@click.option("--dry-run", is_flag=True, help="Write nothing, and count what would be.")
@click.option("--no-recovery", is_flag=True, help="Work on a table without point-in-time recovery.")
@pass_context
@reporting
def backfill(context: Context, /, segments: str, no_recovery: bool, dry_run: bool, **options: Any) -> None:
    """Stamp types and index keys onto rows that lack them."""
    app = context.app()
    share: int | str = int(segments) if segments.isdigit() else segments
    with Tick("rows") as tick:

        def announce(plan: backfills.Plan) -> None:
            click.echo(
                f"{app.name}: about {plan.size.items:,} rows, {plan.size.bytes:,} bytes; the scan consumes about "
                f"{plan.read_units:,.0f} read units, and writing every row {plan.write_units:,.0f} write units.",
                err=True,
            )
            tick.total = plan.size.items

        report = backfills.backfill(
            app,
            segments=share,
            dry_run=dry_run,
            require_recovery=not no_recovery,
            announce=announce,
            progress=lambda counts: tick(counts.get("scanned", 0), tick.total),
            **options,
        )
    row = {
        "scanned": report.scanned,
        "typed": report.typed,
        "indexed": report.indexed,
        "moved": report.moved,
        "left": report.ambiguous,
        "dry_run": report.dry_run,
    }
    context.show([row])
    for left in report.left:
        click.echo(f"left: {app.pk}={left.pk!r} {app.sk or ''}={left.sk!r}: {left.reason}", err=True)
    raise SystemExit(1 if report.ambiguous else 0)


@main.command()
@click.option("--sample", type=float, default=1.0, help="The share of the table to read.")
@click.option("--rate", type=float, help="Read units a second.")
@click.option("--fix", is_flag=True, help="Run the backfill for what it can mend.")
@click.option("--no-recovery", is_flag=True, help="With --fix: on a table without point-in-time recovery.")
@pass_context
@reporting
def doctor(context: Context, sample: float, rate: float | None, fix: bool, no_recovery: bool) -> None:
    """Examine the rows for what the classes would trip over."""
    app = context.app()
    with Tick("rows") as tick:
        diagnosis = doctors.doctor(app, sample=sample, rate=rate, progress=lambda rows, size: tick(rows, size.items))
    context.show(
        [
            {
                "severity": finding.severity,
                "kind": finding.kind,
                "rows": finding.count,
                "message": finding.message,
                "remedy": finding.remedy,
                "examples": list(finding.examples),
            }
            for finding in diagnosis.findings
        ]
    )
    kinds = {finding.kind for finding in diagnosis.findings}
    if fix and kinds & {"untyped", "index-key"}:
        report = backfills.backfill(app, index_keys=True, rate=rate, require_recovery=not no_recovery)
        click.echo(f"mended: {report.typed} types, {report.indexed} index keys.", err=True)
    click.echo(f"{diagnosis.rows} rows read, {len(diagnosis.findings)} findings.", err=True)
    raise SystemExit(0 if diagnosis.healthy else 1)


@main.command()
@click.option("--file", "path", default=locks.LOCK_NAME, type=click.Path(dir_okay=False), help="The lock file.")
@pass_context
@reporting
def lock(context: Context, path: str) -> None:
    """Write the lock: what the classes say of stored rows."""
    click.echo(f"wrote {locks.write_lock(context.app(), path)}", err=True)


@main.command()
@click.option("--file", "path", default=locks.LOCK_NAME, type=click.Path(dir_okay=False), help="The lock file.")
@pass_context
@reporting
def check(context: Context, path: str) -> None:
    """Compare the classes with the lock, and say what a change would do to stored rows."""
    changes = locks.check_lock(context.app(), path)
    context.show(
        [
            {
                "severity": change.severity,
                "entity": change.entity,
                "change": change.what,
                "consequence": change.consequence,
            }
            for change in changes
        ]
    )
    if not changes:
        click.echo(f"no difference from {path}.", err=True)
    raise SystemExit(1 if any(change.severity == "error" for change in changes) else 0)


@main.command()
@click.option("--check", "compare", is_flag=True, help="Compare with the table that is there.")
@click.option(
    "--as", "kind", type=click.Choice(["create-table", "cloudformation", "cdk", "terraform"]), default="create-table",
    help="The form of the definition.",
)  # fmt: skip
@click.option("--stream", help="A stream view type, such as NEW_AND_OLD_IMAGES.")
@click.option("--deletion-protection", is_flag=True)
@pass_context
@reporting
def schema(context: Context, compare: bool, kind: str, stream: str | None, deletion_protection: bool) -> None:
    """Print the table as infrastructure code, or --check it against the one that is there."""
    app = context.app()
    if not compare:
        form = cast(schemas.SchemaFormat, kind)
        text = schemas.schema_text(app, app.name, form, stream=stream, deletion_protection=deletion_protection)
        click.echo(text, nl=False)
        click.echo(schemas.LEFT_OUT, err=True)
        return
    found = checks.check_schema(app, app.describe_table())
    context.show(
        [
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
    )
    if not found:
        click.echo(f"{app.name}: the table is as it is declared.", err=True)
    raise SystemExit(1 if any(each.severity == "error" for each in found) else 0)


for command in (adopt, browse, cost, explain, flags, workbench):
    main.add_command(command)


if __name__ == "__main__":
    main()
