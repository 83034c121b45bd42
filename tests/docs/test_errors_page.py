"""The errors page has each class of the tree, and each class leads to its place there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablekit import TablekitError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
ENTRY = re.compile(r"^\(([a-z-]+)\)=\n#{2,4} (\w+)\n(.*?)(?=^\([a-z-]+\)=$|^#|\Z)", re.MULTILINE | re.DOTALL)


def tree(root: type[TablekitError] = TablekitError) -> list[type[TablekitError]]:
    """The classes of `tablekit.errors`, each after its base."""
    children = [cls for cls in root.__subclasses__() if cls.__module__ == "tablekit.errors"]
    return [root, *(cls for child in children for cls in tree(child))]


ENTRIES = {found[1]: (found[0], found[2]) for found in ENTRY.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_exactly_the_classes_of_the_tree() -> None:
    """Nothing is missing, nothing is left over, and the order is the tree's."""
    assert list(ENTRIES) == [cls.__name__ for cls in tree()]


@pytest.mark.parametrize("cls", tree(), ids=lambda cls: cls.__name__)
def test_an_entry_stands_under_the_anchor_of_its_class_and_says_why_and_what_to_do(cls: type[TablekitError]) -> None:
    """The anchor is `Error.anchor`; the entry has both parts."""
    anchor, text = ENTRIES[cls.__name__]

    assert anchor == cls.anchor
    assert "**Why:**" in text
    assert "**What to do:**" in text
