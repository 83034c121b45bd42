"""Tables of the names that a page of the reference shows, with the first sentence that each says of itself."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import tablekit

__all__ = ["first_sentence", "names_below"]

BLOCK = re.compile(r"```\{eval-rst\}\n(.*?)```", re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. auto(class|function|module):: (\S+)\n((?: +:.*\n)*)", re.MULTILINE)
OPTION = re.compile(r"^ +:([a-z-]+): *(.*)$", re.MULTILINE)
SENTENCE = re.compile(r".+?[.!?](?=\s|$)")


def names_below(page: str) -> str:
    """The table for the first block of autodoc's directives in a text: what autodoc shows, in its order."""
    block = BLOCK.search(page)
    if block is None:
        raise ValueError("A table of names stands above a block of the language {eval-rst}.")
    rows = [row for found in DIRECTIVE.finditer(block[1]) for row in _rows(found[1], found[2], found[3])]
    return "\n".join(["| name | |", "| --- | --- |", *dict.fromkeys(rows)])


def first_sentence(value: Any) -> str:
    """The first sentence of a docstring, as it stands in a table of Markdown."""
    paragraph = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    found = SENTENCE.match(paragraph)
    return (found[0] if found else paragraph).replace("``", "`").replace("|", "\\|")


def _rows(kind: str, name: str, text: str) -> Iterator[str]:
    options = dict(OPTION.findall(text))
    if kind != "module":
        parent, _, attribute = name.rpartition(".")
        yield from _described(parent or "tablekit", attribute, options)
        return
    module = importlib.import_module(name)
    yield _row(name, module)
    for each in options["members"].split(", ") if "members" in options else module.__all__:
        value = getattr(module, each)
        if inspect.isclass(value) or inspect.isroutine(value):
            yield from _described(name, each, {})


def _described(module: str, name: str, options: dict[str, str]) -> Iterator[str]:
    value = getattr(importlib.import_module(module), name)
    yield _row(name if getattr(tablekit, name, None) is value else f"{module}.{name}", value)
    if inspect.isclass(value):
        for member in _members(value, options):
            yield _row(f"{name}.{member}", getattr(value, member))


def _row(name: str, value: Any) -> str:
    return f"| `{name}` | {first_sentence(value)} |"


def _members(cls: type[Any], options: dict[str, str]) -> Iterator[str]:
    """The methods and properties that autodoc shows of a class: its own, and inherited ones where that is asked."""
    bases = [cls]
    if "inherited-members" in options:
        ends = {base for base in cls.__mro__ if base.__name__ == options["inherited-members"]}
        hidden = {above for end in ends for above in end.__mro__}
        bases = [base for base in cls.__mro__ if base not in hidden and base.__module__.startswith("tablekit.")]
    wanted = options.get("members")
    excluded = options.get("exclude-members", "").split(", ")
    for name in dict.fromkeys(name for base in bases for name in vars(base)):
        if name.startswith("_") or name in excluded or (wanted is not None and name not in wanted.split(", ")):
            continue
        is_method = inspect.isroutine(inspect.getattr_static(cls, name)) or callable(getattr(cls, name))
        if (is_method or isinstance(getattr(cls, name), property)) and first_sentence(getattr(cls, name)):
            yield name
