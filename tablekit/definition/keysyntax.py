"""The grammar of key templates: text, parts in braces, and an optional tail in brackets.

``{field}``, ``{field:spec}`` and ``{field.inner}`` are parts; ``{{``, ``}}``, ``[[`` and ``]]`` stand for
the characters themselves. ``[...]`` at the end of a template is a tail that is there when its fields are
not None: ``DOC#{doc_id}[#CMT#{comment_id}]``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["RawPart", "RawTemplate", "TemplateProblem", "split_template"]

_LEXEME: Final = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{[^{}]*\}|[{}\[\]]|[^{}\[\]]+", re.DOTALL)
_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class TemplateProblem(ValueError):
    """What is wrong with a template's text, as the rest of a sentence.

    Attributes:
        field: the field concerned, when there is one.
    """

    def __init__(self, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


class RawPart(NamedTuple):
    """A part as it is written: the name of a field, dotted for a value inside it, and a spec."""

    name: str
    spec: str


class RawTemplate(NamedTuple):
    """A template taken apart.

    Attributes:
        body, tail: texts and parts in order; `tail` is empty where there is no optional tail.
    """

    body: tuple[str | RawPart, ...]
    tail: tuple[str | RawPart, ...]


def split_template(text: str) -> RawTemplate:
    """Take a template apart. Raises `TemplateProblem` where its braces or brackets are wrong."""
    if not text:
        raise TemplateProblem("is empty; give it a text such as 'DOC#{doc_id}'")
    body: list[str | RawPart] = []
    tail: list[str | RawPart] = []
    into, closed = body, False
    for lexeme in _LEXEME.findall(text):
        if closed:
            raise TemplateProblem("goes on after its optional tail; the brackets [...] must end it")
        if lexeme == "[":
            if into is tail:
                raise TemplateProblem("has brackets inside brackets; one optional tail is all there can be")
            into = tail
        elif lexeme == "]":
            closed = _close(into, tail)
        else:
            _add(into, _piece(lexeme))
    if into is tail and not closed:
        raise TemplateProblem("has an opening bracket '[' without its ']'; write '[[' for the character itself")
    return RawTemplate(tuple(body), tuple(tail))


def _close(into: list[str | RawPart], tail: list[str | RawPart]) -> bool:
    if into is not tail:
        raise TemplateProblem("has a closing bracket ']' without its '['; write ']]' for the character itself")
    if not any(isinstance(piece, RawPart) for piece in tail):
        raise TemplateProblem("has an optional tail without a field, so that nothing says when it is there")
    return True


def _add(into: list[str | RawPart], piece: str | RawPart) -> None:
    if into and isinstance(piece, str) and isinstance(into[-1], str):
        into[-1] += piece
    else:
        into.append(piece)


def _piece(lexeme: str) -> str | RawPart:
    if lexeme in ("{{", "}}", "[[", "]]"):
        return lexeme[0]
    if lexeme in ("{", "}"):
        raise TemplateProblem(
            f"has a brace {lexeme!r} without its other half; write {lexeme * 2!r} for the character itself"
        )
    if not lexeme.startswith("{"):
        return lexeme
    name, _, spec = lexeme[1:-1].partition(":")
    if not name:
        raise TemplateProblem("has a part without a name; write the name of a field between the braces")
    if _NAME.fullmatch(name) is None:
        raise TemplateProblem(
            f"has the part {name!r}, which is no name of a field; conversions and indexes are not understood"
        )
    return RawPart(name, spec)
