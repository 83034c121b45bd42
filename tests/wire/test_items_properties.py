"""Laws of items over entity classes and values that nobody thought of."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import uuid
from decimal import Decimal
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tablekit import Entity, Field, Table, created_at, field, version
from tablekit.definition.entity import schema_of
from tablekit.wire.items import decode_carefully, decode_partial, decoder

SERIAL = itertools.count()
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False, places=3)
TIMES = st.datetimes(dt.datetime(1970, 1, 3), timezones=st.just(dt.timezone.utc))  # noqa: DTZ001  hypothesis adds it
FREE = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXT | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT.filter(bool), inner, max_size=3),
    max_leaves=6,
)
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, st.integers(-(10**37), 10**37)),
    (Decimal, NUMBERS),
    (bool, st.booleans()),
    (bytes, st.binary(max_size=8)),
    (uuid.UUID, st.uuids()),
    (dt.datetime, TIMES),
    (dt.date, st.dates()),
    (list[str], st.lists(TEXT, max_size=3)),
    (dict[str, int], st.dictionaries(TEXT.filter(bool), st.integers(-9, 9), max_size=3)),
    (tuple[int, str], st.tuples(st.integers(-9, 9), TEXT)),
    (set[str], st.sets(TEXT, max_size=3)),
    (frozenset[int], st.frozensets(st.integers(-9, 9), max_size=3)),
    (str | None, st.none() | TEXT),
    (list[int] | None, st.none() | st.lists(st.integers(-9, 9), max_size=3)),
    (Any, FREE),
]


@st.composite
def classes(draw: st.DrawFn) -> tuple[type[Any], dict[str, st.SearchStrategy[Any]]]:
    """An entity class of up to six fields, and what its arguments may be."""
    body: dict[str, Any] = {"__annotations__": {"key_": Field[str]}, "__module__": __name__}
    values: dict[str, st.SearchStrategy[Any]] = {"key_": TEXT.filter(lambda text: bool(text) and "#" not in text)}
    for number, index in enumerate(draw(st.lists(st.integers(0, len(KINDS) - 1), max_size=6))):
        kind, strategy = KINDS[index]
        name = f"f{number}"
        body["__annotations__"][name] = Field[kind]
        stored = draw(st.sampled_from([None, f"st.{number}", f"sp {number}"]))
        if draw(st.booleans()):
            body[name] = field(name=stored, default=None) if "None" in str(kind) else field(name=stored)
        values[name] = strategy
    if draw(st.booleans()):
        body |= {"revision": version(), "made_at": created_at()}
    name = f"Drawn{next(SERIAL)}"
    cls = type(Entity)(name, (Entity,), body, table=Table("t"), pk="P#{key_}", sk="S")
    return cls, values


@st.composite
def entities(draw: st.DrawFn) -> Any:
    """A new entity of a drawn class."""
    cls, values = draw(classes())
    return cls(**{name: draw(strategy) for name, strategy in values.items()})


@settings(max_examples=120)
@given(entities())
def test_an_entity_reads_back_as_it_was_written(entity: Any) -> None:
    """Decoding the item gives an equal entity, whose item is the same."""
    item = entity.to_item()
    read = type(entity).from_item(item)
    assert {name: getattr(read, name) for name in schema_of(entity).by_name if name[0] in "fk"} == {
        name: value for name, value in entity.__dict__.items() if name[0] in "fk"
    }
    assert read.to_item() == item


@settings(max_examples=120)
@given(entities(), st.dictionaries(st.sampled_from(["later", "x.y", "GSI7PK"]), st.just({"S": "v"})), st.booleans())
def test_both_decoders_remember_the_same(entity: Any, unknown: dict[str, Any], foreign: bool) -> None:
    """The generated decoder and the careful one agree on every row, foreign keys and unknown attributes included."""
    item = {**entity.to_item(), **unknown}
    if foreign:
        item["PK"] = {"S": "elsewhere"}
    schema = schema_of(entity)
    assert decoder(schema)(item).__dict__ == decode_carefully(schema, item).__dict__


@settings(max_examples=60)
@given(entities())
def test_a_row_that_came_as_json_reads_alike(entity: Any) -> None:
    """Lists in place of sets' sorted texts, and text that went through JSON, make no difference."""
    item = entity.to_item()
    assume("B" not in {tag for value in item.values() for tag in value} and "b'" not in repr(item))
    assert type(entity).from_item(json.loads(json.dumps(item))).__dict__ == type(entity).from_item(item).__dict__


@settings(max_examples=60)
@given(st.data())
def test_a_partial_entity_holds_what_was_read(data: st.DataObject) -> None:
    """Of any projection exactly its fields are there, and those that the key spells."""
    entity = data.draw(entities())
    schema = schema_of(entity)
    item = entity.to_item()
    chosen = data.draw(st.sets(st.sampled_from([each.attribute for each in schema.fields])))
    held = {name: value for name, value in item.items() if name in chosen or name in ("PK", "SK")}
    partial = decode_partial(schema, held, chosen)
    whole = type(entity).from_item(item)
    names = {each.name for each in schema.fields if each.attribute in chosen} | {"key_"}
    assert {name for name in schema.by_name if name in partial.__dict__} == names
    assert all(getattr(partial, name) == getattr(whole, name) for name in names)


SAFE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="#"), min_size=1, max_size=12)


class Keyed(Entity, table=Table("t"), pk="WS#{left}#{right}", sk="N#{n:06d}#{at}#{id}"):
    """A key of several parts."""

    left: Field[str]
    right: Field[str]
    n: Field[int]
    at: Field[dt.datetime]
    id: Field[uuid.UUID]


class Plain(Entity, table=Table("t", pk="number", sk="raw"), pk="{number}", sk="{raw}"):
    """A key of native types."""

    number: Field[Decimal]
    raw: Field[bytes]


@settings(max_examples=100)
@given(left=SAFE, right=SAFE, n=st.integers(0, 999_999), at=TIMES, id=st.uuids())
def test_a_key_spells_the_fields_that_it_was_made_of(**values: Any) -> None:
    """R10: parsing the keys of a class back gives every field, exactly."""
    schema = schema_of(Keyed)
    key = schema.key_of(values)
    parsed = [part.match(key[part.attribute]) for part in schema.keys]
    assert {name: value for part in parsed for name, value in (part or {}).items()} == values


@settings(max_examples=100)
@given(st.tuples(SAFE, SAFE), st.tuples(SAFE, SAFE))
def test_two_rows_have_one_key_only_when_their_parts_are_equal(one: Any, other: Any) -> None:
    """R10: the keys of a class are injective."""
    rest = {"n": 1, "at": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), "id": uuid.UUID(int=1)}
    keys = [schema_of(Keyed).key_of({"left": left, "right": right, **rest}) for left, right in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


@settings(max_examples=60)
@given(NUMBERS, st.binary(min_size=1, max_size=20))
def test_native_keys_read_back(number: Decimal, raw: bytes) -> None:
    """A number and a binary value are keys as they are."""
    row = Plain(number=number, raw=raw)
    item = row.to_item()
    assert {tag for name in ("number", "raw") for tag in item[name]} == {"N", "B"}
    assert Plain.from_item(item) == row
