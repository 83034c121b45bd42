"""Ranges of sort keys: what a class's keys may lie in, and the one condition that covers several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tablekit.definition.templates import next_prefix

__all__ = ["EVERYTHING", "Interval", "cover", "of_key", "of_prefix"]


@attrs.frozen
class Interval:
    """The keys from `low` to `high`; an end that is None is open.

    Keys are compared as DynamoDB compares them: text by UTF-8 bytes, which is the order of code points, numbers
    by value, and binary by unsigned bytes.

    Attributes:
        low, high: the ends. low_open, high_open: whether the end itself is left out. prefix: the text that
            every key of the interval begins with, when the interval is exactly those keys. loose: whether keys of
            other values lie inside, so that a key must be parsed to tell.
    """

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False
    prefix: str | None = None
    loose: bool = False

    @property
    def exact(self) -> bool:
        """Whether the interval is one key."""
        return self.low is not None and self.low == self.high and not self.low_open and not self.high_open

    def __contains__(self, key: Any) -> bool:
        if self.prefix is not None:
            return isinstance(key, str) and key.startswith(self.prefix)
        if self.low is not None and (key < self.low or (self.low_open and key == self.low)):
            return False
        return not (self.high is not None and (key > self.high or (self.high_open and key == self.high)))

    @property
    def empty(self) -> bool:
        """Whether no key lies inside."""
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high or (self.low == self.high and (self.low_open or self.high_open)))

    @property
    def closed(self) -> Interval:
        """The interval with its ends, as BETWEEN takes them in."""
        return Interval(self.low, self.high)

    @property
    def sent_exactly(self) -> bool:
        """Whether one key condition says just this; a BETWEEN takes both its ends in."""
        if self.loose:
            return False
        if self.exact or self.prefix is not None or self.low is None or self.high is None:
            return True
        return not (self.low_open or self.high_open)


EVERYTHING = Interval()
"""Every key of a partition."""


def of_key(key: Any) -> Interval:
    """One key."""
    return Interval(key, key)


def of_prefix(prefix: str) -> Interval:
    """The keys that begin with a text."""
    if not prefix:
        return EVERYTHING
    return Interval(prefix, next_prefix(prefix), high_open=True, prefix=prefix)


def cover(intervals: Sequence[Interval]) -> Interval:
    """The smallest interval that holds all the given ones."""
    first = intervals[0]
    if all(interval == first for interval in intervals):
        return first
    prefixes = [interval.prefix for interval in intervals if interval.prefix is not None]
    shortest = min(prefixes, key=len, default=None)
    if shortest is not None and all(_within(interval, shortest) for interval in intervals):
        return of_prefix(shortest)
    low, low_open = _lowest(intervals)
    high, high_open = _highest(intervals)
    return Interval(low, high, low_open=low_open, high_open=high_open)


def _within(interval: Interval, prefix: str) -> bool:
    if interval.prefix is not None:
        return interval.prefix.startswith(prefix)
    return interval.exact and isinstance(interval.low, str) and interval.low.startswith(prefix)


def _lowest(intervals: Sequence[Interval]) -> tuple[Any, bool]:
    if any(interval.low is None for interval in intervals):
        return None, False
    low = min(interval.low for interval in intervals)
    return low, all(interval.low_open for interval in intervals if interval.low == low)


def _highest(intervals: Sequence[Interval]) -> tuple[Any, bool]:
    if any(interval.high is None for interval in intervals):
        return None, False
    high = max(interval.high for interval in intervals)
    return high, all(interval.high_open for interval in intervals if interval.high == high)
