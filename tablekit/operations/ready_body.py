"""Give botocore the body of a data request ready made.

botocore builds a body by a walk over DynamoDB's service model, which costs as much as everything else it does for
a batch of 25 rows. The parameters of a data operation are that body already, apart from binary values, which JSON
holds in base64. Two public events are enough to say so: ``before-parameter-build``, after which nobody changes the
parameters any more, and ``before-call``, at which the built request can still be changed. In between, botocore sees
what it chooses the endpoint by, the names of the tables, and nothing else.

Handlers of a session see the whole parameters in the first event and the whole body in the second, as without this.
The same handlers serve aiobotocore. `Settings(fast_parse=False)` leaves the bodies to botocore as well.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from tablekit.operations.attempts import CURRENT
from tablekit.wire.response import FAST_OPERATIONS

__all__ = ["encode_body", "endpoint_part", "register_bodies"]

_BODY: Final = "tablekit_body"
"""Where botocore's context of the call holds the body between the two events."""


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode()


_ENCODE: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_base64).encode


def encode_body(wire: Mapping[str, Any]) -> bytes:
    """The body of a request: JSON with binary values in base64. Raises ``TypeError`` for what JSON cannot say."""
    return _ENCODE(wire).encode()


def register_bodies(events: Any) -> None:
    """Listen to a client's events.

    Parameters:
        events: the event emitter of a botocore or aiobotocore DynamoDB client, ``client.meta.events``.
    """
    # Handlers of a longer event name run first. So this one is the very last, after botocore's own, which adds the
    # token of a transaction, and those below are the very first.
    events.register_last("before-parameter-build", _take_parameters)
    for operation in FAST_OPERATIONS:
        events.register_first(f"before-call.dynamodb.{operation}", _give_body)


def _take_parameters(params: dict[str, Any], model: Any, context: dict[str, Any] | None = None, **_: Any) -> None:
    call = CURRENT.get()
    if call is None or not call.fast or call.operation != model.name or context is None or not _speaks_json(model):
        return
    try:
        context[_BODY] = encode_body(params)
    except (TypeError, ValueError, RecursionError):
        return  # botocore says what is wrong with it
    part = endpoint_part(params)
    params.clear()
    params.update(part)


def _give_body(params: dict[str, Any], context: dict[str, Any] | None = None, **_: Any) -> None:
    body = None if context is None else context.pop(_BODY, None)
    if body is not None:
        params["body"] = body


def _speaks_json(model: Any) -> bool:
    service = model.service_model
    # Older versions of botocore know one protocol of a service only.
    protocol = getattr(service, "resolved_protocol", None) or service.metadata.get("protocol")
    return bool(protocol == "json")


def endpoint_part(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by which an endpoint is chosen: the tables, each once.

    https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html
    """
    if "TableName" in params:
        return {"TableName": params["TableName"]}
    if "RequestItems" in params:
        return {"RequestItems": {table: type(asked)() for table, asked in params["RequestItems"].items()}}
    kinds = {part["TableName"]: kind for action in params.get("TransactItems", ()) for kind, part in action.items()}
    return {"TransactItems": [{kind: {"TableName": table}} for table, kind in kinds.items()]} if kinds else {}
