"""What the cache of a singleton holds, and the copies that it hands out."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any, Literal

from tablekit.definition.entity import DIRTY, EntityBase, copied, schema_of
from tablekit.errors import TablekitError

__all__ = ["SEEN", "Entry", "Seen", "Source"]

_new: Any = object.__new__

Source = Literal["table", "default", "stale"]
"""Where a snapshot's values come from: the row, the declared safe values, or an earlier read."""

SEEN = "_tk_seen"
"""Where an instance keeps how it was read."""


class Seen:
    """How a snapshot came to be.

    Attributes:
        source: where its values come from. read_at: when they were asked for, by `clock`. cached: whether they
            were in memory. problem: what kept the row from being read, if anything did.
    """

    __slots__ = ("cached", "clock", "problem", "read_at", "source")

    def __init__(
        self,
        source: Source,
        read_at: float,
        *,
        cached: bool,
        problem: TablekitError | None,
        clock: Callable[[], float],
    ) -> None:
        self.source: Source = source
        self.read_at = read_at
        self.cached = cached
        self.problem = problem
        self.clock = clock

    @property
    def age(self) -> float:
        """Seconds since the values were asked for."""
        return max(0.0, self.clock() - self.read_at)

    def __reduce__(self) -> tuple[Any, ...]:
        # A monotonic clock means nothing to another process; the age does.
        return _unpack, (self.source, self.age, self.cached, self.problem)


def _unpack(source: Source, age: float, cached: bool, problem: TablekitError | None) -> Seen:
    return Seen(source, time.monotonic() - age, cached=cached, problem=problem, clock=time.monotonic)


class Entry:
    """Values of a singleton at one moment, of which any number of copies can be made.

    Attributes:
        snapshot: never handed out. source, problem, read_at: as for `Seen`. exists: whether there is a row.
        version: the row's version; 0 where there is none. due: when the next reader has to do something.
        expires: when the values may not be served any more. raises: hand out the problem in place of values.
    """

    __slots__ = (
        "_cls",
        "_fresh",
        "_mutable",
        "_values",
        "due",
        "exists",
        "expires",
        "problem",
        "raises",
        "read_at",
        "snapshot",
        "source",
        "version",
    )

    def __init__(
        self,
        snapshot: EntityBase,
        source: Source,
        read_at: float,
        clock: Callable[[], float],
        *,
        exists: bool,
        problem: TablekitError | None = None,
        raises: bool = False,
    ) -> None:
        schema = schema_of(snapshot)
        own = dict(snapshot.__dict__)
        own.pop(DIRTY, None)
        # The snapshot may be in the hands of a caller's function, so the entry takes copies of its own.
        pristine = {item.name: copied(item, own[item.name]) for item in schema.mutable if item.name in own}
        own.update(pristine)
        self.snapshot = object.__new__(type(snapshot))
        self.snapshot.__dict__.update(own)
        self._cls = type(snapshot)
        self._mutable = tuple(
            (item.name, item.codec.copy, pristine[item.name])
            for item in schema.mutable
            if item.codec.copy is not None and pristine.get(item.name) is not None
        )
        own[SEEN] = Seen(source, read_at, cached=True, problem=problem, clock=clock)
        self._values = own
        self._fresh = Seen(source, read_at, cached=False, problem=problem, clock=clock)
        self.source: Source = source
        self.read_at = read_at
        self.exists = exists
        self.problem = problem
        self.raises = raises
        self.version: int = 0 if schema.version is None else own.get(schema.version.name, 0)
        self.due = self.expires = read_at

    def copy(self) -> Any:
        """A copy that says it came from memory."""
        twin = _new(self._cls)
        twin.__dict__.update(self._values)
        if self._mutable:
            own = twin.__dict__
            for name, copy_value, value in self._mutable:
                own[name] = copy_value(value)
        return twin

    def serve(self, *, cached: bool) -> Any:
        """A copy, or the problem raised where the policy says so."""
        if self.raises and self.problem is not None:
            raise copy.copy(self.problem) from self.problem
        twin = self.copy()
        if not cached:
            twin.__dict__[SEEN] = self._fresh
        return twin

    def lasting(self, seconds: float, *, refresh_before: float = 0.0) -> Entry:
        """The entry itself, served for so many seconds from when it was asked for."""
        self.expires = self.read_at + seconds
        self.due = self.expires - refresh_before if refresh_before < seconds else self.expires
        return self

    def same_values(self, other: Entry) -> bool:
        """Whether both hold the same values in the fields that are the user's data."""
        mine, theirs = self.snapshot.__dict__, other.snapshot.__dict__
        fields = schema_of(self.snapshot).fields
        return all(mine.get(item.name) == theirs.get(item.name) for item in fields if item.given)
