"""Random expressions over hostile names."""

from __future__ import annotations

from hypothesis import strategies as st

from tablekit.expressions.actions import Action, remove_path, set_path
from tablekit.expressions.conditions import Condition, attribute_exists, between, compare, one_of
from tablekit.expressions.paths import attribute

HOSTILE = st.one_of(
    st.sampled_from(["size", "name", "a.b", "x-y z", "9", "_ttl", ") OR (", "#a", ":a", "'", "é", "a_2", "a"]),
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60),
)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> Condition:
    """A condition over hostile names."""
    path = attribute(draw(HOSTILE), *draw(st.lists(HOSTILE | st.integers(0, 99), max_size=3)))
    if depth == 0 or draw(st.booleans()):
        low, high = sorted(draw(st.tuples(st.text(max_size=3), st.text(max_size=3))))
        return draw(
            st.sampled_from(
                [
                    attribute_exists(path),
                    compare(path, "<>", {"S": low}),
                    between(path, {"S": low}, {"S": high}),
                    one_of(path, [{"S": low}, {"S": high}]),
                ]
            )
        )
    first, second = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return draw(st.sampled_from([first & second, first | second, ~first]))


@st.composite
def updates(draw: st.DrawFn) -> list[Action]:
    """Sets and removals of distinct attributes with hostile names."""
    names = draw(st.lists(HOSTILE, min_size=1, max_size=6, unique=True))
    return [
        set_path((name,), {"S": draw(st.text(max_size=3))}) if draw(st.booleans()) else remove_path((name,))
        for name in names
    ]
