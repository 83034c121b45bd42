"""Many clients, one engine and a bad network, under a virtual clock: a run is known by its seed.

The operations are tablekit's own coroutines. Here they are given a port that sends through an imagined network to
the engine of `tests.faults.engine`, and a scheduler that lets the clients take turns at their awaits. After a run
each call is compared with what the engine knows of it.
"""

from __future__ import annotations

import contextlib
import heapq
import random
import types
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import Any, TypeVar

import botocore.exceptions

from tablekit import (
    BatchIncomplete,
    Capabilities,
    ConditionFailed,
    ItemNotFound,
    ServiceError,
    TransactionCancelled,
    WriteOutcomeUnknown,
)
from tablekit._types import Answer, WireRequest
from tablekit.operations.attempts import ONCE, Call, classify_answer, classify_exception
from tablekit.operations.direct_retry import is_retryable
from tablekit.operations.errors_map import attach_history, error_of_response, invalid_response, map_error
from tablekit.operations.session import Session
from tests.faults.engine import Memory, Refused, Write
from tests.faults.models import app

__all__ = ["HARD", "MILD", "Judged", "SimPort", "World", "pause"]

T = TypeVar("T")

ATTEMPTS = 4

HARD = {
    "lost": 6,  # applied, and the connection ends before the answer
    "lost 500": 3,  # applied, and answered with a 500
    "never came": 3,  # the connection ends before the engine has it
    "500": 2,  # not applied, and answered with a 500
    "late": 2,  # answered with a 500, and applied a while later
    "unconnected": 2,
    "throttled": 4,
    "checksum": 2,  # applied, and the body of the answer is damaged
    "portal": 1,  # the page of a proxy, with status 200
}
"""A network that does everything wrong: a quarter of all attempts. Percent of the attempts, by fault."""

MILD = {"lost": 10, "unconnected": 5}
"""The network by which the rate of unknown outcomes is measured: one answer in ten is lost."""

_URL = "http://127.0.0.1:1"
_CLOSED = botocore.exceptions.ConnectionClosedError(endpoint_url=_URL)
_TIMEOUT = botocore.exceptions.ReadTimeoutError(endpoint_url=_URL)
_UNCONNECTED = botocore.exceptions.ConnectTimeoutError(endpoint_url=_URL)


@types.coroutine
def pause(seconds: float) -> Generator[float, None, None]:
    """Let others go on for that long."""
    yield seconds


class Judged(Write):
    """A call of a client, and what the client was told of it.

    Attributes:
        exact: a version, a token or a condition makes it happen once at most, unless the row is deleted in between.
        outcome: "applied", "failed", "unknown" or "stopped". error: what was raised.
    """

    def __init__(self, what: str, *, exact: bool) -> None:
        super().__init__(what)
        self.exact = exact
        self.outcome = "stopped"
        self.error: BaseException | None = None
        self.uncertain = False


class World:
    """One run.

    Parameters:
        seed: of all that is left to chance. odds: of each fault, in percent. interrupts: how likely a client is
            interrupted at each of its pauses.
    """

    def __init__(self, seed: int, odds: Mapping[str, int], *, interrupts: float = 0.0) -> None:
        # The module's own generator: tablekit's pauses are drawn from it as well.
        random.seed(seed)
        self.seed = seed
        self.memory = Memory()
        self.calls: list[Judged] = []
        self.faults: Counter[str] = Counter()
        self._odds = [name for name, percent in odds.items() for _ in range(percent)]
        self._interrupts = interrupts
        self._queue: list[tuple[float, int, Any]] = []
        self._number = 0
        self._now = 0.0

    def client(self) -> Session:
        """A client of its own: a session over a port of its own."""
        return Session(app, SimPort(self), "t", Capabilities())

    def start(self, program: Coroutine[Any, Any, None]) -> None:
        """Let a client begin its program at some moment."""
        self.later(random.random() * 0.01, program)

    def later(self, seconds: float, what: Any) -> None:
        """Go on with a program, or call a function, in so many seconds."""
        self._number += 1
        heapq.heappush(self._queue, (self._now + seconds, self._number, what))

    def run(self) -> None:
        """Let all programs come to their ends."""
        queue = self._queue
        while queue:
            self._now, _, what = heapq.heappop(queue)
            if not hasattr(what, "send"):
                what()
                continue
            try:
                seconds = what.throw(KeyboardInterrupt) if self._interrupted(what) else what.send(None)
            except StopIteration:
                continue
            self.later(seconds, what)

    def _interrupted(self, program: Any) -> bool:
        begun: bool = program.cr_await is not None
        return bool(self._interrupts) and begun and random.random() < self._interrupts

    def draw(self) -> str:
        """What becomes of the next attempt."""
        place = int(random.random() * 100)
        fault = self._odds[place] if place < len(self._odds) else "none"
        self.faults[fault] += 1
        return fault

    async def call(self, session: Session, what: str, work: Awaitable[T], *, exact: bool) -> tuple[Judged, T | None]:
        """Make a call, and note what its caller is told."""
        told = Judged(what, exact=exact)
        self.calls.append(told)
        return told, await self.resume(session, told, work)

    async def resume(self, session: Session, told: Judged, work: Awaitable[T]) -> T | None:
        """Go on with a call, such as a transaction under its token."""
        told.outcome, told.error = "stopped", None
        port: Any = session.port
        port.write = told
        try:
            result = await work
        except WriteOutcomeUnknown as error:
            told.outcome, told.error, told.uncertain = "unknown", error, _uncertain(error)
        except BatchIncomplete as error:
            told.outcome, told.error = "incomplete", error
        except (ConditionFailed, ItemNotFound, TransactionCancelled, ServiceError) as error:
            told.outcome, told.error = "failed", error
        except KeyboardInterrupt as error:
            told.error = error
        else:
            told.outcome = "applied"
            return result
        return None

    def check(self) -> None:
        """Compare each call with the truth. Raises `AssertionError` with the seed."""
        for told in self.calls:
            problem = self._problem(told)
            assert not problem, f"seed {self.seed}: {told.what}: {problem} ({told.error!r})"

    def _problem(self, told: Judged) -> str:
        times = len(told.applied)
        if told.outcome == "applied" and told.sent and not (times or told.idle):
            return "it was told a success that it did not have"
        if told.outcome == "failed" and times:
            return f"it was told a failure and was applied {times} times"
        if told.outcome == "failed" and isinstance(told.error, ConditionFailed) and not told.refused:
            return "it was told a conflict that it did not have"
        if told.outcome == "unknown" and not told.uncertain:
            return "it was told that nobody knows, though each attempt was answered"
        if told.exact and times > 1 and not self._deleted_between(told):
            return f"it was applied {times} times"
        return ""

    def _deleted_between(self, told: Judged) -> bool:
        """Whether the row was deleted between two changes of one call: then the second met a row that was made anew."""
        first, last = told.clock[0], told.clock[-1]
        return any(first <= at < last for deletions in self.memory.deletions.values() for at in deletions)


def _uncertain(error: WriteOutcomeUnknown) -> bool:
    return any(attempt.outcome != "refused" for attempt in error.history)


class SimPort:
    """Sends through the imagined network. It retries as the direct transport does, on the virtual clock.

    Attributes:
        write: the call that is being made.
    """

    settings = None

    def __init__(self, world: World) -> None:
        self.world = world
        self.write: Write = Write("none")

    async def send(self, request: WireRequest, table: str) -> Answer:
        """Send a request, again where its answer does not come."""
        call = Call(request.operation)
        wire = request.to_wire(table)
        number = 0
        while True:
            number += 1
            call.open()
            self.write.sent += 1
            try:
                await pause(random.random() * 0.01)
            except KeyboardInterrupt as stopped:
                attach_history(stopped, call.attempts)
                if random.random() < 0.5:
                    self._put_off(call.operation, wire)  # it is on its way already
                raise
            ended = self._arrive(call, wire)
            try:
                await pause(random.random() * 0.01)
            except KeyboardInterrupt as stopped:
                attach_history(stopped, call.attempts)
                raise
            if isinstance(ended, dict):
                return Answer(ended, tuple(call.attempts))
            error, again = ended
            if not again or number == ATTEMPTS:
                raise error()
            await pause(random.random() * 0.025 * 2 ** (number - 1))

    def _arrive(self, call: Call, wire: dict[str, Any]) -> dict[str, Any] | tuple[Callable[[], Exception], bool]:
        """What becomes of one attempt: the answer's body, or an error and whether to try again."""
        fault = self.world.draw()
        before = _BEFORE.get(fault)
        if before is not None:
            return self._broken(call, before)
        if fault == "late":
            self._put_off(call.operation, wire)
            return self._answered(call, 500, {"Error": {"Code": "InternalServerError"}})
        if fault in ("500", "throttled"):
            code = "InternalServerError" if fault == "500" else "ThrottlingException"
            return self._answered(call, 500 if fault == "500" else 400, {"Error": {"Code": code}})
        if fault == "portal":
            call.problem = "NotDynamoDB"
            call.close(*classify_answer(200, "", genuine=False))
            return (lambda: invalid_response("NotDynamoDB", call.operation, call.attempts)), False
        return self._served(call, wire, fault)

    def _served(
        self, call: Call, wire: dict[str, Any], fault: str
    ) -> dict[str, Any] | tuple[Callable[[], Exception], bool]:
        left: dict[str, Any] = {}
        if fault == "left" and call.operation == "BatchWriteItem":
            wire, left = _half(wire)
        try:
            body = self.world.memory.handle(call.operation, wire, self.write)
        except Refused as refused:
            if fault in ("lost", "lost 500"):
                return self._broken(call, _CLOSED)
            response = {"Error": {"Code": refused.code, "Message": "simulated"}, **refused.fields}
            return self._answered(call, 400, response)
        if fault == "lost":
            return self._broken(call, _TIMEOUT if random.random() < 0.5 else _CLOSED)
        if fault == "lost 500":
            return self._answered(call, 500, {"Error": {"Code": "InternalServerError"}})
        outcome, reason = classify_answer(200, "", genuine=True)
        call.close(outcome, reason)
        if fault == "checksum":
            repeat = call.operation not in ONCE
            return (lambda: invalid_response("ChecksumMismatch", call.operation, call.attempts)), repeat
        return {**body, "UnprocessedItems": left} if left else body

    def _put_off(self, operation: str, wire: dict[str, Any]) -> None:
        """Carry a request out later. A transaction that is being worked on is known by its token until then."""
        memory, write = self.world.memory, self.write
        token = wire.get("ClientRequestToken")
        if token in memory.tokens or token in memory.busy:
            return

        def carry_out() -> None:
            memory.busy.discard(token)
            with contextlib.suppress(Refused):
                memory.handle(operation, wire, write)

        if token is not None:
            memory.busy.add(token)
        self.world.later(random.random() * 0.2, carry_out)

    @staticmethod
    def _broken(call: Call, error: Exception) -> tuple[Callable[[], Exception], bool]:
        call.close(*classify_exception(error))
        return (lambda: map_error(error, call.operation, call.attempts)), True

    @staticmethod
    def _answered(call: Call, status: int, response: dict[str, Any]) -> tuple[Callable[[], Exception], bool]:
        code = response["Error"]["Code"]
        call.close(*classify_answer(status, code, genuine=True))
        response["ResponseMetadata"] = {"HTTPStatusCode": status}
        again = is_retryable(status, code)
        return (lambda: error_of_response(response, call.operation, call.attempts)), again

    async def sleep(self, seconds: float) -> None:
        """Pause on the virtual clock."""
        await pause(seconds)

    async def gather(self, calls: list[Awaitable[T]], limit: int) -> list[T]:
        """One after the other."""
        return [await call for call in calls]

    async def wait(self, future: Any) -> Any:
        """Wait for what another client does."""
        while not future.done():
            await pause(0.001)
        return future.result()


def _half(wire: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A batch in two parts, each row by chance in one: what is written, and what is given back unprocessed."""
    ((table, requests),) = wire["RequestItems"].items()
    left = [request for request in requests if random.random() < 0.5]
    done = [request for request in requests if request not in left]
    return {"RequestItems": {table: done}}, ({table: left} if left else {})


_BEFORE = {"never came": _CLOSED, "unconnected": _UNCONNECTED}
