"""The workspaces, and one of them as a single query of its partition gives it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import attrs
from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import Comment, Document, Member, Workspace, app
from examples.workspace.web.errors import NotFound
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.members import checked, enrol, signed_in
from examples.workspace.web.rendering import render
from tablekit import TransactionCancelled

__all__ = ["create", "show", "show_all", "slugged"]

Row = Workspace | Document | Comment | Member


@attrs.define
class Outline:
    """The rows of a workspace, in the order in which a page shows them.

    Attributes:
        workspace: its own row. documents, members: as they are sorted. comments: by the document that they are on.
    """

    workspace: Workspace | None = None
    documents: list[Document] = attrs.Factory(list[Document])
    comments: dict[str, list[Comment]] = attrs.Factory(dict[str, list[Comment]])
    members: list[Member] = attrs.Factory(list[Member])

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Outline:
        """Sort rows by what they are: each came back as its class."""
        outline = cls()
        for row in rows:
            match row:
                case Workspace():
                    outline.workspace = row
                case Document():
                    outline.documents.append(row)
                case Comment():
                    outline.comments.setdefault(row.doc_id, []).append(row)
                case Member():
                    outline.members.append(row)
        return outline


def show(request: Request) -> Response:
    """A workspace with its documents, their comments, and its members."""
    workspace_id: str = request.path_params["workspace_id"]
    query = app.query(Workspace, Document, Comment, Member, workspace_id=workspace_id)
    outline = Outline.of(query.all())
    if outline.workspace is None:
        raise NotFound("workspace of this name")
    person = signed_in(request, workspace_id)
    return render(request, "workspace.html", outline=outline, request_made=query.explain(), person=person)


def show_all(request: Request) -> Response:
    """The workspaces that there are."""
    return _all(request)


def create(request: Request, form: Form) -> Response:
    """Create a workspace with its first member, both or neither."""
    name = form.line("workspace")
    workspace_id = slugged(name)
    member, code, problems = checked(form, workspace_id or "new", role="owner")
    if not workspace_id or len(name) > 80:
        problems["workspace"] = "Give a name of 1 to 80 characters, with a letter or a digit in it."
    if problems:
        return _all(request, form, problems, status=400)
    try:
        with app.transaction() as tx:
            tx.create(Workspace(workspace_id=workspace_id, name=name))
            tx.create(member)
    except TransactionCancelled as cancelled:
        if not cancelled.reasons[0].error:
            raise
        return _all(request, form, {"workspace": "There is a workspace of this name already."}, status=409)
    enrol(request, member)
    notice(request, f"{name} is yours. Your code to sign in again is {code}; it is shown this once.")
    return see("w", workspace_id)


def _all(
    request: Request, form: Form | None = None, problems: dict[str, str] | None = None, **options: int
) -> Response:
    query = Workspace.listed.query()
    given = {name: form.line(name) if form else "" for name in ("workspace", "name", "email")}
    values: dict[str, Any] = {
        "workspaces": query.all(),
        "request_made": query.explain(),
        "given": given,
        "problems": problems or {},
    }
    return render(request, "workspaces.html", status=options.get("status", 200), **values)


def slugged(text: str) -> str:
    """A text as a part of an address: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:60].strip("-")
