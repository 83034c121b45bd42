"""The table as infrastructure code, and the check of the classes against the table."""

from __future__ import annotations

import enum
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest

from tablekit import Entity, Field, GlobalIndex, LocalIndex, Table, field, index_key, ttl
from tablekit.tools.adopt_tables import read_definitions
from tablekit.tools.lock import LockError, check_lock, write_lock
from tablekit.tools.schema import schema_body, schema_text
from tablekit.tools.schema_check import check_schema, check_table
from tablekit.tools.workbench import read_workbench
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


def everything() -> Table:
    """A table with indexes of every kind, number and multi-attribute keys, and a time to live."""
    table = Table(
        "everything",
        indexes=[
            GlobalIndex("by_day", pk="GSI1PK", sk="GSI1SK", projection=["total"]),
            GlobalIndex("by_region", pk=("country", "city"), sk=("day", "total")),
            GlobalIndex("keys", pk="GSI3PK", projection=["total", "day"]),
            LocalIndex("by_total", sk="total"),
        ],
    )

    class Order(Entity, table=table, pk="O#{id}", sk="META"):
        id: Field[str]
        country: Field[str]
        city: Field[str]
        day: Field[str]
        total: Field[int]
        expires_at: Field[datetime | None] = ttl(default=None)
        by_region = index_key("by_region")
        by_total = index_key("by_total")

    return table


def from_create_table(text: str, path: Path) -> tuple[dict[str, Any], str | None]:
    """What CreateTable takes; its time to live is a call of its own."""
    return json.loads(text), "expires_at"


def from_cloudformation(text: str, path: Path) -> tuple[dict[str, Any], str | None]:
    """What CloudFormation makes of the resource: CreateTable, UpdateTimeToLive."""
    properties = json.loads(text)["Resources"]["Table"]["Properties"]
    expiry = properties.pop("TimeToLiveSpecification")
    stream = properties.get("StreamSpecification")
    if stream is not None:
        stream["StreamEnabled"] = True
    return properties, expiry["AttributeName"] if expiry["Enabled"] else None


def from_cdk(text: str, path: Path) -> tuple[dict[str, Any], str | None]:
    """What the CDK's CfnTable makes of its properties: those of CloudFormation."""

    def raised(value: Any) -> Any:
        if isinstance(value, dict):
            return {key[:1].upper() + key[1:]: raised(inner) for key, inner in value.items()}
        return [raised(inner) for inner in value] if isinstance(value, list) else value

    resource = {"Resources": {"Table": {"Properties": raised(json.loads(text))}}}
    return from_cloudformation(json.dumps(resource), path)


def from_terraform(text: str, path: Path) -> tuple[dict[str, Any], str | None]:
    """What a reader of Terraform's language finds."""
    place = path / "table.tf"
    place.write_text(text, encoding="utf-8")
    (found,) = read_definitions(place)
    return schema_body(found.as_table(), found.name), found.ttl


def from_workbench(text: str, path: Path) -> tuple[dict[str, Any], str | None]:
    """What is read of the model; Workbench knows neither local indexes nor a time to live."""
    (found,) = read_workbench(json.loads(text))
    return schema_body(found.as_table(), found.name), found.ttl


@pytest.mark.parametrize(
    ("kind", "read", "left_out"),
    [
        ("create-table", from_create_table, []),
        ("cloudformation", from_cloudformation, []),
        ("cdk", from_cdk, []),
        ("terraform", from_terraform, []),
        ("workbench", from_workbench, ["local index by_total", "time to live"]),
    ],
)
def test_the_table_made_of_each_form_is_the_one_declared(
    ministack: Engine, table_name: str, tmp_path: Path, kind: Any, read: Any, left_out: list[str]
) -> None:
    """What is printed is created on an engine, and `schema --check` then finds what the form cannot say."""
    app = everything()
    body, expiry = read(schema_text(app, table_name, kind), tmp_path)
    client = ministack.client()

    client.create_table(**body)
    if expiry is not None:
        client.update_time_to_live(
            TableName=table_name, TimeToLiveSpecification={"Enabled": True, "AttributeName": expiry}
        )

    app.connect(name=table_name, **ministack.connect_options())
    found = check_table(app)
    client.delete_table(TableName=table_name)
    assert [difference.subject for difference in found] == left_out


def test_streams_protection_capacity_and_tags_are_in_every_form_that_has_them() -> None:
    """CreateTable's own words, and those of the others."""
    options: dict[str, Any] = {
        "billing": (5, 7),
        "stream": "NEW_IMAGE",
        "deletion_protection": True,
        "tags": {"team": "a"},
    }
    body = json.loads(schema_text(shop(), "t", **options))
    resource = json.loads(schema_text(shop(), "t", "cloudformation", **options))["Resources"]["Table"]["Properties"]
    text = schema_text(shop(), "t", "terraform", **options)

    assert body["ProvisionedThroughput"] == {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
    assert resource["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert resource["Tags"] == [{"Key": "team", "Value": "a"}]
    for line in ("read_capacity  = 5", "stream_view_type", "deletion_protection_enabled = true", '"team" = "a"'):
        assert line in text


def test_a_vector_index_is_tolerated_and_noted() -> None:
    """DescribeTable may show one; it is neither an error nor passed over."""
    description = {**schema_body(shop(), "t"), "VectorIndexes": [{"IndexName": "similar", "VectorDimensions": 8}]}

    (found,) = check_schema(shop(), description)

    assert (found.subject, found.severity) == ("vector index similar", "note")
    assert "priced" in found.why


def test_an_include_projection_has_the_type_attribute() -> None:
    """The index can give entities only with the type."""
    (index,) = schema_body(shop(), "t")["GlobalSecondaryIndexes"]

    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total", "EntityType"]}


def test_an_include_projection_without_the_type_is_as_it_was_declared() -> None:
    """The table of others is no difference, where the class says what its index holds."""
    app = Table("t", indexes=[GlobalIndex("theirs", pk="mail", projection=["name"], projects_type=False)])

    body = schema_body(app, "t")

    assert body["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] == ["name"]
    assert check_schema(app, body) == []


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
        members = {k[2:]: options.pop(k) for k in list(options) if k.startswith("m_")}
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


def test_a_field_that_is_required_now_is_an_error(tmp_path: Path) -> None:
    """Rows without it could be read before."""
    before = {"fields": {"n": Field[int]}, "m_n": field(default=0)}

    assert locked(tmp_path, before, {"fields": {"n": Field[int]}}) == ["error: 'n' is required now"]


def test_a_field_that_looks_renamed_is_an_error_and_a_dropped_one_is_none(tmp_path: Path) -> None:
    """The rows keep the old attribute; under its stored name all is well."""
    before = {"fields": {"title": Field[str]}, "m_title": field(default="")}
    renamed = {"fields": {"name": Field[str]}, "m_name": field(default="")}
    stored = {"fields": {"name": Field[str]}, "m_name": field(default="", name="title")}

    assert locked(tmp_path, before, renamed) == [
        "error: 'title' is gone, and 'name' is new and of its type: it looks renamed"
    ]
    assert locked(tmp_path, before, {}) == ["note: the attribute 'title' is not declared any more"]
    assert locked(tmp_path, before, stored) == []


def test_an_index_key_that_is_dropped_is_an_error(tmp_path: Path) -> None:
    """What the rows hold of it goes stale."""
    assert locked(tmp_path, {"m_feed": index_key("GSI1", pk="FEED#{id}")}, {}) == [
        "error: its key in index GSI1 is gone"
    ]
    assert locked(
        tmp_path, {"m_feed": index_key("GSI1", pk="FEED#{id}")}, {"m_feed": index_key("GSI1", pk="ALL#{id}")}
    ) == ["error: its key in index GSI1 changed"]


def test_another_condition_of_an_index_is_an_error_and_a_new_index_key_a_note(tmp_path: Path) -> None:
    """Rows that are there are in the index, or out of it, as the old classes wrote them."""
    flag = {"fields": {"open": Field[bool]}, "m_open": field(default=True)}
    always = {**flag, "m_feed": index_key("GSI1", pk="FEED")}
    sparse = {**flag, "m_feed": index_key("GSI1", pk="FEED", when={"open": True})}

    assert locked(tmp_path, always, sparse) == ["error: its rows were in index GSI1 always, and are when open is True"]
    assert locked(tmp_path, sparse, always) == ["error: its rows were in index GSI1 when open is True, and are always"]
    assert locked(tmp_path, sparse, sparse) == []
    assert locked(tmp_path, flag, sparse) == ["note: its key in index GSI1 is new"]


def nested(**fields: Any) -> type[Any]:
    """A class for values inside an entity; each field a type, or a type and a default."""
    given = {
        name: attrs.field(type=each[0], default=each[1]) if isinstance(each, tuple) else attrs.field(type=each)
        for name, each in fields.items()
    }
    return attrs.make_class("Address", given, kw_only=True)


@pytest.mark.parametrize(
    "held", [lambda cls: cls, lambda cls: cls | None, lambda cls: list[cls], lambda cls: dict[str, cls]]
)
def test_a_change_inside_a_nested_class_is_found(tmp_path: Path, held: Any) -> None:
    """Its attributes are stored in rows as the entity's are."""

    def changes(before: type[Any], after: type[Any]) -> list[str]:
        return locked(tmp_path, {"fields": {"n": Field[held(before)]}}, {"fields": {"n": Field[held(after)]}})

    plain = nested(street=str)
    assert changes(plain, nested(street=int)) == ["error: 'n.street' was stored as S and is read as N"]
    assert changes(plain, nested(street=str, city=str)) == ["error: 'n.city' is new and required"]
    assert changes(plain, nested(street=str, city=(str, ""))) == []
    assert changes(plain, nested(road=str)) == [
        "error: 'n.street' is gone, and 'n.road' is new and of its type: it looks renamed",
        "error: 'n.road' is new and required",
    ]
    assert changes(nested(inner=plain), nested(inner=nested(street=bool))) == [
        "error: 'n.inner.street' was stored as S and is read as BOOL"
    ]


@attrs.define
class Branch:
    """A class that contains itself."""

    name: str
    below: list[Branch] = attrs.Factory(list)


def test_a_class_that_contains_itself_is_locked_once(tmp_path: Path) -> None:
    """Its description ends."""
    assert locked(tmp_path, {"fields": {"n": Field[Branch]}}, {"fields": {"n": Field[Branch]}}) == []


class Old(enum.Enum):
    """Two values."""

    A = "a"
    B = "b"


class New(enum.Enum):
    """One of them is gone."""

    A = "a"
    C = "c"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (str, datetime, "error: 'n' was str and is datetime, which is stored alike"),
        (str, Old, "error: 'n' was str and is Old, which is stored alike"),
        (list[int], list[str], "error: 'n' was list[int] and is list[str], which is stored alike"),
        (Old, New, "error: 'n' takes 1 of its values no more"),
        (Literal["x", "y"], Literal["x"], "error: 'n' takes 1 of its values no more"),
        (int, Decimal, None),
        (int, float, None),
        (int, int | None, None),
        (int, int | str, None),
        (datetime, str, None),
        (Old, str, None),
        (Literal["x"], Literal["x", "y"], None),
        (str, Any, None),
    ],
    ids=str,
)
def test_a_type_that_is_stored_alike_is_an_error_unless_it_reads_what_is_there(
    tmp_path: Path, before: Any, after: Any, found: str | None
) -> None:
    """The wire type alone does not tell: any text is S, and not any text is a time."""
    changed = locked(tmp_path, {"fields": {"n": Field[before]}}, {"fields": {"n": Field[after]}})

    assert changed == ([] if found is None else [found])


def test_a_type_that_another_class_took_over_is_an_error(tmp_path: Path) -> None:
    """Rows of one class would be read as the other."""

    def build(doc: str, paper: str) -> Table:
        table = Table("t")
        for name, type_, sk in (("Doc", doc, "D#{id}"), ("Paper", paper, "P#{id}")):
            namespace = {"__annotations__": {"id": Field[str]}, "__module__": __name__}
            type(Entity)(name, (Entity,), namespace, table=table, pk="P", sk=sk, type=type_)
        return table

    path = write_lock(build("Doc", "Paper"), tmp_path / "lock.json")
    found = check_lock(build("Document", "Doc"), path)

    assert "the type was of Doc and is of Paper, while Doc has the type 'Document'" in [each.what for each in found]
    assert all(each.consequence for each in found)


def test_a_lock_of_an_earlier_form_is_still_read(tmp_path: Path) -> None:
    """One without the classes' names and the values of enums."""
    path = write_lock(workspace_app, tmp_path / "lock.json")
    content = json.loads(path.read_text())
    for entity in content["entities"].values():
        del entity["class"], entity["when"]
        for each in entity["fields"].values():
            each.pop("values", None)
    path.write_text(json.dumps(content))

    assert check_lock(workspace_app, path) == []


def test_a_file_that_is_no_lock_is_an_error(tmp_path: Path) -> None:
    """Missing, damaged or foreign: always the documented error."""
    path = tmp_path / "lock.json"
    with pytest.raises(LockError, match="There is no"):
        check_lock(workspace_app, path)
    for text in ("", "[]", '{"version": 1}', '{"version": 9}', '{"version": 1, "table": 3}'):
        path.write_text(text)
        with pytest.raises(LockError):
            check_lock(workspace_app, path)
