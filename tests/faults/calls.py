"""Every operation as it is tried through the fault proxy: what there is before, the call, and what may be after it.

A call is told as success, failure or unknown, and its rows are read past the proxy. After a success they are as the
call leaves them, after a failure as before, after an unknown one of both; a row that is half of either, or twice, is
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tablekit import BatchIncomplete, Capabilities, TablekitError
from tablekit._types import Item
from tablekit.operations import verbs
from tablekit.operations.driver import run
from tablekit.operations.session import Session
from tests.faults.engine import Memory, MemoryPort
from tests.faults.models import Doc, Flags, Note, User, Visits, app

__all__ = ["CALLS", "Call", "Told"]

ROWS = 6
EMPTY = ""


@dataclass
class Told:
    """What the caller was told. Attributes: `outcome`: "success", "failed" or "unknown". `result`, `error`."""

    outcome: str
    result: Any = None
    error: TablekitError | None = None


Rows = dict[str, Item]
"""What is stored under some keys, read past the proxy: by a short name for each."""


@dataclass(frozen=True)
class Call:
    """One operation.

    Attributes:
        name: in words. before: the rows that are stored before the call of this name. work: makes the call. keys: of
            the rows that are read afterwards, by a short name for each. judge: what is wrong, or nothing; given the
            rows, what was told, and the name. settled: makes the call again, after which it has happened once.
    """

    name: str
    before: Callable[[str], Sequence[Item]]
    work: Callable[[str], Any]
    keys: Callable[[str], dict[str, Item]]
    judge: Callable[[Rows, Told, str], str]
    settled: Callable[[str], Any] | None = None


def _between(before: Any, after: Any, read: Callable[[Rows], Any]) -> Callable[[Rows, Told, str], str]:
    """What was read is the one or the other, by what was told."""

    def judge(rows: Rows, told: Told, name: str) -> str:
        found = read(rows)
        allowed = {"success": (after,), "failed": (before,), "unknown": (before, after)}[told.outcome]
        return EMPTY if found in allowed else f"the table has {found!r}, which is not in {allowed!r}"

    return judge


def _n(rows: Rows, key: str = "row") -> Any:
    return None if key not in rows else rows[key].get("n", {}).get("N")


def _version(rows: Rows) -> Any:
    return None if "row" not in rows else (rows["row"]["n"]["N"], rows["row"]["revision"]["N"])


def _doc(name: str) -> Item:
    return {**Doc(name=name, n=1).to_item(), "_w": {"S": "loaded"}}


def _note(name: str) -> Item:
    return Note(name=name, n=1).to_item()


def _notes(name: str) -> list[Note]:
    return [Note(name=name, part=str(number), n=number) for number in range(ROWS)]


def _loaded(name: str) -> Doc:
    doc = Doc.from_item(_doc(name))
    doc.n = 2
    return doc


def _the_doc(name: str) -> dict[str, Item]:
    return {"row": Doc.key(name=name).item}


def _the_note(name: str) -> dict[str, Item]:
    return {"row": Note.key(name=name, part="0").item}


def _the_notes(name: str) -> dict[str, Item]:
    return {str(number): Note.key(name=name, part=str(number)).item for number in range(ROWS)}


def _nothing(_name: str) -> list[Item]:
    return []


# Reads --------------------------------------------------------------------------------------------------------


def _read_is_whole(rows: Rows, told: Told, name: str) -> str:
    """A read gives all that there is, each row once, or an error; never less."""
    if told.outcome == "unknown":
        return "a read has no unknown outcome"
    if told.outcome == "failed":
        return EMPTY
    found = sorted((note.part, note.n) for note in told.result)
    return EMPTY if found == [(str(number), number) for number in range(ROWS)] else f"the read gave {found!r}"


def _read_is_right(rows: Rows, told: Told, name: str) -> str:
    if told.outcome == "unknown":
        return "a read has no unknown outcome"
    wrong = told.outcome == "success" and (told.result is None or told.result.n != 1)
    return f"the read gave {told.result!r}" if wrong else EMPTY


def _pages(name: str) -> list[Note]:
    return [note for page in Note.query(name=name).page_size(2).pages(2) for note in page]


def _stored_notes(name: str) -> list[Item]:
    return [note.to_item() for note in _notes(name)]


# Many rows ----------------------------------------------------------------------------------------------------


def _batch(rows: Rows, told: Told, name: str) -> str:
    """Each row is told once, and is what it was told to be."""
    error = told.error
    if error is None:
        return EMPTY if len(rows) == ROWS else f"told success, and only {sorted(rows)} are there"
    if not isinstance(error, BatchIncomplete):
        return EMPTY if not rows or told.outcome == "unknown" else f"told {error!r}, and {sorted(rows)} are there"
    left = [note.part for note in error.unprocessed]
    unknown = [note.part for note in error.unknown]
    written = set(_the_notes(name)) - set(left) - set(unknown)
    if len({*left, *unknown}) != len(left) + len(unknown):
        return f"told twice: {left} and {unknown}"
    if not written <= rows.keys() or rows.keys() & set(left):
        return f"{sorted(rows)} are there, and {sorted(written)} were told written, {left} not, {unknown} unknown"
    return EMPTY


def _commit(name: str) -> None:
    with app.transaction(retry_conflicts=2) as tx:
        tx.save(_loaded(name))
        tx.create(Note(name=name, n=7))


def _both_rows(name: str) -> dict[str, Item]:
    return {**_the_doc(name), "note": Note.key(name=name, part="0").item}


def _transaction_of(rows: Rows) -> Any:
    return (_version(rows), _n(rows, "note"))


# Unique values ------------------------------------------------------------------------------------------------


def _user(name: str) -> User:
    return User(name=name, email=f"{name}@old")


def _user_rows(name: str) -> list[Item]:
    """A user and the guard row of the address, as the library writes them."""
    memory = Memory()
    run(verbs.create(Session(app, MemoryPort(memory), "t", Capabilities()), _user(name)))
    return list(memory.rows.values())


def _rename(name: str) -> None:
    user = next(User.from_item(row) for row in _user_rows(name) if row["EntityType"] == {"S": "User"})
    user.email = f"{name}@new"
    user.save()


def _user_and_guards(name: str) -> dict[str, Item]:
    keys = {"row": User.key(name=name).item}
    for which in ("old", "new"):
        found = [row for row in _user_rows(name) if "_owner" in row]
        pk = found[0]["PK"]["S"].replace("@old", f"@{which}")
        keys[which] = {"PK": {"S": pk}, "SK": found[0]["SK"]}
    return keys


def _held(rows: Rows) -> Any:
    """The user's address, and which guard rows there are."""
    email = rows["row"]["email"]["S"].partition("@")[2] if "row" in rows else None
    return (email, "old" in rows, "new" in rows)


# Flags and counters -------------------------------------------------------------------------------------------


def _edit(_name: str) -> Any:
    def change(flags: Flags) -> None:
        flags.a += 1

    return Flags.edit(change)


def _flags(_name: str) -> list[Item]:
    numbers: Item = {"a": {"N": "1"}, "b": {"N": "5"}, "revision": {"N": "1"}}
    return [{**Flags.__schema__.key_of({}), "EntityType": {"S": "Flags"}, "_w": {"S": "loaded"}, **numbers}]


def _flags_row(_name: str) -> dict[str, Item]:
    return {"row": {"PK": {"S": "FLAGS"}, "SK": {"S": "FLAGS"}}}


def _flags_of(rows: Rows) -> Any:
    row = rows.get("row", {})
    return (row["a"]["N"], row["b"]["N"], row["revision"]["N"])


def _shards(name: str) -> dict[str, Item]:
    return {str(shard): Visits.__schema__.key_of({"page": name, "shard": shard}) for shard in range(3)}


def _counted(rows: Rows) -> Any:
    return sum(int(row["count"]["N"]) for row in rows.values())


def _plain_counting(rows: Rows, told: Told, name: str) -> str:
    """Told success it counted once, told failure not at all; unknown, nobody knows."""
    count = _counted(rows)
    wrong = {"success": count != 1, "failed": count != 0, "unknown": False}[told.outcome]
    return f"it counted {count} times" if wrong else EMPTY


def _adding(rows: Rows, told: Told, name: str) -> str:
    added = int(_n(rows)) - 1
    wrong = {"success": added != 1, "failed": added != 0, "unknown": False}[told.outcome]
    return f"it added {added} times" if wrong else EMPTY


CALLS = (
    Call("get", lambda n: [_doc(n)], lambda n: Doc.get(name=n), _the_doc, _read_is_right),
    Call("query", _stored_notes, lambda n: Note.query(name=n).all(), _the_notes, _read_is_whole),
    Call("query pages", _stored_notes, _pages, _the_notes, _read_is_whole),
    Call(
        "batch_get",
        _stored_notes,
        lambda n: app.batch_get([Note.key(name=n, part=str(part)) for part in range(ROWS)]),
        _the_notes,
        _read_is_whole,
    ),
    Call(
        "transact_get",
        _stored_notes,
        lambda n: app.transact_get([Note.key(name=n, part=str(part)) for part in range(ROWS)]),
        _the_notes,
        _read_is_whole,
    ),
    Call("put", _nothing, lambda n: Note(name=n, n=2).put(), _the_note, _between(None, "2", _n)),
    Call("create", _nothing, lambda n: Doc(name=n).create(), _the_doc, _between(None, ("0", "1"), _version)),
    Call(
        "create once",
        _nothing,
        lambda n: Doc(name=n).create(once=True),
        _the_doc,
        _between(None, ("0", "1"), _version),
    ),
    Call(
        "save", lambda n: [_doc(n)], lambda n: _loaded(n).save(), _the_doc, _between(("1", "1"), ("2", "2"), _version)
    ),
    Call(
        "update of a version",
        lambda n: [_doc(n)],
        lambda n: Doc.key(name=n).update(Doc.n.add(1), version=1),
        _the_doc,
        _between(("1", "1"), ("2", "2"), _version),
    ),
    Call("add", lambda n: [_note(n)], lambda n: Note.key(name=n, part="0").update(Note.n.add(1)), _the_note, _adding),
    Call(
        "add once",
        lambda n: [_note(n)],
        lambda n: Note.key(name=n, part="0").update(Note.n.add(1), once=True),
        _the_note,
        _between("1", "2", _n),
    ),
    Call("delete", lambda n: [_doc(n)], lambda n: _loaded(n).delete(), _the_doc, _between("1", None, _n)),
    Call("batch_write", _nothing, lambda n: app.batch_write(puts=_notes(n)), _the_notes, _batch),
    Call(
        "transaction",
        lambda n: [_doc(n)],
        _commit,
        _both_rows,
        _between((("1", "1"), None), (("2", "2"), "7"), _transaction_of),
    ),
    Call(
        "create, unique",
        _nothing,
        lambda n: _user(n).create(),
        _user_and_guards,
        _between((None, False, False), ("old", True, False), _held),
    ),
    Call(
        "rename, unique",
        _user_rows,
        _rename,
        _user_and_guards,
        _between(("old", True, False), ("new", False, True), _held),
    ),
    Call("singleton edit", _flags, _edit, _flags_row, _between(("1", "5", "1"), ("2", "5", "2"), _flags_of)),
    Call("counter", _nothing, lambda n: Visits.add(page=n), _shards, _plain_counting),
    Call(
        "counter, once",
        _nothing,
        lambda n: Visits.add(page=n, operation_id="a"),
        _shards,
        _between(0, 1, _counted),
        settled=lambda n: Visits.add(page=n, operation_id="a"),
    ),
)
"""What is tried. A scan reads what all of them left, and is tried by itself."""
