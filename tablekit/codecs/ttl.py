"""The codec of a TTL attribute: a time on this side, epoch seconds on the wire."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from tablekit._types import AttributeValue
from tablekit.codecs.base import Codec, ValueProblem, payload
from tablekit.codecs.numbers import read_decimal
from tablekit.codecs.resolve import UnsupportedAnnotation

__all__ = ["TtlCodec"]

# Times from 1973 to 5138. Below, a number is no date that anyone means; above, it is milliseconds.
_FIRST = 100_000_000
_LAST = 100_000_000_000


class TtlCodec(Codec[Any]):
    """Epoch seconds, whole; an aware datetime in UTC on this side.

    DynamoDB compares whole seconds and ignores an attribute that is more than five years past, so that
    milliseconds, which lie in a year far away, would never expire.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html
    """

    def __init__(self, *, nullable: bool) -> None:
        self.name = "datetime | None" if nullable else "datetime"
        self.nullable = nullable
        self.tags = frozenset({"N", "NULL"}) if nullable else frozenset({"N"})

    @classmethod
    def over(cls, codec: Codec[Any]) -> TtlCodec:
        """The TTL codec for a field whose annotation gives `codec`; it must be a datetime, or that or None."""
        if codec.name not in ("datetime", "datetime | None"):
            raise UnsupportedAnnotation(
                f"a ttl() field holds a time: annotate Field[datetime] or Field[datetime | None], not {codec.name}."
            )
        return cls(nullable=codec.nullable)

    def normalise(self, value: Any, now: datetime) -> datetime | None:
        """What the field holds for a value given to it: a datetime, a timedelta from now, or epoch seconds."""
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            value = datetime.fromtimestamp(_checked(value), timezone.utc)
        if not isinstance(value, (datetime, timedelta)):
            raise ValueProblem(
                f"wants an aware datetime, a timedelta from now, or whole epoch seconds, not {type(value).__name__}"
            )
        if isinstance(value, datetime) and value.utcoffset() is None:
            raise ValueProblem("wants an aware datetime; give it a tzinfo, such as timezone.utc")
        try:
            moment = now + value if isinstance(value, timedelta) else value
            return moment.astimezone(timezone.utc).replace(microsecond=0)
        except OverflowError:
            raise ValueProblem("wants a time within the years 1 to 9999 in UTC") from None

    def encode(self, value: Any) -> AttributeValue | None:
        if value is None:
            if not self.nullable:
                raise ValueProblem("None is no time; annotate the field as optional")
            return {"NULL": True}
        moment = self.normalise(value, datetime.now(timezone.utc))
        assert moment is not None
        return {"N": str(_checked(int(moment.timestamp())))}

    def encode_step(self, value: Any) -> AttributeValue | None:
        """A span of time in whole seconds: an update moves a stored time by it."""
        if not isinstance(value, timedelta):
            raise ValueProblem(f"is moved by a timedelta, not by {type(value).__name__}")
        return {"N": str(int(value.total_seconds()))}

    def decode(self, av: AttributeValue) -> Any:
        if "NULL" in av and self.nullable:
            return None
        # Other writers may have stored a fraction; DynamoDB ignores it, and so do we.
        seconds = int(read_decimal(payload(av, "N", self.name)))
        try:
            return datetime.fromtimestamp(seconds, timezone.utc)
        except (ValueError, OverflowError, OSError):
            raise ValueProblem("the stored number is no time in epoch seconds, within the years 1 to 9999") from None


def _checked(seconds: int) -> int:
    if seconds > _LAST:
        raise ValueProblem("wants epoch seconds, and this number reads as milliseconds; divide it by 1000")
    if seconds < _FIRST:
        raise ValueProblem("wants epoch seconds of a time after 1973")
    return seconds
