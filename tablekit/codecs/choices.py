"""Codecs of Enum and Literal: one of a closed list of values."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from typing import Any

from tablekit._types import AttributeValue, KeyType
from tablekit.codecs.base import Bind, Codec, UnsupportedAnnotation, ValueProblem, wrong_type
from tablekit.codecs.compare import canonical
from tablekit.codecs.freeform import decode_free, encode_free

__all__ = ["EnumCodec", "LiteralCodec"]


def _encode_choice(value: Any, where: str) -> AttributeValue:
    plain = value.value if isinstance(value, enum.Enum) else value
    try:
        return encode_free(plain)
    except ValueProblem as problem:
        raise UnsupportedAnnotation(f"{where} cannot be stored: its value {problem.reason}") from None


def _key_type(tags: Iterable[str]) -> KeyType | None:
    match sorted(tags):
        case ["S"]:
            return "S"
        case ["N"]:
            return "N"
        case ["B"]:
            return "B"
        case _:
            return None


class _ChoiceCodec(Codec[Any]):
    """What Enum and Literal share: a table from wire values to Python values."""

    def __init__(self, name: str, choices: list[tuple[Any, AttributeValue]]) -> None:
        self.name = name
        self.tags = frozenset(tag for _, av in choices for tag in av)
        self.key_type = _key_type(self.tags)
        self._by_wire: dict[Hashable, Any] = {}
        for value, av in choices:
            self._by_wire.setdefault(canonical(av), value)
        self._by_text = {av[tag]: value for value, av in choices for tag in av if tag in ("S", "N")}

    @property
    def wire_values(self) -> frozenset[Hashable]:
        """Every stored form, as `canonical` gives it; a union tells classes apart by them."""
        return frozenset(self._by_wire)

    def decode(self, av: AttributeValue) -> Any:
        try:
            return self._by_wire[canonical(av)]
        except KeyError:
            return self._unknown(av)

    def _unknown(self, av: AttributeValue) -> Any:
        raise ValueProblem(f"the stored value is none of those of {self.name}")

    def decode_source(self, av: str, bind: Bind) -> str:
        if self.key_type in ("S", "N"):
            return f'{bind("by_text", self._by_text)}[{av}["{self.key_type}"]]'
        return super().decode_source(av, bind)


class EnumCodec(_ChoiceCodec):
    """An `enum.Enum`, stored by value: str as ``S``, int as ``N``, anything else as a free-form value.

    A value that is no member's is offered to the enum's own ``_missing_``, and flags may be combined.
    Raises `UnsupportedAnnotation` for an enum without members, or with a value that cannot be stored.
    """

    def __init__(self, cls: type[enum.Enum]) -> None:
        if not cls.__members__:
            raise UnsupportedAnnotation(f"the enum {cls.__qualname__} has no members")
        choices = [(member, _encode_choice(member, str(member))) for member in cls.__members__.values()]
        super().__init__(cls.__qualname__, choices)
        self.python_types = (cls,)
        self._cls = cls
        # By identity: an enum with an __eq__ of its own has members that cannot be hashed.
        self._wires = {id(member): av for member, av in choices}

    def encode(self, value: Any) -> AttributeValue:
        if not isinstance(value, self._cls):
            raise wrong_type(self.name, value)
        av = self._wires.get(id(value))
        # A fresh dict each time: requests may be changed by whoever sends them.
        return dict(av) if av is not None and self.key_type else encode_free(value.value)

    def _unknown(self, av: AttributeValue) -> Any:
        try:
            return self._cls(decode_free(av))
        except (ValueError, TypeError, KeyError):
            return super()._unknown(av)


class LiteralCodec(_ChoiceCodec):
    """A `typing.Literal`, each value stored by its own class; ``1`` and ``True`` stay apart."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        name = f"Literal[{', '.join(map(_spell, values))}]"
        self._wires: dict[tuple[type[Any], Any], AttributeValue] = {
            (type(value), value): _encode_choice(value, f"{_spell(value)} of {name}") for value in values
        }
        super().__init__(name, [(value, av) for (_, value), av in self._wires.items()])
        if len(self._by_wire) < len(self._wires):
            raise UnsupportedAnnotation(f"two values of {name} are stored alike")
        self.python_types = tuple({cls for cls, _ in self._wires})
        self.nullable = None in values

    def encode(self, value: Any) -> AttributeValue:
        try:
            return dict(self._wires[type(value), value])
        except (KeyError, TypeError):
            raise ValueProblem(f"is none of the values of {self.name}") from None


def _spell(value: Any) -> str:
    return str(value) if isinstance(value, enum.Enum) else repr(value)
