"""What the actions of an update do when they are sent twice, and in what order they are sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tablekit.expressions.actions import Action, Add, Operand, Remove, Set
from tablekit.expressions.assigning import Default
from tablekit.expressions.paths import Path
from tablekit.expressions.values import Value

__all__ = ["adds_up", "parents_of", "place"]


def place(action: Action) -> int:
    """Puts removals of list elements last, the highest index first.

    DynamoDB takes all indexes as they were before the update; other engines remove one element after the other.
    """
    last = action.path.segments[-1]
    return -1 - last if isinstance(action, Remove) and isinstance(last, int) else -sys.maxsize


def adds_up(actions: Sequence[Action]) -> bool:
    """Whether doing the actions twice differs from doing them once."""
    changed = {action.path.attribute for action in actions}
    return any(_repeats(action, changed) for action in actions)


def _repeats(action: Action, changed: set[str]) -> bool:
    if isinstance(action.path.segments[-1], int):
        # Removing an element moves the later ones up; setting one behind the end appends.
        return isinstance(action, (Remove, Set))
    if isinstance(action, Add):
        return "N" in action.value.av
    if not isinstance(action, Set) or isinstance(action.operand, Value):
        return False
    if isinstance(action.operand, Operand) and not isinstance(action.operand, Default):
        return True
    # A copy of an attribute that the same update changes, as when two are swapped.
    return any(path.attribute in changed - {action.path.attribute} for path in _sources(action))


def _sources(action: Action) -> Iterator[Path]:
    yield from (piece for piece in action.pieces[1:] if isinstance(piece, Path))


def parents_of(actions: Sequence[Action]) -> tuple[str, ...]:
    """The fields whose inside the actions change, as the caller named them."""
    return tuple(dict.fromkeys(action.path.field for action in actions if len(action.path.segments) > 1))
