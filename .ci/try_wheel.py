"""Tries an installed wheel: what it depends on, what it holds, and README's program with what that prints.

It is run by the interpreter of an environment that holds the wheel and its extra ``local``, and nothing else::

    python .ci/try_wheel.py README.md
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tablekit

DEPENDENCIES = {"attrs", "pynamodb", "typing-extensions"}


def check(holds: bool, what: str) -> None:
    """Say what was checked, and end when it does not hold."""
    print(f"{'ok' if holds else 'WRONG'}: {what}")
    if not holds:
        sys.exit(1)


def required(distribution: str) -> set[str]:
    """The distributions that one needs without any extra."""
    lines = importlib.metadata.requires(distribution) or []
    return {re.split(r"[^A-Za-z0-9-]", line)[0] for line in lines if "extra ==" not in line}


def main(readme: Path) -> None:
    """Try the wheel."""
    package = Path(tablekit.__file__).parent
    check(package.is_relative_to(sys.prefix), f"the package is the installed one, {package}")
    check((package / "py.typed").is_file(), "it says that it is typed")
    check(required("tablekit") == DEPENDENCIES, f"it needs {sorted(required('tablekit'))}")
    check(tablekit.__version__ == importlib.metadata.version("tablekit"), f"it is version {tablekit.__version__}")

    program, expected = re.findall(r"```(?:python|text)\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)[:2]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(program, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=120, check=False
        )
    check(done.stdout == expected, f"README's program prints what README says\n{done.stderr}".rstrip())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
