"""The parts of a key template: what type a part has, which value it takes, which texts may stand in it."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tablekit.codecs.base import ValueProblem
from tablekit.definition.keyshape import KeyText
from tablekit.definition.keysyntax import RawPart, TemplateProblem
from tablekit.definition.keytext import bare_type, is_plain_text, key_text_for

__all__ = ["MISSING", "Part", "Types", "check_lossy", "native_problem", "text_of", "value_at"]

Types = Mapping[str, Any] | Callable[[str], Any]
"""The fields' annotations by name, or a function that gives one and raises KeyError for an unknown name."""

MISSING: Final = object()
"""Stands for a value that is not given, where None is one."""


class Part:
    """One part of a template.

    Attributes:
        name: the field's name, dotted for a value inside the field. spec: the format, or "".
        text: how its values are written. width: its fixed number of characters, or None.
        lossless: whether the value can be read back from the key.
        following: the literal that its value may not run into; "" where there is none.
        last: whether nothing follows it. optional: whether it belongs to the optional tail.
    """

    __slots__ = ("following", "last", "lossless", "name", "optional", "spec", "text", "width")

    def __init__(self, name: str, spec: str, text: KeyText, following: str, *, last: bool, optional: bool) -> None:
        self.name = name
        self.spec = spec
        self.text = text
        self.width = text.width(spec)
        self.lossless = text.lossless(spec)
        self.following = following
        self.last = last
        self.optional = optional

    def __repr__(self) -> str:
        return f"Part({self.name!r}, {self.spec!r})"

    @property
    def field(self) -> str:
        """The name of the field that the part is taken from."""
        return self.name.partition(".")[0]

    @property
    def ordered(self) -> bool:
        """Whether keys that agree before this part sort by its values.

        A text of varying width that something follows does not sort by itself: ``a!`` is after ``a``, but
        ``a!#`` is before ``a#``.
        """
        return self.text.ordered(self.spec) and (self.last or self.width is not None)

    def problem(self, text: str, separator: str | None) -> str | None:
        """Why the text may not stand in the part, as the rest of a sentence; None when it may."""
        if not text:
            return "is empty"
        if self.width is not None:
            return None
        if separator and separator in text:
            return f"holds {separator!r}, which separates the parts of this table's keys"
        if self.following and (text + self.following).find(self.following) < len(text):
            return f"runs into {self.following!r}, which follows the part in the template"
        return None

    def beginning_problem(self, beginning: Any, separator: str | None) -> str | None:
        """Why no text of the part can begin so, as the rest of a sentence; None when one may."""
        if not isinstance(beginning, str):
            return f"wants the beginning of its text as a str, got {type(beginning).__name__}"
        if self.text.numeric:
            return "is a number, which has no beginning; ask for a range of it"
        if not beginning or not is_plain_text(beginning):
            return "wants a beginning that is not empty and holds no lone surrogate"
        refused = [text for text in (separator, self.following) if text and text in beginning]
        if self.width is None and refused:
            return f"holds {refused[0]!r}, which separates the part from what follows it"
        return None


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """The value of a part, by its name; `MISSING` where its field is not given, None inside a None."""
    head, *inner = name.split(".")
    if head not in values:
        return values.get(name, MISSING) if inner else MISSING
    value = values[head]
    for step in inner:
        value = getattr(value, step, None)
    return value


class _NativeOnly(KeyText):
    """A type that may be a key by itself, but has no text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def render(self, value: Any, spec: str = "") -> str:
        raise ValueProblem(f"is of type {self.name}, which has no text for a key")

    def parse(self, text: str, spec: str = "") -> Any:
        raise ValueError(f"{self.name} has no text for a key")


def native_problem(text: KeyText) -> str | None:
    """Why a bare field cannot stand as text, as the rest of a sentence; None when it can."""
    if not isinstance(text, _NativeOnly):
        return None
    return f"is a field of type {text.name}, which has no text for a key; make the key attribute one of its own type"


def text_of(part: RawPart, types: Types, *, native: bool) -> KeyText:
    """How a part's values are written. Raises `TemplateProblem`; not for a bare field of a type without text."""
    annotation = _annotation(part.name, types)
    text = key_text_for(annotation)
    if text is None:
        name = getattr(bare_type(annotation), "__name__", None) or str(annotation)
        if native:
            return _NativeOnly(name)
        raise TemplateProblem(
            f"has the part {part.name!r} of type {name}, which has no text for a key; use a str, int, Decimal, bool, "
            "UUID, date, datetime, or an Enum or Literal of str or int values",
            part.name,
        )
    problem = text.check_spec(part.spec)
    if problem is not None:
        raise TemplateProblem(f"has a wrong format for the part {part.name!r}: {problem}", part.name)
    return text


def _annotation(name: str, types: Types) -> Any:
    annotation = _looked_up(name, types)
    if annotation is not MISSING:
        return annotation
    head, *inner = name.split(".")
    annotation = _looked_up(head, types)
    if annotation is MISSING:
        known: Mapping[str, Any] = {} if callable(types) else types
        raise TemplateProblem(f"names {head!r}, but there is no such field{_closest(head, known)}", head)
    for step in inner:
        annotation = _inner_annotation(annotation, step, name)
    return annotation


def _looked_up(name: str, types: Types) -> Any:
    if not callable(types):
        return types.get(name, MISSING)
    try:
        return types(name)
    except KeyError:
        return MISSING


def _inner_annotation(annotation: Any, step: str, name: str) -> Any:
    inner = bare_type(annotation)
    if not (hasattr(inner, "__attrs_attrs__") or hasattr(inner, "__dataclass_fields__")):
        raise TemplateProblem(f"names {name!r}, but what holds {step!r} is no attrs class or dataclass", name)
    try:
        hints = typing.get_type_hints(inner)
    except NameError as error:
        raise TemplateProblem(
            f"names {name!r}, but the annotations of {inner.__name__} do not resolve: {error}"
        ) from None
    if step not in hints:
        raise TemplateProblem(
            f"names {name!r}, but {inner.__name__} has no field {step!r}{_closest(step, hints)}", name
        )
    return hints[step]


def _closest(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; {near[0]!r} is the closest"
    return f"; the fields are {', '.join(known)}" if known else ""


def check_lossy(pairs: Sequence[tuple[Part, str]], values: Mapping[str, Any]) -> None:
    """Check that some value could have the texts that lossy parts have in a key.

    Parameters:
        pairs: the parts and their texts. values: the values that lossless parts gave.

    Raises ValueError when none could.
    """
    unknown: dict[str, list[tuple[Part, str]]] = {}
    for part, text in pairs:
        if part.lossless:
            continue
        if part.name not in values:
            unknown.setdefault(part.name, []).append((part, text))
        elif part.text.render(values[part.name], part.spec) != text:
            raise ValueError("one field, two values")
    for group in unknown.values():
        _check_group(group)


def _check_group(group: Sequence[tuple[Part, str]]) -> None:
    text = group[0][0].text
    if not all(part.text.accepts(written, part.spec) for part, written in group):
        raise ValueError("a text that rendering does not give")
    # Formats joined by a character that neither holds are one format, and one value must have it.
    spec, joined = "\0".join(part.spec for part, _ in group), "\0".join(written for _, written in group)
    if len(group) > 1 and text.check_spec(spec) is None and not text.accepts(joined, spec):
        raise ValueError("no value has these texts together")
