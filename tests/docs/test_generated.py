"""What pages show that is made from the code."""

from __future__ import annotations

import re

import pytest

from docs.generated import GENERATED
from tests.docs.runner import documents

PLACES = re.compile(r"<!-- generated: ([a-z-]+) -->")


def test_every_place_for_generated_text_is_known_and_used() -> None:
    """Pages name what there is, and all of it."""
    named = {name for path in documents() for name in PLACES.findall(path.read_text(encoding="utf-8"))}

    assert named == set(GENERATED)


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_generated_is_a_table(name: str) -> None:
    """Each of them has a header and at least four rows."""
    lines = [line for line in GENERATED[name]().splitlines() if line.startswith("| ")]

    assert len(lines) >= 5


def test_no_access_pattern_of_the_example_needs_a_filter() -> None:
    """The example is designed by its questions."""
    assert "with a filter" not in GENERATED["access-patterns"]()
