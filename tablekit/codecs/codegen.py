"""Functions compiled from the source that codecs give."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable
from typing import Any, TypeVar

from tablekit._types import AttributeValue
from tablekit.codecs.base import Codec

__all__ = ["Names", "compile_function", "fast_decoder"]

T = TypeVar("T")
_serial = itertools.count(1)


class Names:
    """The names under which generated code sees objects.

    Attributes:
        namespace: name to object, the globals of the generated function.
    """

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}

    def bind(self, hint: str, target: Any) -> str:
        """A name for an object: made from `hint`, unlike every other name."""
        stem = re.sub(r"\W", "_", hint, flags=re.ASCII).strip("_") or "x"
        name = f"{stem}_{len(self.namespace)}"
        self.namespace[name] = target
        return name


def compile_function(name: str, source: str, namespace: dict[str, Any]) -> Any:
    """The function `name` that `source` defines, with its text kept for tracebacks."""
    filename = f"<tablekit {name} {next(_serial)}>"
    scope = dict(namespace)
    # The source is made of codecs' own text, of repr()s of names, and of bound names.
    exec(compile(source, filename, "exec"), scope)  # noqa: S102
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return scope[name]


def fast_decoder(codec: Codec[T]) -> Callable[[AttributeValue], T]:
    """A function of one attribute value that runs a codec's `decode_source`.

    It raises on values that are valid but spelled unlike tablekit's own; ask `decode` then.
    """
    names = Names()
    source = codec.decode_source("av", names.bind)
    function: Callable[[AttributeValue], T] = compile_function(
        "decode", f"def decode(av):\n    return {source}\n", names.namespace
    )
    return function
