"""The table as infrastructure code, and the check of the classes against the table."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tablekit import Entity, Field, GlobalIndex, LocalIndex, Table, ttl
from tablekit.tools.lock import LockError, check_lock, write_lock
from tablekit.tools.schema import schema_body, schema_text
from tablekit.tools.schema_check import check_schema
from tests.support.engines import Engine
from tests.support.models import app as workspace_app


def shop(**changes: Any) -> Table:
    """A table with a bit of everything."""
    indexes = changes.pop(
        "indexes",
        [
            GlobalIndex("by_day", pk="GSI1PK", sk="GSI1SK", projection=["total"]),
            LocalIndex("by_total", sk="LSI1SK"),
        ],
    )
    table = Table("shop", indexes=indexes, **changes)

    class Session(Entity, table=table, pk="S#{id}", sk="META"):
        id: Field[str]
        expires_at: Field[datetime | None] = ttl(default=None)

    return table


def test_the_create_table_input_makes_the_table(ministack: Engine, table_name: str) -> None:
    """What is printed for the AWS CLI is accepted, and DescribeTable then finds no difference."""
    client = ministack.client()
    body = json.loads(schema_text(shop(), table_name, stream="NEW_IMAGE"))

    client.create_table(**body)

    description = client.describe_table(TableName=table_name)["Table"]
    client.delete_table(TableName=table_name)
    assert check_schema(shop(), description) == []


def test_an_include_projection_has_the_type_attribute() -> None:
    """The index can give entities only with the type."""
    (index,) = schema_body(shop(), "t")["GlobalSecondaryIndexes"]

    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total", "EntityType"]}


def test_cloudformation_keeps_the_table_when_the_stack_goes() -> None:
    """The template has the TTL, and a deletion policy."""
    resource = json.loads(schema_text(shop(), "t", "cloudformation"))["Resources"]["Table"]

    assert resource["DeletionPolicy"] == "Retain"
    assert resource["Properties"]["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


def test_cdk_properties_begin_in_lower_case() -> None:
    """Names as the L1 construct has them; values are untouched."""
    properties = json.loads(schema_text(shop(), "t", "cdk"))

    assert properties["keySchema"][0] == {"attributeName": "PK", "keyType": "HASH"}


def test_terraform_text_cannot_begin_a_template() -> None:
    """A name with a dollar brace stays text."""
    text = schema_text(Table("t", indexes=[GlobalIndex("abc", pk="${x}")]), "n", "terraform")

    assert 'hash_key        = "$${x}"' in text


def test_terraform_has_the_indexes_the_ttl_and_the_attributes() -> None:
    """Each attribute that is a key is declared once."""
    text = schema_text(shop(), "n", "terraform")

    assert text.count("attribute {") == 5
    assert 'attribute_name = "expires_at"' in text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize(
    ("theirs", "subject"),
    [
        (shop(indexes=[LocalIndex("by_total", sk="LSI1SK")]), "global index by_day"),
        (shop(sk="range"), "the primary key"),
        (shop(key_types={"GSI1SK": "N"}), "the key attribute GSI1SK"),
        (
            shop(
                indexes=[
                    GlobalIndex("by_day", pk="GSI1PK", sk="GSI1SK", projection=[]),
                    LocalIndex("by_total", sk="LSI1SK"),
                ]
            ),
            "the projection of global index by_day",
        ),
        (
            shop(
                indexes=[GlobalIndex("by_day", pk="other", projection=["total"]), LocalIndex("by_total", sk="LSI1SK")]
            ),
            "the key of global index by_day",
        ),
    ],
)
def test_a_difference_is_named_with_its_remedy(theirs: Table, subject: str) -> None:
    """Each kind of difference says what it does and how it is mended."""
    found = check_schema(shop(), schema_body(theirs, "t"))

    assert subject in [difference.subject for difference in found]
    assert all(difference.remedy and difference.why for difference in found)


def test_a_ttl_that_is_off_is_a_difference() -> None:
    """Rows with a ttl() field would never expire."""
    found = check_schema(shop(), schema_body(shop(), "t"), {"TimeToLiveStatus": "DISABLED"})

    assert [difference.subject for difference in found] == ["time to live"]


def test_an_unchanged_app_passes_its_lock(tmp_path: Path) -> None:
    """What was written is what is checked."""
    path = write_lock(workspace_app, tmp_path / "tablekit.lock.json")

    assert check_lock(workspace_app, path) == []


def locked(tmp_path: Path, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What the lock says of a class that changed."""

    def build(name: str = "Doc", sk: str = "D#{id}", fields: dict[str, Any] | None = None, **options: Any) -> Table:
        table = Table("t", indexes=[GlobalIndex("GSI1", pk="GSI1PK")])
        namespace = {"__annotations__": {"id": Field[str], **(fields or {})}, "__module__": __name__}
        members = {k: options.pop(k) for k in list(options) if k.startswith("m_")}
        type(Entity)(name, (Entity,), {**namespace, **members}, table=table, pk="P", sk=sk, **options)
        return table

    path = write_lock(build(**before), tmp_path / "lock.json")
    return [f"{change.severity}: {change.what}" for change in check_lock(build(**after), path)]


def test_a_renamed_class_without_an_alias_orphans_its_rows(tmp_path: Path) -> None:
    """The old type is nobody's any more; with an alias all is well."""
    assert locked(tmp_path, {}, {"name": "Paper"}) == ["error: no class has this type any more"]
    assert locked(tmp_path, {}, {"name": "Paper", "aliases": ("Doc",)}) == []


def test_a_changed_key_template_is_an_error(tmp_path: Path) -> None:
    """Rows lie under the old key."""
    assert locked(tmp_path, {}, {"sk": "E#{id}"}) == ["error: the key SK was 'D#{id}' and is 'E#{id}'"]


def test_a_changed_wire_type_is_an_error_and_a_wider_one_is_not(tmp_path: Path) -> None:
    """Int to str cannot read what is there; int to int or None can."""
    before = {"fields": {"n": Field[int]}}

    assert locked(tmp_path, before, {"fields": {"n": Field[str]}}) == ["error: 'n' was stored as N and is read as S"]
    assert locked(tmp_path, before, {"fields": {"n": Field[int | None]}}) == []


def test_a_new_required_field_is_an_error(tmp_path: Path) -> None:
    """Rows that are there lack it."""
    assert locked(tmp_path, {}, {"fields": {"n": Field[int]}}) == ["error: 'n' is new and required"]


def test_a_file_that_is_no_lock_is_an_error(tmp_path: Path) -> None:
    """Missing, damaged or foreign: always the documented error."""
    path = tmp_path / "lock.json"
    with pytest.raises(LockError, match="There is no"):
        check_lock(workspace_app, path)
    for text in ("", "[]", '{"version": 1}', '{"version": 9}', '{"version": 1, "table": 3}'):
        path.write_text(text)
        with pytest.raises(LockError):
            check_lock(workspace_app, path)
