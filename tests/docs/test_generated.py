"""What pages show that is made from the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import generated
from docs.generated import GENERATED, filled, pages
from docs.names import names_below
from tests.docs.runner import ROOT, documents

PLACES = re.compile(r"<!-- generated: ([a-z-]+) -->")


def named(path: Path) -> list[str]:
    """What a page has places for."""
    return PLACES.findall(path.read_text(encoding="utf-8"))


def test_every_place_for_generated_text_is_known_and_used() -> None:
    """Pages name what there is, and all of it."""
    assert {name for path in documents() for name in named(path)} == set(GENERATED)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_committed_is_what_would_be_generated(path: Path) -> None:
    """A page is as `python -m docs.generated` writes it, and each of its places has an end."""
    text = path.read_text(encoding="utf-8")

    assert text.count("<!-- end -->") == len(named(path))
    assert filled(text) == text, "run: python -m docs.generated"


@pytest.mark.parametrize("name", sorted(set(GENERATED) - {"names"}))
def test_what_is_generated_is_a_table(name: str) -> None:
    """Each of them has a header and at least four rows."""
    lines = [line for line in GENERATED[name]("").splitlines() if line.startswith("| ")]

    assert len(lines) >= 5


def test_no_access_pattern_of_the_example_needs_a_filter() -> None:
    """The example is designed by its questions."""
    assert "with a filter" not in GENERATED["access-patterns"]("")


def test_a_table_of_names_has_what_the_block_below_it_shows() -> None:
    """A class has rows for its methods, those included and excluded as the block says, each with one sentence."""
    rows = names_below("```{eval-rst}\n.. autoclass:: LocalIndex\n.. autofunction:: tablekit.local.main\n```\n")

    assert "| `LocalIndex.on` | The same index with the table's partition key filled in;" in rows
    assert "| `tablekit.local.main` |" in rows
    assert "LocalIndex.keys" not in rows
    inherited = names_below("```{eval-rst}\n.. autoclass:: LocalIndex\n   :inherited-members:\n```\n")
    assert "LocalIndex.keys" in inherited


@pytest.mark.parametrize("path", [path for path in pages() if "names" in named(path)], ids=lambda path: path.stem)
def test_each_name_of_the_reference_says_what_it_is(path: Path) -> None:
    """Every row of the generated tables ends with a sentence."""
    rows = re.findall(r"^\| `[\w.]+` \| (.*) \|$", path.read_text(encoding="utf-8"), re.MULTILINE)

    assert len(rows) > 50
    assert not [row for row in rows if not re.search(r"[.!?]$", row)]


def test_a_stale_page_is_told_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` names it and fails; without it the page is written, and what stands around it stays."""
    monkeypatch.setattr(generated, "FOLDER", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- generated: chart -->\nold\n<!-- end -->\n\nAfter.\n", encoding="utf-8")

    assert generated.main(["--check"]) == 1
    assert "docs/page.md" in capsys.readouterr().out
    assert generated.main([]) == 0
    assert generated.main(["--check"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| Document |" in text
    assert "old" not in text
    assert text.startswith("Before.\n\n<!-- generated: chart -->\n\n| Type |")
    assert text.endswith("\n\n<!-- end -->\n\nAfter.\n")
