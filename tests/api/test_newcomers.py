"""What a newcomer gets wrong, and what the library says to it."""

from __future__ import annotations

import gc
from datetime import datetime

import pytest

from tablekit import DefinitionError, Entity, Field, GlobalIndex, ItemExists, RequestError, Table, index_key, ttl
from tests.support.models import Document, Workspace
from tests.support.models import app as workspace_app
from tests.support.tables import Connect


def test_a_batch_that_goes_away_unsent_warns() -> None:
    """Without its block nothing would be sent, and nothing would say so."""

    def forget() -> None:
        workspace_app.batch().put(Workspace(workspace_id="acme", name="Acme"))
        gc.collect()

    with pytest.warns(ResourceWarning, match="1 writes went away without being sent"):
        forget()


def test_a_transaction_that_goes_away_uncommitted_warns() -> None:
    """The remedy is in the message."""

    def forget() -> None:
        workspace_app.transaction().put(Workspace(workspace_id="acme", name="Acme"))
        gc.collect()

    with pytest.warns(ResourceWarning, match=r"with app\.transaction\(\) as tx"):
        forget()


def test_a_second_ttl_attribute_is_refused_with_the_class() -> None:
    """A table expires rows by one attribute, and that is told when the class is made."""
    table = Table("t")

    class First(Entity, table=table, pk="A#{id}", sk="META"):
        id: Field[str]
        e1: Field[datetime | None] = ttl(default=None)

    with pytest.raises(DefinitionError, match="e1"):

        class Second(Entity, table=table, pk="B#{id}", sk="META"):
            id: Field[str]
            e2: Field[datetime | None] = ttl(default=None)

    assert First.__name__ == "First"


def test_an_estimate_does_not_bill_indexes_that_the_class_is_not_in(connect_full: Connect) -> None:
    """Only the class with a key in the index writes there."""
    table = Table("t", indexes=[GlobalIndex("GSI1", pk="GSI1PK")])

    class Plain(Entity, table=table, pk="A#{id}", sk="META"):
        id: Field[str]
        n: Field[int]

    class Indexed(Entity, table=table, pk="B#{id}", sk="META"):
        id: Field[str]
        by_id = index_key("GSI1", pk="{id}")

    connect_full(table)
    with table.dry_run() as plan:
        Plain.key(id="1").update(Plain.n.add(1))

    assert plan.requests[0].explain().estimate(item_bytes=100).write_units == 1
    assert Indexed.__name__ == "Indexed"


def test_the_remedy_of_a_second_create_fits_a_versioned_class(full_app: Table) -> None:
    """Put of a new object would be refused as well, so it is not advised."""
    Document(workspace_id="acme", doc_id="1", title="x").create()

    with pytest.raises(ItemExists, match=r"get\(\) it and save\(\)"):
        Document(workspace_id="acme", doc_id="1", title="y").create()


def test_a_condition_on_a_row_that_was_never_stored_is_refused() -> None:
    """Saving a new object creates it, and no condition could hold of what is not there."""
    with pytest.raises(RequestError, match="never stored"):
        Document(workspace_id="acme", doc_id="1", title="x").save(condition=Document.title == "y")
