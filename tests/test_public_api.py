"""What `import tablekit` gives, and what it costs."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "tablekit").rglob("*.py"))
    if path.name != "__main__.py"
]


def imported_by(statement: str) -> set[str]:
    """The top-level packages that a new interpreter has imported after a statement."""
    program = f"{statement}\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in output.split()}


@pytest.mark.parametrize("name", ["tablekit", "tablekit.local", "tablekit.testing"])
def test_importing_does_not_import_the_transport(name):
    """Neither pynamodb nor botocore is imported before the first call."""
    assert not imported_by(f"import {name}") & {"pynamodb", "botocore", "aiobotocore", "ministack"}


def test_importing_is_cheap():
    """What takes long to import is imported by the first call that needs it.

    asyncio takes a third of the time that tablekit does; with it the import is over the budget of 1.15 times that of
    pynamodb's models.
    """
    assert not imported_by("import tablekit") & {"asyncio", "ssl", "subprocess", "click", "rich", "pyarrow"}


def public_names(module: str) -> list[tuple[str, object]]:
    """The objects that a module lists in its `__all__` and defines itself."""
    loaded = importlib.import_module(module)
    named = [(name, getattr(loaded, name)) for name in getattr(loaded, "__all__", [])]
    return [(name, value) for name, value in named if getattr(value, "__module__", None) == module]


@pytest.mark.parametrize("module", MODULES)
def test_public_names_have_docstrings(module):
    """Every class and function in an `__all__`, and every public method of such a class, says what it does."""
    silent = []
    for name, value in public_names(module):
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        silent += [name] if not inspect.getdoc(value) else []
        members = vars(value).items() if inspect.isclass(value) else ()
        silent += [
            f"{name}.{member}"
            for member, method in members
            if not member.startswith("_")
            and isinstance(method, FunctionType | property | classmethod | staticmethod)
            and not inspect.getdoc(getattr(value, member))
        ]
    assert not silent, f"{module}: no docstring on {silent}"


@pytest.mark.parametrize("module", MODULES)
def test_public_names_exist(module):
    """Every name in an `__all__` is there, and is listed once."""
    loaded = importlib.import_module(module)
    names = list(getattr(loaded, "__all__", []))
    assert len(names) == len(set(names))
    assert not [name for name in names if not hasattr(loaded, name)]
