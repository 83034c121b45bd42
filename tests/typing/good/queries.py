"""Right uses of queries: several classes, pages, keys, groups, scans, batches of keys."""

from __future__ import annotations

from typing_extensions import assert_type

from tablekit import Entity, Field, GlobalIndex, Key, Page, Query, RawItem, Table, index_key

app = Table("t", indexes=[GlobalIndex("IDX", pk="IPK")])


class D(Entity, table=app, pk="D#{d}", sk="D"):
    """An entity in the index."""

    d: Field[str]
    feed = index_key("IDX", pk="{d}")


class C(Entity, table=app, pk="C#{c}", sk="C"):
    """An entity."""

    c: Field[str]
    by = index_key("IDX", pk="{c}")


class W(Entity, table=app, pk="W#{w}", sk="C"):
    """An entity."""

    w: Field[str]
    by = index_key("IDX", pk="{w}")


q = app.query(D, C, d="1")
assert_type(q, Query[D | C])
assert_type(app.query(D, C, index="IDX", d="1"), Query[D | C])
assert_type(app.query(pk="x", index="IDX"), Query[Entity])
assert_type(q.grouped()[D], list[D])
assert_type(q.grouped()[0], D | C)
assert_type(q.page(5), Page[D | C])
assert_type(next(q.pages()), Page[D | C])
assert_type(q.raw(), Query[D | C | RawItem])
assert_type(D.feed.query(d="1").keys(), Query[Key[D]])
assert_type(D.feed.query(d="1").keys().first(), Key[D] | None)
assert_type(app.batch_get(D.key(d="1"), C.key(c="1")), tuple[D | None, C | None])
assert_type(app.batch_get([D.key(d="1")]), list[D | None])
assert_type(app.batch_get([D.key(d="1"), C.key(c="1")]), list[Entity | None])
assert_type(app.scan(D, segments=3), Query[D])
assert_type(app.scan(D, C, W, index="IDX"), Query[D | C | W])
assert_type(q.one(), D | C)
for item in q:
    match item:
        case D(d=d):
            assert_type(d, str)
        case C():
            assert_type(item, C)


async def awaited() -> None:
    """The same, awaited."""
    assert_type(await app.aio.batch_get(D.key(d="1"), C.key(c="1")), tuple[D | None, C | None])
    async for page in q.aio.pages():
        assert_type(page, Page[D | C])
    async for x in q:
        assert_type(x, D | C)
    assert_type(await q.aio.all(), list[D | C])
