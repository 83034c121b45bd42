"""A hundred thousand runs of many clients over a bad network, each compared with what really happened.

``TABLEKIT_TEST_SEEDS=1000000`` makes it a million. A seed that fails is named, and is run again by
``python -m tests.faults.programs "versioned" 4711``.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.faults.programs import PROGRAMS, hot_row

SEEDS = int(os.environ.get("TABLEKIT_TEST_SEEDS", "100000"))
SHARES = {
    "hot row": 28,
    "versioned": 31,
    "plain": 21,
    "transfers": 5,
    "unique values": 5,
    "batches": 6,
    "flags": 4,
}
"""Of a hundred seeds, how many are of which program."""

assert sum(SHARES.values()) == 100

BLOCK = 2500
BLOCKS = [
    (name, first, min(BLOCK, count - first))
    for name, share in SHARES.items()
    for count in (SEEDS * share // 100,)
    for first in range(0, count, BLOCK)
]


def test_every_seed_is_simulated():
    """The blocks below add up to all seeds."""
    assert sum(count for _, _, count in BLOCKS) == SEEDS
    assert SHARES.keys() == PROGRAMS.keys()


@pytest.fixture
def rare_collections() -> Iterator[Callable[[], object]]:
    """Garbage is collected when the test says so: the collector's own rhythm takes an eighth of the time."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield gc.collect
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize(("name", "first", "count"), BLOCKS, ids=[f"{name}-{first}" for name, first, _ in BLOCKS])
def test_nobody_is_told_what_did_not_happen(name, first, count, rare_collections):
    """No conflict that was won, no success that was lost, nothing applied twice, and unknown only where it is so."""
    outcomes = Counter()
    for seed in range(first, first + count):
        if seed % 250 == 0:
            rare_collections()
        world = PROGRAMS[name](seed)
        world.check()
        outcomes.update(told.outcome for told in world.calls)
    assert outcomes["applied"] > count / 2, f"a simulation in which little happens shows little: {outcomes}"


def test_unknown_is_rare_on_a_hot_row():
    """With one answer in ten lost and three writers on the row, at most 0.2 % of its writes are of unknown outcome."""
    outcomes = Counter(told.outcome for seed in range(3000) for told in hot_row(seed, saves=2).calls)
    writes = sum(outcomes.values())
    assert writes == 18_000
    assert outcomes["failed"] > writes / 3, "the row is contended"
    assert outcomes["unknown"] / writes <= 0.002, outcomes
