"""The text of models.py."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Sequence

from tablekit.definition.indexes import Index
from tablekit.tools.adopt_fields import MAP, FieldPlan, MapPlan
from tablekit.tools.adopt_names import class_name, counted, unused
from tablekit.tools.adopt_plan import ClassPlan, TablePlan
from tablekit.tools.adopt_templates import KeyTemplate
from tablekit.tools.adopt_types import LONGEST

__all__ = ["write_module"]

WIDTH = 118
"""Characters of a line of comment."""
WIDEST = 120
"""Characters of a line of code."""


def write_module(plans: Sequence[TablePlan], report: Sequence[str]) -> str:
    """The module of some tables.

    Parameters:
        report: lines for the docstring: what was read, what could not be.
    """
    taken = {each.name for plan in plans for each in plan.classes}
    # One blank line after imports, two between what follows.
    body = [line for plan in plans for line in _table(plan, taken)][1:]
    return "\n".join([*_head(report), *_imports("\n".join(body)), *body, ""])


def _head(report: Sequence[str]) -> list[str]:
    body = [_in_docstring(line) for entry in report for line in _wrapped(entry, "")]
    return ['"""Models of a table that was there before them, as `tablekit adopt` found it.', "", *body, '"""', ""]


def _printable(text: str) -> str:
    """A text of one line: what is no printable character is written as its escape."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _in_docstring(text: str) -> str:
    """A text that stays within a docstring: what could end it, or escape its end, is written in another way."""
    return _printable(text).replace("\\", "\\\\").replace('"', "'")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(_printable(text), WIDTH - len(indent), subsequent_indent="  ", break_long_words=False) or [""]


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in _wrapped(text, indent)]


def _imports(body: str) -> list[str]:
    names = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    lines = ["from __future__ import annotations", ""]
    standard = ["import enum"] if "enum" in names else []
    standard += ["from datetime import datetime"] if "datetime" in names else []
    standard += ["from decimal import Decimal"] if "Decimal" in names else []
    typing = [word for word in ("Any", "Literal") if word in names]
    standard += [f"from typing import {', '.join(typing)}"] if typing else []
    own = ("Entity", "Field", "GlobalIndex", "LocalIndex", "Table", "field", "index_key", "ttl")
    others = ["import attrs"] if "attrs" in names else []
    others.append(f"from tablekit import {', '.join(word for word in own if word in names)}")
    return [*lines, *standard, *([""] if standard else []), *others]


# The table


def _table(plan: TablePlan, taken: set[str]) -> list[str]:
    table = plan.table
    lines = ["", ""]
    for note in (*plan.type_attribute.evidence, *table.notes, *plan.notes):
        lines += _comment(f"{note[0].upper()}{note[1:]}.")
    if table.ttl is not None and not any(field.ttl for each in plan.classes for field in each.fields):
        lines += _comment(f"Rows expire by {table.ttl!r} (time to live), which no class has as a ttl() field.")
    if plan.separator is None and table.rows:
        lines += _comment("separator=None: values of keys hold what parts others, or there is nothing that parts.")
    options = [repr_(table.name), f"pk={repr_(table.pk)}", f"sk={repr_(table.sk)}"]
    options.append(f"type_attribute={repr_(plan.stored_type)}")
    options.append(f"separator={repr_(plan.separator)}")
    types = {name: tag for name, tag in table.key_types.items() if name in _key_attributes(plan)}
    if any(tag != "S" for tag in types.values()):
        options.append("key_types={" + ", ".join(f"{repr_(name)}: {repr_(tag)}" for name, tag in types.items()) + "}")
    if plan.untyped:
        options.append('untyped="infer"')
    lines += [f"{plan.variable} = Table(", *(f"    {option}," for option in options)]
    if table.indexes:
        lines += ["    indexes=[", *(f"        {_index(plan, index)}," for index in table.indexes), "    ],"]
    lines.append(")")
    for each in plan.classes:
        written = _class(plan, each, taken)
        lines += written if each.left_out is None else _left_out(each, each.left_out, written)
    return lines


def _left_out(each: ClassPlan, reason: str, written: Sequence[str]) -> list[str]:
    """A class that cannot be made, as a comment: its text is there to be mended."""
    code = "\n".join(written).strip("\n").split("\n")
    return [
        "",
        "",
        *_comment(f"{each.name} is left out, for it cannot be made: {reason}"),
        *(f"# {x}".rstrip() for x in code),
    ]


def repr_(value: object) -> str:
    """A literal with double quotes, as ruff has it."""
    text = repr(value)
    return f'"{text[1:-1]}"' if text[:1] == "'" and '"' not in text else text


def _key_attributes(plan: TablePlan) -> set[str]:
    return {*plan.table.key_names, *(name for index in plan.table.indexes for name in index.keys)}


def _index(plan: TablePlan, index: Index) -> str:
    def side(names: tuple[str, ...]) -> str:
        return repr_(names[0]) if len(names) == 1 else "(" + ", ".join(map(repr_, names)) + ")"

    arguments = [repr_(index.name)]
    if not index.local:
        arguments.append(f"pk={side(index.pk)}")
    if index.sk:
        arguments.append(f"sk={side(index.sk)}")
    if index.projection != "ALL":
        chosen = index.projection
        arguments.append(f"projection={repr_(chosen) if isinstance(chosen, str) else _list(chosen)}")
        if plan.stored_type not in (*chosen, *index.keys, *plan.table.key_names):
            arguments.append("projects_type=False")
    return f"{'LocalIndex' if index.local else 'GlobalIndex'}({', '.join(arguments)})"


def _list(names: Iterable[str]) -> str:
    return "[" + ", ".join(map(repr_, names)) + "]"


# Classes


def _class(plan: TablePlan, each: ClassPlan, taken: set[str]) -> list[str]:
    lines: list[str] = []
    annotations = dict[str, str]()
    for field in each.fields:
        if field.members:
            name = unused(class_name([each.name, field.attribute]), taken)
            taken.add(name)
            annotations[field.name] = field.annotation.replace("str", name)
            lines += _enum(name, field)
        elif field.map is not None:
            annotations[field.name] = _map(field, field.map, [each.name, field.attribute], taken, lines)
    lines += ["", ""]
    for note in each.notes:
        lines += _comment(f"{note[0].upper()}{note[1:]}.")
    lines += _header(plan, each)
    lines.append(f'    """{_summary(plan, each)}"""')
    lines.append("")
    body = [_field(each, field, annotations.get(field.name, field.annotation)) for field in each.fields]
    lines += [line for some in body for line in some]
    for key in each.index_keys:
        arguments = [repr_(key.index)]
        arguments += [f"pk={repr_(key.pk)}"] if key.pk is not None else []
        arguments += [f"sk={repr_(key.sk)}"] if key.sk is not None else []
        line = f"    {key.name} = index_key({', '.join(arguments)})"
        if len(line) > WIDEST:
            line = f"    {key.name} = index_key(\n        {', '.join(arguments)}\n    )"
        lines += _commented(line, key.evidence)
    return lines if body or each.index_keys else [*lines, "    pass"]


def _summary(plan: TablePlan, each: ClassPlan) -> str:
    count = counted(len(each.rows), "row")
    told = "told by the key"
    if each.type is not None:
        told = f"{plan.stored_type} {each.type if len(each.type) < LONGEST else each.type[:LONGEST] + '...'!r}"
    return _in_docstring(f"{count} of {len(plan.table.rows)}, {told}.")


def _header(plan: TablePlan, each: ClassPlan) -> list[str]:
    first, *others = each.keys
    options = [f"table={plan.variable}"]
    options += [f"{role}={repr_(key.text)}" for role, key in zip(("pk", "sk"), first)]
    if each.type is not None and each.type != each.name:
        options.append(f"type={repr_(each.type)}")
    if each.aliases:
        options.append("aliases=(" + "".join(f"{repr_(alias)}, " for alias in each.aliases).rstrip() + ")")
    if others:
        options.append("also_keys=(" + ", ".join(map(_pair, others)) + ",)")
    line = f"class {each.name}(Entity, {', '.join(options)}):"
    if len(line) <= WIDEST:
        return [line]
    broken = [f"    {option}," for option in options]
    if others and len(broken[-1]) > WIDEST:
        broken[-1:] = ["    also_keys=(", *(f"        {_pair(keys)}," for keys in others), "    ),"]
    return [f"class {each.name}(", "    Entity,", *broken, "):"]


def _pair(keys: Sequence[KeyTemplate]) -> str:
    texts = ", ".join(repr_(key.text) for key in keys)
    return f"({texts},)" if len(keys) == 1 else f"({texts})"


def _field(each: ClassPlan, field: FieldPlan, annotation: str) -> list[str]:
    listed = each.limited.get(field.name)
    if listed is not None:
        annotation = annotation.replace("str", "Literal[" + ", ".join(map(repr_, listed)) + "]", 1)
    arguments = ["default=None"] if field.optional else []
    arguments += [f"name={repr_(field.attribute)}"] if field.attribute != field.name else []
    call = "ttl" if field.ttl else "field"
    value = f" = {call}({', '.join(arguments)})" if arguments else ""
    line = f"    {field.name}: Field[{annotation}]{value}"
    extra = "; its values are listed, for keys of other classes would match else" if listed is not None else ""
    comment = f"{field.evidence}{extra}"
    if len(line) <= WIDEST:
        return _commented(line, comment)
    if listed is not None:
        values = ["    " * 3 + f"{repr_(each)}," for each in listed]
        after = annotation.partition("]")[2]
        inside = ["        Literal[", *values, f"        ]{after}"]
        return [*_comment(comment, "    "), f"    {field.name}: Field[", *inside, f"    ]{value}"]
    broken = [f"    {field.name}: Field[{annotation}] = {call}(", f"        {', '.join(arguments)}", "    )"]
    return [*_comment(comment, "    "), *broken]


def _commented(line: str, comment: str) -> list[str]:
    if len(line) + len(comment) + 4 <= WIDEST and comment.isprintable():
        return [f"{line}  # {comment}"]
    return [*_comment(comment, "    "), line]


def _enum(name: str, field: FieldPlan) -> list[str]:
    attribute = field.attribute if len(field.attribute) < LONGEST else f"{field.attribute[:LONGEST]}..."
    told = f'    """The values of {_in_docstring(attribute)} that were seen; others fail to be read."""'
    lines = ["", "", f"class {name}(enum.Enum):", told, ""]
    return [*lines, *(f"    {member} = {repr_(value)}" for member, value in field.members)]


def _map(field: FieldPlan, plan: MapPlan, words: Sequence[str], taken: set[str], lines: list[str]) -> str:
    """Write the class of an attribute's maps, after those of the maps in them; the annotation of the attribute."""
    name = unused(class_name(words) or "Map", taken)
    taken.add(name)
    body: list[str] = []
    for each in plan.fields:
        inner = each.annotation
        if each.map is not None:
            inner = _map(each, each.map, [*words, each.attribute], taken, lines)
        body += _map_field(each, inner)
    attribute = field.attribute if len(field.attribute) < LONGEST else f"{field.attribute[:LONGEST]}..."
    told = f'    """{plan.count} maps of {_in_docstring(attribute)}; what it does not declare is kept."""'
    lines += ["", "", "@attrs.define(kw_only=True)", f"class {name}:", told, "", *body]
    return field.annotation.replace(MAP, name)


def _map_field(field: FieldPlan, annotation: str) -> list[str]:
    arguments = ["default=None"] if field.optional else []
    if field.attribute != field.name:
        arguments.append(f'metadata={{"tablekit": {{"name": {repr_(field.attribute)}}}}}')
    value = f" = attrs.field({', '.join(arguments)})" if arguments else ""
    return _commented(f"    {field.name}: {annotation}{value}", field.evidence)
