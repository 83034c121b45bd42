"""``python -m benchmarks``: the same work by tablekit and its peers, in interleaved rounds; a table, and JSON.

Everything runs on this machine. A server with canned answers has one core, and the library that is measured the other;
each library has a process and an environment of its own. Figures are medians over the rounds, CPU as
``time.process_time`` sees it (all threads), with the garbage collector on; ratios are taken within each round. Before
anything is timed each library has to return the right rows: how many, of which class, with values of which type.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.environments import LIBRARIES, chosen, versions
from benchmarks.plot import plot
from benchmarks.report import figures_of, ratios, table
from benchmarks.run import Run
from benchmarks.workloads import WORKLOADS


def main(arguments: list[str]) -> int:
    """Run what the command line asks for; 1 when a library could not be measured."""
    given = _parser().parse_args(arguments)
    workloads = [name for name in WORKLOADS if not given.only or name in given.only]
    run = Run(chosen(given.peers, quick=given.quick), workloads, quick=given.quick, rounds=given.rounds)
    began = time.monotonic()
    run.measure()
    figures, found = figures_of(run.samples), ratios(run.samples)
    print(table(figures, found, WORKLOADS))
    for name, problem in run.problems.items():
        print(f"not measured: {name}: {problem}")
    for workload, missing in run.absent.items():
        if missing:
            print(f"not offered, {workload}: {', '.join(missing)}")
    print(f"{time.monotonic() - began:.0f} s")
    whole: dict[str, Any] = {**figures, "ratios": found, "environment": _environment(run)}
    if given.json:
        given.json.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    if given.plot:
        given.plot.write_text(plot(whole), encoding="utf-8")
    return 1 if run.problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the nearest peers, fewer rounds: under 50 s once the environments are there",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the figures there, as SVG")
    parser.add_argument("--only", metavar="WORKLOAD", action="append", choices=WORKLOADS, help="; ".join(WORKLOADS))
    names = ", ".join(library.name for library in LIBRARIES)
    parser.add_argument("--peers", metavar="LIST", help=f"names, separated by commas: {names}")
    parser.add_argument("--rounds", metavar="N", type=int, default=9, help="rounds of a full run; 9 otherwise")
    return parser


def _environment(run: Run) -> dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "rounds": run.rounds_done,
        "quick": run.quick,
        "versions": versions(run.libraries),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
