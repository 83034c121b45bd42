"""Right uses of singletons and counters: both checkers agree, and infer the types that are asserted."""

from __future__ import annotations

from typing_extensions import Self, assert_type

from tablekit import Column, Field, ShardedCounter, Singleton, Table, field, version

app = Table("t")


class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1", cache_seconds=30, on_failure="default"):
    """Flags."""

    signup: Field[bool] = field(default=False)
    limit: Field[int] = field(default=0)

    schema_version = version()


class NextFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V2", migrates_from=AppFlags):
    """The next shape."""

    signup: Field[str] = field(default="closed")

    @classmethod
    def transform(cls, old: AppFlags) -> Self:
        """The old values in the new shape."""
        return cls(signup="open" if old.signup else "closed")


class PageViews(ShardedCounter, table=app, pk="COUNTER#views#{page}", shards=4):
    """Views."""


with app.transaction() as tx:
    tx.check(AppFlags, AppFlags.signup == True)  # noqa: E712  (an expression)


def change(flags: AppFlags) -> None:
    """A change in place."""
    flags.limit += 1


def use() -> None:
    """The sync verbs."""
    assert_type(AppFlags.get(), AppFlags)
    assert_type(AppFlags.get().signup, bool)
    assert_type(AppFlags.get().schema_version, int)
    assert_type(AppFlags.signup, Column[bool])
    assert_type(AppFlags.update(AppFlags.limit.add(1), signup=True), AppFlags)
    assert_type(AppFlags.edit(change), AppFlags)
    assert_type(AppFlags.edit(lambda flags: flags.replace(limit=flags.limit + 1)), AppFlags)
    assert_type(AppFlags.ensure(), AppFlags)
    assert_type(AppFlags.get().age, "float | None")
    assert_type(NextFlags.migrate(), NextFlags)
    AppFlags.on_change(lambda before, after: before.limit < after.limit)
    assert_type(PageViews.add(2, page="home", operation_id="x"), bool)
    assert_type(PageViews.value(page="home"), int)


async def wait() -> None:
    """The awaited verbs."""
    assert_type(await AppFlags.aio.get(), AppFlags)
    assert_type(await AppFlags.aio.update(signup=True), AppFlags)
    assert_type(await AppFlags.aio.edit(change), AppFlags)
    assert_type(await PageViews.aio.add(page="home"), bool)
    assert_type(await PageViews.aio.value(page="home"), int)
