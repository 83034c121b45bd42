"""What is found out about nested classes: fields, names, types and defaults."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import Annotated, Any, Generic, TypeVar

import attrs
import pytest

from tablekit._types import UNSET
from tablekit.codecs.base import UnsupportedAnnotation
from tablekit.codecs.extras import extra_of, keep_extra
from tablekit.codecs.inspection import Member, is_frozen, is_nested, members_of
from tablekit.codecs.resolve import codec_for

T = TypeVar("T")
U = TypeVar("U")
INT = codec_for(int)


@attrs.define
class Article:
    """An attrs class with one field of each kind."""

    title: str
    _slug: str = "s"
    double: int = attrs.field(init=False, default=0)
    price: int = attrs.field(default=1, metadata={"tablekit": {"name": "p", "codec": INT}})
    tags: list[str] = attrs.field(factory=list)
    first: str = attrs.Factory(lambda self: self.title, takes_self=True)


@dataclasses.dataclass
class Parcel:
    """A dataclass with one field of each kind."""

    weight: int
    volume: int = dataclasses.field(init=False, default=0)
    unit: str = dataclasses.field(default="kg", metadata={"tablekit": {"name": "u", "codec": INT}})
    labels: list[str] = dataclasses.field(default_factory=list)


@attrs.define
class Box:
    """A class that names another one of its module."""

    parcel: Parcel


@attrs.frozen
class FrozenAttrs:
    """An attrs class that cannot change."""

    n: int


@dataclasses.dataclass(frozen=True)
class FrozenData:
    """A dataclass that cannot change."""

    n: int


@attrs.define
class Holder(Generic[T, U]):
    """A generic class of two variables."""

    one: T
    many: dict[str, list[U]]
    pair: tuple[U, T]
    plain: list[int]
    note: Annotated[T, "noted"]


@attrs.define
class Half(Holder[int, T], Generic[T]):
    """A generic class that gives one variable of its base, and names its own like one of the base."""

    own: T


@attrs.define
class Whole(Half[str]):
    """A class that gives what is left."""

    more: bool


@attrs.define
class Middle(Holder[int, str]):
    """A class without variables between a generic one and a plain one."""


@attrs.define
class Bottom(Middle):
    """A class whose bindings come from the base of its base."""


@attrs.define(slots=False)
class Slot(Generic[T]):
    """A generic class of one variable."""

    held: T


@attrs.define(slots=False)
class Other(Generic[T]):
    """Another generic class with the same variable."""

    other: list[T]


@attrs.define
class Raw(Holder):  # type: ignore[type-arg]
    """A class that leaves its base's variables open."""


class Weak:
    """A class whose instances have slots and can be referred to weakly."""

    __slots__ = ("__weakref__",)


class Bare:
    """A class whose instances have neither a __dict__ nor weak references."""

    __slots__ = ()


class Kept(dict[str, Any]):
    """A dict that can be referred to weakly."""


def members(annotation: Any, cls: type[Any] | None = None, namespace: dict[str, Any] | None = None) -> Any:
    """The members of a class by name."""
    return {each.name: each for each in members_of(annotation, cls or annotation, namespace or {})}


def types(annotation: Any, cls: type[Any] | None = None) -> dict[str, Any]:
    """The annotations of a class's members by name."""
    return {name: each.annotation for name, each in members(annotation, cls).items()}


def shape(member: Member) -> tuple[Any, ...]:
    """All that is known of a member."""
    return (
        member.argument,
        member.attribute,
        member.annotation,
        member.default,
        member.factory,
        member.codec,
    )


def test_the_members_of_an_attrs_class() -> None:
    """Those of ``__init__``, in order, with the stored name and what stands in for a missing value."""
    found = members(Article)
    assert list(found) == ["title", "_slug", "price", "tags", "first"]
    assert shape(found["title"]) == ("title", "title", str, UNSET, UNSET, None)
    assert shape(found["_slug"]) == ("slug", "_slug", str, "s", UNSET, None)
    assert shape(found["price"]) == ("price", "p", int, 1, UNSET, INT)
    assert shape(found["tags"]) == ("tags", "tags", list[str], UNSET, list, None)
    assert found["first"].default is UNSET
    assert not callable(found["first"].factory)
    assert found["first"].factory is not UNSET


def test_the_members_of_a_dataclass() -> None:
    """They are found in the same way."""
    found = members(Parcel)
    assert list(found) == ["weight", "unit", "labels"]
    assert shape(found["weight"]) == ("weight", "weight", int, UNSET, UNSET, None)
    assert shape(found["unit"]) == ("unit", "u", str, "kg", UNSET, INT)
    assert shape(found["labels"]) == ("labels", "labels", list[str], UNSET, list, None)


@pytest.mark.parametrize(
    ("cls", "nested"),
    [(Article, True), (Parcel, True), (Weak, False), (int, False), (list[int], False), (Parcel(1), False)],
)
def test_attrs_classes_and_dataclasses_are_nested(cls: Any, nested: bool) -> None:
    """Other classes, generic types and instances are not."""
    assert is_nested(cls) is nested


@pytest.mark.parametrize(
    ("cls", "frozen"), [(FrozenAttrs, True), (FrozenData, True), (Article, False), (Parcel, False)]
)
def test_a_frozen_class_is_known(cls: type[Any], frozen: bool) -> None:
    """Both kinds of class say whether instances can change."""
    assert is_frozen(cls) is frozen


def test_a_plain_subclass_of_a_dataclass_has_the_fields_of_its_base() -> None:
    """It is as frozen as its base, and is read and written."""

    class Plain(FrozenData):
        """A class that is no dataclass of its own."""

    codec = codec_for(Plain)
    assert is_frozen(Plain)
    assert codec.copy is None
    read = codec.decode(codec.encode(Plain(1)))
    assert (read, type(read)) == (Plain(1), Plain)


def test_a_generic_class_with_arguments() -> None:
    """Each variable stands for its argument, at every depth; what is plain stays."""
    assert types(Holder[int, str], Holder) == {
        "one": int,
        "many": dict[str, list[str]],
        "pair": tuple[str, int],
        "plain": list[int],
        "note": Annotated[int, "noted"],
    }


def test_a_generic_class_without_arguments_keeps_its_variables() -> None:
    """They are refused later, by name."""
    expected = {"one": T, "many": dict[str, list[U]], "pair": tuple[U, T], "plain": list[int]}
    assert types(Holder) == {**expected, "note": Annotated[T, "noted"]}
    assert types(Raw) == types(Holder)


def test_a_variable_means_what_its_own_class_says() -> None:
    """A subclass may use the variable of its base for something else."""
    expected = {
        "one": int,
        "many": dict[str, list[str]],
        "pair": tuple[str, int],
        "plain": list[int],
        "note": Annotated[int, "noted"],
        "own": str,
    }
    assert types(Half[str], Half) == expected
    assert types(Whole) == {**expected, "more": bool}


def test_bindings_are_found_through_plain_classes() -> None:
    """A base that has no variables of its own passes those of its base on."""
    assert types(Bottom) == types(Middle) == types(Holder[int, str], Holder)


def test_bindings_are_found_through_each_of_several_bases() -> None:
    """A class of two plain bases has the types of both."""

    @attrs.define(slots=False)
    class One(Slot[int]):
        pass

    @attrs.define(slots=False)
    class Two(Other[str]):
        pass

    @attrs.define(slots=False)
    class Both(One, Two):
        pass

    assert types(Both) == {"held": int, "other": list[str]}


def test_a_variable_may_be_given_another_variable() -> None:
    """An argument that is a variable stays one until it is given in turn."""
    assert types(Half[T], Half)["many"] == dict[str, list[T]]
    assert types(Half[list[U]], Half)["own"] == list[U]


def test_a_field_without_an_annotation_is_refused() -> None:
    """The class can be made; nothing could be stored in the field."""
    cls = attrs.make_class("Loose", {"n": attrs.field()})
    with pytest.raises(UnsupportedAnnotation) as caught:
        members(cls)
    assert caught.value.reason == "Loose.n has no annotation"


def test_a_type_may_be_given_beside_an_annotation() -> None:
    """``attrs.field(type=...)`` stands for the annotation where there is none."""

    class Typed:
        """A class whose fields are declared elsewhere."""

    cls = attrs.define(Typed, these={"n": attrs.field(type=int)})
    assert types(cls) == {"n": int}


def test_none_is_an_annotation() -> None:
    """It is not taken for a missing one."""

    @attrs.define
    class Nothing:
        n: None

    assert types(Nothing) == {"n": type(None)}


@pytest.mark.parametrize(("default", "kind"), [([], "list"), ({}, "dict"), (set(), "set"), (bytearray(), "bytearray")])
def test_a_default_that_all_instances_would_share_is_refused(default: Any, kind: str) -> None:
    """The message names the class, the field and the factory to write."""
    cls = attrs.make_class("Shared", {"items": attrs.field(default=default, type=list)})
    with pytest.raises(UnsupportedAnnotation) as caught:
        members(cls)
    shared = f"Shared.items has a {kind} as its default, which all instances would share"
    assert caught.value.reason == f"{shared}; write factory={kind}"


def test_a_name_that_cannot_be_found_is_told() -> None:
    """The message names the class, the name and the remedy."""

    @attrs.define
    class Lost:
        n: Missing  # type: ignore[name-defined]  # noqa: F821  the missing name is the case

    with pytest.raises(UnsupportedAnnotation) as caught:
        members(Lost)
    place = "an annotation of test_a_name_that_cannot_be_found_is_told.<locals>.Lost names Missing"
    remedy = "define it in the module, and not under TYPE_CHECKING only"
    assert caught.value.reason == f"{place}, which cannot be found; {remedy}"


def test_a_class_of_a_function_sees_its_own_names_first() -> None:
    """A name given in the namespace hides one of the module for a class that was made among it."""

    @attrs.define
    class Local:
        inner: Article

    assert types(Local) == {"inner": Article}
    assert members(Local, namespace={"Article": Parcel})["inner"].annotation is Parcel


def test_a_class_of_a_module_sees_its_modules_names_first() -> None:
    """A name given in the namespace serves only where the module has none."""

    @attrs.define
    class Outer:
        inner: Article

    Outer.__qualname__ = "Outer"
    assert members(Outer, namespace={"Article": Parcel})["inner"].annotation is Article


def test_a_class_may_name_itself() -> None:
    """A class of a function is found by its own name, and by those of its bases."""

    @attrs.define
    class Tree:
        children: list[Tree]

    @attrs.define
    class Special(Tree):
        parent: Special | None

    assert types(Tree) == {"children": list[Tree]}
    assert types(Special) == {"children": list[Tree], "parent": Special | None}


def test_a_subclass_hides_no_name_of_its_bases() -> None:
    """What a base's annotation names is found in the base's module, whatever a subclass is called."""
    other = attrs.make_class("Parcel", {}, bases=(Box,))
    assert types(other) == {"parcel": Parcel}


def test_undeclared_attributes_are_kept_with_an_object() -> None:
    """In its ``__dict__``, beside it when it has none, and not at all when nothing can refer to it."""
    extra = {"later": {"S": "v2"}}
    loose, weak, bare = Parcel(1), Weak(), Bare()
    for target in (loose, weak, bare):
        assert extra_of(target) is None
        keep_extra(target, extra)
    assert (extra_of(loose), extra_of(weak), extra_of(bare)) == (extra, extra, None)
    assert extra_of(Weak()) is None


def test_undeclared_attributes_are_let_go_with_their_object() -> None:
    """A program that reads many rows does not keep what came with each of them."""
    target, extra = Weak(), Kept(later={"S": "v2"})
    keep_extra(target, extra)
    kept = weakref.ref(extra)
    del extra
    gc.collect()
    assert kept() is not None
    del target
    gc.collect()
    assert kept() is None
