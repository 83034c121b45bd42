"""The DynamoDB tables of Terraform files, with the expressions of them that one file or folder can answer.

The language is read by python-hcl2, which comes with the extra ``tablekit[adopt]``. Expressions are taken as far as
they name what stands in the same folder: variables with defaults, locals, ``for_each`` over lists and maps.
https://developer.hashicorp.com/terraform/language/expressions
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

__all__ = ["NotRead", "TerraformTable", "tables_of_terraform"]

MOST_TEXT = 200_000
"""Characters of a file that are read, at 30 microseconds each; a definition of a table is a few thousand."""
MOST_BLANK = 50
"""Blank lines in a row that reach the parser, whose time grows by their square inside a heredoc."""

_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\"[^\"\\]*\"\]|\[\d+\])*")
_STEP = re.compile(r"\.([\w-]+)|\[\"([^\"\\]*)\"\]|\[(\d+)\]")
_CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
_INSERTED = re.compile(r"(?<!\$)\$\{([^{}]*)\}")
_IN_CODE = re.compile(r"#|//|/\*|\"|<<-?[ \t]*(?P<word>[A-Za-z_][\w.-]*)[ \t\r]*\n|[{}]")
_IN_TEXT = re.compile(r"\\.|\$\$\{|%%\{|[$%]\{|\"|\n", re.DOTALL)
_MARK = re.compile(r"__\w+__")
"""What python-hcl2 adds to blocks: comments, and that they are blocks."""


class NotRead(Exception):
    """A file is not of the language, or holds an expression where a constant is needed."""


class Unknown(str):
    """An expression that nothing in the folder answers, as it is written."""

    __slots__ = ()


@attrs.frozen
class TerraformTable:
    """A table of a file.

    Attributes:
        body: as CreateTable takes it. notes: what had to be left open.
    """

    body: Mapping[str, Any]
    notes: tuple[str, ...]


def tables_of_terraform(text: str, beside: Iterable[str] = ()) -> Iterator[TerraformTable]:
    """The tables among the resources of a Terraform file.

    Parameters:
        text: the file. beside: the other files of its folder, for variables and locals; those that cannot be read
            are left out.

    Raises `NotRead`.
    """
    parsed = _parse(text)
    scope = _scope([*_readable(beside), parsed])
    for resource in _blocks(parsed.get("resource")):
        for kind, named in resource.items():
            if _bare(kind) == "aws_dynamodb_table":
                for label, block in cast("Mapping[str, Any]", named).items():
                    yield from _tables(block, str(_bare(label)), scope)


def _parse(text: str) -> dict[str, Any]:
    try:
        hcl2: Any = importlib.import_module("hcl2")
    except ImportError:
        raise NotRead('Terraform needs the extra: pip install "tablekit[adopt]".') from None
    if len(text) > MOST_TEXT:
        raise NotRead(f"It has more than {MOST_TEXT:,} characters.")
    ready = _readied(text)
    try:
        found: dict[str, Any] = hcl2.loads(ready)
    except RecursionError:
        raise NotRead("It is nested too deeply.") from None
    except Exception as error:
        # The parser's own errors share no base; their text quotes the file over many lines.
        line = getattr(error, "line", None)
        where = f" at line {line}" if isinstance(line, int) and line > 0 else ""
        raise NotRead(f"It is not of Terraform's language{where} ({type(error).__name__}).") from None
    return found


def _readied(text: str) -> str:
    """A text as the parser takes it, without what would keep it busy for minutes. Raises `NotRead`."""
    unclosed = _unclosed(text)
    if unclosed is not None:
        what, place = unclosed
        line = text.count("\n", 0, place) + 1
        raise NotRead(f"It is not of Terraform's language at line {line}: {what} begins there and does not end.")
    lines: list[str] = []
    blank = 0
    for each in text.split("\n"):
        blank = 0 if each.strip() else blank + 1
        if blank <= MOST_BLANK:
            lines.append(each)
    # The language ends a line before the file ends.
    return "\n".join(lines if lines[-1] == "" else [*lines, ""])


def _unclosed(text: str) -> tuple[str, int] | None:
    """The first comment or heredoc without an end, and where it begins; found in one pass over the text."""
    # What stands open: quotes, and the braces in them, in which code stands again.
    stack: list[str] = []
    place = 0
    while True:
        in_text = stack[-1:] == ['"']
        match = (_IN_TEXT if in_text else _IN_CODE).search(text, place)
        if match is None:
            return None
        sign, place = match.group(), match.end()
        if in_text:
            _step_in_text(sign, stack)
            continue
        after = _skip(text, match)
        if after < 0:
            return "a comment" if sign == "/*" else "a heredoc", match.start()
        place = after
        if sign in ('"', "{"):
            stack.append(sign)
        elif sign == "}" and stack:
            stack.pop()


def _step_in_text(sign: str, stack: list[str]) -> None:
    if sign in ("${", "%{"):
        stack.append("{")
    elif sign in ('"', "\n"):
        # A string ends with its line; the parser says what is wrong with one that does not end before.
        stack.pop()


def _skip(text: str, match: re.Match[str]) -> int:
    """Where a sign ends, with all that it opens where that is no code; -1 where it does not end."""
    sign, place = match.group(), match.end()
    if sign in ("#", "//"):
        end = text.find("\n", place)
        return len(text) if end < 0 else end
    if sign == "/*":
        end = text.find("*/", place)
        return end if end < 0 else end + 2
    word = match.group("word")
    if word is None:
        return place
    closing = re.compile(rf"^[ \t]*{re.escape(word)}[ \t\r]*$", re.MULTILINE).search(text, place)
    return -1 if closing is None else closing.end()


def _readable(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    for text in texts:
        if "variable" in text or "locals" in text:
            try:
                yield _parse(text)
            except NotRead:
                continue


def _scope(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What expressions may name: ``var`` and ``local``."""
    scope: dict[str, Any] = {"var": {}, "local": {}}
    for file in files:
        for variable in _blocks(file.get("variable")):
            for name, block in variable.items():
                if isinstance(block, Mapping) and "default" in block:
                    scope["var"][_bare(name)] = _value(block["default"], scope)
    # Locals may name one another, in any order; three rounds see through what people write.
    for _ in range(3):
        for file in files:
            for block in _blocks(file.get("locals")):
                scope["local"].update(_value(block, scope))
    return scope


def _blocks(found: Any) -> list[Mapping[str, Any]]:
    several: list[Any] = cast(Any, found) if isinstance(found, list) else []
    return [each for each in several if isinstance(each, Mapping)]


# Expressions


def _bare(text: Any) -> Any:
    """A string without its quotes."""
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return json.loads(text, strict=False)
        except ValueError:
            return text[1:-1]
    return text


def _value(found: Any, scope: Mapping[str, Any]) -> Any:
    """A value with its expressions answered; `Unknown` where they cannot be."""
    if isinstance(found, list):
        several: list[Any] = cast(Any, found)
        return [_value(each, scope) for each in several]
    if isinstance(found, Mapping):
        entries = cast("Mapping[str, Any]", found).items()
        return {_bare(name): _value(each, scope) for name, each in entries if not _MARK.fullmatch(name)}
    if not isinstance(found, str):
        return found
    if found[:2] == "${" and found[-1:] == "}":
        return _expression(found[2:-1].strip(), scope)
    return _text(str(_bare(found)), scope)


def _text(text: str, scope: Mapping[str, Any]) -> str:
    """A string with what is known of its insertions inserted; others stay as they are written."""

    def insert(match: re.Match[str]) -> str:
        known = _expression(match.group(1).strip(), scope)
        return match.group() if isinstance(known, Unknown) or not isinstance(known, (str, int)) else str(known)

    filled = _INSERTED.sub(insert, text)
    if _INSERTED.search(filled):
        return Unknown(filled)
    return filled.replace("$${", "${").replace("%%{", "%{")


def _expression(text: str, scope: Mapping[str, Any]) -> Any:
    if _PATH.fullmatch(text):
        return _walk(text, scope)
    call = _CALL.fullmatch(text)
    if call is None:
        return Unknown(text)
    name, inside = call.groups()
    try:
        given = _value(_parse(f"x = [{inside}]").get("x"), scope)
    except NotRead:
        return Unknown(text)
    several: list[Any] = cast(Any, given) if isinstance(given, list) else []
    return _called(name, several, Unknown(text))


def _called(name: str, given: Sequence[Any], unknown: Unknown) -> Any:
    """The functions by which for_each and its values are written; others are not known."""
    if name in ("toset", "tolist", "tomap") and len(given) == 1:
        return given[0]
    if name in ("try", "coalesce"):
        return next((each for each in given if not isinstance(each, Unknown) and each is not None), unknown)
    if name == "lookup" and len(given) > 1 and isinstance(given[0], Mapping):
        found = cast("Mapping[str, Any]", given[0])
        return found.get(given[1], given[2] if len(given) > 2 else unknown)
    return unknown


def _walk(text: str, scope: Mapping[str, Any]) -> Any:
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    first = re.split(r"[.\[]", text, maxsplit=1)[0]
    found: Any = scope.get(first, Unknown(text))
    for step in _STEP.finditer(text, len(first)):
        name, quoted, number = step.groups()
        try:
            found = found[int(number)] if number is not None else found[name if name is not None else quoted]
        except (KeyError, IndexError, TypeError):
            return Unknown(text)
    return found


# Tables


def _tables(block: Any, label: str, scope: Mapping[str, Any]) -> Iterator[TerraformTable]:
    """The table of a resource; one for each instance, where ``for_each`` is known."""
    if not isinstance(block, Mapping):
        raise NotRead(f"The resource {label!r} is no block.")
    resource = cast("Mapping[str, Any]", block)
    instances = _instances(resource.get("for_each"), scope)
    if instances is None:
        yield _table(resource, label, scope, (f"one table stands for all of for_each of {label!r}",))
    elif instances:
        for key, value in instances:
            inner = {**scope, "each": {"key": key, "value": value}}
            yield _table(resource, f"{label}[{key}]", inner, ())
    else:
        yield _table(resource, label, scope, ())


def _instances(given: Any, scope: Mapping[str, Any]) -> list[tuple[Any, Any]] | None:
    """Keys and values of a ``for_each``; empty where there is none, None where it is not known."""
    if given is None:
        return []
    found = _value(given, scope)
    if isinstance(found, Mapping):
        entries: Mapping[Any, Any] = cast(Any, found)
        return list(entries.items())
    if isinstance(found, list):
        several: list[Any] = cast(Any, found)
        return [(each if isinstance(each, str) else str(number), each) for number, each in enumerate(several)]
    return None


def _table(block: Mapping[str, Any], label: str, scope: Mapping[str, Any], notes: tuple[str, ...]) -> TerraformTable:
    dynamic, left = _dynamic(block, scope)
    plain = _value({name: each for name, each in block.items() if name != "dynamic"}, scope)
    for name, blocks in dynamic.items():
        plain[name] = [*plain.get(name, []), *blocks]
    return TerraformTable(_body(plain, label), (*notes, *left))


def _dynamic(block: Mapping[str, Any], scope: Mapping[str, Any]) -> tuple[dict[str, list[Any]], list[str]]:
    """The blocks that ``dynamic`` blocks make, and what is said of those that cannot be made here."""
    made: dict[str, list[Any]] = {}
    notes: list[str] = []
    for entry in _blocks(block.get("dynamic")):
        for quoted, inner in entry.items():
            if _MARK.fullmatch(quoted) or not isinstance(inner, Mapping):
                continue
            name, rule = str(_bare(quoted)), cast("Mapping[str, Any]", inner)
            over = _instances(rule.get("for_each"), scope)
            if over is None:
                shown = _value(rule.get("for_each"), scope)
                notes.append(f"the dynamic {name} blocks are not known: they are made for each of {shown}")
                continue
            iterator = str(_bare(rule.get("iterator", name))).removeprefix("${").removesuffix("}")
            for key, value in over:
                inside = {**scope, iterator: {"key": key, "value": value}}
                made.setdefault(name, []).extend(_value(each, inside) for each in _blocks(rule.get("content")))
    return made, notes


def _body(block: Mapping[str, Any], label: str) -> dict[str, Any]:
    ttl = next((each for each in block.get("ttl", []) if each.get("enabled", True)), None)
    name = block.get("name")
    return {
        "TableName": str(name) if isinstance(name, str) and name else label,
        "KeySchema": _key_schema(block),
        "AttributeDefinitions": [
            {"AttributeName": _constant(each["name"]), "AttributeType": _constant(each["type"])}
            for each in block.get("attribute", [])
        ],
        "GlobalSecondaryIndexes": [_index(each) for each in block.get("global_secondary_index", [])],
        "LocalSecondaryIndexes": [_index(each) for each in block.get("local_secondary_index", [])],
        "TimeToLiveSpecification": {"AttributeName": _constant(ttl["attribute_name"]), "Enabled": True}
        if ttl and ttl.get("attribute_name")
        else None,
    }


def _constant(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise NotRead(f"The expression {str(value)!r} stands where the name or type of an attribute is needed.")
    return value


def _key_schema(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys = [
        {"AttributeName": _constant(block[name]), "KeyType": kind}
        for name, kind in (("hash_key", "HASH"), ("range_key", "RANGE"))
        if block.get(name)
    ]
    named = block.get("key_schema", [])
    return keys + [
        {"AttributeName": _constant(each["attribute_name"]), "KeyType": _constant(each["key_type"])} for each in named
    ]


def _index(block: Mapping[str, Any]) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": _constant(block.get("projection_type", "ALL"))}
    if block.get("non_key_attributes"):
        projection["NonKeyAttributes"] = [_constant(each) for each in block["non_key_attributes"]]
    return {"IndexName": _constant(block["name"]), "KeySchema": _key_schema(block), "Projection": projection}
