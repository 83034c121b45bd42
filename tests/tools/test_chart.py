"""The entity chart."""

from __future__ import annotations

from tablekit import Entity, Field, GlobalIndex, Table, index_key
from tablekit.tools.chart import chart, chart_text
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
    """The fields of when= stand beside the key."""
    shop = Table("shop", indexes=[GlobalIndex("GSI1", pk="GSI1PK")])

    class Order(Entity, table=shop, pk="O#{order_id}", sk="META"):
        order_id: Field[str]
        status: Field[str]
        open_ = index_key("GSI1", pk="OPEN", when={"status": "open"})

    assert chart(shop)[0].when == {"GSI1": ("status",)}
    assert "OPEN (when status)" in chart_text(shop)
    assert repr(Order.open_) == "<Index key Order.open_ in 'GSI1': 'OPEN'>"
