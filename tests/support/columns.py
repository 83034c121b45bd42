"""Columns of a made-up class, for tests of expressions alone."""

from __future__ import annotations

from typing import Any

from tablekit.codecs.resolve import codec_for
from tablekit.expressions.columns import Column
from tablekit.expressions.conditions import Condition
from tablekit.expressions.paths import Path
from tablekit.wire.rendering import Renderer


class Document:
    """The class that the columns claim to belong to."""


def column(name: str, annotation: Any, **flags: Any) -> Column[Any]:
    """A column of `Document`, stored under its own name."""
    return Column(Path(Document, name, (name,), codec_for(annotation), **flags))


def condition_text(condition: Condition) -> str:
    """A condition's text, with each placeholder replaced by what it stands for."""
    renderer = Renderer()
    return resolve(renderer.render_condition(condition), renderer)


def update_text(*actions: Any) -> str:
    """An update's text, with each placeholder replaced by what it stands for."""
    renderer = Renderer()
    return resolve(renderer.render_update(actions), renderer)


def resolve(text: str, renderer: Renderer) -> str:
    """An expression with names as they are stored and values as their bare content."""
    spelled = {":" + key[1:]: _bare(av) for key, av in (renderer.values or {}).items()} | (renderer.names or {})
    for placeholder in sorted(spelled, key=len, reverse=True):
        text = text.replace(placeholder, spelled[placeholder])
    return text


def _bare(av: dict[str, Any]) -> str:
    (value,) = av.values()
    return repr(value)
