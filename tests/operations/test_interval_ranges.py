"""Ranges of sort keys: what a range of a field takes in, and what a request that covers several brings along."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tablekit.operations.intervals import EVERYTHING, Interval, cover, of_key, of_prefix
from tablekit.operations.keyranges import could_lie_in, key_interval, sort_condition
from tablekit.operations.queryspec import Bound, RangeOperator
from tablekit.wire.rendering import Renderer
from tests.support.reading import Book, Note

NOTE_SK = Note.__schema__.sk
assert NOTE_SK is not None
NUMBERS = st.integers(0, 9999)
TESTS: dict[RangeOperator, Any] = {
    "after": lambda number, bound: number > bound,
    "at_least": lambda number, bound: number >= bound,
    "before": lambda number, bound: number < bound,
    "at_most": lambda number, bound: number <= bound,
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ENDS = st.one_of(st.none(), TEXTS)
INTERVALS = st.one_of(
    st.builds(of_key, TEXTS.filter(bool)),
    st.builds(of_prefix, TEXTS),
    st.builds(Interval, ENDS, ENDS, low_open=st.booleans(), high_open=st.booleans()),
)


@given(operator=st.sampled_from(sorted(TESTS)), bound=NUMBERS, number=NUMBERS)
def test_a_range_takes_what_its_operator_says(operator: RangeOperator, bound: int, number: int) -> None:
    """A key lies in the range of a field exactly when the field's value does."""
    values = {"shelf_id": "a", "book_id": "1"}
    wanted = TESTS[operator](number, bound)
    if (operator, bound) in (("before", 0), ("after", 9999)):
        return

    interval = key_interval(NOTE_SK, values, [Bound(operator, "number", bound)], "Note")

    assert (f"BOOK#1#NOTE#{number:04d}" in interval) is wanted
    assert "BOOK#10#NOTE#0001" not in interval


@given(intervals=st.lists(INTERVALS, min_size=1, max_size=4), key=TEXTS)
def test_a_cover_leaves_nothing_out(intervals: list[Interval], key: str) -> None:
    """Every key of an interval lies in what covers it."""
    if any(key in interval for interval in intervals):
        assert key in cover(intervals)


@given(interval=INTERVALS, key=TEXTS)
def test_what_is_sent_exactly_is_the_interval(interval: Interval, key: str) -> None:
    """An interval that one key condition says has no neighbours; of another the ends come along."""
    if interval.sent_exactly:
        return
    assert (key in interval) <= (key in interval.closed)


def test_conditions_are_as_narrow_as_dynamodb_has_them() -> None:
    """One key is an equality, a prefix begins_with, one end a comparison, two a BETWEEN, none nothing."""
    texts = []
    for interval in (of_key("a"), of_prefix("a"), Interval("a", None, low_open=True), Interval("a", "b")):
        condition = sort_condition("SK", interval, "S")
        assert condition is not None
        texts.append(Renderer().render_key_condition(condition))

    assert texts == ["#SK = :SK", "begins_with(#SK, :SK)", "#SK > :SK", "#SK BETWEEN :SK_low AND :SK_high"]
    assert sort_condition("SK", EVERYTHING, "S") is None


@given(name=TEXTS, number=NUMBERS, interval=INTERVALS)
def test_could_lie_in_is_never_a_wrong_no(name: str, number: int, interval: Interval) -> None:
    """A key that lies in a range is never said to be unable to."""
    try:
        key = Note(shelf_id="a", book_id=name, number=number).to_item()["SK"]["S"]
    except ValueError:
        return
    if key in interval:
        assert could_lie_in(NOTE_SK, interval)


def test_could_lie_in_tells_templates_apart_that_begin_alike() -> None:
    """A book's own key is no note's, though both begin alike; a range with one end is looked at too."""
    assert not could_lie_in(NOTE_SK, of_key("BOOK#1"))
    assert Book.__schema__.sk is not None
    assert not could_lie_in(Book.__schema__.sk, of_prefix("BOOK#1#NOTE#"))
    assert not could_lie_in(NOTE_SK, Interval("C", None))
    assert not could_lie_in(NOTE_SK, Interval(None, "B"))
    assert could_lie_in(NOTE_SK, Interval("BOOK", None))
