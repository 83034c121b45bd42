"""The generated source of scalar codecs, and how it is compiled."""

from __future__ import annotations

import linecache
import traceback
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from tablekit.codecs.base import ValueProblem
from tablekit.codecs.codegen import Names, compile_function, fast_decoder
from tablekit.codecs.numbers import create_decimal
from tablekit.codecs.resolve import codec_for


class Word(str):
    """A str of a class of its own."""

    __slots__ = ()


def encoder(annotation: Any) -> Any:
    """The encoder that is compiled from a codec's source."""
    names = Names()
    source = f"def encode(value):\n    return {codec_for(annotation).encode_source('value', names.bind)}\n"
    return compile_function("encode", source, names.namespace)


@pytest.mark.parametrize(
    ("annotation", "source", "bound"),
    [
        (str, '("" + av["S"])', {}),
        (int, 'int(av["N"], 10)', {}),
        (Decimal, 'create_decimal_0(av["N"] + "")', {"create_decimal_0": create_decimal}),
        (float, 'float(av["N"])', {}),
        (bytes, 'bytes(av["B"])', {}),
        (uuid.UUID, 'UUID_0(av["S"])', {"UUID_0": uuid.UUID}),
        (date, "decode_0(av)", {"decode_0": codec_for(date).decode}),
    ],
)
def test_the_source_that_decodes_is_readable(annotation: Any, source: str, bound: dict[str, Any]) -> None:
    """A reader of a traceback sees what is called; objects are bound under names that say what they are."""
    names = Names()
    assert codec_for(annotation).decode_source("av", names.bind) == source
    assert names.namespace == bound


def test_the_source_that_decodes_a_bool_tests_identity() -> None:
    """A stored 1 is no True; what is neither true nor false is left to a function that raises."""
    names = Names()
    source = codec_for(bool).decode_source("av", names.bind)
    assert source == '((t := av["BOOL"]) is True or (t is not False and refuse_0()))'
    with pytest.raises(ValueError, match=r"^neither true nor false$"):
        names.namespace["refuse_0"]()


def test_the_source_that_decodes_a_datetime_tests_its_form() -> None:
    """Only text of the form that tablekit writes is parsed the fast way."""
    names = Names()
    source = codec_for(datetime).decode_source("av", names.bind)
    form = '(t := av["S"])[26:] == "Z" and t[10] == "T" and t[7] == "-" and t[19] == "."'
    assert source == f"(parse_0(t) if {form} else refuse_1())"
    with pytest.raises(ValueError, match=r"^not of the form that tablekit writes$"):
        names.namespace["refuse_1"]()


@pytest.mark.parametrize(
    ("annotation", "source"),
    [
        (str, '({"S": value} if type(value) is str and value.isascii() else encode_0(value))'),
        (int, '({"N": str(value)} if type(value) is int and -1E38 < value < 1E38 else encode_0(value))'),
        (Decimal, "encode_0(value)"),
        (bool, "encode_0(value)"),
    ],
)
def test_the_source_that_encodes_is_readable(annotation: Any, source: str) -> None:
    """Plain values are written in place; everything else is left to the codec."""
    names = Names()
    assert codec_for(annotation).encode_source("value", names.bind) == source
    assert names.namespace == {"encode_0": codec_for(annotation).encode}


def test_the_source_that_encodes_a_datetime_is_readable() -> None:
    """A datetime in UTC is written in place."""
    names = Names()
    codec = codec_for(datetime)
    text = "value.isoformat('T', 'microseconds')[:26] + 'Z'"
    exact = "type(value) is datetime_1 and value.tzinfo is utc_2"
    assert codec.encode_source("value", names.bind) == f'({{"S": {text}}} if {exact} else encode_0(value))'
    assert names.namespace == {"encode_0": codec.encode, "datetime_1": datetime, "utc_2": timezone.utc}


def test_the_source_that_copies_calls_the_codecs_copy() -> None:
    """A type without a copy of its own in source has its function bound."""
    names = Names()
    codec = codec_for(Any)
    assert codec.copy_source("value", names.bind) == "copy_0(value)"
    assert names.namespace == {"copy_0": codec.copy}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, "é"),
        (str, Word("a")),
        (int, 10**38),
        (int, -(10**38)),
        (int, 10**100),
    ],
)
def test_generated_code_leaves_the_unusual_to_the_codec(annotation: Any, value: Any) -> None:
    """Text that is not ASCII, other classes, and large numbers are written the careful way."""
    assert encoder(annotation)(value) == codec_for(annotation).encode(value)


@pytest.mark.parametrize(("annotation", "value"), [(str, "\ud800"), (str, 5), (int, True), (int, "1"), (int, 10**126)])
def test_generated_code_refuses_what_the_codec_refuses(annotation: Any, value: Any) -> None:
    """The problem is the codec's own."""
    with pytest.raises(ValueProblem) as careful:
        codec_for(annotation).encode(value)
    with pytest.raises(ValueProblem) as fast:
        encoder(annotation)(value)
    assert fast.value.reason == careful.value.reason


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("decode", "decode_0"),
        ("list[int]", "list_int_0"),
        ("a.b c", "a_b_c_0"),
        ("__init__", "init_0"),
        ("XaX", "XaX_0"),
        ("größe", "gr__e_0"),
        ("...", "x_0"),
        ("", "x_0"),
    ],
)
def test_a_bound_name_is_made_from_its_hint(hint: str, name: str) -> None:
    """What is no letter, digit or underscore of ASCII becomes an underscore inside, and nothing at the ends."""
    assert Names().bind(hint, 5) == name


def test_bound_names_differ() -> None:
    """One hint gives another name each time."""
    names = Names()
    assert [names.bind("f", 1), names.bind("f", 2)] == ["f_0", "f_1"]
    assert names.namespace == {"f_0": 1, "f_1": 2}


def test_a_traceback_shows_generated_source() -> None:
    """The line that failed is printed, as from a file."""
    function = compile_function("fail", "def fail(x):\n    y = x\n    return 1 // y\n", {})
    with pytest.raises(ZeroDivisionError) as caught:
        function(0)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.name, frame.lineno, frame.line) == ("fail", 3, "return 1 // y")
    assert linecache.getlines(frame.filename) == ["def fail(x):\n", "    y = x\n", "    return 1 // y\n"]


def test_two_functions_of_one_name_keep_their_own_source() -> None:
    """Each has a file name of its own, which says that tablekit made it."""
    one, two = (compile_function("f", f"def f():\n    return {n}\n", {}) for n in (1, 2))
    assert (one(), two()) == (1, 2)
    assert one.__code__.co_filename != two.__code__.co_filename
    assert one.__code__.co_filename.startswith("<tablekit f ")
    linecache.checkcache()
    assert linecache.getline(one.__code__.co_filename, 2) == "    return 1\n"


def test_compiled_code_does_not_fill_the_names_it_was_given() -> None:
    """The namespace serves for more than one function."""
    given: dict[str, Any] = {"n": 5}
    assert compile_function("f", "def f():\n    return n\n", given)() == 5
    assert given == {"n": 5}


def test_a_fast_decoder_is_a_function_named_decode() -> None:
    """It decodes one attribute value."""
    decode = fast_decoder(codec_for(int))
    assert (decode.__name__, decode({"N": "-5"})) == ("decode", -5)
