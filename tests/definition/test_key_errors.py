"""What keys of classes cannot be, through real classes: each error names class and field, and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tablekit import DefinitionError, Entity, Field, GlobalIndex, Table, field, index_key, updated_at, version

INDEXES = [
    GlobalIndex("GSI1", pk="G1P", sk="G1S"),
    GlobalIndex("GSI2", pk="G1P", sk="G2S"),
    GlobalIndex("ByStatus", pk="status"),
    GlobalIndex("Turned", pk="SK", sk="PK"),
    GlobalIndex("Multi", pk=("tenant", "region"), sk=("day", "n")),
]


def define(*, pk: Any = "P#{a}", sk: Any = "S#{b}", table: Table | None = None, **members: Any) -> type[Entity]:
    """A class with a few fields of different types."""
    annotations = {
        "a": Field[str],
        "b": Field[int],
        "flag": Field[bool],
        "tags": Field[list[str]],
        "note": Field[str | None],
        "secret": Field[str],
        "at": Field[datetime],
    }
    body = {
        "__annotations__": {**annotations, **members.pop("annotations", {})},
        "secret": field(default="x", secret=True),
        "note": field(default=None),
        "__module__": __name__,
        **members,
    }
    app = table or Table("t", indexes=INDEXES)
    made: Any = type(Entity)("Row", (Entity,), body, table=app, pk=pk, sk=sk)
    return made  # type: ignore[no-any-return]


PRIMARY = [
    ({"pk": "P#{aa}"}, r"Row: the partition key template 'P#\{aa\}' .*'aa'"),
    ({"sk": "S#{b}"}, r"Row: the sort key template .* the number 'b' without a width.*\{b:06d\}"),
    ({"pk": "P#{tags}"}, r"Row: .*'tags'"),
    ({"pk": "P#{secret}"}, r"Row\.secret: is secret and stands in the key template"),
    ({"pk": "{secret}"}, r"Row\.secret: is secret and stands in the key template"),
    ({"sk": "S#{rev:06d}", "rev": version()}, r"Row\.rev: stands in the primary key and changes with each write"),
    ({"sk": "S#{t}", "t": updated_at()}, r"Row\.t: stands in the primary key and changes with each write"),
    ({"sk": "S#{at:%Y-%m}"}, r"keeps only part of 'at'.*stand in full"),
    ({"pk": "{a}{b}"}, r"side by side; put a text such as '#' between"),
    ({"pk": ""}, r"is empty; give it a text"),
    ({"pk": 3}, r"Row: the template of 'PK' is 3; give a string such as"),
    ({"sk": None}, r"Row: has no sk=, and table 't' has the sort key 'SK'. Give a template"),
    ({"pk": None}, r"Row has no pk=. Give the template of its partition key"),
    ({"table": Table("t", sk=None)}, r"Row: has sk='S#\{b\}', and table 't' has no sort key. Leave sk out"),
]


@pytest.mark.parametrize(("options", "message"), PRIMARY, ids=[case[1][:50] for case in PRIMARY])
def test_a_primary_key_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    """Unknown fields, types that are no keys, secrets, and what changes or loses something."""
    with pytest.raises(DefinitionError, match=message):
        define(**({"sk": "S"} | options if "sk" not in options and "table" not in options else options))


BY_STATUS = {"annotations": {"status": Field[str]}, "it": index_key("ByStatus")}
INDEX = [
    ({"it": index_key("GSI9", pk="P", sk="S")}, r"Row\.it: table 't' has no index 'GSI9'.*Did you mean 'GSI"),
    ({"it": index_key("GSI1", pk="P#{aa}", sk="S")}, r"Row: the index partition key template 'P#\{aa\}'"),
    ({"it": index_key("GSI1", pk="P")}, r"Row\.it: gives no template for 'G1S' of index 'GSI1'"),
    (
        {"it": index_key("GSI1", pk=("A", "B"), sk="S")},
        r"Row\.it: gives 2 template\(s\) for pk, and index 'GSI1' has 1",
    ),
    ({"it": index_key("ByStatus")}, r"Row\.it: gives no template for 'status' of index 'ByStatus'"),
    ({**BY_STATUS, "it": index_key("ByStatus", pk="X")}, r"Row\.it: fills 'status' .* and 'status' is stored there"),
    ({**BY_STATUS, "it": index_key("ByStatus", when={"a": "x"})}, r"Row\.it: has when=, and index 'ByStatus' is keyed"),
    ({"it": index_key("Turned", pk="X")}, r"Row\.it: index 'Turned' is keyed on the table's own 'SK'.*Leave the"),
    ({"it": index_key("GSI1", pk="P", sk="S", when={"aa": 1})}, r"Row\.it: names the field 'aa'.*Did you mean 'a'"),
    ({"it": index_key("GSI1", pk="P", sk="S", when={"a": 1})}, r"Row\.it: when= wants 'a' .* no str.*Give a value"),
    ({"it": index_key("GSI1", pk="P", sk="S", when={})}, r"Row\.it: when= is neither"),
    ({"it": index_key("GSI1", pk="P", sk="S", when=bool)}, r"Row\.it: when= is a function; say which fields.*uses="),
    ({"it": index_key("GSI1", pk="P", sk="S", when=bool, uses=("x",))}, r"Row\.it: names the field 'x'"),
    ({"it": index_key("GSI1", pk="P", sk="S", uses=("a",))}, r"Row\.it: has uses= without when=. Leave it out"),
    (
        {"it": index_key("GSI1", pk="A#{a}", sk="S"), "that": index_key("GSI2", pk="B#{a}", sk="S")},
        r"Row\.that: and 'it' both write 'G1P'",
    ),
    (
        {"it": index_key("GSI1", pk="A#{a}", sk="S"), "that": index_key("GSI2", pk="A#{a}", sk="S#{note}")},
        r"Row\.that: and 'it' both write 'G1P'.*Give each an index with attributes of its own",
    ),
    ({"annotations": {"status": Field[list[str]]}}, r"Row\.status: is stored as 'status', a key of index 'ByStatus'"),
    (
        {"annotations": {"status": Field[str | None]}, "status": field(default="x")},
        r"Row\.status: .*None would be stored as NULL.*default=None",
    ),
]


@pytest.mark.parametrize(("members", "message"), INDEX, ids=[case[1][:50] for case in INDEX])
def test_an_index_key_that_cannot_be_is_refused(members: dict[str, Any], message: str) -> None:
    """Unknown indexes and fields, templates that do not fit, and keys that could disagree."""
    with pytest.raises(DefinitionError, match=message):
        define(sk="S", **members)


def test_two_indexes_may_share_an_attribute_that_they_fill_alike() -> None:
    """The same template, on every row, is no contradiction."""
    row = define(
        sk="S",
        one=index_key("GSI1", pk="A#{a}", sk="X"),
        two=index_key("GSI2", pk="A#{a}", sk="Y"),
        annotations={},
    )
    made: Any = row
    item = made(a="1", b=1, flag=True, tags=[], at=datetime.fromisoformat("2024-01-01T00:00:00+00:00")).to_item()
    assert [item[name]["S"] for name in ("G1P", "G1S", "G2S")] == ["A#1", "X", "Y"]


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"type": ""}, r"the stored type '' is not a name"),
    ({"type": 3}, r"the stored type 3 is not a name"),
    ({"type": "tablekit:unique"}, r"the rows by which tablekit keeps values unique"),
    ({"aliases": "old"}, r"aliases='old' is one string; give a tuple, such as aliases=\('old',\)"),
    ({"aliases": ("Row",)}, r"the same name stands twice among type and aliases"),
    ({"aliases": ("a", "a")}, r"the same name stands twice"),
    ({"tabel": 3}, r"the class option 'tabel' is not known. Did you mean 'table'\?"),
    ({"table": "app"}, r"table='app' is no Table"),
    ({"table": None}, r"^Row has no table. Give one.*abstract=True"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[case[1][:40] for case in OPTIONS])
def test_a_class_option_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    """Types, aliases and the table itself."""
    given = {"table": Table("t"), "pk": "P", "sk": "S"} | options
    body = {"__annotations__": {"a": Field[str]}, "__module__": __name__}
    with pytest.raises(DefinitionError, match=message):
        type(Entity)("Row", (Entity,), body, **given)


def test_the_function_of_a_sparse_index_sees_what_it_declares() -> None:
    """A field that uses= does not name is not there, so that no update could miss it."""
    when: Callable[[Any], bool] = lambda row: row.flag and row.a == "x"  # noqa: E731
    made: Any = define(sk="S", it=index_key("GSI1", pk="P", sk="S", when=when, uses=("flag",)))
    row = made(a="x", b=1, flag=True, tags=[], at=datetime.fromisoformat("2024-01-01T00:00:00+00:00"))
    with pytest.raises(AttributeError, match="when= reads 'a', which uses= does not declare"):
        row.to_item()
