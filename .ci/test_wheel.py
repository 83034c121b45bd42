"""Runs part of the tests against the installed wheel: the source tree is not on the path.

It is run by the interpreter of an environment that holds the wheel with its extras, and what the tests need::

    python .ci/test_wheel.py build/wheel-tests                      # over three transports
    python .ci/test_wheel.py build/wheel-tests pynamodb             # over one

The tests are copied into that folder, since the tree's own settings put the tree first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRANSPORTS = ("pynamodb", "direct", "aio")
TESTS = [
    *(f"tests/api/test_{name}.py" for name in ("first_steps", "batch", "cursor_paging", "explain", "query_mixed")),
    *(f"tests/api/test_{name}.py" for name in ("outcomes", "policies_reads", "streams", "transaction", "versions")),
    *(f"tests/patterns/test_{name}.py" for name in ("singleton", "counter")),
]


def copied(folder: Path) -> Path:
    """The folder, with the tests and their settings in it and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", ".hypothesis")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def main(folder: Path, transports: Sequence[str]) -> int:
    """Run the tests over each transport."""
    copied(folder)
    where = "import tablekit, sys; sys.exit(not tablekit.__file__.startswith(sys.prefix))"
    if subprocess.run([sys.executable, "-c", where], cwd=folder, check=False).returncode:
        print("WRONG: tablekit is not the one that is installed")
        return 1
    for transport in transports:
        print(f"the wheel over the transport {transport}", flush=True)
        options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "tablekit-quick", "-k", "not dynalite"]
        environment = os.environ | {"TABLEKIT_TEST_TRANSPORT": transport}
        command = [sys.executable, "-P", "-m", "pytest", *options, *TESTS]
        if sys.version_info < (3, 11):
            command.remove("-P")
        if subprocess.run(command, cwd=folder, env=environment, check=False).returncode:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), sys.argv[2:] or TRANSPORTS))
