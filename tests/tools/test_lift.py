"""Lifting one type of an export into a table of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tablekit import Entity, Field, RequestError, Table, TableNotFound, unique, version
from tablekit.tools.export_source import ExportError
from tablekit.tools.lift import LiftReport, lift
from tablekit.tools.lift_rows import row_digest
from tablekit.tools.own_table import own_table_body
from tests.support.engines import Engine
from tests.support.exports import write_export
from tests.support.loop_port import LoopPort
from tests.support.tables import CAPABILITIES
from tests.support.transports import AWAITED, TRANSPORT
from tests.support.validation import RequestRecorder

ROOT = Path(__file__).parents[2]
source = Table("shop")


class Order(Entity, table=source, pk="C#{customer}", sk="ORDER#{number}", aliases=("Purchase",)):
    """What is lifted."""

    customer: Field[str]
    number: Field[str]
    total: Field[int]
    revision = version()


class Customer(Entity, table=source, pk="C#{customer}", sk="META"):
    """What stays; its name is unique."""

    customer: Field[str]
    name: Field[str]
    by_name = unique("name")


def order(number: int, **attributes: Any) -> dict[str, Any]:
    """An order as an export has it."""
    row = {"PK": {"S": "C#ann"}, "SK": {"S": f"ORDER#{number:03}"}, "EntityType": {"S": "Order"}}
    fields = {"customer": {"S": "ann"}, "number": {"S": f"{number:03}"}, "total": {"N": "12"}, "revision": {"N": "3"}}
    return {**row, **fields, **attributes}


OTHER = {"PK": {"S": "C#ann"}, "SK": {"S": "META"}, "EntityType": {"S": "Customer"}, "name": {"S": "Ann"}}
Lift = Callable[..., LiftReport]


@cache
def client_of(engine: Engine) -> Any:
    """A plain client of an engine: to make one takes longer than most of these tests."""
    return engine.client()


def connected(engine: Engine) -> Iterator[str]:
    """Connects the source to an engine, and gives a name for a target; a lift asks nothing of the source's table."""
    options: dict[str, Any] = {"transport": TRANSPORT, **engine.connect_options()}
    name = f"lift-{uuid.uuid4().hex[:12]}"
    port = LoopPort.of(**options) if AWAITED else None
    source.connect(name=name, capabilities=CAPABILITIES.get(engine.name), port=port, **options)
    yield f"{name}-orders"
    source.close()


def empty_table(engine: Engine) -> Iterator[str]:
    """The name of an empty table with the key of the source."""
    for name in connected(engine):
        client_of(engine).create_table(TableName=name, **own_table_body(source, None))
        # dynalite refuses writes for a moment.
        client_of(engine).get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        yield name
        client_of(engine).delete_table(TableName=name)


@pytest.fixture
def target(engine: Engine, recorder: RequestRecorder) -> Iterator[str]:
    """An empty table on each engine in turn."""
    yield from empty_table(engine)


@pytest.fixture
def full_target(ministack: Engine, recorder: RequestRecorder) -> Iterator[str]:
    """An empty table on ministack alone, for what no engine decides, or dynalite does not have."""
    yield from empty_table(ministack)


@pytest.fixture
def new_name(ministack: Engine, recorder: RequestRecorder) -> Iterator[str]:
    """The name of a table that is not there."""
    yield from connected(ministack)


def stored(engine: Engine, table: str) -> dict[str, dict[str, Any]]:
    """The rows of a table by their sort keys."""
    found = client_of(engine).scan(TableName=table, ConsistentRead=True)["Items"]
    return {row["SK"]["S"]: row for row in found}


def orders(path: Path, target: str, type: str = "Order", **options: Any) -> LiftReport:
    """A lift into a table without point-in-time recovery."""
    return lift(path, target, app=source, type=type, require_recovery=False, **options)


def test_the_rows_of_a_type_stand_in_their_own_table_as_they_are(tmp_path: Path, target: str, engine: Engine) -> None:
    """R52: with sets, bytes and every digit, aliases too; other types stay behind, and the checksums agree."""
    odd = {"tags": {"SS": ["b", "a"]}, "raw": {"B": "AP8="}, "big": {"N": "12345678901234567890123456789012345678"}}
    write_export(tmp_path, [[order(1, **odd), OTHER], [order(2), order(3, EntityType={"S": "Purchase"})]])

    report = orders(tmp_path, target)

    rows = stored(engine, target)
    assert (report.rows, report.written, report.found, report.matches) == (3, 3, 3, True)
    assert sorted(rows) == ["ORDER#001", "ORDER#002", "ORDER#003"]
    assert rows["ORDER#001"]["raw"] == {"B": b"\x00\xff"}
    assert rows["ORDER#001"]["big"] == odd["big"]


def test_a_row_that_the_target_has_is_never_overwritten(tmp_path: Path, target: str, engine: Engine) -> None:
    """R54: a newer row stays, is counted, and the comparison takes it as it is."""
    newer = order(1, total={"N": "99"}, revision={"N": "4"})
    client_of(engine).put_item(TableName=target, Item=newer)
    write_export(tmp_path, [[order(1), order(2)]])

    report = orders(tmp_path, target)

    assert (report.written, report.kept, report.matches) == (1, 1, True)
    assert stored(engine, target)["ORDER#001"]["total"] == {"N": "99"}


def test_a_second_run_writes_nothing(tmp_path: Path, target: str, engine: Engine) -> None:
    """What is there as it should be is present, whatever the spelling of its numbers."""
    write_export(tmp_path, [[order(1, total={"N": "1.20E+1"}), order(2, tags={"SS": ["b", "a"]})]])
    orders(tmp_path, target)

    again = orders(tmp_path, target)

    assert (again.written, again.present, again.kept, again.matches) == (0, 2, 0, True)


def test_an_older_row_is_replaced_where_that_was_said(tmp_path: Path, target: str, engine: Engine) -> None:
    """By the version of its class: a lower one gives way, a higher one and an equal one stay."""
    for number, revision in ((1, "2"), (2, "3"), (3, "4")):
        client_of(engine).put_item(TableName=target, Item=order(number, revision={"N": revision}, total={"N": "1"}))
    write_export(tmp_path, [[order(1), order(2), order(3)]])

    report = orders(tmp_path, target, replace_older=True)

    assert (report.written, report.kept, report.matches) == (1, 2, True)
    assert [row["total"]["N"] for _, row in sorted(stored(engine, target).items())] == ["12", "1", "1"]


def test_replacing_older_rows_needs_a_version(tmp_path: Path, full_target: str) -> None:
    """Without one nothing says which row is older."""
    write_export(tmp_path, [[OTHER]])

    with pytest.raises(RequestError, match="has no version"):
        orders(tmp_path, full_target, "Customer", replace_older=True)


def test_a_row_more_in_the_target_is_told(tmp_path: Path, full_target: str, ministack: Engine) -> None:
    """Counts and checksums differ from those of the export."""
    client_of(ministack).put_item(TableName=full_target, Item=order(9))
    write_export(tmp_path, [[order(1)]])

    report = orders(tmp_path, full_target)

    assert (report.found, report.matches) == (2, False)


def test_a_row_that_changed_behind_our_back_is_told(tmp_path: Path, full_target: str, ministack: Engine) -> None:
    """The count agrees, and the checksum does not."""
    write_export(tmp_path, [[order(1)]])
    client = client_of(ministack)

    def change(done: int, of: int) -> None:
        client.put_item(TableName=full_target, Item=order(1, total={"N": "13"}))

    report = orders(tmp_path, full_target, progress=change)

    assert (report.found, report.matches) == (1, False)


def test_a_dry_run_says_what_it_would_take_and_writes_nothing(
    tmp_path: Path, full_target: str, ministack: Engine
) -> None:
    """R60: write units are counted row by row, each rounded up to 1 KB."""
    write_export(tmp_path, [[order(1), order(2, note={"S": "x" * 1_100}), OTHER]])
    plans: list[Any] = []

    report = orders(tmp_path, full_target, dry_run=True, announce=plans.append)

    assert (report.rows, report.written, plans[0].write_units, plans[0].recovery) == (2, 0, 3.0, plans[0].recovery)
    assert stored(ministack, full_target) == {}


def test_the_units_said_before_are_those_consumed(tmp_path: Path, full_target: str) -> None:
    """R58, R59: sizes of numbers, texts in UTF-8 and bytes, as ministack bills them; dynalite counts characters."""
    odd = {"é": {"S": "日本" * 170}, "n": {"N": "1786461547"}, "b": {"B": "AAAA"}, "l": {"L": [{"S": "a"}]}}
    write_export(tmp_path, [[order(1, **odd), order(2)]])
    plans: list[Any] = []

    report = orders(tmp_path, full_target, announce=plans.append, verify=False)

    assert plans[0].write_units == report.units == 3.0


def test_a_target_without_recovery_is_refused(tmp_path: Path, full_target: str, ministack: Engine) -> None:
    """Unless that is waived: a mistake could not be undone."""
    write_export(tmp_path, [[order(1)]])

    with pytest.raises(RequestError, match="point-in-time recovery"):
        lift(tmp_path, full_target, app=source, type="Order")

    assert stored(ministack, full_target) == {}


def test_a_target_that_is_not_there_can_be_created(tmp_path: Path, new_name: str, ministack: Engine) -> None:
    """It gets the key, and needs no recovery: there is nothing in it to lose."""
    write_export(tmp_path, [[order(1)]])
    with pytest.raises(TableNotFound):
        lift(tmp_path, new_name, app=source, type="Order")

    report = lift(tmp_path, new_name, app=source, type="Order", create=True)

    assert (report.written, report.matches) == (1, True)
    client_of(ministack).delete_table(TableName=new_name)


def test_the_table_itself_and_another_key_are_no_targets(tmp_path: Path, new_name: str, ministack: Engine) -> None:
    """Both are refused before anything is read."""
    body = own_table_body(Table("other", pk="id", sk=None), None)
    client_of(ministack).create_table(TableName=new_name, **body)
    write_export(tmp_path, [[order(1)]])

    with pytest.raises(RequestError, match="is the table that the rows come from"):
        orders(tmp_path, source.name)
    with pytest.raises(RequestError, match=r'has the key \{"id": "S"\}, and rows of Order have'):
        orders(tmp_path, new_name)
    client_of(ministack).delete_table(TableName=new_name)


def test_a_type_that_nobody_has_is_told_with_those_that_there_are(tmp_path: Path, full_target: str) -> None:
    """Before anything is read."""
    write_export(tmp_path, [[order(1)]])

    with pytest.raises(RequestError, match="the type 'order'; there are: Customer, Order"):
        orders(tmp_path, full_target, "order")


def test_an_incremental_export_is_refused(tmp_path: Path, full_target: str) -> None:
    """Its lines are changes."""
    write_export(tmp_path, [[]], summary={"exportType": "INCREMENTAL_EXPORT"})

    with pytest.raises(ExportError, match="Lift a full export"):
        orders(tmp_path, full_target)


def test_a_row_without_a_key_is_told_before_anything_is_written(
    tmp_path: Path, full_target: str, ministack: Engine
) -> None:
    """The export is read whole first, with file and line."""
    write_export(tmp_path, [[order(1)], [{"PK": {"S": "C#a"}, "EntityType": {"S": "Order"}}]])

    with pytest.raises(ExportError, match=r"00001\.json\.gz, line 1, has no SK"):
        orders(tmp_path, full_target)

    assert stored(ministack, full_target) == {}


def test_guard_rows_of_unique_values_go_with_their_type(tmp_path: Path, full_target: str, ministack: Engine) -> None:
    """Those of other types stay behind."""
    guard = {"SK": {"S": "UNIQUE"}, "EntityType": {"S": "tablekit:unique"}}
    mine = {
        "PK": {"S": "UNIQUE#Customer#by_name#S=Ann"},
        **guard,
        "_owner": {"M": {"PK": OTHER["PK"], "SK": OTHER["SK"]}},
    }
    other = {"PK": {"S": "UNIQUE#Order#x#S=1"}, **guard, "_owner": {"M": {k: order(1)[k] for k in ("PK", "SK")}}}
    write_export(tmp_path, [[OTHER, mine, other, order(1)]])

    report = orders(tmp_path, full_target, "Customer")

    assert (report.written, report.matches) == (2, True)
    assert sorted(stored(ministack, full_target)) == ["META", "UNIQUE"]


def test_the_rate_holds(tmp_path: Path, full_target: str) -> None:
    """Units a second, whatever is asked for at once."""
    write_export(tmp_path, [[order(number) for number in range(60)]])
    began = time.monotonic()

    orders(tmp_path, full_target, rate=40, verify=False)

    assert time.monotonic() - began > 0.8


def test_a_killed_lift_goes_on_from_its_checkpoint(tmp_path: Path, full_target: str, ministack: Engine) -> None:
    """R54: killed in the middle, the same call again: every row once, checksums agree, and a newer row stays.

    On ministack alone: dynalite ends itself when a client dies in the middle of a request.
    """
    write_export(tmp_path / "in", [[order(number) for number in range(300)], [order(n) for n in range(300, 500)]])
    options = {**ministack.connect_options(), "name": source.name}
    program = (
        "import sys, json; from tests.tools.test_lift import source, orders\n"
        "folder, target, state, options, rate = sys.argv[1:]\n"
        "source.connect(**json.loads(options)); report = orders(folder, target, checkpoint=state, rate=float(rate))\n"
        "print(json.dumps([report.rows, report.written + report.present, report.present, report.kept, report.matches]))"
    )
    state = tmp_path / "state.json"
    command = [sys.executable, "-c", program, str(tmp_path / "in"), full_target, str(state), json.dumps(options)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # Slow enough to be killed in the middle for certain.
    killed = subprocess.Popen([*command, "100"], cwd=ROOT, env=environment)
    until = time.monotonic() + 30
    while not (state.exists() and json.loads(state.read_text())["counts"].get("written", 0)):
        assert time.monotonic() < until, "the lift does not get on"
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    newer = order(499, total={"N": "99"}, revision={"N": "4"})
    client_of(ministack).put_item(TableName=full_target, Item=newer)

    again = subprocess.run([*command, "900"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    rows, done, present, kept, matches = json.loads(again.stdout)
    assert (rows, done, kept, matches) == (500, 499, 1, True)
    assert present < 250
    found = stored(ministack, full_target)
    assert (len(found), found["ORDER#499"]) == (500, newer)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"N": "1E+2"}, {"N": "100"}, True),
        ({"NS": ["1", "2.0"]}, {"NS": ["2", "1"]}, True),
        ({"N": "12345678901234567890123456789012345678"}, {"N": "12345678901234567890123456789012345679"}, False),
        ({"S": "1"}, {"N": "1"}, False),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}, False),
        ({"M": {"a": {"BOOL": True}, "b": {"NULL": True}}}, {"M": {"b": {"NULL": True}, "a": {"BOOL": True}}}, True),
        ({"B": b"ab"}, {"B": b"ba"}, False),
    ],
)
def test_rows_that_dynamodb_calls_equal_have_one_digest(a: dict[str, Any], b: dict[str, Any], equal: bool) -> None:
    """R03: numbers by value, with all their digits; sets in any order; lists in theirs."""
    assert (row_digest({"x": a}) == row_digest({"x": b})) is equal
