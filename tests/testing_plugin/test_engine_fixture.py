"""The plugin's fixture `tablekit_engine`, and how another endpoint is named."""

from __future__ import annotations

import importlib.metadata

import pytest

import tablekit.testing

USES_ENGINE = """
def test_first(tablekit_engine):
    print("endpoint", tablekit_engine.endpoint_url, tablekit_engine.connect_options())

def test_second(tablekit_engine):
    print("endpoint", tablekit_engine.endpoint_url)
"""


def printed(result: pytest.RunResult) -> list[str]:
    """The endpoints that the tests of a project printed."""
    return [line.split()[1] for line in result.outlines if line.startswith("endpoint ")]


def test_pytest_finds_the_plugin():
    """An installed tablekit is loaded by pytest without a word in the user's configuration."""
    (entry,) = importlib.metadata.entry_points(group="pytest11", name="tablekit")
    assert entry.load() is tablekit.testing


def test_one_engine_serves_the_session(pytester, run_pytest):
    """Every test of a session gets the same engine, on this machine."""
    pytester.makepyfile(USES_ENGINE)
    result = run_pytest("-rP")
    result.assert_outcomes(passed=2)
    assert len(set(printed(result))) == 1
    assert printed(result)[0].startswith("http://127.0.0.1:")


def test_each_worker_has_its_own_engine(pytester, run_pytest):
    """Under pytest-xdist the workers share no data."""
    pytester.makepyfile(test_a=USES_ENGINE, test_b=USES_ENGINE)
    result = run_pytest("-p", "xdist", "-rP", "-n", "2", "--dist", "loadfile")
    result.assert_outcomes(passed=4)
    assert len(set(printed(result))) == 2


def test_no_engine_is_started_for_tests_that_need_none(pytester, run_pytest):
    """Loading the plugin neither starts an engine nor imports pynamodb or botocore."""
    pytester.makepyfile(
        """
        import sys

        def test_alone():
            assert not {"botocore", "pynamodb", "ministack", "tablekit.local"} & set(sys.modules)
        """
    )
    run_pytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("way", ["option", "variable", "ini"])
def test_another_endpoint_can_be_named(pytester, run_pytest, monkeypatch, way):
    """The option, the environment variable and the ini value each name the endpoint, and the header shows it."""
    pytester.makepyfile(USES_ENGINE)
    url = "http://127.0.0.1:9"
    if way == "variable":
        monkeypatch.setenv("TABLEKIT_TEST_ENDPOINT", url)
    if way == "ini":
        pytester.makeini(f"[pytest]\ntablekit_endpoint = {url}")
    result = run_pytest("-rP", *(["--tablekit-endpoint", url] if way == "option" else []))
    assert printed(result) == [url, url]
    result.stdout.fnmatch_lines([f"tablekit: tests use the endpoint {url}"])


def test_the_option_comes_first(pytester, run_pytest, monkeypatch):
    """The command line beats the environment, and that beats the ini file."""
    pytester.makepyfile(USES_ENGINE)
    pytester.makeini("[pytest]\ntablekit_endpoint = http://127.0.0.1:3")
    monkeypatch.setenv("TABLEKIT_TEST_ENDPOINT", "http://127.0.0.1:2")
    assert set(printed(run_pytest("-rP"))) == {"http://127.0.0.1:2"}
    assert set(printed(run_pytest("-rP", "--tablekit-endpoint=http://127.0.0.1:1"))) == {"http://127.0.0.1:1"}


def test_real_endpoints_get_no_made_up_credentials(pytester, run_pytest):
    """Made-up credentials are for this machine alone."""
    pytester.makepyfile(
        """
        def test_it(tablekit_engine):
            assert set(tablekit_engine.connect_options()) == {"endpoint_url", "region"}
        """
    )
    run_pytest("--tablekit-endpoint=https://dynamodb.example").assert_outcomes(passed=1)


def test_the_missing_engine_is_named(pytester, run_pytest):
    """Without the extra the tests fail with the command that installs it, not with a traceback."""
    pytester.makeconftest("import sys; sys.modules['ministack'] = None")
    pytester.makepyfile(USES_ENGINE)
    result = run_pytest()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(['*pip install "tablekit[[]local[]]"'])
    result.stdout.no_fnmatch_line("*Traceback*")
