"""What a singleton class must be, checked when it is made."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tablekit import (
    DefinitionError,
    Entity,
    Field,
    GlobalIndex,
    ShardedCounter,
    Singleton,
    Table,
    field,
    index_key,
    updated_at,
    version,
)
from tests.patterns.flags import make_flags

ONE = {"pk": "SETTINGS#APP", "sk": "ONE"}


@pytest.fixture
def app():
    """A table that nothing is sent to."""
    return Table("app", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])


def test_every_field_has_a_default(app):
    """A field without a safe value is refused by name."""
    with pytest.raises(DefinitionError, match=r"One\.signup: has no default.*safe value"):

        class One(Singleton, table=app, **ONE):
            signup: Field[bool]


@pytest.mark.parametrize("key", [{"pk": "SETTINGS#{tenant}", "sk": "FLAGS"}, {"pk": "SETTINGS", "sk": "FLAGS#{user}"}])
def test_a_template_in_the_key_points_to_the_how_to(app, key):
    """A key with a part is an entity; the error says which page shows it."""
    with pytest.raises(DefinitionError, match=r"is an entity.*docs/howto/per-tenant-settings\.md"):

        class One(Singleton, table=app, **key):
            signup: Field[bool] = field(default=False)


def test_a_second_singleton_on_the_same_key_is_refused(app):
    """One row is one singleton; the error names the other one."""

    class One(Singleton, table=app, **ONE):
        signup: Field[bool] = field(default=False)

    with pytest.raises(DefinitionError, match="Two: has the key of One"):

        class Two(Singleton, table=app, **ONE):
            signup: Field[bool] = field(default=False)


def test_the_same_class_may_be_made_again(app):
    """A notebook cell or a reload replaces the earlier class."""
    assert make_flags(app) is not make_flags(app)
    assert list(app.entities) == ["Flags"]


def test_an_index_key_is_refused(app):
    """A singleton is read by its key alone."""
    with pytest.raises(DefinitionError, match="index key"):

        class One(Singleton, table=app, **ONE):
            signup: Field[bool] = field(default=False)
            updated_at = updated_at()
            feed = index_key("GSI1", pk="FEED", sk="{updated_at}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cache_seconds": -1}, "cache_seconds"),
        ({"cache_seconds": "30"}, "cache_seconds"),
        ({"jitter": 2}, "jitter"),
        ({"refresh_before": 40}, "refresh_before"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"max_stale": -1}, "max_stale"),
        ({"attempts": 0}, "attempts"),
        ({"migrates_from": int}, "no singleton class"),
    ],
)
def test_an_option_that_cannot_be_is_refused(app, options, message):
    """Each class option says what it may be."""
    with pytest.raises(DefinitionError, match=message):
        make_flags(app, **options)


def test_options_are_inherited_from_an_abstract_base(app):
    """A base may give table and options to several singletons."""

    class Base(Singleton, table=app, pk="SETTINGS#APP", cache_seconds=5, abstract=True):
        signup: Field[bool] = field(default=False)

    class One(Base, sk="ONE", on_failure="raise"):
        pass

    assert (One.__cache__.options.cache_seconds, One.__cache__.options.on_failure) == (5, "raise")
    with pytest.raises(DefinitionError, match="abstract"):
        Base.get()


@pytest.mark.parametrize("name", ["get", "source", "version", "cached", "edit"])
def test_its_own_names_are_reserved(app, name):
    """A field with a name of the library's own is refused, with the way to keep the stored name."""
    with pytest.raises(DefinitionError, match="own on entities"):
        type("One", (Singleton,), {"__annotations__": {name: Field[bool]}, "__module__": __name__}, table=app, **ONE)


def test_migrates_from_needs_a_transform_and_the_same_table(app):
    """A successor says how old values become new ones."""
    flags = make_flags(app)
    with pytest.raises(DefinitionError, match="transform"):

        class Two(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V2", migrates_from=flags):
            signup: Field[bool] = field(default=False)

    with pytest.raises(DefinitionError, match="another table"):

        class Three(Singleton, table=Table("other"), pk="SETTINGS#APP", sk="FLAGS#V2", migrates_from=flags):
            signup: Field[bool] = field(default=False)

            @classmethod
            def transform(cls, old):
                return cls()


def test_migrate_without_a_predecessor_says_so(app):
    """`migrate` of a class that replaces nothing is an error."""
    app.connect(region="eu-west-1")
    with pytest.raises(DefinitionError, match="migrates_from"):
        make_flags(app).migrate()


def test_a_table_without_a_sort_key_takes_one(app):
    """Where the table has no sort key, the partition key is the whole constant."""
    alone = Table("alone", sk=None)

    class One(Singleton, table=alone, pk="FLAGS"):
        signup: Field[bool] = field(default=False)
        revision = version()

    assert One.__schema__.key_of({}) == {"PK": {"S": "FLAGS"}}


def test_entities_beside_it_do_not_overlap_unseen(app):
    """A per-tenant entity beside the singleton is what the how-to shows."""
    make_flags(app)

    class TenantSettings(Entity, table=app, pk="TENANT#{tenant}", sk="SETTINGS"):
        tenant: Field[str]
        signup: Field[bool] = field(default=False)

    assert sorted(app.entities) == ["Flags", "TenantSettings"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pk": "COUNTER#{shard}"}, "shard"),
        ({"pk": "COUNTER#{page}", "shards": 0}, "shards"),
        ({"pk": "COUNTER#{page}", "shards": 2.5}, "shards"),
        ({"pk": "COUNTER#{page}", "sk": "{page}"}, "constant"),
        ({"pk": "COUNTER#{page}", "remember": timedelta(0)}, "remember"),
        ({}, "needs table= and pk="),
    ],
)
def test_a_counter_that_cannot_count_is_refused(app, options, message):
    """Each option of a counter says what it may be."""
    with pytest.raises(DefinitionError, match=message):
        type("Views", (ShardedCounter,), {"__module__": __name__}, table=app, **options)


def test_a_counter_holds_nothing_but_its_number(app):
    """A field that is no part of the key is refused."""
    with pytest.raises(DefinitionError, match="title"):

        class Views(ShardedCounter, table=app, pk="COUNTER#{page}"):
            title: Field[str] = field(default="")
