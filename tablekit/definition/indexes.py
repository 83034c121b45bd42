"""Secondary indexes as a table declares them."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, Literal, Union

from tablekit.errors import DefinitionError

__all__ = ["GlobalIndex", "Index", "LocalIndex"]

Projection = Union[Literal["ALL", "KEYS_ONLY"], Sequence[str]]

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GlobalSecondaryIndex.html
_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def attribute_names(value: str | Sequence[str] | None, owner: str, role: str) -> tuple[str, ...]:
    """The attribute names of one side of a key, checked. Raises `DefinitionError`."""
    if value is None:
        return ()
    # What is no sequence is refused below, as one name that is no string.
    names: tuple[Any, ...] = tuple(value) if _is_several(value) else (value,)
    for name in names:
        # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
        if not isinstance(name, str) or not 1 <= len(name.encode("utf-8", "replace")) <= 255:
            raise DefinitionError(
                f"{owner}: its {role} names the attribute {name!r}; the name of a key attribute is a string of 1 to "
                "255 bytes.",
                owner=owner,
            )
    return names


class Index:
    """What global and local secondary indexes have in common.

    Attributes:
        name: the index's name. pk: the attributes of its partition key. sk: those of its sort key.
        projection: ``"ALL"``, ``"KEYS_ONLY"``, or the names of the attributes an INCLUDE projection holds.
        projects_type: whether an INCLUDE projection holds the type attribute beside these names.
        local: whether it is a local index.
    """

    local: bool = False

    def __init__(
        self,
        name: str,
        pk: str | Sequence[str] | None,
        sk: str | Sequence[str] | None,
        projection: Projection,
        projects_type: bool,
    ) -> None:
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise DefinitionError(
                f"The index name {name!r} is not one that DynamoDB takes: 3 to 255 letters, digits, '_', '-' and '.'.",
                owner=str(name),
            )
        self.name = name
        self.pk = attribute_names(pk, f"Index {name!r}", "partition key")
        self.sk = attribute_names(sk, f"Index {name!r}", "sort key")
        if len(set(self.keys)) < len(self.keys):
            raise DefinitionError(
                f"Index {name!r}: one attribute stands twice in its key ({', '.join(self.keys)}).", owner=name
            )
        named = isinstance(projection, str)
        if not (projection in ("ALL", "KEYS_ONLY") if named else _is_several(projection)):
            raise DefinitionError(
                f"Index {name!r}: projection={projection!r} is not known. Give 'ALL', 'KEYS_ONLY', "
                "or a list of attribute names to include.",
                owner=name,
            )
        self.projection: Literal["ALL", "KEYS_ONLY"] | tuple[str, ...] = (
            projection if isinstance(projection, str) else tuple(dict.fromkeys(projection))  # type: ignore[assignment]
        )
        if projection == "ALL" and not projects_type:
            raise DefinitionError(
                f"Index {name!r}: an index that holds all attributes holds the type, and projects_type=False says that "
                "it does not. Take one of the two away.",
                owner=name,
            )
        self.projects_type = projects_type

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes of the index's own key."""
        return self.pk + self.sk

    def holds(self, attribute: str, table_keys: Sequence[str], type_attribute: str) -> bool:
        """Whether the index holds an attribute: by its projection, or as part of a key."""
        if self.projection == "ALL" or attribute in self.keys or attribute in table_keys:
            return True
        if self.projection == "KEYS_ONLY":
            return False
        return attribute in self.projection or (attribute == type_attribute and self.projects_type)

    def __repr__(self) -> str:
        typed = "" if self.projects_type else ", projects_type=False"
        keys = f"pk={self.pk!r}, sk={self.sk!r}"
        return f"{type(self).__name__}({self.name!r}, {keys}, projection={self.projection!r}{typed})"


class GlobalIndex(Index):
    """A global secondary index: ``GlobalIndex("GSI1", pk="GSI1PK", sk="GSI1SK")``.

    Parameters:
        name: the index's name, 3 to 255 characters.
        pk: the attribute of its partition key, or up to four of them (multi-attribute keys).
        sk: the attribute of its sort key, or up to four of them, or None.
        projection: ``"ALL"`` (default), ``"KEYS_ONLY"``, or the attributes to include. An INCLUDE
            projection gets the type attribute by itself; a KEYS_ONLY index holds no type, so that queries
            of it give keys or full rows by `hydrate`, and the table warns about it.
        projects_type: False says that the index is known to hold no type: one that others made with an INCLUDE
            projection is then read as a KEYS_ONLY index is, and the table does not warn.
    """

    def __init__(
        self,
        name: str,
        pk: str | Sequence[str],
        sk: str | Sequence[str] | None = None,
        *,
        projection: Projection = "ALL",
        projects_type: bool = True,
    ) -> None:
        super().__init__(name, pk, sk, projection, projects_type)
        if not self.pk:
            raise DefinitionError(f"Index {name!r} has no partition key: pk= names no attribute.", owner=name)
        for role, names in (("partition key", self.pk), ("sort key", self.sk)):
            if len(names) > 4:
                raise DefinitionError(
                    f"Index {name!r}: its {role} has {len(names)} attributes; DynamoDB takes at most 4.", owner=name
                )


class LocalIndex(Index):
    """A local secondary index: another sort key for the table's own partitions.

    Parameters:
        name: the index's name, 3 to 255 characters.
        sk: the attribute of its sort key.
        projection, projects_type: as for `GlobalIndex`.
    """

    local = True

    def __init__(self, name: str, sk: str, *, projection: Projection = "ALL", projects_type: bool = True) -> None:
        super().__init__(name, None, sk, projection, projects_type)
        if len(self.sk) != 1:
            raise DefinitionError(f"Index {name!r}: a local index has one sort key attribute.", owner=name)

    def on(self, pk: str) -> LocalIndex:
        """The same index with the table's partition key filled in; one declaration may serve several tables."""
        placed = copy.copy(self)
        placed.pk = (pk,)
        return placed
