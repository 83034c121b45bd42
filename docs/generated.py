"""What pages show that is made from the code.

It is committed in them, between ``<!-- generated: NAME -->`` and ``<!-- end -->``::

    python -m docs.generated            # write it anew
    python -m docs.generated --check    # say which pages are stale, and exit with 1 if any are
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from docs.names import names_below
from examples.workspace import models
from tablekit.cli import main as command
from tablekit.tools.chart import chart_text

__all__ = ["GENERATED", "filled", "main", "pages"]

FOLDER = Path(__file__).parent
PLACE = re.compile(r"<!-- generated: ([a-z-]+) -->\n(?:.*?\n)??<!-- end -->\n", re.DOTALL)

# An option that a help text names, outside code.
OPTION = re.compile(r"(?<![`\w-])--[a-z][a-z-]*(?=[^`]*(?:`[^`]*`[^`]*)*$)")

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


def access_patterns(_below: str = "") -> str:
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


def chart(_below: str = "") -> str:
    """The entities of the example: types, keys, index keys."""
    return chart_text(models.app, "markdown").split("\n\n**", 1)[0]


def command_line(_below: str = "") -> str:
    """The command's options and subcommands, from what it itself says."""
    sections: list[tuple[str, str, click.Command]] = [("Options before the command", "", command)]
    sections += [
        (f"tablekit {name}", _marked(inspect.cleandoc(each.help or "")), each) for name, each in _commands(command)
    ]
    parts = [(f"## {title}", text, _options(each)) for title, text, each in sections]
    return "\n\n".join(part for section in parts for part in section if part)


def _marked(text: str) -> str:
    """A help text with its options as code: two hyphens would become a dash."""
    return OPTION.sub(r"`\g<0>`", text.strip())


def _commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for name, each in sorted(group.commands.items()):
        yield name, each
        if isinstance(each, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in _commands(each))


def _options(each: click.Command) -> str:
    rows = list(_rows(each))
    return "\n".join(["| option | |", "| --- | --- |", *rows]) if rows else ""


def _rows(each: click.Command) -> Iterator[str]:
    for parameter in each.params:
        if not isinstance(parameter, click.Option):
            yield f"| `{parameter.human_readable_name}` | |"
            continue
        if parameter.hidden:
            continue  # the options of `tablekit` itself
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
        allowed = f" One of {', '.join(f'`{choice}`' for choice in choices)}." if choices else ""
        yield f"| {names} | {_marked(parameter.help or '')}{allowed} |"


GENERATED: dict[str, Callable[[str], str]] = {
    "access-patterns": access_patterns,
    "chart": chart,
    "command-line": command_line,
    "names": names_below,
}
"""By name: what is made. Each is given the rest of the page, which says what names to show."""


def filled(page: str) -> str:
    """A page with what is generated in it made anew."""

    def place(found: re.Match[str]) -> str:
        text = GENERATED[found[1]](page[found.end() :]).strip()
        return f"<!-- generated: {found[1]} -->\n\n{text}\n\n<!-- end -->\n"

    return PLACE.sub(place, page)


def pages() -> list[Path]:
    """The pages that have a place for generated text."""
    found = sorted(path for path in FOLDER.rglob("*.md") if "_build" not in path.parts)
    return [path for path in found if "<!-- generated: " in path.read_text(encoding="utf-8")]


def main(arguments: Sequence[str]) -> int:
    """Write the pages that are stale, or say which they are."""
    checking = "--check" in arguments
    texts = {path: path.read_text(encoding="utf-8") for path in pages()}
    stale = {path: new for path, text in texts.items() if (new := filled(text)) != text}
    for path, text in stale.items():
        if checking:
            sys.stdout.write(f"stale: docs/{path.relative_to(FOLDER).as_posix()}; run python -m docs.generated\n")
        else:
            path.write_text(text, encoding="utf-8")
    return int(checking and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
