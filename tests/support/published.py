"""The published models that lie outside of the repository, where ``TABLEKIT_PUBLISHED_DATA`` says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("TABLEKIT_PUBLISHED_DATA")
MODELS = Path(FOLDER, "models") if FOLDER else None


def needs_models() -> pytest.MarkDecorator:
    """Skips where the data is not to be had; with CI set, a folder that is named and empty is a failure."""
    return pytest.mark.skipif(MODELS is None, reason="TABLEKIT_PUBLISHED_DATA is not set")


def model(path: str) -> Path:
    """A file or folder of the models; fails where the folder that is named does not hold it."""
    assert MODELS is not None
    found = MODELS / path
    assert found.exists(), f"{found} is not there: TABLEKIT_PUBLISHED_DATA names a folder without it"
    return found
