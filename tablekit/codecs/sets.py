"""The codec of set and frozenset."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import Bind, Codec, UnsupportedAnnotation, ValueProblem, is_a, payload, wrong_type

__all__ = ["SetCodec"]


class SetCodec(Codec[Any]):
    """A `set` or `frozenset` as ``SS``, ``NS`` or ``BS``.

    The members' type is one that is stored as a string, a number or binary; bool is not. DynamoDB has no
    empty set, so an empty one is written by leaving the attribute out. Members are written sorted, so that
    equal sets give equal requests.

    Parameters:
        item: the codec of the members. kind: ``"set"``, ``"frozenset"`` or ``"Set"``; what is read is a set for
            the first and a frozenset for the others. Either is taken.

    Raises `UnsupportedAnnotation` for a member type that DynamoDB has no set of.
    """

    python_types = (AbstractSet,)

    def __init__(self, item: Codec[Any], kind: str = "set") -> None:
        self.name = f"{kind}[{item.name}]"
        if item.key_type is None or item.nullable:
            raise UnsupportedAnnotation(
                f"{self.name}: DynamoDB has sets of strings, of numbers and of binary values only; use a list"
            )
        self.item = item
        self.make: Callable[[Any], Any] = set if kind == "set" else frozenset
        self._tag: str = item.key_type
        self.tags = frozenset({f"{self._tag}S"})
        self.empty = self.make
        self.copy = set if kind == "set" else None

    def encode(self, value: Any) -> AttributeValue | None:
        if not is_a(value, AbstractSet):
            raise wrong_type(self.name, value)
        if not value:
            return None
        texts = [self._member(each) for each in value]
        if len(set(texts)) < len(texts):
            raise ValueProblem("has two members that are stored alike")
        return {f"{self._tag}S": sorted(texts)}

    def _member(self, value: Any) -> Any:
        try:
            av = self.item.encode(value)
        except ValueProblem as problem:
            raise ValueProblem(f"has a member that {problem.reason}", problem.path) from None
        assert av is not None
        return av[self._tag]

    def decode(self, av: AttributeValue) -> Any:
        texts = payload(av, f"{self._tag}S", self.name)
        try:
            return self.make([self.item.decode({self._tag: text}) for text in texts])
        except ValueProblem as problem:
            raise ValueProblem(f"has a member that cannot be read: {problem.reason}") from None

    def decode_source(self, av: str, bind: Bind) -> str:
        stored = f'{av}["{self._tag}S"]'
        make = "set" if self.make is set else "frozenset"
        # A member's source reads its own attribute value; most need only the text in it.
        member = self.item.decode_source("\0", bind)
        text = f'\0["{self._tag}"]'
        if member == text:
            return f"{make}({stored})"
        if text in member and member.count("\0") == 1:
            return f"{make}([{member.replace(text, 'x')} for x in {stored}])"
        decode = bind("decode_member", self.item.decode)
        return f'{make}([{decode}({{"{self._tag}": x}}) for x in {stored}])'
