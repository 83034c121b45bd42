"""Audits what is shipped: bandit, a wheel that builds to the same bytes twice, and its bill of materials.

::

    .venv/bin/python .ci/audit.py dist             # after make wheel; writes the bill of materials beside the wheel
    .venv/bin/python .ci/audit.py dist --advisories   # asks PyPI's advisories too, which needs the open network

It makes the tools an environment of its own in build/audit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build" / "audit"
TOOL_PACKAGES = ("bandit==1.9.4", "cyclonedx-bom==7.5.0", "pip-audit==2.10.1")

# ruff makes the same checks (its rules S), and each place says by its noqa why it may; here they would need a second
# comment. B101: asserts for type checkers. B102: code generated from class definitions, and adopted models that are
# checked. B307: annotations, which are the user's own code. B105: made-up keys of the engine,
# and words such as "token". B112: a cursor's next key is tried. B311: jitter. B404, B603: the engine's own process,
# and git, with fixed words. B406: an escape for SVG, which parses nothing.
ALLOWED = "B101,B102,B105,B112,B307,B311,B404,B406,B603"

EPOCH = "1767225600"
"""2026-01-01: the time in the wheel's entries while it is compared; a release takes that of its commit."""


def tool(name: str) -> str:
    """A tool's program; the tools are installed on the first call."""
    stamp = TOOLS / ".installed"
    if not stamp.is_file() or stamp.read_text() != " ".join(TOOL_PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", str(TOOLS)], check=True)
        pip = [str(TOOLS / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *TOOL_PACKAGES], check=True)
        stamp.write_text(" ".join(TOOL_PACKAGES))
    return str(TOOLS / "bin" / name)


def check(holds: bool, what: str) -> None:
    """Say what was checked, and end when it does not hold."""
    print(f"{'ok' if holds else 'WRONG'}: {what}", flush=True)
    if not holds:
        sys.exit(1)


def bandit() -> None:
    """No finding beyond those that are explained in their places."""
    done = subprocess.run(
        [tool("bandit"), "--quiet", "--recursive", "--skip", ALLOWED, "tablekit", "examples"], cwd=ROOT, check=False
    )
    check(done.returncode == 0, "bandit finds nothing")


def build(folder: Path) -> Path:
    """The wheel of a copy of the tree in another folder, whose files are of another time and mode."""
    copy = folder / "tree"
    copy.mkdir(parents=True)
    for name in ("tablekit", "LICENSE", "README.md", "pyproject.toml"):
        found = ROOT / name
        if found.is_dir():
            shutil.copytree(
                found, copy / name, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copyfile
            )
        else:
            shutil.copyfile(found, copy / name)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run(
        [*command, "--wheel-dir", str(folder), str(copy)], check=True, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}
    )
    return next(folder.glob("*.whl"))


def reproducible(dist: Path) -> None:
    """Two builds, in different folders and at different times, are the same bytes; the wheel in `dist` holds them."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        os.umask(0o077)
        first = build(Path(one, "a"))
        os.umask(0o022)
        second = build(Path(other, "a longer name"))
        check(first.read_bytes() == second.read_bytes(), f"two builds are alike: sha256 {digest(first)}")
        shipped = next(dist.glob("*.whl"), None)
        if shipped is not None:
            check(contents(shipped) == contents(first), f"{shipped.name} holds what the tree holds")


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, whatever the times of its entries."""
    with zipfile.ZipFile(wheel) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def bill_of_materials(dist: Path) -> None:
    """A CycloneDX file of the wheel and all that it needs, without extras."""
    wheel = next(dist.glob("*.whl"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", str(wheel)], check=True)
        written = dist / f"{wheel.name.partition('-py3')[0]}.cdx.json"
        options = ["--output-reproducible", "--mc-type", "library", "--output-file", str(written)]
        subprocess.run([tool("cyclonedx-py"), "environment", *options, python], check=True)
    parts = {part["name"] for part in json.loads(written.read_text())["components"]}
    check(
        {"tablekit", "attrs", "pynamodb", "typing_extensions", "botocore"} <= parts,
        f"{written.name}: {len(parts)} parts",
    )


def advisories() -> None:
    """Nothing that the library or its extras need is known to be vulnerable."""
    done = subprocess.run([tool("pip-audit"), "--progress-spinner", "off", str(ROOT)], check=False)
    check(done.returncode == 0, "no advisory is open")


def main() -> None:
    """Audit."""
    parser = argparse.ArgumentParser(description="Audit what is shipped.")
    parser.add_argument("dist", type=Path, help="the folder of the wheel")
    parser.add_argument("--advisories", action="store_true", help="ask PyPI's advisories, over the network")
    given = parser.parse_args()
    bandit()
    reproducible(given.dist)
    bill_of_materials(given.dist)
    if given.advisories:
        advisories()


if __name__ == "__main__":
    main()
