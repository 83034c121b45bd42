"""Garbage collections are held back while a large answer is read, and never for longer."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from tablekit.wire.pause import MANY_BYTES, CollectionsPaused, _Turn
from tablekit.wire.response import parse_body


@pytest.fixture(autouse=True)
def collector_on():
    """The collector is on before and after each test."""
    gc.enable()
    yield
    assert gc.isenabled()
    assert not _Turn.lock.locked()


def test_collections_are_off_inside_and_on_again_after():
    """The collector's state is what it was, an error included."""
    with CollectionsPaused(True):
        assert not gc.isenabled()
    with pytest.raises(ValueError, match="bad"), CollectionsPaused(True):
        raise ValueError("bad")


def test_small_work_leaves_the_collector_alone():
    """Where nothing is gained nothing is touched."""
    with CollectionsPaused(False):
        assert gc.isenabled()


def test_a_collector_that_the_application_switched_off_stays_off():
    """Nothing is switched on that was not switched off here."""
    gc.disable()
    with CollectionsPaused(True):
        pass
    assert not gc.isenabled()
    gc.enable()


def test_a_pause_inside_a_pause_does_not_end_it():
    """The outer one lets collections go."""
    with CollectionsPaused(True):
        with CollectionsPaused(True):
            pass
        assert not gc.isenabled()


def test_one_thread_pauses_at_a_time():
    """Threads that read without a break cannot keep collections back between them."""
    inside, leave = threading.Event(), threading.Event()

    def other():
        with CollectionsPaused(True):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    with CollectionsPaused(True) as ours:
        assert ours._lock is None
    leave.set()
    thread.join()


def test_a_pause_that_never_reached_its_block_ends_with_its_object():
    """An interrupt between __enter__ and the block does not leave the collector off."""
    pause = CollectionsPaused(True)
    pause.__enter__()
    del pause


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # it is what the test is about
def test_a_child_forked_during_another_threads_pause_collects():
    """The thread that would let collections go is not in the child."""
    inside, leave = threading.Event(), threading.Event()

    def other():
        with CollectionsPaused(True):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() and not _Turn.lock.locked() else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_large_body_is_parsed_without_a_collection():
    """The page of a query runs no collection while its text becomes dicts."""
    body = b'{"Items": [' + b",".join([b'{"a": {"L": [{"S": "x"}]}}'] * 2_000) + b"]}"
    assert len(body) > MANY_BYTES
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(info))
    try:
        parse_body(body)
        during = [info for info in seen if info["generation"] > 0]
    finally:
        gc.callbacks.pop()
    assert not during
