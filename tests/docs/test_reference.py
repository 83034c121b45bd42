"""The reference has a place for each public name."""

from __future__ import annotations

import re
from pathlib import Path

import tablekit
from tablekit import errors

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
LISTED = set(
    re.findall(
        r"^\.\. auto(?:class|function|data):: (?:tablekit\.)?(\w+)$", (REFERENCE / "api.md").read_text(), re.MULTILINE
    )
)


def is_of_the_errors(name: str) -> bool:
    """Whether a public name is of `tablekit.errors`, whose members the API page shows as a whole."""
    return bool(getattr(tablekit, name).__module__ == errors.__name__)


def test_every_public_name_has_a_place_in_the_api_page() -> None:
    """What `tablekit` exports is in docs/reference/api.md, or is of tablekit.errors."""
    missing = [name for name in tablekit.__all__ if name not in LISTED and not is_of_the_errors(name)]

    assert not missing, f"add to docs/reference/api.md: {missing}"


def test_the_errors_page_draws_the_tree_of_the_module() -> None:
    """The tree in docs/reference/errors.md is the one in the docstring of tablekit.errors."""
    tree = [line.strip() for line in (errors.__doc__ or "").splitlines() if "──" in line]
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8").splitlines()

    assert [line.strip() for line in page if "──" in line] == tree
