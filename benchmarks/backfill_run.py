"""``python -m benchmarks.backfill_run``: a backfill of many rows beside live writers, killed and resumed, and proved.

An engine on this machine is filled with rows as they were before there were types: customers, orders whose index keys
are missing or stale, and some whose key tells nothing. Machines share the segments; each is killed with SIGKILL as
often as asked, and goes on from its checkpoint. Meanwhile threads count on rows, delete rows, put rows anew through
the classes, and change what an index key is made of without knowing the classes.

In the end every row is read, and so is the table's stream, which has each change of each row in order:

- every row that a key tells has its type, each got it by one write, and no type was ever changed;
- the rows that no key tells are listed, and have none;
- no deleted row is there, and none was there for a moment in between;
- every count and every put that was acknowledged is there, and each change in the stream is wholly one writer's: the
  backfill changes the type and the index keys, and nothing else with them;
- the index keys are those that a put would write, but where code that does not know them wrote last.

Prints the figures; exits with 1 when one of these does not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tablekit import Entity, Field, GlobalIndex, Table, field, index_key
from tablekit.local import LocalEngine
from tablekit.tools.backfill import backfill

app = Table("backfill-run", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])
PARTITION = 20
"""Orders of a customer."""


class Customer(Entity, table=app, pk="CUST#{customer}", sk="META"):
    """The owner of a partition."""

    customer: Field[str]
    hits: Field[int] = field(default=0)


class Order(Entity, table=app, pk="CUST#{customer}", sk="ORDER#{number}"):
    """A row in an index."""

    customer: Field[str]
    number: Field[str]
    day: Field[str]
    note: Field[str] = field(default="")
    hits: Field[int] = field(default=0)
    by_day = index_key("GSI1", pk="DAY#{day}", sk="{number}")


def key_of(number: int) -> tuple[str, str]:
    """The key of a row: a customer, an order, or one that tells nothing."""
    partition, place = divmod(number, PARTITION)
    return (
        f"CUST#{partition}",
        "META" if place == 0 else "ODD" if place == 1 and partition % 50 == 0 else f"ORDER#{number}",
    )


def row_of(number: int) -> dict[str, Any]:
    """A row as it was before there were types; every other order has index keys, some of them stale."""
    pk, sk = key_of(number)
    row = {"PK": {"S": pk}, "SK": {"S": sk}, "customer": {"S": pk[5:]}, "pad": {"S": "x" * 200}}
    if sk.startswith("ORDER#"):
        day = f"2026-11-{number % 28 + 1:02d}"
        row |= {"number": {"S": sk[6:]}, "day": {"S": day}}
        if number % 2:
            stale = "2025-01-01" if number % 6 == 1 else day
            row |= {"GSI1PK": {"S": f"DAY#{stale}"}, "GSI1SK": {"S": sk[6:]}}
    return row


# The machine that is killed: python -m benchmarks.backfill_run --work NAME ENDPOINT SEGMENTS CHECKPOINT ROWS


def work(name: str, endpoint: str, segments: str, checkpoint: str, rows: str) -> None:
    """Work on a share of the segments, and print the report as JSON.

    A segment that ends a page when so many rows are scanned waits to be killed: however late that is, there is
    something left to go on with.
    """

    def wait_at(counts: Mapping[str, int]) -> None:
        if counts["scanned"] >= int(rows):
            threading.Event().wait()

    app.connect(name=name, **_options(endpoint))
    report = backfill(
        app,
        index_keys=True,
        segments=segments,
        parallel=4,
        page_size=200,
        checkpoint=checkpoint,
        progress=wait_at if int(rows) else None,
    )
    print(
        json.dumps(
            {
                "resumed": report.resumed,
                "scanned": report.scanned,
                "typed": report.typed,
                "indexed": report.indexed,
                "moved": report.moved,
                "left": [(left.pk, left.sk) for left in report.left],
            }
        )
    )


def _options(endpoint: str) -> dict[str, Any]:
    return {
        "endpoint_url": endpoint,
        "region": "us-east-1",
        "aws_access_key_id": "local",
        "aws_secret_access_key": "local",
    }


class Machine:
    """One machine: a process, its share of the segments, and its checkpoint.

    `stops` are the counts of scanned rows at which it is killed.
    """

    def __init__(self, name: str, endpoint: str, segments: str, checkpoint: Path, stops: list[int]) -> None:
        module = "benchmarks.backfill_run"
        self.command = [sys.executable, "-m", module, "--work", name, endpoint, segments, str(checkpoint)]
        self.checkpoint = checkpoint
        self.stops = stops
        self.kills = 0
        self.process = self._begin()

    def _begin(self) -> subprocess.Popen[str]:
        stop = self.stops[self.kills] if self.kills < len(self.stops) else 0
        command = [*self.command, str(stop)]
        return subprocess.Popen(command, cwd=Path(__file__).parent.parent, stdout=subprocess.PIPE, text=True)

    def wait(self) -> None:
        """Until it is to be killed, or has ended."""
        while self.scanned() < self.stops[self.kills] and self.process.poll() is None:
            time.sleep(0.05)

    def scanned(self) -> int:
        """Rows that the checkpoint counts."""
        if not self.checkpoint.exists():
            return 0
        counted: int = json.loads(self.checkpoint.read_text(encoding="utf-8"))["counts"].get("scanned", 0)
        return counted

    def kill_and_resume(self) -> bool:
        """Kill it where it stands, and begin anew; False when it had ended."""
        if self.process.poll() is not None:
            return False
        self.process.kill()
        self.process.communicate()
        self.kills += 1
        self.process = self._begin()
        return True

    def result(self) -> dict[str, Any]:
        """The report of the last process."""
        output, _ = self.process.communicate()
        if self.process.returncode != 0:
            sys.exit(f"the machine of {self.checkpoint.name} ended with status {self.process.returncode}")
        found: dict[str, Any] = json.loads(output)
        return found


# The live writers


class Writer(threading.Thread):
    """Counts on rows, deletes rows, and puts rows anew; each number belongs to one writer."""

    def __init__(self, client: Any, name: str, rows: range, stop: threading.Event, pause: float) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.table = name
        self.rows = rows
        self.stop = stop
        self.pause = pause
        self.hits: Counter[int] = Counter()
        self.notes: dict[int, str] = {}
        self.deleted: set[int] = set()
        self.moved: set[int] = set()
        self.problem: BaseException | None = None

    def run(self) -> None:
        """Until it is told to stop."""
        chooser = random.Random(self.rows.start)
        try:
            while not self.stop.is_set():
                number = chooser.choice(self.rows)
                if number not in self.deleted:
                    self._write(number, chooser.random())
                time.sleep(self.pause)
        except BaseException as problem:
            self.problem = problem

    def _write(self, number: int, choice: float) -> None:
        pk, sk = key_of(number)
        key = {"PK": {"S": pk}, "SK": {"S": sk}}
        if choice < 0.2:
            self.client.delete_item(TableName=self.table, Key=key)
            self.deleted.add(number)
        elif choice < 0.4 and sk.startswith("ORDER#"):
            note = f"{number}-{choice}"
            day = f"2026-12-{number % 28 + 1:02d}"
            # Code that knows the classes: the whole row, with its type and its index keys, on another day.
            Order(customer=pk[5:], number=sk[6:], day=day, note=note).put(guard=False)
            self.notes[number] = note
            self.hits[number] = 0
            self.moved.discard(number)
        else:
            # Code that does not.
            moves = choice < 0.5 and sk.startswith("ORDER#")
            values = {":one": {"N": "1"}}
            if moves:
                values[":day"] = {"S": f"2027-01-{number % 28 + 1:02d}"}
            self.client.update_item(
                TableName=self.table,
                Key=key,
                UpdateExpression=f"ADD hits :one{' SET #day = :day' if moves else ''}",
                ConditionExpression="attribute_exists(PK)",
                ExpressionAttributeValues=values,
                **({"ExpressionAttributeNames": {"#day": "day"}} if moves else {}),
            )
            self.hits[number] += 1
            if moves:
                self.moved.add(number)


# The whole


class Run:
    """One run of it: the engine's clients, and how much of everything."""

    def __init__(self, engine: LocalEngine, given: argparse.Namespace) -> None:
        self.given = given
        self.endpoint = engine.endpoint_url
        self.client = self._client("dynamodb")
        self.streams = self._client("dynamodbstreams")
        self.name = "backfill-run"
        self.figures: dict[str, Any] = {"rows": given.rows, "machines": given.machines}
        self.problems: list[str] = []

    def _client(self, service: str) -> Any:
        import botocore.session

        options = _options(self.endpoint)
        return botocore.session.get_session().create_client(
            service,
            region_name=options["region"],
            endpoint_url=self.endpoint,
            aws_access_key_id=options["aws_access_key_id"],
            aws_secret_access_key=options["aws_secret_access_key"],
        )

    def measure(self, folder: Path) -> None:
        """Fill, backfill beside the writers with kills in between, and check."""
        self._timed("load_seconds", self._load)
        stop = threading.Event()
        count = self.given.writers
        writers = [
            Writer(self._client("dynamodb"), self.name, range(n, self.given.rows, count), stop, self.given.pause)
            for n in range(count)
        ]
        for writer in writers:
            writer.start()
        reports = self._timed("backfill_seconds", lambda: self._backfill(folder))
        stop.set()
        for writer in writers:
            writer.join()
        self.problems += [f"a writer failed: {writer.problem!r}" for writer in writers if writer.problem]
        self._timed("check_seconds", lambda: self._check(reports, writers))

    def _timed(self, name: str, call: Any) -> Any:
        began = time.monotonic()
        result = call()
        self.figures[name] = round(time.monotonic() - began, 1)
        return result

    def _load(self) -> None:
        app.connect(name=self.name, **_options(self.endpoint))
        app.create_table(stream="NEW_AND_OLD_IMAGES")
        pitr = {"PointInTimeRecoveryEnabled": True}
        self.client.update_continuous_backups(TableName=self.name, PointInTimeRecoverySpecification=pitr)
        for start in range(0, self.given.rows, 25):
            rows = [row_of(number) for number in range(start, min(start + 25, self.given.rows))]
            self.client.batch_write_item(RequestItems={self.name: [{"PutRequest": {"Item": row}} for row in rows]})

    def _backfill(self, folder: Path) -> list[dict[str, Any]]:
        machines = self.given.machines
        shares = [f"{8 * n}-{8 * n + 7}/{8 * machines}" for n in range(machines)]
        kills = self.given.kills
        stops = [self.given.rows * (kill + 1) // (machines * (kills + 2)) for kill in range(kills)]
        running = [
            Machine(self.name, self.endpoint, share, folder / f"{n}.json", stops) for n, share in enumerate(shares)
        ]
        for _ in range(kills):
            for machine in running:
                machine.wait()
                if not machine.kill_and_resume():
                    self.problems.append(f"{machine.checkpoint.name} had ended before it was killed")
        reports = [machine.result() for machine in running]
        self.figures["kills"] = sum(machine.kills for machine in running)
        self.problems += [f"report {n} says that it did not resume" for n, r in enumerate(reports) if not r["resumed"]]
        return reports

    # What is checked

    def _check(self, reports: list[dict[str, Any]], writers: list[Writer]) -> None:
        rows = self._rows()
        deleted = {key_of(number) for writer in writers for number in writer.deleted}
        odd = {key for key in rows if key[1] == "ODD"}
        self._expect("rows without their type", [k for k, row in rows.items() if _type(row) != _expected(k)])
        self._expect("rows that came back", [key for key in deleted if key in rows])
        known = rows.keys() | deleted
        gone = [key_of(number) for number in range(self.given.rows) if key_of(number) not in known]
        self._expect("rows that are gone", gone)
        moved = {key_of(number) for writer in writers for number in writer.moved}
        wrong = [key for key, row in rows.items() if key not in moved and _wrong_index(row)]
        self._expect("index keys that are wrong", wrong)
        self._expect("live writes that are lost", list(_lost(rows, writers)))
        listed = {(pk, sk) for report in reports for pk, sk in report["left"]}
        self._expect("rows that tell nothing and are not listed", sorted(odd - listed))
        self.figures |= {
            "rows_at_the_end": len(rows),
            "left": len(listed),
            "deleted": len(deleted),
            "live_puts": sum(len(writer.notes) for writer in writers),
            "live_counts": sum(sum(writer.hits.values()) for writer in writers),
            **{name: sum(report[name] for report in reports) for name in ("scanned", "typed", "indexed", "moved")},
        }
        self._check_stream()

    def _expect(self, what: str, found: list[Any]) -> None:
        self.figures[what.replace(" ", "_")] = len(found)
        if found:
            self.problems.append(f"{what}: {len(found)}, such as {found[0]}")

    def _rows(self) -> dict[tuple[str, str], dict[str, Any]]:
        pages = self.client.get_paginator("scan").paginate(TableName=self.name, ConsistentRead=True)
        return {(row["PK"]["S"], row["SK"]["S"]): row for page in pages for row in page["Items"]}

    def _check_stream(self) -> None:
        """Each change of each row: which got a type, which had it changed, which came back, and who made the change."""
        typed: Counter[tuple[str, str]] = Counter()
        found: dict[str, list[Any]] = {"types that were changed": [], "rows that came back for a moment": []}
        found["changes that no one writer makes"] = []
        gone: set[tuple[str, str]] = set()
        records = 0
        for record in self._records():
            records += 1
            change = record["dynamodb"]
            key = (change["Keys"]["PK"]["S"], change["Keys"]["SK"]["S"])
            before, after = change.get("OldImage", {}), change.get("NewImage", {})
            if record["eventName"] == "REMOVE":
                gone.add(key)
            elif key in gone:
                found["rows that came back for a moment"].append(key)
            elif record["eventName"] == "MODIFY":
                typed[key] += _type(before) is None and _type(after) is not None
                if _type(before) not in (None, _type(after)):
                    found["types that were changed"].append(key)
                if not _of_one_writer(before, after):
                    found["changes that no one writer makes"].append(key)
        self.figures["changes_in_the_stream"] = records
        self._expect("rows typed twice", [key for key, times in typed.items() if times > 1])
        for what, keys in found.items():
            self._expect(what, keys)
        self.figures["rows_that_got_a_type"] = sum(typed.values())

    def _records(self) -> Any:
        arn = self.client.describe_table(TableName=self.name)["Table"]["LatestStreamArn"]
        for shard in self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.streams.get_shard_iterator(**place)["ShardIterator"]
            while iterator:
                page = self.streams.get_records(ShardIterator=iterator, Limit=1000)
                yield from page["Records"]
                iterator = page.get("NextShardIterator") if page["Records"] else None


def _type(row: dict[str, Any]) -> str | None:
    found: str | None = row.get("EntityType", {}).get("S")
    return found


def _of_one_writer(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a change is one that the backfill makes, or one of the live writers; nobody undoes another's."""
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if "note" in changed:
        return True  # a put of the whole row
    if "hits" in changed:
        counts = [int(row.get("hits", {}).get("N", 0)) for row in (before, after)]
        return changed <= {"hits", "day"} and counts[1] == counts[0] + 1
    return changed <= {"EntityType", "GSI1PK", "GSI1SK"}


def _expected(key: tuple[str, str]) -> str | None:
    return {"M": "Customer", "O": "Order"}[key[1][0]] if key[1] != "ODD" else None


def _wrong_index(row: dict[str, Any]) -> bool:
    if "day" not in row:
        return False
    wanted = ({"S": f"DAY#{row['day']['S']}"}, row["number"])
    return (row.get("GSI1PK"), row.get("GSI1SK")) != wanted


def _lost(rows: dict[tuple[str, str], dict[str, Any]], writers: list[Writer]) -> Any:
    for writer in writers:
        for number in (set(writer.hits) | set(writer.notes)) - writer.deleted:
            row = rows.get(key_of(number), {})
            stored = (int(row.get("hits", {}).get("N", 0)), row.get("note", {}).get("S", ""))
            if stored != (writer.hits[number], writer.notes.get(number, "")):
                yield key_of(number)


def main(arguments: list[str]) -> int:
    """Run it as the command line asks; 1 when something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.backfill_run", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--machines", type=int, default=2, help="processes that share the segments")
    parser.add_argument("--kills", type=int, default=2, help="kills of each machine")
    parser.add_argument("--writers", type=int, default=2, help="threads that write meanwhile")
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between the writes of one of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--work", nargs=5, metavar="ARGUMENT", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.work:
        work(*given.work)
        return 0
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        run = Run(engine, given)
        run.measure(Path(folder))
    for name, figure in run.figures.items():
        print(f"{name.replace('_', ' '):44} {figure:>12,}")
    for problem in run.problems:
        print(f"does not hold: {problem}")
    if given.json:
        given.json.write_text(json.dumps({**run.figures, "problems": run.problems}, indent=2) + "\n", encoding="utf-8")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
