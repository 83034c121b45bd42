"""The flags of the app: what this process goes by, and changing them without undoing another operator's change."""

from __future__ import annotations

from typing import Any

import attrs
from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import AppFlags
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.rendering import render

__all__ = ["read", "save", "show"]

ABOUT = {
    "signup_enabled": "New people may join a workspace, and found one.",
    "maintenance_mode": "Every page but the operator's answers that the site is closed for a moment.",
    "ai_search_enabled": "Not built yet: a flag may be there before its feature is.",
}


@attrs.frozen
class Switch:
    """One flag.

    Attributes:
        name: the field. value: its value. about: what it does.
    """

    name: str
    value: bool
    about: str


class Raced(Exception):
    """Another operator was first.

    Attributes:
        stored: the row as it is now.
    """

    def __init__(self, stored: AppFlags) -> None:
        super().__init__("another operator was first")
        self.stored = stored


def show(request: Request) -> Response:
    """The flags as this process has them in memory."""
    flags = AppFlags.get()
    return render(request, "flags.html", flags=flags, switches=_switches(flags), request_made=AppFlags.explain())


def read(request: Request, form: Form) -> Response:
    """Read the row now, past the cache, which takes it over."""
    flags = AppFlags.load()
    notice(request, f"Read from the table: version {flags.version}.")
    return see("flags")


def save(request: Request, form: Form) -> Response:
    """Change the flags, if the row is still at the version that the form was made from."""
    seen, wanted = form.number("version"), {switch.name: switch.name in form for switch in _switches(AppFlags())}

    def change(flags: AppFlags) -> None:
        # edit() calls this again with the newer row when another writer was first between its read and its write.
        if flags.version != seen:
            raise Raced(flags)
        for name, value in wanted.items():
            setattr(flags, name, value)

    try:
        saved = AppFlags.edit(change)
    except Raced as raced:
        return _raced(request, raced.stored, wanted, seen, form)
    notice(request, f"The flags are at version {saved.version}.")
    return see("flags")


def _raced(request: Request, stored: AppFlags, wanted: dict[str, bool], seen: int, form: Form) -> Response:
    """Who was late sees what they saw, what holds now, and what they wanted."""
    rows: list[dict[str, Any]] = [
        {"name": name, "seen": form.line(f"was.{name}") == "on", "now": getattr(stored, name), "wanted": value}
        for name, value in wanted.items()
    ]
    return render(request, "flags_raced.html", status=409, rows=rows, seen=seen, stored=stored)


def _switches(flags: AppFlags) -> list[Switch]:
    return [Switch(name, bool(getattr(flags, name)), about) for name, about in ABOUT.items()]
