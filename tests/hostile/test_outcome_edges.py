"""The verdict on a write where a version is only half known."""

from __future__ import annotations

from typing import Any

import pytest

from tablekit._types import Attempt
from tablekit.operations.outcome import (
    Evidence,
    decide_conditional,
    decide_failure,
    decide_success,
    decide_transaction,
)

LOST = [Attempt("maybe"), Attempt("refused")]


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


@pytest.mark.parametrize(
    ("verdict", "outcome", "reason"),
    [
        (decide_success([Attempt("applied")]), "applied", "the answer came"),
        (decide_success([Attempt("maybe"), Attempt("applied")]), "applied", "repeated with the same effect"),
        (
            decide_success([Attempt("maybe"), Attempt("applied")], repeatable=False),
            "unknown",
            "an earlier attempt may have been applied too, and this write adds up",
        ),
        (decide_failure([Attempt("applied")]), "applied", "DynamoDB answered 200"),
        (decide_failure([Attempt("maybe")]), "unknown", "an attempt was sent and its answer is not known"),
        (decide_failure([Attempt("refused")]), "failed", "every attempt was refused"),
        (judged(), "unknown", "there is no row to compare"),
        (judged(item=ROW, marker=b"x"), "applied", "our marker stands in the row"),
        (
            judged(item=ROW, base_marker=b"x", version_attribute="v", expected_version=2),
            "failed",
            "what was loaded still stands, or others wrote on top of it",
        ),
        (judged(item=ROW, version_attribute="v", expected_version=2), "failed", "the version did not move"),
        (judged(item=ROW), "unknown", "the row was written by someone"),
        (decide_transaction(LOST, cancelled=True), "failed", "the token proves that nothing was applied"),
    ],
)
def test_each_verdict_says_why(verdict: Any, outcome: str, reason: str) -> None:
    """The reason stands in the error that the caller reads."""
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
