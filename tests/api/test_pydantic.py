"""Entities in pydantic models and in FastAPI."""

from __future__ import annotations

import asyncio
import enum
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from typing import Annotated, Any

import attrs
import httpx
import pytest
from fastapi import Body, FastAPI
from pydantic import BaseModel, TypeAdapter, ValidationError

from tablekit import DefinitionError, Entity, Field, Table, field, ttl, version
from tablekit.api.pydantic_bridge import pydantic_model

app = Table("pydantic")


class Status(enum.Enum):
    """How far a document is."""

    DRAFT = "draft"
    DONE = "done"


@attrs.define
class Place:
    """A nested value, which pydantic does not know by itself."""

    street: str
    number: int = 1


def positive(_entity: Any, attribute: Any, value: Any) -> None:
    """Refuses what is not above zero."""
    if value is not None and value <= 0:
        raise ValueError(f"{attribute.name} must be above zero")


class Memo(Entity, table=app, pk="M#{memo_id}", sk="META"):
    """A row with what pydantic has to be told of."""

    memo_id: Field[str]
    status: Field[Status] = field(default=Status.DRAFT)
    price: Field[Decimal | None] = field(default=None, validator=positive)
    tags: Field[set[str]] = field(factory=set)
    place: Field[Place | None] = field(default=None)
    others: Field[list[Place]] = field(factory=list)
    token: Field[str] = field(default="", secret=True)
    expires_at: Field[datetime | None] = ttl(default=None)
    revision = version()


MEMO = TypeAdapter(Memo)


def test_importing_tablekit_does_not_import_pydantic() -> None:
    """It is asked for by pydantic itself, when a model names an entity."""
    program = "import sys, tablekit; print('pydantic' in sys.modules or 'pydantic_core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_json_becomes_an_entity_and_json_again() -> None:
    """Enums, sets, nested classes and times pass both ways."""
    text = """{"memo_id": "1", "status": "done", "price": "1.50", "tags": ["a"], "place": {"street": "x"},
               "others": [{"street": "y", "number": 2}], "expires_at": "2030-01-01T00:00:00Z"}"""
    memo = MEMO.validate_json(text)

    assert memo == Memo(
        memo_id="1",
        status=Status.DONE,
        price=Decimal("1.50"),
        tags={"a"},
        place=Place("x"),
        others=[Place("y", 2)],
        expires_at=datetime(2030, 1, 1, tzinfo=timezone.utc),
    )
    assert MEMO.validate_json(MEMO.dump_json(memo)) == memo


def test_an_entity_is_taken_as_it_is() -> None:
    """A loaded entity stays loaded."""
    memo = Memo(memo_id="1")
    assert MEMO.validate_python(memo) is memo


def test_secret_fields_go_in_and_not_out() -> None:
    """A token can be given, and no answer holds it."""
    memo = MEMO.validate_python({"memo_id": "1", "token": "t0p"})

    assert memo.token == "t0p"
    assert b"t0p" not in MEMO.dump_json(memo)


def test_managed_fields_go_out_and_are_not_taken() -> None:
    """What was sent out can come back; the version stays tablekit's."""
    stored = Memo.from_item({**Memo(memo_id="1").to_item(), "revision": {"N": "7"}})
    sent = MEMO.dump_python(stored, mode="json")

    assert sent["revision"] == 7
    assert MEMO.validate_python(sent).revision == 0


@pytest.mark.parametrize(
    ("given", "place", "reason"),
    [
        ({}, ("memo_id",), "Field required"),
        ({"memo_id": "1", "titel": "x"}, ("titel",), "Extra inputs are not permitted"),
        ({"memo_id": 1}, ("memo_id",), "valid string"),
        ({"memo_id": "1", "others": [{}]}, ("others", 0, "street"), "Field required"),
        ({"memo_id": "1", "price": "-1"}, (), "price must be above zero"),
        ({"memo_id": "1", "price": "1" * 39}, ("price",), "Memo.price"),
        ({"memo_id": "1", "expires_at": "2030-01-01T00:00:00"}, ("expires_at",), "aware datetime"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(given: dict[str, Any], place: tuple[Any, ...], reason: str) -> None:
    """Also what a validator of the entity refuses, and what no row can hold."""
    with pytest.raises(ValidationError) as caught:
        MEMO.validate_python(given)
    (error,) = caught.value.errors()
    assert error["loc"][: len(place)] == place
    assert reason in error["msg"]


def test_json_schema_says_what_goes_in_and_what_comes_out() -> None:
    """Required and default values, read-only managed fields, and no secret ones in answers."""
    given, sent = MEMO.json_schema(), MEMO.json_schema(mode="serialization")

    assert (given["title"], given["required"], given["additionalProperties"]) == ("Memo", ["memo_id"], False)
    assert given["properties"]["token"]["writeOnly"]
    assert given["properties"]["revision"]["readOnly"]
    assert "token" not in sent["properties"]


def test_a_model_of_pydantic_may_hold_entities() -> None:
    """As a field, and in containers."""

    class Folder(BaseModel):
        memos: list[Memo]

    folder = Folder.model_validate({"memos": [{"memo_id": "1"}]})
    assert folder.memos == [Memo(memo_id="1")]
    assert '"memo_id":"1"' in folder.model_dump_json()


def test_a_model_is_made_of_an_entity_for_a_request() -> None:
    """With the user's fields only; for an update all of them may be left out."""
    change = pydantic_model(Memo, "MemoChange", exclude={"memo_id"}, optional=True)

    assert change(tags=["a"]).model_dump(exclude_unset=True) == {"tags": {"a"}}
    assert "revision" not in change.model_fields
    whole = pydantic_model(Memo)(memo_id="1", place={"street": "x"})
    assert Memo(**whole.model_dump(exclude={"place"})) == Memo(memo_id="1")
    with pytest.raises(DefinitionError, match="no field 'nothing'"):
        pydantic_model(Memo, exclude={"nothing"})


web = FastAPI()


@web.post("/memos", response_model=Memo)
def create_memo(memo: Annotated[Memo, Body()]) -> Memo:
    """Gives back what it is given."""
    return memo


@web.get("/memos")
def list_memos() -> list[Memo]:
    """Two memos."""
    return [Memo(memo_id="1", token="t0p"), Memo(memo_id="2")]


def ask(method: str, path: str, **options: Any) -> httpx.Response:
    """An answer of the web app."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=web)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def test_fastapi_takes_an_entity_as_body_and_as_answer() -> None:
    """`response_model` and return annotations both."""
    assert ask("POST", "/memos", json={"memo_id": "1", "token": "t0p"}).json()["memo_id"] == "1"
    assert ask("POST", "/memos", json={"memo_id": 1}).status_code == 422
    answer = ask("GET", "/memos")
    assert [memo["memo_id"] for memo in answer.json()] == ["1", "2"]
    assert "t0p" not in answer.text


def test_fastapi_documents_entities() -> None:
    """They are components of the OpenAPI document."""
    components = ask("GET", "/openapi.json").json()["components"]["schemas"]
    assert any(name.startswith("Memo") for name in components)
