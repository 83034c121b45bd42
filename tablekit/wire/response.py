"""Read the body of a DynamoDB answer.

The JSON of a DynamoDB answer already has the shape that botocore's parser returns, apart from binary values,
which stand in base64. So an answer is parsed by ``json.loads`` and only its ``B`` and ``BS`` values are
touched, and those only when the text holds one at all.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tablekit.wire.pause import MANY_BYTES, CollectionsPaused
from tablekit.wire.shape import check_answer, with_sound_items

__all__ = ["FAST_OPERATIONS", "body_problem", "is_dynamodb", "parse_body", "parse_error"]

_Walker = Callable[[Any], None]

# One search over the text; two would cost as much as decoding a tenth of its items.
_BINARY: Final = re.compile(rb'"BS?"')


def parse_body(body: bytes) -> dict[str, Any]:
    """The body of a 200 answer to a data operation, equal to what botocore's own parser makes of it.

    Parameters:
        body: UTF-8 JSON as it came.

    Raises ``ValueError`` when the body is not a JSON object, is cut, has members of another shape than DynamoDB's, or
    holds a bad base64 text. The attributes of rows are not looked at, for speed. An empty body
    is cut: DynamoDB's least answer is ``{}``, and a get must not take a lost one for a missing row.
    """
    with CollectionsPaused(len(body) >= MANY_BYTES):
        parsed = _load(body)
        check_answer(parsed)
        if _BINARY.search(body):
            _decode_binaries(parsed)
    return parsed


def parse_error(body: bytes, status: int) -> dict[str, Any]:
    """The body of an error answer in botocore's shape: ``Error`` with ``Code`` and ``Message``, and its members.

    Parameters:
        status: the HTTP status, which is the code where the body names none: then the answer is not DynamoDB's.

    A body that is no JSON object, such as a proxy's page, is the message. Binary values of an ``Item`` and of the
    items of ``CancellationReasons`` are decoded; such a member of another shape is left out.
    """
    try:
        members = dict(with_sound_items(_load(body)))
        _decode_failure(members)
    except ValueError:
        members = {"message": body.decode("utf-8", "replace")}
    # "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", or the last part alone.
    code = str(members.pop("__type", status)).partition(":")[0].rpartition("#")[2]
    message = members.get("message", members.get("Message", ""))
    return {"Error": {"Message": message, "Code": code}, **members}


def _decode_failure(members: dict[str, Any]) -> None:
    try:
        _item(members.get("Item", {}))
        _each(_item, (reason["Item"] for reason in members.get("CancellationReasons", ()) if reason.get("Item")))
    except (AttributeError, TypeError, KeyError, RecursionError) as exc:
        raise ValueError("the error does not have DynamoDB's shape") from exc


def is_dynamodb(headers: Mapping[str, str]) -> bool:
    """Whether an answer's content type is DynamoDB's: a proxy or a captive portal sends another."""
    return _header(headers, "content-type").lower().startswith("application/x-amz-json-1.")


def body_problem(headers: Mapping[str, str], body: bytes) -> str:
    """Why a 200 answer's body cannot be trusted, in a short word; ``""`` when its checksum holds or none came.

    DynamoDB sends the CRC-32 of the body in ``x-amz-crc32``.
    """
    expected = _header(headers, "x-amz-crc32")
    if expected and str(zlib.crc32(body)) != expected.strip():
        return "ChecksumMismatch"
    return ""


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if value is None:  # plain dicts are case-sensitive; the header dicts of HTTP clients are not
        value = next((text for key, text in headers.items() if key.lower() == name), "")
    return str(value)


def _load(body: bytes) -> dict[str, Any]:
    try:
        parsed: Any = json.loads(body.decode("utf-8"))
    except RecursionError:
        raise ValueError("the body is nested deeper than DynamoDB allows") from None
    if not isinstance(parsed, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - one kind for every bad body
    members: dict[str, Any] = parsed  # pyright: ignore[reportUnknownVariableType]
    if None in members.values():  # botocore leaves null members out
        members = {name: value for name, value in members.items() if value is not None}
    return members


def _decode_binaries(parsed: dict[str, Any]) -> None:
    for member, walk in _WALKERS.items():
        if member in parsed:
            try:
                walk(parsed[member])
            except (AttributeError, TypeError, KeyError, RecursionError) as exc:
                raise ValueError(f"{member} does not have DynamoDB's shape") from exc


def _value(av: dict[str, Any]) -> None:
    # A value is a dict of one tag, so the tag "B" is never confused with an attribute of that name, which
    # stands one level up. Replacing the value of a key does not disturb the iteration.
    for tag, inner in av.items():
        if tag == "B":
            av["B"] = base64.b64decode(inner)
        elif tag == "BS":
            av["BS"] = [base64.b64decode(text) for text in inner]
        elif tag == "M":
            _item(inner)
        elif tag == "L":
            _each(_value, inner)


def _item(item: dict[str, Any]) -> None:
    _each(_value, item.values())


def _each(walk: _Walker, values: Iterable[Any]) -> None:
    for value in values:
        walk(value)


def _items(items: list[Any]) -> None:
    _each(_item, items)


def _responses(responses: Any) -> None:
    """BatchGetItem answers by table name, TransactGetItems with a list of ``{"Item": ...}``."""
    if isinstance(responses, list):
        found: list[dict[str, Any]] = responses  # pyright: ignore[reportUnknownVariableType]
        _each(_item, (entry["Item"] for entry in found if entry.get("Item")))
    else:
        _each(_items, responses.values())


def _unprocessed_keys(tables: dict[str, Any]) -> None:
    _each(_items, (request["Keys"] for request in tables.values()))


def _unprocessed_items(tables: dict[str, Any]) -> None:
    for requests in tables.values():
        for request in requests:
            for write in request.values():  # {"PutRequest": {"Item": ...}} or {"DeleteRequest": {"Key": ...}}
                _items(list(write.values()))


def _metrics(metrics: Any) -> None:
    """One metric of a single write, or lists of them by table."""
    if "ItemCollectionKey" in metrics and isinstance(metrics["ItemCollectionKey"], dict):
        _item(metrics["ItemCollectionKey"])
        return
    for entries in metrics.values():
        if isinstance(entries, list):
            found: list[dict[str, Any]] = entries  # pyright: ignore[reportUnknownVariableType]
            _each(_item, (entry["ItemCollectionKey"] for entry in found if "ItemCollectionKey" in entry))


_WALKERS: Final[Mapping[str, _Walker]] = {
    "Item": _item,
    "Items": _items,
    "Attributes": _item,
    "LastEvaluatedKey": _item,
    "Responses": _responses,
    "UnprocessedKeys": _unprocessed_keys,
    "UnprocessedItems": _unprocessed_items,
    "ItemCollectionMetrics": _metrics,
}

FAST_OPERATIONS: Final = frozenset(
    {
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    }
)
"""The operations that `parse_body` reads. Others answer with timestamps, which botocore turns into datetimes."""
