"""Arguments of a wrong kind: refused by an error of tablekit's own, before anything is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tablekit import ExpressionError, LimitExceeded, QueryError, RequestError, Table
from tests.support.models import Document
from tests.support.models import app as workspace
from tests.support.stub import StubTransport
from tests.support.write_models import Task

KEY = Document.key(workspace_id="acme", doc_id="d1")
DOC = Document(workspace_id="acme", doc_id="d1", title="Spec")
RENAME = Document.title.set("Spec 2")
WRONG: Any = 3
TEXT: Any = "title = :title"


def _transact(verb: str, *arguments: Any) -> None:
    with workspace.transaction() as tx:
        getattr(tx, verb)(*arguments)


CONDITIONS: list[Callable[[], object]] = [
    lambda: KEY.update(RENAME, condition=TEXT),
    lambda: KEY.delete(condition=TEXT),
    lambda: DOC.put(condition=TEXT),
    lambda: _transact("check", KEY, TEXT),
    lambda: Document.query(workspace_id="acme").where(TEXT),
    lambda: KEY.update(TEXT),
    lambda: _transact("update", KEY, TEXT),
    lambda: Document.title.is_in(WRONG),
    lambda: Task.query(project="p").where(Task.title.is_type(WRONG)),
]
OTHERS: list[Callable[[], object]] = [
    lambda: KEY.update(RENAME, version=TEXT),
    lambda: KEY.delete(version=TEXT),
    lambda: KEY.update(RENAME, composite=WRONG),
    lambda: KEY.update(RENAME, returning=TEXT),
    lambda: _transact("put", WRONG),
    lambda: _transact("save", WRONG),
    lambda: _transact("put", Document),
    lambda: workspace.transact_get(WRONG),
    lambda: workspace.transact_get([WRONG]),
    lambda: workspace.batch_get(WRONG),
    lambda: workspace.batch_write(WRONG),
    lambda: workspace.batch_write([DOC], unversioned=True, parallel=TEXT),
    lambda: workspace.transaction(retry_conflicts=TEXT).check(KEY),
    lambda: Document.from_item(WRONG),
]
READS: list[Callable[[], object]] = [
    lambda: KEY.get(select=WRONG),
    lambda: Document.query(workspace_id="acme").select(WRONG).all(),
    lambda: workspace.query(Document, index=WRONG, workspace_id="acme"),
    lambda: workspace.scan(progress=WRONG),
]


@pytest.fixture
def silent(stub: StubTransport) -> Iterator[Table]:
    """The workspace app on a DynamoDB without a script: a request fails the test."""
    with workspace.bound(name="t", port=stub.port()):
        yield workspace


@pytest.mark.parametrize("call", CONDITIONS)
def test_what_is_no_condition_and_no_action_is_refused(silent: Table, call: Callable[[], object]) -> None:
    """A condition or an action that is no expression of columns is an ExpressionError."""
    with pytest.raises(ExpressionError):
        call()


@pytest.mark.parametrize("call", OTHERS)
def test_an_argument_of_a_wrong_kind_is_refused(silent: Table, call: Callable[[], object]) -> None:
    """Keys, entities, versions and numbers of a wrong kind are a RequestError."""
    with pytest.raises(RequestError):
        call()


@pytest.mark.parametrize("call", READS)
def test_a_read_of_a_wrong_kind_is_refused(silent: Table, call: Callable[[], object]) -> None:
    """What is no column, no index name and no function is a QueryError."""
    with pytest.raises(QueryError):
        call()


@pytest.mark.parametrize("pk", ["x" * 2049, "é" * 1025])
def test_a_bare_key_that_is_too_long_is_refused(silent: Table, pk: str) -> None:
    """A key given as it is stored is measured in bytes before it is sent."""
    with pytest.raises(LimitExceeded, match="2048"):
        silent.get(pk=pk, sk="META")
    with pytest.raises(LimitExceeded, match="2048"):
        silent.query(pk=pk)


def test_a_bare_key_that_utf8_cannot_hold_is_refused(silent: Table) -> None:
    """A lone surrogate in a bare key is told before it is sent."""
    with pytest.raises(RequestError, match="surrogate"):
        silent.query(pk="\ud800")


@pytest.mark.parametrize("verb", ["get", "get_or_raise", "key", "query"])
def test_keys_are_given_by_name(silent: Table, verb: str) -> None:
    """Two texts by position are easily swapped, and the message names the fields."""
    with pytest.raises(TypeError, match=rf"Document\.{verb}\(workspace_id=\.\.\., doc_id=\.\.\.\)"):
        getattr(Document, verb)("acme", "d1")


@pytest.mark.parametrize("verb", ["get", "get_or_raise"])
def test_awaited_keys_are_given_by_name(silent: Table, verb: str) -> None:
    """The awaited face refuses what the synchronous one refuses, in the same words."""
    with pytest.raises(TypeError, match=rf"Document\.{verb}\(workspace_id=\.\.\., doc_id=\.\.\.\)"):
        asyncio.run(getattr(Document.aio, verb)("acme", "d1"))
