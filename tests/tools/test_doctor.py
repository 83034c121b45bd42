"""What the doctor finds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tablekit import Entity, Field, GlobalIndex, RequestError, Table, index_key, ttl
from tablekit.tools.doctor import Diagnosis, doctor
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
        ({"EntityType": None}, "untyped", ""),
        ({"EntityType": {"S": "Visitor"}}, "unknown-type", "Visitor"),
        ({"EntityType": {"S": "patient"}}, "type-case", "patient"),
        ({"SK": {"S": "PATIENT#1"}}, "key-template", "Patient"),
        ({"GSI1SK": {"S": "Bob"}}, "index-key", "Patient.by_name"),
        ({"GSI1PK": None, "GSI1SK": None}, "index-key", "Patient.by_name"),
        ({"name": {"N": "3"}}, "undecodable", "Patient.name"),
        ({"name": None}, "missing-attribute", "Patient.name"),
        ({"leaves_at": {"N": "1790000000000"}}, "ttl-milliseconds", "Patient.leaves_at"),
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
    other.connect(name=clinic.name, **engine.connect_options())

    assert [finding.subject for finding in doctor(other).findings] == ["global index GSI2"]
