"""Fixtures that connect a `Table` to a fresh physical table on an engine, every request checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tablekit import Capabilities, Table
from tests.support.engines import Engine
from tests.support.loop_port import LoopPort
from tests.support.models import app as workspace_app
from tests.support.transports import AWAITED, TRANSPORT
from tests.support.validation import RequestRecorder

# dynalite sends no stored item with a failed condition, and has no transactions.
CAPABILITIES = {"dynalite": Capabilities(old_item=False, transactions=False, ttl=False)}

Connect = Callable[[Table], Table]


def connector(
    engine: Engine, table_name: str, *, transport: str = TRANSPORT, awaited: bool = AWAITED
) -> Iterator[Connect]:
    """Connects tables to an engine under fresh names, creates them, and drops them in the end.

    The connection is the table's default one, so that threads of the test see it too.

    Parameters:
        transport: which of `Table.connect`. awaited: send the synchronous calls too through the awaited transport.
    """
    connected: list[Table] = []

    def connect(table: Table) -> Table:
        name = f"{table_name}-{len(connected)}"
        capabilities = CAPABILITIES.get(engine.name)
        options = {"transport": transport, **engine.connect_options()}
        port = LoopPort.of(**options) if awaited else None
        table.connect(name=name, capabilities=capabilities, port=port, **options)
        table.create_table()
        connected.append(table)
        return table

    yield connect
    for table in connected:
        table.delete_table()
        table.close()


@pytest.fixture
def connect(engine: Engine, table_name: str, recorder: RequestRecorder) -> Iterator[Connect]:
    """Connects a `Table` to each engine in turn: ``connect(app)``."""
    yield from connector(engine, table_name)


@pytest.fixture
def connect_full(ministack: Engine, table_name: str, recorder: RequestRecorder) -> Iterator[Connect]:
    """Connects a `Table` to ministack alone, for what dynalite has not."""
    yield from connector(ministack, table_name)


@pytest.fixture
def app(connect: Connect) -> Table:
    """The workspace app of `tests.support.models` on a fresh table of each engine in turn."""
    return connect(workspace_app)


@pytest.fixture
def full_app(connect_full: Connect) -> Table:
    """The workspace app on a fresh table of ministack alone."""
    return connect_full(workspace_app)
