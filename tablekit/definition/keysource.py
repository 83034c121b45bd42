"""Generated code for key templates: the quick way of `Template.render`, and an expression for decoders.

A generated function holds every test that rendering needs and answers None when one fails; the careful way
then finds out which, and says so. It never gives another key than the careful way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tablekit.definition.keyshape import Bind, KeyText

__all__ = ["Form", "SourcePart", "compile_form", "form_expression"]

Form = Callable[[Mapping[str, Any]], "str | None"]
"""Renders a key from field values; None when a value is missing or may not stand in the key."""


class SourcePart(Protocol):
    """What generated code needs to know of a part; see `tablekit.definition.templates.Part`."""

    @property
    def name(self) -> str:
        """The field, dotted for a value inside it."""
        ...

    @property
    def spec(self) -> str:
        """The format, empty where there is none."""
        ...

    @property
    def text(self) -> KeyText:
        """How its values stand in a key."""
        ...

    @property
    def width(self) -> int | None:
        """How many characters it always has; None where that differs."""
        ...

    @property
    def following(self) -> str:
        """The literal after it."""
        ...


def compile_form(literals: Sequence[str], parts: Sequence[SourcePart], separator: str | None, limit: int) -> Form:
    """A function that renders the template of these literals and parts, of at most `limit` bytes of UTF-8."""
    scope: dict[str, Any] = {}
    bind = _binder(scope)
    lines: list[str] = []
    fields: list[str] = []
    for number, part in enumerate(parts):
        fields.append(_part_lines(lines, number, part, separator, bind))
    lines.append(f"key = {_f_string(literals, fields)}")
    lines.append(f"return key if len(key) <= {limit} and (key.isascii() or len(key.encode()) <= {limit}) else None")
    body = "\n".join(f"        {line}" for line in lines)
    caught = "except (LookupError, ValueError, AttributeError):"
    code = f"def form(values):\n    try:\n{body}\n    {caught}\n        return None"
    # The code is made of literals escaped character by character and of names that the grammar admits.
    exec(compile(code, "<key template>", "exec"), scope)  # noqa: S102 - generated once, when the class is made
    form: Form = scope["form"]
    return form


def _binder(scope: dict[str, Any]) -> Bind:
    def bind(hint: str, value: Any) -> str:
        name = f"{hint}_{len(scope)}"
        scope[name] = value
        return name

    return bind


def _part_lines(lines: list[str], number: int, part: SourcePart, separator: str | None, bind: Bind) -> str:
    """Add the lines that look one part up and test it; the answer is its replacement field."""
    value, text = f"v{number}", f"t{number}"
    head, _, inner = part.name.partition(".")
    lines.append(f"{value} = values[{head!r}]{'.' + inner if inner else ''}")
    guard, field = part.text.source(value, part.spec, bind)
    if guard:
        lines.append(f"if not ({guard}): return None")
    if part.width is not None:
        return field
    if field == f"{{{value}}}":
        text = value
    else:
        lines.append(f'{text} = f"{field}"')
        lines.append(f"if not {text}: return None")
    lines.extend(f"if not ({test}): return None" for test in _hold_tests(text, part, separator))
    return f"{{{text}}}"


def _hold_tests(text: str, part: SourcePart, separator: str | None) -> list[str]:
    """Tests that a text holds neither the separator nor the beginning of the literal that follows it."""
    chars = part.text.charclass(part.spec)
    following = part.following
    tests: list[str] = []
    if separator and all(character in chars for character in separator):
        tests.append(f"{separator!r} not in {text}")
    if not following or following[0] not in chars or (separator and len(separator) == 1 and separator in following):
        # A text without the separator cannot run into a literal that holds it.
        return tests
    if len(following) == 1:
        return [*tests, f"{following!r} not in {text}"]
    return [*tests, f"({text} + {following!r}).find({following!r}) == len({text})"]


def form_expression(
    literals: Sequence[str],
    parts: Sequence[SourcePart],
    separator: str | None,
    bind: Bind,
    value_of: Callable[[str], str],
) -> str | None:
    """An expression for the key; its value is None where a test fails. None when no quick one exists."""
    tests: list[str] = []
    fields: list[str] = []
    for part in parts:
        value = value_of(part.name)
        if "." in part.name or not value.isidentifier():
            return None
        guard, field = part.text.source(value, part.spec, bind)
        tests += [guard or f"{value} is not None"]
        if part.width is None:
            holds = _hold_tests(value, part, separator)
            if holds and field != f"{{{value}}}":
                return None
            tests += holds
        fields.append(field)
    key = _f_string(literals, fields)
    return f"({key} if {' and '.join(tests)} else None)" if tests else key


def _f_string(literals: Sequence[str], fields: Sequence[str]) -> str:
    pieces = [_escaped(literals[0])]
    for field, literal in zip(fields, literals[1:], strict=True):
        pieces += [field, _escaped(literal)]
    return f'f"{"".join(pieces)}"'


def _escaped(literal: str) -> str:
    return "".join(_escaped_character(character) for character in literal)


def _escaped_character(character: str) -> str:
    if character in "{}":
        return character * 2
    plain = character.isascii() and (character.isalnum() or character in "#/-_.:|@+=~ ")
    return character if plain else f"\\U{ord(character):08x}"
