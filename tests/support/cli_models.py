"""Functions and tables that the tests of the command line name."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from tablekit import Entity, Field, GlobalIndex, Table, field, index_key
from tests.support.models import app

registry = SimpleNamespace(app=app)
numbers = Table("numbers", pk="number", sk="place")


class Reading(Entity, table=numbers, pk="{number}", sk="{place}"):
    """A row under a number."""

    number: Field[int]
    place: Field[str]


orders = Table("orders", indexes=[GlobalIndex("OPEN", pk="OPK")])


class Order(Entity, table=orders, pk="ORDER#{number}", sk="META"):
    """A row of a sparse index."""

    number: Field[str]
    shipped: Field[bool] = field(default=False)
    open = index_key("OPEN", pk="OPEN", when={"shipped": False})


def member(row: Mapping[str, Any]) -> str | None:
    """The type of a row that its key does not tell."""
    return "Member" if "email" in row else None


def failing(row: Mapping[str, Any]) -> str | None:
    """A function with a fault, whose message holds what a row holds."""
    raise ValueError(f"cannot read {row}")
