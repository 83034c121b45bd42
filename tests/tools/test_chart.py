"""The entity chart."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tablekit import Entity, Field, GlobalIndex, Table, field, index_key
from tablekit.tools.chart import ChartFormat, chart, chart_text
from tests.support.models import app


def test_the_chart_has_each_entity_in_the_order_of_its_keys() -> None:
    """Types, keys and index keys stand beside each other."""
    assert [row.name for row in chart(app)] == ["Document", "Comment", "Member", "Workspace"]


def test_the_text_lines_up_the_type_column() -> None:
    """A header, a rule, and one line for each type."""
    lines = chart_text(app).splitlines()

    assert lines[0].split() == ["Type", "PK", "SK", "GSI1"]
    assert lines[2].startswith("Document   WS#{workspace_id}  DOC#{doc_id}")
    assert "  revision      int" in chart_text(app)


def test_the_markdown_escapes_what_would_end_a_cell() -> None:
    """Union types keep their bar."""
    assert chart_text(app, "markdown").startswith("| Type | `PK` | `SK` | index `GSI1` |")


def test_the_diagram_has_a_class_for_each_entity() -> None:
    """Braces are balanced, and generics are written as Mermaid has them."""
    text = chart_text(app, "mermaid")

    assert text.startswith("classDiagram\n")
    assert text.count("class ") == 4
    assert "set~str~ tags" in text


def test_the_chart_shows_what_a_sparse_index_depends_on() -> None:
    """What when= says stands beside the key."""
    shop = Table("shop", indexes=[GlobalIndex("GSI1", pk="GSI1PK")])

    class Order(Entity, table=shop, pk="O#{order_id}", sk="META"):
        order_id: Field[str]
        status: Field[str]
        open_ = index_key("GSI1", pk="OPEN", when={"status": "open"})

    assert chart(shop)[0].when == {"GSI1": "status is 'open'"}
    assert "OPEN (when status is 'open')" in chart_text(shop)
    assert repr(Order.open_) == "<Index key Order.open_ in 'GSI1': 'OPEN'>"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"when": {"paid": False}}, "paid is False"),
        ({"when": {"status": ("open", "late"), "paid": False}}, "status is 'open' or 'late' and paid is False"),
        ({"when": {"token": "hunter2"}}, "token is as wanted"),
        ({"when": lambda order: order.paid, "uses": ("paid", "status")}, "a function of paid, status holds"),
    ],
)
def test_what_when_wants_is_said_in_words(condition: dict[str, Any], said: str) -> None:
    """The values stand there, since a field alone says the opposite of `paid is False`; secrets do not."""
    shop = Table("shop", indexes=[GlobalIndex("GSI1", pk="GSI1PK")])

    class Order(Entity, table=shop, pk="O#{order_id}", sk="META"):
        order_id: Field[str]
        status: Field[str]
        paid: Field[bool]
        token: Field[str] = field(secret=True)
        open_ = index_key("GSI1", pk="OPEN", **condition)

    assert chart(shop)[0].when == {"GSI1": said}


def test_the_picture_is_whole_svg() -> None:
    """It parses, has a box for each entity, and its texts are escaped."""
    shop = Table("shop", separator="<")

    class Order(Entity, table=shop, pk="O<{order_id}", sk="META", aliases=("Auftrag & Co",)):
        order_id: Field[str]

    root = ET.fromstring(chart_text(app, "svg"))
    other = ET.fromstring(chart_text(shop, "svg"))

    space = "{http://www.w3.org/2000/svg}"
    titles = [text.text for text in root.iter(f"{space}text") if text.get("class") == "type"]
    assert titles == ["Document", "Comment", "Member", "Workspace"]
    assert any("PK  O<{order_id}" in (text.text or "") for text in other.iter(f"{space}text"))
    assert Order.__name__ in chart_text(shop)


def test_a_chart_of_no_entities_is_empty() -> None:
    """In every form it is text all the same."""
    forms: tuple[ChartFormat, ...] = ("text", "markdown", "mermaid", "svg")
    for form in forms:
        assert isinstance(chart_text(Table("empty"), form), str)
