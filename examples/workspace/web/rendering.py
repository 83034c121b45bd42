"""Pages from templates. Whatever a page shows is escaped, unless the Markdown renderer made it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from examples.workspace.web.security import token_of

__all__ = ["path", "render", "shown"]

_COMMENT = re.compile(r"<!--[^>]*-->\n?")
# This preset passes no HTML through and makes no link of a javascript: address; images would be another site's.
_markdown = MarkdownIt("js-default").disable("image")
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(
    request: Request, name: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page.

    Parameters:
        name: the template. values: what it shows.
    """
    text = _templates.get_template(name).render(
        values,
        address=request.url.path,
        token=token_of(request),
        notice=request.session.pop("notice", None),
        seen=getattr(request.state, "seen", []),
        writing=bool(request.session.get("writing")),
    )
    return HTMLResponse(text, status, headers)


def path(*parts: str, **query: Any) -> str:
    """An address of this site; None and False leave a parameter out."""
    # A document's id may hold slashes, and its address holds them too; other parts hold none.
    given = {name: "1" if value is True else value for name, value in query.items() if value not in (None, False, "")}
    return "/" + "/".join(quote(part, safe="/") for part in parts) + (f"?{urlencode(given)}" if given else "")


def _marked_up(text: str, title: str = "") -> Markup:
    """A document's Markdown, whose headings stand below the page's own.

    A heading that repeats the title is left out, and so are paragraphs that are comments of HTML.
    """
    tokens = _markdown.parse(text)
    for at in reversed([at for at, token in enumerate(tokens) if _COMMENT.fullmatch(token.content)]):
        if tokens[at - 1].type == "paragraph_open":
            del tokens[at - 1 : at + 2]
    if len(tokens) > 2 and tokens[0].tag == "h1" and tokens[1].content == title:
        del tokens[:3]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    return Markup(_markdown.renderer.render(tokens, _markdown.options, {}))  # noqa: S704  (the renderer escapes)  # nosec B704


def _moment(value: datetime) -> Markup:
    """A time, for people and for machines."""
    utc = value.astimezone(timezone.utc)
    return Markup('<time datetime="{}">{}</time>').format(utc.isoformat(), f"{utc:%d %b %Y, %H:%M}")


def shown(value: Any, most: int = 0) -> str:
    """A stored value as one line of text, cut after so many characters."""
    plain = value.value if isinstance(value, Enum) else value
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=_stored)
    return text if not most or len(text) <= most else f"{text[:most]}…"


def _stored(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        members: set[Any] | frozenset[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return sorted(members, key=str)
    return value.value if isinstance(value, Enum) else str(value)


def _kind(value: object) -> str:
    return type(value).__name__


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _extend(known: Any, **more: Any) -> None:
    """Add to Jinja's filters or globals, whose types know Jinja's own only."""
    known.update(more)


_extend(_templates.filters, kind=_kind, markdown=_marked_up, moment=_moment, plural=_plural, shown=shown)
_extend(_templates.globals, path=path)
