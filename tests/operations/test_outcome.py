"""What became of a write, decided from its attempts and from the row that stands there."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tablekit._types import Attempt
from tablekit.codecs.compare import equal_wire
from tablekit.operations.outcome import (
    Evidence,
    decide_conditional,
    decide_failure,
    decide_success,
    decide_transaction,
    markers_in,
    same_image,
    uncertain,
)

OURS, THEIRS, LOADED = b"ours-1", b"their-", b"loaded"
LOST = ["maybe", "refused"]


def attempts(outcomes):
    """A history of these outcomes."""
    return [Attempt(outcome) for outcome in outcomes]


def row(version=2, marker=THEIRS, **attributes):
    """A stored row with a version and one marker, or a ring of several."""
    stored = {"B": marker} if isinstance(marker, bytes) else {"L": [{"B": each} for each in marker]}
    return {"PK": {"S": "k"}, "v": {"N": str(version)}, "_w": stored, **attributes}


def versioned(item, **changes):
    """A versioned update from 1 to 2 that carried our marker."""
    given = {"marker": OURS, "marker_attribute": "_w", "version_attribute": "v", "expected_version": 1, **changes}
    return Evidence(item=item, **given)


# The history alone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        (["refused"], "failed"),
        (["refused", "refused", "refused"], "failed"),
        (["maybe"], "unknown"),
        (["maybe", "maybe", "maybe", "maybe"], "unknown"),
        (["maybe", "refused", "refused", "refused"], "unknown"),
        (["refused", "maybe"], "unknown"),
        (["applied"], "applied"),
        (["applied", "refused"], "applied"),
        (["maybe", "applied", "maybe"], "applied"),
        ([], "failed"),
    ],
)
def test_an_error_never_hides_an_earlier_attempt(outcomes, outcome):
    """A throttle or a timeout is the truth only when no attempt can have been applied."""
    assert decide_failure(attempts(outcomes)).outcome == outcome


@pytest.mark.parametrize(
    ("outcomes", "repeatable", "outcome", "old_known"),
    [
        (["applied"], True, "applied", True),
        (["refused", "applied"], True, "applied", True),
        (["maybe", "applied"], True, "applied", False),
        (["applied", "applied"], True, "applied", False),
        (["applied"], False, "applied", True),
        (["refused", "applied"], False, "applied", True),
        (["maybe", "applied"], False, "unknown", True),
        (["applied", "applied"], False, "unknown", True),
    ],
)
def test_a_success_after_an_unclear_attempt(outcomes, repeatable, outcome, old_known):
    """A write that may be repeated is applied, its old row unknown; an ADD may have counted twice."""
    verdict = decide_success(attempts(outcomes), repeatable=repeatable)
    assert (verdict.outcome, verdict.old_known) == (outcome, old_known)


@given(st.lists(st.sampled_from(["applied", "refused", "maybe"]), max_size=5))
def test_a_history_is_certain_only_when_all_was_refused(outcomes):
    """One attempt that was not refused makes the whole call uncertain."""
    assert uncertain(attempts(outcomes)) is bool(set(outcomes) - {"refused"})


@pytest.mark.parametrize(
    ("outcomes", "cancelled", "outcome"),
    [
        (["refused"], True, "failed"),
        (["maybe", "refused"], True, "failed"),
        (["applied", "refused"], True, "applied"),
        (["maybe", "refused"], False, "unknown"),
        (["maybe", "maybe"], False, "unknown"),
        (["refused"], False, "failed"),
        (["applied"], False, "applied"),
    ],
)
def test_a_transaction_with_a_token(outcomes, cancelled, outcome):
    """A cancellation under the same token proves that nothing was applied; other errors prove nothing."""
    assert decide_transaction(attempts(outcomes), cancelled=cancelled).outcome == outcome


# A failed condition ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marker", [OURS, THEIRS])
def test_a_failure_without_an_unclear_attempt_is_the_truth(marker):
    """When every attempt was refused, no evidence in the row changes that."""
    verdict = decide_conditional(attempts(["refused", "refused"]), versioned(row(marker=marker)))
    assert verdict.outcome == "failed"


def test_a_failure_after_dynamodbs_own_200_is_our_own_success():
    """The condition met the write that DynamoDB had already said yes to."""
    verdict = decide_conditional(attempts(["applied", "refused"]), versioned(row(version=9)))
    assert (verdict.outcome, verdict.old_known) == ("applied", False)


@pytest.mark.parametrize(
    ("item", "outcome"),
    [
        (row(2, OURS), "applied"),
        (row(2, [OURS, LOADED]), "applied"),
        (row(4, [THEIRS, THEIRS, OURS, LOADED]), "applied"),
        (row(1, LOADED), "failed"),
        (row(1, THEIRS), "unknown"),
        (row(2, THEIRS), "unknown"),
        (row(3, THEIRS), "unknown"),
        (row(2, [THEIRS, LOADED]), "failed"),
        (row(3, [THEIRS, b"others", LOADED]), "failed"),
        (row(6, [THEIRS, THEIRS, THEIRS, THEIRS]), "unknown"),
        ({"PK": {"S": "k"}}, "unknown"),
        (None, "unknown"),
    ],
)
def test_a_versioned_write_whose_answer_was_lost(item, outcome):
    """Our marker is success; the loaded marker without ours is failure; everything else is unknown."""
    assert decide_conditional(attempts(LOST), versioned(item, base_marker=LOADED)).outcome == outcome


def test_a_moved_version_alone_proves_nothing():
    """A rival that wrote the version we would have written is not taken for us, nor we for a loser."""
    assert decide_conditional(attempts(LOST), versioned(row(2, THEIRS), marker=None)).outcome == "unknown"


def test_an_unmoved_version_is_failure_where_the_loaded_marker_is_not_known():
    """An update by key that names its version has seen no marker."""
    assert decide_conditional(attempts(LOST), versioned(row(1, THEIRS))).outcome == "failed"


def test_an_unmoved_version_is_compared_by_value():
    """DynamoDB may spell the number otherwise."""
    item = {**row(1), "v": {"N": "1.0"}}
    assert decide_conditional(attempts(LOST), versioned(item)).outcome == "failed"


@pytest.mark.parametrize(
    ("item", "outcome"),
    [(row(1, OURS), "applied"), (row(1, THEIRS), "unknown"), (None, "unknown")],
)
def test_a_create_whose_answer_was_lost(item, outcome):
    """A create finds itself by its marker; another's row may stand where ours was deleted."""
    evidence = Evidence(item=item, marker=OURS, marker_attribute="_w", version_attribute="v")
    assert decide_conditional(attempts(LOST), evidence).outcome == outcome


@pytest.mark.parametrize(
    ("stored", "matches"),
    [({"PK": {"S": "k"}, "n": {"N": "1.0"}}, True), ({"PK": {"S": "k"}, "n": {"N": "2"}}, False), (None, None)],
)
def test_without_a_marker_an_equal_row_is_unknown_and_matches(stored, matches):
    """A rival may have written the same, so that an equal row is told and is no proof."""
    evidence = Evidence(item=stored, image={"PK": {"S": "k"}, "n": {"N": "1"}})
    verdict = decide_conditional(attempts(LOST), evidence)
    assert (verdict.outcome, verdict.matches) == ("unknown", matches)


@pytest.mark.parametrize(
    ("item", "outcome", "matches"),
    [
        (None, "unknown", True),
        (row(1, LOADED), "failed", None),
        (row(2, THEIRS), "unknown", False),
        (row(2, [THEIRS, LOADED]), "failed", None),
    ],
)
def test_a_versioned_delete_whose_answer_was_lost(item, outcome, matches):
    """A missing row may be our doing or a rival's; a row that goes on from the loaded one was not deleted."""
    evidence = versioned(item, deletes=True, marker=None, base_marker=LOADED)
    verdict = decide_conditional(attempts(LOST), evidence)
    assert (verdict.outcome, verdict.matches) == (outcome, matches)


@given(
    st.lists(st.sampled_from(["refused", "maybe"]), min_size=1, max_size=4).filter(lambda each: "maybe" in each),
    st.lists(st.binary(min_size=6, max_size=6), max_size=4),
    st.integers(2, 9),
)
def test_nothing_is_called_success_without_our_marker(outcomes, ring, version):
    """Whatever rivals leave in the row, a write without proof is never reported as applied."""
    rivals = [marker for marker in ring if marker != OURS]
    verdict = decide_conditional(attempts(outcomes), versioned(row(version, rivals)))
    assert verdict.outcome == "unknown"


class Table:
    """One row, our versioned update from 1 to 2, and rivals; it knows what really happened."""

    def __init__(self, ring):
        self.ring, self.item, self.open, self.applied = ring, row(1, [LOADED]), True, False

    def write(self, marker):
        """A versioned write on top of whatever stands there."""
        markers = [marker, *markers_in(self.item["_w"])][: self.ring]
        self.item = row(int(self.item["v"]["N"]) + 1, markers)

    def ours(self):
        """Our update, under the condition on the version and a condition of the caller."""
        passed = self.open and self.item is not None and self.item["v"]["N"] == "1"
        if passed:
            self.write(OURS)
            self.applied = True
        return passed

    def rival(self, action):
        """What somebody else does in between."""
        if action == "toggle":
            self.open = not self.open
        elif action == "delete":
            self.item = None
        elif self.item is None:
            self.item = row(1, [THEIRS])
        else:
            self.write(THEIRS)


rivals = st.lists(st.sampled_from(["write", "write", "delete", "toggle"]), max_size=4)
faults = st.sampled_from(["lost after it was applied", "lost before it arrived", "throttled"])


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(faults, rivals), max_size=3), st.integers(1, 4))
def test_no_verdict_contradicts_what_happened(plan, ring):
    """Under any faults and rivals, deletes included, "applied" and "failed" are true when they are said."""
    table, outcomes = Table(ring), []
    for fault, actions in plan:
        if fault == "lost after it was applied":
            table.ours()
        outcomes.append("refused" if fault == "throttled" else "maybe")
        for action in actions:
            table.rival(action)
    assume(not table.ours())  # the last attempt fails its condition, and brings the row
    evidence = versioned(table.item, base_marker=LOADED)
    verdict = decide_conditional(attempts([*outcomes, "refused"]), evidence)
    assert verdict.outcome in {"unknown", "applied" if table.applied else "failed"}


# The pieces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "markers"),
    [
        (None, ()),
        ({"B": b"a"}, (b"a",)),
        ({"S": "a"}, ("a",)),
        ({"L": [{"B": b"a"}, {"B": b"b"}]}, (b"a", b"b")),
        ({"BS": [b"a", b"b"]}, (b"a", b"b")),
        ({"N": "1"}, ()),
    ],
)
def test_markers_stand_alone_or_in_a_ring(value, markers):
    """One value, a list and a set are read; anything else holds no marker."""
    assert markers_in(value) == markers


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ({"N": "100"}, {"N": "1E+2"}, True),
        ({"N": "1"}, {"N": "1.00"}, True),
        ({"N": "1"}, {"S": "1"}, False),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}, True),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}, True),
        ({"BS": [b"a", b"b"]}, {"BS": [b"b", b"a"]}, True),
        ({"L": [{"N": "1"}]}, {"L": [{"N": "1.0"}]}, True),
        ({"L": [{"N": "1"}]}, {"L": [{"N": "1"}, {"N": "1"}]}, False),
        ({"M": {"a": {"SS": ["x", "y"]}}}, {"M": {"a": {"SS": ["y", "x"]}}}, True),
        ({"M": {"a": {"S": "x"}}}, {"M": {}}, False),
        ({"BOOL": True}, {"BOOL": False}, False),
        ({"NULL": True}, {"NULL": True}, True),
    ],
)
def test_values_are_equal_as_dynamodb_stores_them(left, right, equal):
    """Numbers count by value and sets without order, at every depth."""
    assert equal_wire(left, right) is equal
    assert equal_wire(right, left) is equal


def test_an_update_compares_only_what_it_wrote():
    """Other attributes of the row do not make it another's, unless the write was of the whole row."""
    stored, image = {"a": {"S": "x"}, "b": {"S": "y"}}, {"a": {"S": "x"}}
    assert same_image(stored, image, whole=False)
    assert not same_image(stored, image)
    assert not same_image({"b": {"S": "y"}}, image, whole=False)
