"""Saves a row over a network that swallows the answer, is interrupted, and goes on; run as a program by the tests."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import Any

from tablekit import Capabilities
from tests.faults.models import Doc, app

ENDPOINT, TABLE, TRANSPORT, COLOUR = sys.argv[1:]

# A shell starts what it runs in the background with interrupts ignored, and a child inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def loaded() -> Doc:
    """The document that is stored, with a change."""
    doc = Doc.key(name="d").get_or_raise(consistent=True)
    doc.n += 1
    return doc


def show(error: BaseException, doc: Doc) -> None:
    """Say what the interrupted call was told."""
    history: Any = getattr(error, "history", ())
    say(type(error).__name__, [attempt.outcome for attempt in history], doc.revision)


def say(*words: object) -> None:
    """Tell the test something, at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def plainly() -> None:
    """Save, and be interrupted."""
    doc = loaded()
    try:
        doc.save()
    except KeyboardInterrupt as error:
        show(error, doc)


async def awaited() -> None:
    """Save; the interrupt cancels the task."""
    doc = await Doc.key(name="d").aio.get_or_raise(consistent=True)
    doc.n += 1
    try:
        await doc.aio.save()
    except asyncio.CancelledError as error:
        show(error, doc)
        raise


options: Any = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region": "us-east-1"}
with app.bound(name=TABLE, endpoint_url=ENDPOINT, transport=TRANSPORT, capabilities=Capabilities(), **options):
    if COLOUR == "awaited":
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(awaited())
    else:
        plainly()
    again = loaded()
    again.save()
    say(again.n, again.revision)
