"""What reads bytes that a stranger chose: one function for each reader, which raises nothing but what is documented.

Each target also checks what must hold where it reads: a key that is parsed back renders the same key, a cursor never
leads out of its query, and both ways of decoding a row agree. `tests.fuzz.run` feeds them from atheris, and
`tests.hostile.test_targets` from the corpus and its mutations.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import attrs

from tablekit import Entity, Field, GlobalIndex, Table, field, index_key, version
from tablekit._types import Answer
from tablekit.api.streams import decode_changes
from tablekit.definition.entity import schema_of
from tablekit.errors import CursorError, DataError, RequestError, TablekitError
from tablekit.operations.cursors import decode_cursor
from tablekit.operations.queryplan import plan_query
from tablekit.tools.adopt_tables import AdoptError, read_definitions
from tablekit.tools.export_lines import parse_record
from tablekit.tools.export_source import ExportError
from tablekit.tools.workbench import read_workbench
from tablekit.wire.items import decode_carefully
from tablekit.wire.plain import row_of
from tablekit.wire.response import parse_body, parse_error

__all__ = ["SEALED", "TARGETS", "FixedPort", "book"]


class State(Enum):
    """How far a book is."""

    OPEN = "open"
    DONE = "done"


@attrs.define
class Place:
    """A value inside a book."""

    shelf: str
    row: int = 0


app = Table("library", indexes=[GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")])
sealed = Table("sealed", cursor_secret=b"a secret of the tests")


class Book(Entity, table=app, pk="SHELF#{shelf}", sk="BOOK#{number:06d}#{lang}#{code}"):
    """A row with a key of several kinds and a field of each type."""

    shelf: Field[str]
    number: Field[int]
    lang: Field[Literal["de", "en"]]
    code: Field[UUID]
    title: Field[str] = field(default="")
    price: Field[Decimal | None] = field(default=None)
    weight: Field[float] = field(default=0.0)
    cover: Field[bytes] = field(default=b"")
    tags: Field[set[str]] = field(factory=set)
    marks: Field[list[int]] = field(factory=list)
    places: Field[dict[str, Place]] = field(factory=dict)
    state: Field[State] = field(default=State.OPEN)
    bought: Field[date | None] = field(default=None)
    seen: Field[datetime | None] = field(default=None)
    extra: Field[Any] = field(default=None)

    revision = version()
    by_state = index_key("GSI1", pk="STATE#{state}", sk="{seen}#{number:06d}")


class Note(Entity, table=app, pk="SHELF#{shelf}", sk="NOTE#{at}"):
    """A row whose key has a time in it."""

    shelf: Field[str]
    at: Field[datetime]


class Seal(Entity, table=sealed, pk="SEAL#{name}", sk="META"):
    """A row of the table whose cursors are encrypted."""

    name: Field[str]


SHELF = {"PK": {"S": "SHELF#a"}, "SK": {"S": "BOOK#000001#de#12345678-1234-5678-1234-567812345678"}}
SEALED = [(app, app.query(Book, Note, shelf="a")), (sealed, sealed.query(Seal, name="a"))]


def book() -> Book:
    """A book with something in each field."""
    return Book(
        shelf="a",
        number=1,
        lang="de",
        code=UUID("12345678-1234-5678-1234-567812345678"),
        title="T",
        price=Decimal("1.50"),
        weight=0.5,
        cover=b"\x00\xff",
        tags={"x"},
        marks=[1],
        places={"p": Place("s", 1)},
        bought=date(2024, 1, 31),
        extra={"k": [1, None, {"s"}]},
    )


class FixedPort:
    """Answers each request with the same body, as a transport would hand it over."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    async def send(self, request: Any, table: str) -> Answer:
        """The body, and nothing to go on with."""
        return Answer({name: value for name, value in self.body.items() if name != "LastEvaluatedKey"})

    async def sleep(self, seconds: float) -> None:
        """Tests do not wait."""


def key(data: bytes) -> None:
    """Parse a primary key back by every class's templates, and render it again."""
    pk, _, sk = data.decode("utf-8", "surrogateescape").partition("\n")
    for entity in (Book, Note, Seal):
        schema = schema_of(entity)
        item = {"PK": {"S": pk}, "SK": {"S": sk}}
        values = schema.spelled(item)
        if values is not None:
            assert schema.key_of(values) == item


def index_sort_key(data: bytes) -> None:
    """Parse an index key back, and render it again."""
    text = data.decode("utf-8", "surrogateescape")
    for made in schema_of(Book).index_keys["by_state"].keys:
        made.match({"S": text})


def cursor(data: bytes) -> None:
    """Read a cursor: nothing but one of this very query gives a place, and that lies in it."""
    text = data.decode("latin-1")
    for table, query in SEALED:
        plan = plan_query(query.spec, NOW)
        try:
            found = decode_cursor(plan, text, "t", table.cursor_secrets)
        except CursorError:
            continue
        assert found is None or found["PK"] == plan.partition["PK"]


NOW = datetime.fromisoformat("2024-01-01T00:00:00+00:00")


def answer(data: bytes) -> None:
    """Read the body of an answer, as a success and as an error, and as the rows of a query and of a get."""
    error = parse_error(data, 400)
    assert isinstance(error["Error"]["Code"], str)
    try:
        body = parse_body(data)
    except ValueError:
        return
    with app.bound(port=FixedPort(body)):  # type: ignore[arg-type]
        for read in READS:
            try:
                read()
            except TablekitError as problem:
                str(problem)


READS: list[Callable[[], Any]] = [
    lambda: list(app.query(Book, Note, shelf="a")),
    lambda: list(app.query(pk="SHELF#a").unknown("skip").untyped("infer")),
    lambda: list(app.query(pk="SHELF#a").raw()),
    lambda: list(app.query(Book, shelf="a").select(Book.title)),
    lambda: list(app.query(Book, shelf="a").keys()),
    lambda: app.get(pk="SHELF#a", sk="BOOK#1"),
    lambda: book().refresh(),
]


def item(data: bytes) -> None:
    """Decode a row: the fast decoder and the careful one agree, and a row that is read can be written again."""
    row = _json(data)
    if not isinstance(row, dict):
        return
    schema = schema_of(Book)
    try:
        wire = row_of(schema, row)
        given = Book.from_item(wire)
    except (DataError, RequestError) as problem:
        str(problem)
        return
    careful = decode_carefully(schema, wire)
    # A float that is no number is equal to nothing, itself included.
    assert given == careful or math.isnan(given.weight)
    try:
        written = given.to_item()
    except RequestError:
        return
    assert Book.from_item(written) == given or math.isnan(given.weight)


def export_line(data: bytes) -> None:
    """Read a line of an export."""
    try:
        record = parse_record(data, Path("data.json.gz"), 1)
    except ExportError:
        return
    try:
        Book.from_item(record.image)
    except (DataError, RequestError) as problem:
        str(problem)


def stream(data: bytes) -> None:
    """Read a stream's event."""
    try:
        for change in decode_changes(app, data):
            repr(change)
    except DataError as problem:
        str(problem)


def workbench(data: bytes) -> None:
    """Read a model of NoSQL Workbench."""
    content = _json(data)
    for repair in (False, True):
        try:
            read_workbench(content, repair=repair)
        except AdoptError as problem:
            str(problem)


TERRAFORM = Path(tempfile.mkdtemp(prefix="tablekit-fuzz-")) / "main.tf"


def terraform(data: bytes) -> None:
    """Read a Terraform file."""
    try:
        TERRAFORM.write_bytes(data)
        read_definitions(TERRAFORM)
    except AdoptError as problem:
        str(problem)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "key": key,
    "index_key": index_sort_key,
    "cursor": cursor,
    "answer": answer,
    "item": item,
    "export_line": export_line,
    "stream": stream,
    "workbench": workbench,
    "terraform": terraform,
}
"""The targets by name; `tests/fuzz/corpus` has a folder of seeds for each."""
