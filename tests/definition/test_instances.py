"""Instances: setting, comparing, showing, copying, and what a partial one refuses."""

from __future__ import annotations

import copy
import dataclasses
import functools
import logging
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pytest

from tablekit import (
    DecodeError,
    EncodeError,
    Entity,
    Field,
    NotLoaded,
    RequestError,
    Table,
    created_at,
    field,
    ttl,
    version,
)
from tablekit.definition.entity import BASE, EXTRA
from tablekit.wire.items import decode_partial


@attrs.define
class Part:
    """A nested class that can be changed."""

    tags: list[str] = attrs.field(factory=list)


def shouted(entity: Any, attribute: Any, value: Any) -> None:
    """A validator that wants capitals."""
    if value != value.upper():
        raise ValueError(f"{type(entity).__name__}.{attribute.name} is not shouted")


class Row(Entity, table=Table("t"), pk="P#{a}", sk="S"):
    """A class with one of each that matters here."""

    a: Field[str]
    loud: Field[str] = field(default="A", validator=shouted)
    parts: Field[list[Part]] = field(factory=list)
    secret: Field[str] = field(default="hush-1", secret=True)
    expires_at: Field[datetime | None] = ttl(default=None)
    revision = version()
    made_at = created_at()

    @property
    def short(self) -> str:
        """A property with a setter of the user's own."""
        return self.a[:1]

    @short.setter
    def short(self, value: str) -> None:
        self.a = value

    @functools.cached_property
    def size(self) -> int:
        """Computed once for an object."""
        return len(self.a)


class Sub(Row):
    """A subclass, which inherits what is secret."""


def loaded(**values: Any) -> Row:
    """An entity as it would be read."""
    return Row.from_item({**Row(**{"a": "x"} | values).to_item(), "unknown": {"N": "1"}})


def test_arguments_are_keywords_of_the_user_s_fields() -> None:
    """Managed fields, unknown names and positions are no arguments."""
    for wrong in ({"a": "x", "revision": 3}, {"a": "x", "b": 1}, {}):
        with pytest.raises(TypeError):
            Row(**wrong)


def test_factories_run_for_each_instance() -> None:
    """R08: what one instance changes, another does not see, at every depth."""
    one, two = Row(a="1"), Row(a="2")
    one.parts.append(Part(["x"]))
    assert two.parts == []
    assert Row(a="3").parts == []


@pytest.mark.parametrize("make", [lambda: Row(a="x", loud="quiet"), lambda: setattr(Row(a="x"), "loud", "quiet")])
def test_validators_run_when_user_code_sets_a_field(make: Any) -> None:
    """Both the constructor and an assignment ask them."""
    with pytest.raises(ValueError, match=r"Row\.loud is not shouted"):
        make()


def test_validators_do_not_run_on_rows_that_are_read() -> None:
    """A stored value that a newer rule would refuse can be read and mended."""
    item = {**Row(a="x").to_item(), "loud": {"S": "quiet"}}
    assert Row.from_item(item).loud == "quiet"


@pytest.mark.parametrize("name", ["revision", "made_at"])
def test_managed_fields_are_not_set(name: str) -> None:
    """They are tablekit's to keep."""
    with pytest.raises(RequestError, match=rf"Row\.{name} is kept by tablekit"):
        setattr(Row(a="x"), name, 3)


def test_unknown_names_are_not_set() -> None:
    """A typo is told, with the name that was meant."""
    with pytest.raises(AttributeError, match=r"Row has no field 'secrt'\. Did you mean 'secret'"):
        Row(a="x").secrt = 1  # type: ignore[attr-defined]


def test_the_type_is_not_set_by_hand() -> None:
    """Rule 2: it is a class option, and stamped by every write."""
    with pytest.raises(AttributeError, match=r"entity_type is the stored type.*type=\"\.\.\.\""):
        Row(a="x").entity_type = "Other"  # type: ignore[misc]


def test_private_attributes_and_properties_are_the_user_s() -> None:
    """They are no fields, and are neither stored nor compared."""
    row = Row(a="x")
    row._note = "mine"
    row.short = "y"
    assert (row.a, row == Row(a="y")) == ("y", True)
    del row._note
    with pytest.raises(AttributeError, match=r"Row\.a cannot be deleted"):
        del row.a


def test_a_time_to_live_takes_what_people_say() -> None:
    """A timedelta from now, epoch seconds, or an aware datetime; all read as aware datetimes of whole seconds."""
    row = Row(a="x", expires_at=1_700_000_000)  # type: ignore[arg-type]
    assert row.expires_at == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    row.expires_at = timedelta(hours=1)  # type: ignore[assignment]
    assert row.expires_at is not None
    assert row.expires_at.microsecond == 0
    with pytest.raises(EncodeError, match=r"Row\.expires_at: .*aware"):
        row.expires_at = datetime(2030, 1, 1)  # noqa: DTZ001


def test_entities_are_equal_by_class_and_fields() -> None:
    """Loaded or new, with unknown attributes or without."""
    row = loaded()
    assert row == Row.from_item(row.to_item())
    assert Row(a="x") == Row(a="x") != Row(a="y")
    assert Row(a="x") != Sub(a="x")
    assert Row(a="x") != "x"


def test_entities_are_not_hashable() -> None:
    """They can change; their keys can be kept in sets."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row(a="x"))
    assert len({Row.key(a="x"), Row.key(a="x")}) == 1


@pytest.mark.parametrize("entity", [Row(a="x"), Sub(a="x"), loaded()], ids=["new", "subclass", "loaded"])
def test_secrets_are_not_shown(entity: Row, caplog: pytest.LogCaptureFixture) -> None:
    """R61: neither repr, str, f-string nor a log, in a container or alone."""
    logging.getLogger("test").warning("%s %r", entity, [entity])
    shown = [repr(entity), str(entity), f"{entity!s}", repr({"row": [entity]}), caplog.text]
    shown.append(str(dict(entity.__rich_repr__())))
    assert not [text for text in shown if "hush" in text]
    assert "secret=***" in repr(entity)


def test_a_secret_that_cannot_be_read_is_not_shown() -> None:
    """R61: the decode error names field and attribute, and no part of the chain holds the value."""
    item = {**Row(a="x").to_item(), "secret": {"N": "4711"}}
    with pytest.raises(DecodeError, match=r"Row\.secret \(attribute 'secret'\) of the row PK='P#x' SK='S'") as caught:
        Row.from_item(item)
    assert "4711" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda row: pickle.loads(pickle.dumps(row))])
def test_a_copy_is_equal_and_keeps_what_was_loaded(twin: Any) -> None:
    """Copying and pickling keep the loaded image and unknown attributes."""
    row = loaded(parts=[Part(["x"])])
    row.loud = "B"
    other = twin(row)
    assert other == row
    assert other.__dict__.keys() == row.__dict__.keys()
    assert other.__dict__[EXTRA] == {"unknown": {"N": "1"}}


def test_replace_gives_a_changed_copy_that_shares_nothing() -> None:
    """Version, image and unknown attributes stay; values are copied at every depth; computed ones are dropped."""
    row = loaded(parts=[Part(["x"])])
    assert row.size == 1
    other = row.replace(a="yy", loud="B")
    other.parts[0].tags.append("y")
    assert (row.a, row.loud, row.parts) == ("x", "A", [Part(["x"])])
    assert (other.revision, other.size) == (row.revision, 2)
    assert other.__dict__[BASE] == row.__dict__[BASE]
    with pytest.raises(AttributeError, match="has no field 'b'"):
        row.replace(b=1)
    with pytest.raises(ValueError, match="not shouted"):
        row.replace(loud="quiet")


def test_a_new_entity_has_no_times_yet() -> None:
    """The version begins at 0; what the first write sets is not loaded before it."""
    row = Row(a="x")
    assert row.revision == 0
    with pytest.raises(NotLoaded, match=r"Row\.made_at is not loaded: it is set by the first write"):
        _ = row.made_at


def test_a_partial_entity_knows_what_it_has() -> None:
    """A field that a projection did not bring is NotLoaded, which is no AttributeError."""
    row = decode_partial(Row.__schema__, {"PK": {"S": "P#x"}, "SK": {"S": "S"}, "loud": {"S": "A"}}, ["loud"])
    assert (row.a, row.loud) == ("x", "A")
    for name in ("secret", "parts", "revision", "made_at"):
        with pytest.raises(NotLoaded, match=rf"Row\.{name} is not loaded: .*refresh\(\)"):
            getattr(row, name)
    assert repr(row) == "Row(a='x', loud='A')"
    with pytest.raises(RequestError, match="was loaded in part"):
        row.to_item()


def test_a_class_with_fields_in_the_order_of_its_body_matches() -> None:
    """Class patterns work by keyword."""
    match loaded():
        case Row(a=a, loud="A"):
            assert a == "x"
        case _:
            pytest.fail("the pattern did not match")


def test_an_entity_with_scalar_fields_keeps_no_image() -> None:
    """A loaded entity is its fields and one empty tuple."""

    class Plain(Entity, table=Table("t"), pk="P#{a}", sk="S"):
        a: Field[str]
        n: Field[int]

    row = Plain.from_item(Plain(a="x", n=1).to_item())
    assert row.__dict__ == {"a": "x", "n": 1, BASE: ()}


def test_a_dataclass_decorator_shows_no_secret() -> None:
    """R61: an entity that is decorated as a dataclass by mistake keeps its own repr, equality and __init__."""

    @dataclasses.dataclass
    class Login(Entity, table=Table("t"), pk="LOGIN#{name}", sk="LOGIN"):
        name: Field[str]
        password: Field[str] = field(default="", secret=True)  # noqa: RUF009

    login = Login(name="ann", password="hunter2")
    assert repr(login) == "Login(name='ann', password=***)"
    assert login == Login(name="ann", password="hunter2")
    assert Login.__hash__ is None
