"""No text of a caller reaches an expression: it is a value or a name behind a placeholder, or it is refused."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablekit import Entity, Field, RequestError, Table, field
from tests.fuzz.targets import FixedPort

app = Table("injected", pk="PK", sk="SK")
app.connect(port=FixedPort({}))  # type: ignore[arg-type]


class Note(Entity, table=app, pk="NOTE#{note_id}", sk="AT#{place}"):
    """A row with an attribute of every kind that a text can reach, one of them under a stored name full of syntax."""

    note_id: Field[str]
    place: Field[str]
    text: Field[str] = field(default="")
    words: Field[list[str]] = field(factory=list)
    marks: Field[dict[str, str]] = field(factory=dict)
    free: Field[Any] = field(default=None)
    odd: Field[str] = field(default="", name="odd = :x OR attribute_exists(PK) --")


SYNTAX = [
    *("a = :a", "x OR 1 = 1", "x) OR (attribute_exists(PK)", "#PK", ":v", "a.b", "a[0]", "REMOVE PK", "SET x = :y"),
    *("' OR ''='", '"; DROP', "size(PK)", "NOT", "begins_with(SK, :x)", "\n", "\x00", "é\u202e", "${x}", "{0}", "%s"),
]
texts = st.sampled_from(SYNTAX) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)

TOKEN = re.compile(r"[#:][A-Za-z0-9_]+|[A-Za-z_]+|[0-9]+|<>|<=|>=|[\s=<>(),.+\-\[\]]")
WORDS = {
    *("SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN", "if_not_exists", "list_append", "size"),
    *("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"),
}
EXPRESSIONS = tuple(f"{word}Expression" for word in ("Update", "Condition", "Filter", "KeyCondition", "Projection"))


def check(wire: dict[str, Any]) -> None:
    """Every expression is made of the language's own words, list indexes, and placeholders that are given."""
    names, values = wire.get("ExpressionAttributeNames", {}), wire.get("ExpressionAttributeValues", {})
    used: set[str] = set()
    for text in filter(None, map(wire.get, EXPRESSIONS)):
        tokens = TOKEN.findall(text)
        assert "".join(tokens) == text
        found = {token for token in tokens if token[0] in string.ascii_letters}
        assert found <= WORDS
        used |= {token for token in tokens if token[0] in "#:"}
    assert used == {*names, *values}


def planned(call: Any) -> list[dict[str, Any]]:
    """The requests that a call would send, or none where it is refused."""
    with app.dry_run() as plan:
        try:
            call()
        except RequestError:
            return []
    return [request.to_wire() for request in plan.requests]


@given(text=texts, other=texts)
def test_texts_in_writes_are_values_or_names(text: str, other: str) -> None:
    """Values of fields, of lists and of free data, keys of maps, and what a condition compares with."""
    key = Note.key(note_id="1", place="p")
    calls = [
        lambda: Note(note_id="1", place="p", text=text, words=[text], marks={text: other}, free={text: [other]}).put(),
        lambda: key.update(Note.text.set(text), Note.marks[text].set(other), Note.words.append([text])),
        lambda: key.update(Note.free[text][other].set(text), Note.free["x"][text].remove()),
        lambda: key.update(Note.odd.set(text), condition=(Note.marks[text] == other) | Note.odd.is_in([text, other])),
        lambda: key.update(
            Note.text.set(other), condition=Note.text.between(text, other) & ~Note.text.begins_with(text)
        ),
        lambda: key.delete(condition=Note.text.contains(text) & Note.free[text].exists()),
    ]
    for call in calls:
        for wire in planned(call):
            check(wire)


@given(text=texts, other=texts)
def test_texts_in_queries_are_values_or_names(text: str, other: str) -> None:
    """Key parts, ranges, filters and raw keys."""
    queries = [
        lambda: app.query(Note, note_id=text).begins_with(place=other),
        lambda: app.query(Note, note_id=text).between(place=(text, other)).where(Note.marks[text] == other),
        lambda: app.query(pk=text).where(Note.odd == text),
        lambda: app.query(Note, note_id="1").select(Note.odd, Note.text).where(Note.text > text),
    ]
    for query in queries:
        try:
            wire = query().explain().request
        except RequestError:
            continue
        check(wire)


@pytest.mark.parametrize("text", [*SYNTAX, "x#y", "1#AT#2"])
def test_no_key_part_ends_up_in_another(text: str) -> None:
    """A part either gives a key that parses back to it, or is refused: it cannot name another row."""
    try:
        key = Note.key(note_id=text, place=text)
    except RequestError:
        return
    assert Note.key(note_id=text, place=text).item == key.item
    spelled = Note.__schema__.spelled(key.item)
    assert spelled == {"note_id": text, "place": text}


@pytest.mark.parametrize("text", SYNTAX)
def test_names_of_fields_are_never_taken_from_texts(text: str) -> None:
    """A field is given by its column or by a keyword; a text in its place is refused, not looked up."""
    key = Note.key(note_id="1", place="p")
    for call in (
        lambda: key.update(text),
        lambda: key.update(**{text: "x"}),
        lambda: key.update(Note.text.set("x"), condition=text),
        lambda: app.query(Note, **{text: "x"}).explain(),
        lambda: app.query(Note, note_id="1").where(text).explain(),
        lambda: app.query(Note, note_id="1").select(text).explain(),
        lambda: app.query(Note, note_id="1").between(**{text: ("a", "b")}).explain(),
        lambda: Note(note_id="1", place="p", **{text: "x"}),
    ):
        with pytest.raises((RequestError, TypeError)):
            call()
