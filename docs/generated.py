"""What pages show that is made from the code: ``<!-- generated: NAME -->`` in a page is replaced by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from examples.workspace import models
from tablekit.cli import main
from tablekit.tools.chart import chart_text

__all__ = ["GENERATED"]

PATTERNS = [
    ("a workspace with all that is in it", 'app.query(Workspace, Document, Comment, Member, workspace_id="acme")'),
    ("the documents of a workspace that changed last", 'Document.feed.query(workspace_id="acme").reverse().limit(20)'),
    ("the workspaces that there are", "Workspace.listed.query()"),
    ("the document of a slug", 'Document.by_slug.query(workspace_id="acme", slug="start")'),
    ("one document", 'Document.key(workspace_id="acme", doc_id="spec")'),
    ("a document with its comments", 'app.query(Document, Comment, workspace_id="acme", doc_id="spec")'),
    ("the comments of a document", 'Comment.query(workspace_id="acme", doc_id="spec")'),
    ("the members of a workspace", 'Member.query(workspace_id="acme")'),
    ("one member", 'Member.key(workspace_id="acme", email="ada@example.com")'),
]
"""What the example asks of its table: in words, and in code."""


def access_patterns() -> str:
    """The questions of the example, with the request that answers each."""
    models.app.connect(region="us-east-1", endpoint_url="http://127.0.0.1:1")
    rows = ["| question | code | request |", "| --- | --- | --- |"]
    for question, code in PATTERNS:
        explanation = eval(code, dict(vars(models))).explain()  # noqa: S307  (the list above)
        rows.append(f"| {question} | `{code}` | {_request(explanation)} |")
    return "\n".join(rows)


def _request(explanation: Any) -> str:
    request = explanation.request
    parts = [explanation.operation]
    if "IndexName" in request:
        parts.append(f"of {request['IndexName']}")
    if "FilterExpression" in request:
        parts.append("with a filter")
    key = request.get("KeyConditionExpression") or ", ".join(request["Key"])
    return f"{' '.join(parts)}: `{key}`"


def chart() -> str:
    """The entities of the example: types, keys, index keys."""
    return chart_text(models.app, "markdown").split("\n\n**", 1)[0]


def command_line() -> str:
    """The command's options and subcommands, from what it itself says."""
    sections = [f"## Options before the command\n\n{_options(main)}"]
    for name, command in _commands(main):
        sections.append(f"## tablekit {name}\n\n{(command.help or '').strip()}\n\n{_options(command)}")
    return "\n\n".join(sections)


def _commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in _commands(command))


def _options(command: click.Command) -> str:
    rows = list(_rows(command))
    return "\n".join(["| option | |", "| --- | --- |", *rows]) if rows else ""


def _rows(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            yield f"| `{parameter.human_readable_name}` | |"
            continue
        if parameter.hidden:
            continue  # the options of `tablekit` itself
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
        allowed = f"One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
        yield f"| {names} | {(parameter.help or '').strip()} {allowed} |"


GENERATED: dict[str, Callable[[], str]] = {
    "access-patterns": access_patterns,
    "chart": chart,
    "command-line": command_line,
}
