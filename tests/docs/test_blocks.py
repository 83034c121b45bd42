"""What README and docs/ show is run, and what it prints is compared."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.docs.runner import ROOT, DocumentRun, documents, python_fences
from tests.support.engines import Engine
from tests.support.validation import RequestRecorder

DOCUMENTS = documents()


def name(path: Path) -> str:
    """A document's path in the repository."""
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def fresh_engine(ministack: Engine, monkeypatch: pytest.MonkeyPatch, recorder: RequestRecorder) -> None:
    """An engine without tables, which botocore's own settings lead to; every request is checked."""
    # Ministack takes a key of 12 digits for an account, and keeps the accounts apart.
    account = str(uuid.uuid4().int)[:12]
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.endpoint_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", account)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_the_blocks_of_a_document_run_and_print_what_it_says(
    path: Path, fresh_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each Python block runs, in order, on a fresh engine; no spelling of Python is passed over."""
    monkeypatch.chdir(tmp_path)

    with DocumentRun(path) as document:
        ran = document.run()

    assert ran == len(python_fences(document.text))


def test_what_readers_begin_with_has_blocks() -> None:
    """README, quickstart and tutorial show code; the runner finds it."""
    for path in (ROOT / "README.md", ROOT / "docs/quickstart.md", ROOT / "docs/tutorial.md"):
        assert python_fences(path.read_text(encoding="utf-8")), path


WRONG = {
    "other output": "```python\nprint(1)\n```\n```text\n2\n```\n",
    "output not shown": "```python\nprint(1)\n```\n",
    "output shown further down": "```python\nprint(1)\n```\nThis is\n```text\n1\n```\n",
    "an error": "```python\nraise ValueError\n```\n",
    "a doctest that fails": "```python\n>>> 1 + 1\n3\n```\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_document_that_is_wrong_fails(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner can fail: for other output, output that is not shown, and errors."""
    monkeypatch.setattr("tests.docs.runner.ROOT", tmp_path)
    path = tmp_path / "wrong.md"
    path.write_text(text, encoding="utf-8")

    with DocumentRun(path) as document, pytest.raises((AssertionError, ValueError)):
        document.run()
