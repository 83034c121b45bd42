"""What keeps a page's readers safe: headers, and the token that shows that a form is ours."""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import FormData, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SafeHeaders", "check_token", "token_of"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SafeHeaders:
    """Gives every answer the headers under which a browser runs and loads nothing but this site's own files."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, sending)


def token_of(request: Request) -> str:
    """The token that the forms of this session carry."""
    if "token" not in request.session:
        request.session["token"] = secrets.token_urlsafe(24)
    token: str = request.session["token"]
    return token


def check_token(request: Request, form: FormData) -> None:
    """Refuse a form that another site had the browser send, with the cookie but without the token."""
    origin = request.headers.get("origin")
    given, known = form.get("token"), request.session.get("token", "")
    elsewhere = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if elsewhere or not isinstance(given, str) or not known or not hmac.compare_digest(given.encode(), known.encode()):
        raise HTTPException(
            403, "This form is too old, or comes from another site. Nothing was changed: load the page again."
        )
