"""Secret fields and credentials stand in no text that tablekit makes: values, keys of maps, whatever shows them."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from tablekit import Entity, Field, Table, field, version
from tests.support.stub import StubTransport, error, ok

VALUE, NAME = "zz-the-value", "zz-the-name"
"""What must not be seen: values of secret fields, and keys of secret maps."""

app = Table("vault")


@attrs.define
class Card:
    """A value inside a secret field."""

    number: str


class User(Entity, table=app, pk="USER#{user_id}", sk="META"):
    """A row whose fields are secret, each of another type."""

    user_id: Field[str]
    password: Field[str] = field(default="", secret=True)
    tokens: Field[dict[str, str]] = field(factory=dict, secret=True)
    card: Field[Card | None] = field(default=None, secret=True)
    answers: Field[list[str]] = field(factory=list, secret=True)
    free: Field[Any] = field(default=None, secret=True)
    groups: Field[set[str]] = field(factory=set, secret=True)
    plain: Field[str] = field(default="")

    revision = version()


def user(**changes: Any) -> User:
    """A user with a secret in each field."""
    secrets: dict[str, Any] = {
        "password": VALUE,
        "tokens": {NAME: VALUE},
        "card": Card(VALUE),
        "answers": [VALUE],
        "free": {NAME: [VALUE]},
        "groups": {VALUE},
    }
    return User(user_id="1", **{**secrets, **changes})


def key() -> Any:
    """The key of the user."""
    return User.key(user_id="1")


def in_transaction() -> None:
    """A write and a check in a transaction."""
    with app.transaction() as tx:
        tx.update(key(), User.tokens[NAME].set(VALUE))
        tx.check(User.key(user_id="2"), User.tokens[NAME] == VALUE)


def in_batch() -> None:
    """A put in a batch."""
    with app.batch(unversioned=True) as batch:
        batch.put(user())


WRITES: list[Callable[[], Any]] = [
    lambda: user().put(),
    lambda: user().create(),
    lambda: key().update(User.password.set(VALUE)),
    lambda: key().update(User.tokens.set({NAME: VALUE})),
    lambda: key().update(User.tokens[NAME].set(VALUE)),
    lambda: key().update(User.tokens[NAME].remove()),
    lambda: key().update(User.card.set(Card(VALUE))),
    lambda: key().update(User.answers[0].set(VALUE)),
    lambda: key().update(User.answers.append([VALUE])),
    lambda: key().update(User.groups.add({VALUE})),
    lambda: key().update(User.free[NAME].set(VALUE)),
    lambda: key().update(User.plain.set("x"), condition=User.tokens[NAME] == VALUE),
    lambda: key().update(User.plain.set("x"), condition=User.free[NAME].exists()),
    lambda: key().delete(condition=User.password.is_in([VALUE, "b"])),
    lambda: key().delete(condition=User.password.begins_with(VALUE) & User.answers.contains(VALUE)),
    in_transaction,
    in_batch,
]

ROW = {
    "PK": {"S": "USER#1"},
    "SK": {"S": "META"},
    "EntityType": {"S": "User"},
    "user_id": {"S": "1"},
    "password": {"S": VALUE},
    "tokens": {"M": {NAME: {"S": VALUE}}},
    "revision": {"N": "3"},
}


@pytest.fixture
def vault(stub: StubTransport) -> Iterator[StubTransport]:
    """The table over a scripted DynamoDB, with keys that would be seen."""
    for operation in ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"):
        stub.always(operation, ok())
    with app.bound(port=stub.port(aws_access_key_id="id", aws_secret_access_key=VALUE, aws_session_token=NAME)):
        yield stub


def hides(*texts: str) -> bool:
    """Whether no secret stands in any of the texts."""
    return not any(secret in text for text in texts for secret in (VALUE, NAME))


@pytest.mark.parametrize("write", WRITES)
def test_no_form_of_a_planned_write_shows_a_secret(vault: StubTransport, write: Callable[[], Any]) -> None:
    """Text, command, code, repr and the request itself are masked; `to_wire` and `reveal` are not."""
    with app.dry_run() as plan:
        write()
    (planned,) = plan.requests
    shown = planned.explain()
    assert hides(str(plan), repr(plan), planned.text, planned.aws_cli, planned.boto3, repr(planned))
    assert hides(str(shown), repr(shown), repr(shown.request), repr(planned.request))
    assert not hides(repr(planned.to_wire()))
    assert not hides(planned.explain(reveal=True).text)


def test_no_form_of_a_query_shows_a_secret() -> None:
    """A filter on a secret field, and on a key inside one."""
    shown = app.query(User, user_id="1").where(User.tokens[NAME] == VALUE, User.password == VALUE).explain()
    assert hides(shown.text, shown.aws_cli, shown.boto3, repr(shown), repr(shown.request))


@pytest.mark.parametrize(
    "part",
    [
        *(User.tokens[NAME], User.free[NAME]),
        *(User.tokens[NAME] == VALUE, User.password == VALUE, User.tokens[NAME].set(VALUE)),
    ],
)
def test_a_part_of_an_expression_shows_no_secret(part: object) -> None:
    """Columns, conditions and actions are printed by the users' own logs."""
    assert hides(repr(part), str(part))


def test_a_masked_name_is_still_the_right_one(vault: StubTransport) -> None:
    """What is sent names the key; a plain attribute of the same name keeps its own placeholder."""
    key().update(User.tokens["plain"].set("x"), User.plain.set("y"))
    (wire,) = vault.sent("UpdateItem")
    names = wire["ExpressionAttributeNames"]
    assert sorted(name for name, attribute in names.items() if attribute == "plain") == ["#plain", "#secret"]
    assert wire["UpdateExpression"].startswith("SET #tokens.#secret = :tokens, #plain = :plain")


def test_no_repr_of_an_entity_shows_a_secret() -> None:
    """As text, in a format, in a list, copied and pickled: the pickle itself holds everything."""
    entity = user()
    twins = [entity, copy.copy(entity), copy.deepcopy(entity), pickle.loads(pickle.dumps(entity))]
    assert hides(repr(twins), str(entity), f"{entity}", f"{entity!r:>400}")
    assert VALUE.encode() in pickle.dumps(entity)


BAD: list[dict[str, Any]] = [
    {"password": 5},
    {"tokens": {NAME: 5}},
    {"tokens": {NAME: "\ud800"}},
    {"tokens": {NAME: VALUE, 5: VALUE}},
    {"answers": [VALUE, 5]},
    {"free": {NAME: object()}},
    {"free": {NAME: {NAME: {1}, "x": {NAME: {1, "x"}}}}},
    {"groups": {VALUE, "\ud800"}},
    {"free": {NAME: VALUE * 40_000}},
]
REFUSED: list[Callable[[], Any]] = [
    *[(lambda changes=changes: user(**changes).put()) for changes in BAD],
    lambda: key().update(User.tokens[NAME].set(5)),  # type: ignore[arg-type]
    lambda: key().update(User.free[NAME].set(object())),
    lambda: key().update(User.tokens[NAME].set("x"), User.tokens[NAME].remove()),
    lambda: key().update(User.tokens.set({}), User.tokens[NAME].remove()),
    lambda: key().update(User.tokens[NAME][NAME].set("x")),  # type: ignore[index]
]


@pytest.mark.parametrize("call", REFUSED)
def test_no_refusal_shows_a_secret(vault: StubTransport, call: Callable[[], Any]) -> None:
    """The error says the field, and where inside it only as far as no key of a map is named."""
    with pytest.raises(Exception, match=r"User|attribute") as caught:
        call()
    assert told(caught.value)


def told(problem: BaseException) -> bool:
    """Whether an error's text, arguments, attributes and chain hide the secrets, traceback lines apart."""
    chain = "".join(line for line in traceback.format_exception_only(problem))
    causes = [str(cause) for cause in (problem.__cause__,) if cause is not None]
    return hides(chain, repr(problem), repr(problem.args), repr(getattr(problem, "path", "")), *causes)


@pytest.mark.parametrize("name", ["password", "tokens", "answers", "groups", "card", "revision"])
def test_a_row_that_cannot_be_read_shows_no_secret(vault: StubTransport, name: str) -> None:
    """A decode error names row and attribute, and no key of a secret map."""
    bad = {"M": {NAME: {"N": "1"}, "x": {"S": VALUE}}} if name != "password" else {"L": [{"S": VALUE}]}
    vault.script("GetItem", ok({"Item": {**ROW, name: bad}}))
    with pytest.raises(Exception, match=name) as caught:
        User.get(user_id="1")
    assert told(caught.value)


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("UpdateItem", lambda: key().update(User.plain.set("x"), condition=User.tokens[NAME] == VALUE)),
        ("PutItem", lambda: user().create()),
        ("DeleteItem", lambda: key().delete(version=1)),
    ],
)
def test_a_failed_condition_shows_no_secret(vault: StubTransport, operation: str, call: Callable[[], Any]) -> None:
    """The stored row is kept as data, ``.item`` and ``.stored``, and stands in no text."""
    vault.script(operation, error("ConditionalCheckFailedException", Item=ROW))
    with pytest.raises(Exception, match="User") as caught:
        call()
    assert told(caught.value)
    assert caught.value.item == ROW  # type: ignore[attr-defined]


def test_logs_hold_no_contents(vault: StubTransport, caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, tablekit's own loggers name operation, table and attempts, and nothing of rows or credentials."""
    with caplog.at_level(logging.DEBUG, logger="tablekit"), app.meter() as meter:
        for write in WRITES:
            write()
        vault.script("GetItem", ok({"Item": ROW}))
        User.get(user_id="1")
    records = [record for record in caplog.records if record.name.startswith("tablekit")]
    assert len(records) > len(WRITES)
    assert hides(*(record.getMessage() + repr(record.args) for record in records))
    assert hides(str(meter), repr(meter), repr(vars(meter)))


def test_credentials_stand_in_no_repr(vault: StubTransport) -> None:
    """Tables, sessions, ports and settings are printed by frameworks and debuggers."""
    app.session().port.send  # noqa: B018  (there is one)
    shown = [app, app.binding, app.session(), app.session().port, app.binding.settings, app.query(User, user_id="1")]
    assert hides(*(repr(each) + str(each) for each in shown))
    user().put()
    assert hides(repr(app.session().port))


def test_the_secret_of_cursors_stands_in_no_repr() -> None:
    """Nor is it in the plan, the query, or an error about a cursor."""
    sealed = Table("sealed", cursor_secret=VALUE)
    assert hides(repr(sealed), str(sealed), repr(sealed.binding))
