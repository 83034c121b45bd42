"""The frozen record of an entity: what the rest of tablekit reads instead of the class body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tablekit._types import UNSET, AttributeValue, Item, KeyType
from tablekit.codecs.base import Codec, ValueProblem, veiled
from tablekit.codecs.compare import check_depth
from tablekit.definition.fields import Kind, Validator
from tablekit.definition.indexes import Index
from tablekit.definition.languages import Language
from tablekit.definition.templates import Template, check_key_size
from tablekit.errors import EncodeError, KeyPartError
from tablekit.expressions.paths import Path

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MARKER", "EntitySchema", "FieldSchema", "IndexKeySchema", "KeyAttribute", "UniqueSchema"]

MARKER = "_w"
"""The attribute that holds the markers of the last writes of a versioned row."""


class FieldSchema:
    """One field, checked and frozen.

    It is a plain class without ``__get__``: an attribute annotated ``Field[...]`` would look like a value
    to the type checkers.

    Attributes:
        name: the field's name. attribute: the stored attribute's name. annotation: its Python type.
        codec: how its values stand on the wire. kind: who keeps it. default, factory: for new instances.
        missing: makes what a missing attribute reads as; None where a missing attribute is an error.
        omits_none: whether None is written by leaving the attribute out; else as NULL.
        omits_empty: whether an empty set may be written by leaving the attribute out.
        secret, unique, hide_expired, marker, ring, validators: as declared.
    """

    __slots__ = (
        "annotation",
        "attribute",
        "codec",
        "default",
        "factory",
        "hide_expired",
        "kind",
        "marker",
        "missing",
        "name",
        "omits_empty",
        "omits_none",
        "owner",
        "ring",
        "secret",
        "unique",
        "validators",
    )

    def __init__(
        self,
        owner: str,
        name: str,
        attribute: str,
        annotation: Any,
        codec: Codec[Any],
        kind: Kind,
        *,
        default: Any,
        factory: Any,
        missing: Callable[[], Any] | None,
        omits_none: bool,
        omits_empty: bool,
        validators: tuple[Validator, ...] = (),
        secret: bool = False,
        unique: bool = False,
        marker: bool = True,
        ring: int = 1,
        hide_expired: bool = False,
    ) -> None:
        self.owner = owner
        self.name = name
        self.attribute = attribute
        self.annotation = annotation
        self.codec = codec
        self.kind: Kind = kind
        self.default = default
        self.factory = factory
        self.missing = missing
        self.omits_none = omits_none
        self.omits_empty = omits_empty
        self.validators = validators
        self.secret = secret
        self.unique = unique
        self.marker = marker
        self.ring = ring
        self.hide_expired = hide_expired

    @property
    def begins_late(self) -> bool:
        """Whether a row from before the class had the field is read without it: a time that no write has set yet."""
        return self.kind in ("created_at", "updated_at") and self.missing is None

    @property
    def given(self) -> bool:
        """Whether the field is the user's data, and so an ``__init__`` argument."""
        return self.kind in ("data", "ttl")

    @property
    def required(self) -> bool:
        """Whether ``__init__`` must be given the field."""
        return self.given and self.default is UNSET and self.factory is UNSET

    def encode(self, value: Any) -> AttributeValue | None:
        """The attribute value; None where the value is written by leaving the attribute out.

        Raises `EncodeError` naming entity and field.
        """
        if value is None and self.omits_none:
            return None
        try:
            encoded = self.codec.encode(value)
            if encoded is not None and self.codec.open_depth:
                check_depth(encoded)
        except ValueProblem as problem:
            raise self.refuse(problem.reason, problem.path) from None
        if encoded is None and not self.omits_empty:
            raise self.refuse(
                "an empty set cannot be stored in DynamoDB, and a missing attribute of this field does not read as "
                "one; use factory=set, or a list"
            )
        return encoded

    def refuse(self, reason: str, path: str = "") -> EncodeError:
        """The error for a value of this field."""
        path = veiled(path) if self.secret else path
        where = f"{self.owner}.{self.name}{path}"
        return EncodeError(f"{where}: {reason}.", entity=self.owner, field=self.name, path=path)

    def path(self, owner: type) -> Path:
        """The document path of the field, seen through an entity class."""
        return Path(
            owner=owner,
            field=self.name,
            segments=(self.attribute,),
            codec=self.codec,
            secret=self.secret,
            managed=not self.given,
            null=not self.omits_none,
            empty=self.omits_empty,
        )

    def __repr__(self) -> str:
        return f"FieldSchema({self.owner}.{self.name}: {self.codec.name})"


class KeyAttribute:
    """One key attribute of a table or an index, and how an entity fills it.

    Attributes:
        attribute: the stored name. type: its scalar type. template: the key template.
        field: the field whose native value it is; None for a rendered text. language: the texts that the
            template can render; None for a native key.
        written: whether tablekit writes the attribute itself; false where a field or a table key fills it.
    """

    __slots__ = ("attribute", "field", "language", "template", "type", "written")

    def __init__(
        self, attribute: str, type: KeyType, template: Template, field: FieldSchema | None, *, written: bool = True
    ) -> None:
        self.attribute = attribute
        self.type: KeyType = type
        self.template = template
        self.field = field
        self.written = written
        self.language = Language.of(template) if field is None else None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that the key is made of; dotted parts under the name of their field."""
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self.template.names))

    def render(self, values: Mapping[str, Any], entity: str) -> AttributeValue:
        """The key's attribute value. Raises `KeyPartError` for a missing, None or empty part."""
        if self.field is None:
            return {"S": self.template.render(values, entity=entity)}
        return self.native(values.get(self.field.name), entity)

    def native(self, value: Any, entity: str) -> AttributeValue:
        """The attribute value of a key that is a field's own value."""
        assert self.field is not None
        if value is None or value in ("", b""):
            state = "is missing" if value is None else "is empty"
            raise KeyPartError(
                f"{entity}: the part {self.field.name!r} of the key {self.template.text!r} {state}. "
                "Give it a value that is not empty.",
                entity=entity,
                template=self.template.text,
                part=self.field.name,
            )
        encoded = self.field.encode(value)
        assert encoded is not None
        check_key_size(encoded, self.template.role, f"{entity}.{self.field.name}")
        return encoded

    def match(self, value: AttributeValue) -> dict[str, Any] | None:
        """The fields that a stored key spells, or None when the template could not have rendered it."""
        stored = value.get(self.type)
        if stored is None:
            return None
        if self.field is None:
            return self.template.match(stored)
        try:
            return {self.field.name: self.field.codec.decode(value)}
        except Exception:
            return None


class IndexKeySchema:
    """The key of an entity in one index.

    Attributes:
        name: the member of the class. index: the index. pk, sk: its key attributes.
        names: every field that decides the key, those of `when` included. uses: the fields of `when`.
        condition: what `when` says, in words; empty without one.
    """

    __slots__ = ("_when", "condition", "index", "name", "names", "pk", "sk", "uses")

    def __init__(
        self,
        name: str,
        index: Index,
        pk: tuple[KeyAttribute, ...],
        sk: tuple[KeyAttribute, ...],
        when: Callable[[Mapping[str, Any]], bool] | None,
        uses: Iterable[str],
        condition: str = "",
    ) -> None:
        self.name = name
        self.index = index
        self.condition = condition
        self.pk = pk
        self.sk = sk
        self._when = when
        self.uses = tuple(uses)
        found = [part for key in (*pk, *sk) for part in key.names]
        self.names = tuple(dict.fromkeys((*found, *self.uses)))

    @property
    def keys(self) -> tuple[KeyAttribute, ...]:
        """All key attributes, partition key first."""
        return self.pk + self.sk

    @property
    def written(self) -> tuple[KeyAttribute, ...]:
        """The key attributes that tablekit writes."""
        return tuple(key for key in self.keys if key.written)

    @property
    def conditional(self) -> bool:
        """Whether `when` decides which rows are in the index."""
        return self._when is not None

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Whether the entity belongs in the index: `when` holds and no part is None."""
        if self._when is not None and not self._when(values):
            return False
        return all(
            _value_at(values, part.name) is not None
            for key in self.keys
            for part in key.template.parts
            if not part.optional
        )

    def excludes(self, values: Mapping[str, Any]) -> bool:
        """Whether these values alone keep the entity out of the index, whatever the other fields are."""
        if self._when is not None and all(name in values for name in self.uses) and not self._when(values):
            return True
        return any(
            part.name.partition(".")[0] in values and _value_at(values, part.name) is None
            for key in self.keys
            for part in key.template.parts
            if not part.optional
        )

    def render(self, values: Mapping[str, Any], entity: str) -> Item | None:
        """The attributes that tablekit writes for the index; None when the entity is not in it."""
        if not self.applies(values):
            return None
        return {key.attribute: key.render(values, entity) for key in self.written}


def _value_at(values: Mapping[str, Any], name: str) -> Any:
    head, *rest = name.split(".")
    value = values.get(head)
    for part in rest:
        if value is None:
            return None
        value = getattr(value, part, None)
    return value


class UniqueSchema:
    """Fields whose values together are unique among the rows of an entity."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: tuple[FieldSchema, ...]) -> None:
        self.name = name
        self.fields = fields


class EntitySchema:
    """Everything about an entity class that the rest of tablekit needs, made once with the class.

    Attributes:
        entity: the class. name: its name. type: the stored type. aliases: old spellings of it.
        registry: the table. fields: in the order of declaration. pk, sk: the primary key.
        index_keys: by the name of the member. uniques: unique values. key_fields: the fields of the primary key.
        also_keys: further keys under which rows of the class are recognised, and never written.
        version, created_at, updated_at, ttl: the managed fields, or None.
        mutable: the fields whose values can change in place. subclasses: schemas of registered subclasses.
        internal: whether reads that name no class leave its rows out, as those of a counter.
        refusal: why queries, batches and writes of transactions do not take the class; None where they do.
        creating: what makes a row that is missing, for messages.
    """

    def __init__(
        self,
        entity: type,
        *,
        type: str,
        aliases: tuple[str, ...],
        registry: Any,
        fields: tuple[FieldSchema, ...],
        pk: KeyAttribute,
        sk: KeyAttribute | None,
        index_keys: Mapping[str, IndexKeySchema],
        uniques: tuple[UniqueSchema, ...],
        also_keys: tuple[tuple[KeyAttribute, ...], ...] = (),
    ) -> None:
        self.entity = entity
        self.name = entity.__name__
        self.type = type
        self.aliases = aliases
        self.registry = registry
        self.fields = fields
        self.by_name = {item.name: item for item in fields}
        self.by_attribute = {item.attribute: item for item in fields}
        self.pk = pk
        self.sk = sk
        self.keys: tuple[KeyAttribute, ...] = (pk,) if sk is None else (pk, sk)
        self.also_keys = also_keys
        self.index_keys = dict(index_keys)
        self.uniques = uniques
        self.key_fields = frozenset(name for key in self.keys for name in key.names)
        self.version = _of_kind(fields, "version")
        self.created_at = _of_kind(fields, "created_at")
        self.updated_at = _of_kind(fields, "updated_at")
        self.ttl = _of_kind(fields, "ttl")
        self.mutable = tuple(item for item in fields if item.codec.copy is not None)
        self.subclasses: list[Self] = []
        self.known = frozenset(
            [registry.type_attribute, MARKER]
            + [item.attribute for item in fields]
            + [key.attribute for key in self.keys]
            + [key.attribute for index_key in index_keys.values() for key in index_key.keys]
        )
        self.compiled: dict[str, Any] = {}
        self.internal = False
        self.refusal: str | None = None
        self.creating = "Create it first"

    @property
    def own_types(self) -> tuple[str, ...]:
        """The stored type and its aliases."""
        return (self.type, *self.aliases)

    @property
    def types(self) -> tuple[str, ...]:
        """The stored types that count as this class: its own, and those of registered subclasses."""
        found = list(self.own_types)
        for subclass in self.subclasses:
            found.extend(subclass.own_types)
        return tuple(dict.fromkeys(found))

    @property
    def marker(self) -> bool:
        """Whether writes of the entity carry a write marker."""
        return self.version is not None and self.version.marker

    def spelled(self, item: Mapping[str, AttributeValue]) -> dict[str, Any] | None:
        """The fields that a row's key spells, by the first templates that could have rendered it; None without any."""
        for keys in (self.keys, *self.also_keys):
            found = _spelled(keys, item)
            if found is not None:
                return found
        return None

    def key_of(self, values: Mapping[str, Any]) -> Item:
        """The primary key that the templates render. Raises `KeyPartError`."""
        return {key.attribute: key.render(values, self.name) for key in self.keys}

    def __reduce__(self) -> tuple[Any, ...]:
        # By reference, as its class is.
        return _schema_of, (self.entity,)

    def __repr__(self) -> str:
        return f"EntitySchema({self.name}, type={self.type!r})"


def _schema_of(entity: type[Any]) -> EntitySchema:
    found: EntitySchema = entity.__schema__
    return found


def _spelled(keys: Iterable[KeyAttribute], item: Mapping[str, AttributeValue]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for key in keys:
        stored = item.get(key.attribute)
        parts = None if stored is None else key.match(stored)
        if parts is None or any(found.setdefault(name, value) != value for name, value in parts.items()):
            return None
    return found


def _of_kind(fields: tuple[FieldSchema, ...], kind: Kind) -> FieldSchema | None:
    return next((item for item in fields if item.kind == kind), None)


def attribute_owner(schema: EntitySchema, attribute: str) -> str:
    """The field that stores an attribute, for messages; the attribute itself where none does."""
    found = schema.by_attribute.get(attribute)
    return attribute if found is None else found.name
