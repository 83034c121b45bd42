"""Ctrl-C while a write is on its way, in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.models import Doc, app
from tests.faults.proxy import FaultProxy

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def stored(ministack, table_name):
    """A document on a fresh table, and the name of the table."""
    with app.bound(name=table_name, **ministack.connect_options()):
        app.create_table()
        Doc(name="d", n=1).create()
        yield table_name
        app.delete_table()
        app.close()


@pytest.mark.parametrize("colour", ["plain", "awaited"])
@pytest.mark.parametrize("transport", ["pynamodb", "direct"])
@pytest.mark.parametrize(("fault", "left"), [("black hole before", 1), ("black hole after", 2)])
def test_ctrl_c_while_sending(ministack, stored, transport, colour, fault, left):
    """The interrupt stays itself, the history says maybe, the entity is as it was, and the next call is served."""
    with FaultProxy(ministack.endpoint_url) as proxy:
        proxy.meet("none", fault)
        command = [sys.executable, "-m", "tests.faults.interrupted", proxy.url, stored, transport, colour]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            wait_for(lambda: proxy.met[fault] == 1, child)
            child.send_signal(signal.SIGINT)
            told, after = child.communicate(timeout=60)[0].splitlines()
    name = "CancelledError" if colour == "awaited" else "KeyboardInterrupt"
    assert told == f"{name} ['maybe'] 1"
    assert after == f"{left + 1} {left + 1}"


def wait_for(condition, child):
    """Wait until something has happened; the child must not end before it."""
    deadline = time.monotonic() + 60
    while not condition():
        assert child.poll() is None, "the program ended before it was interrupted"
        assert time.monotonic() < deadline, "the request did not come"
        time.sleep(0.005)
