"""What the clients of a simulation do: programs that write the same few rows, each by its seed."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from typing import Any

from tablekit import ServiceError, TransactionCancelled, VersionConflict
from tablekit.operations import verbs
from tablekit.operations.batch_write import Batching, write_all
from tablekit.operations.steps import update_step
from tablekit.operations.transact import Transacting
from tablekit.operations.update import Update
from tablekit.patterns import reading, writing
from tests.faults.engine import Write
from tests.faults.models import Doc, Flags, Hot, Note, User, app
from tests.faults.simulation import HARD, MILD, Judged, SimPort, World

__all__ = ["PROGRAMS", "hot_row"]


def entity_of(cls: Any, item: dict[str, Any] | None) -> Any:
    """What a reader has of a row."""
    return None if item is None else cls.from_item(item)


# A hot row ----------------------------------------------------------------------------------------------------


def hot_row(seed: int, saves: int = 1) -> World:
    """Writers that read a row with a ring of markers and save it, again with what a conflict shows them."""
    world = World(seed, MILD)
    key = Hot.key(name="h").item
    first = Hot(name="h").to_item()

    async def writer() -> None:
        session = world.client()
        entity = entity_of(Hot, world.memory.find(key))
        for _ in range(saves):
            base = entity.revision
            entity.n += 1
            told, _ = await world.call(session, "save of a hot row", verbs.save(session, entity), exact=True)
            check_version(world, told, base, entity)
            stored = told.error.stored if isinstance(told.error, VersionConflict) else None
            if told.outcome != "applied":
                entity = stored or entity_of(Hot, world.memory.find(key))

    world.memory.rows["t", "HOT#h", "HOT"] = {**first, "_w": {"L": [{"S": "first"}]}}
    for _ in range(3):
        world.start(writer())
    world.run()
    row = world.memory.find(key)
    done = sum(len(told.applied) for told in world.calls)
    assert row is not None
    assert (row["n"]["N"], row["revision"]["N"]) == (str(done), str(1 + done)), f"seed {seed}: a write was lost"
    return world


def check_version(world: World, told: Judged, base: int | None, entity: Any) -> None:
    """A versioned write goes from the version that was read to the next one, and the entity says so."""
    for old, new in told.applied:
        before = 0 if old is None else int(old["revision"]["N"])
        after = None if new is None else int(new["revision"]["N"])
        assert before == (base or 0), f"seed {world.seed}: {told.what} wrote over version {before}, not {base}"
        assert after in (None, before + 1), f"seed {world.seed}: {told.what} made version {after} of {before}"
    if told.outcome == "applied" and told.applied[-1][1] is not None:
        written = told.applied[-1][1]
        assert written is not None
        assert str(entity.revision) == written["revision"]["N"], f"seed {world.seed}: {told.what} tells another version"
        assert str(entity.n) == written["n"]["N"], f"seed {world.seed}: {told.what} tells another value"


# Versioned rows -----------------------------------------------------------------------------------------------


DOC = Doc.key(name="d")

ON_A_DOC: list[tuple[int, str, Callable[[Any, Any], Any]]] = [
    (45, "save", lambda s, entity: verbs.save(s, changed(entity))),
    (10, "save with a condition", lambda s, entity: verbs.save(s, changed(entity), condition=Doc.n < 2)),
    (10, "put", lambda s, entity: verbs.put(s, changed(entity))),
    (10, "update through the entity", lambda s, entity: verbs.update(s, entity, Doc.n.add(1))),
    (8, "update of a version", lambda s, entity: verbs.update_key(s, DOC, Doc.n.add(1), version=entity.revision)),
    (7, "add once", lambda s, entity: verbs.update_key(s, DOC, Doc.n.add(1), once=True)),
    (5, "add with a condition", lambda s, entity: verbs.update_key(s, DOC, Doc.n.add(1), condition=Doc.n < 3)),
    (5, "delete", verbs.delete),
]
"""What is done with a versioned row, each in so many of a hundred calls."""

DOC_DECK = [(what, work) for weight, what, work in ON_A_DOC for _ in range(weight)]


def versioned(seed: int) -> World:
    """Every verb on one versioned row, deletions and late answers among them."""
    world = World(seed, HARD, interrupts=0.01)

    async def client() -> None:
        session = world.client()
        for _ in range(random.randint(1, 2)):
            entity = entity_of(Doc, world.memory.find(DOC.item))
            if entity is None:
                once = random.random() < 0.3
                work = verbs.create(session, Doc(name="d"), once=once)
                await world.call(session, "create once" if once else "create", work, exact=True)
                continue
            what, make = random.choice(DOC_DECK)
            base = entity.revision
            told, _ = await world.call(session, what, make(session, entity), exact=what != "add with a condition")
            # It checks no version: it may be applied twice, and then nobody is told that it was a success.
            told.exact = told.exact or told.outcome == "applied"
            if what == "save":
                check_version(world, told, base, entity)

    if random.random() < 0.8:
        world.memory.rows["t", "DOC#d", "DOC"] = {**Doc(name="d").to_item(), "_w": {"S": "first"}}
    for _ in range(3):
        world.start(client())
    world.run()
    return world


def changed(entity: Any) -> Any:
    """The entity, one further."""
    entity.n += 1
    return entity


# Rows without a version ---------------------------------------------------------------------------------------


NOTE = Note.key(name="n", part="0")

ON_A_NOTE: list[tuple[str, bool, Callable[[Any], Any]]] = [
    ("create", False, lambda s: verbs.create(s, Note(name="n"))),
    ("create once", True, lambda s: verbs.create(s, Note(name="n"), once=True)),
    ("put", False, lambda s: verbs.put(s, Note(name="n", n=5))),
    ("put with a condition", False, lambda s: verbs.put(s, Note(name="n", n=7), condition=Note.n < 6)),
    ("set", False, lambda s: verbs.update_key(s, NOTE, Note.n.set(3))),
    ("set with a condition", False, lambda s: verbs.update_key(s, NOTE, Note.n.set(3), condition=Note.n != 3)),
    ("add", True, lambda s: verbs.update_key(s, NOTE, Note.n.add(1), upsert=True)),
    ("append", True, lambda s: verbs.update_key(s, NOTE, Note.lines.append(["x"]))),
    ("add once", True, lambda s: verbs.update_key(s, NOTE, Note.n.add(1), once=True, upsert=True)),
    ("add to a set", False, lambda s: verbs.update_key(s, NOTE, Note.tags.add({"x"}))),
    ("old row", False, lambda s: verbs.update_key(s, NOTE, Note.n.set(4), returning="old")),
    ("delete", False, lambda s: verbs.delete_key(s, NOTE)),
    ("delete with a condition", False, lambda s: verbs.delete_key(s, NOTE, condition=Note.n > 1)),
    ("deleted row", False, lambda s: verbs.delete_key(s, NOTE, returning="old")),
]
"""What is done with a row without a version, and whether it adds up or is promised to happen once."""


def plain(seed: int) -> World:
    """Every verb on one row without a version."""
    world = World(seed, HARD)

    async def client() -> None:
        session = world.client()
        for _ in range(random.randint(1, 2)):
            what, exact, work = random.choice(ON_A_NOTE)
            told, result = await world.call(session, what, work(session), exact=False)
            # What adds up may be applied twice, and then nobody is told that it was a success.
            if exact and told.outcome == "applied":
                told.exact = True
            if what.endswith(" row") and told.outcome == "applied" and told.applied:
                assert len(told.applied) == 1, f"seed {seed}: {what} was told of two old rows"
                old = told.applied[0][0]
                assert (result is None) == (old is None), f"seed {seed}: {what} was told another old row"

    if random.random() < 0.7:
        world.memory.rows["t", "NOTE#n", "NOTE#0"] = Note(name="n").to_item()
    for _ in range(3):
        world.start(client())
    world.run()
    return world


# Transactions -------------------------------------------------------------------------------------------------


def transfers(seed: int) -> World:
    """Amounts that go from one row to another, some interrupted and resumed: the sum stays what it was."""
    world = World(seed, HARD, interrupts=0.03)
    names = ("a", "b", "c")
    for name in names:
        world.memory.rows["t", f"NOTE#{name}", "NOTE#0"] = Note(name=name, n=2).to_item()

    async def client() -> None:
        session = world.client()
        for _ in range(random.randint(1, 2)):
            source, target = random.sample(names, 2)
            tx = transfer(session, source, target)
            told, _ = await world.call(session, "transfer", tx.commit(), exact=True)
            while tx.state == "unknown" and random.random() < 0.8:
                await world.resume(session, told, tx.resume())
            if told.outcome == "failed" and isinstance(told.error, TransactionCancelled):
                assert any(reason.code for reason in told.error.reasons), f"seed {seed}: cancelled without a reason"

    for _ in range(3):
        world.start(client())
    world.run()
    rows = [world.memory.find(Note.key(name=name, part="0").item) for name in names]
    assert sum(int(row["n"]["N"]) for row in rows if row is not None) == 6, f"seed {seed}: money was made or lost"
    for told in world.calls:
        assert len(told.applied) in (0, 2), f"seed {seed}: a transfer was applied in part or twice"
        # Two rows change in one transaction: that is once.
        del told.applied[1:2], told.clock[1:2]
    return world


def transfer(session: Any, source: str, target: str) -> Transacting:
    """A transaction that moves one unit, if there is one."""
    tx = Transacting(session, lambda _: session, retry_conflicts=2)
    now = session.now()
    taken = Update([Note.n.add(-1)], condition=Note.n > 0, returning=None)
    given = Update([Note.n.add(1)], returning=None)
    for name, update in ((source, taken), (target, given)):
        key = Note.key(name=name, part="0")
        tx.add(update_step(Note.__schema__, key.item, key.values, update, now, target=key))
    return tx


# Unique values ------------------------------------------------------------------------------------------------


def unique_values(seed: int) -> World:
    """Users who claim, change and give back a few addresses: a guard row for each address that is held."""
    world = World(seed, HARD, interrupts=0.01)
    emails = ("x", "y", None)

    async def client(name: str) -> None:
        session = world.client()
        for _ in range(random.randint(1, 2)):
            row = world.memory.find(User.key(name=name).item)
            user = entity_of(User, row)
            if user is None:
                user = User(name=name, email=random.choice(emails))
                await world.call(session, "create of a user", verbs.create(session, user), exact=False)
            elif random.random() < 0.3:
                work = verbs.update_key(session, User.key(name=name), User.email.set(random.choice(emails)))
                await world.call(session, "update of a user", work, exact=False)
            elif random.random() < 0.7:
                user.email = random.choice(emails)
                await world.call(session, "save of a user", verbs.save(session, user), exact=False)
            else:
                await world.call(session, "delete of a user", verbs.delete(session, user), exact=False)

    for number in range(3):
        world.start(client("one" if number < 2 else "two"))
    world.run()
    check_guards(world)
    return world


def check_guards(world: World) -> None:
    """Each address of a row has the row's guard, and no guard stands for an address that nobody has."""
    held = {
        row["email"]["S"]: row["PK"]["S"]
        for row in world.memory.rows.values()
        if row["EntityType"]["S"] == "User" and "email" in row
    }
    guards = {
        row["PK"]["S"].rpartition("=")[2]: row["_owner"]["M"]["PK"]["S"]
        for row in world.memory.rows.values()
        if "_owner" in row
    }
    assert guards == held, f"seed {world.seed}: guards {guards} and rows {held}"


# Batches ------------------------------------------------------------------------------------------------------


def batches(seed: int) -> World:
    """Rows in batches: each is told written, unprocessed or unknown, and is what it was told to be."""
    world = World(seed, {**HARD, "left": 30 if seed % 2 else 74})
    count = random.randint(1, 6)
    rows = [Note(name="batch", part=str(number), n=number) for number in range(count)]

    async def client() -> None:
        session = world.client()
        batching = Batching(session, lambda _: session)
        told, _ = await world.call(session, "batch", write_all(batching, rows, ()), exact=False)
        error: Any = told.error
        left = [] if error is None else [row.part for row in error.unprocessed]
        unknown = [] if error is None else [row.part for row in error.unknown]
        stored = [key[2][5:] for key in world.memory.rows]
        written = [row.part for row in rows if row.part not in left and row.part not in unknown]
        assert len({*left, *unknown}) == len(left) + len(unknown), f"seed {seed}: a row was told twice"
        assert set(written) <= set(stored), f"seed {seed}: a row that was told written is not there"
        assert not set(left) & set(stored), f"seed {seed}: a row that was told unprocessed is there"
        told.outcome = "applied" if written else "unknown"
        told.uncertain = True

    world.start(client())
    world.run()
    return world


# A singleton -----------------------------------------------------------------------------------------------


def flags(seed: int) -> World:
    """Clients of one process edit a singleton and read it from the cache that they share, beside another process."""
    world = World(seed, HARD)
    known = [0]  # the newest version that this process was told it wrote

    def change(values: Flags) -> None:
        values.a += 1

    async def client() -> None:
        session = world.client()
        port: Any = session.port
        for _ in range(random.randint(1, 2)):
            if random.random() < 0.5:
                told, found = await world.call(session, "edit", writing.edit(session, Flags, change), exact=True)
                if told.outcome == "applied" and found is not None:
                    assert str(found.a) == told.applied[-1][1]["a"]["N"], f"seed {seed}: edit tells another value"
                    known[0] = max(known[0], found.revision)
            else:
                port.write = Write("a read")
                least = known[0]
                with contextlib.suppress(ServiceError):
                    found = await reading.get(session, Flags)
                    fresh = found.source == "default" or found.revision >= least
                    assert fresh, f"seed {seed}: a read gave version {found.revision} after {least} was written"

    async def stranger() -> None:
        row = world.memory.find(FLAGS)
        world.memory.rows[FLAGS_ROW] = {**row, "b": {"N": "7"}, "revision": _next(row), "_w": {"S": "stranger"}}

    world.memory.rows[FLAGS_ROW] = {**FLAGS, "EntityType": {"S": "Flags"}, "a": {"N": "0"}, "revision": {"N": "1"}}
    with app.bound(name="t", port=SimPort(world)):
        for _ in range(3):
            world.start(client())
        world.start(stranger())
        world.run()
    edits = sum(len(told.applied) for told in world.calls)
    assert world.memory.rows[FLAGS_ROW]["a"]["N"] == str(edits), f"seed {seed}: an edit was lost or doubled"
    return world


FLAGS = Flags.__schema__.key_of({})
FLAGS_ROW = ("t", "FLAGS", "FLAGS")


def _next(row: Any) -> dict[str, str]:
    return {"N": str(int(row["revision"]["N"]) + 1)}


PROGRAMS = {
    "hot row": hot_row,
    "versioned": versioned,
    "plain": plain,
    "transfers": transfers,
    "unique values": unique_values,
    "batches": batches,
    "flags": flags,
}
"""What may be simulated, by name."""


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](int(sys.argv[2])).check()
