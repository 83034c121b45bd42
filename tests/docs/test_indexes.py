"""The pages that list others list all of them, for readers of the Markdown and for Sphinx."""

from __future__ import annotations

import re

import pytest

from tests.docs.runner import ROOT

LISTED = re.compile(r"^- \[([^\]]+)\]\(([a-z0-9-]+)\.md\): (.+)", re.MULTILINE)
TOCTREE = re.compile(r"```\{toctree\}\n:hidden:\n\n(.*?)```", re.DOTALL)
FOLDERS = [ROOT / "docs" / name for name in ("howto", "explanation", "reference")]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_index_lists_each_page_of_its_folder_once(folder) -> None:
    """Each page has one link, which says what the page is about, and one entry of the toctree, in the same order."""
    text = (folder / "index.md").read_text(encoding="utf-8")
    listed = [name for _, name, _ in LISTED.findall(text)]

    assert sorted(listed) == sorted(path.stem for path in folder.glob("*.md") if path.stem != "index")
    assert TOCTREE.findall(text)[0].split() == listed


def test_the_how_to_pages_are_listed_under_their_titles() -> None:
    """A link says what the page's first line says."""
    folder = ROOT / "docs" / "howto"
    listed = LISTED.findall((folder / "index.md").read_text(encoding="utf-8"))
    titles = {name: (folder / f"{name}.md").read_text(encoding="utf-8").partition("\n")[0] for _, name, _ in listed}

    assert titles == {name: f"# {title}" for title, name, _ in listed}
