"""Sign requests with AWS Signature Version 4, with everything that stays the same computed once.

A request differs from the one before it in a handful of headers and in its body, so that the canonical request is
a template made once for each place that requests go to, and the signing key, four hashes deep, is kept for its day.
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote

__all__ = ["NOT_SIGNED", "VARYING", "Keys", "KeysLike", "Signer", "Stamp", "canonical_path", "stamp_at"]

NOT_SIGNED: Final = frozenset(
    {
        "baggage",
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "x-amzn-trace-id",
    }
)
"""Headers that proxies may change or that are not the request's own; they are sent unsigned, as botocore does."""

VARYING: Final = (
    "amz-sdk-invocation-id",
    "amz-sdk-request",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-target",
)
"""The signed headers whose values change from request to request, in the order of signing."""


class KeysLike(Protocol):
    """What a credential has; botocore's frozen credentials are of this shape."""

    @property
    def access_key(self) -> str:
        """The access key id."""
        ...

    @property
    def secret_key(self) -> str:
        """The secret access key."""
        ...

    @property
    def token(self) -> str | None:
        """The session token of temporary credentials."""
        ...


class Keys(NamedTuple):
    """A credential that does not change."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        return "Keys(***)"


class Stamp(NamedTuple):
    """A moment as signatures spell it: ``20260131T235959Z`` and its day, ``20260131``."""

    moment: str
    day: str


def stamp_at(seconds: float) -> Stamp:
    """The stamp of a moment in seconds since 1970."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))
    return Stamp(moment, moment[:8])


def canonical_path(path: str) -> str:
    """A URL's path as it is signed: without dot segments and doubled slashes, and quoted."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part and part != ".":
            parts.append(part)
    end = "/" if path.endswith("/") and parts else ""
    return quote(f"/{'/'.join(parts)}{end}", safe="/~")


class _Template(NamedTuple):
    """A canonical request with places for what varies, and the names that it signs."""

    text: str
    signed: str


class Signer:
    """Signs the POST requests that go to one place.

    Parameters:
        region, service: of the signature's scope. path: the URL's path, as `canonical_path` gives it.
        headers: the headers that are the same in each request, ``host`` included; a name of `NOT_SIGNED` is left out.
    """

    def __init__(self, *, region: str, service: str, path: str, headers: Mapping[str, str]) -> None:
        self._scope = f"{region}/{service}/aws4_request"
        self._region = region
        self._service = service
        fixed = {name.lower(): _squeezed(value) for name, value in headers.items()}
        fixed = {name: value for name, value in fixed.items() if name not in NOT_SIGNED}
        self._plain = _template(path, fixed, [name for name in VARYING if name != "x-amz-security-token"])
        self._with_token = _template(path, fixed, list(VARYING))
        # One assignment of a whole tuple: a thread sees the old key or the new one, each with what it belongs to.
        self._signing: tuple[str, str, bytes] = ("", "", b"")

    def authorization(
        self, keys: KeysLike, stamp: Stamp, *, invocation: str, attempt: str, target: str, body: bytes
    ) -> str:
        """The value of the Authorization header.

        Parameters:
            keys: the credential. stamp: the value of ``x-amz-date``. invocation, attempt: of ``amz-sdk-invocation-id``
                and ``amz-sdk-request``. target: of ``x-amz-target``. body: the bytes that are sent.
        """
        digest = sha256(body).hexdigest()
        if keys.token:
            template = self._with_token
            text = template.text % (invocation, attempt, stamp.moment, _squeezed(keys.token), target, digest)
        else:
            template = self._plain
            text = template.text % (invocation, attempt, stamp.moment, target, digest)
        scope = f"{stamp.day}/{self._scope}"
        to_sign = f"AWS4-HMAC-SHA256\n{stamp.moment}\n{scope}\n{sha256(text.encode()).hexdigest()}"
        signature = hmac.digest(self._key(keys.secret_key, stamp.day), to_sign.encode(), "sha256").hex()
        credential = f"{keys.access_key}/{scope}"
        return f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={template.signed}, Signature={signature}"

    def _key(self, secret: str, day: str) -> bytes:
        kept_secret, kept_day, key = self._signing
        if kept_day == day and kept_secret == secret:
            return key
        key = f"AWS4{secret}".encode()
        for part in (day, self._region, self._service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        self._signing = (secret, day, key)
        return key


def _squeezed(value: str) -> str:
    """A header's value without outer spaces, inner runs of spaces being one: what is signed."""
    return " ".join(value.split())


def _template(path: str, fixed: Mapping[str, str], varying: list[str]) -> _Template:
    lines = {name: value.replace("%", "%%") for name, value in fixed.items()}
    lines.update(dict.fromkeys(varying, "%s"))
    names = sorted(lines)
    headers = "\n".join(f"{name.replace('%', '%%')}:{lines[name]}" for name in names)
    signed = ";".join(names)
    head = f"POST\n{path.replace('%', '%%')}\n\n{headers}\n\n{signed.replace('%', '%%')}\n%s"
    return _Template(head, signed)
