"""Writing documents. An editor who is late is told, sees both versions, and chooses."""

from __future__ import annotations

import difflib
import re
import secrets
from collections.abc import Iterator
from typing import Any

import attrs
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import Self

from examples.workspace.models import Document, Status
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.members import must_be_member, signed_in
from examples.workspace.web.rendering import render
from examples.workspace.web.workspaces import slugged
from tablekit import ItemExists, UniqueViolation, VersionConflict

__all__ = ["create", "save", "show", "show_new"]

TAKEN = frozenset({"comment", "doc", "edit", "feed", "join", "new", "sign-in", "sign-out"})
"""Slugs that are addresses of the site itself."""

LARGEST_BODY = 300_000
SLUG_TAKEN = "Another document of this workspace has this slug. Choose another one."


@attrs.frozen
class Draft:
    """What an editor has in the form."""

    title: str = ""
    slug: str = ""
    status: str = Status.DRAFT.value
    tags: str = ""
    body: str = ""

    @classmethod
    def of(cls, document: Document) -> Self:
        """A stored document as the form shows it."""
        tags = ", ".join(sorted(document.tags))
        return cls(document.title, document.slug or "", document.status.value, tags, document.body)

    @classmethod
    def sent(cls, form: Form) -> Self:
        """What the form sent."""
        return cls(form.line("title"), form.line("slug"), form.line("status"), form.line("tags"), form.text("body"))

    @property
    def tag_set(self) -> set[str]:
        """The tags, which are written with commas between them."""
        return {tag for tag in (part.strip() for part in self.tags.split(",")) if tag}

    def problems(self) -> dict[str, str]:
        """What is wrong with it, by field."""
        found: dict[str, str] = {}
        if not 0 < len(self.title) <= 200:
            found["title"] = "Give a title of 1 to 200 characters."
        if self.slug and (not re.fullmatch(r"[a-z0-9-]{1,60}", self.slug) or self.slug in TAKEN):
            found["slug"] = "A slug is made of small letters, digits and hyphens, and is no page of the site."
        if self.status not in {status.value for status in Status}:
            found["status"] = "Choose one of the two."
        if len(self.body.encode()) > LARGEST_BODY:
            found["body"] = f"The text is too long: {LARGEST_BODY:,} bytes fit in."
        return found


def show_new(request: Request) -> Response:
    """The form for a new document."""
    must_be_member(request, request.path_params["workspace_id"])
    return _form(request, Draft())


def create(request: Request, form: Form) -> Response:
    """Create a document under a slug that no other of its workspace has."""
    workspace_id: str = request.path_params["workspace_id"]
    must_be_member(request, workspace_id)
    draft = Draft.sent(form)
    draft = attrs.evolve(draft, slug=draft.slug or slugged(draft.title))
    problems = draft.problems()
    if problems:
        return _form(request, draft, problems, status=400)
    document = Document(
        workspace_id=workspace_id,
        doc_id=secrets.token_hex(6),
        title=draft.title,
        slug=draft.slug or None,
        status=Status(draft.status),
        tags=draft.tag_set,
        body=draft.body,
        words=len(draft.body.split()),
    )
    try:
        document.create()
    except (UniqueViolation, ItemExists):
        return _form(request, draft, {"slug": SLUG_TAKEN}, status=409)
    notice(request, "The document is there.")
    return see("w", workspace_id, "doc", document.doc_id)


def show(request: Request) -> Response:
    """The form with a document as it is stored."""
    workspace_id: str = request.path_params["workspace_id"]
    must_be_member(request, workspace_id)
    document = Document.get_or_raise(workspace_id=workspace_id, doc_id=request.path_params["doc_id"])
    return _form(request, Draft.of(document), revision=document.revision)


def save(request: Request, form: Form) -> Response:
    """Save what the form holds, if the document is still at the revision that the form was filled with."""
    workspace_id, doc_id = request.path_params["workspace_id"], request.path_params["doc_id"]
    must_be_member(request, workspace_id)
    draft, revision = Draft.sent(form), form.number("revision")
    problems = draft.problems()
    if problems:
        return _form(request, draft, problems, revision=revision, status=400)
    try:
        saved = Document.key(workspace_id=workspace_id, doc_id=doc_id).update(
            Document.title.set(draft.title),
            Document.slug.set(draft.slug or None),
            Document.status.set(Status(draft.status)),
            Document.tags.set(draft.tag_set),
            Document.body.set(draft.body),
            Document.words.set(len(draft.body.split())),
            version=revision,
        )
    except UniqueViolation:
        return _form(request, draft, {"slug": SLUG_TAKEN}, revision=revision, status=409)
    except VersionConflict as conflict:
        return _conflict(request, draft, revision, conflict.stored)
    notice(request, f"Saved as revision {saved.revision}.")
    return see("w", workspace_id, "doc", doc_id)


def _form(
    request: Request, draft: Draft, problems: dict[str, str] | None = None, *, revision: int = 0, status: int = 200
) -> Response:
    values: dict[str, Any] = {
        "draft": draft,
        "problems": problems or {},
        "revision": revision,
        "statuses": list(Status),
    }
    return render(request, "edit.html", status=status, **_where(request), **values)


def _conflict(request: Request, draft: Draft, revision: int, stored: Document) -> Response:
    """Both versions, field by field, and the choice between them."""
    theirs = Draft.of(stored)
    fields = [
        (name, getattr(theirs, name), getattr(draft, name))
        for name in ("title", "slug", "status", "tags")
        if getattr(theirs, name) != getattr(draft, name)
    ]
    values: dict[str, Any] = {
        "draft": draft,
        "stored": stored,
        "revision": revision,
        "fields": fields,
        "statuses": list(Status),
    }
    lines = list(_difference(theirs.body, draft.body))
    return render(request, "conflict.html", status=409, lines=lines, **_where(request), **values)


def _difference(theirs: str, mine: str) -> Iterator[tuple[str, str]]:
    """The lines in which two texts differ, with some around them: a sign, and the line."""
    for line in list(difflib.unified_diff(theirs.splitlines(), mine.splitlines(), lineterm="", n=2))[2:]:
        yield line[0], line[1:]


def _where(request: Request) -> dict[str, Any]:
    workspace_id: str = request.path_params["workspace_id"]
    doc_id = request.path_params.get("doc_id", "")
    return {"workspace_id": workspace_id, "doc_id": doc_id, "person": signed_in(request, workspace_id)}
