"""The order of the layers, read from the source: every import counts, also inside functions and for types only."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("_types", "errors"),
    ("codecs",),
    ("expressions",),
    ("definition",),
    ("wire",),
    ("operations",),
    ("api",),
    ("patterns", "aio"),
    (
        "tools",
        "__main__",
        "cli",
        "cli_adopt",
        "cli_context",
        "cli_live",
        "cli_reads",
        "cli_split",
        "_engine",
        "local",
        "testing",
    ),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
TO_THE_NETWORK = {"transport", "clients", "errors_map", "attempts", "async_transport", "direct", "direct_proxy"}

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "tablekit").rglob("*.py"))
}
TESTS = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "node_modules" not in path.parts)


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(module: str) -> set[str]:
    """The modules that a module imports, by their full names."""
    found: set[str] = set()
    for node in ast.walk(parsed(SOURCES[module])):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.add(full if full in SOURCES else base)
    return found


def layer(module: str) -> str:
    """The name of a module's layer entry: ``tablekit.codecs.scalars`` stands in ``codecs``."""
    return module.split(".")[1]


INNER = [module for module in SOURCES if module != "tablekit"]


@pytest.mark.parametrize("module", INNER)
def test_a_module_imports_only_from_earlier_layers(module):
    """A module's imports of tablekit are of its own layer or of an earlier one."""
    assert layer(module) in RANK, f"{module} is in no layer; add it to LAYERS"
    inner = {name for name in imported(module) if name.startswith("tablekit.")}
    too_late = sorted(name for name in inner if RANK[layer(name)] > RANK[layer(module)])
    assert not too_late, f"{module} imports {too_late} of a later layer"
    assert "tablekit" not in imported(module) or layer(module) in LAYERS[-1], f"{module} imports the package itself"


def test_imports_form_no_cycle():
    """No module imports itself by way of others."""
    graph = {module: {name for name in imported(module) if name in SOURCES and name != module} for module in INNER}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports go in a circle: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("module", list(SOURCES))
def test_only_the_transport_imports_pynamodb_and_botocore(module):
    """The libraries that reach the network are imported by the transport and its neighbours alone."""
    network = {name for name in imported(module) if name.split(".")[0] in {"pynamodb", "botocore", "aiobotocore"}}
    allowed = module.startswith("tablekit.operations.") and module.rpartition(".")[2] in TO_THE_NETWORK
    assert allowed or not network, f"{module} imports {sorted(network)}"


@pytest.mark.parametrize("module", list(SOURCES))
def test_a_module_says_what_it_is_for(module):
    """Every module has a docstring."""
    assert ast.get_docstring(parsed(SOURCES[module])), f"{module} has no docstring"


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_says_what_it_shows(path):
    """Every test function has a docstring."""
    functions = [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    silent = [node.name for node in functions if not ast.get_docstring(node)]
    assert not silent, f"{path.name}: no docstring on {silent}"
