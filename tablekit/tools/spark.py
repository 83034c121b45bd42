"""The same split as a Spark job, for an export beyond one machine; with the extra ``[spark]``.

Rows are told apart by the very code of `tablekit.tools.split`. An output is a folder of part files, as Spark writes
them, named as the one file would be; ``_SUCCESS`` in it says that it is whole. A script for ``spark-submit`` is
short::

    from tablekit.tools.spark import main

    main()

The machines of the cluster need tablekit, and not your classes: those are read where the job is submitted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import posixpath
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import attrs

from tablekit.definition.registry import TableDefinition
from tablekit.errors import RequestError, TablekitError
from tablekit.tools.export_source import FILES, SUMMARY, ExportError, find_export, manifest_file, refuse_ion
from tablekit.tools.spark_rows import PROBLEM, SPARK_TYPES, classify, values_of
from tablekit.tools.split_parquet import arrow_columns
from tablekit.tools.split_plan import UNKNOWN, UNTYPED, SplitPlan, file_names, plan_split
from tablekit.tools.split_text import csv_header
from tablekit.tools.split_writers import SUFFIXES

__all__ = ["SparkFormat", "SparkOutput", "SparkReport", "main", "split"]

SparkFormat = Literal["dynamodb-json", "json", "csv", "parquet"]
STAGE = ".tablekit-spark"
"""The folder between the two steps, in the output folder; rows lie in it by output."""
_STAGED = "output string, file string, number bigint, bytes bigint, text string"


@attrs.frozen
class SparkOutput:
    """One output of the job.

    Attributes:
        name: as `tablekit.tools.split.Output` has it. path: the folder, as Spark has been given it. rows: how many it
            holds. bytes: the bytes of those rows in the export, uncompressed.
    """

    name: str
    path: str
    rows: int
    bytes: int


@attrs.frozen
class SparkReport:
    """What the job did.

    Attributes:
        outputs: by name. rows: all of them. expected: the number that the manifest promises; None without one.
    """

    outputs: Mapping[str, SparkOutput]
    rows: int
    expected: int | None

    @property
    def strays(self) -> int:
        """How many rows have no type, or one that no class has."""
        return sum(each.rows for name, each in self.outputs.items() if name == UNTYPED or name.startswith(UNKNOWN))


@attrs.frozen
class _Source:
    paths: tuple[str, ...]
    items: Mapping[str, int | None]
    total: int | None
    incremental: bool


def split(
    spark: Any,
    source: str,
    out: str,
    *,
    app: TableDefinition,
    format: SparkFormat = "dynamodb-json",
    overwrite: bool = False,
) -> SparkReport:
    """Split an export by type, on the machines of a Spark session.

    Parameters:
        spark: the ``SparkSession``. source: the export's own folder, at any place that Spark reads, such as
            ``s3a://...``; on this machine any parent of it as well. out: the folder for the outputs.
        app: the table whose classes know the types and aliases. format: as for `tablekit.tools.split.split`; the part
            files of a CSV begin with its header, each. overwrite: replace outputs that are there.

    Raises `ExportError` for an export that is not whole, when a file's lines are not as many as its manifest says, and
    for a line that is no record; nothing but the folder between the steps was written then. Checksums are not
    compared: Spark reads files by itself, and its gzip reader fails for a file that is cut.
    """
    plan = plan_split(app, format)
    found = _local(source) if "://" not in source else _remote(spark, source.rstrip("/"))
    if found.incremental and format in ("csv", "parquet"):
        raise ExportError(
            f"{source} is an incremental export, whose lines are changes, not rows. Split it as dynamodb-json or json.",
            path=source,
        )
    stage = posixpath.join(out, STAGE)
    try:
        _stage(spark, found, plan, stage)
        staged = spark.read.schema(_STAGED).parquet(stage)
        _check(staged, found, source)
        outputs = _write(staged, plan, out, overwrite=overwrite)
    finally:
        _delete(spark, stage)
    return SparkReport(outputs, sum(each.rows for each in outputs.values()), found.total)


# The export


def _local(source: str) -> _Source:
    export = find_export(source)
    paths = tuple(file.path.resolve().as_uri() for file in export.files)
    items = {} if export.items is None else {file.path.name: file.items for file in export.files}
    return _Source(paths, items, export.items, export.incremental)


def _remote(spark: Any, folder: str) -> _Source:
    """The export in a folder that Spark alone can read."""
    summary: dict[str, Any] = json.loads("\n".join(_text(spark, f"{folder}/{SUMMARY}")))
    refuse_ion(summary, folder)
    incremental = summary.get("exportType") == "INCREMENTAL_EXPORT"
    # Incremental exports share one folder of data files.
    data = f"{posixpath.dirname(folder) if incremental else folder}/data"
    manifest = f"{folder}/{FILES}"
    entries = [
        manifest_file(line, manifest, number) for number, line in enumerate(_text(spark, manifest), 1) if line.strip()
    ]
    paths = tuple(f"{data}/{name}" for name, _, _ in entries)
    return _Source(paths, {name: items for name, items, _ in entries}, summary.get("itemCount"), incremental)


def _text(spark: Any, path: str) -> list[str]:
    try:
        return [row[0] for row in spark.read.text(path).collect()]
    except Exception as error:
        raise ExportError(
            f"{path} cannot be read ({type(error).__name__}). Give the export's own folder, whole.", path=path
        ) from error


# The first step: lines to rows by output


def _stage(spark: Any, source: _Source, plan: SplitPlan, stage: str) -> None:
    if not source.paths:
        rows = spark.createDataFrame([], _STAGED)
    else:
        lines = spark.read.text(list(source.paths), lineSep="\n").select("_metadata.file_path", "value")
        rows = spark.createDataFrame(lines.rdd.map(tuple).mapPartitions(partial(classify, plan)), _STAGED)
    try:
        rows.write.partitionBy("output").mode("overwrite").parquet(stage)
    except Exception as error:
        raise ExportError(
            f"Spark could not read the export, or not write to {stage}: {_cause(error)}. A data file that is cut is to "
            "be copied again."
        ) from error


def _cause(error: Exception) -> str:
    """The first line of what Spark says at the bottom of its trace."""
    causes = [line.strip() for line in str(error).splitlines() if line.strip().startswith("Caused by:")]
    return causes[-1].removeprefix("Caused by: ") if causes else f"{type(error).__name__}"


def _check(staged: Any, source: _Source, folder: str) -> None:
    """Compare what was read with the manifest, before any output is written."""
    problems = staged.where(staged.output == PROBLEM).orderBy("file", "number").limit(1).collect()
    if problems:
        raise ExportError(problems[0]["text"], path=problems[0]["file"], line=problems[0]["number"])
    found = {row["file"]: row["count"] for row in staged.groupBy("file").count().collect()} if source.items else {}
    for name, items in source.items.items():
        if items is not None and found.get(name, 0) != items:
            raise ExportError(
                f"{name} of {folder} holds {found.get(name, 0)} rows, and its manifest says {items}. "
                "Copy the file again.",
                path=name,
            )


# The second step: each output by itself


def _write(staged: Any, plan: SplitPlan, out: str, *, overwrite: bool) -> dict[str, SparkOutput]:
    counted = staged.groupBy("output").agg({"*": "count", "bytes": "sum"}).collect()
    totals = {row["output"]: (row["count(1)"], row["sum(bytes)"]) for row in counted}
    names = file_names(totals)
    outputs: dict[str, SparkOutput] = {}
    for output in sorted(totals):
        path = posixpath.join(out, f"{names[output]}{SUFFIXES[plan.format]}")
        mine = staged.where(staged.output == output)
        _write_one(mine, plan, output, path, "overwrite" if overwrite else "errorifexists")
        outputs[output] = SparkOutput(output, path, *totals[output])
    return outputs


def _write_one(rows: Any, plan: SplitPlan, output: str, path: str, mode: str) -> None:
    if plan.format == "parquet":
        values = rows.select("text").rdd.map(partial(_values, plan, output))
        rows.sparkSession.createDataFrame(values, _parquet_columns(plan, output)).write.mode(mode).parquet(path)
    elif plan.format == "csv":
        header = csv_header(plan.columns_of(output)).rstrip("\r\n")
        texts = rows.select("text").rdd.mapPartitions(partial(_headed, header))
        rows.sparkSession.createDataFrame(texts, "text string").write.mode(mode).text(path, lineSep="\r\n")
    else:
        rows.select("text").write.mode(mode).text(path, lineSep="\n")


def _values(plan: SplitPlan, output: str, row: Any) -> tuple[Any, ...]:
    return values_of(plan, output, row[0])


def _headed(header: str, rows: Any) -> Any:
    """The rows of a part file after a header, where it has rows."""
    first = True
    for row in rows:
        if first:
            yield (header,)
            first = False
        yield (row[0],)


def _parquet_columns(plan: SplitPlan, output: str) -> str:
    columns = plan.columns_of(output)
    if columns is None:
        return "item string"
    tags = arrow_columns(columns)
    return ", ".join(
        f"`{column.name}` {SPARK_TYPES.get(tag or '', 'string')}" for column, (_, tag) in zip(columns, tags)
    )


def _delete(spark: Any, folder: str) -> None:
    # Spark itself cannot delete; the file systems that it writes to can.
    context = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(folder)  # noqa: SLF001  (Spark offers no other way)
    path.getFileSystem(context._jsc.hadoopConfiguration()).delete(path, True)  # noqa: SLF001, FBT003


# The command


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line of the job, for ``spark-submit``; exits as ``tablekit split`` does."""
    parser = argparse.ArgumentParser(prog="tablekit.tools.spark", description="Split an export by type, with Spark.")
    parser.add_argument("source", help="the export's own folder, at any place that Spark reads")
    parser.add_argument("out", help="the folder for the outputs")
    parser.add_argument("--app", required=True, metavar="MODULE:TABLE", help="the Table, as shop.models:app")
    parser.add_argument(
        "--as", dest="format", choices=["dynamodb-json", "json", "csv", "parquet"], default="dynamodb-json"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace outputs that are there")
    options = parser.parse_args(arguments)
    spark = _session()
    try:
        report = split(
            spark,
            options.source,
            options.out,
            app=_app(options.app),
            format=options.format,
            overwrite=options.overwrite,
        )
    except TablekitError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    finally:
        spark.stop()
    for output in report.outputs.values():
        sys.stdout.write(json.dumps(attrs.asdict(output)) + "\n")
    raise SystemExit(1 if report.strays else 0)


def _session() -> Any:
    try:
        sql = importlib.import_module("pyspark.sql")
    except ImportError:
        raise RequestError('The Spark job needs the extra: pip install "tablekit[spark]".') from None
    return sql.SparkSession.builder.appName("tablekit split").getOrCreate()


def _app(path: str) -> TableDefinition:
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name, None) if module and name else None
    if not isinstance(found, TableDefinition):
        raise RequestError(f"--app {path!r} is no Table; give package.module:table.")
    return found


if __name__ == "__main__":
    main()
