"""Runs part of the tests on other interpreters and with other releases of what tablekit depends on.

::

    python .ci/compat/matrix.py                        # oldest on 3.10 and newest on 3.13, a part that takes minutes
    python .ci/compat/matrix.py --all                  # oldest and newest on each interpreter, all tests of the library
    python .ci/compat/matrix.py oldest:3.10 newest:3.12 -- tests/codecs -x

Each environment stands in build/compat and is kept; `oldest` holds the releases of oldest.txt, `newest` what the
package index has. The engine pins botocore, so that it runs in an environment of its own, and the tests are pointed
at it. An interpreter that is not on this machine is named and left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "compat"
OLDEST = Path(__file__).parent / "oldest.txt"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
QUICK = ("oldest:3.10", "newest:3.13")

EXTRAS = "async,cli,cursors,otel,pydantic"
TEST_TOOLS = ("pytest", "pytest-xdist", "hypothesis", "boto3", "opentelemetry-sdk")
SHOWN = ("attrs", "aiobotocore", "botocore", "pydantic", "pynamodb", "typing_extensions")

PARTS = ["definition", "codecs", "expressions", "wire", "operations", "api", "patterns", "aio"]
QUICK_TESTS = [
    *(f"tests/{part}" for part in ("definition", "codecs", "expressions", "aio")),
    *(f"tests/wire/test_{name}.py" for name in ("response", "rendering", "items")),
    *(f"tests/operations/test_{name}.py" for name in ("transport", "transport_sockets", "signer", "direct", "outcome")),
    *(f"tests/api/test_{name}.py" for name in ("first_steps", "versions", "cursor_paging")),
]
# Those that start peers, browsers and packages of their own are for the main environment.
SELECTED = "not dynalite and not published"
# What these compare with came into botocore later: account ids in credentials, and further codes that it repeats.
OLDEST_LACKS = "not accounts_host and not exactly_where_botocore_repeats_them"


def interpreter(version: str) -> str | None:
    """The program of a Python version on this machine, or None."""
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    for program in (f"python{version}", *map(str, managed)):
        asked = [program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if shutil.which(program) is None:
            continue
        answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if answer == version:
            return program
    return None


def environment(name: str, program: str, *wanted: str) -> Path:
    """The Python of an environment that holds what is wanted; made once, and again when what is wanted changes."""
    folder = BUILD / name
    stamp, asked = folder / ".installed", "\n".join(wanted) + (OLDEST.read_text() if "oldest" in name else "")
    python = folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != asked:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([program, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *wanted], check=True, cwd=ROOT)
        stamp.write_text(asked)
    return python


@contextmanager
def engine(program: str) -> Iterator[str]:
    """An engine in an environment of its own: its endpoint."""
    python = environment("engine", program, ".[local]")
    command = [str(python), "-m", "tablekit.local"]
    with subprocess.Popen(command, cwd=BUILD, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def run(name: str, tests: list[str]) -> bool:
    """Run tests in one environment, such as ``oldest:3.10``; whether they passed."""
    which, _, version = name.partition(":")
    program = interpreter(version)
    if program is None:
        print(f"{name}: Python {version} is not on this machine; left out")
        return True
    constraints = ["--constraint", str(OLDEST)] if which == "oldest" else ["--upgrade"]
    python = environment(f"{which}-{version}", program, *constraints, "--editable", f".[{EXTRAS}]", *TEST_TOOLS)
    print(f"{name}: {', '.join(releases(python))}", flush=True)
    began = time.monotonic()
    selected = f"{SELECTED} and {OLDEST_LACKS}" if which == "oldest" else SELECTED
    options = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "tablekit-quick", "-k", selected]
    command = [str(python), "-m", "pytest", *options, *tests]
    with engine(sys.executable) as endpoint:
        settings = {"TABLEKIT_TEST_MINISTACK": endpoint, "TABLEKIT_TEST_EDITS": "20", "CI": "1"}
        passed = subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=False).returncode == 0
    print(f"{name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
    return passed


def releases(python: Path) -> list[str]:
    """What is installed there of what tablekit depends on."""
    program = "import importlib.metadata as m, sys; print(*[n + ' ' + m.version(n) for n in sys.argv[1:]], sep='\\n')"
    done = subprocess.run([str(python), "-c", program, *SHOWN], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> int:
    """Run the environments that were asked for."""
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description="Run tests with other releases and interpreters.")
    parser.add_argument("environments", nargs="*", help=f"such as {QUICK[0]} (default: {' '.join(QUICK)})")
    parser.add_argument("--all", action="store_true", help="oldest and newest on each interpreter, all tests")
    given = parser.parse_args(arguments[:end])
    every = [f"{which}:{version}" for version in VERSIONS for which in ("oldest", "newest")]
    names = every if given.all else given.environments or list(QUICK)
    tests = arguments[end + 1 :] or ([f"tests/{part}" for part in PARTS] if given.all else QUICK_TESTS)
    BUILD.mkdir(parents=True, exist_ok=True)
    failed = [name for name in names if not run(name, tests)]
    print(f"failed: {', '.join(failed)}" if failed else f"all {len(names)} environments passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
