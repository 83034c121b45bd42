"""Cursors word by word: what each refusal says, how a cursor is made for good, and forged ones that nearly fit."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from datetime import datetime, timezone
from typing import Any

import pytest

from tablekit import CursorError, Entity, Field, GlobalIndex, RequestError, Table, index_key
from tablekit.operations.cursors import _check, _context, _text, decode_cursor, encode_cursor
from tablekit.operations.queryplan import plan_query

NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)
shop = Table("shop", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])
album = Table("album", indexes=[GlobalIndex("GSI1", pk="OWNER")])
raw = Table("raw", pk="owner", sk="at", key_types={"owner": "B", "at": "N"})


class Order(Entity, table=shop, pk="SHOP#{shop_id}", sk="ORDER#{order_id}"):
    """A row that is in an index when it has a buyer."""

    shop_id: Field[str]
    order_id: Field[str]
    buyer: Field[str | None]
    seller: Field[str | None]

    by_buyer = index_key("GSI1", pk="BUYER#{buyer}", sk="{order_id}")


class Bill(Entity, table=shop, pk="SHOP#{shop_id}", sk="BILL#{bill_id}"):
    """A row of the same partition."""

    shop_id: Field[str]
    bill_id: Field[str]


class Reading(Entity, table=raw, pk="{owner}", sk="{at}"):
    """A row with a binary partition key and a number to sort by."""

    owner: Field[bytes]
    at: Field[int]


class Photo(Entity, table=album, pk="{album}", sk="{photo_id}"):
    """A row in an index that has a partition key alone."""

    album: Field[str]
    photo_id: Field[str]
    owner: Field[str]

    by_owner = index_key("GSI1", pk="{owner}")


REMEDY = (
    " Use a cursor only with the query that gave it (same table, index, partition, range, direction and conditions), "
    "or start again without one."
)
ORDERS = shop.query(Order, shop_id="1")
KEY = {"PK": {"S": "SHOP#1"}, "SK": {"S": "ORDER#7"}}


def plan_of(query: Any) -> Any:
    """The plan of a query at a fixed time."""
    return plan_query(query._spec, NOW)


def forged(query: Any, content: bytes, table: str = "t") -> str:
    """A plain cursor with a right digest around any content, as a stranger who knows the scheme makes it."""
    made = b"\x01" + _check(content, _context(plan_of(query), table)) + content
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def packed(key: Any, side: str = "after", version: int = 1) -> bytes:
    """The content of a cursor."""
    return json.dumps([version, side, key]).encode()


def read(query: Any, text: Any, secrets: tuple[bytes, ...] = ()) -> Any:
    """The key of a cursor."""
    return decode_cursor(plan_of(query), text, "t", secrets)


REFUSED = {
    "is empty, and None is what starts a query": ["", None, 5],
    "is longer than any that tablekit makes": ["A" * 65_537],
    "is not one that tablekit made": [
        "!",
        "A",
        forged(ORDERS, b"x"),
        forged(ORDERS, b"{}"),
        forged(ORDERS, packed({"PK": 5})),
        forged(ORDERS, packed({"PK": ["S"]})),
        forged(ORDERS, packed({"PK": ["SS", "x"], "SK": ["S", "x"]})),
        forged(ORDERS, packed({"PK": ["S", ""], "SK": ["S", "x"]})),
        forged(ORDERS, packed({"PK": ["B", "!"], "SK": ["S", "x"]})),
        forged(ORDERS, packed({"PK": ["N", "x"], "SK": ["S", "x"]})),
        forged(ORDERS, packed({"PK": ["N", "NaN"], "SK": ["S", "x"]})),
        forged(ORDERS, b"[" * 20_000 + b"]" * 20_000),
    ],
    "was altered": ["AB"],
    "was made by another version of tablekit": [forged(ORDERS, packed(None, version=2))],
    "is one for before=, and was given as cursor=": [forged(ORDERS, packed(None, side="before"))],
    "belongs to another query, or was cut or altered": [
        "AA",
        forged(ORDERS, packed(None), table="other"),
        forged(shop.query(Order, shop_id="2"), packed(None)),
        base64.urlsafe_b64encode(b"\x01" + b"x" * 40).rstrip(b"=").decode(),
    ],
    "is encrypted, and this table has no cursor_secret": ["AgAA"],
    "names other key attributes than this query": [
        forged(ORDERS, packed({"PK": ["S", "SHOP#1"]})),
        forged(ORDERS, packed({"PK": ["S", "SHOP#1"], "SK": ["S", "x"], "X": ["S", "x"]})),
    ],
    "holds a key of another type": [forged(ORDERS, packed({"PK": ["S", "SHOP#1"], "SK": ["N", "1"]}))],
    "belongs to another partition": [forged(ORDERS, packed({"PK": ["S", "SHOP#2"], "SK": ["S", "ORDER#7"]}))],
    "lies out of the range of this query": [forged(ORDERS, packed({"PK": ["S", "SHOP#1"], "SK": ["S", "BILL#7"]}))],
}


@pytest.mark.parametrize(("reason", "text"), [(reason, text) for reason, texts in REFUSED.items() for text in texts])
def test_each_refusal_says_why(reason: str, text: Any) -> None:
    """The whole message: the reason, and what a cursor is good for."""
    with pytest.raises(CursorError) as caught:
        read(ORDERS, text)
    assert str(caught.value) == f"The cursor {reason}.{REMEDY}"


def test_the_nearest_right_one_is_read() -> None:
    """The forged cursors above fail for their one fault."""
    content = packed({"PK": ["S", "SHOP#1"], "SK": ["S", "ORDER#7"]})
    assert read(ORDERS, forged(ORDERS, content)) == KEY
    assert read(ORDERS, forged(ORDERS, packed(None))) is None


def test_the_other_side_is_told_as_well() -> None:
    """A cursor for going on is none for going back."""
    with pytest.raises(CursorError, match=r"^The cursor is one for cursor=, and was given as before=\."):
        decode_cursor(plan_of(ORDERS), forged(ORDERS, packed(None)), "t", (), "before")


def test_a_sealed_cursor_of_a_former_day_is_read() -> None:
    """Secret, nonce and context are derived as ever: a bookmark outlives a release."""
    query = shop.query(Order, shop_id="1")
    key = hashlib.sha256(b"tablekit cursor" + b"secret").digest()
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    context = _context(plan_of(query), "t")
    content = packed({"PK": ["S", "SHOP#1"], "SK": ["S", "ORDER#7"]})
    sealed = b"\x02" + b"n" * 12 + AESGCMSIV(key).encrypt(b"n" * 12, content, context)
    text = base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
    assert read(query, text, (b"secret",)) == KEY
    assert read(query, text, (b"new", b"secret")) == KEY
    with pytest.raises(CursorError) as caught:
        read(query, text, (b"new",))
    assert str(caught.value) == f"The cursor belongs to another query, or was cut or altered.{REMEDY}"
    with pytest.raises(CursorError) as caught:
        read(query, forged(query, content), (b"secret",))
    assert str(caught.value) == f"The cursor is not encrypted, and this table has a cursor_secret.{REMEDY}"


def test_no_two_sealed_cursors_are_alike() -> None:
    """Each has a nonce of its own, so that equal places are not told by equal texts."""
    made = {encode_cursor(plan_of(ORDERS), KEY, "t", (b"secret",)) for _ in range(50)}
    assert len(made) == 50


def test_binary_and_number_keys_come_back() -> None:
    """Bytes go through base64; a number is compared by its value."""
    query = raw.query(Reading, owner=b"\x00\xff")
    key = {"owner": {"B": b"\x00\xff"}, "at": {"N": "7"}}
    assert read(query, encode_cursor(plan_of(query), key, "t", ())) == key
    assert raw.query(Reading, owner=b"\x00\xfe").cursor_after(Reading(owner=b"\x00\xfe", at=1)) != query.cursor_after(
        Reading(owner=b"\x00\xff", at=1)
    )


@pytest.mark.parametrize("number", ["x", "NaN", "Infinity", "1e", "--1", ""])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    """It would reach DynamoDB as a key to start from."""
    query = raw.query(Reading, owner=b"a")
    with pytest.raises(CursorError, match="is not one that tablekit made"):
        read(query, forged(query, packed({"owner": ["B", "YQ=="], "at": ["N", number]})))
    right = forged(query, packed({"owner": ["B", "YQ=="], "at": ["N", "1e2"]}))
    assert read(query, right) == {"owner": {"B": b"a"}, "at": {"N": "1e2"}}


def test_an_entity_that_is_not_in_the_query_is_told() -> None:
    """Its class, the query, the reason and what to take, in full."""
    told = "This {} is not in the query of {}: {}. Take an entity that the query returned."
    bill, order = Bill(shop_id="1", bill_id="1"), Order(shop_id="2", order_id="1", buyer=None, seller=None)
    by_buyer = Order.by_buyer.query(buyer="eve")
    for query, entity, reason in (
        (ORDERS, bill, "its class is not asked for"),
        (ORDERS, order, "it lies in another partition or out of the range"),
        (by_buyer, order, "it is not in the index"),
    ):
        with pytest.raises(CursorError) as caught:
            query.cursor_after(entity)
        where = query._spec.where_text
        assert str(caught.value) == told.format(type(entity).__name__, where, reason)


def test_an_entity_has_a_place_in_an_index() -> None:
    """By the index's own key, asked by class, by several classes and by the stored key."""
    order = Order(shop_id="1", order_id="7", buyer="eve", seller=None)
    key = {"GSI1PK": {"S": "BUYER#eve"}, "GSI1SK": {"S": "7"}, **KEY}
    for query in (Order.by_buyer.query(buyer="eve"), shop.query(index="GSI1", pk="BUYER#eve")):
        text = query.cursor_after(order)
        assert decode_cursor(plan_of(query), text, "shop", ()) == key


def test_an_entity_whose_index_key_has_no_text_is_not_in_the_index() -> None:
    """Such a row cannot be stored, so that no query has a place for it."""
    order = Order(shop_id="1", order_id="7", buyer="", seller=None)
    with pytest.raises(CursorError, match="it is not in the index"):
        Order.by_buyer.query(buyer="eve").cursor_after(order)


def test_an_index_without_a_sort_key_has_places() -> None:
    """The key of the index is one attribute, and belongs to the partition."""
    photo = Photo(album="a", photo_id="7", owner="eve")
    query = Photo.by_owner.query(owner="eve")
    key = {"OWNER": {"S": "eve"}, "PK": {"S": "a"}, "SK": {"S": "7"}}
    assert decode_cursor(plan_of(query), query.cursor_after(photo), "album", ()) == key


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cryptography a secret is refused, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(RequestError) as caught:
        encode_cursor(plan_of(ORDERS), None, "t", (b"secret",))
    assert str(caught.value) == 'cursor_secret needs the extra: pip install "tablekit[cursors]".'


def test_an_openssl_without_the_cipher_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of the library is passed on."""
    from cryptography.hazmat.primitives.ciphers import aead

    def lacking(_key: bytes) -> None:
        raise NotImplementedError("not here")

    monkeypatch.setattr(aead, "AESGCMSIV", lacking)
    with pytest.raises(RequestError) as caught:
        encode_cursor(plan_of(ORDERS), None, "t", (b"secret",))
    assert str(caught.value) == "cursor_secret needs AES-GCM-SIV, which this OpenSSL lacks (not here)."


def test_a_plain_cursor_is_short_and_reads_as_it_is() -> None:
    """No spaces, no escapes, no padding: it goes into addresses."""
    key = {"PK": {"S": "SHOP#1"}, "SK": {"S": "ORDER#é"}}
    text = encode_cursor(plan_of(ORDERS), key, "t", ())
    made = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert made[17:].decode() == '[1,"after",{"PK":["S","SHOP#1"],"SK":["S","ORDER#é"]}]'
    assert _text(b"\x01\x01\x17") == "AQEX"


def test_a_sealed_cursor_comes_back_for_its_query_only() -> None:
    """It is sealed together with the query that it is of."""
    text = encode_cursor(plan_of(ORDERS), KEY, "t", (b"secret",))
    assert read(ORDERS, text, (b"secret",)) == KEY
    with pytest.raises(CursorError, match="belongs to another query"):
        read(shop.query(Order, shop_id="2"), text, (b"secret",))


def test_the_longest_text_is_still_looked_at() -> None:
    """Up to the limit, and not beyond."""
    with pytest.raises(CursorError, match="belongs to another query"):
        read(ORDERS, "A" * 65_536)


@pytest.mark.parametrize(("at", "fits"), [("5", True), ("7", True), ("10", True), ("4", False), ("11", False)])
def test_a_place_in_a_range_of_numbers_is_told_by_size(at: str, fits: bool) -> None:
    """7 lies between 5 and 10, though not as text."""
    query = raw.query(Reading, owner=b"a").between(at=(5, 10))
    text = forged(query, packed({"owner": ["B", "YQ=="], "at": ["N", at]}))
    if fits:
        assert read(query, text) == {"owner": {"B": b"a"}, "at": {"N": at}}
        return
    with pytest.raises(CursorError, match="out of the range"):
        read(query, text)
