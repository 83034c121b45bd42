"""Eight published tables, their entities declared by hand, and five access patterns on each.

What a pattern should find is told by the rows themselves, read without the entities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablekit import Entity
from tablekit.tools.adopt_sources import read_source
from tests.support import adopted_models as m
from tests.support.published import model, needs_models
from tests.support.rows import store
from tests.support.tables import Connect

Pattern = tuple[str, Callable[[m.Rows], Any], Callable[[m.Rows], m.Rows]]


def text(row: dict[str, Any], name: str) -> str:
    """A string attribute, "" where there is none."""
    return str(row.get(name, {}).get("S", ""))


def having(rows: m.Rows, **wanted: str) -> m.Rows:
    """The rows with these strings; a name that ends in ``_begins`` asks for the beginning, ``__`` stands for #."""
    found = rows
    for name, value in wanted.items():
        attribute = name.removesuffix("_begins").replace("__", "#")
        exact = not name.endswith("_begins")
        found = [r for r in found if (text(r, attribute) == value if exact else text(r, attribute).startswith(value))]
    return found


def one(rows: m.Rows, **wanted: str) -> dict[str, Any]:
    """The first of such rows; a pattern without any would show nothing."""
    found = having(rows, **wanted)
    assert found, f"no row has {wanted}"
    return found[0]


def seat(rows: m.Rows) -> dict[str, Any]:
    """A player in a game."""
    return one(rows, PK_begins="GAME#", SK_begins="USER#")


def state(rows: m.Rows) -> dict[str, Any]:
    """A state that was escalated."""
    return next(row for row in rows if "EscalatedTo" in row)


def product(rows: m.Rows) -> dict[str, Any]:
    """A product."""
    return one(rows, SK_begins="PRODUCT#")


def call(rows: m.Rows) -> dict[str, Any]:
    """A call."""
    return one(rows, type="call")


PATTERNS: dict[str, list[Pattern]] = {
    "games": [
        ("a player", lambda r: m.Player.get(username=text(seat(r), "username")),
         lambda r: having(r, PK=f"USER#{text(seat(r), 'username')}")),
        ("a game", lambda r: m.Game.get(game_id=text(seat(r), "game_id")),
         lambda r: having(r, PK=text(seat(r), "PK"), SK_begins="#METADATA#")),
        ("the seats of a game", lambda r: m.Seat.query(game_id=text(seat(r), "game_id")),
         lambda r: having(r, PK=text(seat(r), "PK"), SK_begins="USER#")),
        ("a game with its seats", lambda r: m.games.query(m.Game, m.Seat, game_id=text(seat(r), "game_id")),
         lambda r: having(r, PK=text(seat(r), "PK"))),
        ("the games of a player", lambda r: m.Seat.by_player.query(username=text(seat(r), "username")),
         lambda r: having(r, SK=text(seat(r), "SK"))),
        ("open games on a map", lambda r: m.Game.open_games.query(map_="Green Grasslands"),
         lambda r: [row for row in having(r, map="Green Grasslands") if "open_timestamp" in row]),
    ],
    "chat": [
        ("a room", lambda r: m.Room.get(room=text(one(r, SK="meta"), "PK").removeprefix("Room:")),
         lambda r: [one(r, SK="meta")]),
        ("a user's messages", lambda r: m.Message.query(user=text(one(r, PK_begins="User:"), "PK")[5:]),
         lambda r: having(r, PK=text(one(r, PK_begins="User:"), "PK"))),
        ("a room's messages", lambda r: m.Message.by_room.query(room=text(one(r, PK_begins="User:"), "RoomID")),
         lambda r: having(r, RoomID=text(one(r, PK_begins="User:"), "RoomID"))),
        ("a room's messages after a time",
         lambda r: m.Message.by_room.query(room=text(one(r, PK_begins="User:"), "RoomID")).after(
             created_at=text(one(r, PK_begins="User:"), "CreatedAt")),
         lambda r: [row for row in having(r, RoomID=text(one(r, PK_begins="User:"), "RoomID"))
                    if text(row, "CreatedAt") > text(one(r, PK_begins="User:"), "CreatedAt")]),
        ("all rooms", lambda r: m.Room.scan(), lambda r: having(r, SK="meta")),
    ],
    "devices": [
        ("a state", lambda r: m.DeviceState.get(
            device=text(state(r), "DeviceID"), state=text(state(r), "State"), date=text(state(r), "Date")),
         lambda r: [state(r)]),
        ("a device's log", lambda r: m.DeviceState.query(device=text(state(r), "DeviceID")),
         lambda r: having(r, DeviceID=text(state(r), "DeviceID"))),
        ("a device's states of a kind",
         lambda r: m.DeviceState.query(device="d#12345", state="WARNING1"),
         lambda r: having(r, DeviceID="d#12345", State="WARNING1")),
        ("an operator's log since a time",
         lambda r: m.DeviceState.by_operator.query(operator=text(state(r), "Operator")).between(
             date=("2020-04-20", "2020-12-31")),
         lambda r: [row for row in having(r, Operator=text(state(r), "Operator"))
                    if text(row, "Date") >= "2020-04-20"]),
        ("what was escalated to somebody",
         lambda r: m.DeviceState.escalated.query(escalated_to=text(state(r), "EscalatedTo")),
         lambda r: having(r, EscalatedTo=text(state(r), "EscalatedTo"))),
    ],
    "products": [
        ("a company", lambda r: m.Company.get(company_id="1000"), lambda r: having(r, SK="#ROOT#")),
        ("products of a category", lambda r: m.Product.query(company_id="1000", cat_1=text(product(r), "cat_1")),
         lambda r: having(r, SK_begins=f"PRODUCT#{text(product(r), 'cat_1')}#")),
        ("products of a category within it",
         lambda r: m.Product.query(
             company_id="1000", cat_1=text(product(r), "cat_1"), cat_2=text(product(r), "cat_2")),
         lambda r: having(r, SK_begins=f"PRODUCT#{text(product(r), 'cat_1')}#{text(product(r), 'cat_2')}#")),
        ("the total of a category alone",
         lambda r: m.Total.get(company_id="1000", cat_1=text(product(r), "cat_1"), cat_2=None),
         lambda r: having(r, SK=f"TOTAL#{text(product(r), 'cat_1')}")),
        ("all totals", lambda r: m.Total.query(company_id="1000"), lambda r: having(r, SK_begins="TOTAL#")),
    ],
    "phones": [
        ("a customer", lambda r: m.Customer.get(customer="C1"), lambda r: having(r, type="customer")),
        ("addresses of a customer", lambda r: m.Address.query(customer="C1"), lambda r: having(r, type="address")),
        ("a phone by its number", lambda r: m.Phone.by_number.query(number=text(one(r, type="phone"), "number")),
         lambda r: having(r, type="phone")),
        ("calls of a number", lambda r: m.Call.query(customer="C1", number=text(call(r), "number")),
         lambda r: having(r, type="call", number=text(call(r), "number"))),
        ("all that is known of a customer", lambda r: m.phones.query(pk="C1"), lambda r: r),
    ],
    "plutomi": [
        ("a user", lambda r: m.User.get(user_id="123"), lambda r: having(r, PK="USER#123", SK="USER")),
        ("links of a user", lambda r: m.LoginLink.query(user_id="123"),
         lambda r: having(r, PK="USER#123", SK_begins="LOGIN_LINK#")),
        ("logins of a user, which have no type", lambda r: m.LoginEvent.query(user_id="123"),
         lambda r: having(r, PK="USER#123", SK_begins="LOGIN_EVENT#")),
        ("a user with all of it", lambda r: m.plutomi.query(pk="USER#123"), lambda r: having(r, PK="USER#123")),
        ("openings of an organisation", lambda r: m.Opening.by_org.query(org_id="plutomi"),
         lambda r: having(r, GSI1PK="ORG#plutomi#OPENINGS")),
    ],
    "reports": [
        ("a report", lambda r: m.Report.get(report_id=text(r[0], "report_id")), lambda r: r[:1]),
        ("reports of a user", lambda r: m.Report.by_user.query(user_id=text(r[0], "user_id")),
         lambda r: having(r, user_id=text(r[0], "user_id"))),
        ("reports asked for by somebody", lambda r: m.Report.by_requester.query(
            requested_by=text(r[0], "requested_by")), lambda r: having(r, requested_by=text(r[0], "requested_by"))),
        ("reports of an organisation until a time",
         lambda r: m.Report.by_organization.query(organization=text(r[0], "organization")).before(
             created_date="2022-06-04"),
         lambda r: [row for row in having(r, organization=text(r[0], "organization"))
                    if text(row, "created_date") < "2022-06-04"]),
        ("assigned reports", lambda r: m.Report.scan().where(m.Report.status == "ASSIGNED"),
         lambda r: having(r, status="ASSIGNED")),
    ],
    "social": [
        ("a profile", lambda r: m.Profile.get(user="12345"), lambda r: having(r, PK="u#12345", SK='"info"')),
        ("a profile with its counts", lambda r: m.social.query(m.Profile, m.Counts, user="12345"),
         lambda r: having(r, PK="u#12345")),
        ("followers", lambda r: m.Follower.query(user="12345"), lambda r: having(r, PK="u#12345#follower")),
        ("posts", lambda r: m.Post.query(user="12345"), lambda r: having(r, PK="u#12345#post")),
        ("the timeline, latest first", lambda r: m.TimelineEntry.query(user="12345").reverse(),
         lambda r: having(r, PK="u#12345#timeline")),
    ],
}  # fmt: skip
EACH = [(name, pattern) for name, patterns in PATTERNS.items() for pattern in patterns]


def rows_of(name: str) -> m.Rows:
    """The rows of a model; of the 835 of the game those of some games."""
    _, path, number = m.SOURCES[name]
    rows = list(read_source(model(path))[number].rows)
    if name != "games":
        return rows
    chosen = {text(row, "PK") for row in having(rows, PK_begins="GAME#")[:3]}
    players = {text(row, "SK") for row in rows if text(row, "PK") in chosen}
    return [row for row in rows if text(row, "PK") in chosen | players]


def keys(found: Any, table: Any) -> list[tuple[Any, ...]]:
    """The stored keys of entities, or of rows."""
    each = found if isinstance(found, list) else [found] if isinstance(found, Entity) else list(found)
    items = [row.to_item() if isinstance(row, Entity) else row for row in each]
    return sorted(table.plain_key(item) for item in items)


def test_there_are_five_patterns_of_each_of_eight_models():
    """The count that was promised."""
    assert len(PATTERNS) == 8
    assert all(len(patterns) >= 5 for patterns in PATTERNS.values())


@needs_models()
@pytest.mark.parametrize(("name", "pattern"), EACH, ids=[f"{name}: {pattern[0]}" for name, pattern in EACH])
def test_an_access_pattern_finds_its_rows(connect_full: Connect, name: str, pattern: Pattern) -> None:
    """The entities that a pattern gives are the rows that it is about, and no others."""
    table, _, _ = m.SOURCES[name]
    connect_full(table)
    rows = rows_of(name)
    for row in rows:
        store(table, row)

    _, asked, wanted = pattern
    expected = keys(wanted(rows), table)
    assert expected
    assert keys(asked(rows), table) == expected
