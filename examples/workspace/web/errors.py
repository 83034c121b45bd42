"""Errors as pages. Each says what happened and what to do next, and none shows a stored value."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ExceptionHandler

from examples.workspace.web.rendering import render
from tablekit import (
    BatchIncomplete,
    ConditionFailed,
    ConnectionFailed,
    CursorError,
    DataError,
    ItemNotFound,
    KeyPartError,
    LimitExceeded,
    RequestError,
    ServerFault,
    ServiceError,
    TablekitError,
    Throttled,
    TransactionCancelled,
    WriteOutcomeUnknown,
)

__all__ = ["HANDLERS", "MembersOnly", "NotFound", "failed"]

ANSWERS: Final[dict[type[Exception], tuple[int, str, str]]] = {
    ItemNotFound: (404, "There is no such thing", "It may have been removed, or the address has a slip in it."),
    KeyPartError: (404, "There is no such thing", "The address holds characters that no key of this app has."),
    CursorError: (
        400,
        "This link is no place in this list",
        "Begin the list anew: the cursor was cut or is another's.",
    ),
    LimitExceeded: (413, "That is more than one item can hold", "DynamoDB stores at most 400 KB in an item."),
    RequestError: (400, "This was not sent", "Part of what was given cannot be stored or asked for like that."),
    ConditionFailed: (409, "It was changed meanwhile", "Nothing was written. Go back, load the page again, and look."),
    TransactionCancelled: (409, "It was changed meanwhile", "Nothing was written. Go back and load the page again."),
    DataError: (500, "A stored row cannot be read", "An operator finds it on the table page."),
    WriteOutcomeUnknown: (
        503,
        "It may or may not have been saved",
        "The answer was lost on the way. Load the page and look before you try again.",
    ),
    BatchIncomplete: (503, "The table is busy", "Some of the rows did not come. Try again in a moment."),
    Throttled: (503, "The table is busy", "More was asked of it than it takes at once. Try again in a moment."),
    ConnectionFailed: (503, "The database cannot be reached", "Nothing was lost. Try again in a moment."),
    ServerFault: (503, "The database has a problem", "It may be over in a moment. Try again."),
    ServiceError: (503, "The database refused", "An operator finds the reason in the log."),
    TablekitError: (500, "Something went wrong", "An operator finds the reason in the log."),
    Exception: (500, "Something went wrong", "An operator finds the reason in the log."),
}
"""Status, title and remedy of each kind of failure; a subclass without an entry is answered as its base."""


class NotFound(HTTPException):
    """There is no such page."""

    def __init__(self, what: str) -> None:
        super().__init__(404, f"There is no {what} here. It may have been removed, or the address has a slip in it.")


class MembersOnly(HTTPException):
    """Only members of a workspace may do this.

    Parameters:
        way: the address of the page where one joins it.
    """

    def __init__(self, way: str) -> None:
        super().__init__(403, "Only members of this workspace write in it. Join it, or sign in, and try again.")
        self.way = way


def failed(request: Request, error: Exception) -> HTMLResponse:
    """The page of a failure."""
    found = next(cls for cls in type(error).__mro__ if cls in ANSWERS)
    status, title, remedy = ANSWERS[found]
    return _page(request, status, title, remedy, name=type(error).__name__)


def _page(
    request: Request,
    status: int,
    title: str,
    remedy: str,
    *,
    name: str = "",
    headers: Mapping[str, str] | None = None,
    way: str = "",
) -> HTMLResponse:
    waiting = {"Retry-After": "2"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    values: dict[str, Any] = {"code": status, "title": title, "remedy": remedy, "failure": name, "way": way}
    return render(request, "error.html", status=status, headers={**waiting, **(headers or {})}, **values)


async def _failed(request: Request, error: Exception) -> Response:
    return failed(request, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    remedy = error.detail if error.detail != title else "The address has a slip in it, or the page is gone."
    way = error.way if isinstance(error, MembersOnly) else ""
    return _page(request, error.status_code, title, remedy, headers=error.headers, way=way)


HANDLERS: Final[dict[Any, ExceptionHandler]] = {HTTPException: _refused, **dict.fromkeys(ANSWERS, _failed)}
"""What Starlette calls for each kind of failure."""
