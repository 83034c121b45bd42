"""Document paths: which attribute of an item, or which part of it, a condition or an action speaks of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import attrs

from tablekit._types import AttributeValue
from tablekit.codecs.base import HIDDEN_KEY, Codec, ValueProblem
from tablekit.errors import ExpressionError, LimitExceeded

__all__ = ["Path", "attribute", "find_overlap", "outermost"]

_MAX_DEPTH = 32
"""Nesting levels of a document path: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""


class _RawCodec(Codec[Any]):
    """The codec of a path by stored name: its values come encoded, and anything may be inside."""

    name = "an attribute value"
    nullable = True

    def encode(self, value: Any) -> AttributeValue | None:
        raise ValueProblem("an attribute named by its stored name takes values that are encoded already")

    def decode(self, av: AttributeValue) -> Any:
        return av

    def child(self, segment: str | int) -> Codec[Any] | None:
        return self

    def attribute_name(self, segment: Any) -> str | None:
        return str(segment)


_RAW = _RawCodec()


@attrs.frozen(eq=False, repr=False)
class Path:
    """A document path, immutable; two paths are the same only when they are one object.

    Parameters:
        owner: the entity class that it was reached through; None for a path by stored name.
        field: the field's Python name; the attribute's name when there is no owner.
        segments: stored names and list indexes, outermost first, such as ``("meta", "lang")``.
        codec: the codec of the value at the path.
        secret: whether values at the path must be masked where requests are shown.
        key: whether the attribute makes up the primary key, so that no update may change it.
        managed: whether tablekit keeps the attribute, so that no caller may change it.
        null: whether None is stored as NULL here; else an update to None removes the attribute. It is
            true of every path inside a document, where "None" and "missing" differ.
        empty: whether a missing value reads as an empty set here, so that one is written by removing it.
        steps: how the caller wrote what follows the field, one text for each inner segment; the keys of a secret map
            are as secret as its values, and masked.
    """

    owner: type[Any] | None
    field: str
    segments: tuple[str | int, ...]
    codec: Codec[Any]
    secret: bool = False
    key: bool = False
    managed: bool = False
    null: bool = False
    empty: bool = True
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        start = f"{self.owner.__name__}.{self.field}" if self.owner is not None else self.field
        return start + "".join(self.steps)

    def __repr__(self) -> str:
        return f"<Path {self}>"

    @property
    def attribute(self) -> str:
        """The stored name of the top-level attribute."""
        return str(self.segments[0])

    @property
    def hint(self) -> str:
        """The word that a value placeholder for this path is made of; of a secret field it is no key inside."""
        if self.secret:
            return self.field
        for segment in reversed(self.segments[1:]):
            if isinstance(segment, str):
                return segment
        return self.field

    def child(self, segment: object, step: str | None = None) -> Path:
        """The path of a map's key, a list's index, or an attribute of a nested class.

        Parameters:
            segment: the map's key, the index from 0, or the Python name of the nested attribute.
            step: how the caller wrote it; ``["key"]`` or ``[0]`` when left out.

        Raises `ExpressionError` for an index that is negative or no int, for an empty name, and where the
        type has nothing inside; `LimitExceeded` below 32 levels.
        """
        name, inner = self._segment(segment)
        if inner is None or name is None:
            at = HIDDEN_KEY if self.secret else f"{segment!r}"
            raise self._refusal(f"{self} is {self.codec.name}, which has nothing at {at}")
        if len(self.segments) >= _MAX_DEPTH:
            message = f"{self} is {_MAX_DEPTH} levels deep, and DynamoDB nests no deeper; keep the value flatter"
            raise LimitExceeded(message, limit=_MAX_DEPTH, actual=len(self.segments) + 1)
        if step is None:
            hidden = self.secret and isinstance(name, str)
            step = f"[{HIDDEN_KEY if hidden else json.dumps(name, ensure_ascii=False)}]"
        empty = self.codec.reads_empty(segment)
        segments, steps = (*self.segments, name), (*self.steps, step)
        return attrs.evolve(self, segments=segments, codec=inner, null=True, empty=empty, steps=steps)

    def _segment(self, segment: Any) -> tuple[str | int | None, Codec[Any] | None]:
        """The stored name or index of a part inside, and its codec; None where the type has no such part."""
        tags = self.codec.tags
        keyed, indexed = "M" in tags, "L" in tags
        if (keyed and not indexed) or (isinstance(segment, str) and (keyed or not indexed)):
            return self._key(segment)
        if isinstance(segment, bool) or not isinstance(segment, int):
            raise self._refusal(f"{self}[...] takes a list's index, an int from 0, not {type(segment).__name__}")
        if segment < 0:
            raise self._refusal(f"{self}[{segment}]: DynamoDB counts list elements from 0; no index is negative")
        if tags and not indexed:
            raise self._refusal(f"{self} is {self.codec.name}, which has no indexes; only lists do")
        return int(segment), self.codec.child(int(segment))

    def _key(self, segment: Any) -> tuple[str | None, Codec[Any] | None]:
        try:
            name = self.codec.attribute_name(segment)
        except ValueProblem as problem:
            raise self._refusal(f"{self}[...] {problem}") from None
        if name == "":
            raise self._refusal(f"{self}[...]: the key is empty, and DynamoDB has no empty names")
        return name, self.codec.child(segment)

    def _refusal(self, message: str) -> ExpressionError:
        return ExpressionError(message, paths=[str(self)])


def attribute(name: str, *inner: str | int) -> Path:
    """A path by stored names, for attributes that belong to no field; its values come encoded."""
    path = _top_level(name)
    for segment in inner:
        path = path.child(segment)
    return path


@lru_cache(maxsize=4096)
def _top_level(name: str) -> Path:
    return Path(None, name, (name,), _RAW)


def find_overlap(paths: Iterable[Path]) -> tuple[Path, Path, str] | None:
    """The first two paths that DynamoDB refuses side by side, and ``"overlap"`` or ``"conflict"``.

    Paths overlap when one is the other or lies inside it. They conflict when one takes a value for a list
    and the other takes the same value for a map.
    """
    ends: dict[tuple[str | int, ...], Path] = {}
    through: dict[tuple[str | int, ...], Path] = {}
    for path in paths:
        segments = path.segments
        other = ends.get(segments) or through.get(segments)
        if other is not None:
            return other, path, "overlap"
        for depth in range(1, len(segments)):
            prefix = segments[:depth]
            if prefix in ends:
                return ends[prefix], path, "overlap"
            other = through.setdefault(prefix, path)
            if isinstance(other.segments[depth], str) is not isinstance(segments[depth], str):
                return other, path, "conflict"
        ends[segments] = path
    return None


def outermost(paths: Iterable[Path]) -> list[Path]:
    """The paths in order, without repetitions and without those that lie inside another of them."""
    given = list(paths)
    ends = {path.segments for path in given}
    kept: dict[tuple[str | int, ...], Path] = {}
    for path in given:
        segments = path.segments
        if not any(segments[:depth] in ends for depth in range(1, len(segments))):
            kept.setdefault(segments, path)
    return list(kept.values())
