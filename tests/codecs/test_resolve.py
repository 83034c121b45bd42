"""From annotations to codecs."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, NewType, TypeVar

import pytest
from typing_extensions import TypeAliasType

from tablekit.codecs import resolve
from tablekit.codecs.base import Codec, UnsupportedAnnotation, ValueProblem
from tablekit.codecs.custom import custom_codec
from tablekit.codecs.resolve import codec_for, register_codec

UserId = NewType("UserId", str)
Names = TypeAliasType("Names", list[str])
T = TypeVar("T")
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | str | Decimal | bool | None")


class Money:
    """A user's type, in cents."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.cents == other.cents

    __hash__ = None


MONEY: Codec[Money] = custom_codec(encode=lambda money: money.cents, decode=Money, tag="N", python_type=Money)


@pytest.fixture
def registry(monkeypatch):
    """The process-wide registry, put back afterwards."""
    monkeypatch.setattr(resolve, "_registered", {})
    monkeypatch.setattr(resolve, "_cache", {})


@pytest.mark.parametrize(
    ("annotation", "same_as"),
    [
        (UserId, str),
        (Names, list[str]),
        (Annotated[int, "a note"], int),
        (list, list[Any]),
        (dict, dict[str, Any]),
        (tuple, tuple[Any, ...]),
        (Pair[int], tuple[int, int]),
    ],
)
def test_names_for_types_are_looked_through(annotation, same_as):
    """NewType, aliases and Annotated stand for what they name."""
    assert codec_for(annotation).name == codec_for(same_as).name


def test_an_alias_may_contain_itself():
    """The type of JSON documents has a codec."""
    codec = codec_for(Json)
    value = {"a": [Decimal("1.5"), None, {"b": True}], "c": "x"}
    assert codec.decode(codec.encode(value)) == value
    assert codec.copy is not None
    assert codec.copy(value)["a"] is not value["a"]
    with pytest.raises(ValueProblem):
        codec.encode({"a": [1.5]})


def test_a_codec_is_made_once():
    """Equal annotations share one codec."""
    assert codec_for(list[int]) is codec_for(list[int])


@pytest.mark.parametrize("annotation", [complex, Callable[[], int], T, "str", type, range, list["int"], object()])
def test_an_unsupported_annotation_says_so(annotation):
    """What has no codec is refused when the class is made, with a reason."""
    with pytest.raises(UnsupportedAnnotation) as caught:
        codec_for(annotation)
    assert caught.value.reason


def test_a_codec_stands_in_the_annotation():
    """Annotated carries a codec for one field."""
    codec = codec_for(list[Annotated[Money, MONEY]])
    assert codec.decode(codec.encode([Money(5)])) == [Money(5)]


@pytest.mark.usefixtures("registry")
def test_a_registered_codec_holds_everywhere():
    """A type of the user's own is known once it is registered, also deep inside."""
    with pytest.raises(UnsupportedAnnotation, match="register_codec"):
        codec_for(dict[str, Money])
    register_codec(Money, MONEY)
    assert codec_for(dict[str, Money | None]).encode({"a": Money(5)}) == {"M": {"a": {"N": "5"}}}


def test_overrides_hold_for_one_call():
    """A table may store a built-in type otherwise, without changing it for others."""
    epoch = custom_codec(
        encode=lambda when: int(when.timestamp()),
        decode=lambda seconds: dt.datetime.fromtimestamp(seconds, dt.timezone.utc),
        tag="N",
        python_type=dt.datetime,
    )
    when = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    codec = codec_for(list[dt.datetime], overrides={dt.datetime: epoch})
    assert codec.encode([when]) == {"L": [{"N": "1704067200"}]}
    assert codec.decode(codec.encode([when])) == [when]
    assert codec_for(list[dt.datetime]).encode([when]) == {"L": [{"S": "2024-01-01T00:00:00.000000Z"}]}


def test_a_custom_codec_checks_its_types():
    """The value's class, the plain form, and failures of the functions are all told without the value."""
    broken = custom_codec(encode=lambda money: money.cents, decode=Money, python_type=Money)
    for call, value in [(MONEY.encode, 5), (broken.encode, Money(77)), (MONEY.decode, {"S": "77"})]:
        with pytest.raises(ValueProblem, match=r"Money|number") as caught:
            call(value)
        assert "77" not in str(caught.value)


def test_a_custom_codecs_own_failure_is_a_problem():
    """What a user's function raises is the cause, and its name is told."""
    failing = custom_codec(encode=lambda _: 1 // 0, decode=lambda _: 1 // 0, python_type=Money)
    with pytest.raises(ValueProblem, match="ZeroDivisionError") as caught:
        failing.encode(Money(1))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ValueProblem, match="ZeroDivisionError"):
        failing.decode({"S": "a"})


def test_problems_are_picklable():
    """Errors travel between processes with reason and path."""
    problem = pickle.loads(pickle.dumps(ValueProblem("is wrong", "[1]")))
    assert (problem.reason, problem.path) == ("is wrong", "[1]")
