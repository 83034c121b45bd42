"""Stream records as Lambda, the streams API and Powertools bring them."""

from __future__ import annotations

import itertools
from typing import Any

numbers = itertools.count(100)

KINDS = {"insert": "INSERT", "modify": "MODIFY", "remove": "REMOVE"}
TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def record(kind: str, keys: dict[str, Any], *, old: Any = None, new: Any = None, **more: Any) -> dict[str, Any]:
    """One record; images that are None are left out, as streams leave them out."""
    number = str(next(numbers))
    change: dict[str, Any] = {"Keys": keys, "SequenceNumber": number, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    change.update({name: image for name, image in (("OldImage", old), ("NewImage", new)) if image is not None})
    change.update(more.pop("change", {}))
    return {"eventID": f"event-{number}", "eventName": KINDS[kind], "dynamodb": change, **more}


def event(*records: dict[str, Any]) -> dict[str, Any]:
    """A Lambda event of some records."""
    return {"Records": list(records)}


def number_of(given: dict[str, Any]) -> str:
    """A record's sequence number."""
    return str(given["dynamodb"]["SequenceNumber"])
