"""The awaited faces: the names and signatures of the synchronous ones, from the same coroutines."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tablekit
from tablekit import ItemExists, Key, Query, Table, VersionConflict, WrongEntityType
from tablekit.api.aio_table import AioTable
from tablekit.api.entity import AioClass, AioEntity, Entity
from tablekit.api.keys import AioKey
from tablekit.api.query import AioQuery
from tests.support.models import Comment, Document, Workspace

PAIRS = [(Entity, AioClass), (Entity, AioEntity), (Key, AioKey), (Query, AioQuery), (Table, AioTable)]
ONLY_AWAITED = {"connected", "aclose"}


def faces() -> list[Any]:
    """Each public name of an awaited face, beside the synchronous one."""
    return [
        pytest.param(getattr(sync, name), getattr(awaited, name), id=f"{awaited.__name__}.{name}")
        for sync, awaited in PAIRS
        for name in vars(awaited)
        if not name.startswith("_") and name not in ONLY_AWAITED and hasattr(sync, name)
    ]


def shown(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """The options of a call: names, kinds and defaults, the target left out."""
    parameters = list(inspect.signature(function).parameters.values())
    return [
        (each.name, each.kind, each.default)
        for each in parameters
        if each.name not in ("self", "cls", "session", "entity", "key") or each.kind is each.VAR_KEYWORD
    ]


@pytest.mark.parametrize(("sync", "awaited"), faces())
def test_an_awaited_name_takes_what_the_synchronous_one_takes(sync: Any, awaited: Any) -> None:
    """Both faces of a verb have the same options."""
    if [name for name, *_ in shown(awaited)] == ["options"]:
        return  # hands its options on as they are
    assert shown(awaited) == shown(sync)


@pytest.mark.parametrize(("sync", "awaited"), PAIRS, ids=lambda cls: cls.__name__)
def test_an_awaited_face_has_no_name_of_its_own(sync: Any, awaited: Any) -> None:
    """Who knows the synchronous names knows the awaited ones."""
    own = {name for name in vars(awaited) if not name.startswith("_")} - ONLY_AWAITED

    assert own <= set(dir(sync))


def test_no_function_is_written_in_two_colours() -> None:
    """No function of the package has the body of another once async and await are taken away."""
    bodies: dict[str, list[str]] = {}
    for path in sorted(Path(tablekit.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and len(node.body) > 3:
                bodies.setdefault(_colourless(node), []).append(f"{path.name}:{node.lineno} {node.name}")

    assert [places for places in bodies.values() if len(places) > 1] == []


class _Colourless(ast.NodeTransformer):
    def visit_Await(self, node: ast.Await) -> ast.AST:
        return self.visit(node.value)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        self.generic_visit(node)
        return ast.For(**{name: getattr(node, name) for name in node._fields})

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        self.generic_visit(node)
        return ast.With(**{name: getattr(node, name) for name in node._fields})


def _colourless(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    body = node.body[1:] if isinstance(node.body[0], ast.Expr) else node.body
    return "\n".join(ast.dump(_Colourless().visit(statement)) for statement in body)


def test_an_entity_lives_its_life_awaited(full_app: Table) -> None:
    """create, get, save, update, refresh, put and delete, each awaited."""

    async def work() -> Document | None:
        doc = await Document(workspace_id="acme", doc_id="d1", title="Spec").aio.create()
        doc.title = "Spec 2"
        await doc.aio.save()
        await doc.aio.update(Document.tags.add({"x"}))
        other = await Document.aio.get_or_raise(workspace_id="acme", doc_id="d1")
        assert other == await doc.aio.refresh()
        await doc.aio.put()
        with pytest.raises(VersionConflict):
            await other.aio.delete()
        await doc.aio.delete()
        return await Document.aio.get(workspace_id="acme", doc_id="d1")

    assert asyncio.run(work()) is None


def test_a_mixed_query_is_iterated_with_async_for(full_app: Table) -> None:
    """The same Query object gives its entities to for and to async for."""
    made = [
        Document(workspace_id="acme", doc_id="d1", title="Spec").create(),
        Comment(workspace_id="acme", doc_id="d1", comment_id="c1", body="x").create(),
        Workspace(workspace_id="acme", name="Acme").create(),
    ]
    query = full_app.query(Workspace, Document, Comment, workspace_id="acme")

    async def work() -> list[Any]:
        return [entity async for entity in query]

    assert asyncio.run(work()) == list(query) == made


def test_errors_are_the_synchronous_ones(full_app: Table) -> None:
    """A failed create and a wrong type raise what they raise without await."""

    async def work() -> None:
        await Workspace(workspace_id="acme", name="Acme").aio.create()
        with pytest.raises(ItemExists):
            await Workspace(workspace_id="acme", name="Acme").aio.create()
        with pytest.raises(WrongEntityType):
            await full_app_key().aio.get()

    def full_app_key() -> Key[Comment]:
        return Key(Comment, {}, {"PK": {"S": "WS#acme"}, "SK": {"S": "META"}})

    asyncio.run(work())


def test_a_key_is_awaited_with_its_options(full_app: Table) -> None:
    """Get with select, update with returning, and delete by key."""

    async def work() -> None:
        await Document(workspace_id="acme", doc_id="d1", title="Spec").aio.create()
        key = Document.key(workspace_id="acme", doc_id="d1").aio
        partial = await key.get(select=[Document.title], consistent=True)
        assert partial is not None
        assert partial.title == "Spec"
        assert (await key.update(Document.words.add(2), returning="changed"))["words"] == 2
        assert await key.delete(returning="old") is not None

    asyncio.run(work())


def test_pages_and_counts_are_awaited(full_app: Table) -> None:
    """Page with its cursor, count, exists, first and one."""
    for number in range(5):
        Comment(workspace_id="acme", doc_id="d1", comment_id=f"{number}", body="x").create()
    query = Comment.query(workspace_id="acme", doc_id="d1")

    async def work() -> None:
        first = await query.aio.page(3)
        rest = await query.aio.page(3, cursor=first.cursor)
        assert [comment.comment_id for comment in (*first, *rest)] == ["0", "1", "2", "3", "4"]
        assert await query.aio.count() == 5
        assert await query.aio.exists()
        assert (await query.aio.first()) == first.items[0]

    asyncio.run(work())
