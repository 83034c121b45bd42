"""Members: signing up, which a flag may close, and signing in."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any

import attrs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import AppFlags, Member, Workspace
from examples.workspace.web.errors import MembersOnly, NotFound
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.rendering import path, render
from tablekit import ItemExists

__all__ = ["Person", "checked", "enrol", "join", "must_be_member", "show", "sign_in", "sign_out", "signed_in"]

EMAIL = re.compile(r"[^\s#@]+@[^\s#@]+")


@attrs.frozen
class Person:
    """Who has signed in to a workspace."""

    name: str
    email: str


def signed_in(request: Request, workspace_id: str) -> Person | None:
    """Who has signed in to a workspace in this browser, if anybody."""
    found = request.session.get("people", {}).get(workspace_id)
    return Person(*found) if found else None


def must_be_member(request: Request, workspace_id: str) -> Person:
    """Who has signed in; anybody else is refused."""
    person = signed_in(request, workspace_id)
    if person is None:
        raise MembersOnly(path("w", workspace_id, "join"))
    return person


def enrol(request: Request, member: Member) -> None:
    """Sign a member in."""
    people = request.session.get("people", {})
    request.session["people"] = {**people, member.workspace_id: [member.name, member.email]}


def checked(form: Form, workspace_id: str, *, role: str) -> tuple[Member, str, dict[str, str]]:
    """A new member from a form, with the code to sign in by, and what is wrong with the form, by field.

    Raises `HTTPException` while sign-up is closed.
    """
    if not AppFlags.get().signup_enabled:
        raise HTTPException(403, "Sign-up is closed at the moment. Who is a member can still sign in.")
    name, email = form.line("name"), form.line("email").lower()
    problems: dict[str, str] = {}
    if not 0 < len(name) <= 80:
        problems["name"] = "Give a name of 1 to 80 characters."
    if not EMAIL.fullmatch(email) or len(email) > 200:
        problems["email"] = "Give an e-mail address, such as ada@example.com."
    code = secrets.token_urlsafe(9)
    member = Member(workspace_id=workspace_id, email=email, name=name, role=role, code_hash=_hash(code))
    return member, code, problems


def show(request: Request) -> Response:
    """The forms for signing up and for signing in."""
    return _forms(request)


def join(request: Request, form: Form) -> Response:
    """Sign up."""
    workspace = _workspace(request)
    member, code, problems = checked(form, workspace.workspace_id, role="writer")
    if problems:
        return _forms(request, form, problems, status=400)
    try:
        member.create()
    except ItemExists:
        return _forms(request, form, {"email": "This address is a member already. Sign in with its code."}, status=409)
    enrol(request, member)
    notice(request, f"Welcome, {member.name}. Your code to sign in again is {code}; it is shown this once.")
    return see("w", workspace.workspace_id)


def sign_in(request: Request, form: Form) -> Response:
    """Sign in with the code that signing up gave."""
    workspace = _workspace(request)
    email = form.line("sign_in_email").lower()
    member = Member.get(workspace_id=workspace.workspace_id, email=email) if EMAIL.fullmatch(email) else None
    if member is None or not hmac.compare_digest(member.code_hash, _hash(form.line("code"))):
        return _forms(request, form, {"code": "Address and code do not belong together."}, status=403)
    enrol(request, member)
    return see("w", workspace.workspace_id)


def sign_out(request: Request, form: Form) -> Response:
    """Forget who has signed in."""
    workspace_id: str = request.path_params["workspace_id"]
    people = dict(request.session.get("people", {}))
    people.pop(workspace_id, None)
    request.session["people"] = people
    return see("w", workspace_id)


def _forms(
    request: Request, form: Form | None = None, problems: dict[str, str] | None = None, status: int = 200
) -> Response:
    given = {name: form.line(name) if form else "" for name in ("name", "email", "sign_in_email")}
    values: dict[str, Any] = {"given": given, "problems": problems or {}, "open": AppFlags.get().signup_enabled}
    return render(request, "join.html", status=status, workspace=_workspace(request), **values)


def _workspace(request: Request) -> Workspace:
    found = Workspace.get(workspace_id=request.path_params["workspace_id"])
    if found is None:
        raise NotFound("workspace of this name")
    return found


def _hash(code: str) -> str:
    # The codes are long and random, so that a plain hash cannot be guessed back; a password would need a slow one.
    return hashlib.sha256(code.encode()).hexdigest()
