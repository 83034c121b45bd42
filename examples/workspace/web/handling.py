"""How a request becomes a page: its form, the gate of the flags, and a note of what was asked of DynamoDB."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from examples.workspace.models import AppFlags, app
from examples.workspace.web.rendering import path, render
from examples.workspace.web.security import check_token
from tablekit import Observation

__all__ = ["Endpoint", "Form", "action", "notice", "page", "see"]

Endpoint = Callable[[Request], Awaitable[Response]]
LARGEST_FORM = 1_000_000


class Form:
    """What a form sent, as text."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def text(self, name: str) -> str:
        """A field's text, ``""`` where it is missing; browsers end lines of a textarea with CR LF."""
        value = self._data.get(name, "")
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def line(self, name: str) -> str:
        """A field's text without blanks around it."""
        return self.text(name).strip()

    def number(self, name: str) -> int:
        """A field's number; 0 where there is none."""
        text = self.line(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def page(make: Callable[[Request], Response], *, gated: bool = True) -> Endpoint:
    """An endpoint that shows something.

    Parameters:
        make: makes the page, in a worker thread. gated: whether maintenance closes it.
    """

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_served, request, lambda: make(request), gated=gated)

    return endpoint


def action(do: Callable[[Request, Form], Response], *, gated: bool = True) -> Endpoint:
    """An endpoint that changes something, by a form that carries the session's token; as `page`."""

    async def endpoint(request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_FORM:
            raise HTTPException(413, f"A form holds at most {LARGEST_FORM:,} bytes here.")
        data = await request.form()
        check_token(request, data)
        return await run_in_threadpool(_served, request, lambda: do(request, Form(data)), gated=gated)

    return endpoint


def _served(request: Request, work: Callable[[], Response], *, gated: bool) -> Response:
    seen: list[Observation] = []
    request.state.seen = seen
    with app.meter(seen.append):
        if gated and _closed():
            return render(request, "maintenance.html", status=503, headers={"Retry-After": "30"})
        return work()


def _closed() -> bool:
    flags = AppFlags.get()
    if flags.source == "default" and flags.problem is not None:
        # The safe values close the site; but the reader should hear of the engine, and not of maintenance.
        raise flags.problem
    return flags.maintenance_mode


def see(*parts: str, **query: str) -> Response:
    """Send the browser on to another page after a form, so that a reload does not send the form again."""
    return RedirectResponse(path(*parts, **query), status_code=303)


def notice(request: Request, text: str) -> None:
    """Show a line on the next page."""
    request.session["notice"] = text
