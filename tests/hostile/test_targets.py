"""Bytes that a stranger chose: whatever reads them raises what is documented, and nothing else."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import deep, mutated, seeds
from tests.fuzz.targets import TARGETS

INPUTS = int(os.environ.get("TABLEKIT_TEST_INPUTS", "300"))
"""Mutations of the corpus for each target; 100,000 in the heavy run."""

texts = st.text(st.sampled_from("aé#0:-TZ\x00\ud800\n/") | st.characters(), max_size=60)


@pytest.mark.parametrize("target", TARGETS)
def test_every_seed_is_read(target: str) -> None:
    """The seeds of the corpus are read without any surprise."""
    for data in seeds(target):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
def test_mutations_raise_what_is_documented(target: str) -> None:
    """Seeds with parts replaced, dropped and doubled, and bytes that were cut and swapped."""
    for data in mutated(target, INPUTS, seed=2026):
        TARGETS[target](data)


@pytest.mark.parametrize("levels", [16, 33, 1_000, 100_000])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", ['{{"Item":{{"PK":{{"S":"SHELF#a"}},"extra":{0}}}}}', '{{"PK":"a","x":{0}}}', "{0}"])
def test_deep_values_are_told(target: str, shape: str, levels: int) -> None:
    """A value nested 100,000 levels deep ends no process and leaves no RecursionError."""
    TARGETS[target](shape.format(deep(levels).decode()).encode())


@pytest.mark.parametrize("target", ["key", "index_key", "cursor", "terraform"])
@given(text=texts)
def test_texts_raise_what_is_documented(target: str, text: str) -> None:
    """Any text in place of a key, a cursor or a file."""
    TARGETS[target](text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.binary(max_size=200))
def test_bytes_raise_what_is_documented(target: str, data: bytes) -> None:
    """Any bytes."""
    TARGETS[target](data)
