"""The README's path: create, get, save, query, delete, on both engines."""

from __future__ import annotations

import pytest

from tablekit import ItemExists, Table
from tests.support.models import Comment, Document, Workspace


def test_a_created_entity_is_read_back_equal(app: Table) -> None:
    """What create wrote, get gives."""
    doc = Document(workspace_id="acme", doc_id="d1", title="Spec").create()

    assert Document.get(workspace_id="acme", doc_id="d1") == doc


def test_create_refuses_a_row_that_is_there(app: Table) -> None:
    """A second create under the key raises and carries the stored row."""
    first = Document(workspace_id="acme", doc_id="d1", title="Spec").create()

    with pytest.raises(ItemExists) as caught:
        Document(workspace_id="acme", doc_id="d1", title="Other").create()

    assert caught.value.stored == first


def test_a_mixed_query_gives_each_row_as_its_class(app: Table) -> None:
    """One query of the partition gives workspace, document and comment, in the order of the sort key."""
    made = [
        Document(workspace_id="acme", doc_id="d1", title="Spec").create(),
        Comment(workspace_id="acme", doc_id="d1", comment_id="c1", body="Fine").create(),
        Workspace(workspace_id="acme", name="Acme").create(),
    ]

    assert app.query(Workspace, Document, Comment, workspace_id="acme").all() == made
    assert app.query(pk="WS#acme").all() == made
