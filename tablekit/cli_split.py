"""The command that takes rows apart by type: split, with a scan as the source and a table as the target."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

import click

from tablekit.api.table import Table
from tablekit.cli_context import Context, Tick, pass_context, reporting, say
from tablekit.errors import TablekitError
from tablekit.tools import lift as lifts
from tablekit.tools import split as splits
from tablekit.tools import split_scan as scans
from tablekit.tools.export_source import SUMMARY
from tablekit.tools.own_table import entity_of
from tablekit.tools.scanning import ScanPlan
from tablekit.tools.split_parquet import need_pyarrow
from tablekit.tools.split_plan import safe_name

__all__ = ["split"]

SCANNED = ".tablekit-scan"
"""Where a scan is kept until it is split, in the output folder."""


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.option(
    "--as", "kind", type=click.Choice(["dynamodb-json", "json", "csv", "parquet"]), default="dynamodb-json",
    help="The form of the outputs.",
)  # fmt: skip
@click.option("--import-ready", is_flag=True, help="Write the folders that DynamoDB's import from S3 takes.")
@click.option("--processes", type=click.IntRange(1), help="How many work at once; all cores by default.")
@click.option("--dry-run", is_flag=True, help="Write nothing, and count what would be; a table is not read either.")
@click.option("--scan", is_flag=True, help="Read the table itself: the one argument is then OUT.")
@click.option("--segments", default=str(scans.SEGMENTS), help="With --scan: how many, or a share such as 0-63/1024.")
@click.option("--parallel", type=click.IntRange(1), default=4, help="Segments read, or rows put, at once.")
@click.option("--rcu", type=float, help="Read units a second; no limit by default.")
@click.option("--consistent", is_flag=True, help="With --scan: read strongly consistent, at twice the units.")
@click.option("--to-table", metavar="NAME", help="Put the rows of one --type into this table; OUT keeps the state.")
@click.option("--type", "type_", metavar="TYPE", help="With --to-table: the type, or an alias of it.")
@click.option("--wcu", type=float, help="With --to-table: write units a second; no limit by default.")
@click.option("--create", is_flag=True, help="With --to-table: create the table where there is none.")
@click.option("--replace-older", is_flag=True, help="With --to-table: replace rows whose version is lower.")
@click.option("--no-verify", is_flag=True, help="With --to-table: do not read the table in the end.")
@click.option("--no-recovery", is_flag=True, help="With --to-table: a table without point-in-time recovery.")
@pass_context
@reporting
def split(context: Context, /, source: Path, out: Path | None, **options: Any) -> None:
    """Split an export in SOURCE, or with --scan the table itself, by type into OUT.

    With --to-table the rows of one type are put into a table of their own, and no row that is there is overwritten.
    Exit code 1 when there are rows without a type or of unknown types, or when a table does not hold what it should.
    """
    app = context.app()
    source, out = _places(source, out, scan=options["scan"])
    _check(options)
    try:
        code = _work(context, app, source, out, options)
    except KeyboardInterrupt:
        say("Run the command again to go on: what is done is not done twice.")
        raise
    raise SystemExit(code)


def _work(context: Context, app: Table, source: Path, out: Path, options: dict[str, Any]) -> int:
    """Read, split or lift, as the options say; gives the exit code."""
    if options["scan"]:
        # What would be refused in the end is refused before units are spent.
        if options["to_table"]:
            lifts.check_lift(
                app,
                options["to_table"],
                type=options["type_"],
                replace_older=options["replace_older"],
                create=options["create"],
                require_recovery=not (options["no_recovery"] or options["dry_run"]),
            )
        elif options["kind"] == "parquet":
            need_pyarrow()
        if options["dry_run"]:
            _announce_scan(app, options)
            return 0
        source = _scan(app, out, options)
    if options["to_table"]:
        code = _lift(context, app, source, out, options)
    else:
        code = _split(context, app, source, out, options)
    if options["scan"]:
        shutil.rmtree(out / SCANNED)
    return code


def _places(source: Path, out: Path | None, *, scan: bool) -> tuple[Path, Path]:
    if scan:
        if out is not None:
            raise click.UsageError("With --scan the table is the source: give OUT alone.")
        return source / SCANNED, source
    if out is None:
        raise click.UsageError("Give SOURCE and OUT, or --scan and OUT.")
    if not source.is_dir():
        raise click.UsageError(f"{source} is no folder. Give the folder of an export, or one above it.")
    return source, out


def _check(options: dict[str, Any]) -> None:
    lifted = options["to_table"] is not None
    if lifted != (options["type_"] is not None):
        raise click.UsageError("--to-table and --type go together: which rows, and where to.")
    if lifted and options["import_ready"]:
        raise click.UsageError("--import-ready writes files, and --to-table a table. Take one of them.")
    if not lifted and any(options[name] for name in ("wcu", "create", "replace_older", "no_verify", "no_recovery")):
        raise click.UsageError("--wcu, --create, --replace-older, --no-verify and --no-recovery go with --to-table.")
    if options["import_ready"] and options["kind"] != "dynamodb-json":
        raise click.UsageError("--import-ready has a form of its own; leave --as out.")


# Splitting


def _split(context: Context, app: Table, source: Path, out: Path, options: dict[str, Any]) -> int:
    with Tick("files") as tick:
        report = splits.split(
            source,
            out,
            app=app,
            format=cast("Any", "import-ready" if options["import_ready"] else options["kind"]),
            processes=options["processes"],
            dry_run=options["dry_run"],
            progress=lambda done, of, _rows: tick(done, of),
        )
    context.show(
        [
            {"output": name, "rows": output.rows, "bytes": output.bytes, "file": str(output.path)}
            for name, output in report.outputs.items()
        ]
    )
    if report.resumed:
        say(f"{report.resumed:,} of {report.files:,} files had been split before.")
    if options["dry_run"]:
        say(f"{report.rows:,} rows of {report.files:,} files; nothing was written.")
    if not (report.untyped or report.unknown):
        return 0
    say(f"{report.untyped} rows without a type, {sum(report.unknown.values())} of unknown types.")
    return 1


# Scanning


def _announcing(app: Table, options: dict[str, Any]) -> Any:
    def announce(plan: ScanPlan) -> None:
        units = plan.read_units * (2 if options["consistent"] else 1)
        part = "" if plan.segments == plan.total else f" in {plan.segments} of {plan.total} segments"
        say(f"{app.name}: about {plan.items:,} rows{part}; reading them takes about {units:,.1f} read units.")

    return announce


def _announce_scan(app: Table, options: dict[str, Any]) -> None:
    scans.announce_scan(app, options["segments"], _announcing(app, options))
    say("nothing was read or written.")


def _scan(app: Table, out: Path, options: dict[str, Any]) -> Path:
    """Scan the table into the output folder, unless an earlier run did so; gives the export."""
    folder = out / SCANNED
    if folder.is_symlink():
        raise TablekitError(f"{folder} is a link, and leads out of the output folder. Take it away.")
    if (folder / SUMMARY).is_file():
        say("the table was read by an earlier run, which is gone on with; nothing is read again.")
        return folder
    tick = Tick("rows")
    announce = _announcing(app, options)

    def begin(plan: ScanPlan) -> None:
        announce(plan)
        tick.total = plan.items

    with tick:
        report = scans.export_by_scan(
            app,
            folder,
            segments=options["segments"],
            parallel=options["parallel"],
            rate=options["rcu"],
            consistent=options["consistent"],
            announce=begin,
            progress=lambda rows: tick(rows, tick.total),
        )
    say(f"{report.rows:,} rows read, {report.units:g} read units.")
    return folder


# Lifting


def _lift(context: Context, app: Table, source: Path, out: Path, options: dict[str, Any]) -> int:
    type_ = entity_of(app, options["type_"]).type
    if not options["dry_run"]:
        out.mkdir(parents=True, exist_ok=True)
    state = out / f".tablekit-lift-{safe_name(type_)}.json"
    with Tick("rows") as tick:
        report = lifts.lift(
            source,
            options["to_table"],
            app=app,
            type=type_,
            rate=options["wcu"],
            read_rate=options["rcu"],
            parallel=options["parallel"],
            replace_older=options["replace_older"],
            create=options["create"],
            checkpoint=state,
            dry_run=options["dry_run"],
            verify=not options["no_verify"],
            require_recovery=not options["no_recovery"],
            announce=lambda plan: _announce_lift(options["to_table"], type_, plan),
            progress=tick,
        )
    state.unlink(missing_ok=True)
    row = {name: getattr(report, name) for name in ("rows", "written", "present", "kept", "found", "matches", "units")}
    context.show([{"type": type_, "table": options["to_table"], **row, "dry_run": report.dry_run}])
    return _judge(options["to_table"], type_, report)


def _announce_lift(table: str, type_: str, plan: lifts.LiftPlan) -> None:
    say(
        f"{table}: {plan.rows:,} rows of {type_}, {plan.bytes:,} bytes; putting them takes about "
        f"{plan.write_units:,.0f} write units, and comparing them {plan.read_units:,.1f} read units."
        + (" The table will be created." if plan.creates else "")
    )


def _judge(table: str, type_: str, report: lifts.LiftReport) -> int:
    """Say what a person should look at; gives the exit code."""
    if report.kept:
        say(f"{report.kept:,} rows of {table} are not as in the export, and were left as they are.")
    if report.matches is False:
        say(
            f"{table} holds {report.found:,} rows of {type_}, which are not those of the export together with those "
            "that were left: others wrote to it meanwhile, it held more before, or the export has a row twice."
        )
    return 1 if report.kept or report.matches is False else 0
