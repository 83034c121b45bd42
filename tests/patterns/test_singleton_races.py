"""Several processes write one row: none is lost, and a writer that is killed leaves a row that is whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patterns.writer import Switches, app, bump, connect

ROOT = Path(__file__).parent.parent.parent
NAMES = "abcdefgh"
EDITS = int(os.environ.get("TABLEKIT_TEST_EDITS", "250"))
"""Edits of each process; 500 in the heavy run."""


@pytest.fixture
def shared(ministack, table_name):
    """A table that other processes reach as well: its endpoint and its name."""
    connect(ministack.endpoint_url, table_name)
    app.create_table()
    yield ministack.endpoint_url, table_name
    app.delete_table()
    app.close()


def start(shared, name, times):
    """A process that edits one field."""
    command = [sys.executable, "-m", "tests.patterns.writer", *shared, name, str(times)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_eight_processes_edit_different_fields_and_none_is_lost(shared):
    """Eight processes edit a field each: every edit is there in the end, and the version is the number of writes."""
    processes = [start(shared, name, EDITS) for name in NAMES]
    outputs = [process.communicate(timeout=600)[0] for process in processes]

    row = Switches.load()
    assert outputs == ["done\n"] * 8
    assert [getattr(row, name) for name in NAMES] == [EDITS] * 8
    assert row.seen == dict.fromkeys(NAMES, str(EDITS))
    assert row.version == 8 * EDITS


def test_a_killed_writer_leaves_a_valid_row(shared):
    """``kill -9`` in the middle of edits: the row has the last edit or the one before, whole, and others go on."""
    for _ in range(5):
        process = start(shared, "a", 0)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        told = [int(line) for line in process.communicate()[0].split()]

        row = Switches.load()
        assert (row.source, row.seen.get("a")) == ("table", str(row.a))
        assert row.version == row.a + row.b
        assert not told or row.a >= told[-1]
        assert Switches.edit(lambda flags: bump(flags, "b")).version == row.version + 1
