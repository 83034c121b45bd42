"""Entities declared by hand for eight published tables that were there before them."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

from tablekit import Entity, Field, GlobalIndex, Table, field, index_key

# A table of games without a type: an index on its own keys turned round, and one on business attributes.
games = Table(
    "battle-royale",
    untyped="infer",
    indexes=[
        GlobalIndex("InvertedIndex", pk="SK", sk="PK"),
        GlobalIndex("OpenGamesIndex", pk="map", sk="open_timestamp"),
    ],
)


class Player(Entity, table=games, pk="USER#{username}", sk="#METADATA#{username}"):
    """A player."""

    username: Field[str]
    name: Field[str]
    email: Field[str]


class Game(Entity, table=games, pk="GAME#{game_id}", sk="#METADATA#{game_id}"):
    """A game; it is in the index of open games as long as it is open."""

    game_id: Field[str]
    map_: Field[str] = field(name="map")
    people: Field[int]
    open_timestamp: Field[str | None] = field(default=None)
    open_games = index_key("OpenGamesIndex")


class Seat(Entity, table=games, pk="GAME#{game_id}", sk="USER#{username}"):
    """A player in a game."""

    game_id: Field[str]
    username: Field[str]
    by_player = index_key("InvertedIndex")


# Colons part the keys, and stand in the times that are keys as well.
chat = Table(
    "chat",
    untyped="infer",
    separator=None,
    indexes=[GlobalIndex("RoomID_Comment_IDX", pk="RoomID", sk="CreatedAt")],
)


class Message(Entity, table=chat, pk="User:{user}", sk="{created_at}"):
    """A message; its author stands in the key alone."""

    user: Field[str]
    created_at: Field[str] = field(name="CreatedAt")
    room: Field[str] = field(name="RoomID")
    comment: Field[str] = field(name="Comment")
    by_room = index_key("RoomID_Comment_IDX")


class Room(Entity, table=chat, pk="Room:{room}", sk="meta"):
    """A room, whose name is in the key alone."""

    room: Field[str]
    created_by: Field[str] = field(name="CreatedBy")


# Key attributes with signs in their names; an index that shares the table's sort key.
devices = Table(
    "devices",
    pk="DeviceID",
    sk="State#Date",
    untyped="infer",
    separator=None,
    indexes=[GlobalIndex("GSI1", pk="Operator", sk="Date"), GlobalIndex("GSI2", pk="EscalatedTo", sk="State#Date")],
)


class DeviceState(Entity, table=devices, pk="{device}", sk="{state}#{date}"):
    """A state that a device was in."""

    device: Field[str] = field(name="DeviceID")
    state: Field[str] = field(name="State")
    date: Field[str] = field(name="Date")
    operator: Field[str] = field(name="Operator")
    escalated_to: Field[str | None] = field(default=None, name="EscalatedTo")
    by_operator = index_key("GSI1")
    escalated = index_key("GSI2")


# A sort key whose last part may be missing.
products = Table("products", untyped="infer")


class Company(Entity, table=products, pk="COMPANY#{company_id}", sk="#ROOT#"):
    """A company."""

    company_id: Field[str]
    company_name: Field[str]


class Product(Entity, table=products, pk="COMPANY#{company_id}", sk="PRODUCT#{cat_1}#{cat_2}#{product_id}"):
    """A product in its categories."""

    company_id: Field[str]
    cat_1: Field[str]
    cat_2: Field[str]
    product_id: Field[str]
    product_name: Field[str]


class Total(Entity, table=products, pk="COMPANY#{company_id}", sk="TOTAL#{cat_1}[#{cat_2}]"):
    """The total of a category, or of one within it."""

    company_id: Field[str]
    cat_1: Field[str]
    cat_2: Field[str | None] = field(default=None)
    total: Field[str] = field(name="TOTAL")


# A type attribute called `type`; two types under one key template, told apart by it.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    phones = Table("phones", type_attribute="type", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])

    class Customer(Entity, table=phones, pk="{customer}", sk="A#A", type="customer"):
        """A customer."""

        customer: Field[str] = field(name="PK")
        name: Field[str]

    class Address(Entity, table=phones, pk="{customer}", sk="A#{since}", type="address"):
        """An address of a customer, from a time on."""

        customer: Field[str] = field(name="PK")
        since: Field[str] = field(name="from")
        postal: Field[str]
        region: Field[str] = field(name="GSI1PK")
        by_region = index_key("GSI1", sk="{postal}#{since}")

    class Phone(Entity, table=phones, pk="{customer}", sk="P#{number}", type="phone"):
        """A number of a customer."""

        customer: Field[str] = field(name="PK")
        number: Field[str]
        since: Field[str] = field(name="from")
        by_number = index_key("GSI1", pk="{number}", sk="{since}")

    class Call(Entity, table=phones, pk="{customer}", sk="P#{number}#{start}", type="call"):
        """A call."""

        customer: Field[str] = field(name="PK")
        number: Field[str]
        start: Field[str]
        called: Field[str]
        tower: Field[str | None] = field(default=None, name="GSI1PK")
        by_tower = index_key("GSI1", sk="{start}")

    class CallDetail(Entity, table=phones, pk="{customer}", sk="P#{number}#{start}", type="detail"):
        """A detail of a call."""

        customer: Field[str] = field(name="PK")
        number: Field[str]
        start: Field[str]


# Most rows have a type, two have none and are told by their keys.
plutomi = Table(
    "plutomi",
    type_attribute="entityType",
    untyped="infer",
    indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"), GlobalIndex("GSI2", pk="GSI2PK", sk="GSI2SK")],
)


class User(Entity, table=plutomi, pk="USER#{user_id}", sk="USER", type="USER"):
    """A user."""

    user_id: Field[str]
    name: Field[str]
    email: Field[str]
    group: Field[str] = field(name="GSI1PK")
    by_group = index_key("GSI1", sk="{name}")


class LoginLink(Entity, table=plutomi, pk="USER#{user_id}", sk="LOGIN_LINK#{link_id}", type="LOGIN_LINK"):
    """A link to log in with."""

    user_id: Field[str]
    link_id: Field[str]


class LoginEvent(Entity, table=plutomi, pk="USER#{user_id}", sk="LOGIN_EVENT#{at}"):
    """A login; its rows have no type."""

    user_id: Field[str]
    at: Field[str]


class OrgInvite(Entity, table=plutomi, pk="USER#{user_id}", sk="ORG_INVITE#{invite_id}"):
    """An invitation; its rows have no type."""

    user_id: Field[str]
    invite_id: Field[str]
    org_id: Field[str] = field(name="orgId")


class Opening(Entity, table=plutomi, pk="ORG#{org_id}#OPENING#{opening_id}", sk="OPENING", type="OPENING"):
    """A job."""

    org_id: Field[str] = field(name="orgId")
    opening_id: Field[str]
    name: Field[str]
    visibility: Field[str] = field(name="GSI1SK")
    by_org = index_key("GSI1", pk="ORG#{org_id}#OPENINGS")


# No sort key; three indexes on business attributes, two of them with one sort key.
reports = Table(
    "reports",
    pk="report_id",
    sk=None,
    untyped="infer",
    indexes=[
        GlobalIndex("user_id_index", pk="user_id", sk="created_date"),
        GlobalIndex("requested_by_index", pk="requested_by", sk="created_date"),
        GlobalIndex("organization_index", pk="organization", sk="created_date"),
    ],
)


class Report(Entity, table=reports, pk="{report_id}"):
    """A report; its data is binary."""

    report_id: Field[str]
    created_date: Field[str]
    status: Field[str]
    user_id: Field[str]
    requested_by: Field[str]
    organization: Field[str]
    report_data: Field[bytes | str | None] = field(default=None)
    by_user = index_key("user_id_index")
    by_requester = index_key("requested_by_index")
    by_organization = index_key("organization_index")


# Sort keys in quotes; the kind of a row stands in the middle of its partition key.
social = Table("social", untyped="infer")


class Profile(Entity, table=social, pk="u#{user}", sk='"info"'):
    """Who a user is."""

    user: Field[str]
    name: Field[str]


class Counts(Entity, table=social, pk="u#{user}", sk='"count"'):
    """How many followers a user has."""

    user: Field[str]
    followers: Field[Decimal] = field(name="follower#")


class Follower(Entity, table=social, pk="u#{user}#follower", sk="u#{follower}"):
    """A follower; all of it is in the key."""

    user: Field[str]
    follower: Field[str]


class Post(Entity, table=social, pk="u#{user}#post", sk="p#{post}"):
    """A post."""

    user: Field[str]
    post: Field[str]
    content: Field[str]


class TimelineEntry(Entity, table=social, pk="u#{user}#timeline", sk="p#{post}#u#{author}"):
    """A post that a user sees."""

    user: Field[str]
    post: Field[str]
    author: Field[str]
    expires: Field[int] = field(name="ttl")


SOURCES: dict[str, tuple[Table, str, int]] = {
    "games": (games, "battle-royale/items.json", 0),
    "chat": (chat, "chat-system/ChatSystemSchema.json", 0),
    "devices": (devices, "device-state-log/DeviceStateLog_7.json", 0),
    "products": (products, "product-totals/Twitch Episode 2.json", 0),
    "phones": (phones, "phone-billing/Phone Billing.json", 0),
    "plutomi": (plutomi, "plutomi/NoSQLWorkbench.json", 0),
    "reports": (reports, "reports-denormalised/reports_final.json", 0),
    "social": (social, "social-network/SocialNetworkSchema.json", 0),
}
"""By a short name: the table, the file of its rows, and which table of the file it is."""

Rows = list[dict[str, Any]]
