"""The fixtures that give these tests their engines."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MARKERS = "\n".join(["[pytest]", "markers =", *(f"    {name}" for name in ("transactions", "streams", "ttl"))])


@pytest.fixture
def suite(pytester, monkeypatch):
    """A suite of its own that uses the fixtures of this one."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("TABLEKIT_TEST_ENDPOINT", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the same plugins everywhere, and a quick start
    pytester.makeconftest('pytest_plugins = ["tests.support.engines"]')
    pytester.makeini(MARKERS)
    return pytester


def test_each_engine_is_real(engine, table_name):
    """Every engine of this run creates a table and lists it."""
    client = engine.client()
    client.create_table(
        TableName=table_name,
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=table_name)
    client.delete_table(TableName=table_name)


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["one process", "two workers"])
def test_what_an_engine_cannot_serve_is_counted(suite, workers):
    """A test marked for transactions is not generated for dynalite, and the summary says so."""
    suite.makepyfile(
        """
        import pytest

        @pytest.mark.transactions
        def test_one(engine): assert engine.name == "ministack"

        def test_all(engine): pass
        """
    )
    result = suite.runpytest_subprocess(*workers)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["not generated: 1 test, dynalite has no transactions"])


def test_another_endpoint_is_one_more_engine(suite, monkeypatch):
    """With TABLEKIT_TEST_ENDPOINT a test runs on that endpoint too."""
    monkeypatch.setenv("TABLEKIT_TEST_ENDPOINT", "http://127.0.0.1:9")
    suite.makepyfile("def test_it(engine): print('ran on', engine.name, engine.endpoint_url)")
    result = suite.runpytest_subprocess("-rP")
    result.stdout.fnmatch_lines_random(
        ["ran on ministack *", "ran on dynalite *", "ran on endpoint http://127.0.0.1:9"]
    )


def test_missing_dynalite_is_a_failure(suite, monkeypatch):
    """Without node the tests of dynalite fail with the command to run; none is skipped."""
    monkeypatch.setenv("PATH", "/nonexistent")
    suite.makepyfile("def test_it(dynalite_endpoint): pass")
    result = suite.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*node is not on the PATH*npm install --prefix tests*"])
