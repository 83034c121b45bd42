"""How a definition error is worded: class and field first, then what is wrong and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from tablekit.errors import DefinitionError

__all__ = ["check_known", "suggest", "wrong"]


def wrong(cls: type[Any], message: str, field: str | None = None) -> DefinitionError:
    """The error for a class, or for one of its members."""
    where = f"{cls.__name__}.{field}" if field else cls.__name__
    return DefinitionError(f"{where}: {message}", owner=cls.__name__, field=field)


def suggest(name: str, known: Collection[str]) -> str:
    """A hint at the known name that is most like one; empty when none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def check_known(cls: type[Any], name: str, fields: Collection[str], known: Mapping[str, Any]) -> None:
    """Refuse a member that names a field which the class has not."""
    for field in fields:
        if field not in known:
            raise wrong(cls, f"names the field {field!r}, which the class has not.{suggest(field, known)}", name)
