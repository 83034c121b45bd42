"""Typed paths into nested classes: a stand-in records which attribute a caller's function returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablekit.errors import ExpressionError
from tablekit.expressions.paths import Path

__all__ = ["select_path"]


_PATH = "the path"


class _StandIn:
    """Stands for a value; each attribute or element of it is a stand-in one level deeper."""

    # A name with a space, so that it hides no attribute of a nested class.
    __slots__ = ("__dict__",)

    def __init__(self, path: Path) -> None:
        self.__dict__[_PATH] = path

    def __getattr__(self, name: str) -> _StandIn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _StandIn(self.__dict__[_PATH].child(name, f".{name}"))

    def __getitem__(self, key: Any) -> _StandIn:
        return _StandIn(self.__dict__[_PATH].child(key))

    __iter__: None = None


def select_path(path: Path, select: Callable[[Any], object]) -> Path:
    """The path that `select` picks inside the value at `path`.

    Raises `ExpressionError` when it returns anything but a part of what it was given.
    """
    chosen = select(_StandIn(path))
    if not isinstance(chosen, _StandIn):
        message = f"{path}.at(...) takes a function that returns an attribute of its argument, such as lambda a: a.city"
        raise ExpressionError(message, paths=[str(path)])
    path_chosen: Path = vars(chosen)[_PATH]
    return path_chosen
