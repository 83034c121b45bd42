"""The commands that go through the rows of a table: backfill, doctor, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tablekit.api.table import Table
from tablekit.cli_context import Context, Tick, load_module, pass_context, reporting, say
from tablekit.tools import backfill as backfills
from tablekit.tools import census as censuses
from tablekit.tools import doctor as doctors
from tablekit.tools.scanning import ScanPlan, Size, share_of

__all__ = ["backfill", "count", "doctor", "reading", "sizes"]

LISTED = 20
"""Rows that are left are shown up to this number in a table; all of them, up to a thousand, in JSON."""


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that goes through a table to look at it."""
    for option in reversed(
        (
            click.option("--sample", type=float, default=1.0, help="The share of the table to read, such as 0.05."),
            click.option("--segments", help="How many segments, or a share of them such as 0-63/1024."),
            click.option("--rate", type=float, help="Read units a second; no limit by default."),
            click.option("--parallel", type=click.IntRange(1), default=4, help="Segments read at once."),
        )
    ):
        command = option(command)
    return command


def announcing(app: Table, tick: Tick) -> Callable[[ScanPlan], None]:
    """Says what will be read before it is."""

    def announce(plan: ScanPlan) -> None:
        part = "" if plan.segments == plan.total else f" in {plan.segments} of {plan.total} segments"
        say(f"{app.name}: about {plan.items:,} rows{part}; reading them takes about {plan.read_units:,.1f} read units.")
        tick.total = plan.items

    return announce


def count(app: Table, options: dict[str, Any]) -> censuses.Census:
    """Count a table as the options say, with a progress bar."""
    with Tick("rows") as tick:

        def progress(rows: int, _size: Size) -> None:
            tick(rows, tick.total)

        return censuses.census(app, announce=announcing(app, tick), progress=progress, **options)


@click.command()
@click.option("--types/--no-types", default=True, help="Stamp the type onto rows without one; it is the default.")
@click.option("--aliases", is_flag=True, help="Give rows that carry an alias of a type the type itself.")
@click.option("--index-keys", is_flag=True, help="Set index keys that are missing or stale.")
@click.option("--infer", metavar="MODULE:FUNCTION", help="Tells the type of a row in DynamoDB JSON, or None.")
@click.option("--segments", default="4", help="How many, or a share such as 0-63/1024.")
@click.option("--parallel", type=click.IntRange(1), default=4, help="Segments worked on at once.")
@click.option("--rate", type=float, help="Capacity units a second, reads and writes together; no limit by default.")
@click.option("--checkpoint", type=click.Path(dir_okay=False), help="A file to go on from after an interruption.")
@click.option("--dry-run", is_flag=True, help="Write nothing, and count what would be.")
@click.option("--no-recovery", is_flag=True, help="Work on a table without point-in-time recovery.")
@pass_context
@reporting
def backfill(context: Context, /, no_recovery: bool, infer: str | None, **options: Any) -> None:
    """Stamp types and index keys onto rows that lack them, beside live writers.

    Rows that cannot be told are listed and left: exit code 1.
    """
    app = context.app()
    function = None if infer is None else _function(infer)
    try:
        report = _backfill(app, infer=function, require_recovery=not no_recovery, **options)
    except KeyboardInterrupt:
        going_on = "with the same --checkpoint" if options["checkpoint"] else "again"
        say(f"Run the command {going_on} to go on: rows that are done are not written twice.")
        raise
    row = {
        "scanned": report.scanned,
        "typed": report.typed,
        "indexed": report.indexed,
        "moved": report.moved,
        "left": report.ambiguous,
        "units": report.units,
        "dry_run": report.dry_run,
    }
    left = [{"pk": each.pk, "sk": each.sk, "reason": each.reason} for each in report.left]
    as_json = context.format in ("json", "jsonl")
    context.show([{**row, "by_type": dict(report.by_type), "rows_left": left} if as_json else row])
    shown = report.left[:LISTED]
    for each in shown:
        say(f"left: {app.pk}={each.pk!r}{f' {app.sk}={each.sk!r}' if app.sk else ''}: {each.reason}")
    if report.ambiguous > len(shown):
        say(f"left: {report.ambiguous - len(shown):,} more; --format json lists the first thousand.")
    raise SystemExit(1 if report.ambiguous else 0)


def _backfill(app: Table, **options: Any) -> backfills.BackfillReport:
    """A backfill that says first what it will take, with a progress bar."""
    with Tick("rows") as tick:

        def announce(plan: backfills.Plan) -> None:
            say(
                f"{app.name}: about {plan.size.items:,} rows, {plan.size.bytes:,} bytes; the scan consumes about "
                f"{plan.read_units:,.1f} read units, and "
                + (
                    "nothing is written."
                    if options["dry_run"]
                    else f"writing every row at most {plan.write_units:,.0f} write units."
                )
            )
            numbers, total = share_of(options["segments"])
            tick.total = round(plan.size.items * len(numbers) / total)

        return backfills.backfill(
            app,
            announce=announce,
            progress=lambda counts: tick(counts.get("scanned", 0), tick.total),
            **options,
        )


def _function(path: str) -> Any:
    module, _, name = path.partition(":")
    found = getattr(load_module(module, f"--infer {path!r}"), name, None) if module and name else None
    if not callable(found):
        raise click.UsageError(f"--infer {path!r} is no function; give package.module:function.")
    return found


@click.command()
@reading
@click.option("--fix", is_flag=True, help="Run the backfill for what it can mend: types, index keys.")
@click.option("--dry-run", is_flag=True, help="With --fix: write nothing, and count what would be.")
@click.option("--no-recovery", is_flag=True, help="With --fix: on a table without point-in-time recovery.")
@pass_context
@reporting
def doctor(context: Context, /, fix: bool, dry_run: bool, no_recovery: bool, **options: Any) -> None:
    """Examine the rows for what the classes would trip over.

    Exit code 1 when something was found, also where --fix mended it.
    """
    if (dry_run or no_recovery) and not fix:
        raise click.UsageError("--dry-run and --no-recovery go with --fix.")
    app = context.app()
    with Tick("rows") as tick:
        diagnosis = doctors.doctor(
            app, announce=announcing(app, tick), progress=lambda rows, _size: tick(rows, tick.total), **options
        )
    _show(context, diagnosis)
    if fix and diagnosis.mendable:
        report = _backfill(
            app,
            types="types" in diagnosis.mendable,
            index_keys="index_keys" in diagnosis.mendable,
            segments=options["segments"] or str(options["parallel"]),
            parallel=options["parallel"],
            rate=options["rate"],
            dry_run=dry_run,
            require_recovery=not no_recovery,
        )
        done = "would be mended" if dry_run else "mended"
        say(f"{done}: {report.typed:,} types, {report.indexed:,} index keys; left: {report.ambiguous:,} rows.")
    elif fix:
        say("nothing here that the backfill can mend.")
    part = "" if diagnosis.sample == 1 else f", {diagnosis.sample:.2%} of the table"
    found = len(diagnosis.findings)
    findings = f"{found} {'finding' if found == 1 else 'findings'}"
    say(f"{diagnosis.rows:,} rows read{part}, {diagnosis.units:g} units, {findings}.")
    raise SystemExit(0 if diagnosis.healthy else 1)


def _show(context: Context, diagnosis: doctors.Diagnosis) -> None:
    rows: list[dict[str, Any]] = [
        {
            "severity": finding.severity,
            "kind": finding.kind,
            "subject": finding.subject,
            "rows": finding.count,
            "rows_in_all": diagnosis.in_all(finding.count) if finding.of_rows else finding.count,
            "message": finding.message,
            "remedy": finding.remedy,
            "examples": list(finding.examples),
        }
        for finding in diagnosis.findings
    ]
    if context.format == "table":
        for row, finding in zip(rows, diagnosis.findings):
            about = "" if diagnosis.sample == 1 else f", about {row['rows_in_all']:,} in all"
            # What is about one singleton, one partition or the table counts no rows.
            row["rows"] = f"{row['rows']:,} {'row' if row['rows'] == 1 else 'rows'}{about}" if finding.of_rows else ""
            row["examples"] = [f"such as {example}" for example in row["examples"]]
    context.show_blocks(rows, ("severity", "kind", "rows"), ("message", "remedy", "examples"))


@click.command()
@reading
@click.option("--top", type=click.IntRange(1), default=5, help="Attributes shown of each type.")
@pass_context
@reporting
def sizes(context: Context, /, top: int, **options: Any) -> None:
    """Say what rows weigh: the size of the rows of each type, and their heaviest attributes."""
    app = context.app()
    found = count(app, options)
    context.show(
        [
            {
                "Type": kind.type,
                "rows": kind.rows,
                "mean": round(kind.mean, 1),
                "largest": kind.largest,
                "write units": kind.write_units,
                "read units": kind.read_units,
                "attribute": heavy.name,
                "bytes a row": round(heavy.bytes / kind.rows, 1),
                "share": round(heavy.share, 3),
            }
            for kind in found.types
            for heavy in kind.attributes[:top]
        ]
    )
    part = "" if found.sample == 1 else f", {found.sample:.2%} of the table"
    say(f"{found.rows:,} rows read{part}, {found.units:g} units. Sizes follow AWS's approximate rules.")
