"""Learn from botocore where requests for a table go, and how they look.

botocore builds and signs one request, which is taken from its ``before-send`` event and goes nowhere. A client's
``endpoint_url`` does not tell as much: with account-based endpoints the host depends on the credentials, and a table
given by its ARN is reached at its own account's host.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tablekit.errors import RequestError
from tablekit.operations.signer import canonical_path
from tablekit.wire.requests import table_names

__all__ = ["Place", "capture", "register_capture", "tables_of"]

# Headers that each request brings anew.
_PER_REQUEST: Final = frozenset(
    {
        "amz-sdk-invocation-id",
        "amz-sdk-request",
        "authorization",
        "content-length",
        "expect",
        "x-amz-date",
        "x-amz-security-token",
        "x-amz-target",
        "x-amzn-trace-id",
    }
)


class Place(NamedTuple):
    """Where requests go, and what they have in common.

    Attributes:
        url: with scheme, host and path. region, service: of the signature. access_key: whose signature it was.
        target: the part of ``x-amz-target`` before the operation. headers: in lower case, ``host`` included.
    """

    url: str
    region: str
    service: str
    access_key: str
    target: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        """The URL's path as it is signed."""
        return canonical_path(urlsplit(self.url).path)


class _Captured(Exception):
    """Stops botocore; nobody sees it."""

    def __init__(self, request: Any) -> None:
        super().__init__()
        self.request = request


_capturing: ContextVar[bool] = ContextVar("tablekit_capturing", default=False)


def register_capture(events: Any) -> None:
    """Listen to a client's events, ``client.meta.events``, for the requests of `capture`."""
    # Last, so that what a user's handlers add to a request is seen.
    events.register_last("before-send.dynamodb", _before_send)


def _before_send(request: Any, **_: Any) -> None:
    if _capturing.get():
        raise _Captured(request)


def capture(client: Any, tables: Sequence[str]) -> Place:
    """The place of requests on some tables, by a request that botocore builds and nobody sends.

    Parameters:
        client: a botocore client on whose events `register_capture` listens. tables: their names or ARNs.

    Raises what botocore raises for want of a region or credentials, and `RequestError` for a client that signs in
    another way than by SigV4.
    """
    key = {"k": {"S": "k"}}
    token = _capturing.set(True)
    try:
        if len(tables) == 1:
            client.get_item(TableName=tables[0], Key=key)
        else:
            client.batch_get_item(RequestItems={table: {"Keys": [key]} for table in tables})
    except _Captured as captured:
        return _place(captured.request)
    finally:
        _capturing.reset(token)
    raise RequestError(
        "A handler of the botocore session answered in place of the network, which the direct transport has no part in."
    )


def _place(request: Any) -> Place:
    headers = {_text(name).lower(): _text(value) for name, value in request.headers.items()}
    scheme, _, rest = headers.get("authorization", "").partition(" Credential=")
    scope = rest.partition(",")[0].split("/")
    url = urlsplit(str(request.url))
    if scheme != "AWS4-HMAC-SHA256" or len(scope) != 5 or url.query:
        raise RequestError(
            "The direct transport signs with SigV4 alone, and this session is set up for something else. "
            "Connect with transport='pynamodb'."
        )
    kept = {name: value for name, value in headers.items() if name not in _PER_REQUEST}
    return Place(
        request.url,
        region=scope[2],
        service=scope[3],
        access_key=scope[0],
        target=headers["x-amz-target"].rpartition(".")[0],
        headers={**kept, "host": headers.get("host", _host(url.scheme, url.netloc)), "accept-encoding": "identity"},
    )


def _host(scheme: str, netloc: str) -> str:
    """The host as it is signed: without credentials of the URL, and without the port that the scheme implies."""
    host = netloc.rpartition("@")[2]
    name, _, port = host.rpartition(":")
    implied = {"http": "80", "https": "443"}.get(scheme)
    return name if name and port == implied else host


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def tables_of(wire: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables of a request that are given by ARN, with those beside them; empty when all are given by name.

    Requests on names go to one place, whichever they are.
    """
    names = table_names(wire)
    return names if any(table.startswith("arn:") for table in names) else ()
