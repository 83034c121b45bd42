"""A document with its comments."""

from __future__ import annotations

import secrets
from datetime import datetime, timezone
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import Comment, Document, app
from examples.workspace.web.errors import NotFound
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.members import must_be_member, signed_in
from examples.workspace.web.rendering import render
from tablekit import TransactionCancelled

__all__ = ["comment", "find", "show"]

LONGEST_COMMENT = 5_000


def show(request: Request) -> Response:
    """A document and what was said about it, from one query."""
    return _document(request)


def find(request: Request) -> Response:
    """Go to the document of a slug; the index of names knows it."""
    workspace_id, slug = request.path_params["workspace_id"], request.path_params["slug"]
    found = Document.by_slug.query(workspace_id=workspace_id, slug=slug).select(Document.doc_id).first()
    if found is None:
        raise NotFound("page or document of this name")
    return see("w", workspace_id, "doc", found.doc_id)


def comment(request: Request, form: Form) -> Response:
    """Say something about a document, as long as it is there."""
    workspace_id, doc_id = request.path_params["workspace_id"], request.path_params["doc_id"]
    person = must_be_member(request, workspace_id)
    body, now = form.line("body"), datetime.now(timezone.utc)
    if not 0 < len(body) <= LONGEST_COMMENT:
        return _document(request, f"Write between 1 and {LONGEST_COMMENT:,} characters.", body)
    said = Comment(
        workspace_id=workspace_id,
        doc_id=doc_id,
        comment_id=f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        author=person.name,
        body=body,
        written_at=now,
    )
    try:
        with app.transaction() as tx:
            tx.check(Document.key(workspace_id=workspace_id, doc_id=doc_id))
            tx.create(said)
    except TransactionCancelled as cancelled:
        if cancelled.reasons[0].error is None:
            raise
        raise NotFound("document of this name") from cancelled
    notice(request, "Your comment is there.")
    return see("w", workspace_id, "doc", doc_id)


def _document(request: Request, problem: str = "", body: str = "") -> Response:
    workspace_id, doc_id = request.path_params["workspace_id"], request.path_params["doc_id"]
    query = app.query(Document, Comment, workspace_id=workspace_id, doc_id=doc_id)
    found = query.grouped()
    documents, comments = found[Document], found[Comment]
    if not documents:
        raise NotFound("document of this name")
    values: dict[str, Any] = {"document": documents[0], "comments": comments, "request_made": query.explain()}
    person = signed_in(request, workspace_id)
    status = 400 if problem else 200
    return render(request, "document.html", status=status, person=person, problem=problem, body=body, **values)
