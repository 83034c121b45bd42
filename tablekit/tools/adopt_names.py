"""Names for classes and fields, from stored names and from the labels of keys."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection

from tablekit.api.entity import Entity

__all__ = ["class_name", "counted", "field_name", "member_name", "unused"]

_USED = (
    "Any Decimal Entity Field GlobalIndex Literal LocalIndex Table datetime enum field index_key ttl self source aio "
    "entity_type str int bool bytes list dict set"
)
"""What a written class body refers to, and what no field may hide."""
RESERVED = frozenset(_USED.split()) | {name for name in dir(Entity) if not name.startswith("_")}
_DULL = frozenset(["meta", "metadata", "info", "details", "detail", "data", "root", "profile", "a", "main"])
"""Labels that say nothing of what a row is."""


def words(text: str) -> list[str]:
    """The words of a name in any style: ``LOGIN_LINK``, ``loginLink``, ``login-link``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return [word for word in re.split(r"[^A-Za-z0-9]+", parted) if word]


def field_name(attribute: str) -> str:
    """The name of the field for an attribute: the same where it is a name in small letters already."""
    if attribute.isidentifier() and attribute.isascii() and attribute.islower() and attribute[0] != "_":
        name = attribute
    else:
        name = "_".join(words(attribute)).lower() or "attribute"
    if name[0].isdigit():
        name = f"n_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def class_name(labels: Collection[str]) -> str:
    """The name of a class, from a type or from the labels of its keys; ``""`` where they have no words."""
    telling = [label for label in labels if label.strip("\"' #").lower() not in _DULL]
    found = [word for label in (telling or labels) for word in words(label)][:4]
    name = "".join(word[0].upper() + (word[1:].lower() if word.isupper() else word[1:]) for word in found)
    if not name:
        return ""
    if name[0].isdigit():
        name = f"T{name}"
    taken = keyword.iskeyword(name) or name in RESERVED or hasattr(builtins, name)
    return f"{name}Row" if taken else name


def member_name(value: str) -> str:
    """The name of an enum's member for a value; ``""`` where it has no words."""
    name = "_".join(words(value)).upper()
    if not name:
        return ""
    return f"V_{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in ("NAME", "VALUE", "MRO") else name


def counted(number: int, word: str) -> str:
    """A number with its word: 1 row, 2 rows."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def unused(name: str, taken: Collection[str]) -> str:
    """The name, or with a number where it is taken."""
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}" if name[0].islower() else f"{name}{number}", number + 1
    return found
