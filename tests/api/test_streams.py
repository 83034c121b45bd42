"""Changes of a stream as typed entities, in every form in which they arrive."""

from __future__ import annotations

import base64
import json
import time
from datetime import datetime, timezone
from decimal import Decimal

import pytest

from tablekit import (
    DecodeError,
    Entity,
    Field,
    InvalidStreamRecord,
    MissingEntityType,
    RawItem,
    RequestError,
    Table,
    UnknownEntityType,
    field,
)
from tests.support.models import Document, Member, Workspace
from tests.support.models import app as workspace_app
from tests.support.stream_events import TTL, event, record

KEYS = {"PK": {"S": "WS#acme"}, "SK": {"S": "MEMBER#a@b"}}
MEMBER = {
    **KEYS,
    "EntityType": {"S": "Member"},
    "workspace_id": {"S": "acme"},
    "email": {"S": "a@b"},
    "role": {"S": "reader"},
}
EDITOR = {**MEMBER, "role": {"S": "editor"}}
FOREIGN = {**KEYS, "EntityType": {"S": "Invoice"}, "total": {"N": "3"}}
UNTYPED = {name: value for name, value in MEMBER.items() if name != "EntityType"}

files = Table("files")


class Blob(Entity, table=files, pk="BLOB#{name}", sk="META"):
    """Holds binary values."""

    name: Field[str]
    data: Field[bytes]
    parts: Field[set[bytes]] = field(factory=set)
    sizes: Field[list[int]] = field(factory=list)


def decode(given, **options):
    """The only change of an event of the workspace app."""
    (change,) = workspace_app.decode_stream(given, **options)
    return change


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [("insert", None, MEMBER), ("modify", MEMBER, EDITOR), ("remove", EDITOR, None)],
)
def test_r56_both_images(kind, old, new):
    """R56: a change has the images that it has, typed, and None for the one that cannot be."""
    change = decode(event(record(kind, KEYS, old=old, new=new)))
    assert (change.kind, change.entity) == (kind, Member)
    assert change.old == (None if old is None else Member.from_item(old))
    assert change.new == (None if new is None else Member.from_item(new))


@pytest.mark.parametrize("kind", ["insert", "modify", "remove"])
def test_r56_keys_only(kind):
    """R56: without images the class is told by the key templates, and the key can be used."""
    change = decode(event(record(kind, KEYS)))
    assert (change.old, change.new, change.entity) == (None, None, Member)
    assert change.key == Member.key(workspace_id="acme", email="a@b")


def test_r56_keys_only_of_an_unknown_row():
    """R56: a key that fits no class is a foreign row, not an error."""
    change = decode(event(record("modify", {"PK": {"S": "X"}, "SK": {"S": "Y"}})))
    assert (change.entity, change.key) == (None, None)
    assert change.keys == {"PK": {"S": "X"}, "SK": {"S": "Y"}}


@pytest.mark.parametrize(
    ("kind", "images"),
    [
        ("insert", {"new": MEMBER}),
        ("modify", {"new": MEMBER}),
        ("modify", {"old": MEMBER}),
        ("remove", {"old": MEMBER}),
    ],
)
def test_r56_one_image_views(kind, images):
    """R56: with NEW_IMAGE or OLD_IMAGE the class is of whichever image is there."""
    change = decode(event(record(kind, KEYS, **images)))
    assert change.entity is Member
    assert [name for name in ("old", "new") if getattr(change, name) is not None] == list(images)


def test_r56_an_image_of_keys_only_is_no_missing_image():
    """R56: an image that holds the keys alone, or nothing, is there."""
    for image in (KEYS, {}):
        change = decode(event(record("insert", KEYS, new=image)))
        assert change.new == RawItem(KEYS)


def test_an_image_without_its_keys_gets_them():
    """Some senders leave the keys out of the image."""
    image = {name: value for name, value in MEMBER.items() if name not in KEYS}
    assert decode(event(record("insert", KEYS, new=image))).new == Member.from_item(MEMBER)


def test_what_identifies_a_change():
    """Event id, sequence number, time and view stand on the change as they came."""
    given = record("insert", KEYS, new=MEMBER, change={"ApproximateCreationDateTime": 1480642020})
    change = decode(given)
    assert (change.event_id, change.sequence_number) == (given["eventID"], given["dynamodb"]["SequenceNumber"])
    assert change.time == datetime(2016, 12, 2, 1, 27, tzinfo=timezone.utc)
    assert (change.view, change.record) == ("NEW_AND_OLD_IMAGES", given)


@pytest.mark.parametrize(
    "moment", [1480642020, 1480642020.0, 1480642020000, datetime(2016, 12, 2, 1, 27, tzinfo=timezone.utc)]
)
def test_times_come_in_several_units(moment):
    """Seconds as int or float, milliseconds, and botocore's datetime mean the same moment."""
    change = decode(record("insert", KEYS, change={"ApproximateCreationDateTime": moment}))
    assert change.time == datetime(2016, 12, 2, 1, 27, tzinfo=timezone.utc)


@pytest.mark.parametrize("identity", [TTL, {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}])
def test_an_expired_row_is_told_from_a_deleted_one(identity):
    """DynamoDB names itself when it deletes an expired row; an insert by anything is never an expiry."""
    assert decode(record("remove", KEYS, old=MEMBER, userIdentity=identity)).expired_by_ttl
    assert not decode(record("remove", KEYS, old=MEMBER, userIdentity=None)).expired_by_ttl
    assert not decode(record("insert", KEYS, new=MEMBER, userIdentity=identity)).expired_by_ttl


def test_foreign_rows_are_raw_by_default():
    """A row of an unknown type, or of none, does not hold up a shard."""
    changes = workspace_app.decode_stream(
        event(record("insert", KEYS, new=FOREIGN), record("insert", KEYS, new=UNTYPED))
    )
    assert [change.entity for change in changes] == [None, None]
    assert [change.new for change in changes] == [RawItem(FOREIGN), RawItem(UNTYPED)]


def test_policies_can_skip_or_raise():
    """Foreign rows can be left out, or refused as reads refuse them."""
    foreign, untyped = record("insert", KEYS, new=FOREIGN), record("insert", KEYS, new=UNTYPED)
    assert workspace_app.decode_stream([foreign, untyped], unknown="skip", untyped="skip") == []
    with pytest.raises(UnknownEntityType):
        workspace_app.decode_stream([foreign], unknown="raise")
    with pytest.raises(MissingEntityType):
        workspace_app.decode_stream([untyped], untyped="raise")
    with pytest.raises(RequestError, match="policy"):
        workspace_app.decode_stream([], unknown="hide")


def test_untyped_rows_can_be_inferred():
    """A row without a type is told by its key where that is asked for."""
    assert decode(record("insert", KEYS, new=UNTYPED), untyped="infer").new == Member.from_item(MEMBER)


def test_a_row_that_gets_its_type_is_of_one_class():
    """A backfill's change has an untyped old image, which is read as the class of the new one."""
    change = decode(record("modify", KEYS, old=UNTYPED, new=MEMBER))
    assert change.old == change.new == Member.from_item(MEMBER)


def test_a_bad_row_raises_or_is_raw():
    """A row of a known class that its fields cannot read is an error, unless raw rows are asked for."""
    bad = record("insert", KEYS, new={**MEMBER, "role": {"N": "1"}})
    with pytest.raises(DecodeError):
        decode(bad)
    assert decode(bad, undecodable="raw").new == RawItem({**MEMBER, "role": {"N": "1"}})


# Forms


def lambda_image(data=b"\0\xff"):
    """A blob as Lambda writes it: binary values in base64."""
    text = base64.b64encode(data).decode()
    keys = {"PK": {"S": "BLOB#a"}, "SK": {"S": "META"}}
    sizes = {"L": [{"N": "1"}, {"N": 2}]}
    return keys, {
        **keys,
        "EntityType": {"S": "Blob"},
        "name": {"S": "a"},
        "data": {"B": text},
        "parts": {"BS": [text]},
        "sizes": sizes,
    }


def test_lambda_writes_binary_values_in_base64():
    """B and BS of a Lambda event are base64, and become bytes; numbers may come as JSON numbers."""
    keys, image = lambda_image()
    (change,) = files.decode_stream(json.dumps(event(record("insert", keys, new=image))))
    assert change.new == Blob(name="a", data=b"\0\xff", parts={b"\0\xff"}, sizes=[1, 2])


def test_the_streams_api_brings_bytes():
    """The client of botocore has decoded binary values already."""
    keys, image = lambda_image()
    image = {**image, "data": {"B": b"\0\xff"}, "parts": {"BS": [b"\0\xff"]}}
    (change,) = files.decode_stream({"Records": [record("insert", keys, new=image)], "NextShardIterator": "x"})
    assert change.new.data == b"\0\xff"


def test_powertools_brings_plain_values():
    """Plain dicts with Decimal and sets are read alike; binary values may be base64 text there."""
    keys = {"PK": "BLOB#a", "SK": "META"}
    text = base64.b64encode(b"\0\xff").decode()
    image = {
        **keys,
        "EntityType": "Blob",
        "name": "a",
        "data": text,
        "parts": {b"1"},
        "sizes": [Decimal(1), Decimal(2)],
    }
    (change,) = files.decode_stream(record("insert", keys, new=image))
    assert change.new == Blob(name="a", data=b"\0\xff", parts={b"1"}, sizes=[1, 2])
    assert change.key == Blob.key(name="a")


def test_a_plain_binary_key_is_made_binary():
    """A table with a binary key has it as bytes, also where a parser left base64 text."""
    table = Table("hashes", pk="hash", sk=None, key_types={"hash": "B"})
    text = base64.b64encode(b"\0\xff").decode()
    (change,) = table.decode_stream(record("insert", {"hash": text}, new={"hash": text, "size": 3}))
    assert change.keys == {"hash": {"B": b"\0\xff"}}
    assert change.new == {"hash": {"B": b"\0\xff"}, "size": {"N": "3"}}


@pytest.mark.parametrize("shape", [lambda r: r, lambda r: [r], lambda r: (r,), event, lambda r: json.dumps(event(r))])
def test_an_event_a_record_and_records_are_taken(shape):
    """One record, several, an event, and the text of one say the same."""
    assert decode(shape(record("insert", KEYS, new=MEMBER))).new == Member.from_item(MEMBER)


def test_a_byte_order_mark_is_no_matter():
    """A text that begins with a byte order mark is read."""
    text = json.dumps(event(record("insert", KEYS, new=MEMBER)))
    assert decode(b"\xef\xbb\xbf" + text.encode()).new == decode("\ufeff" + text).new


@pytest.mark.parametrize(
    "wrong",
    [
        42,
        "{",
        [42],
        {"Records": "x"},
        {"DDBStreamBatchInfo": {}},
        {"eventName": "INSERT"},
        record("insert", {"Id": {"N": "1"}}),
        {**record("insert", KEYS), "eventName": "UPDATE"},
        record("insert", KEYS, new={"data": {"B": "no base64!"}}),
        record("insert", KEYS, new={"data": {"Q": "x"}}),
        record("insert", KEYS, new={"data": {"S": 1}}),
        record("insert", KEYS, change={"ApproximateCreationDateTime": "yesterday"}),
    ],
)
def test_what_is_no_record_is_refused(wrong):
    """What does not have a record's shape, or another table's keys, is refused without quoting what it holds."""
    with pytest.raises(InvalidStreamRecord) as caught:
        workspace_app.decode_stream(wrong)
    assert "no base64!" not in str(caught.value)


def test_a_refused_record_is_named():
    """The error says which record it was."""
    wrong = record("insert", {"Id": {"N": "1"}})
    with pytest.raises(InvalidStreamRecord, match="PK, SK are wanted and Id came") as caught:
        workspace_app.decode_stream(wrong)
    assert caught.value.event_id == wrong["eventID"]
    assert caught.value.sequence_number == wrong["dynamodb"]["SequenceNumber"]


def test_a_change_shows_no_values():
    """The repr of a change can be logged."""
    assert "reader" not in repr(decode(record("insert", KEYS, new=MEMBER)))


# A real stream


def read_stream(engine, table, wanted):
    """Records of a table's stream by the streams API."""
    import botocore.session

    options = engine.connect_options()
    client = botocore.session.get_session().create_client(
        "dynamodbstreams",
        region_name=options["region"],
        endpoint_url=options["endpoint_url"],
        aws_access_key_id=options.get("aws_access_key_id"),
        aws_secret_access_key=options.get("aws_secret_access_key"),
    )
    arn = table.describe_table()["LatestStreamArn"]
    shards = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    found = []
    deadline = time.monotonic() + 10
    while len(found) < wanted and time.monotonic() < deadline:
        found = []
        for shard in shards:
            start = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = client.get_shard_iterator(**start)["ShardIterator"]
            found += client.get_records(ShardIterator=iterator)["Records"]
    return found


@pytest.mark.streams
def test_a_real_stream_end_to_end(engine, table_name, recorder):
    """What was written to a table comes back from its stream as the same entities."""
    options = engine.connect_options()
    with workspace_app.bound(name=table_name, **options):
        workspace_app.create_table(stream="NEW_AND_OLD_IMAGES")
        doc = Document(workspace_id="acme", doc_id="d1", title="Spec", tags={"x"}).create()
        first = Document.from_item(doc.to_item())
        doc.title = "Spec 2"
        doc.save()
        doc.delete()
        Workspace(workspace_id="acme", name="Acme").create()
        changes = workspace_app.decode_stream(read_stream(engine, workspace_app, 4))
        workspace_app.delete_table()
    assert [(change.kind, change.entity) for change in changes] == [
        ("insert", Document),
        ("modify", Document),
        ("remove", Document),
        ("insert", Workspace),
    ]
    assert (changes[0].old, changes[0].new) == (None, first)
    assert [changes[1].old.title, changes[1].new.title] == ["Spec", "Spec 2"]
    assert changes[2].new is None
    assert all(change.sequence_number for change in changes)
