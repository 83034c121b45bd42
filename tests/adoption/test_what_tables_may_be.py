"""Tables as others made them: keys of any names, types and signs, rows without a type, a `type` of the business."""

from __future__ import annotations

from typing import Any

import pytest

from tablekit import Entity, Field, Table, field
from tablekit._types import Item
from tablekit.tools.doctor import doctor
from tests.support.rows import rows, store
from tests.support.tables import Connect

readings = Table("readings", pk="device-id", sk="at", key_types={"at": "N"}, separator=None)


class Reading(Entity, table=readings, pk="{device}", sk="{at}"):
    """A reading under a text and a number, neither of which is called PK or SK."""

    device: Field[str]
    at: Field[int]
    value: Field[int]


def test_keys_have_any_names_and_types(connect: Connect) -> None:
    """A partition key with a hyphen in its name and a number as the sort key."""
    app = connect(readings)
    Reading(device="d1", at=20, value=1).create()
    Reading(device="d1", at=3, value=2).create()

    assert [reading.at for reading in Reading.query(device="d1")] == [3, 20]
    assert {next(iter(row["at"])) for row in rows(app)} == {"N"}


@pytest.mark.parametrize(
    ("pk", "sk"),
    [
        ("ORDER::{order}", "LINE::{line}"),
        ("order|{order}", "|line|{line}"),
        ("/orders/{order}", "/lines/{line}"),
        ("{order}", "line:{line}"),
        ('"ORDER"#{order}', "LINE\t{line}"),
        (" ORDER#ORDER#{order}", "{line}#LINE"),
    ],
)
def test_templates_hold_any_signs(connect: Connect, pk: str, sk: str) -> None:
    """Delimiters, quotes, a tab, a leading space, a doubled prefix, a suffix: rows keep what they have."""
    shop = Table("shop", untyped="infer", separator=None)

    class Line(Entity, table=shop, pk=pk, sk=sk):
        order: Field[str]
        line: Field[str]
        count: Field[int]

    app = connect(shop)
    key: Item = {"PK": {"S": pk.replace("{order}", "o1")}, "SK": {"S": sk.replace("{line}", "7")}}
    store(app, {**key, "count": {"N": "2"}})

    found = Line.get_or_raise(order="o1", line="7")
    found.count = 3
    found.save()

    (row,) = rows(app)
    assert {name: row[name] for name in ("PK", "SK", "count")} == {**key, "count": {"N": "3"}}


settings = Table("settings", untyped="infer", type_attribute="kind")


class Theme(Entity, table=settings, pk="SETTINGS", sk="THEME"):
    """One row under a constant key, without a stored type; its `type` is the business's."""

    type_: Field[str] = field(name="type")


def test_a_row_without_a_type_is_told_by_a_constant_key_and_its_own_type_is_a_field(connect: Connect) -> None:
    """The type attribute is called otherwise, and a save stamps that one and leaves `type` alone."""
    app = connect(settings)
    store(app, {"PK": {"S": "SETTINGS"}, "SK": {"S": "THEME"}, "type": {"S": "dark"}})

    (theme,) = app.query(pk="SETTINGS")
    assert isinstance(theme, Theme)
    theme.type_ = "light"
    theme.save()

    (row,) = rows(app)
    assert (row["type"], row["kind"]) == ({"S": "light"}, {"S": "Theme"})


def test_a_row_under_a_key_that_no_template_renders_keeps_it_and_is_reported(connect: Connect) -> None:
    """Read by its type, updated and deleted where it lies; the doctor names it."""
    app = connect(settings)
    key: Item = {"PK": {"S": "SETTINGS"}, "SK": {"S": "THEME\t"}}
    store(app, {**key, "kind": {"S": "Theme"}, "type": {"S": "dark"}})

    (theme,) = app.query(pk="SETTINGS")
    found: Any = theme
    found.type_ = "light"
    found.save()
    (row,) = rows(app)
    assert (row["SK"], row["type"]) == (key["SK"], {"S": "light"})
    assert not doctor(app).healthy

    found.delete()
    assert rows(app) == []
