"""Both type checkers, in strict mode, on files of right uses and of wrong ones.

A line that must be an error ends with ``# E: <mypy's code> | <pyright's rule>``; several codes of one checker
stand with commas between them, any of which is right, and ``-`` is for none. No other line may be one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = sorted(HERE.glob("*/*.py"))
MARK = re.compile(r"# E: (\S+) \| (\S+)$")
MYPY = re.compile(r"(.+?):(\d+): error: .*\[([\w-]+)\]$")

Found = dict[Path, dict[int, set[str]]]


@cache
def mypy() -> Found:
    """What mypy finds: file, line, codes."""
    command = ["-m", "mypy", "--config-file", "", "--strict", "--python-version", "3.10", "--no-pretty"]
    command += ["--no-error-summary", "--hide-error-context", "--cache-dir", str(ROOT / ".mypy_cache"), "--"]
    output = run(*command, *map(str, FILES))
    found: Found = defaultdict(lambda: defaultdict(set))
    for line in output.splitlines():
        match = MYPY.match(line)
        if match is not None:
            found[(ROOT / match[1]).resolve()][int(match[2])].add(match[3])
    return found


@cache
def pyright() -> Found:
    """What pyright finds: file, line, rules."""
    project = ROOT / "tests" / "typing" / "pyrightconfig.json"
    report = json.loads(run("-m", "pyright", "--outputjson", "--project", str(project)))
    assert report["summary"]["filesAnalyzed"] >= len(FILES)
    found: Found = defaultdict(lambda: defaultdict(set))
    for each in report["generalDiagnostics"]:
        if each["severity"] == "error":
            line = each["range"]["start"]["line"] + 1
            found[Path(each["file"]).resolve()][line].add(each.get("rule", "syntax"))
    return found


def run(*command: str) -> str:
    """The output of a module of this interpreter."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def expected(path: Path, checker: int) -> dict[int, set[str]]:
    """The marks of a file: line, and the codes of which one is right."""
    marks = {number: MARK.search(line) for number, line in enumerate(path.read_text().splitlines(), 1)}
    codes = {number: match[checker] for number, match in marks.items() if match is not None}
    return {number: set(each.split(",")) for number, each in codes.items() if each != "-"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize(("check", "checker"), [(mypy, 1), (pyright, 2)], ids=["mypy", "pyright"])
def test_a_checker_finds_what_is_marked_and_nothing_else(path: Path, check: Callable[[], Found], checker: int) -> None:
    """Every marked line is an error of the kind that its mark says, and every other line is none."""
    marked, found = expected(path, checker), check()[path.resolve()]
    unseen = {line: sorted(codes) for line, codes in marked.items() if not codes & found.get(line, set())}
    surprising = {line: sorted(codes) for line, codes in found.items() if not codes & marked.get(line, set())}
    assert (unseen, surprising) == ({}, {})
    assert marked or path.parent.name == "good"
