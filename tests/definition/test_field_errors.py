"""What a field cannot be: each error names the class and the field, and says what to do."""

from __future__ import annotations

import enum
import re
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pytest

from tablekit import DefinitionError, Entity, Field, Table, field, ttl, version
from tablekit.codecs.base import Codec


@attrs.define
class Part:
    """A nested class that can be changed."""

    tags: list[str] = attrs.field(factory=list)


@attrs.define(eq=False)
class Loose:
    """A nested class that can be changed and is hashable all the same."""

    n: int = 0


@attrs.frozen
class Fixed:
    """A nested class that cannot be changed."""

    n: int = 0


@attrs.frozen
class Holder:
    """A frozen class around a list."""

    items: list[int]


class Status(enum.Enum):
    """An enum for defaults."""

    ON = "on"


class Custom(Codec[Any]):
    """A codec whose encode raises what it likes, with the value in the message."""

    name = "Custom"

    def encode(self, value: Any) -> dict[str, Any] | None:
        raise KeyError(value)


def define(annotation: Any, declared: Any, **options: Any) -> type[Entity]:
    """A class with one field of the name `it`."""
    body = {"__annotations__": {"it": Field[annotation]}, "it": declared, "__module__": __name__}
    table = options.pop("table", None) or Table("t")
    made: Any = type(Entity)("Row", (Entity,), body, table=table, pk="P", sk="S", **options)
    return made  # type: ignore[no-any-return]


DEFAULTS = [
    (list[str], field(default=[]), r"a list as its default would be shared.*field\(factory=list\)"),
    (list[str], field(default=["a"]), r"field\(factory=lambda: list\(\.\.\.\)\)"),
    (dict[str, int], field(default={}), "a dict as its default would be shared"),
    (set[str], field(default=set()), "a set as its default would be shared"),
    (Part, field(default=Part()), "a Part as its default would be shared"),
    (Loose, field(default=Loose()), "a Loose as its default would be shared"),
    (Holder, field(default=Holder([1])), "a Holder as its default would be shared"),
    (tuple[list[int]], field(default=([1],)), "a tuple as its default would be shared"),
    (list[str], field(on_missing=[]), r"a list as its on_missing would be shared.*field\(on_missing=list\)"),
    (str, field(default=3), "its default is no value of str"),
    (str, field(default=None), r"its default is None, and str does not take None.*Field\[str \| None\]"),
    (int, field(default=True), "its default is no value of int"),
    (int, field(on_missing="x"), "its on_missing is no value of int"),
    (datetime, field(default=datetime(2024, 1, 1)), "its default is no value of datetime"),  # noqa: DTZ001
    (list[str], field(default=list), r"its default is no value of list\[str\]"),
    (Any, field(default=1, codec=Custom()), r"its default is no value of Custom \(KeyError\)"),
    (str, Part(), "its default is no value of str|would be shared"),
    (str, field(default="a", factory=str), r"both default= and factory=. Keep one"),
    (str, field(factory="x"), r"factory= is not callable"),
    (datetime, ttl(default=1_700_000_000_000), "its default wants epoch seconds.*divide it by 1000"),
]


@pytest.mark.parametrize(("annotation", "declared", "message"), DEFAULTS, ids=[case[2][:40] for case in DEFAULTS])
def test_a_default_that_cannot_be_is_refused(annotation: Any, declared: Any, message: str) -> None:
    """R08: shared mutable values and values of another type are found when the class is made."""
    with pytest.raises(DefinitionError, match=rf"^Row\.it: .*({message})") as caught:
        define(annotation, declared)
    assert (caught.value.owner, caught.value.field) == ("Row", "it")


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Status, Status.ON),
        (tuple[int, ...], (1, 2)),
        (frozenset[str], frozenset({"a"})),
        (Fixed, Fixed(3)),
        (str | None, None),
        (Any, "x"),
    ],
)
def test_values_that_cannot_change_are_good_defaults(annotation: Any, default: Any) -> None:
    """R08: enum members, tuples, frozensets and frozen classes may be shared."""
    row: Any = define(annotation, field(default=default))
    assert row().it == default


OTHERS = [
    (complex, field(), r"complex has no codec"),
    (set[bool], field(), "DynamoDB has sets of strings, of numbers and of binary"),
    (int | float, field(), "both stored as a number"),
    (list, field(codec=str), r"codec= is a type\. Give a Codec"),
    (str, field(validator=[3]), r"validator= is not callable"),
    (str, field(name="a[0]"), r"the attribute name 'a\[0\]' has a bracket.*Give it another name="),
    (str, field(name=""), r"name='' is no attribute name"),
    (str, field(name="x" * 70_000), "its attribute name is over 64 KB"),
    (str, field(name="EntityType"), r"is stored as 'EntityType', which tablekit writes itself.*another name="),
    (str, field(name="_w"), r"is stored as '_w', which tablekit writes itself"),
    (str, field(name="PK"), r"is stored as 'PK', the table's key attribute.*another name="),
    (int, ttl(), r"a ttl\(\) field holds a time: annotate Field\[datetime\]"),
]


@pytest.mark.parametrize(("annotation", "declared", "message"), OTHERS, ids=[case[2][:40] for case in OTHERS])
def test_a_field_that_cannot_be_is_refused(annotation: Any, declared: Any, message: str) -> None:
    """Unsupported types, foreign codecs and stored names that are taken."""
    with pytest.raises(DefinitionError, match=rf"^Row\.it: .*{message}"):
        define(annotation, declared)


def test_an_entity_is_no_field_of_another() -> None:
    """A row cannot stand inside another; the remedy is its key."""

    class Inner(Entity, table=Table("t"), pk="P", sk="S"):
        name: Field[str]

    with pytest.raises(DefinitionError, match=r"Row\.it: .*Inner is an entity.*keep the fields of its key"):
        define(list[Inner], field())


@pytest.mark.parametrize("name", ["get", "save", "key", "aio", "entity_type", "source", "replace", "after_load"])
def test_names_of_the_library_are_reserved(name: str) -> None:
    """A field of a public name of Entity is refused, and the stored name can be kept."""
    body = {"__annotations__": {name: Field[str]}, "__module__": __name__}
    remedy = re.escape(f'`{name}_: Field[...] = field(name="{name}")`')
    with pytest.raises(DefinitionError, match=rf"Row\.{name}: .*{remedy}"):
        type(Entity)("Row", (Entity,), body, table=Table("t"), pk="P", sk="S")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("get", "Call it otherwise"),
        ("entity_type", r'the stored type is a class option: `type="\.\.\."`'),
        ("__init__", "Write a classmethod"),
        ("__attrs_post_init__", r"not for rows that are read\. Use field\(factory=\.\.\.\)"),
        ("__attrs_pre_init__", "Write a classmethod"),
    ],
)
@pytest.mark.parametrize("mixed_in", [False, True])
def test_methods_that_the_library_needs_are_not_overridden(name: str, remedy: str, *, mixed_in: bool) -> None:
    """Neither the class nor a mixin before Entity may hide what callers rely on."""
    body = {name: lambda self: None, "__module__": __name__}
    bases: tuple[type, ...] = (type("Mixin", (), body), Entity) if mixed_in else (Entity,)
    own = {"__module__": __name__} if mixed_in else body
    with pytest.raises(DefinitionError, match=rf"Row\.{name}.*: .*{remedy}"):
        type(Entity)("Row", bases, own, table=Table("t"), pk="P", sk="S")


def test_hooks_may_be_overridden() -> None:
    """The methods made for it are the exception."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        name: Field[str]

        def after_load(self) -> None:
            self.name = self.name.upper()

    assert Row.from_item(Row(name="a").to_item()).name == "A"


def test_a_field_may_not_be_called_self_or_begin_like_tablekit_s_own() -> None:
    """Both would break the instance, and are refused with a word."""
    for name in ("self", "_tk_base"):
        body = {"__annotations__": {name: Field[str]}, "__module__": __name__}
        with pytest.raises(DefinitionError, match=rf"Row\.{name}: .*Call the field otherwise"):
            type(Entity)("Row", (Entity,), body, table=Table("t"), pk="P", sk="S")


def test_two_fields_are_not_stored_under_one_name() -> None:
    """One attribute holds one field."""
    with pytest.raises(DefinitionError, match=r"Row\.b: is stored as 'a', and so is 'a'. Give one another name="):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            a: Field[str]
            b: Field[str] = field(name="a")


@pytest.mark.parametrize("ring", [0, 9])
def test_the_ring_of_markers_has_one_to_eight(ring: int) -> None:
    """More markers would only make the row heavier."""
    with pytest.raises(DefinitionError, match=r"Row\.revision: version\(ring=\d\) must be 1 to 8"):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            revision = version(ring=ring)


def test_a_time_to_live_may_begin_from_now() -> None:
    """`ttl(default=timedelta(...))` is taken for each new object, and does not make old rows expire."""

    class Row(Entity, table=Table("t"), pk="P", sk="S"):
        expires_at: Field[datetime | None] = ttl(default=timedelta(hours=1))

    row = Row()
    assert row.expires_at is not None
    assert abs(row.expires_at - datetime.now(timezone.utc) - timedelta(hours=1)) < timedelta(minutes=1)
    item = row.to_item()
    del item["expires_at"]
    assert Row.from_item(item).expires_at is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aliases": 5}, "aliases=5 is no tuple of names"),
        ({"also_keys": 5}, "also_keys=5 is no tuple of keys"),
    ],
)
def test_class_options_of_a_wrong_kind_are_refused(options: Any, message: str) -> None:
    """Each names the class and shows what to give."""
    with pytest.raises(DefinitionError, match=message):

        class Row(Entity, table=Table("t"), pk="P", sk="S", **options):
            pass


def test_a_validator_that_is_no_function_is_refused() -> None:
    """Class and field are named, which a function that only declares the field does not know."""
    with pytest.raises(DefinitionError, match=r"Row\.title: validator= is not callable"):

        class Row(Entity, table=Table("t"), pk="P", sk="S"):
            title: Field[str] = field(validator=3)  # type: ignore[call-overload]
