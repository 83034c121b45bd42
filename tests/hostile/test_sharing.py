"""Tables, queries, keys and entities among threads, processes and accounts: pickled, copied, compared, used at once."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tablekit import Entity, Field, Table
from tests.support.models import Document, Member, Workspace, app
from tests.support.stub import StubTransport, ok
from tests.support.transports import TRANSPORTS

ROOT = Path(__file__).parent.parent.parent
ITEM = {
    "PK": {"S": "WS#acme"},
    "SK": {"S": "META"},
    "EntityType": {"S": "Workspace"},
    "workspace_id": {"S": "acme"},
    "name": {"S": "n"},
}

TWINS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


@pytest.mark.parametrize("twin", TWINS)
def test_a_table_is_one_in_a_process(twin: Callable[[Any], Any]) -> None:
    """It is copied and pickled by reference, as its classes are: its connections are never doubled."""
    assert twin(app) is app
    assert twin(Document) is Document
    assert twin({"of": app.query(Document, workspace_id="acme")})["of"]._spec.registry is app


def test_a_table_without_classes_says_what_to_do() -> None:
    """Nothing leads to it from another process."""
    with pytest.raises(TypeError, match="Import it where it is needed"):
        pickle.dumps(Table("bare"))


@pytest.mark.parametrize("twin", TWINS)
def test_a_copied_query_asks_the_same(twin: Callable[[Any], Any]) -> None:
    """A query goes to another process, with its conditions and ranges; so does a cursor."""
    query = app.query(Document, workspace_id="acme").where(Document.title == "x").reverse().limit(3)
    assert twin(query).explain().text == query.explain().text


def test_a_query_runs_in_a_process_that_begins_anew(tmp_path: Path) -> None:
    """The classes are imported there by their names."""
    query = app.query(Document, workspace_id="acme").where(Document.title == "x")
    path = tmp_path / "query"
    path.write_bytes(pickle.dumps(query))
    program = "import pathlib, pickle, sys; print(pickle.loads(pathlib.Path(sys.argv[1]).read_bytes()).explain().text)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == query.explain().text


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("begin", [app.batch, app.transaction, app.aio.batch, app.aio.transaction])
def test_writes_in_hand_are_neither_copied_nor_pickled(twin: Callable[[Any], Any], begin: Callable[[], Any]) -> None:
    """A second batch or transaction of the same rows would send them twice."""
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        twin(begin())


@pytest.mark.parametrize("twin", TWINS)
def test_keys_are_equal_and_hash_alike(twin: Callable[[Any], Any]) -> None:
    """A key is its class and its values, wherever it comes from."""
    key = Document.key(workspace_id="acme", doc_id="d1")
    assert twin(key) == key
    assert {twin(key): 1}[Document.key(workspace_id="acme", doc_id="d1")] == 1
    assert key != Document.key(workspace_id="acme", doc_id="d2")
    assert Member.key(workspace_id="acme", email="x") != key


@pytest.mark.parametrize("twin", TWINS)
def test_a_loaded_entity_keeps_what_was_loaded(twin: Callable[[Any], Any], stub: StubTransport) -> None:
    """Its copy sends what changed, and attributes that the class does not know stay with it."""
    stub.always("UpdateItem", ok())
    loaded = Workspace.from_item({**ITEM, "theirs": {"S": "kept"}})
    other = twin(loaded)
    other.name = "changed"
    assert (loaded.name, other == loaded) == ("n", False)
    with app.bound(port=stub.port()), app.dry_run() as plan:
        loaded.save()
        other.save()
        other.put()
    saved, put = (planned.to_wire() for planned in plan.requests)
    assert saved["ExpressionAttributeValues"][":name"] == {"S": "changed"}
    assert put["Item"]["theirs"] == {"S": "kept"}


def test_equality_is_of_class_and_fields() -> None:
    """What was loaded, the version's image and unknown attributes do not count; the class does."""
    mine = Workspace(workspace_id="acme", name="n")
    assert mine == Workspace.from_item({**ITEM, "theirs": {"S": "kept"}})
    assert mine != Member(workspace_id="acme", email="n")
    assert mine != "n"
    with pytest.raises(TypeError, match="unhashable"):
        hash(mine)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_two_accounts_in_one_process(transport: Any, stub: StubTransport) -> None:
    """Each table signs with its own keys, in turn and at once."""
    tables = [Table(f"orders-{name}") for name in "ab"]
    for table, name in zip(tables, "ab", strict=True):
        table.connect(
            port=stub.port(transport=transport, aws_access_key_id=f"account-{name}", aws_secret_access_key="x")
        )
    stub.always("GetItem", ok())

    def read(number: int) -> None:
        tables[number % 2].get(pk=f"{number % 2}", sk="x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(40)))
    signed = [(wire["TableName"], key) for (_, wire), key in zip(stub.requests, stub.keys, strict=True)]
    assert set(signed) == {("orders-a", "account-a"), ("orders-b", "account-b")}
    assert len(signed) == 40


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sixteen_threads_first_call_makes_one_client(transport: Any, stub: StubTransport) -> None:
    """And one decoder: threads that begin together see whole rows only."""
    table = Table("new")

    class Row(Entity, table=table, pk="ROW#{row_id}", sk="META"):
        row_id: Field[str]

    table.connect(port=stub.port(transport=transport))
    row = {"PK": {"S": "ROW#1"}, "SK": {"S": "META"}, "EntityType": {"S": "Row"}, "row_id": {"S": "1"}}
    stub.always("GetItem", ok({"Item": row}))
    together = threading.Barrier(16)

    def read(_: int) -> Any:
        together.wait()
        return Row.get(row_id="1")

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(read, range(16)))
    assert found == [Row(row_id="1")] * 16
    assert len(stub.clients) == (1 if transport == "pynamodb" else len(stub.clients))
    assert len(stub.requests) == 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_table_is_used_after_a_fork(full_app: Table) -> None:
    """Parent and children go on with connections of their own, and lose no row."""
    Workspace(workspace_id="0", name="parent").create()
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_write, args=(number,)) for number in range(1, 4)]
    for child in children:
        child.start()
    for number in range(10):
        assert Workspace.get_or_raise(workspace_id="0").name == "parent", number
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    names = [workspace.name for number in range(4) for workspace in app.query(Workspace, workspace_id=str(number))]
    assert names == ["parent", "child 1", "child 2", "child 3"]


def _write(number: int) -> None:
    Workspace(workspace_id=str(number), name=f"child {number}").create()
    for _ in range(10):
        assert Workspace.get_or_raise(workspace_id=str(number)).name == f"child {number}"
