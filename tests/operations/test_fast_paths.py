"""The quick ways equal the careful ones: rows of batches, ranges of keys, images of streams, values."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tablekit import Entity, Field, Table, created_at, field, updated_at, version
from tablekit.codecs.codegen import Names, compile_function
from tablekit.codecs.resolve import codec_for
from tablekit.errors import KeyChanged, PartialEntity
from tablekit.operations.batch_rows import put_row
from tablekit.operations.put import plan_put
from tablekit.operations.queryplan import plan_query
from tablekit.operations.streams import _usual, _wire

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.timezone.utc)
app = Table("fast")


class Doc(Entity, table=app, pk="WS#{ws}", sk="DOC#{doc}"):
    """A versioned entity with mutable fields and a secret."""

    ws: Field[str]
    doc: Field[str]
    tags: Field[list[str]] = field(factory=list)
    meta: Field[dict[str, int]] = field(factory=dict)
    token: Field[str | None] = field(default=None, secret=True)
    revision = version(marker=False)
    made_at = created_at()
    changed_at = updated_at()


class Note(Entity, table=app, pk="WS#{ws}", sk="DOC#{doc}#N#{note}"):
    """Another one below it."""

    ws: Field[str]
    doc: Field[str]
    note: Field[str]


NAMES = st.text("abc-", min_size=1, max_size=3)
DOCS = st.builds(
    Doc,
    ws=NAMES,
    doc=NAMES,
    tags=st.lists(st.text(max_size=3), max_size=3),
    meta=st.dictionaries(st.text(min_size=1, max_size=3), st.integers(-(10**37), 10**37), max_size=3),
    token=st.none() | st.text(max_size=3),
)


@settings(max_examples=60)
@given(DOCS, st.booleans(), st.booleans())
def test_a_row_of_a_batch_is_a_put_without_its_guard(doc: Doc, loaded: bool, later: bool) -> None:
    """The same item, and the same entity afterwards, changes that were made meanwhile included."""
    if loaded:
        doc = Doc.from_item({**doc.to_item(), "unknown": {"S": "kept"}, "revision": {"N": "4"}})
    twin = copy.deepcopy(doc)
    row, plan = put_row(doc, NOW), plan_put(twin, NOW, guard=False)
    assert row.wire == {"PutRequest": {"Item": plan.request.body["Item"]}}
    assert row.secrets == plan.request.secrets
    if later:
        for each in (doc, twin):
            each.tags.append("later")
            each.token = "later"
    row.apply({})
    plan.apply({})
    assert doc.__dict__ == twin.__dict__


def test_a_row_of_a_batch_refuses_what_a_put_refuses() -> None:
    """A key that was changed, and an entity that was loaded in part."""
    doc = Doc.from_item(Doc(ws="a", doc="b").to_item())
    doc.doc = "c"
    with pytest.raises(KeyChanged):
        put_row(doc, NOW)
    part = Doc.from_item(Doc(ws="a", doc="b").to_item())
    part.__dict__["_tk_partial"] = frozenset({"ws"})
    with pytest.raises(PartialEntity):
        put_row(part, NOW)


KEYS = st.builds("".join, st.lists(st.sampled_from(["DOC#", "#N#", "a", "b", "#", "META", "D"]), max_size=5))


@settings(max_examples=200)
@given(KEYS, st.sampled_from([Doc, Note, None]), st.sampled_from([{}, {"doc": "a"}]))
def test_the_quick_test_of_a_range_is_the_careful_one(text: str, cls: Any, parts: dict[str, str]) -> None:
    """For any sort key, of any class of the query."""
    plan = plan_query(app.query(Doc, Note, ws="w", **parts)._spec, NOW)
    item = {"PK": {"S": "WS#w"}, "SK": {"S": text}}
    schema = None if cls is None else cls.__schema__
    assert plan._acceptor()(schema, item) == plan._accept(schema, item)


SCALARS = st.sampled_from(
    [
        {"S": "a"},
        {"N": "1"},
        {"N": 1},
        {"BOOL": True},
        {"NULL": True},
        {"B": "AAE="},
        {"SS": ["b", "a"]},
        {"S": 1},
        {},
        7,
    ]
)
IMAGES = st.recursive(
    SCALARS,
    lambda inner: (
        st.builds(lambda values: {"L": values}, st.lists(inner, max_size=3))
        | st.builds(lambda values: {"M": values}, st.dictionaries(st.text(max_size=2), inner, max_size=3))
    ),
    max_leaves=6,
)


@given(IMAGES)
def test_a_usual_value_of_an_image_reads_as_the_careful_way_reads_it(value: Any) -> None:
    """What the quick way takes, the careful way reads alike; what it refuses is for the careful way."""
    try:
        quick = _usual(value)
    except ValueError:
        assume(False)
    assert quick == _wire(value)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=3),
    st.binary(max_size=3),
    st.datetimes(timezones=st.none() | st.just(dt.timezone.utc) | st.just(dt.timezone(dt.timedelta(hours=2)))),
    st.lists(st.integers() | st.text(max_size=2), max_size=3),
    st.dictionaries(
        st.text(st.characters(), max_size=2) | st.integers(), st.integers() | st.text(max_size=2), max_size=3
    ),
    st.sets(st.text(max_size=2), max_size=2),
    st.lists(st.sets(st.text(max_size=2), max_size=2), max_size=2),
)
TYPES = [str, int, dt.datetime, list[str], list[int], dict[str, int], dict[str, str], dict[int, str], list[set[str]]]
TYPES += [tuple[str, ...], dict[str, list[int]], str | None, list[str | None]]


def outcome(encode: Any, value: Any) -> Any:
    """The attribute value, or that it was refused."""
    try:
        return encode(value)
    except Exception:
        return "refused"


@pytest.mark.parametrize("kind", TYPES, ids=str)
@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_generated_encoders_take_and_refuse_what_their_codecs_do(kind: Any, value: Any) -> None:
    """For values of the type and of every other one."""
    codec = codec_for(kind)
    names = Names()
    source = f"def encode(value):\n    return {codec.encode_source('value', names.bind)}\n"
    generated = compile_function("encode", source, names.namespace)
    assert outcome(generated, value) == outcome(codec.encode, value)
