"""Published stream events: each decodes, or is refused by the documented error.

The files lie where ``TABLEKIT_PUBLISHED_DATA`` says, outside of the repository; ``.ci/run`` says it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tablekit import Entity, Field, InvalidStreamRecord, RawItem, Table, field

FOLDER = os.environ.get("TABLEKIT_PUBLISHED_DATA")
FILES = sorted(Path(FOLDER, "stream_events").rglob("*.json")) if FOLDER else []
REFUSED = {
    "dynamo-dlq-message.json": "on-failure destination",
    "dynamodb-event-malformed.2.json": "no JSON",
}


def table_of(path):
    """A table with the keys of a file's records."""
    event = json.loads(path.read_text(encoding="utf-8-sig"))
    keys = event.get("Records", [event])[0]["dynamodb"]["Keys"]
    pk, sk = (*keys, None)[:2]
    types = {name: next(iter(value)) for name, value in keys.items()}
    return Table("published", pk=pk, sk=sk, key_types=types), event


def each(chosen):
    """The parameters for some files; a skip that says why where there are none to be had."""
    unset = pytest.param(None, marks=pytest.mark.skip(reason="TABLEKIT_PUBLISHED_DATA is not set"))
    found = [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in FILES if chosen(path)]
    return pytest.mark.parametrize("path", found or ([] if FOLDER else [unset]))


def test_the_folder_that_is_named_holds_events():
    """A variable that points to nowhere is no reason to test nothing."""
    assert FILES or not FOLDER


@each(lambda path: path.name not in REFUSED)
def test_a_published_event_decodes(path):
    """Every record becomes a change with the keys, the images and the number that it came with."""
    table, event = table_of(path)
    records = event.get("Records", [event])
    changes = table.decode_stream(path.read_bytes())
    assert len(changes) == len(records)
    for record, change in zip(records, changes):
        given = record["dynamodb"]
        assert set(change.keys) == set(given["Keys"])
        assert change.sequence_number == given.get("SequenceNumber")
        assert (change.new is None, change.old is None) == ("NewImage" not in given, "OldImage" not in given)
        for image in filter(None, (change.new, change.old)):
            assert isinstance(image, RawItem)
            assert all(isinstance(v["B"], bytes) for v in image.values() if "B" in v)
            assert all(isinstance(v["N"], str) for v in image.values() if "N" in v)


@each(lambda path: path.name in REFUSED)
def test_a_published_file_that_is_no_event_is_refused(path):
    """A malformed file and a dead letter say what they are."""
    with pytest.raises(InvalidStreamRecord, match=REFUSED[path.name]):
        Table("published").decode_stream(path.read_bytes())


messages = Table("messages", pk="Id", sk=None)


class Message(Entity, table=messages, pk="{id_}"):
    """What the samples of Lambda's own documentation hold."""

    id_: Field[int] = field(name="Id")
    message: Field[str] = field(name="Message", default="")


@each(lambda path: path.name == "dynamodb-time-window-event.json")
def test_a_published_event_gives_entities(path):
    """Rows without a type are told by their key, a number here, and come as entities."""
    inserted, modified, removed = messages.decode_stream(path.read_bytes(), untyped="infer")
    assert inserted.new == modified.old == Message(id_=101, message="New item!")
    assert modified.new == removed.old == Message(id_=101, message="This item has changed")
    assert removed.key == Message.key(id_=101)
