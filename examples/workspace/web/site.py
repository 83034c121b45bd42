"""The site: its addresses, and what each request passes through."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from examples.workspace.web import documents, editing, feed, flags, members, rows, staging, table, workspaces
from examples.workspace.web.errors import HANDLERS
from examples.workspace.web.handling import action, page
from examples.workspace.web.security import SafeHeaders

__all__ = ["ROUTES", "site"]

DOCUMENT = "/w/{workspace_id}/doc/{doc_id:path}"
EDIT = "/w/{workspace_id}/edit/{doc_id:path}"

ROUTES = [
    Route("/", page(workspaces.show_all)),
    Route("/workspaces", action(workspaces.create), methods=["POST"]),
    Route("/w/{workspace_id}", page(workspaces.show)),
    Route("/w/{workspace_id}/feed", page(feed.show)),
    Route("/w/{workspace_id}/join", page(members.show)),
    Route("/w/{workspace_id}/join", action(members.join), methods=["POST"]),
    Route("/w/{workspace_id}/sign-in", action(members.sign_in), methods=["POST"]),
    Route("/w/{workspace_id}/sign-out", action(members.sign_out), methods=["POST"]),
    Route("/w/{workspace_id}/new", page(editing.show_new)),
    Route("/w/{workspace_id}/new", action(editing.create), methods=["POST"]),
    Route(DOCUMENT, page(documents.show)),
    Route(EDIT, page(editing.show)),
    Route(EDIT, action(editing.save), methods=["POST"]),
    Route("/w/{workspace_id}/comment/{doc_id:path}", action(documents.comment), methods=["POST"]),
    Route("/w/{workspace_id}/{slug}", page(documents.find)),
    Route("/flags", page(flags.show, gated=False)),
    Route("/flags", action(flags.save, gated=False), methods=["POST"]),
    Route("/flags/read", action(flags.read, gated=False), methods=["POST"]),
    Route("/table", page(table.show, gated=False)),
    Route("/table/row", page(rows.show, gated=False)),
    Route("/table/row", action(staging.stage, gated=False), methods=["POST"]),
    Route("/table/mode", action(staging.switch, gated=False), methods=["POST"]),
    Route("/table/staged", page(staging.show, gated=False)),
    Route("/table/staged", action(staging.send, gated=False), methods=["POST"]),
    Route("/table/staged/drop", action(staging.drop, gated=False), methods=["POST"]),
    Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
]
"""The addresses. An operator's pages, the flags and the table, stay open in maintenance."""


def site(secret: str) -> ASGIApp:
    """The web app.

    Parameters:
        secret: signs the session cookie.
    """
    # Names of this machine only: a page of another site whose name was made to resolve to here gets no answer.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    session = Middleware(SessionMiddleware, secret_key=secret, session_cookie="workspace", same_site="lax")
    return SafeHeaders(Starlette(routes=ROUTES, middleware=[hosts, session], exception_handlers=HANDLERS))
