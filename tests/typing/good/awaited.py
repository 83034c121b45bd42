"""Right uses of what is awaited: the types are those without await."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from typing_extensions import assert_type

from tablekit import Entity, Field, Page, Query, ShardedCounter, Singleton, Table, field

app = Table("t")


class D(Entity, table=app, pk="W#{w}", sk="D#{d}"):
    """An entity."""

    w: Field[str]
    d: Field[str]
    n: Field[int] = field(default=0)


class C(Entity, table=app, pk="W#{w}", sk="C#{c}"):
    """Another entity."""

    w: Field[str]
    c: Field[str]


class Flags(Singleton, table=app, pk="FLAGS", sk="V1"):
    """A singleton."""

    on: Field[bool] = field(default=False)


class Views(ShardedCounter, table=app, pk="VIEWS#{page}"):
    """A counter."""


async def work(doc: D) -> None:
    """Each verb."""
    getting = assert_type(D.aio.get(w="1", d="1"), Coroutine[Any, Any, D | None])
    assert_type(await getting, D | None)
    assert_type(await D.aio.get_or_raise(w="1", d="1"), D)
    assert_type(await doc.aio.create(), D)
    assert_type(await doc.aio.save(), D)
    assert_type(await D.key(w="1", d="1").aio.update(D.n.add(1)), D)
    assert_type(await D.key(w="1", d="1").aio.update(D.n.add(1), returning="old"), D | None)
    assert_type(await D.key(w="1", d="1").aio.update(D.n.add(1), returning="changed"), dict[str, Any])
    assert_type(await app.aio.batch_get(D.key(w="1", d="1"), C.key(w="1", c="1")), tuple[D | None, C | None])
    assert_type(await app.aio.transact_get(D.key(w="1", d="1")), tuple[D | None])
    assert_type(await app.aio.get(pk="x", sk="y"), Entity | None)
    assert_type(await Flags.aio.get(), Flags)
    assert_type(await Flags.aio.update(on=True), Flags)
    assert_type(await Views.aio.add(1, page="x"), bool)
    assert_type(await Views.aio.value(page="x"), int)


async def many() -> None:
    """Queries and scans, by either face."""
    query = app.query(D, C, w="1")
    assert_type(app.aio.query(D, C, w="1"), Query[D | C])
    assert_type(app.aio.scan(D, C, segments=8), Query[D | C])
    assert_type(app.aio.scan(segments=8), Query[Entity])
    async for each in query:
        assert_type(each, D | C)
        match each:
            case D(d=d):
                assert_type(d, str)
            case C():
                assert_type(each, C)
    async for page in query.aio.pages(10):
        assert_type(page, Page[D | C])
    assert_type([each async for each in app.aio.scan(D)], list[D])
    assert_type(await query.aio.page(10), Page[D | C])
    assert_type(await query.aio.first(), D | C | None)
    assert_type(await query.aio.all(), list[D | C])
    async with app.aio.transaction() as tx:
        assert_type(tx.create(D(w="1", d="1")), D)
    async with app.aio.batch() as batch:
        assert_type(batch.put(C(w="1", c="1")), C)
