"""What the doctor finds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tablekit import Entity, Field, GlobalIndex, LocalIndex, RequestError, Singleton, Table, field, index_key, ttl
from tablekit.tools import doctor_rows
from tablekit.tools.backfill import backfill
from tablekit.tools.doctor import Diagnosis, doctor
from tablekit.tools.doctor_rows import Heaviest, RowCheck
from tablekit.tools.schema_check import check_table
from tests.support.engines import Engine
from tests.support.tables import Connect

clinic = Table("clinic", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])


class Patient(Entity, table=clinic, pk="P#{ward}", sk="PATIENT#{number:04d}"):
    """A row with something of everything."""

    ward: Field[str]
    number: Field[int]
    name: Field[str]
    leaves_at: Field[datetime | None] = ttl(default=None)
    by_name = index_key("GSI1", pk="NAME", sk="{name}")


def row(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A healthy row, with some attributes changed or, when None, taken away."""
    healthy = {
        "PK": {"S": "P#a"},
        "SK": {"S": f"PATIENT#{number:04d}"},
        "EntityType": {"S": "Patient"},
        "ward": {"S": "a"},
        "number": {"N": str(number)},
        "name": {"S": "Ann"},
        "GSI1PK": {"S": "NAME"},
        "GSI1SK": {"S": "Ann"},
    }
    return {name: value for name, value in {**healthy, **changes}.items() if value is not None}


def examine(connect: Connect, engine: Engine, *rows: dict[str, Any], **options: Any) -> Diagnosis:
    """The doctor's word on a table of these rows."""
    app = connect(clinic)
    client = engine.client()
    for each in rows:
        client.put_item(TableName=app.name, Item=each)
    return doctor(app, **options)


def test_a_healthy_table_has_no_findings(connect: Connect, engine: Engine) -> None:
    """What tablekit wrote is what it expects."""
    app = connect(clinic)
    Patient(ward="a", number=1, name="Ann").create()

    diagnosis = doctor(app)

    assert diagnosis.healthy
    assert (diagnosis.rows, dict(diagnosis.by_type)) == (1, {"Patient": 1})


@pytest.mark.parametrize(
    ("fault", "kind", "subject"),
    [
        ({"EntityType": None}, "untyped", "Patient"),
        ({"EntityType": None, "SK": {"S": "VISIT#1"}}, "untyped", ""),
        ({"EntityType": {"N": "1"}}, "untyped", ""),
        ({"EntityType": {"S": "Visitor"}}, "unknown-type", "Visitor"),
        ({"EntityType": {"S": "patient"}}, "type-case", "patient"),
        ({"SK": {"S": "PATIENT#1"}}, "key-template", "Patient"),
        ({"GSI1SK": {"S": "Bob"}}, "index-key", "Patient.by_name"),
        ({"GSI1PK": None, "GSI1SK": None}, "index-key", "Patient.by_name"),
        ({"name": {"N": "3"}}, "undecodable", "Patient.name"),
        ({"name": None}, "missing-attribute", "Patient.name"),
        ({"leaves_at": {"N": "1790000000000"}}, "ttl-milliseconds", "Patient.leaves_at"),
        ({"leaves_at": {"N": "1790000000000"}, "EntityType": None}, "ttl-milliseconds", "(untyped).leaves_at"),
        ({"pad": {"S": "x" * 340_000}}, "nearly-full", "Patient.pad"),
    ],
)
def test_each_planted_fault_is_found(
    connect: Connect, engine: Engine, fault: dict[str, Any], kind: str, subject: str
) -> None:
    """One faulty row among healthy ones is named, with its key and a remedy."""
    diagnosis = examine(connect, engine, row(1), row(2, **fault), row(3))

    found = [finding for finding in diagnosis.findings if (finding.kind, finding.subject) == (kind, subject)]
    assert len(found) == 1
    assert found[0].count == 1
    assert "P#a" in found[0].examples[0]
    assert found[0].remedy


def test_no_field_value_is_shown(connect: Connect, engine: Engine) -> None:
    """Keys are shown; what rows hold is not."""
    diagnosis = examine(connect, engine, row(1, name={"N": "12345678"}), row(2, GSI1SK={"S": "s3cret"}))

    assert "12345678" not in repr(diagnosis)
    assert "s3cret" not in repr(diagnosis)


def test_a_sample_reads_part_of_the_table(connect: Connect, engine: Engine) -> None:
    """A tenth of the segments is read, and the share is said."""
    rows = [row(number, PK={"S": f"P#{number}"}, ward={"S": f"{number}"}) for number in range(1, 61)]

    diagnosis = examine(connect, engine, *rows, sample=0.1)

    assert diagnosis.sample == 0.1
    assert diagnosis.rows < 50


@pytest.mark.parametrize("sample", [0, -1, 1.5])
def test_a_sample_is_a_share(sample: float) -> None:
    """Anything but a share of the table is refused."""
    with pytest.raises(RequestError, match="no share"):
        doctor(clinic, sample=sample)


def test_a_table_that_lacks_an_index_is_a_finding(connect: Connect, engine: Engine) -> None:
    """The doctor compares the table itself as well."""
    connect(clinic)
    other = Table("clinic", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK"), GlobalIndex("GSI2", pk="GSI2PK")])
    Patient(ward="a", number=1, name="Ann").create()
    other.connect(name=clinic.name, capabilities=clinic.session().capabilities, **engine.connect_options())

    assert "global index GSI2" in [finding.subject for finding in doctor(other).findings]


ward = Table("ward")


class Rules(Singleton, table=ward, pk="SETTINGS#WARD", sk="RULES#V1"):
    """State of the whole ward."""

    visits: Field[bool] = field(default=False)
    notice: Field[str] = field(default="")


RULES = {"PK": {"S": "SETTINGS#WARD"}, "SK": {"S": "RULES#V1"}}


@pytest.mark.parametrize(
    ("stored", "kind", "subject"),
    [
        (None, "singleton-missing", "Rules"),
        ({"EntityType": {"S": "Rules"}, "notice": {"S": "x" * 5_000}}, "singleton-size", "Rules"),
        ({"EntityType": {"S": "Other"}}, "singleton-type", "Rules"),
        ({}, "singleton-type", "Rules"),
        ({"EntityType": {"S": "Rules"}, "visits": {"S": "yes"}}, "undecodable", "Rules.visits"),
    ],
    ids=["missing", "too big", "another type", "untyped", "undecodable"],
)
def test_each_fault_of_a_singleton_is_found(
    connect: Connect, engine: Engine, stored: dict[str, Any] | None, kind: str, subject: str
) -> None:
    """Its row is read by its key, so that a sample finds it as well; the row is named."""
    app = connect(ward)
    if stored is not None:
        engine.client().put_item(TableName=app.name, Item={**RULES, **stored})

    found = [finding for finding in doctor(app, sample=0.005).findings if finding.kind == kind]

    assert [finding.subject for finding in found] == [subject]
    assert "RULES#V1" in found[0].examples[0]
    assert found[0].of_rows == (kind == "undecodable")


def test_a_healthy_singleton_is_no_finding(connect: Connect) -> None:
    """What `ensure` writes is what the doctor wants."""
    app = connect(ward)
    Rules.ensure()

    assert doctor(app).healthy


def hot_rows(partitions: dict[str, int]) -> list[dict[str, Any]]:
    """So many rows in each partition."""
    return [
        row(number, PK={"S": f"P#{name}"}, ward={"S": name})
        for name, number_of in partitions.items()
        for number in range(number_of)
    ]


def test_a_partition_with_most_of_the_rows_looks_hot() -> None:
    """It is named, with its share."""
    check = RowCheck(clinic)

    check.rows(hot_rows({"crowded": 700, **{str(n): 1 for n in range(400)}}))
    check.partitions(1.0, 0)

    assert [subject for kind, subject in check.notes.counts if kind == "hot-partition"] == ["P#crowded"]
    assert check.notes.examples["hot-partition", "P#crowded"] == ["700 of 1,100 rows"]


def test_a_sample_of_whole_partitions_does_not_make_them_hot() -> None:
    """A segment holds whole partitions; what counts is their part of the whole table."""
    check = RowCheck(clinic)

    check.rows(hot_rows({"a": 600, "b": 600}))
    check.partitions(0.01, 100_000)

    assert not check.notes.counts


def test_a_partition_near_10_gb_is_found_where_indexes_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only there has a partition an end."""
    monkeypatch.setattr(doctor_rows, "COLLECTION_BYTES", 10_000)
    local = Table("local", indexes=[LocalIndex("by_day", sk="day")])
    kinds: list[list[str]] = []
    for app in (local, ward):
        check = RowCheck(app)
        check.rows([{"PK": {"S": "P"}, "SK": {"S": str(n)}, "pad": {"S": "x" * 900}} for n in range(10)])
        check.partitions(1.0, 0)
        kinds.append([kind for kind, _ in check.notes.counts if kind == "full-collection"])

    assert kinds == [["full-collection"], []]


def test_the_heaviest_names_are_kept_in_bounded_memory() -> None:
    """A name with a tenth of the sum is found among ten thousand others."""
    heaviest = Heaviest(places=50)
    for number in range(10_000):
        heaviest.add(str(number))
        if number % 9 == 0:
            heaviest.add("heavy")

    ((name, figure),) = heaviest.most(1)
    assert name == "heavy"
    assert 1112 - 11_112 / 50 <= figure <= 1112
    assert len(heaviest.figures) <= 100


def test_faults_of_endless_variety_take_no_endless_memory() -> None:
    """A type of its own in each row: a thousand are told apart, the others are counted together."""
    check = RowCheck(clinic)

    check.rows([row(n, EntityType={"S": f"T{n}"}) for n in range(3_000)])

    assert len(check.notes.counts) <= 1_001
    assert sum(check.notes.counts.values()) == 3_000
    assert len(check.by_type) <= 1_001


def test_segments_can_be_shared_between_machines(connect: Connect, engine: Engine) -> None:
    """Two runs over the halves read each row once."""
    app = connect(clinic)
    for each in hot_rows({str(n): 1 for n in range(30)}):
        engine.client().put_item(TableName=app.name, Item=each)

    halves = [doctor(app, segments=share) for share in ("0-3/8", "4-7/8")]

    assert sum(half.rows for half in halves) == 30
    assert [half.sample for half in halves] == [0.5, 0.5]


def test_what_a_doctor_finds_mendable_the_backfill_mends(connect: Connect, engine: Engine) -> None:
    """After it only what a backfill cannot know is left."""
    app = connect(clinic)
    for each in (row(1, EntityType=None), row(2, GSI1SK={"S": "Bob"}), row(3, EntityType={"S": "Visitor"})):
        engine.client().put_item(TableName=app.name, Item=each)
    diagnosis = doctor(app)
    assert diagnosis.mendable == {"types", "index_keys"}

    backfill(app, index_keys=True, require_recovery=False)

    assert [finding.kind for finding in doctor(app).findings] == ["unknown-type"]


def test_what_will_be_read_is_said_before_it_is(connect: Connect, engine: Engine) -> None:
    """A share of the table, and the units of reading it."""
    plans: list[Any] = []

    examine(connect, engine, row(1), row(2), segments="0-1/4", announce=plans.append)

    assert (plans[0].segments, plans[0].total) == (2, 4)
    assert plans[0].read_units == 1.0  # half a unit for each request


@pytest.mark.ttl
def test_a_time_to_live_that_is_off_is_a_finding(connect: Connect, engine: Engine) -> None:
    """Rows with a ttl() field would never expire."""
    app = connect(clinic)
    off = {"Enabled": False, "AttributeName": "leaves_at"}
    engine.client().update_time_to_live(TableName=app.name, TimeToLiveSpecification=off)

    assert [(f.kind, f.subject) for f in doctor(app).findings] == [("schema", "time to live")]


def test_what_is_only_noted_of_the_table_is_no_finding(connect_full: Connect, ministack: Engine) -> None:
    """An index that no class declares breaks nothing, and a check in CI would fail for it forever."""
    app = connect_full(clinic)
    ministack.client().update_table(
        TableName=app.name,
        AttributeDefinitions=[{"AttributeName": "other", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "extra",
                    "KeySchema": [{"AttributeName": "other", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    assert "global index extra" in [difference.subject for difference in check_table(app)]

    assert doctor(app).healthy
