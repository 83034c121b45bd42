"""Rows that were made to break out of the module that is written from them: names, values and keys of any text."""

from __future__ import annotations

import ast
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tablekit._types import Item
from tablekit.definition.indexes import GlobalIndex
from tablekit.tools.adopt import Adoption, adopt_tables
from tablekit.tools.adopt_rows import read_rows
from tablekit.tools.adopt_tables import AdoptError, SourceTable

EVIL = [
    'x"""\nimport os; os._exit(7)\n"""',
    "'; raise SystemExit(7) #",
    "\\",
    '\\"""',
    "__class__",
    "__import__('os')",
    "class",
    "None",
    "self",
    "{x.__class__}",
    "a[b]{c}",
    "\u2028raise SystemExit\u2029",
    "\x0craise SystemExit",
    "# type: ignore",
    "emoji \U0001f600",
    "Ünïcode",
    "ª",
    "\ud800",
    "\u202e",
    "",
    " ",
    "PK",
    "EntityType",
    "type",
    "Table",
    "app",
    "a\rraise SystemExit",
    "x" * 300,
    "{{}}",
    "<map>",
    "str",
    "1st",
    "a-b",
    "$x.y#z:1",
]
texts = st.sampled_from(EVIL) | st.text(max_size=12) | st.sampled_from(EVIL).map(lambda text: f"L#{text}")
names = texts.filter(lambda text: 0 < len(text) < 256)
scalars = (
    texts.map(lambda text: {"S": text})
    | st.integers(-(10**6), 10**6).map(lambda number: {"N": str(number)})
    | st.decimals(-1000, 1000, places=2).map(lambda number: {"N": str(number)})
    | st.booleans().map(lambda value: {"BOOL": value})
    | st.just({"NULL": True})
    | st.binary(max_size=4).map(lambda value: {"B": value})
    | st.sets(names, min_size=1, max_size=3).map(lambda value: {"SS": sorted(value)})
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: {"L": each})
        | st.dictionaries(names, inner, max_size=3).map(lambda each: {"M": each})
    ),
    max_leaves=6,
)
rows_of = st.fixed_dictionaries(
    {"PK": names.map(lambda text: {"S": text}), "SK": names.map(lambda text: {"S": text})},
    optional={"type": texts.map(lambda text: {"S": text})},
)
ALLOWED = (
    ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.ClassDef, ast.Expr, ast.Pass,
)  # fmt: skip
CALLED = {"Table", "GlobalIndex", "LocalIndex", "field", "ttl", "index_key"}


def adopted(rows: list[Item], **options: Any) -> Adoption:
    """What is concluded of some rows in DynamoDB JSON."""
    read = read_rows(((f"row {number}", row) for number, row in enumerate(rows, 1)), ["PK", "SK"])
    indexes = (GlobalIndex("by.type-1", "type", projection=["x'"]),)
    table = SourceTable(
        name=options.pop("name", "shop"), pk="PK", sk="SK", rows=read.rows, bad=read.bad, indexes=indexes
    )
    return adopt_tables([table], **options)


def assert_defines_only(source: str) -> None:
    """Imports of known modules, classes, and calls of tablekit's own names with constants: nothing else is run."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            assert isinstance(node, ALLOWED), ast.dump(node)
        if isinstance(node, ast.Expr):
            assert isinstance(node.value, ast.Constant)
            assert isinstance(node.value.value, str)
        if isinstance(node, ast.Import):
            assert {each.name for each in node.names} <= {"enum", "attrs"}
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("__future__", "datetime", "decimal", "typing", "tablekit")
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called in CALLED | {"attrs.field", "attrs.define"}, called
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) in {"enum.Enum", "attrs.define", "attrs.field"}
        assert not isinstance(node, (ast.Lambda, ast.JoinedStr, ast.ListComp, ast.Await, ast.Starred))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.lists(st.tuples(rows_of, st.dictionaries(names, values, max_size=4)), min_size=1, max_size=6), texts)
def test_a_module_defines_and_does_nothing_else(rows: list[tuple[Item, Item]], name: str) -> None:
    """Whatever rows hold, the module compiles, holds definitions alone, and every row is read or named."""
    try:
        found = adopted([{**more, **row} for row, more in rows], name=name or "shop")
    except AdoptError as question:
        assume("several attributes" not in str(question))
        raise
    (table,) = found.tables
    assert_defines_only(found.source)
    assert sum(table.read.values()) + len(table.unread) + len(table.bad) >= len({json.dumps(r[0]["PK"]) for r in rows})


@pytest.mark.parametrize("text", EVIL)
def test_a_text_is_data_wherever_it_stands(text: str) -> None:
    """In keys, as the name of an attribute, an enum, a type, a map's name, an index and the table."""
    rows: list[Item] = [
        {
            "PK": {"S": f"{text}#{number}"},
            "SK": {"S": text or "x"},
            "type": {"S": text or "t"},
            f"{text}1": {"S": ["a", "b"][number % 2]},
            f"{text}2": {"M": {f"{text}3": {"S": text}, "n": {"N": str(number)}}},
        }
        for number in range(24)
    ]

    found = adopted(rows, name=text or "shop", type_attribute="type")

    assert_defines_only(found.source)
    (table,) = found.tables
    # A type of spaces is no type, and half a surrogate is no text: such rows are named.
    assert found.complete or len(table.unread) + len(table.bad) == len(rows)
    assert found.complete == (text not in (" ", "\ud800"))


def test_types_that_differ_from_row_to_row_are_read() -> None:
    """One attribute with all ten wire types."""
    kinds: list[Any] = [
        {"S": "a"}, {"N": "1"}, {"N": "1.50"}, {"B": b"b"}, {"BOOL": True}, {"NULL": True}, {"SS": ["a"]},
        {"NS": ["1"]}, {"BS": [b"b"]}, {"L": [{"S": "a"}, {"M": {}}]}, {"M": {"a": {"N": str(Decimal("1e30"))}}},
    ]  # fmt: skip
    found = adopted([{"PK": {"S": f"T#{n}"}, "SK": {"S": "M"}, "v": value} for n, value in enumerate(kinds)])

    assert found.complete
    assert "v: Field[Any]" in found.source


@pytest.mark.parametrize("rows", [[], [{"PK": {"S": "T#1"}, "SK": {"S": "M"}}]], ids=["none", "one"])
def test_hardly_any_rows_are_enough_for_a_module(rows: list[Item]) -> None:
    """No row gives the table alone, and one row a class."""
    found = adopted(rows)

    assert found.complete
    assert len(found.tables[0].read) == len(rows)
