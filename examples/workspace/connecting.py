"""How the example reaches a DynamoDB that runs already."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import click

from tablekit.local import ConnectOptions

__all__ = ["address", "options_for"]


def address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The callback of a command's option that takes an engine's address."""
    if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
        raise click.BadParameter(f"{value!r} is no address; give one like http://127.0.0.1:8000.")
    return value


def options_for(endpoint: str) -> ConnectOptions:
    """The arguments of `Table.connect` for an endpoint."""
    options: ConnectOptions = {"endpoint_url": endpoint, "region": os.environ.get("AWS_REGION", "us-east-1")}
    # An engine on this machine takes any keys; for AWS botocore looks for the real ones.
    if urlsplit(endpoint).hostname in ("127.0.0.1", "localhost", "::1") and "AWS_ACCESS_KEY_ID" not in os.environ:
        options = {**options, "aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return options
