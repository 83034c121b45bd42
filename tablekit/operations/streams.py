"""Records of a DynamoDB stream, in each of the forms in which they reach an application.

A Lambda event and an EventBridge pipe bring DynamoDB JSON with binary values in base64; the streams API of botocore
brings DynamoDB JSON with bytes; Powertools and other parsers bring plain Python values. All of them become DynamoDB
JSON with bytes here. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, Final, Literal, Union, cast

import attrs

from tablekit._types import AttributeValue, Item
from tablekit.codecs.base import ValueProblem
from tablekit.codecs.freeform import encode_free
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DataError, InvalidStreamRecord
from tablekit.operations.dispatch import RawItem, Report, untyped_error
from tablekit.wire.items import decoder

__all__ = [
    "ChangeKind",
    "StreamPolicy",
    "StreamRecord",
    "StreamView",
    "UndecodablePolicy",
    "decode_image",
    "parse_record",
    "records_of",
]

ChangeKind = Literal["insert", "modify", "remove"]
StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
StreamPolicy = Literal["raw", "skip", "raise"]
"""What becomes of a change of a row that is no entity: raw rows, nothing, or an error."""

UndecodablePolicy = Union[Literal["raise", "raw"], Report]
"""What becomes of a row of a known class that its fields cannot read: an error, or a raw row; a function is told the
error of each, and the row is raw."""

_KINDS: Mapping[str, ChangeKind] = {"INSERT": "insert", "MODIFY": "modify", "REMOVE": "remove"}
_SCALARS = frozenset({"S", "N", "B", "BOOL", "NULL"})
_TTL_SERVICE = "dynamodb.amazonaws.com"
_MILLISECONDS = 100_000_000_000
"""Seconds since 1970 that lie 3,000 years ahead: a larger number counts milliseconds."""


@attrs.frozen(kw_only=True)
class StreamRecord:
    """One record, its images in DynamoDB JSON.

    Attributes:
        kind: what happened to the row. keys: its primary key. old, new: its images, None where the stream does not
            bring them. event_id, sequence_number: as they came, or None. time: about when it happened.
        view: what the stream's images hold. expired_by_ttl: whether DynamoDB deleted an expired row.
        source: the record as it came. plain: whether it held plain values.
    """

    kind: ChangeKind
    keys: Item
    old: Item | None
    new: Item | None
    event_id: str | None
    sequence_number: str | None
    time: datetime | None
    view: str | None
    expired_by_ttl: bool
    source: Mapping[str, Any]
    plain: bool


def records_of(event: Any) -> list[Mapping[str, Any]]:
    """The records of an event.

    Parameters:
        event: a Lambda event or an answer of GetRecords (with ``Records``), one record, several in a sequence, or
            any of these as JSON text.

    Raises `InvalidStreamRecord` for what is none of them.
    """
    if isinstance(event, (str, bytes, bytearray)):
        event = _parsed(event)
    if isinstance(event, Mapping):
        return _records_in(cast("Mapping[str, Any]", event))
    if isinstance(event, Iterable):
        return [_record(each) for each in event]  # pyright: ignore[reportUnknownVariableType]
    raise InvalidStreamRecord(f"A {type(event).__name__} is no event of a stream. {_WANTED}")


_WANTED = "Give a Lambda event or an answer of GetRecords (both have Records), one record, or a list of records."


def _parsed(text: str | bytes | bytearray) -> Any:
    try:
        # A file may begin with a byte order mark, which json refuses.
        return json.loads(text.removeprefix("\ufeff") if isinstance(text, str) else bytes(text).decode("utf-8-sig"))
    except RecursionError:
        raise InvalidStreamRecord(f"The text of the event is nested deeper than any record is. {_WANTED}") from None
    except ValueError as error:
        # The exception of a bad character quotes the text that it stands in.
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidStreamRecord(f"The text of the event is no JSON{where}. {_WANTED}") from None


def _records_in(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "Records" in event:
        records = event["Records"]
        if isinstance(records, (str, bytes, Mapping)) or not isinstance(records, Iterable):
            raise InvalidStreamRecord(f"Records of the event is no list. {_WANTED}")
        return [_record(each) for each in records]  # pyright: ignore[reportUnknownVariableType]
    if "DDBStreamBatchInfo" in event:
        raise InvalidStreamRecord(
            "This is the message that Lambda sends to an on-failure destination: it names the records by shard and "
            "sequence number and does not hold them. Read them from the stream, by DDBStreamBatchInfo."
        )
    return [_record(event)]


def _record(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InvalidStreamRecord(f"A record is a mapping, and one of these is a {type(given).__name__}. {_WANTED}")
    record = cast("Mapping[str, Any]", given)
    if not isinstance(record.get("dynamodb"), Mapping):
        raise InvalidStreamRecord(
            f"The record holds no change under 'dynamodb'. {_WANTED}", event_id=_text(record.get("eventID"))
        )
    return record


def parse_record(record: Mapping[str, Any], registry: TableDefinition) -> StreamRecord:
    """A record in one form. Raises `InvalidStreamRecord` for another table's record, and for one that is malformed."""
    change: Mapping[str, Any] = record["dynamodb"]
    event_id, sequence = _text(record.get("eventID")), _text(change.get("SequenceNumber"))

    def refuse(reason: str) -> InvalidStreamRecord:
        where = f"The stream record {event_id or sequence or '(without an id)'} of table {registry.label!r}"
        return InvalidStreamRecord(f"{where} {reason}", event_id=event_id, sequence_number=sequence)

    name = record.get("eventName")
    # A parser may give the name as a member of an enum.
    kind = _KINDS.get(str(getattr(name, "value", name)))
    if kind is None:
        raise refuse("has an eventName that is not INSERT, MODIFY or REMOVE.")
    keys = change.get("Keys")
    if not isinstance(keys, Mapping) or set(cast("Mapping[str, Any]", keys)) != set(registry.key_names):
        found = ", ".join(sorted(cast("Mapping[str, Any]", keys))) if isinstance(keys, Mapping) else "missing"
        raise refuse(
            f"has other keys than the table: {', '.join(registry.key_names)} are wanted and {found or 'none'} came. "
            "It is another table's stream, or the Table is declared with other keys."
        )
    plain = not all(isinstance(value, Mapping) for value in cast("Mapping[str, Any]", keys).values())
    try:
        key = _image(cast("Mapping[str, Any]", keys), plain=plain)
        key = _binary_keys(key, registry) if plain else key
        old, new = (_whole(change.get(image), key, plain=plain) for image in ("OldImage", "NewImage"))
        time = _time(change.get("ApproximateCreationDateTime"))
    except ValueProblem as problem:
        raise refuse(f"has a bad value at {problem.path}: {problem.reason}.") from None
    except RecursionError:
        raise refuse("holds a value that is nested deeper than DynamoDB stores.") from None
    return StreamRecord(
        kind=kind,
        keys=key,
        old=old,
        new=new,
        event_id=event_id,
        sequence_number=sequence,
        time=time,
        view=_text(getattr(change.get("StreamViewType"), "value", change.get("StreamViewType"))),
        expired_by_ttl=kind == "remove" and _by_service(record.get("userIdentity")),
        source=record,
        plain=plain,
    )


def _binary_keys(key: Item, registry: TableDefinition) -> Item:
    """A plain key with bytes where the table's key is binary; Powertools leaves base64 text there."""
    return {
        name: {"B": _bytes(value["S"])} if "S" in value and registry.key_type(name) == "B" else value
        for name, value in key.items()
    }


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _by_service(identity: Any) -> bool:
    """Whether DynamoDB itself made the change; Lambda writes the names small, the streams API in capitals."""
    if not isinstance(identity, Mapping):
        return False
    members: Mapping[Any, Any] = identity  # pyright: ignore[reportUnknownVariableType]
    given = {str(name).lower(): value for name, value in members.items()}
    return given.get("type") == "Service" and given.get("principalid") == _TTL_SERVICE


def _time(value: Any) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueProblem("it is no time in seconds", path="ApproximateCreationDateTime")
    seconds = float(value)
    try:
        return datetime.fromtimestamp(seconds / 1000 if seconds >= _MILLISECONDS else seconds, timezone.utc)
    except (ValueError, OverflowError, OSError):
        raise ValueProblem("it is no time that can be", path="ApproximateCreationDateTime") from None


# Images


def _whole(image: Any, keys: Item, *, plain: bool) -> Item | None:
    """An image with the keys in it: some senders leave them out."""
    if image is None:
        return None
    if not isinstance(image, Mapping):
        raise ValueProblem("the image is no mapping", path="NewImage or OldImage")
    # The keys come last: in plain form only they have been made binary where the table says so.
    return {**_image(cast("Mapping[str, Any]", image), plain=plain), **keys}


def _image(image: Mapping[str, Any], *, plain: bool) -> Item:
    if not plain:
        try:
            return {name if type(name) is str else _unusual(): _usual(value) for name, value in image.items()}
        except (ValueError, RecursionError):
            pass  # the careful way reads it, or says what is wrong
    found: Item = {}
    for name, value in image.items():
        try:
            found[str(name)] = encode_free(value) if plain else _wire(value)
        except ValueProblem as problem:
            raise problem.at(str(name)) from None
    return found


_USUAL: Final[Mapping[str, type]] = {"S": str, "N": str, "BOOL": bool, "NULL": bool}
"""The types that stand in an image as they come, and the class of their values."""


def _usual(value: Any) -> AttributeValue:
    """As `_wire`, for values as JSON has them; ``ValueError`` for others. Scalars are shared with the record."""
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is not dict:
        _unusual()
    ((tag, inner),) = value.items()
    kind = type(inner)  # pyright: ignore[reportUnknownVariableType]
    if kind is _USUAL.get(tag):
        return cast(AttributeValue, value)
    if tag == "L" and kind is list:
        return {"L": [_usual(each) for each in inner]}
    if tag == "M" and kind is dict:
        return {"M": {name: _usual(each) for name, each in inner.items()}}
    raise ValueError("not as JSON has it")


def _unusual() -> Any:
    raise ValueError("not as JSON has it")


def _wire(value: Any) -> AttributeValue:
    """An attribute value with bytes for base64 and text for numbers."""
    if not isinstance(value, Mapping) or len(cast("Mapping[str, Any]", value)) != 1:
        raise ValueProblem("an attribute value is a mapping of one type to its value")
    ((tag, inner),) = cast("Mapping[str, Any]", value).items()
    if tag in _SCALARS:
        return {tag: _scalar(tag, inner)}
    if tag in ("SS", "NS", "BS"):
        return {tag: [_scalar(tag[0], each) for each in _sequence(inner, tag)]}
    if tag == "L":
        return {"L": [_inside(each, f"[{index}]") for index, each in enumerate(_sequence(inner, tag))]}
    if tag == "M" and isinstance(inner, Mapping):
        members = cast("Mapping[str, Any]", inner)
        return {"M": {name: _inside(each, f".{name}") for name, each in members.items()}}
    raise ValueProblem(f"{tag!r} is no type of DynamoDB with such a value")


def _inside(value: Any, step: str) -> AttributeValue:
    try:
        return _wire(value)
    except ValueProblem as problem:
        raise problem.at(step) from None


def _sequence(value: Any, tag: str) -> Sequence[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(cast("Iterable[Any]", value))
    raise ValueProblem(f"the value of an {tag} is no list")


def _scalar(tag: str, inner: Any) -> Any:
    if tag == "N" and isinstance(inner, (int, float, Decimal)) and not isinstance(inner, bool):
        # Some tools write numbers as JSON numbers; DynamoDB itself writes text.
        return encode_free(inner)["N"]
    if tag == "B":
        return _bytes(inner)
    wanted = (bool,) if tag in ("BOOL", "NULL") else (str,)
    if not isinstance(inner, wanted):
        raise ValueProblem(f"the value of an {tag} is a {type(inner).__name__}")
    return inner


def _bytes(inner: Any) -> bytes:
    if isinstance(inner, (bytes, bytearray)):
        return bytes(inner)
    try:
        return base64.b64decode(inner, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise ValueProblem("the value of a B is no base64") from None


# Images to entities


def decode_image(
    registry: TableDefinition,
    image: Item | None,
    *,
    counterpart: Item | None = None,
    unknown: StreamPolicy,
    untyped: Union[StreamPolicy, Literal["infer"]],
    undecodable: UndecodablePolicy,
    plain: bool = False,
) -> Any:
    """The entity of an image, or a `RawItem` where it is none; None where there is no image or a policy skips it.

    Parameters:
        counterpart: the row's other image. A row that got its type by this very change is of one class on both sides.

    Raises `UnknownEntityType`, `MissingEntityType` or `DecodeError`, as the policies say.
    """
    if image is None:
        return None
    stored = image.get(registry.type_attribute, {}).get("S")
    lenient = undecodable != "raise"
    if stored is None:
        schema = _untyped_schema(registry, image, counterpart, infer=untyped == "infer")
        if schema is None:
            return _foreign(untyped, image, lambda: untyped_error(registry, image, inferring=False))
        lenient = True
    else:
        schema = registry.by_type.get(stored)
        if schema is None:
            return _foreign(unknown, image, lambda: registry.unknown_type(stored, image))
    try:
        return decoder(schema)(_with_bytes(schema, image) if plain else image)
    except DataError as error:
        if not lenient:
            raise
        if callable(undecodable):
            undecodable(error)
        return RawItem(image)


def _untyped_schema(
    registry: TableDefinition, image: Item, counterpart: Item | None, *, infer: bool
) -> EntitySchema | None:
    other = None if counterpart is None else counterpart.get(registry.type_attribute, {}).get("S")
    if other is not None:
        return registry.by_type.get(other)
    return registry.infer(image) if infer else None


def _foreign(policy: str, image: Item, error: Any) -> Any:
    if policy == "raise":
        raise error()
    return None if policy == "skip" else RawItem(image)


def _with_bytes(schema: EntitySchema, image: Item) -> Item:
    """Base64 text made bytes again where a field wants bytes: Powertools leaves binary values of Lambda as text."""
    found = dict(image)
    for field in schema.fields:
        value = found.get(field.attribute, {})
        wanted = {"S": "B", "SS": "BS"}.get(next(iter(value), ""), "")
        if wanted in field.codec.tags and not field.codec.tags & set(value):
            inner: Any = next(iter(value.values()))
            try:
                found[field.attribute] = {wanted: _bytes(inner) if wanted == "B" else [_bytes(each) for each in inner]}
            except ValueProblem:
                continue
    return found
