"""One table, written by tablekit and by others: pynamodb models, and boto3's client and resource."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.types import Binary
from pynamodb.attributes import NumberAttribute, UnicodeAttribute, UnicodeSetAttribute, VersionAttribute
from pynamodb.exceptions import PutError
from pynamodb.models import Model

from tablekit import DecodeError, Entity, Field, Table, VersionConflict, field, version
from tests.support.engines import Engine
from tests.support.tables import Connect

shop = Table("shop", untyped="infer")


class Order(Entity, table=shop, pk="C#{customer}", sk="O#{number:06d}"):
    """An order; rows of other writers have customer and number in the key alone."""

    customer: Field[str]
    number: Field[int]
    total: Field[Decimal] = field(default=Decimal(0))
    tags: Field[set[str]] = field(factory=set)
    seal: Field[bytes | None] = field(default=None)


@pytest.fixture
def their_model(connect: Connect, engine: Engine) -> type[Model]:
    """A pynamodb model of the same table."""
    connect(shop)
    options = engine.connect_options()

    class TheirOrder(Model):
        class Meta:
            table_name = shop.name
            region = "us-east-1"
            host = options["endpoint_url"]
            aws_access_key_id = "local"
            aws_secret_access_key = "local"

        PK = UnicodeAttribute(hash_key=True)
        SK = UnicodeAttribute(range_key=True)
        total = NumberAttribute(default=0)
        tags = UnicodeSetAttribute(null=True)
        note = UnicodeAttribute(null=True)

    return TheirOrder


@pytest.fixture
def resource(connect: Connect, engine: Engine) -> Any:
    """The table as boto3's resource has it."""
    connect(shop)
    options = {"region_name": "us-east-1", "aws_access_key_id": "local", "aws_secret_access_key": "local"}
    session = boto3.Session(**options)
    return session.resource("dynamodb", endpoint_url=engine.connect_options()["endpoint_url"]).Table(shop.name)


def test_rows_of_pynamodb_are_entities(their_model: type[Model]) -> None:
    """Numbers, sets, and the parts of the key; what the class does not know stays on a save."""
    their_model("C#ann", "O#000007", total=5, tags={"x"}, note="theirs").save()

    order = Order.get_or_raise(customer="ann", number=7)
    assert (order.customer, order.number, order.total, order.tags) == ("ann", 7, Decimal(5), {"x"})
    order.total = Decimal(6)
    order.save()

    theirs = their_model.get("C#ann", "O#000007")
    assert (theirs.total, theirs.note) == (6, "theirs")


def test_rows_of_tablekit_are_models_of_pynamodb(their_model: type[Model]) -> None:
    """It leaves out what it does not declare, and a save of it erases that: the type and the rest are gone."""
    Order(customer="ann", number=7, total=Decimal(5), seal=b"s").create()

    theirs = their_model.get("C#ann", "O#000007")
    theirs.total = 8
    theirs.save()

    order = Order.get_or_raise(customer="ann", number=7)
    assert (order.total, order.seal) == (Decimal(8), None)


def test_an_update_of_pynamodb_leaves_the_rest(their_model: type[Model]) -> None:
    """`update` names what it changes; `save` writes the whole row."""
    Order(customer="ann", number=7, seal=b"s").create()

    theirs = their_model.get("C#ann", "O#000007")
    theirs.update(actions=[their_model.total.set(9)])

    order = Order.get_or_raise(customer="ann", number=7)
    assert (order.total, order.seal) == (Decimal(9), b"s")


def test_a_version_of_pynamodb_is_a_version(connect: Connect, engine: Engine) -> None:
    """Both bump it, and either refuses to write over what the other changed."""
    ledger = connect(Table("ledger", untyped="infer"))

    class Entry(Entity, table=ledger, pk="E#{entry}", sk="META"):
        entry: Field[str]
        text: Field[str]
        revision = version(name="version")

    class TheirEntry(Model):
        class Meta:
            table_name = ledger.name
            region = "us-east-1"
            host = engine.connect_options()["endpoint_url"]
            aws_access_key_id = "local"
            aws_secret_access_key = "local"

        PK = UnicodeAttribute(hash_key=True)
        SK = UnicodeAttribute(range_key=True)
        text = UnicodeAttribute()
        version = VersionAttribute()

    TheirEntry("E#1", "META", text="theirs").save()
    mine, stale = Entry.get_or_raise(entry="1"), TheirEntry.get("E#1", "META")
    mine.text = "mine"
    mine.save()
    assert mine.revision == 2
    stale.text = "late"
    with pytest.raises(PutError):
        stale.save()
    TheirEntry.get("E#1", "META").update(actions=[TheirEntry.text.set("theirs again")])
    mine.text = "mine again"
    with pytest.raises(VersionConflict):
        mine.save()


def test_rows_of_the_resource_are_entities_and_back(resource: Any) -> None:
    """Decimal, Binary and sets both ways, without a request of tablekit."""
    resource.put_item(Item={"PK": "C#ann", "SK": "O#000007", "total": Decimal("1.5"), "seal": Binary(b"s")})

    order = Order.from_item(resource.get_item(Key={"PK": "C#ann", "SK": "O#000007"})["Item"])
    assert (order.number, order.total, order.seal) == (7, Decimal("1.5"), b"s")
    order.tags = {"paid"}
    resource.put_item(Item=order.to_item(plain=True))

    assert Order.get_or_raise(customer="ann", number=7).tags == {"paid"}


def test_a_bad_row_of_another_writer_names_itself(resource: Any) -> None:
    """One row is an error with its key; the others are read."""
    resource.put_item(Item={"PK": "C#ann", "SK": "O#000001", "total": "much"})
    resource.put_item(Item={"PK": "C#ann", "SK": "O#000002", "total": 2})

    assert Order.get_or_raise(customer="ann", number=2).total == 2
    with pytest.raises(DecodeError, match="O#000001"):
        Order.get_or_raise(customer="ann", number=1)
