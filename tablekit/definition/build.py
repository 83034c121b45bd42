"""From what a class body says to its frozen schema: every check that can be made when the class is made."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from tablekit._types import UNSET, KeyType
from tablekit.codecs.base import Codec
from tablekit.codecs.resolve import UnsupportedAnnotation, codec_for
from tablekit.codecs.ttl import TtlCodec
from tablekit.definition.collect import Collected, CollectedField
from tablekit.definition.fields import IndexKeyDeclaration
from tablekit.definition.indexes import Index
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import (
    MARKER,
    EntitySchema,
    FieldSchema,
    IndexKeySchema,
    KeyAttribute,
    UniqueSchema,
)
from tablekit.definition.templates import Role, Template, require_lossless
from tablekit.errors import DefinitionError

__all__ = ["build_schema"]

_EMPTY_FACTORIES = (list, dict, set, frozenset, tuple)


def build_schema(
    cls: type,
    collected: Collected,
    registry: TableDefinition,
    *,
    pk: str,
    sk: str | None,
    type: str,
    aliases: tuple[str, ...],
    reserved: frozenset[str],
) -> EntitySchema:
    """Check a class and freeze what it says. Raises `DefinitionError` naming class, field and remedy."""
    _check_type(cls, type, aliases)
    fields = tuple(_field(cls, found, registry, reserved) for found in collected.fields.values())
    by_name = {item.name: item for item in fields}
    _check_attributes(cls, fields, registry)
    _check_single(cls, fields)
    pk_key = _key(cls, registry, registry.pk, pk, "pk", by_name)
    sk_key = _sort_key(cls, registry, sk, by_name)
    require_lossless(cls.__name__, *(key.template for key in (pk_key, sk_key) if key is not None))
    index_keys = {
        name: _index_key(cls, registry, name, declared, by_name, pk_key, sk_key)
        for name, declared in collected.index_keys.items()
    }
    _check_stored_names(cls, fields, registry, pk_key, sk_key)
    return EntitySchema(
        cls,
        type=type,
        aliases=aliases,
        registry=registry,
        fields=fields,
        pk=pk_key,
        sk=sk_key,
        index_keys=index_keys,
        uniques=_uniques(cls, fields, by_name, collected),
    )


def _wrong(cls: type, message: str, field: str | None = None) -> DefinitionError:
    where = f"{cls.__name__}.{field}" if field else cls.__name__
    return DefinitionError(f"{where}: {message}", owner=cls.__name__, field=field)


def _suggest(name: str, known: Mapping[str, Any] | frozenset[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


# Types


def _check_type(cls: type, type: str, aliases: tuple[str, ...]) -> None:
    if isinstance(aliases, str):
        raise _wrong(cls, f"aliases={aliases!r} is one string; give a tuple, such as aliases=({aliases!r},).")
    for name in (type, *aliases):
        if not isinstance(name, str) or not name.strip():
            raise _wrong(cls, f"the stored type {name!r} is not a name. Give a plain string that is not empty.")
    if len({type, *aliases}) != 1 + len(aliases):
        raise _wrong(cls, "the same name stands twice among type and aliases. Leave one out.")


# Fields


def _field(cls: type, found: CollectedField, registry: TableDefinition, reserved: frozenset[str]) -> FieldSchema:
    name, declared = found.name, found.declaration
    if name in reserved or name == "self":
        raise _wrong(
            cls,
            f"{name!r} is a name of the library's own on entities. Call the field otherwise and keep the stored name: "
            f'`{name}_: Field[...] = field(name="{name}")`.',
            name,
        )
    codec = _codec(cls, found)
    attribute = declared.name if declared.name is not None else name
    _check_attribute_name(cls, name, attribute)
    default = _default(cls, found)
    if declared.factory is not UNSET and default is not UNSET:
        raise _wrong(cls, "has both default= and factory=. Keep one.", name)
    if declared.factory is not UNSET and not callable(declared.factory):
        raise _wrong(cls, "factory= is not callable. Give a function without arguments, such as list.", name)
    missing = _missing(declared.on_missing, default, declared.factory, codec)
    empty = missing is not None and _is_empty(codec, missing)
    result = FieldSchema(
        cls.__name__,
        name,
        attribute,
        found.annotation,
        codec,
        declared.kind,
        default=default,
        factory=declared.factory,
        missing=missing,
        omits_none=codec.nullable and (default is None or (default is UNSET and declared.factory is UNSET)),
        omits_empty=empty,
        validators=declared.validators,
        secret=declared.secret,
        unique=declared.unique,
        marker=declared.marker,
        ring=declared.ring,
        hide_expired=declared.hide_expired,
    )
    if not 1 <= declared.ring <= 8:
        raise _wrong(cls, f"version(ring={declared.ring}) must be 1 to 8 markers.", name)
    if default is not UNSET and default is not None:
        _check_default(cls, result)
    return result


def _codec(cls: type, found: CollectedField) -> Codec[Any]:
    if found.declaration.codec is not None:
        return found.declaration.codec
    try:
        codec = codec_for(found.annotation)
    except UnsupportedAnnotation as problem:
        raise _wrong(
            cls, f"{problem} Use a supported type, or give a codec: field(codec=...).", found.name
        ) from problem
    if found.declaration.kind == "ttl":
        try:
            return TtlCodec.over(codec)
        except UnsupportedAnnotation as problem:
            raise _wrong(cls, str(problem), found.name) from problem
    return codec


def _default(cls: type, found: CollectedField) -> Any:
    default = found.declaration.default
    if isinstance(default, (list, dict, set, bytearray)):
        factory = type(default).__name__ if not default else f"lambda: {type(default).__name__}(...)"
        raise _wrong(
            cls,
            f"a {type(default).__name__} as the default would be shared by all instances. "
            f"Use field(factory={factory}).",
            found.name,
        )
    return default


def _check_default(cls: type, schema: FieldSchema) -> None:
    try:
        schema.codec.encode(schema.default)
    except Exception as problem:
        raise _wrong(cls, f"its default is no value of {schema.codec.name}: {problem}.", schema.name) from None
    if schema.codec.copy is not None and schema.codec.copy(schema.default) is not schema.default:
        try:
            hash(schema.default)
        except TypeError:
            raise _wrong(
                cls,
                "its default can be changed in place and would be shared by all instances. Use field(factory=...).",
                schema.name,
            ) from None


def _missing(on_missing: Any, default: Any, factory: Any, codec: Codec[Any]) -> Callable[[], Any] | None:
    if on_missing is not UNSET:
        return on_missing if callable(on_missing) else (lambda: on_missing)
    if default is not UNSET:
        return lambda: default
    if factory is not UNSET:
        return factory if factory in _EMPTY_FACTORIES else None
    if codec.nullable:
        return lambda: None
    return codec.empty


def _is_empty(codec: Codec[Any], missing: Callable[[], Any]) -> bool:
    try:
        return len(missing()) == 0
    except Exception:
        return False


def _check_attribute_name(cls: type, name: str, attribute: str) -> None:
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Limits.html
    if not isinstance(attribute, str) or not attribute:
        raise _wrong(cls, f"name={attribute!r} is no attribute name. Give a string that is not empty.", name)
    if "[" in attribute or "]" in attribute:
        raise _wrong(cls, f"the attribute name {attribute!r} has a bracket, which reads as a list index.", name)
    if len(attribute.encode("utf-8", "replace")) > 65535:
        raise _wrong(cls, "its attribute name is over 64 KB.", name)


def _check_attributes(cls: type, fields: tuple[FieldSchema, ...], registry: TableDefinition) -> None:
    seen: dict[str, str] = {}
    for item in fields:
        other = seen.setdefault(item.attribute, item.name)
        if other != item.name:
            raise _wrong(
                cls, f"is stored as {item.attribute!r}, and so is {other!r}. Give one another name=.", item.name
            )
        if item.attribute in (registry.type_attribute, MARKER):
            raise _wrong(
                cls,
                f"is stored as {item.attribute!r}, which tablekit writes itself. Give it another name=, "
                "or the table another type_attribute=.",
                item.name,
            )


def _check_single(cls: type, fields: tuple[FieldSchema, ...]) -> None:
    for kind in ("version", "created_at", "updated_at", "ttl"):
        found = [item.name for item in fields if item.kind == kind]
        if len(found) > 1:
            raise _wrong(cls, f"has two {kind}() fields, {found[0]!r} and {found[1]!r}. Keep one.")


def _check_stored_names(
    cls: type, fields: tuple[FieldSchema, ...], registry: TableDefinition, pk: KeyAttribute, sk: KeyAttribute | None
) -> None:
    """A field may be stored under a key attribute's name only if it is that key."""
    native = {key.attribute: key.field for key in (pk, sk) if key is not None}
    for item in fields:
        if item.attribute in registry.key_names and native.get(item.attribute) is not item:
            raise _wrong(
                cls,
                f"is stored as {item.attribute!r}, the table's key attribute, which the key template fills. "
                f"Give it another name=, or make it the key itself: '{{{item.name}}}'.",
                item.name,
            )


# Keys


def _key(
    cls: type,
    registry: TableDefinition,
    attribute: str,
    text: str,
    role: Role,
    by_name: Mapping[str, FieldSchema],
    *,
    written: bool = True,
) -> KeyAttribute:
    if not isinstance(text, str):
        raise _wrong(cls, f"the template of {attribute!r} is {text!r}; give a string such as 'WS#{{workspace_id}}'.")
    template = Template.parse(
        text,
        types={name: item.annotation for name, item in by_name.items()},
        separator=registry.separator,
        role=role,
        owner=cls.__name__,
    )
    for name in template.names:
        item = by_name[name.partition(".")[0]]
        if item.secret:
            raise _wrong(
                cls,
                f"is secret and stands in the key template {text!r}. Keys are shown in errors and logs; "
                "key the row by something else.",
                item.name,
            )
    field = _native_field(template, by_name, registry, attribute)
    if field is None:
        template.require_text()
    tag: KeyType = "S" if field is None else field.codec.key_type or "S"
    registry.claim_key_type(attribute, tag, cls.__name__)
    return KeyAttribute(attribute, tag, template, field, written=written)


def _native_field(
    template: Template, by_name: Mapping[str, FieldSchema], registry: TableDefinition, attribute: str
) -> FieldSchema | None:
    """The field whose native value the key is: a bare ``{field}`` of a key type, unless the table says S."""
    if not template.native or "." in template.names[0]:
        return None
    item = by_name[template.names[0]]
    if item.codec.key_type is None:
        return None
    if item.codec.key_type != "S" and registry.declares(attribute, "S"):
        return None
    return item


def _sort_key(
    cls: type, registry: TableDefinition, sk: str | None, by_name: Mapping[str, FieldSchema]
) -> KeyAttribute | None:
    if registry.sk is None:
        if sk is not None:
            raise _wrong(cls, f"has sk={sk!r}, and table {registry.label!r} has no sort key. Leave sk out.")
        return None
    if sk is None:
        raise _wrong(
            cls, f"has no sk=, and table {registry.label!r} has the sort key {registry.sk!r}. Give a template."
        )
    return _key(cls, registry, registry.sk, sk, "sk", by_name)


# Index keys


def _index_key(
    cls: type,
    registry: TableDefinition,
    name: str,
    declared: IndexKeyDeclaration,
    by_name: Mapping[str, FieldSchema],
    pk: KeyAttribute,
    sk: KeyAttribute | None,
) -> IndexKeySchema:
    index = registry.indexes.get(declared.index)
    if index is None:
        known = ", ".join(sorted(registry.indexes)) or "none"
        raise _wrong(
            cls,
            f"table {registry.label!r} has no index {declared.index!r} (it has: {known})."
            + _suggest(declared.index, registry.indexes),
            name,
        )
    own = {key.attribute: key for key in (pk, sk) if key is not None}
    by_attribute = {item.attribute: item for item in by_name.values()}
    parts: dict[str, tuple[KeyAttribute, ...]] = {}
    roles: tuple[tuple[Role, tuple[str, ...], Any], ...] = (
        ("index_pk", index.pk, declared.pk),
        ("index_sk", index.sk, declared.sk),
    )
    for role, attributes, templates in roles:
        texts = _index_templates(cls, name, index, role, attributes, templates)
        parts[role] = tuple(
            _index_attribute(cls, registry, name, index, role, attribute, text, by_name, by_attribute, own)
            for attribute, text in zip(attributes, texts)
        )
    return IndexKeySchema(name, index, parts["index_pk"], parts["index_sk"], *_condition(cls, name, declared, by_name))


def _index_templates(
    cls: type, name: str, index: Index, role: Role, attributes: tuple[str, ...], templates: Any
) -> tuple[str | None, ...]:
    side = "pk" if role == "index_pk" else "sk"
    if templates is None:
        return (None,) * len(attributes)
    texts = (templates,) if isinstance(templates, str) else tuple(templates)
    if len(texts) != len(attributes):
        raise _wrong(
            cls,
            f"gives {len(texts)} template(s) for {side}, and index {index.name!r} has "
            f"{len(attributes)} attribute(s) there ({', '.join(attributes) or 'none'}).",
            name,
        )
    return texts


def _index_attribute(
    cls: type,
    registry: TableDefinition,
    name: str,
    index: Index,
    role: Role,
    attribute: str,
    text: str | None,
    by_name: Mapping[str, FieldSchema],
    by_attribute: Mapping[str, FieldSchema],
    own: Mapping[str, KeyAttribute],
) -> KeyAttribute:
    if attribute in own:
        key = own[attribute]
        if text is not None and text != key.template.text:
            raise _wrong(
                cls,
                f"index {index.name!r} is keyed on the table's own {attribute!r}, whose template is "
                f"{key.template.text!r}. Leave the template out.",
                name,
            )
        return KeyAttribute(attribute, key.type, key.template, key.field, written=False)
    stored = by_attribute.get(attribute)
    if text is None:
        if stored is None:
            raise _wrong(
                cls,
                f"gives no template for {attribute!r} of index {index.name!r}, and no field is stored under that name.",
                name,
            )
        text = f"{{{stored.name}}}"
    key = _key(cls, registry, attribute, text, role, by_name, written=stored is None)
    if stored is not None and key.field is not stored:
        raise _wrong(
            cls,
            f"fills {attribute!r} of index {index.name!r} from {text!r}, and {stored.name!r} is stored there. "
            f"Leave the template out, or store the field under another name=.",
            name,
        )
    return key


def _condition(
    cls: type, name: str, declared: IndexKeyDeclaration, by_name: Mapping[str, FieldSchema]
) -> tuple[Callable[[Mapping[str, Any]], bool] | None, tuple[str, ...]]:
    when, uses = declared.when, declared.uses
    if isinstance(uses, str):
        uses = (uses,)
    if when is None:
        if uses:
            raise _wrong(cls, "has uses= without when=. Leave it out.", name)
        return None, ()
    if callable(when):
        if not uses:
            raise _wrong(
                cls, "when= is a function; say which fields it reads, so that updates know: uses=('status',).", name
            )
        _check_known(cls, name, uses, by_name)
        predicate = when
        return (lambda values: bool(predicate(_Reader(values)))), uses
    _check_known(cls, name, tuple(when), by_name)
    wanted = dict(when)
    return (lambda values: all(_holds(values.get(key), value) for key, value in wanted.items())), tuple(wanted)


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, (set, frozenset, tuple, list)):
        return value in wanted
    return bool(value == wanted)


class _Reader:
    """What a `when` function is given: the entity's fields, by attribute, whether or not an instance exists."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__values[name]
        except KeyError:
            raise AttributeError(f"{name!r} is not among the fields that uses= declares.") from None


def _check_known(cls: type, name: str, fields: tuple[str, ...], by_name: Mapping[str, FieldSchema]) -> None:
    for field in fields:
        if field not in by_name:
            raise _wrong(cls, f"names the field {field!r}, which the class has not.{_suggest(field, by_name)}", name)


# Unique values


def _uniques(
    cls: type, fields: tuple[FieldSchema, ...], by_name: Mapping[str, FieldSchema], collected: Collected
) -> tuple[UniqueSchema, ...]:
    found = [UniqueSchema(item.name, (item,)) for item in fields if item.unique]
    for name, declared in collected.uniques.items():
        if not declared.fields:
            raise _wrong(cls, "unique() names no field. Give one or more.", name)
        _check_known(cls, name, declared.fields, by_name)
        found.append(UniqueSchema(name, tuple(by_name[field] for field in declared.fields)))
    return tuple(found)
