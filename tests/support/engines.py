"""The engines that the tests run against.

A test that takes the fixture `engine` runs once for each of them: ministack, dynalite, and the endpoint that
``TABLEKIT_TEST_ENDPOINT`` names, if any. An engine lacks some of DynamoDB; a test says what it needs by a marker
(``transactions``, ``streams``, ``ttl``), is not generated for an engine without it, and the summary counts it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tablekit.local import ConnectOptions, LocalEngine

TESTS = Path(__file__).parent.parent
ENDPOINT_VARIABLE = "TABLEKIT_TEST_ENDPOINT"
MINISTACK_VARIABLE = "TABLEKIT_TEST_MINISTACK"
"""Names a ministack that runs already: it pins botocore, and so cannot stand beside another one (.ci/compat)."""
DYNALITE_COMMAND = "npm install --prefix tests   (or: make test)"

LACKING: dict[str, frozenset[str]] = {
    "ministack": frozenset(),
    "dynalite": frozenset({"transactions", "streams", "ttl"}),
    "endpoint": frozenset(),
}
"""What each engine lacks, in the words of the markers."""

# dynalite's own command lets neither the kernel choose the port nor its parent's end stop it.
DYNALITE_PROGRAM = """
const server = require('dynalite')({createTableMs: 0, deleteTableMs: 0, updateTableMs: 0})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())))
process.stdin.resume().on('end', () => process.exit(0))
"""


@dataclass(frozen=True)
class Engine:
    """A running engine: its name, and where it listens."""

    name: str
    endpoint_url: str

    def connect_options(self) -> ConnectOptions:
        """The arguments of `Table.connect` and `Table.bound` that reach it."""
        if self.name == "endpoint" and "AWS_ACCESS_KEY_ID" in os.environ:
            return {"endpoint_url": self.endpoint_url, "region": os.environ.get("AWS_REGION", "us-east-1")}
        return {
            "endpoint_url": self.endpoint_url,
            "region": "us-east-1",
            "aws_access_key_id": "local",
            "aws_secret_access_key": "local",
        }

    def client(self) -> Any:
        """A plain botocore client: what the tests use to look past tablekit."""
        import botocore.session

        options = self.connect_options()
        return botocore.session.get_session().create_client(
            "dynamodb",
            region_name=options["region"],
            endpoint_url=options["endpoint_url"],
            aws_access_key_id=options.get("aws_access_key_id"),
            aws_secret_access_key=options.get("aws_secret_access_key"),
        )


@pytest.fixture(scope="session")
def ministack_endpoint() -> Iterator[str]:
    """The endpoint of a ministack that runs for the whole session."""
    if MINISTACK_VARIABLE in os.environ:
        yield os.environ[MINISTACK_VARIABLE]
        return
    with LocalEngine() as engine:
        yield engine.endpoint_url


@pytest.fixture(scope="session")
def dynalite_endpoint() -> Iterator[str]:
    """The endpoint of a dynalite that runs for the whole session; fails where it is not installed."""
    node = shutil.which("node")
    if node is None or not (TESTS / "node_modules" / "dynalite").is_dir():
        missing = "node is not on the PATH" if node is None else "dynalite is not in tests/node_modules"
        pytest.fail(f"{missing}. Install it: {DYNALITE_COMMAND}", pytrace=False)
    process = subprocess.Popen(
        [node, "-e", DYNALITE_PROGRAM], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        yield f"http://127.0.0.1:{_read_port(process)}"
    finally:
        process.kill()
        process.communicate()


def _read_port(process: subprocess.Popen[bytes]) -> int:
    timer = threading.Timer(30, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if not line:
        pytest.fail(f"dynalite ended with status {process.wait()} before it listened.", pytrace=False)
    port: int = json.loads(line)["port"]
    return port


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """The engine of this run of the test; the test runs once for each engine that has what it needs."""
    name: str = request.param
    if name == "endpoint":
        return Engine(name, os.environ[ENDPOINT_VARIABLE])
    endpoint: str = request.getfixturevalue(f"{name}_endpoint")
    return Engine(name, endpoint)


@pytest.fixture
def ministack(ministack_endpoint: str) -> Engine:
    """Ministack alone, for a test whose subject is not what an engine answers."""
    return Engine("ministack", ministack_endpoint)


@pytest.fixture
def table_name(request: pytest.FixtureRequest) -> str:
    """A table name that no other test uses."""
    return f"{request.function.__name__[:60]}-{uuid.uuid4().hex[:12]}"


# Which engines a test runs against ----------------------------------------------------------------------------

NOT_GENERATED = pytest.StashKey[Counter[str]]()


def engine_names() -> list[str]:
    """The engines of this run."""
    return ["ministack", "dynalite", *(["endpoint"] if os.environ.get(ENDPOINT_VARIABLE) else [])]


def pytest_configure(config: pytest.Config) -> None:
    """Start the count of what is not generated."""
    config.stash[NOT_GENERATED] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each engine that has what its markers name, and count the others."""
    if "engine" not in metafunc.fixturenames:
        return
    needs = {mark.name for mark in metafunc.definition.iter_markers()}
    served: list[str] = []
    for name in engine_names():
        lacking = sorted(needs & LACKING[name])
        if lacking:
            metafunc.config.stash[NOT_GENERATED][f"{name} has no {' or '.join(lacking)}"] += 1
        else:
            served.append(name)
    metafunc.parametrize("engine", served, indirect=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the counts of a worker of pytest-xdist to the process that prints the summary."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["not_generated"] = dict(session.config.stash[NOT_GENERATED])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take a worker's counts; each worker collects every test, so they are all the same."""
    counts: dict[str, int] = getattr(node, "workeroutput", {}).get("not_generated", {})
    if not node.config.stash[NOT_GENERATED]:
        node.config.stash[NOT_GENERATED].update(counts)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which tests do not run against which engine, and why."""
    for reason, count in sorted(config.stash[NOT_GENERATED].items()):
        terminalreporter.write_line(f"not generated: {count} test{'s' if count > 1 else ''}, {reason}")
