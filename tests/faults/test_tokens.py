"""Tokens: one body for each, to the byte, and patience with an attempt that is still being worked on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tablekit import Capabilities, WriteOutcomeUnknown
from tablekit.operations.transport import SyncPort
from tests.faults.models import Doc, Note, User, app
from tests.support.stub import ENDPOINT, Settings, error, ok

ROOT = Path(__file__).parent.parent.parent
HASH_SEEDS = int(os.environ.get("TABLEKIT_TEST_HASH_SEEDS", "6"))

PROGRAM = """
import sys
from tablekit import Capabilities
from tests.faults.models import Doc, Note, app
from tests.support.stub import StubTransport, lost, ok

class Bytes(StubTransport):
    def reply_to(self, target, authorization, body):
        sys.stdout.write(body.decode() if isinstance(body, bytes) else body)
        sys.stdout.write("\\n")
        return super().reply_to(target, authorization, body)

for transport in ("pynamodb", "direct"):
    stub = Bytes()
    stub.always("TransactWriteItems", ok())
    stub.script("TransactWriteItems", lost(), ok())
    with app.bound(name="t", port=stub.port(transport=transport), capabilities=Capabilities()):
        with app.transaction(token="job-17") as tx:
            tx.put(Note(name="a", tags={"x", "y", "z", "w", "v"}))
            tx.update(Note.key(name="b", part="0"), Note.tags.add({"p", "q", "r"}), Note.lines.append(["h"]))
            tx.update(Note.key(name="c", part="0"), Note.tags.delete({"s", "t", "u"}), Note.n.add(1))
"""


def test_what_is_sent_again_is_the_same_to_the_byte():
    """Over processes of several hash seeds, and over the attempts of one call: one token, one body to a transport."""
    bodies = set(), set()
    for seed in range(HASH_SEEDS):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", PROGRAM]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        sent = run.stdout.splitlines()
        assert len(sent) == 4
        bodies[0].update(sent[:2])
        bodies[1].update(sent[2:])
    for body, *others in bodies:
        assert not others
        assert json.loads(body)["ClientRequestToken"] == "job-17"


class Clock:
    """Seconds that pass by pausing."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        """Let them pass."""
        self.now += seconds


@pytest.fixture
def clock(stub):
    """A clock that stands while nobody pauses; the models on a scripted DynamoDB that goes by it."""
    made = Clock()
    port = SyncPort(Settings(endpoint_url=ENDPOINT), on_client=stub.attach, sleep=made.sleep)
    with app.bound(name="t", port=port, capabilities=Capabilities()):
        yield made


def commit():
    """Two rows in a transaction."""
    with app.transaction() as tx:
        tx.put(Note(name="a"))
        tx.create(Doc(name="d"))


WORK = {
    "transaction": commit,
    "add once": lambda: Note.key(name="n", part="0").update(Note.n.add(1), once=True, returning=None),
    "create once": lambda: Doc(name="d").create(once=True),
    "unique": lambda: User(name="u", email="x").create(),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_an_attempt_in_progress_is_waited_for_five_seconds(stub, clock, work):
    """DynamoDB may end an interrupted transaction within a request that comes after five seconds; one token for all."""
    in_progress, done = error("TransactionInProgressException"), ok()
    stub.always("TransactWriteItems", lambda _: done if clock.now >= 5 else in_progress)
    work()
    sent = stub.sent("TransactWriteItems")
    assert clock.now >= 5
    assert len({wire["ClientRequestToken"] for wire in sent}) == 1
    assert all(wire == sent[0] for wire in sent)


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_an_attempt_that_stays_in_progress_is_unknown_after_a_bounded_time(stub, clock, work):
    """Nobody waits for ever, and the token is told."""
    stub.always("TransactWriteItems", error("TransactionInProgressException"))
    with pytest.raises(WriteOutcomeUnknown) as caught:
        work()
    assert 5 <= clock.now <= 30
    assert caught.value.token == stub.sent("TransactWriteItems")[0]["ClientRequestToken"]
