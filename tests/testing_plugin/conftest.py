"""Runs the plugin as its users do: in a pytest of its own, in a project of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def run_pytest(pytester, monkeypatch):
    """Runs pytest in the project of this test, in a process of its own, with the plugin loaded."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("TABLEKIT_TEST_ENDPOINT", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the same plugins everywhere, and a quick start

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "tablekit.testing", "-p", "no:cacheprovider", *arguments)

    return run
