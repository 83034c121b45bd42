"""The virtual environments of the libraries that are compared, made under ``.envs/`` when they are missing.

Each library has one of its own: some pin what others need newer, and some change botocore when they are imported.
A stamp file says what was installed, so that a second run makes nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".envs"
TABLEKIT = ("attrs>=23.2", "pynamodb>=6.1,<7", "typing-extensions>=4.12")
TABLEKIT_AIO = (*TABLEKIT, "aiobotocore>=2.18,<4")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Library:
    """One library to measure.

    Parameters:
        name: how it is called in the results. module: of `benchmarks.peers`. packages: what pip installs.
        python: the interpreter's version; ours when it is empty. options: given to the module.
        quick: whether a quick run has it.
    """

    name: str
    module: str
    packages: tuple[str, ...] = ()
    python: str = ""
    options: tuple[str, ...] = ()
    quick: bool = False

    @property
    def environment(self) -> Path:
        """Where its packages are."""
        return ENVIRONMENTS / f"{self.module}-{self.version}"

    @property
    def version(self) -> str:
        """The interpreter's version."""
        return self.python or HERE

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        folder = "Scripts/python.exe" if os.name == "nt" else "bin/python"
        return self.environment / folder


LIBRARIES = (
    Library("tablekit", "tablekit_", TABLEKIT, quick=True),
    Library("tablekit direct", "tablekit_", TABLEKIT, options=("direct",), quick=True),
    Library("tablekit aio", "tablekit_aio_", TABLEKIT_AIO),
    Library("tablekit aio direct", "tablekit_aio_", TABLEKIT_AIO, options=("direct",)),
    Library("tablekit 3.13", "tablekit_", TABLEKIT, python="3.13"),
    Library("tablekit direct 3.13", "tablekit_", TABLEKIT, python="3.13", options=("direct",), quick=True),
    Library("tablekit aio direct 3.13", "tablekit_aio_", TABLEKIT_AIO, python="3.13", options=("direct",)),
    Library("pynamodb", "pynamodb_", ("pynamodb==6.1.0",), quick=True),
    Library("boto3", "boto3_", ("boto3",)),
    Library("pydynox", "pydynox_", ("pydynox==1.8.0",), quick=True),
    Library("pydynox aio", "pydynox_", ("pydynox==1.8.0",), options=("aio",)),
    Library("dynamoxy aio 3.13", "dynamoxy_", ("dynamoxy==0.3.0",), python="3.13", quick=True),
    Library("aiodynamo aio", "aiodynamo_", ("aiodynamo==26.4", "aiohttp")),
    Library("pydynantic", "pydynantic_", ("pydynantic==1.0.0",)),
    Library("dyntastic", "dyntastic_", ("dyntastic==0.18.0",)),
    Library("floor: json", "floor_"),
    Library("floor: json and decoders", "floor_", options=("decoders",), quick=True),
)
"""Everything that is compared. Those that are awaited are called aio."""


def chosen(names: str | None, *, quick: bool = False) -> tuple[Library, ...]:
    """The libraries whose names are given, separated by commas; without, all, or those of a quick run."""
    if not names:
        return tuple(library for library in LIBRARIES if library.quick or not quick)
    wanted = [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in {library.name for library in LIBRARIES}]
    if unknown:
        known = ", ".join(library.name for library in LIBRARIES)
        raise SystemExit(f"No such library: {', '.join(unknown)}. There are: {known}")
    return tuple(library for library in LIBRARIES if library.name in wanted)


def prepare(libraries: Iterable[Library]) -> dict[str, str]:
    """Make what is missing, two at a time; gives the libraries that cannot be measured, with the reason."""
    first = {library.environment: library for library in libraries}
    with ThreadPoolExecutor(2) as pool:
        problems = dict(zip(first, pool.map(_make, first.values()), strict=True))
    return {library.name: problems[library.environment] for library in libraries if problems[library.environment]}


_VERSIONS = """
import sys
from importlib.metadata import distributions
found = {each.name.replace("_", "-"): each.version for each in distributions()}
wanted = dict.fromkeys([*sys.argv[1:], "botocore", "aiohttp"])
print(sys.version.split()[0], *(f"{name} {found[name]}" for name in wanted if name in found))
"""


def versions(libraries: Iterable[Library]) -> dict[str, str]:
    """What is installed for each library, by its main package, and its interpreter."""
    found: dict[str, str] = {}
    for library in libraries:
        packages = [package.partition("=")[0].partition(">")[0] for package in library.packages]
        command = [str(library.interpreter), "-c", _VERSIONS, *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found[library.name] = f"Python {done.stdout.strip()}"
    return found


def _make(library: Library) -> str:
    stamp = library.environment / ".installed"
    wanted = "\n".join((library.version, *library.packages))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return ""
    python = sys.executable if library.version == HERE else _find(library.version)
    if python is None:
        return f"Python {library.version} is not on the PATH, and pyenv has none"
    print(f"making {library.environment.relative_to(ROOT)} ...", flush=True)
    for command in _commands(python, library):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            return lines[-1] if lines else f"{command[0]} ended with status {done.returncode}"
    stamp.write_text(wanted, encoding="utf-8")
    return ""


def _find(version: str) -> str | None:
    """An interpreter of a version: from the PATH where it runs (pyenv's shims may refuse to), else from pyenv."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
        return found
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return None
    prefix = subprocess.run([pyenv, "prefix", version], capture_output=True, text=True, check=False).stdout.strip()
    return str(Path(prefix) / "bin" / "python") if prefix else None


def _commands(python: str, library: Library) -> list[list[str]]:
    create = [python, "-m", "venv", "--clear", "--without-pip", str(library.environment)]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(library.interpreter)]
    return [create, [*pip, "install", "--quiet", *library.packages]] if library.packages else [create]
