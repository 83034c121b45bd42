"""Lost answers, written out: every write x every fault x the attempt that it meets x what a rival does meanwhile.

What is to be told stands in `expected`, the rule of what counts as evidence. It is said once more here, in the words
of the promise and not of the library, and is asked of what the engine in memory saw.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from tablekit import Capabilities, UniqueViolation
from tablekit._types import Item
from tablekit.operations import verbs
from tablekit.operations.driver import run
from tablekit.operations.outcome import markers_in
from tablekit.operations.session import Session
from tests.faults.engine import Memory, MemoryPort, Refused, Write
from tests.faults.models import Doc, Hot, Note, User, app
from tests.support.stub import Reply, bad_checksum, closed, cut, error, lost, ok, page, unconnected

__all__ = ["FAULTS", "OPERATIONS", "RIVALS", "Case", "Fault", "Operation", "Script", "cases", "expected"]

ATTEMPTS = 4


# What goes wrong ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What becomes of one attempt.

    Attributes:
        applied: whether the engine carries the request out. seen: what its sender can know: "applied", "refused" or
            "maybe". reply: what is answered. again: whether it is sent again.
    """

    name: str
    applied: bool
    seen: str
    reply: Callable[[], Reply]
    again: bool = True


FAULTS = (
    Fault("timeout after", applied=True, seen="maybe", reply=lost),
    Fault("closed after", applied=True, seen="maybe", reply=closed),
    Fault("500 after", applied=True, seen="maybe", reply=lambda: error("InternalServerError", 500)),
    Fault("503 after", applied=True, seen="maybe", reply=lambda: page(503, "<html>busy</html>")),
    Fault("portal after", applied=True, seen="maybe", reply=page, again=False),
    Fault(
        "cut", applied=True, seen="applied", reply=lambda: cut({"ConsumedCapacity": {"TableName": "t"}}), again=False
    ),
    Fault("checksum", applied=True, seen="applied", reply=lambda: bad_checksum({}), again=False),
    Fault("timeout before", applied=False, seen="maybe", reply=lost),
    Fault("closed before", applied=False, seen="maybe", reply=closed),
    Fault("500 before", applied=False, seen="maybe", reply=lambda: error("InternalServerError", 500)),
    Fault("throttled", applied=False, seen="refused", reply=lambda: error("ProvisionedThroughputExceededException")),
    Fault("unconnected", applied=False, seen="refused", reply=unconnected),
)


# What is written ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """One kind of write.

    Attributes:
        rows: what is stored before. work: makes the call. row: the key of the row whose evidence counts. rival: of
            what a rival makes a row, where there is none.
        markers: whether it carries a marker. base: whether it knows the marker that was there before. version: the
            version that it asks for without having seen a marker. adds: doing it twice is doing it twice.
        token: DynamoDB knows it by its token. old: it is asked for the row that it replaces.
    """

    name: str
    rows: tuple[Item, ...]
    work: Callable[[], Any]
    row: Item
    rival: tuple[Any, dict[str, str]]
    markers: bool = False
    base: bool = False
    version: int | None = None
    adds: bool = False
    token: bool = False
    old: bool = False


def _stored(entity: Any, marker: Any = None) -> Item:
    return {**entity.to_item(), **({} if marker is None else {"_w": marker})}


DOC = _stored(Doc(name="d", n=1), {"S": "loaded"})
HOT = _stored(Hot(name="h", n=1), {"L": [{"S": "loaded"}]})
NOTE = _stored(Note(name="n", n=1))
DOC_KEY, HOT_KEY, NOTE_KEY = Doc.key(name="d"), Hot.key(name="h"), Note.key(name="n", part="0")
THE_DOC, THE_HOT, THE_NOTE = (Doc, {"name": "d"}), (Hot, {"name": "h"}), (Note, {"name": "n"})


def _doc() -> Doc:
    doc = Doc.from_item(DOC)
    doc.n = 2
    return doc


def _hot() -> Hot:
    hot = Hot.from_item(HOT)
    hot.n = 2
    return hot


def _commit() -> None:
    with app.transaction() as tx:
        tx.save(_doc())
        tx.put(Note(name="other"))


OPERATIONS = (
    Operation("create, versioned", (), lambda: Doc(name="d").create(), DOC_KEY.item, THE_DOC, markers=True),
    Operation("create, once", (), lambda: Doc(name="d").create(once=True), DOC_KEY.item, THE_DOC, token=True),
    Operation("create, no version", (), lambda: Note(name="n").create(), NOTE_KEY.item, THE_NOTE),
    Operation("save", (DOC,), lambda: _doc().save(), DOC_KEY.item, THE_DOC, markers=True, base=True),
    Operation("save on a ring", (HOT,), lambda: _hot().save(), HOT_KEY.item, THE_HOT, markers=True, base=True),
    Operation("put, versioned", (DOC,), lambda: _doc().put(), DOC_KEY.item, THE_DOC, markers=True, base=True),
    Operation("put", (NOTE,), lambda: Note(name="n", n=2).put(), NOTE_KEY.item, THE_NOTE),
    Operation(
        "put, condition", (NOTE,), lambda: Note(name="n", n=7).put(condition=Note.n < 2), NOTE_KEY.item, THE_NOTE
    ),
    Operation(
        "update of a version",
        (DOC,),
        lambda: DOC_KEY.update(Doc.n.add(1), version=1, returning=None),
        DOC_KEY.item,
        THE_DOC,
        markers=True,
        version=1,
    ),
    Operation(
        "update of an entity",
        (HOT,),
        lambda: Hot.from_item(HOT).update(Hot.n.add(1)),
        HOT_KEY.item,
        THE_HOT,
        markers=True,
        base=True,
    ),
    Operation("set", (NOTE,), lambda: NOTE_KEY.update(Note.n.set(2), returning=None), NOTE_KEY.item, THE_NOTE),
    Operation(
        "set, old row",
        (NOTE,),
        lambda: NOTE_KEY.update(Note.n.set(2), returning="old"),
        NOTE_KEY.item,
        THE_NOTE,
        old=True,
    ),
    Operation("add", (NOTE,), lambda: NOTE_KEY.update(Note.n.add(1)), NOTE_KEY.item, THE_NOTE, adds=True),
    Operation("append", (NOTE,), lambda: NOTE_KEY.update(Note.lines.append(["x"])), NOTE_KEY.item, THE_NOTE, adds=True),
    Operation(
        "add, versioned",
        (DOC,),
        lambda: DOC_KEY.update(Doc.n.add(1), condition=Doc.n < 2),
        DOC_KEY.item,
        THE_DOC,
        markers=True,
        adds=True,
    ),
    Operation(
        "add, once", (NOTE,), lambda: NOTE_KEY.update(Note.n.add(1), once=True), NOTE_KEY.item, THE_NOTE, token=True
    ),
    Operation("delete, versioned", (DOC,), lambda: _doc().delete(), DOC_KEY.item, THE_DOC, base=True),
    Operation("delete", (NOTE,), NOTE_KEY.delete, NOTE_KEY.item, THE_NOTE),
    Operation("delete, old row", (NOTE,), lambda: NOTE_KEY.delete(returning="old"), NOTE_KEY.item, THE_NOTE, old=True),
    Operation("delete, condition", (NOTE,), lambda: NOTE_KEY.delete(condition=Note.n == 1), NOTE_KEY.item, THE_NOTE),
    Operation("transaction", (DOC,), _commit, DOC_KEY.item, THE_DOC, token=True),
    Operation(
        "create, unique",
        (),
        lambda: User(name="u", email="x").create(),
        User.key(name="u").item,
        (User, {"name": "rival", "email": "x"}),
        token=True,
    ),
)

RIVALS = ("none", "writes", "deletes")


# One case -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One write, the fault that one of its attempts meets, and what a rival does right after it."""

    operation: Operation
    fault: Fault
    attempt: int
    rival: str

    def __str__(self) -> str:
        return f"{self.operation.name}; {self.fault.name} at attempt {self.attempt}; rival {self.rival}"


def cases(operation: Operation) -> Iterator[Case]:
    """All cases of one kind of write."""
    for fault, attempt, rival in product(FAULTS, range(1, ATTEMPTS + 1), RIVALS):
        yield Case(operation, fault, attempt, rival)


@dataclass
class Script:
    """DynamoDB for one case: carries requests out in memory, and meets one attempt with the fault.

    The attempts before it are throttled, those after it are served. Reads are served.

    Attributes:
        passed: for each attempt that was carried out, whether its condition held. found: the row that the last one
            met. marker: the marker that the write carried.
    """

    case: Case
    memory: Memory = field(default_factory=Memory)
    write: Write = field(default_factory=lambda: Write("the call"))
    attempts: int = 0
    passed: list[bool] = field(default_factory=list)
    found: Item | None = None
    marker: Any = None

    def __post_init__(self) -> None:
        for row in self.case.operation.rows:
            self.memory.rows["t", row["PK"]["S"], row["SK"]["S"]] = row

    def answer(self, operation: str, wire: dict[str, Any]) -> Reply:
        """The answer to one attempt."""
        if operation == "GetItem":
            return ok(self.memory.handle(operation, wire, Write("a read")))
        self.attempts += 1
        self.marker = self.marker or _marker(wire)
        if self.attempts < self.case.attempt:
            return error("ThrottlingException")
        if self.attempts > self.case.attempt:
            return self._serve(operation, wire)
        fault = self.case.fault
        if fault.applied:
            self._serve(operation, wire)
        self._rival()
        return fault.reply()

    def _serve(self, operation: str, wire: dict[str, Any]) -> Reply:
        self.found = self.memory.find(self.case.operation.row)
        try:
            body = self.memory.handle(operation, wire, self.write)
        except Refused as refused:
            self.passed.append(False)
            return error(refused.code, **refused.fields)
        self.passed.append(True)
        return ok(body)

    def _rival(self) -> None:
        """Writes or deletes the row, as another process that uses the library."""
        cls, values = self.case.operation.rival
        rivals = Session(app, MemoryPort(self.memory), "t", Capabilities())
        found = self.memory.find(self.case.operation.row)
        if self.case.rival == "writes" and (found is None or cls is User):
            _quietly(verbs.create(rivals, cls(**values, **({} if cls is User else {"n": 9}))))
        elif self.case.rival == "writes":
            there: Any = cls.from_item(found)
            there.n = 9
            _quietly(verbs.save(rivals, there))
        elif self.case.rival == "deletes" and found is not None:
            _quietly(verbs.delete(rivals, cls.from_item(found)))


def _quietly(work: Any) -> None:
    with contextlib.suppress(UniqueViolation):  # the value is taken
        run(work)


def _marker(wire: dict[str, Any]) -> Any:
    sent = wire.get("Item", {}).get("_w") or wire.get("ExpressionAttributeValues", {}).get(":marker")
    return next(iter(markers_in(sent)), None)


def expected(script: Script) -> str:
    """What the caller is to be told: "success", "failed" or "unknown"."""
    case, operation = script.case, script.case.operation
    at_the_end = case.attempt == ATTEMPTS or not case.fault.again
    if case.fault.seen == "applied":
        # DynamoDB's own 200 is success, whatever its body; the row it replaced was in that body.
        return "unknown" if operation.old else "success"
    if case.fault.seen == "refused":
        return "failed" if at_the_end or not script.passed[-1] else "success"
    if at_the_end:
        return "unknown"
    if script.passed[-1]:
        return "unknown" if operation.adds or operation.old else "success"
    return _by_evidence(script, operation)


def _by_evidence(script: Script, operation: Operation) -> str:
    """After an attempt that may have been applied, the next one failed its condition."""
    if operation.token:
        return "failed"
    if script.found is None:
        return "unknown"
    stored = markers_in(script.found.get("_w"))
    if operation.markers and script.marker in stored:
        # In these cases one attempt alone is unclear, so that also what adds up is there once.
        return "success"
    if operation.base and "loaded" in stored:
        return "failed"
    if operation.version is not None and script.found["revision"]["N"] == str(operation.version):
        return "failed"
    return "unknown"
