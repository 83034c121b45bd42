"""The table: its key names, its indexes, its policies, and the entities that live in it."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

from typing_extensions import Self

from tablekit._types import Item, KeyType
from tablekit.definition.indexes import Index, LocalIndex, attribute_names
from tablekit.definition.languages import could_equal
from tablekit.definition.schema import EntitySchema, KeyAttribute
from tablekit.errors import DefinitionError, UnknownEntityType

__all__ = [
    "KeyOverlapWarning",
    "ProjectionWarning",
    "TableDefinition",
    "UnknownPolicy",
    "UntypedPolicy",
    "table_name_problem",
]

_PACKAGE = __name__.partition(".")[0] + "."

_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]+")

UnknownPolicy = Literal["raise", "skip"]
UntypedPolicy = Literal["raise", "skip", "infer"]


class KeyOverlapWarning(UserWarning):
    """Two entities of one table have keys that may coincide; the type guard protects the rows."""


class ProjectionWarning(UserWarning):
    """An index does not hold the type attribute, so that queries of it cannot give entities by themselves."""


def table_name_problem(name: str) -> str | None:
    """Why a name cannot be a table's, or None; an ARN of a table may stand for its name.

    The least length, 3, is asked where a table is created: a definition alone may stand for a table by any name.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
    """
    if name.startswith("arn:") or (len(name) <= 255 and _TABLE_NAME.fullmatch(name)):
        return None
    return "a table's name is 3 to 255 characters of A-Z, a-z, 0-9, '_', '-' and '.'; give such a name."


class TableDefinition:
    """What is known of a table before anything is sent.

    Attributes:
        pk, sk: the attributes of the primary key; `sk` is None in a table without a sort key.
        type_attribute: the attribute that holds each row's type.
        separator: what stands between the parts of a key, and so may stand in no part; None for no rule.
        indexes: by name. unknown, untyped: the policies for rows of unknown type and without a type.
        generation: counts registrations, so that plans made before one are made anew.
        consistent_reads: whether reads that do not say are strongly consistent; never those of global indexes.
    """

    consistent_reads: bool = False

    def __init__(
        self,
        name: str | Callable[[], str],
        *,
        pk: str = "PK",
        sk: str | None = "SK",
        type_attribute: str = "EntityType",
        indexes: Sequence[Index] = (),
        separator: str | None = "#",
        key_types: Mapping[str, KeyType] | None = None,
        unknown: UnknownPolicy = "raise",
        untyped: UntypedPolicy = "raise",
    ) -> None:
        self._name = name
        self.pk = pk
        self.sk = sk
        self.type_attribute = type_attribute
        self.separator = separator
        self.unknown: UnknownPolicy = unknown
        self.untyped: UntypedPolicy = untyped
        self.generation = 0
        self.entities: dict[str, EntitySchema] = {}
        self.by_type: dict[str, EntitySchema] = {}
        self._declared: dict[str, KeyType] = dict(key_types or {})
        # By attribute, then by the class that fills it: its module and qualified name.
        self._claims: dict[str, dict[str, KeyType]] = {}
        self.indexes: dict[str, Index] = {}
        self._check_own()
        for index in indexes:
            self._add_index(index)
        self._check_key_types()

    @property
    def label(self) -> str:
        """The declared name, for messages."""
        return self._name if isinstance(self._name, str) else getattr(self._name, "__name__", "table")

    @property
    def key_names(self) -> tuple[str, ...]:
        """The attributes of the primary key."""
        return (self.pk,) if self.sk is None else (self.pk, self.sk)

    def _check_own(self) -> None:
        where = f"Table {self.label!r}"
        if isinstance(self._name, str):
            problem = table_name_problem(self._name)
            if problem is not None:
                raise DefinitionError(f"{where}: {problem}", owner=self.label)
        names = [
            *attribute_names(self.key_names, where, "primary key"),
            *attribute_names(self.type_attribute, where, "type_attribute="),
        ]
        if len(set(names)) != len(names):
            raise DefinitionError(
                f"Table {self.label!r}: pk, sk and type_attribute must be three names; they are {', '.join(names)}.",
                owner=self.label,
            )
        if self.separator == "":
            raise DefinitionError(
                f"Table {self.label!r}: separator='' would let every two parts run together. "
                "Give a character, or None to check each template by its own literals.",
                owner=self.label,
            )
        if self.unknown not in ("raise", "skip"):
            raise DefinitionError(
                f"Table {self.label!r}: unknown={self.unknown!r} is no policy; take 'raise' or 'skip'.",
                owner=self.label,
            )
        if self.untyped not in ("raise", "skip", "infer"):
            raise DefinitionError(
                f"Table {self.label!r}: untyped={self.untyped!r} is no policy; take 'raise', 'skip' or 'infer'.",
                owner=self.label,
            )

    def _add_index(self, index: Index) -> None:
        if not isinstance(index, Index):
            raise DefinitionError(
                f"Table {self.label!r}: indexes= takes GlobalIndex and LocalIndex, not a {type(index).__name__}.",
                owner=self.label,
            )
        if index.name in self.indexes:
            raise DefinitionError(f"Table {self.label!r} has two indexes named {index.name!r}.", owner=self.label)
        if isinstance(index, LocalIndex):
            if self.sk is None:
                raise DefinitionError(
                    f"Table {self.label!r} has no sort key, and so can have no local index ({index.name!r}). "
                    "Use a GlobalIndex.",
                    owner=self.label,
                )
            index = index.on(self.pk)
            if self.pk in index.sk:
                raise DefinitionError(
                    f"Table {self.label!r}: the local index {index.name!r} is sorted by the partition key "
                    f"{self.pk!r}. Give it another attribute.",
                    owner=self.label,
                )
        if index.projects_type and not index.holds(self.type_attribute, self.key_names, self.type_attribute):
            warnings.warn(
                f"Index {index.name!r} of table {self.label!r} is KEYS_ONLY and holds no {self.type_attribute}: "
                "its queries give keys(), or full rows by hydrate(). Include the attribute to get entities.",
                ProjectionWarning,
                stacklevel=_stack_level(),
            )
        self.indexes[index.name] = index

    def _check_key_types(self) -> None:
        keys = {*self.key_names, *(name for index in self.indexes.values() for name in index.keys)}
        for attribute, type_ in self._declared.items():
            if attribute not in keys:
                raise DefinitionError(
                    f"Table {self.label!r}: key_types= names {attribute!r}, which is no key attribute of the table or "
                    f"of an index ({', '.join(sorted(keys))}).",
                    owner=self.label,
                )
            if type_ not in ("S", "N", "B"):
                raise DefinitionError(
                    f"Table {self.label!r}: key_types= gives {attribute!r} the type {type_!r}; a key attribute is of "
                    "type 'S', 'N' or 'B'.",
                    owner=self.label,
                )

    def key_type(self, attribute: str) -> KeyType:
        """The scalar type of a key attribute: declared, or claimed by the entities, or ``"S"``."""
        claims = iter(self._claims.get(attribute, {}).values())
        known: KeyType | None = self._declared.get(attribute) or next(claims, None)
        return "S" if known is None else known

    def declares(self, attribute: str, type: KeyType) -> bool:
        """Whether the table itself was declared with that type for a key attribute."""
        return self._declared.get(attribute) == type

    def claim_key_type(self, attribute: str, type: KeyType, claimant: type[Any]) -> None:
        """Say that a class fills a key attribute with values of a type; two claims must agree."""
        mine = _identity(claimant)
        claims = self._claims.setdefault(attribute, {})
        known = {"key_types=": self._declared[attribute]} if attribute in self._declared else claims
        for other, theirs in known.items():
            if other != mine and theirs != type:
                raise DefinitionError(
                    f"{claimant.__name__} fills the key attribute {attribute!r} of table {self.label!r} with type "
                    f"{type}, and {other.rpartition('.')[2]} with type {theirs}. A key attribute has one type: write "
                    "the number as text in the template ('{field:d}', or with a width '{field:06d}').",
                    owner=claimant.__name__,
                )
        claims[mine] = type

    @contextmanager
    def defining(self, cls: type[Any]) -> Generator[None]:
        """While a class is made: what an earlier class of its name claimed is dropped, and comes back on failure."""
        before = {attribute: dict(claims) for attribute, claims in self._claims.items()}
        for claims in self._claims.values():
            claims.pop(_identity(cls), None)
        try:
            yield
        except BaseException:
            self._claims = before
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        # By reference, as classes are: a table is one in a process, with the connections of that process.
        found = next(iter(self.entities.values()), None)
        if found is None:
            raise TypeError(
                f"Table {self.label!r} is pickled by the name of one of its classes, and has none. Import it where it "
                "is needed, or pickle its name."
            )
        return _table_of, (found.entity,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # Registration

    def register(self, schema: EntitySchema, bases: Sequence[EntitySchema]) -> None:
        """Add an entity; a class of the same module and qualified name takes the earlier one's place."""
        replaced = next((old for old in self.entities.values() if _same_class(old.entity, schema.entity)), None)
        others = [old for old in self.entities.values() if old is not replaced]
        self._check_types(schema, others)
        self._check_ttl(schema, others)
        # Before anything is changed: a warning may be an error.
        self._warn_of_overlap(schema, [old for old in others if not _related(old.entity, schema.entity)])
        if replaced is not None:
            self._forget(replaced)
        for base in bases:
            # A subclass that lives in another table is nothing that a query for the base could find.
            if base.registry is self:
                base.subclasses.append(schema)
        self.entities[schema.type] = schema
        for name in schema.own_types:
            self.by_type[name] = schema
        self.generation += 1

    def _forget(self, schema: EntitySchema) -> None:
        self.entities.pop(schema.type, None)
        for name in schema.own_types:
            if self.by_type.get(name) is schema:
                del self.by_type[name]
        for other in self.entities.values():
            if schema in other.subclasses:
                other.subclasses.remove(schema)

    def _check_types(self, schema: EntitySchema, others: Sequence[EntitySchema]) -> None:
        taken = {name.lower(): (name, other) for other in others for name in other.own_types}
        for name in schema.own_types:
            clash = taken.get(name.lower())
            if clash is None:
                continue
            theirs, other = clash
            how = "the same stored type" if theirs == name else "stored types that differ only in case"
            raise DefinitionError(
                f"{schema.name} and {other.name} of table {self.label!r} have {how}: {name!r} and {theirs!r}. "
                'Give one of them another: `type="..."`.',
                owner=schema.name,
            )

    def _check_ttl(self, schema: EntitySchema, others: Sequence[EntitySchema]) -> None:
        """A table has one TTL attribute."""
        for other in others:
            if schema.ttl is not None and other.ttl is not None and schema.ttl.attribute != other.ttl.attribute:
                raise DefinitionError(
                    f"{schema.name}.{schema.ttl.name} and {other.name}.{other.ttl.name} of table {self.label!r} are "
                    f"stored as {schema.ttl.attribute!r} and {other.ttl.attribute!r}, and a table has one TTL "
                    f"attribute. Give both one name: ttl(name={other.ttl.attribute!r}).",
                    owner=schema.name,
                    field=schema.ttl.name,
                )

    def _warn_of_overlap(self, schema: EntitySchema, others: Sequence[EntitySchema]) -> None:
        for other in others:
            if all(_may_coincide(mine, theirs) for mine, theirs in zip(schema.keys, other.keys)):
                keys = " / ".join(repr(key.template.text) for key in schema.keys)
                theirs_ = " / ".join(repr(key.template.text) for key in other.keys)
                warnings.warn(
                    f"{schema.name} ({keys}) and {other.name} ({theirs_}) of table {self.label!r} may render the same "
                    "key. The type guard keeps one from overwriting the other; a literal prefix keeps them apart.",
                    KeyOverlapWarning,
                    stacklevel=_stack_level(),
                )

    # Look-ups

    def unknown_type(self, found: str, item: Item) -> UnknownEntityType:
        """The error for a row whose type is no registered class's."""
        hint = next((known for known in self.by_type if known.lower() == found.lower()), None)
        remedy = (
            f"It differs from {hint!r} only in case; if they are the same, add aliases=({found!r},) to that class."
            if hint is not None
            else "Import the module that defines the class, add the spelling to its aliases, or query with "
            ".unknown('skip') or .raw()."
        )
        pk, sk = self.plain_key(item)
        return UnknownEntityType(
            f"The row {self.show_key(item)} of table {self.label!r} has the {self.type_attribute} {found!r}, "
            f"which no class of the table has. {remedy}",
            found=found,
            known=tuple(sorted(self.by_type)),
            pk=pk,
            sk=sk,
        )

    def plain_key(self, item: Mapping[str, Any]) -> tuple[Any, Any]:
        """The values of a row's primary key, without their wire tags."""
        pk = item.get(self.pk)
        sk = None if self.sk is None else item.get(self.sk)
        return _plain(pk), _plain(sk)

    def show_key(self, item: Mapping[str, Any]) -> str:
        """A row's key for a message."""
        pk, sk = self.plain_key(item)
        return f"{self.pk}={pk!r}" if self.sk is None else f"{self.pk}={pk!r} {self.sk}={sk!r}"

    def infer(self, item: Item) -> EntitySchema | None:
        """The one class whose key templates could have rendered a row's key; None when none or several could."""
        found = [schema for schema in self.entities.values() if schema.spelled(item) is not None]
        return found[0] if len(found) == 1 else None


def _table_of(entity: type[Any]) -> TableDefinition:
    found: TableDefinition = entity.__schema__.registry
    return found


def _identity(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _same_class(old: type[Any], new: type[Any]) -> bool:
    return _identity(old) == _identity(new)


def _stack_level() -> int:
    """How far up a warning belongs: to the first line outside this package."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


def _related(one: type, other: type) -> bool:
    return issubclass(one, other) or issubclass(other, one)


def _may_coincide(mine: KeyAttribute, theirs: KeyAttribute) -> bool:
    if mine.type != theirs.type:
        return False
    if mine.language is None or theirs.language is None:
        return True
    return could_equal(mine.language, theirs.language)


def _plain(value: Mapping[str, Any] | None) -> Any:
    # An answer that is not DynamoDB's may hold anything in place of an attribute value.
    return next(iter(value.values()), None) if isinstance(value, Mapping) else None
