"""Right uses of bases: generic, abstract, mixed in, and functions over any entity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from typing_extensions import assert_type

from tablekit import Column, Entity, Field, Query, Table, created_at, field

app = Table("t")
T = TypeVar("T")
E = TypeVar("E", bound=Entity)


class Stamped:
    """A plain mixin."""

    author: Field[str] = field(default="nobody")
    made_at = created_at()


class Base(Entity, Generic[T], abstract=True):
    """A generic base."""

    value: Field[T]


class Row(Stamped, Base[int], table=app, pk="P", sk="S#{name}"):
    """A class of both."""

    name: Field[str]


def newest(cls: type[E], rows: Sequence[E]) -> E | None:
    """A function over any entity keeps its class."""
    found: Query[E] = cls.query()
    return found.first() or (rows[0] if rows else None)


row = Row(name="a", value=3)
assert_type(row.value, int)
assert_type(row.author, str)
assert_type(Row.author, Column[str])
assert_type(Row.value, Column[int])  # E: misc | -
assert_type(newest(Row, [row]), "Row | None")
