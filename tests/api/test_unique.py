"""Unique values, kept by guard rows on an engine with transactions."""

from __future__ import annotations

import random
import threading
from datetime import datetime, timedelta, timezone

import pytest

from tablekit import (
    Entity,
    Field,
    ItemExists,
    ItemNotFound,
    RequestError,
    StaleEntity,
    Table,
    TransactionCancelled,
    UniqueViolation,
    VersionConflict,
    WrongEntityType,
    field,
    unique,
)
from tablekit.definition.uniques import GUARD_TYPE
from tests.support.many_models import Account, Page, User, store

pytestmark = pytest.mark.transactions


@pytest.fixture
def shop(connect_full):
    """The store on a fresh table of ministack."""
    return connect_full(store)


def guards(table):
    """The guarded values and the rows that own them, as the table holds them."""
    found = {}
    for row in table.scan().raw():
        if isinstance(row, dict) and row["EntityType"]["S"] == GUARD_TYPE:
            found[row["PK"]["S"]] = row["_owner"]["M"]["PK"]["S"]
    return found


def email(text):
    """The key of an e-mail's guard."""
    return f"UNIQUE#User#email#S={text}"


def test_a_value_belongs_to_one_row(shop):
    """A second row with the value is refused; the error names the field and the owner's key."""
    User(user_id="1", email="a@x").create()
    with pytest.raises(UniqueViolation) as caught:
        User(user_id="2", email="a@x").create()
    assert (caught.value.fields, caught.value.owner) == (("email",), ("USER#1", "USER"))
    assert (caught.value.entity, caught.value.pk) == ("User", "USER#2")
    assert "a@x" not in str(caught.value)
    assert User.get(user_id="2") is None
    assert guards(shop) == {email("a@x"): "USER#1"}


def test_none_is_not_unique(shop):
    """Rows without a value do not compete, as in SQL."""
    for number in "123":
        User(user_id=number).create()
    assert guards(shop) == {}


def test_a_create_of_an_existing_row_is_told_as_such(shop):
    """The row itself comes before its values."""
    User(user_id="1", email="a@x").create()
    with pytest.raises(ItemExists):
        User(user_id="1", email="a@x").create()


def test_save_moves_the_guard(shop):
    """The old value is free again, the new one is taken."""
    user = User(user_id="1", email="a@x").create()
    user.email = "b@x"
    user.save()
    assert guards(shop) == {email("b@x"): "USER#1"}
    User(user_id="2", email="a@x").create()
    user.email = None
    user.save()
    assert guards(shop) == {email("a@x"): "USER#2"}


def test_a_save_of_other_fields_is_a_plain_update(shop, recorder):
    """Unique values cost nothing where they do not change."""
    user = User(user_id="1", email="a@x").create()
    user.name = "Ann"
    user.save()
    assert recorder.operations[-1] == "UpdateItem"


def test_a_save_to_a_taken_value_changes_nothing(shop):
    """Row, guards and entity stay; the change is still a local one."""
    User(user_id="1", email="a@x").create()
    user = User(user_id="2", email="b@x").create()
    user.email = "a@x"
    with pytest.raises(UniqueViolation):
        user.save()
    assert guards(shop) == {email("a@x"): "USER#1", email("b@x"): "USER#2"}
    user.email = "c@x"
    user.save()
    assert User.get_or_raise(user_id="2").email == "c@x"


def test_a_save_by_a_stale_entity_is_refused(shop):
    """Without a version the loaded value is asserted: the guard that it would release may be another row's by now."""
    user = User(user_id="1", email="a@x").create()
    User.key(user_id="1").update(User.email.set("b@x"))
    user.email = "c@x"
    with pytest.raises(StaleEntity) as caught:
        user.save()
    assert caught.value.fields == ("email",)
    assert guards(shop) == {email("b@x"): "USER#1"}


def test_put_over_a_row_releases_what_it_held(shop):
    """A put that loaded nothing reads the row it replaces."""
    User(user_id="1", email="a@x").create()
    User(user_id="1", email="b@x", name="New").put()
    assert guards(shop) == {email("b@x"): "USER#1"}
    assert User.get_or_raise(user_id="1").name == "New"


def test_put_gives_old_rows_their_guards(shop):
    """Rows from before the field was unique come by their guards when they are put again."""
    table = Table("before", pk="PK", sk="SK")

    class Plain(Entity, table=table, pk="USER#{user_id}", sk="USER", type="User"):
        user_id: Field[str]
        email: Field[str | None] = None

    with table.bound(name=shop.name, port=shop.session().port):
        Plain(user_id="1", email="a@x").create()
    User.get_or_raise(user_id="1").put()
    assert guards(shop) == {email("a@x"): "USER#1"}


def test_update_by_key_moves_the_guard(shop):
    """The row is read for the old value; the result is the row after it."""
    User(user_id="1", email="a@x").create()
    found = User.key(user_id="1").update(User.email.set("b@x"), User.name.set("Ann"))
    assert found == User(user_id="1", email="b@x", name="Ann")
    assert guards(shop) == {email("b@x"): "USER#1"}


def test_update_through_the_entity_moves_the_guard(shop):
    """The entity is brought up to date."""
    user = User(user_id="1", email="a@x").create()
    user.update(User.email.set("b@x"))
    assert user.email == "b@x"
    assert guards(shop) == {email("b@x"): "USER#1"}
    user.update(User.email.remove())
    assert (user.email, guards(shop)) == (None, {})


def test_update_returns_what_was_asked_for(shop):
    """The changed fields, or nothing; the old row cannot be had."""
    User(user_id="1", email="a@x", name="Ann").create()
    key = User.key(user_id="1")
    assert key.update(User.email.set("b@x"), returning="changed") == {"email": "b@x"}
    assert key.update(User.email.set("c@x"), returning=None) is None
    with pytest.raises(RequestError, match="old"):
        key.update(User.email.set("d@x"), returning="old")


def test_update_of_a_missing_row_is_item_not_found(shop):
    """No guard is left behind."""
    with pytest.raises(ItemNotFound):
        User.key(user_id="1").update(User.email.set("b@x"))
    assert guards(shop) == {}


def test_an_upsert_claims_the_value(shop):
    """For a new row and for one that is there."""
    for text in ("a@x", "b@x"):
        User.key(user_id="1").update(User.email.set(text), upsert=True)
    assert guards(shop) == {email("b@x"): "USER#1"}


def test_a_value_that_only_dynamodb_knows_is_refused(shop):
    """A guard row cannot be made of it."""
    with pytest.raises(RequestError, match="guard row"):
        User.key(user_id="1").update(User.email.set(User.name))


@pytest.mark.parametrize("by_key", [True, False])
def test_delete_frees_the_value(shop, by_key):
    """By entity and by key."""
    user = User(user_id="1", email="a@x").create()
    if by_key:
        User.key(user_id="1").delete()
    else:
        user.delete()
    assert shop.scan().raw().all() == []


def test_delete_by_key_gives_the_old_row_when_asked(shop):
    """It was read anyway."""
    user = User(user_id="1", email="a@x").create()
    assert User.key(user_id="1").delete(returning="old") == user
    assert User.key(user_id="1").delete(returning="old") is None


def test_delete_of_another_classes_row_is_refused(shop):
    """The type guard holds in the transaction too."""
    table = Table("shadow", pk="PK", sk="SK")

    class Shadow(Entity, table=table, pk="USER#{user_id}", sk="USER"):
        user_id: Field[str]

    with table.bound(name=shop.name, port=shop.session().port):
        Shadow(user_id="1").create()
    with pytest.raises(WrongEntityType):
        User.key(user_id="1").delete()


def test_deleting_what_is_gone_succeeds(shop):
    """An entity whose row another has deleted, its value taken by somebody else meanwhile."""
    user = User(user_id="1", email="a@x").create()
    User.key(user_id="1").delete()
    other = User(user_id="2", email="a@x").create()
    user.delete()
    assert guards(shop) == {email("a@x"): "USER#2"}
    assert User.scan().all() == [other]


def test_a_compound_is_unique_as_a_whole(shop):
    """The same slug may stand in two sites, and not twice in one."""
    Page(site_id="1", page_id="a", slug="home").create()
    Page(site_id="2", page_id="a", slug="home").create()
    with pytest.raises(UniqueViolation) as caught:
        Page(site_id="1", page_id="b", slug="home").create()
    assert caught.value.fields == ("site_id", "slug")
    assert caught.value.owner == ("SITE#1", "PAGE#a")


def test_a_versioned_row_checks_its_version(shop):
    """A lost race is told as one, and the guards stay."""
    page = Page(site_id="1", page_id="a", slug="home").create()
    Page.key(site_id="1", page_id="a").update(Page.slug.set("start"))
    page.slug = "index"
    with pytest.raises(VersionConflict):
        page.save()
    page.refresh()
    page.slug = "index"
    page.save()
    assert (page.revision, list(guards(shop))) == (3, ["UNIQUE#Page#slug_in_site#S=1#S=index"])


def test_guards_expire_with_their_row(shop):
    """A guard carries the row's expiry, and follows it."""

    def expiries():
        rows = [row for row in shop.scan().raw() if isinstance(row, dict)]
        return [row.get("expires_at") for row in rows]

    soon = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)
    page = Page(site_id="1", page_id="a", slug="home", expires_at=soon).create()
    assert expiries() == [{"N": str(int(soon.timestamp()))}]
    page.expires_at = soon + timedelta(hours=1)
    page.save()
    assert expiries() == [{"N": str(int(soon.timestamp()) + 3600)}]
    page.expires_at = None
    page.save()
    assert expiries() == [None]


def test_a_row_of_a_subclass_keeps_its_guards_through_its_base(connect_full):
    """Updates and deletes by the base's key look at the class that the row is of."""
    table = Table("family")

    class Person(Entity, table=table, pk="P#{person_id}", sk="P"):
        person_id: Field[str]
        name: Field[str] = ""

    class Employee(Person, table=table):
        office: Field[str] = ""
        desk = unique("name", "office")

    connect_full(table)
    Employee(person_id="1", name="Ann", office="A").create()
    Person.key(person_id="1").update(Person.name.set("Bea"))
    assert list(guards(table)) == ["UNIQUE#Employee#desk#S=Bea#S=A"]
    Person.key(person_id="1").delete()
    assert guards(table) == {}


def test_a_guard_under_an_old_type_still_counts(connect_full):
    """After a class was renamed the guards of the old name hold, and go with their rows."""
    table = Table("renamed")

    class Customer(Entity, table=table, pk="C#{client_id}", sk="C"):
        client_id: Field[str]
        email: Field[str] = field(unique=True)

    connect_full(table)
    Customer(client_id="1", email="a").create()
    renamed = Table("renamed")

    class Client(Entity, table=renamed, pk="C#{client_id}", sk="C", aliases=("Customer",)):
        client_id: Field[str]
        email: Field[str] = field(unique=True)

    with renamed.bound(name=table.name, port=table.session().port):
        with pytest.raises(UniqueViolation) as caught:
            Client(client_id="2", email="a").create()
        assert caught.value.owner == ("C#1", "C")
        client = Client.get_or_raise(client_id="1")
        client.email = "b"
        client.save()
        assert guards(renamed) == {"UNIQUE#Client#email#S=b": "C#1"}
        Client(client_id="2", email="a").create()


# In transactions ----------------------------------------------------------------------------------------------


def test_a_transaction_keeps_guards(shop):
    """Create, update by key, save and delete, each with its guards, in one transaction."""
    for number in "123":
        User(user_id=number, email=f"{number}@x").create()
    saved = User.get_or_raise(user_id="2")
    saved.email = "two@x"
    with shop.transaction() as tx:
        tx.update(User.key(user_id="1"), User.email.set("one@x"))
        tx.save(saved)
        tx.delete(User.key(user_id="3"))
        tx.create(User(user_id="4", email="3@x"))
    assert guards(shop) == {email("one@x"): "USER#1", email("two@x"): "USER#2", email("3@x"): "USER#4"}


def test_two_rows_swap_their_values(shop):
    """A value that one row gives up and another takes is one action on its guard."""
    one = User(user_id="1", email="a@x").create()
    two = User(user_id="2", email="b@x").create()
    one.email, two.email = two.email, one.email
    with shop.transaction() as tx:
        tx.save(one)
        tx.save(two)
    assert guards(shop) == {email("a@x"): "USER#2", email("b@x"): "USER#1"}


def test_a_violation_is_the_reason_of_its_action(shop):
    """The guard's failure stands at the action whose value it is."""
    User(user_id="1", email="a@x").create()
    with pytest.raises(TransactionCancelled) as caught, shop.transaction() as tx:
        tx.put(Account(account_id="1"))
        tx.create(User(user_id="2", email="a@x"))
    first, second = caught.value.reasons
    assert first.code is None
    assert isinstance(second.error, UniqueViolation)
    assert second.error.owner == ("USER#1", "USER")
    assert second.item is None


def test_two_rows_of_a_transaction_cannot_claim_one_value(shop, recorder):
    """It is found before anything is sent."""
    with pytest.raises(UniqueViolation), shop.transaction() as tx:
        tx.create(User(user_id="1", email="a@x"))
        tx.create(User(user_id="2", email="a@x"))
    assert "TransactWriteItems" not in recorder.operations


# Reading ------------------------------------------------------------------------------------------------------


def test_guards_are_hidden_from_entity_reads(shop):
    """Scans and queries give entities; what they left out is counted."""
    user = User(user_id="1", email="a@x").create()
    account = Account(account_id="1").create()
    assert User.scan().all() == [user]
    assert shop.scan(User, Account).count() == 2
    assert sorted(shop.scan(), key=repr) == [account, user]
    assert shop.query(pk=email("a@x")).all() == []
    assert shop.get(pk=email("a@x"), sk="UNIQUE") is None
    assert shop.scan().page(size=50).discarded == {GUARD_TYPE: 1}


# Races --------------------------------------------------------------------------------------------------------


def test_of_twenty_rivals_one_wins(shop):
    """Threads that create rows with one value: one row, one guard, and everybody else is told whose it is."""
    results = []

    def claim(number):
        try:
            User(user_id=str(number), email="a@x").create()
            results.append("won")
        except UniqueViolation as error:
            results.append(error.owner)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = User.scan().all()
    assert results.count("won") == 1
    assert set(results) == {"won", (f"USER#{winner.user_id}", "USER")}


def test_rivals_that_change_one_row_leave_one_guard(shop):
    """Updates by key read the old value, and go back for it when another was faster."""
    User(user_id="1", email="0@x").create()
    errors = []

    def change(number):
        try:
            User.key(user_id="1").update(User.email.set(f"{number}@x"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    user = User.get_or_raise(user_id="1")
    assert guards(shop) == {email(user.email): "USER#1"}
    assert all(isinstance(error, StaleEntity) for error in errors)


def test_random_writes_leave_exactly_the_guards_of_the_rows(shop):
    """After any writes by any path, the guards are those of the rows that are there."""
    rng = random.Random(7)
    for _ in range(80):
        number, text = rng.choice("1234"), rng.choice(["a@x", "b@x", "c@x", None])
        key, loaded = User.key(user_id=number), User.get(user_id=number)
        try:
            match rng.randrange(6):
                case 0:
                    User(user_id=number, email=text).create()
                case 1:
                    User(user_id=number, email=text).put()
                case 2 if loaded is not None:
                    loaded.email = text
                    loaded.save()
                case 3:
                    key.update(User.email.set(text))
                case 4:
                    key.delete()
                case _:
                    with shop.transaction() as tx:
                        tx.put(User(user_id=number, email=text))
                        tx.delete(User.key(user_id="4" if number != "4" else "1"))
        except (UniqueViolation, ItemExists, ItemNotFound, TransactionCancelled):
            pass
        owned = {email(user.email): f"USER#{user.user_id}" for user in User.scan() if user.email}
        assert guards(shop) == owned


def test_a_unique_value_may_have_another_stored_name(connect_full):
    """The guard is made of the value, whatever the attribute is called."""
    table = Table("names", pk="key", sk=None, separator=None)

    class Thing(Entity, table=table, pk="THING/{thing_id}"):
        thing_id: Field[int] = field(default=0)
        code: Field[int] = field(unique=True, name="c")

    connect_full(table)
    Thing(thing_id=1, code=5).create()
    with pytest.raises(UniqueViolation) as caught:
        Thing(thing_id=2, code=5).create()
    assert caught.value.owner == ("THING/1", None)
