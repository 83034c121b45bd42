"""Codecs of Optional and of unions whose members the wire can tell apart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import TAG_WORDS, Bind, Codec, UnsupportedAnnotation, ValueProblem, wrong_type
from tablekit.codecs.codegen import Names, compile_function
from tablekit.codecs.compare import canonical, check_depth, too_deep
from tablekit.codecs.nested import NestedCodec

__all__ = ["LazyCodec", "OptionalCodec", "UnionCodec"]


class OptionalCodec(Codec[Any]):
    """A type or None; None is ``NULL`` (the item layer leaves it out where a missing attribute reads as None)."""

    nullable = True

    def __init__(self, inner: Codec[Any]) -> None:
        self.inner = inner
        self.name = f"{inner.name} | None"
        self.tags = inner.tags | {"NULL"}
        self.python_types = (*inner.python_types, type(None))
        self.key_type = inner.key_type
        self.open_depth = inner.open_depth
        copy = inner.copy
        if copy is not None:
            self.copy = lambda value: None if value is None else copy(value)

    def encode(self, value: Any) -> AttributeValue | None:
        return {"NULL": True} if value is None else self.inner.encode(value)

    def decode(self, av: AttributeValue) -> Any:
        return None if "NULL" in av else self.inner.decode(av)

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self.inner.child(segment)

    def attribute_name(self, segment: Any) -> str | None:
        return self.inner.attribute_name(segment)

    def reads_empty(self, segment: Any) -> bool:
        return self.inner.reads_empty(segment)

    def encode_step(self, value: Any) -> AttributeValue | None:
        return self.encode(value) if value is None else self.inner.encode_step(value)

    def decode_source(self, av: str, bind: Bind) -> str:
        if av.isidentifier():
            return f'(None if "NULL" in {av} else {self.inner.decode_source(av, bind)})'
        names = Names()
        source = f"def read(av):\n    return {self.decode_source('av', names.bind)}\n"
        return f"{bind('read', compile_function('read', source, names.namespace))}({av})"

    def encode_source(self, value: str, bind: Bind) -> str:
        return f'({{"NULL": True}} if {value} is None else {self.inner.encode_source(value, bind)})'


class UnionCodec(Codec[Any]):
    """One of several types, told apart by the stored tag.

    Of several nested classes, all stored as maps, each needs a `Literal` field of the same stored name whose values
    no other has. `check` raises `UnsupportedAnnotation` when two members cannot be told apart.
    """

    def __init__(self, members: tuple[Codec[Any], ...]) -> None:
        self.members = members
        self.name = " | ".join(member.name for member in members)
        self.tags = frozenset[str]().union(*(member.tags for member in members))
        self.python_types = tuple({cls for member in members for cls in member.python_types})
        self.nullable = any(member.nullable for member in members)
        self.open_depth = any(member.open_depth for member in members)
        empties = [member.empty for member in members if member.tags & {"SS", "NS", "BS"}]
        self.empty = empties[0] if len(empties) == 1 else None
        self._by_tag: dict[str, Codec[Any]] = {}
        self._maps: list[NestedCodec] = []
        for member in members:
            self._place(member)
        self.copy = self._copier()

    def _place(self, member: Codec[Any]) -> None:
        for tag in member.tags:
            other = self._by_tag.get(tag)
            if other is not None and not (isinstance(member, NestedCodec) and isinstance(other, NestedCodec)):
                raise UnsupportedAnnotation(
                    f"{self.name}: {other.name} and {member.name} are both stored as {TAG_WORDS[tag]}, so a stored "
                    "value does not say which it is"
                )
            self._by_tag[tag] = member
        if isinstance(member, NestedCodec):
            self._maps.append(member)

    def check(self) -> None:
        """Find how nested classes are told apart, once their fields are known."""
        if len(self._maps) <= 1:
            return
        literals = [member.literals() for member in self._maps]
        for name in literals[0]:
            if all(name in each for each in literals):
                values = [each[name] for each in literals]
                if len(frozenset[Hashable]().union(*values)) == sum(map(len, values)):
                    self._by_tag["M"] = _Discriminated(self.name, name, dict(zip(self._maps, values, strict=True)))
                    return
        names = " and ".join(member.name for member in self._maps)
        raise UnsupportedAnnotation(
            f"{self.name}: {names} are all stored as maps; give each a field of the same name annotated with a Literal "
            "of its own"
        )

    def _copier(self) -> Callable[[Any], Any] | None:
        copies = [(member.python_types, member.copy) for member in self.members if member.copy is not None]
        if not copies:
            return None

        def copy(value: Any) -> Any:
            return next((each(value) for types, each in copies if isinstance(value, types)), value)

        return copy

    def encode(self, value: Any) -> AttributeValue | None:
        fitting = [member for member in self.members if isinstance(value, member.python_types)]
        if not fitting:
            raise wrong_type(self.name, value)
        for member in fitting[:-1]:
            with contextlib.suppress(ValueProblem):
                return member.encode(value)
        return fitting[-1].encode(value)

    def decode(self, av: AttributeValue) -> Any:
        for tag in av:
            member = self._by_tag.get(tag)
            if member is not None:
                return member.decode(av)
        raise ValueProblem(
            f"the stored value is {TAG_WORDS.get(next(iter(av), ''), 'of an unknown type')}; no {self.name}"
        )

    def child(self, segment: str | int) -> Codec[Any] | None:
        found = [child for member in self.members if (child := member.child(segment)) is not None]
        return found[0] if len(found) == 1 else None

    def attribute_name(self, segment: Any) -> str | None:
        found = {name for member in self.members if (name := member.attribute_name(segment)) is not None}
        return found.pop() if len(found) == 1 else None


class _Discriminated(Codec[Any]):
    """Several nested classes, chosen by the value of one attribute."""

    def __init__(self, name: str, attribute: str, members: dict[NestedCodec, frozenset[Hashable]]) -> None:
        self.name = name
        self._attribute = attribute
        self._by_value = {value: member for member, values in members.items() for value in values}

    def decode(self, av: AttributeValue) -> Any:
        stored: AttributeValue | None = av["M"].get(self._attribute)
        member = self._by_value.get(canonical(stored)) if stored else None
        if member is None:
            raise ValueProblem(f"the stored map does not say which of {self.name} it is", f".{self._attribute}")
        return member.decode(av)


class LazyCodec(Codec[Any]):
    """Stands for a codec that is still being made: of an alias that contains itself."""

    open_depth = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.target: Codec[Any] | None = None
        self.copy = self._copy

    def _copy(self, value: Any) -> Any:
        copy = self._found().copy
        return value if copy is None else copy(value)

    def _found(self) -> Codec[Any]:
        assert self.target is not None, "an alias is used after it is made"
        return self.target

    def encode(self, value: Any) -> AttributeValue | None:
        try:
            av = self._found().encode(value)
        except RecursionError:
            raise too_deep() from None
        if av is not None:
            check_depth(av)
        return av

    def decode(self, av: AttributeValue) -> Any:
        return self._found().decode(av)

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self._found().child(segment)

    def attribute_name(self, segment: Any) -> str | None:
        return self._found().attribute_name(segment)
