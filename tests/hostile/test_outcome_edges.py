"""The verdict on a write where a version is only half known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tablekit._types import Attempt
from tablekit.operations.outcome import (
    Evidence,
    Verdict,
    decide_conditional,
    decide_failure,
    decide_success,
    decide_transaction,
    markers_in,
)

APPLIED, MAYBE, REFUSED = Attempt("applied"), Attempt("maybe"), Attempt("refused")
LOST = [MAYBE, REFUSED]


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        ({"version_attribute": "v", "expected_version": 1}, "failed"),
        ({"version_attribute": "v", "expected_version": None}, "unknown"),
        ({"version_attribute": None, "expected_version": 1}, "unknown"),
        ({"version_attribute": "v", "expected_version": 2}, "unknown"),
        ({"version_attribute": "w", "expected_version": 1}, "unknown"),
        ({"version_attribute": "text", "expected_version": 1}, "unknown"),
    ],
)
def test_only_the_expected_version_unmoved_proves_a_failure(evidence: dict[str, Any], outcome: str) -> None:
    """A version that nobody expected, one that is not stored, or one that is no number proves nothing."""
    item = {"PK": {"S": "k"}, "v": {"N": "1"}, "text": {"S": "1"}}
    assert decide_conditional(LOST, Evidence(item=item, **evidence)).outcome == outcome


ROW = {"PK": {"S": "k"}, "v": {"N": "2"}, "_w": {"B": b"x"}}


def judged(**evidence: Any) -> Any:
    """The verdict on a write whose first answer was lost and whose second attempt failed its condition."""
    return decide_conditional(LOST, Evidence(marker_attribute="_w", **evidence))


ADDS = {"repeatable": False}
TWO_MAYBES = "two attempts may have been applied, and this write adds up"

VERDICTS: list[tuple[Callable[[], Verdict], Verdict]] = [
    (lambda: decide_success([APPLIED]), Verdict("applied", "the answer came")),
    (
        lambda: decide_success([MAYBE, APPLIED]),
        Verdict("applied", "repeated with the same effect", old_known=False),
    ),
    (
        lambda: decide_success([MAYBE, APPLIED], **ADDS),
        Verdict("unknown", "an earlier attempt may have been applied too, and this write adds up"),
    ),
    (lambda: decide_success([REFUSED, APPLIED], **ADDS), Verdict("applied", "the answer came")),
    (lambda: decide_failure([APPLIED]), Verdict("applied", "DynamoDB answered 200", old_known=False)),
    (lambda: decide_failure([MAYBE, APPLIED]), Verdict("applied", "DynamoDB answered 200", old_known=False)),
    (lambda: decide_failure([MAYBE, APPLIED], **ADDS), Verdict("unknown", TWO_MAYBES)),
    (
        lambda: decide_failure([REFUSED, APPLIED], **ADDS),
        Verdict("applied", "DynamoDB answered 200", old_known=False),
    ),
    (lambda: decide_failure([MAYBE]), Verdict("unknown", "an attempt was sent and its answer is not known")),
    (lambda: decide_failure([REFUSED]), Verdict("failed", "every attempt was refused")),
    (lambda: decide_failure([]), Verdict("failed", "every attempt was refused")),
    (lambda: decide_conditional([REFUSED], Evidence()), Verdict("failed", "every attempt was refused")),
    (
        lambda: decide_conditional([APPLIED, REFUSED], Evidence()),
        Verdict("applied", "DynamoDB answered 200", old_known=False),
    ),
    (
        lambda: decide_conditional([MAYBE, APPLIED, REFUSED], Evidence()),
        Verdict("applied", "DynamoDB answered 200", old_known=False),
    ),
    (lambda: decide_conditional([MAYBE, APPLIED, REFUSED], Evidence(), **ADDS), Verdict("unknown", TWO_MAYBES)),
    (judged, Verdict("unknown", "there is no row to compare")),
    (lambda: judged(deletes=True), Verdict("unknown", "there is no row to compare", matches=True)),
    (
        lambda: judged(item=ROW, marker=b"x"),
        Verdict("applied", "our marker stands in the row", old_known=False),
    ),
    (
        lambda: decide_conditional([MAYBE, MAYBE, REFUSED], Evidence(marker_attribute="_w", item=ROW, marker=b"x")),
        Verdict("applied", "our marker stands in the row", old_known=False),
    ),
    (
        lambda: decide_conditional(
            [MAYBE, MAYBE, REFUSED], Evidence(marker_attribute="_w", item=ROW, marker=b"x"), **ADDS
        ),
        Verdict("unknown", TWO_MAYBES),
    ),
    (
        lambda: judged(item=ROW, base_marker=b"x", version_attribute="v", expected_version=2),
        Verdict("failed", "what was loaded still stands, or others wrote on top of it"),
    ),
    (
        lambda: judged(item=ROW, version_attribute="v", expected_version=2),
        Verdict("failed", "the version did not move"),
    ),
    (lambda: judged(item=ROW), Verdict("unknown", "the row was written by someone")),
    (lambda: judged(item=ROW, image=ROW), Verdict("unknown", "the row was written by someone", matches=True)),
    (
        lambda: judged(item=ROW, image={"v": {"N": "2"}}),
        Verdict("unknown", "the row was written by someone", matches=False),
    ),
    (
        lambda: judged(item=ROW, image={"v": {"N": "2"}}, whole=False),
        Verdict("unknown", "the row was written by someone", matches=True),
    ),
    (
        lambda: judged(item=ROW, image=ROW, marker=b"x", deletes=True),
        Verdict("unknown", "the row was written by someone", matches=False),
    ),
    (lambda: decide_transaction(LOST, cancelled=True), Verdict("failed", "the token proves that nothing was applied")),
    (
        lambda: decide_transaction([APPLIED, REFUSED], cancelled=True),
        Verdict("applied", "DynamoDB answered 200", old_known=False),
    ),
    (
        lambda: decide_transaction(LOST, cancelled=False),
        Verdict("unknown", "an attempt was sent and its answer is not known"),
    ),
]


@pytest.mark.parametrize(("decide", "verdict"), VERDICTS)
def test_each_verdict_says_why(decide: Callable[[], Verdict], verdict: Verdict) -> None:
    """The whole verdict, with the reason that stands in the error that the caller reads."""
    assert decide() == verdict


@pytest.mark.parametrize(
    ("stored", "markers"),
    [
        (None, ()),
        ({}, ()),
        ({"B": b"a"}, (b"a",)),
        ({"S": "a"}, ("a",)),
        ({"BS": [b"a", b"b"]}, (b"a", b"b")),
        ({"SS": ["a", "b"]}, ("a", "b")),
        ({"L": [{"B": b"a"}, {"N": "1"}, {"S": "b"}]}, (b"a", "b")),
        ({"N": "1"}, ()),
    ],
)
def test_markers_are_read_from_each_form(stored: Any, markers: tuple[Any, ...]) -> None:
    """Alone, in a set and in a ring; what else stands there is no marker."""
    assert markers_in(stored) == markers
