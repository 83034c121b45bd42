"""A request as text that can be pasted: a line of the AWS CLI, a call of boto3."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

__all__ = ["MASK", "aws_cli", "boto3_call", "masked", "plain_json"]

MASK = "***"
"""What stands in place of a secret value."""

PAGED = frozenset({"Query", "Scan"})
"""The operations that the AWS CLI would go on asking for, page after page."""

LINE = 88
"""The width beyond which the text of a call is broken into lines."""


def masked(value: dict[str, Any], secrets: frozenset[str]) -> dict[str, Any]:
    """A wire dict with its secret values replaced; what holds none is shared, not copied.

    Parameters:
        secrets: placeholders of values (``":token"``) and of names (``"#secret"``), and attribute names of items.
    """
    if not secrets:
        return value
    shown: dict[str, Any] = _masked(value, secrets, None)
    return shown


def _masked(value: Any, secrets: frozenset[str], member: str | None) -> Any:
    if isinstance(value, Mapping):
        inside: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        holds_values = member in ("Item", "ExpressionAttributeValues", "ExpressionAttributeNames")
        return {
            name: _mask(inner) if holds_values and name in secrets else _masked(inner, secrets, name)
            for name, inner in inside.items()
        }
    if isinstance(value, (list, tuple)):
        return [_masked(inner, secrets, None) for inner in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _mask(value: Any) -> Any:
    if isinstance(value, str):
        return MASK
    # A scalar keeps its type; of a container even the type of what is inside would tell something.
    tag = next(iter(value), "S")
    return {"B": MASK.encode()} if tag == "B" else {tag if tag in ("S", "N") else "S": MASK}


def plain_json(value: Any) -> str:
    """JSON in one line, binary values in base64, as DynamoDB's API has it."""
    return json.dumps(value, default=_json_default, ensure_ascii=False)


def _json_default(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"a request holds a {type(value).__name__}, which JSON cannot say")


# The AWS CLI


def aws_cli(operation: str, wire: Mapping[str, Any]) -> str:
    """The command that sends a request by the AWS CLI, version 2, quoted for a POSIX shell.

    The command sends one request: of a Query or a Scan it asks for the same page. Region, endpoint and credentials
    are the CLI's own.
    """
    words = [f"aws dynamodb {_dashed(operation)}"]
    if operation in PAGED:
        words.append("--no-paginate")
    if _holds_bytes(wire):
        # Version 2 takes base64 by default; a configuration may say otherwise.
        words.append("--cli-binary-format base64")
    words += [_option(name, value) for name, value in wire.items()]
    return " \\\n    ".join(words)


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _option(name: str, value: Any) -> str:
    option = f"--{_dashed(name)}"
    if isinstance(value, bool):
        return option if value else f"--no-{option[2:]}"
    text = value if isinstance(value, str) else plain_json(value)
    if text.startswith(("file://", "fileb://")) or (isinstance(value, str) and text.startswith("-")):
        # The CLI would read a file, or take the value for an option.
        return f"{option}={shlex.quote(text)}"
    return f"{option} {shlex.quote(text)}"


def _holds_bytes(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_bytes, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(value, (list, tuple)):
        return any(map(_holds_bytes, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, (bytes, bytearray))


# boto3


def boto3_call(operation: str, wire: Mapping[str, Any]) -> str:
    """Python that sends a request by boto3's client; it runs as it stands."""
    method = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()
    arguments = "".join(f"    {name}={_literal(value, 4, len(name) + 1)},\n" for name, value in wire.items())
    return f'import boto3\n\nclient = boto3.client("dynamodb")\nresponse = client.{method}(\n{arguments})\n'


def _literal(value: Any, indent: int, before: int = 0) -> str:
    """A value as Python, broken into lines where one would be too wide."""
    short = _short(value)
    if indent + before + len(short) < LINE or not isinstance(value, (Mapping, list, tuple)) or not value:
        return short
    pad = " " * (indent + 4)
    if isinstance(value, Mapping):
        entries: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        lines = [f"{_text(key)}: {_literal(inner, indent + 4, len(key) + 4)}" for key, inner in entries.items()]
        opening, closing = "{", "}"
    else:
        lines = [_literal(inner, indent + 4) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        opening, closing = "[", "]"
    return opening + "\n" + "".join(f"{pad}{line},\n" for line in lines) + " " * indent + closing


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        entries: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return "{" + ", ".join(f"{_text(key)}: {_short(inner)}" for key, inner in entries.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_short, value)) + "]"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        return _text(value)
    return repr(bytes(value) if isinstance(value, bytearray) else value)


def _text(text: str) -> str:
    # Double quotes where that needs no escape, as formatters write them.
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown and "\\'" not in shown else shown
