"""The keys of guard rows: one for each value, and never one for two."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tablekit import DefinitionError, Entity, Field, Table, field, unique
from tablekit.definition.uniques import guard_keys
from tests.support.many_models import Page, User

EMAIL = User.__schema__.uniques[0]
SLUG = Page.__schema__.uniques[0]

texts = st.text(st.characters(codec="utf-8"), max_size=6) | st.text("#%=S/25", max_size=6)


def key_of(unique_, *values, schema=None):
    """The key of a value's guard row."""
    (key,) = guard_keys(schema or (User if unique_ is EMAIL else Page).__schema__, unique_, values)
    return key


def test_a_guard_key_can_be_read():
    """Type, name and value stand in it."""
    assert key_of(EMAIL, {"S": "a@x.org"}) == {"PK": {"S": "UNIQUE#User#email#S=a@x.org"}, "SK": {"S": "UNIQUE"}}


@given(st.lists(texts, min_size=2, max_size=2), st.lists(texts, min_size=2, max_size=2))
@settings(max_examples=200)
def test_two_values_never_share_a_guard(one, other):
    """Separators and escapes inside the values change nothing: ("a#b", "c") is not ("a", "b#c")."""
    assume(one != other)
    assert key_of(SLUG, *({"S": text} for text in one)) != key_of(SLUG, *({"S": text} for text in other))


@pytest.mark.parametrize(
    ("one", "other"), [({"S": "1"}, {"N": "1"}), ({"S": "true"}, {"BOOL": True}), ({"B": b"a"}, {"S": "YQ=="})]
)
def test_values_of_two_types_are_two_values(one, other):
    """The wire type stands in the key."""
    assert key_of(EMAIL, one) != key_of(EMAIL, other)


@pytest.mark.parametrize(("one", "other"), [("1", "1.00"), ("100", "1E+2"), ("0", "-0"), ("0.10", "1e-1")])
def test_a_number_has_one_guard_in_every_spelling(one, other):
    """DynamoDB takes them for equal, and so does the guard."""
    assert key_of(EMAIL, {"N": one}) == key_of(EMAIL, {"N": other})


def test_numbers_of_38_digits_are_told_apart():
    """No digit is rounded away."""
    number = Decimal(12345678901234567890123456789012345678)
    assert key_of(EMAIL, {"N": str(number)}) != key_of(EMAIL, {"N": str(int(number) + 1)})


def test_a_long_value_stands_as_its_digest():
    """A partition key takes 2048 bytes."""
    key = key_of(EMAIL, {"S": "ü" * 5000})
    assert len(key["PK"]["S"]) < 200
    assert key != key_of(EMAIL, {"S": "ü" * 5001})


def test_a_secret_value_stands_as_its_digest():
    """Keys are shown in errors and logs."""
    table = Table("secrets")

    class Card(Entity, table=table, pk="CARD#{card_id}", sk="CARD"):
        card_id: Field[str]
        number: Field[str] = field(unique=True, secret=True)

    schema = Card.__schema__
    assert "4242" not in str(key_of(schema.uniques[0], {"S": "4242"}, schema=schema))


def test_a_value_is_unique_among_subclasses_too():
    """A subclass inherits the unique value, and its rows compete with the base's."""
    table = Table("family")

    class Person(Entity, table=table, pk="P#{person_id}", sk="P"):
        person_id: Field[str]
        email: Field[str] = field(unique=True)

    class Employee(Person, table=table):
        office: Field[str] = ""

    one, other = (key_of(cls.__schema__.uniques[0], {"S": "a"}, schema=cls.__schema__) for cls in (Person, Employee))
    assert one == other


def test_an_alias_has_a_guard_key_of_its_own():
    """Guards that were written under an old spelling of the type are still looked at."""
    table = Table("renamed")

    class Client(Entity, table=table, pk="C#{client_id}", sk="C", aliases=("Customer",)):
        client_id: Field[str]
        email: Field[str] = field(unique=True)

    schema = Client.__schema__
    keys = [key["PK"]["S"] for key in guard_keys(schema, schema.uniques[0], [{"S": "a"}])]
    assert keys == ["UNIQUE#Client#email#S=a", "UNIQUE#Customer#email#S=a"]


@pytest.mark.parametrize(("annotation", "tag"), [(int, "N"), (bytes, "B")])
def test_a_table_with_keys_that_are_no_text_is_refused(annotation, tag):
    """The guard row needs a text key; the error says what to do."""
    table = Table("numbers", pk="id", sk=None)
    with pytest.raises(DefinitionError, match=rf"is of type {tag}.*text in the template"):

        class Thing(Entity, table=table, pk="{thing_id}"):
            thing_id: Field[annotation] = field(name="id")
            email: Field[str] = field(unique=True)


@pytest.mark.parametrize("annotation", [list[str], set[str], dict[str, int]])
def test_a_unique_value_is_a_scalar(annotation):
    """Containers are refused when the class is made."""
    with pytest.raises(DefinitionError, match="scalar"):

        class Thing(Entity, table=Table("things"), pk="T#{thing_id}", sk="T"):
            thing_id: Field[UUID]
            codes: Field[annotation] = field(unique=True)


def test_a_compound_names_fields_that_are_there():
    """A misspelt name is refused when the class is made."""
    with pytest.raises(DefinitionError, match="slgu"):

        class Thing(Entity, table=Table("things"), pk="T#{thing_id}", sk="T"):
            thing_id: Field[str]
            slug: Field[str]
            both = unique("thing_id", "slgu")


def test_the_type_of_guard_rows_is_no_entitys():
    """A class cannot take it."""
    with pytest.raises(DefinitionError, match="unique"):

        class Thing(Entity, table=Table("things"), pk="T#{thing_id}", sk="T", type="tablekit:unique"):
            thing_id: Field[str]
