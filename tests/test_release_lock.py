"""The file of releases and hashes that .ci/lock writes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
LOCKS = sorted((ROOT / ".ci").glob("lock-*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LEFT_OUT = {"all", "spark"}


def locked(path: Path) -> dict[str, tuple[str, list[str]]]:
    """The releases of a lock: name to version and hashes."""
    found: dict[str, tuple[str, list[str]]] = {}
    for text in re.split(r"\n(?=[a-z0-9])", path.read_text()):
        release = re.match(r"([a-z0-9._-]+)==(\S+)", text)
        if release is not None:
            found[canonicalize_name(release[1])] = release[2], re.findall(r"--hash=sha256:([0-9a-f]{64})", text)
    return found


def wanted() -> list[Requirement]:
    """What the library and its extras ask for, but for Spark, which brings a whole Java engine."""
    extras = PROJECT["optional-dependencies"]
    named = [line for extra, lines in extras.items() if extra not in LEFT_OUT for line in lines]
    return [Requirement(line) for line in [*PROJECT["dependencies"], *named]]


def test_there_is_a_lock() -> None:
    """Of one Python at least."""
    assert LOCKS


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_what_is_asked_for_is_locked_within_its_bounds(path: Path) -> None:
    """A bound that moved, or a new requirement, needs `make lock`."""
    releases = locked(path)
    for each in wanted():
        version, _ = releases[canonicalize_name(each.name)]
        assert each.specifier.contains(version), f"{each} is not {version}; run `make lock`"


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_each_release_has_hashes(path: Path) -> None:
    """Without one, pip refuses the whole file; and nothing is named by an address."""
    assert all(hashes for _, hashes in locked(path).values())
    assert "://" not in path.read_text()
