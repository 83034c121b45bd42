"""The driver of synchronous calls."""

from __future__ import annotations

import asyncio

import pytest

from tablekit.operations.driver import run


async def value(result):
    """A coroutine that never suspends."""
    return result


def test_a_coroutine_that_never_suspends_is_run_to_its_end():
    """The driver returns what the operation returns."""
    assert run(value(7)) == 7


def test_an_error_comes_out_as_it_was_raised():
    """The driver adds nothing to an exception."""

    async def failing():
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        run(failing())


def test_a_coroutine_that_suspends_is_closed_and_refused():
    """A synchronous call on an asynchronous port says so, and runs the operation's clean-up."""
    closed = []

    async def suspending():
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    with pytest.raises(RuntimeError, match=r"\.aio"):
        run(suspending())
    assert closed == [True]
