"""A pytest plugin: an engine for the session, a fresh table for a test, and a record of its requests.

pytest loads it by itself where tablekit is installed::

    from myapp.models import Document, app


    def test_a_title_can_be_changed(tablekit_table):
        tablekit_table(app)
        doc = Document(workspace_id="acme", doc_id="d1", title="Spec").create()
        doc.title = "Spec 2"
        doc.save()
        assert Document.get(workspace_id="acme", doc_id="d1").title == "Spec 2"

The engine is the one of the extra ``tablekit[local]``, started when the first test asks for it; under pytest-xdist
each worker has its own. ``--tablekit-endpoint URL``, the environment variable ``TABLEKIT_TEST_ENDPOINT`` and the
ini option ``tablekit_endpoint``, in this order, name another one that runs already.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tablekit.local import ConnectOptions

__all__ = ["FreshTable", "RecordedRequest", "Requests", "TestEngine"]

ENDPOINT_VARIABLE = "TABLEKIT_TEST_ENDPOINT"

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class _Table(Protocol):
    """What the plugin uses of `tablekit.Table`."""

    def bound(self, **options: Any) -> AbstractContextManager[Any]: ...

    def create_table(self, *, wait: bool = True) -> Any: ...

    def delete_table(self) -> Any: ...

    def on_request(self, callback: Callable[[str, dict[str, Any]], None], /) -> Callable[[], None]: ...


TableT = TypeVar("TableT", bound=_Table)


class TestEngine:
    """Where the tests' engine listens.

    Attributes:
        endpoint_url: its address, such as ``"http://127.0.0.1:40123"``.
    """

    __test__ = False  # pytest collects classes by their name's beginning

    def __init__(self, options: ConnectOptions) -> None:
        self.endpoint_url = options["endpoint_url"]
        self._options = options

    def __repr__(self) -> str:
        return f"<TestEngine {self.endpoint_url}>"

    def connect_options(self) -> ConnectOptions:
        """The arguments of `Table.connect` and `Table.bound` that reach it."""
        return self._options.copy()


class RecordedRequest:
    """One request that a table sent.

    Attributes:
        operation: DynamoDB's name of the operation, such as ``"PutItem"``.
        wire: the request in the shape of DynamoDB's API reference.
    """

    __slots__ = ("operation", "wire")

    def __init__(self, operation: str, wire: Mapping[str, Any]) -> None:
        self.operation = operation
        self.wire = dict(wire)

    def __repr__(self) -> str:
        return f"RecordedRequest({self.operation!r}, {self.wire!r})"


class Requests(Sequence[RecordedRequest]):
    """The requests that were sent, oldest first."""

    def __init__(self) -> None:
        self._requests: list[RecordedRequest] = []

    @overload
    def __getitem__(self, index: int) -> RecordedRequest: ...

    @overload
    def __getitem__(self, index: slice) -> list[RecordedRequest]: ...

    def __getitem__(self, index: int | slice) -> RecordedRequest | list[RecordedRequest]:
        return self._requests[index]

    def __len__(self) -> int:
        return len(self._requests)

    def __repr__(self) -> str:
        return f"<Requests {self.operations}>"

    @property
    def operations(self) -> list[str]:
        """The operations alone: ``assert tablekit_requests.operations == ["GetItem"]``."""
        return [request.operation for request in self._requests]

    def of(self, operation: str) -> list[RecordedRequest]:
        """The requests of one operation, such as ``"Query"``."""
        return [request for request in self._requests if request.operation == operation]

    def clear(self) -> None:
        """Forget what was recorded so far."""
        self._requests.clear()

    def record(self, operation: str, wire: Mapping[str, Any]) -> None:
        """Add a request; a callback for `Table.on_request`, for tables that `tablekit_table` did not bind."""
        self._requests.append(RecordedRequest(operation, wire))


class FreshTable:
    """Binds a `Table` to a new physical table for the length of a test; see `tablekit_table`."""

    def __init__(self, engine: TestEngine, requests: Requests, stack: ExitStack, prefix: str) -> None:
        self._engine = engine
        self._requests = requests
        self._stack = stack
        self._prefix = prefix

    def __call__(self, table: TableT, *, name: str | None = None) -> TableT:
        """Create a table for it on the engine, bind it until the test ends, and return it.

        Parameters:
            table: the `Table` that the entities belong to. More than one can be bound in a test.
            name: the physical name; None makes one that no other test uses.
        """
        name = name or f"{self._prefix}-{uuid.uuid4().hex[:12]}"
        self._stack.enter_context(table.bound(name=name, **self._engine.connect_options()))
        table.create_table(wait=True)
        self._stack.callback(_drop, table)
        self._stack.callback(table.on_request(self._requests.record))
        return table


def _drop(table: _Table) -> None:
    from tablekit.errors import TableNotFound

    with suppress(TableNotFound):  # the test dropped it itself
        table.delete_table()


def _endpoint(config: pytest.Config) -> str | None:
    named = (
        config.getoption("tablekit_endpoint"),
        os.environ.get(ENDPOINT_VARIABLE),
        config.getini("tablekit_endpoint"),
    )
    return next((str(url) for url in named if url), None)


def _attached_options(url: str) -> ConnectOptions:
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    options: ConnectOptions = {"endpoint_url": url, "region": region}
    # An engine on this machine takes any credentials; elsewhere botocore's own search finds the real ones.
    if urlsplit(url).hostname in _LOOPBACK and "AWS_ACCESS_KEY_ID" not in os.environ:
        options = {**options, "aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the ini value that name an engine."""
    group = parser.getgroup("tablekit")
    text = "a DynamoDB endpoint to test against, in place of starting the local engine"
    group.addoption("--tablekit-endpoint", dest="tablekit_endpoint", metavar="URL", default=None, help=text)
    parser.addini("tablekit_endpoint", help=text, default=None)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which endpoint is used, when one is named."""
    url = _endpoint(config)
    return f"tablekit: tests use the endpoint {url}" if url else None


@pytest.fixture(scope="session")
def tablekit_engine(request: pytest.FixtureRequest) -> Iterator[TestEngine]:
    """The engine that the tests of this session use: `endpoint_url` and `connect_options()`."""
    url = _endpoint(request.config)
    if url is not None:
        yield TestEngine(_attached_options(url))
        return
    from tablekit.local import EngineError, LocalEngine

    engine = LocalEngine()
    try:
        engine.start()
    except EngineError as error:
        pytest.fail(str(error), pytrace=False)
    with engine:
        yield TestEngine(engine.connect_options())


@pytest.fixture
def tablekit_requests() -> Requests:
    """The requests that the tables bound by `tablekit_table` sent in this test, oldest first."""
    return Requests()


@pytest.fixture
def tablekit_table(
    request: pytest.FixtureRequest, tablekit_engine: TestEngine, tablekit_requests: Requests
) -> Iterator[FreshTable]:
    """Call it with a `Table` to bind that to a fresh physical table, dropped when the test ends."""
    prefix = re.sub(r"[^A-Za-z0-9_.-]", "-", request.node.name)[:200]
    with ExitStack() as stack:
        yield FreshTable(tablekit_engine, tablekit_requests, stack, prefix)
