"""Decide what became of a write: it was applied, it failed, or nobody can know.

Pure functions over the history of attempts and over what DynamoDB sent back. They never guess: an answer is
"applied" or "failed" only where the evidence admits nothing else, apart from what each docstring names.

botocore retries by itself. When the answer to an applied write is lost, its second attempt meets its own first:
a create finds the row there, a versioned update finds the version moved, an ADD counts twice. The reasons for each
rule stand with it; https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html says
that a write which was answered with a 500 "may have succeeded or failed".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal

import attrs

from tablekit._types import Attempt, AttributeValue, Item
from tablekit.codecs.compare import equal_wire

__all__ = [
    "Evidence",
    "Verdict",
    "decide_conditional",
    "decide_failure",
    "decide_success",
    "decide_transaction",
    "markers_in",
    "same_image",
    "uncertain",
]


@attrs.frozen
class Verdict:
    """What became of a write.

    Parameters:
        outcome: ``"applied"``; ``"failed"``, which makes the named failure the truth; or ``"unknown"``,
            which is raised as `tablekit.errors.WriteOutcomeUnknown`.
        reason: why, in a few words.
        matches: with ``"unknown"``, whether the row is as the write would have left it; None when not seen.
        old_known: with ``"applied"``, whether the old row that DynamoDB returned, or its absence, is what
            this write replaced. False when an earlier attempt may have replaced it before.
    """

    outcome: Literal["applied", "failed", "unknown"]
    reason: str
    matches: bool | None = None
    old_known: bool = True


@attrs.frozen(kw_only=True)
class Evidence:
    """What a conditional write sent, and what came back with its failure.

    Parameters:
        deletes: whether the write was a delete.
        item: the stored row that came with the failure, or None when none came.
        image: the attributes that the write would have left, or None where they are not known.
        whole: whether `image` is the whole row, as for a put; else other attributes do not count.
        marker: the write marker that was sent, as stored bytes or text; None without one.
        base_marker: the newest marker that stood in the row when it was loaded; None when not known. A
            writer that does not know the ring replaces it by its own marker, so that a ring has no gaps.
        marker_attribute: where markers stand, as one value or as a ring.
        version_attribute: where the version stands, or None.
        expected_version: the version that the condition wanted, or None when it wanted none.
    """

    deletes: bool = False
    item: Item | None = None
    image: Item | None = None
    whole: bool = True
    marker: bytes | str | None = None
    base_marker: bytes | str | None = None
    marker_attribute: str = ""
    version_attribute: str | None = None
    expected_version: int | None = None


def uncertain(history: Sequence[Attempt]) -> bool:
    """Whether any attempt was applied or may have been."""
    return any(attempt.outcome != "refused" for attempt in history)


def decide_success(history: Sequence[Attempt], *, repeatable: bool = True) -> Verdict:
    """The outcome of a write whose last attempt was answered with success.

    Parameters:
        repeatable: whether doing the write twice leaves what doing it once does. A put, a delete, a SET of
            values and every write that checks a version or carries a token is; a plain ADD, a list_append
            or ``n = n + 1`` is not.

    A create whose first answer was lost counts as applied: only a rival's delete in between could have made
    it happen twice, and ``once=True`` is there for those whom that concerns.
    """
    if not uncertain(history[:-1]):
        return Verdict("applied", "the answer came")
    if not repeatable:
        return Verdict("unknown", "an earlier attempt may have been applied too, and this write adds up")
    return Verdict("applied", "repeated with the same effect", old_known=False)


def decide_failure(history: Sequence[Attempt], *, repeatable: bool = True) -> Verdict:
    """The outcome of a write that ended with an error other than a failed condition: a throttle, a timeout.

    Parameters:
        repeatable: as for `decide_success`.

    An attempt that DynamoDB answered with 200 was applied, though its body could not be read or a later
    attempt was throttled. One that may have been applied is never hidden by a later error.
    """
    if any(attempt.outcome == "applied" for attempt in history):
        return _at_least_once(history, "DynamoDB answered 200", repeatable=repeatable)
    if uncertain(history):
        return Verdict("unknown", "an attempt was sent and its answer is not known")
    return Verdict("failed", "every attempt was refused")


def decide_conditional(history: Sequence[Attempt], evidence: Evidence, *, repeatable: bool = True) -> Verdict:
    """The outcome of a write whose last attempt failed its condition.

    Parameters:
        repeatable: as for `decide_success`.

    In order:

    1. Every attempt was refused: the failure is the truth.
    2. An attempt was answered with 200: it was applied, and the condition met our own write.
    3. Our marker stands in the row, alone or in its ring: the write is ours. Markers are random, so no rival
       can have written it. Where a write adds up and two attempts are unclear, it may be ours twice: unknown.
    4. The marker we loaded still stands in the row, as many writes deep as the version has moved, and not ours
       after it: our write cannot have been applied in between, and the failure is the truth. The depth counts,
       since a rival's write that checks no version may be applied on top of ours by its own retry, with the
       marker that we loaded. Where that marker is not known, the same is said of a row that still has the
       version we expected; only a rival that deleted the row and made it anew, up to that very version, escapes
       this. A version that has moved proves nothing: a rival may have moved it before us or on top of us.
    5. A delete that finds no row has what it wanted, and cannot know by whom: unknown, `matches` true.
    6. Anything else is unknown. `matches` says whether the row is as we would have left it, which a rival may
       have written as well.
    """
    settled = _settled(history, repeatable=repeatable)
    if settled is not None:
        return settled
    item = evidence.item
    if item is None:
        return Verdict("unknown", "there is no row to compare", matches=True if evidence.deletes else None)
    stored = markers_in(item.get(evidence.marker_attribute))
    if evidence.marker is not None and not evidence.deletes and evidence.marker in stored:
        return _at_least_once(history, "our marker stands in the row", repeatable=repeatable)
    if evidence.base_marker is not None and _base_stands(evidence, item, stored):
        return Verdict("failed", "what was loaded still stands, or others wrote on top of it")
    if evidence.base_marker is None and _version_unmoved(evidence, item):
        return Verdict("failed", "the version did not move")
    return Verdict("unknown", "the row was written by someone", matches=_matches(evidence, item))


def decide_transaction(history: Sequence[Attempt], *, cancelled: bool) -> Verdict:
    """The outcome of a transaction that ended with an error and carried one client token throughout.

    Parameters:
        cancelled: whether the error was ``TransactionCanceledException``.

    DynamoDB answers a repeated token of an applied transaction with success for ten minutes, so a
    cancellation proves that no earlier attempt was applied. Every other error after an unclear attempt leaves
    the transaction unknown, and its token good for asking again.
    See https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html.
    """
    if cancelled and not any(attempt.outcome == "applied" for attempt in history):
        return Verdict("failed", "the token proves that nothing was applied")
    return decide_failure(history)


def markers_in(value: AttributeValue | None) -> tuple[bytes | str, ...]:
    """The write markers in a stored attribute: one ``B`` or ``S``, or a list or set of them."""
    if not value:
        return ()
    ((tag, inner),) = value.items()
    if tag in ("B", "S"):
        return (inner,)
    if tag in ("BS", "SS"):
        return tuple(inner)
    if tag == "L":
        return tuple(marker for entry in inner for marker in markers_in(entry))
    return ()


def same_image(stored: Item, image: Item, *, whole: bool = True) -> bool:
    """Whether a stored row equals what was written: numbers by value, sets in any order.

    Parameters:
        whole: whether other attributes in the stored row make it different.
    """
    if whole and stored.keys() != image.keys():
        return False
    return all(equal_wire(stored.get(name), value) for name, value in image.items())


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except InvalidOperation:
        return text


def _settled(history: Sequence[Attempt], *, repeatable: bool) -> Verdict | None:
    verdict = decide_failure(history, repeatable=repeatable)
    applied = any(attempt.outcome == "applied" for attempt in history)
    return verdict if applied or verdict.outcome != "unknown" else None


def _at_least_once(history: Sequence[Attempt], reason: str, *, repeatable: bool) -> Verdict:
    """Applied, unless the write adds up and another attempt may have been applied as well."""
    if not repeatable and sum(attempt.outcome != "refused" for attempt in history) > 1:
        return Verdict("unknown", "two attempts may have been applied, and this write adds up")
    return Verdict("applied", reason, old_known=False)


def _base_stands(evidence: Evidence, item: Item, stored: Sequence[bytes | str]) -> bool:
    moved = _moved_by(evidence, item)
    return moved is not None and 0 <= moved < len(stored) and stored[int(moved)] == evidence.base_marker


def _version_unmoved(evidence: Evidence, item: Item) -> bool:
    return _moved_by(evidence, item) == 0


def _moved_by(evidence: Evidence, item: Mapping[str, AttributeValue]) -> Decimal | None:
    """By how much the stored version is ahead of the one that was expected; None where either is missing."""
    if evidence.version_attribute is None or evidence.expected_version is None:
        return None
    stored = item.get(evidence.version_attribute, {}).get("N")
    number = None if stored is None else _number(stored)
    return number - evidence.expected_version if isinstance(number, Decimal) else None


def _matches(evidence: Evidence, item: Item) -> bool | None:
    if evidence.deletes:
        return False
    return None if evidence.image is None else same_image(item, evidence.image, whole=evidence.whole)
