"""Look again at the mutants that mutmut left alive: run all chosen tests on each, in a process that imports them anew.

mutmut imports the tests once, and forks for each mutant. What a test module does when it is imported, and defining
entities is most of what tablekit does, has then been done by the code as it was. Here each mutant has a process that
has imported neither tablekit nor the tests; only what both stand on is imported beforehand, to be quick.

    python .ci/survivors.py [--only codecs.unions] build/mutation/tree/mutants 2 tests/definition

prints a line for each that is still alive, and the count of each kind.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

LIMIT_SECONDS = 120
SKIPPED = "dynalite or linear_time or warning_at_the_class"
NO_TEST = 33
NAMED = {1: "noticed", 0: "alive", NO_TEST: "no test", 36: "too slow", 24: "too slow", 34: "skipped"}


def codes(tree: Path) -> dict[str, int]:
    """Each mutant's exit code of mutmut's own run; one that it has not come to is one without a test."""
    found: dict[str, int] = {}
    for meta in sorted(tree.glob("tablekit/**/*.meta")):
        given = json.loads(meta.read_text())["exit_code_by_key"]
        found |= {key: NO_TEST if code is None else code for key, code in given.items()}
    return found


def run_tests(name: str, tree: Path, tests: list[str]) -> None:
    """Run the tests with that mutant in this process, which ends with their exit code."""
    os.environ["MUTANT_UNDER_TEST"] = name
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    signal.alarm(LIMIT_SECONDS)
    import pytest

    options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-profile=tablekit-quick", "--no-header"]
    # hypothesis is imported beforehand, which pytest warns of, since its asserts are then not rewritten.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    os._exit(int(pytest.main([*options, *tests])))


def outcome(tree: Path, tests: list[str]) -> int:
    """The exit code of the tests on the code as it is."""
    pid = os.fork()
    if pid == 0:
        run_tests("none", tree, tests)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Run all, and print what stays alive."""
    reader = argparse.ArgumentParser(description="Run all chosen tests on each mutant that mutmut left alive.")
    reader.add_argument("--only", default="", metavar="TEXT", help="mutants whose name holds this")
    reader.add_argument(
        "--skip",
        default="dynalite or linear_time or warning_at_the_class",
        metavar="EXPRESSION",
        help="tests to leave out",
    )
    reader.add_argument("--sample", type=int, metavar="N", help="look at N of them, taken at random with a fixed seed")
    reader.add_argument("tree", type=Path)
    reader.add_argument("jobs", type=int)
    reader.add_argument("tests", nargs="+")
    given = reader.parse_args()
    tree, jobs, tests = given.tree.resolve(), given.jobs, ["-k", f"not ({given.skip})", *given.tests]
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ["CI"] = "1"
    import attr  # noqa: F401  (imported here for the processes to come, which copy it)
    import attrs  # noqa: F401
    import boto3  # noqa: F401
    import hypothesis.strategies  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401
    from mutmut.mutation import trampoline  # noqa: F401

    first = {name: code for name, code in codes(tree).items() if given.only in name}
    counts = collections.Counter(NAMED.get(code, "noticed") for code in first.values())
    print("mutmut:", dict(counts), flush=True)
    if outcome(tree, tests) != 0:
        sys.exit("The tests fail without any mutant.")
    todo = [name for name, code in first.items() if NAMED.get(code) in ("alive", "no test")]
    left = len(todo)
    if given.sample is not None and given.sample < left:
        todo = random.Random(1).sample(todo, given.sample)
    looked_at = len(todo)
    running: dict[int, str] = {}
    alive: list[str] = []
    begun = time.monotonic()
    while todo or running:
        while todo and len(running) < jobs:
            name = todo.pop()
            pid = os.fork()
            if pid == 0:
                run_tests(name, tree, tests)
            running[pid] = name
        pid, status = os.wait()
        name = running.pop(pid)
        if os.waitstatus_to_exitcode(status) == 0:
            alive.append(name)
            print("alive", name, flush=True)
    # Of a sample, what stays alive stands for as large a part of all that were left.
    about = round(len(alive) * left / looked_at) if looked_at else 0
    noticed = len(first) - about - counts["skipped"]
    part = "" if looked_at == left else f" by a sample of {looked_at} of {left}"
    print(
        f"{noticed} of {len(first)} noticed{part}, {noticed / max(1, len(first)):.1%}, {time.monotonic() - begun:.0f} s"
    )


if __name__ == "__main__":
    main()
