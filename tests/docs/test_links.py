"""The links of the pages that Sphinx does not build lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_to_files_of_the_repository(name: str) -> None:
    """Each relative link names a file that is there."""
    targets = LINK.findall((ROOT / name).read_text(encoding="utf-8"))

    assert not [target for target in targets if not (ROOT / target).exists()]
