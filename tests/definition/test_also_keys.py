"""Rows under further keys: recognised, given their fields, and never written there anew."""

from __future__ import annotations

import pytest

from tablekit import DecodeError, DefinitionError, Entity, Field, Table, field

rooms = Table("rooms", untyped="infer")


class Room(
    Entity, table=rooms, pk="ROOM#{room}", sk="META", also_keys=(("Room#{room}", "meta"), ("R#{room}", "{kind}"))
):
    """A room, under keys of three generations; its name is in the key alone."""

    room: Field[str]
    kind: Field[str | None] = field(default=None)
    size: Field[int] = field(default=0)


def untyped(pk: str, sk: str, **more: dict[str, str]) -> dict[str, dict[str, str]]:
    """A row without a type."""
    return {"PK": {"S": pk}, "SK": {"S": sk}, **more}


@pytest.mark.parametrize(
    ("pk", "sk", "kind"), [("ROOM#a", "META", None), ("Room#a", "meta", None), ("R#a", "hall", "hall")]
)
def test_a_row_under_any_of_the_keys_is_read(pk: str, sk: str, kind: str | None) -> None:
    """The class is told by the key, and fields that only the key holds come from it."""
    room = Room.from_item(untyped(pk, sk))

    assert (room.room, room.kind) == ("a", kind)


def test_a_row_under_another_key_keeps_it() -> None:
    """A put goes where the row is, and not to a second row."""
    assert Room.from_item(untyped("Room#a", "meta")).to_item()["PK"] == {"S": "Room#a"}


def test_a_new_row_is_written_under_the_first_key() -> None:
    """The others are for reading."""
    assert Room(room="a").to_item()["PK"] == {"S": "ROOM#a"}


def test_a_stored_attribute_wins_over_the_key() -> None:
    """The key is asked only for what the row does not hold."""
    assert Room.from_item(untyped("ROOM#a", "META", room={"S": "b"})).room == "b"


def test_a_field_in_no_key_must_still_be_there() -> None:
    """What a key cannot give is missing as before."""

    class Desk(Entity, table=rooms, pk="DESK#{desk}", sk="META"):
        desk: Field[str]
        owner: Field[str]

    with pytest.raises(DecodeError, match=r"Desk\.owner"):
        Desk.from_item(untyped("DESK#1", "META"))


def test_a_wrong_value_is_not_hidden_by_the_key() -> None:
    """An attribute that is there and of another type is an error, whatever the key says."""
    with pytest.raises(DecodeError, match=r"Room\.room"):
        Room.from_item(untyped("ROOM#a", "META", room={"N": "1"}))


@pytest.mark.parametrize("keys", ["OLD#{desk}", (("OLD#{desk}",),), (("OLD#{desk}", "{nothing}"),)])
def test_wrong_keys_are_told_when_the_class_is_made(keys: object) -> None:
    """One string, a template too few, and a part that is no field."""
    with pytest.raises(DefinitionError, match=r"also_keys=|nothing"):

        class Desk(Entity, table=rooms, pk="DESK#{desk}", sk="META", also_keys=keys):
            desk: Field[str]
