"""The codec: how one Python type stands as an attribute value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from tablekit._types import AttributeValue, KeyType

__all__ = [
    "HIDDEN_KEY",
    "Bind",
    "Codec",
    "UnsupportedAnnotation",
    "ValueProblem",
    "is_a",
    "payload",
    "veiled",
    "wrong_type",
]

T = TypeVar("T")

Bind = Callable[[str, Any], str]
"""Gives an object a name in generated code: ``bind(hint, object)`` returns the name."""

TAG_WORDS = {
    "S": "a string (S)",
    "N": "a number (N)",
    "B": "binary (B)",
    "BOOL": "a boolean (BOOL)",
    "NULL": "NULL",
    "L": "a list (L)",
    "M": "a map (M)",
    "SS": "a string set (SS)",
    "NS": "a number set (NS)",
    "BS": "a binary set (BS)",
}


class ValueProblem(ValueError):
    """A value that a codec cannot encode, or a stored value that it cannot read.

    It carries no value, only the reason and the path inside the value; the caller, who knows entity and
    field, turns it into `EncodeError` or `DecodeError`.

    Attributes:
        reason: what is wrong and what is wanted, without the value. path: such as ``[2].price``.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.path)

    def at(self, segment: str) -> ValueProblem:
        """The same problem seen from one level up."""
        return ValueProblem(self.reason, segment + self.path)


HIDDEN_KEY: Final = '"***"'
"""What stands in place of a key of a secret map."""


def veiled(path: str) -> str:
    """A path inside a secret value, up to the first key of a map: such keys are as secret as the values."""
    before, found, _ = path.partition('["')
    return f"{before}[{HIDDEN_KEY}]" if found else path


class UnsupportedAnnotation(ValueError):
    """No codec can be made for an annotation; the definition layer turns it into `DefinitionError`.

    Attributes:
        reason: what is wrong, and what to write in its place.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Codec(Generic[T]):
    """How one Python type stands as an attribute value.

    A subclass overrides `encode`, `decode` and what it differs in. A codec is made once for a field, when
    the class is made, and is immutable.

    Attributes:
        name: the Python type for messages, such as ``"list[int]"``.
        tags: the wire tags that it writes, such as ``{"S"}``; ``NULL`` included when None is accepted.
        python_types: the classes whose instances it encodes; a union chooses among its members by them.
        nullable: whether None is a value of the type.
        copy: makes an independent copy of a value at every depth; None where values are immutable and may
            be shared.
        empty: makes what a missing attribute of this type reads as (an empty list, dict, set); None where a
            missing attribute has no natural value.
        key_type: the scalar type when the type can itself be a key attribute (``{"S": ...}`` and the like).
        open_depth: whether values may nest to any depth (`Any`, a class that contains itself), so that
            the depth of an item that holds one must be measured.
    """

    name: str = "Any"
    tags: frozenset[str] = frozenset()
    python_types: tuple[type[Any], ...] = (object,)
    nullable: bool = False
    copy: Callable[[T], T] | None = None
    empty: Callable[[], T] | None = None
    key_type: KeyType | None = None
    open_depth: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def encode(self, value: T) -> AttributeValue | None:
        """The attribute value; None when the value is written by leaving the attribute out (an empty set).

        Raises `ValueProblem` for a value that is not of the type or that DynamoDB cannot store.
        """
        raise AssertionError("a codec overrides encode")

    def decode(self, av: AttributeValue) -> T:
        """The Python value. Raises `ValueProblem`, or any exception, for a value that it cannot read."""
        raise AssertionError("a codec overrides decode")

    def child(self, segment: str | int) -> Codec[Any] | None:
        """The codec of a value inside: a map's key, a list's index, a nested class's Python field name.

        None when the type has no such inside.
        """
        return None

    def attribute_name(self, segment: Any) -> str | None:
        """The stored name of a value inside: of a nested class's Python field name, or of a map's key.

        None when the type has no such inside.
        """
        return None

    def reads_empty(self, segment: Any) -> bool:
        """Whether a value inside that is not stored reads as an empty set, so that one is written by removing it."""
        return False

    def encode_step(self, value: Any) -> AttributeValue | None:
        """What is added to a stored value or taken from it, in an update; of the type itself for most types."""
        return self.encode(value)

    def decode_source(self, av: str, bind: Bind) -> str:
        """A Python expression that decodes the attribute value named by the expression `av`.

        It is pasted into the generated decoder of a class. `bind(hint, object)` gives a name under which
        an object is visible there. The expression equals `decode` on every value that tablekit writes; it
        may raise on a value that is valid but spelled otherwise (the caller then asks `decode`), and it
        raises on every invalid one. It evaluates `av` once, or more often where `av` is a plain name.
        """
        return f"{bind('decode', self.decode)}({av})"

    def copy_source(self, value: str, bind: Bind) -> str:
        """A Python expression that copies a value which was just decoded, the way of `copy`."""
        return f"{bind('copy', self.copy)}({value})"

    def encode_source(self, value: str, bind: Bind) -> str:
        """A Python expression that encodes the value under the plain name `value`, the way of `encode`."""
        return f"{bind('encode', self.encode)}({value})"


def payload(av: AttributeValue, tag: str, name: str) -> Any:
    """What stands under `tag` in an attribute value.

    Raises `ValueProblem` when the value has another tag; `name` is the Python type for the message.
    """
    if tag in av:
        return av[tag]
    found = next(iter(av), "")
    if found == "NULL":
        raise ValueProblem(f"the stored value is NULL, and {name} does not take None")
    word = TAG_WORDS.get(found, f"of the unknown type {found!r}")
    raise ValueProblem(f"the stored value is {word}; {name} is read from {TAG_WORDS[tag]}")


def is_a(value: Any, types: type[Any] | tuple[type[Any], ...]) -> bool:
    """`isinstance`, which leaves the checkers' view of the value as it was: ``Any``."""
    return isinstance(value, types)


def wrong_type(name: str, value: Any) -> ValueProblem:
    """The problem of a value whose class is not the declared one."""
    if value is None:
        return ValueProblem(f"is None, and {name} does not take None")
    return ValueProblem(f"is of type {type(value).__qualname__}, not {name}")
