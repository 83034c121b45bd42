"""The page of promises names tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_the_page_names_is_there(file, name):
    """A promise whose proof was renamed or removed is noticed."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    assert name in {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_each_of_fifteen_promises_names_a_proof():
    """No promise stands there without one."""
    promises = re.findall(r"^\*\*\d+\. .*?(?=^\*\*\d|^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert len(promises) == 15
    assert all("`tests/" in promise or "`.ci/" in promise for promise in promises)
