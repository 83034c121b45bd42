"""How a table is reached: region, endpoint, credentials, timeouts, retries."""

from __future__ import annotations

import os
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import attrs

from tablekit.errors import RequestError
from tablekit.operations.errors_map import no_credentials

__all__ = ["LOCAL_CREDENTIALS", "LOCAL_REGION", "Settings", "Transport", "client_options"]

LOCAL_REGION: Final = "us-east-1"
"""The region used for an endpoint on this machine when none is configured."""

LOCAL_CREDENTIALS: Final = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
"""The keys used for an endpoint on this machine when none are configured; local engines accept any."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


Transport = Literal["pynamodb", "direct"]
"""How requests leave: through pynamodb's connection, or through connections of our own."""


@attrs.frozen(kw_only=True)
class Settings:
    """How a table is reached. Everything has a default; botocore's own configuration fills region and keys.

    Parameters:
        region: such as ``"eu-west-1"``; None asks botocore's chain (``AWS_REGION``, the profile).
        endpoint_url: another endpoint than AWS's; None takes ``AWS_ENDPOINT_URL_DYNAMODB`` or ``AWS_ENDPOINT_URL``
            of the environment, where it is set. On this machine (``127.0.0.1``, ``localhost``, ``::1``)
            the region defaults to ``us-east-1`` and the keys to placeholders, when nothing is configured.
        session: a botocore session or a ``boto3.Session``; not together with a profile or keys.
        profile: the name of a profile in AWS's configuration files.
        aws_access_key_id, aws_secret_access_key, aws_session_token: static keys; never shown by ``repr``.
        connect_timeout, read_timeout: seconds, for each attempt; the read timeout is for each read of the
            socket.
        max_attempts: attempts in all, the first included.
        retry_mode: botocore's retry mode.
        max_pool_connections: open connections kept; raise it to the number of threads that share the table.
        transport: ``"pynamodb"`` sends through pynamodb's connection and botocore; ``"direct"`` through connections
            of our own, at a fraction of the cost a call, with botocore's endpoints, credentials and retry rules.
        fast_parse: read answers by `tablekit.wire.response` and give botocore the bodies of requests ready made;
            False leaves both to botocore, which gives and sends the same data.

    Raises `RequestError` for settings that contradict each other.
    See https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html for the retry modes.
    """

    region: str | None = None
    endpoint_url: str | None = None
    session: Any = attrs.field(default=None, repr=False)
    profile: str | None = None
    aws_access_key_id: str | None = attrs.field(default=None, repr=False)
    aws_secret_access_key: str | None = attrs.field(default=None, repr=False)
    aws_session_token: str | None = attrs.field(default=None, repr=False)
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    max_attempts: int = 4
    retry_mode: Literal["standard", "adaptive", "legacy"] = "standard"
    max_pool_connections: int = 32
    transport: Transport = "pynamodb"
    fast_parse: bool = True

    def __attrs_post_init__(self) -> None:
        if bool(self.aws_access_key_id) != bool(self.aws_secret_access_key):
            raise RequestError("aws_access_key_id and aws_secret_access_key go together: give both or neither.")
        if self.aws_session_token and not self.aws_access_key_id:
            raise RequestError("aws_session_token belongs to an access key: give aws_access_key_id too.")
        sources = [self.session is not None, self.profile is not None, bool(self.aws_access_key_id)]
        if sum(sources) > 1:
            raise RequestError("Credentials come from one place: give a session, a profile or keys, not several.")
        if self.max_attempts < 1:
            raise RequestError(f"max_attempts counts the first attempt and is at least 1, not {self.max_attempts}.")
        if self.transport not in ("pynamodb", "direct"):
            raise RequestError(f"transport is 'pynamodb' or 'direct', not {self.transport!r}.")
        if self.transport == "direct" and self.retry_mode != "standard":
            raise RequestError("The direct transport has botocore's standard retry mode alone.")

    @property
    def is_local(self) -> bool:
        """Whether the endpoint, given here or by the environment, is on this machine."""
        endpoint = self.endpoint_url or _configured_endpoint()
        return endpoint is not None and urlsplit(endpoint).hostname in _LOOPBACK

    @property
    def static_keys(self) -> dict[str, str]:
        """The keys that were given, by the names of botocore's ``create_client``; empty when none were."""
        if not self.aws_access_key_id or not self.aws_secret_access_key:
            return {}
        keys = {"aws_access_key_id": self.aws_access_key_id, "aws_secret_access_key": self.aws_secret_access_key}
        if self.aws_session_token:
            keys["aws_session_token"] = self.aws_session_token
        return keys


def _configured_endpoint() -> str | None:
    """The endpoint that botocore takes from the environment.

    https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
    """
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    return os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL") or None


def client_options(settings: Settings, *, has_region: bool, has_credentials: bool) -> dict[str, Any]:
    """The region and the keys that a client is made with, by the names of botocore's ``create_client``.

    Parameters:
        has_region: whether the session finds a region. has_credentials: whether it finds credentials.

    Raises `AccessDenied` when there are no credentials: pynamodb would build a new client for each call.
    """
    options: dict[str, Any] = {"region_name": settings.region, **settings.static_keys}
    if settings.region is None and settings.is_local and not has_region:
        options["region_name"] = LOCAL_REGION
    if not has_credentials and not settings.static_keys:
        if not settings.is_local:
            raise no_credentials()
        options.update(LOCAL_CREDENTIALS)
    return options
