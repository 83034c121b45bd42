"""Entity to item and item to entity, by functions generated for each class.

The generated functions do no checking of their own: they take the short way for the row that is as it should
be, and on any exception a careful function goes through the fields one by one and says which one is wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tablekit._types import AttributeValue, Item
from tablekit.codecs.base import ValueProblem, veiled
from tablekit.codecs.codegen import Names, compile_function
from tablekit.definition.entity import BASE, EXTRA, MARKERS, PARTIAL, STORED_KEY, EntityBase, copied
from tablekit.definition.schema import MARKER, EntitySchema, FieldSchema, KeyAttribute
from tablekit.errors import DecodeError, LimitExceeded, PartialEntity
from tablekit.wire.sizes import ITEM_LIMIT, attribute_sizes, item_size, size_bound

__all__ = ["check_size", "decode_partial", "decoder", "encode_item", "extra_attributes", "measured_item", "remember"]

Decoder = Callable[[Item], Any]
Encoder = Callable[[Mapping[str, Any]], Item]


class _Source(Names):
    """Lines of a generated function, and the objects that it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def add(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def compile(self, name: str) -> Any:
        return compile_function(name, "\n".join((*self.lines, "")), self.namespace)


# Item to entity


def decoder(schema: EntitySchema) -> Decoder:
    """The function that makes an entity of a whole item; generated once for a class."""
    found = schema.compiled.get("decode")
    if found is None:
        found = schema.compiled["decode"] = _generate_decoder(schema)
    return found


def _generate_decoder(schema: EntitySchema) -> Decoder:
    source = _Source()
    new = source.bind("new", object.__new__)
    cls = source.bind("cls", schema.entity)
    careful = source.bind("careful", partial(decode_carefully, schema))
    source.add(0, "def decode(item):")
    source.add(1, "try:")
    source.add(2, f"self = {new}({cls})")
    source.add(2, "d = self.__dict__")
    counted = {key.attribute for key in schema.keys}
    counted |= {item.attribute for item in schema.fields if item.missing is None and not item.begins_late}
    source.add(2, f"n = {len(counted)}")
    spelled = _spelled_fields(schema)
    for item in schema.fields:
        if item.name in spelled:
            _decode_spelled(source, schema, item, counted=item.attribute in counted)
        else:
            _decode_field(source, item, counted=item.attribute in counted)
    for attribute in _optional_attributes(schema):
        keep = f"d[{MARKERS!r}] = item[{attribute!r}]; " if attribute == MARKER else ""
        source.add(2, f"if {attribute!r} in item: {keep}n += 1")
    _remember_base(source, schema)
    source.add(2, f"if len(item) != n: {source.bind('extra', partial(_keep_extra, schema))}(d, item)")
    _check_keys(source, schema)
    source.add(1, "except Exception:")
    source.add(2, f"self = {careful}(item)")
    if _overrides(schema, "after_load"):
        source.add(1, "self.after_load()")
    source.add(1, "return self")
    return source.compile("decode")  # type: ignore[no-any-return]


def _decode_field(source: _Source, item: FieldSchema, *, counted: bool) -> None:
    if item.begins_late:
        source.add(2, f"v = item.get({item.attribute!r})")
        source.add(2, f"if v is not None: d[{item.name!r}] = {item.codec.decode_source('v', source.bind)}; n += 1")
        return
    if item.missing is None:
        expression = item.codec.decode_source(f"item[{item.attribute!r}]", source.bind)
        source.add(2, f"d[{item.name!r}] = {expression}")
        return
    source.add(2, f"v = item.get({item.attribute!r})")
    source.add(2, f"if v is None: d[{item.name!r}] = {source.bind('missing', item.missing)}()")
    count = "" if counted else "; n += 1"
    source.add(2, f"else: d[{item.name!r}] = {item.codec.decode_source('v', source.bind)}{count}")


def _spelled_fields(schema: EntitySchema) -> frozenset[str]:
    """The fields that a key spells and is not itself: rows of other writers may have them in the key alone."""
    every = [key for keys in (schema.keys, *schema.also_keys) for key in keys]
    return frozenset(
        name
        for key in every
        if key.field is None or key.field.attribute != key.attribute
        for name in key.template.names
    )


def _decode_spelled(source: _Source, schema: EntitySchema, item: FieldSchema, *, counted: bool) -> None:
    from_key = source.bind("from_key", partial(_from_key, schema, item))
    # Kept in a variable as well: the check of the key reads it again.
    into = f"d[{item.name!r}] = {_local(item.name)} ="
    source.add(2, f"v = item.get({item.attribute!r})")
    source.add(2, f"if v is None: {into} {from_key}(item){'; n -= 1' if counted else ''}")
    source.add(2, f"else: {into} {item.codec.decode_source('v', source.bind)}{'' if counted else '; n += 1'}")


def _from_key(schema: EntitySchema, field: FieldSchema, item: Item) -> Any:
    """The value of a field that the row has in its key only, or that a missing attribute reads as; else KeyError."""
    spelled = schema.spelled(item) or {}
    if field.name in spelled:
        return spelled[field.name]
    if field.missing is None:
        raise KeyError(field.attribute)
    return field.missing()


def _optional_attributes(schema: EntitySchema) -> list[str]:
    """Attributes that a row may have beside its fields: the type, written index keys, and the markers."""
    fields = {item.attribute for item in schema.fields}
    found = [schema.registry.type_attribute]
    found += [key.attribute for index_key in schema.index_keys.values() for key in index_key.written]
    if schema.version is not None:
        found.append(MARKER)
    return [name for name in dict.fromkeys(found) if name not in fields]


def _remember_base(source: _Source, schema: EntitySchema) -> None:
    parts: list[str] = []
    for item in schema.mutable:
        value = f"d[{item.name!r}]"
        copy = item.codec.copy_source(value, source.bind)
        parts.append(f"None if {value} is None else {copy}" if item.codec.nullable else copy)
    source.add(2, f"d[{BASE!r}] = ({', '.join(parts)}{',' if parts else ''})")


def _check_keys(source: _Source, schema: EntitySchema) -> None:
    """Keep the stored key where the templates would render another: a row of an older or foreign writer."""
    tests: list[str] = []
    known = {item.name for item in schema.fields} & _spelled_fields(schema)
    for key in schema.keys:
        if key.field is not None:
            if key.field.attribute != key.attribute:
                tests.append(f"item[{key.attribute!r}] != item[{key.field.attribute!r}]")
            continue
        expression = key.template.equals_source(source.bind, _local)
        if expression is not None:
            for name in key.template.names:
                if name not in known:
                    source.add(2, f"{_local(name)} = d[{name!r}]")
                    known.add(name)
        else:
            expression = f"{source.bind('render', _renderer(key, schema))}(d)"
        tests.append(f"item[{key.attribute!r}]['S'] != {expression}")
    if tests:
        keep = source.bind("keep_key", partial(_keep_key, schema))
        source.add(2, f"if {' or '.join(tests)}: {keep}(d, item)")


def _local(field: str) -> str:
    """The variable of the generated decoder that holds a key field's value."""
    return f"f_{field}"


def _renderer(key: KeyAttribute, schema: EntitySchema) -> Callable[[Mapping[str, Any]], str | None]:
    def render(values: Mapping[str, Any]) -> str | None:
        try:
            return key.template.render(values, entity=schema.name)
        except ValueError:
            return None

    return render


def _keep_extra(schema: EntitySchema, own: dict[str, Any], item: Item) -> None:
    extra = {name: value for name, value in item.items() if name not in schema.known}
    if extra:
        own[EXTRA] = extra


def _keep_key(schema: EntitySchema, own: dict[str, Any], item: Item) -> None:
    own[STORED_KEY] = {key.attribute: item[key.attribute] for key in schema.keys}


def _overrides(schema: EntitySchema, hook: str) -> bool:
    root = getattr(schema.entity, "__root__", object)
    return getattr(schema.entity, hook, None) is not getattr(root, hook, None)


def _blank(schema: EntitySchema) -> Any:
    """An instance of the class without any field, its ``__init__`` not run."""
    blank: Any = object.__new__
    return blank(schema.entity)


def decode_carefully(schema: EntitySchema, item: Item) -> Any:
    """Decode field by field. Raises `DecodeError` naming entity, attribute and key for the first bad one."""
    self = _blank(schema)
    own: dict[str, Any] = self.__dict__
    for field in schema.fields:
        if field.attribute in item or not field.begins_late:
            own[field.name] = _decode_value(schema, field, item)
    remember(schema, own)
    if MARKER in item:
        own[MARKERS] = item[MARKER]
    _keep_extra(schema, own, item)
    _keep_foreign_key(schema, own, item)
    return self


def _decode_value(schema: EntitySchema, field: FieldSchema, item: Item) -> Any:
    value = item.get(field.attribute)
    if value is None:
        with contextlib.suppress(KeyError):
            return _from_key(schema, field, item)
        raise _bad(
            schema, field, item, "the attribute is missing, and the field has no default that says what it means"
        ) from None
    try:
        return field.codec.decode(value)
    except ValueProblem as problem:
        raise _bad(schema, field, item, f"{problem.reason}", problem.path) from None
    except Exception as error:
        # The original may print the value, so it is named and not chained.
        raise _bad(
            schema, field, item, f"the stored {_tag(value)} is no {field.codec.name} ({type(error).__name__})"
        ) from None


def _tag(value: AttributeValue) -> str:
    # An answer that is not DynamoDB's may hold anything in place of an attribute value.
    return str(next(iter(value), "value")) if isinstance(value, dict) else "value"


def _bad(schema: EntitySchema, field: FieldSchema, item: Item, reason: str, path: str = "") -> DecodeError:
    pk, sk = schema.registry.plain_key(item)
    path = veiled(path) if field.secret else path
    return DecodeError(
        f"{schema.name}.{field.name}{path} (attribute {field.attribute!r}) of the row "
        f"{schema.registry.show_key(item)} cannot be read: {reason}. Mend the row, or give the field a codec or "
        "on_missing= that allows it; query.raw() gives the row as it is.",
        entity=schema.name,
        field=field.name,
        attribute=field.attribute,
        pk=pk,
        sk=sk,
    )


def _keep_foreign_key(schema: EntitySchema, own: dict[str, Any], item: Item) -> None:
    try:
        rendered: Item | None = schema.key_of(own)
    except ValueError:
        rendered = None
    stored = {key.attribute: item[key.attribute] for key in schema.keys if key.attribute in item}
    if len(stored) == len(schema.keys) and stored != rendered:
        own[STORED_KEY] = stored


def remember(schema: EntitySchema, own: dict[str, Any]) -> None:
    """Take the present values as the loaded ones."""
    own[BASE] = tuple(copied(item, own.get(item.name)) for item in schema.mutable)


def decode_partial(schema: EntitySchema, item: Item, attributes: Iterable[str]) -> Any:
    """An entity of which only some attributes were read; the others raise `NotLoaded`.

    Fields of the primary key and of index keys are parsed back from the keys where the key spells them.
    """
    self = _blank(schema)
    own: dict[str, Any] = self.__dict__
    held = set(attributes)
    for field in schema.fields:
        if field.attribute in held:
            own[field.name] = _decode_value(schema, field, item)
    for key in (*schema.keys, *(key for index_key in schema.index_keys.values() for key in index_key.keys)):
        stored = item.get(key.attribute)
        for name, value in (key.match(stored) or {}).items() if stored is not None else ():
            if "." not in name:
                own.setdefault(name, value)
    own[PARTIAL] = frozenset(field.name for field in schema.fields if field.name in own)
    remember(schema, own)
    _keep_foreign_key(schema, own, item)
    return self


# Entity to item


def encode_item(
    schema: EntitySchema,
    values: Mapping[str, Any],
    *,
    key: Item | None = None,
    extra: Mapping[str, AttributeValue] | None = None,
) -> Item:
    """The whole item of an entity: keys, type, fields, index keys.

    Parameters:
        values: field name to value, the managed fields included.
        key: the key to write under, where it is not the one the templates render.
        extra: attributes of the row that the class does not declare.

    Raises `EncodeError`, `KeyPartError`, `PartialEntity`, `LimitExceeded`.
    """
    return measured_item(schema, values, key=key, extra=extra)[0]


def measured_item(
    schema: EntitySchema,
    values: Mapping[str, Any],
    *,
    key: Item | None = None,
    extra: Mapping[str, AttributeValue] | None = None,
) -> tuple[Item, int]:
    """The whole item of an entity, as `encode_item`, and a bound of its size, as `size_bound`."""
    item: Item = dict(key) if key is not None else schema.key_of(values)
    item[schema.registry.type_attribute] = {"S": schema.type}
    encode = schema.compiled.get("encode")
    if encode is None:
        encode = schema.compiled["encode"] = _generate_encoder(schema)
    try:
        encode(values, item)
    except Exception:
        _encode_carefully(schema, values, item)
    for index_key in schema.index_keys.values():
        rendered = index_key.render(values, schema.name)
        if rendered:
            item.update(rendered)
    if extra:
        for name, value in extra.items():
            item.setdefault(name, value)
    return item, check_size(item, schema.name)


def extra_attributes(entity: EntityBase) -> Mapping[str, AttributeValue] | None:
    """The attributes of a loaded entity's row that its class does not declare."""
    return entity.__dict__.get(EXTRA)


def _generate_encoder(schema: EntitySchema) -> Callable[[Mapping[str, Any], Item], None]:
    source = _Source()
    source.add(0, "def encode(d, item):")
    for field in schema.fields:
        source.add(1, f"v = d[{field.name!r}]")
        indent = 1
        if field.omits_none:
            source.add(1, "if v is not None:")
            indent = 2
        expression = field.codec.encode_source("v", source.bind)
        if field.codec.open_depth:
            # Its own encode measures how deep the value is.
            expression = f"{source.bind('field', field.encode)}(v)"
        if field.codec.tags & {"SS", "NS", "BS"} or not field.codec.tags:
            source.add(indent, f"a = {expression}")
            # The field's own encode tells an empty set that may be left out from one that may not.
            source.add(indent, f"if a is None: a = {source.bind('field', field.encode)}(v)")
            source.add(indent, f"if a is not None: item[{field.attribute!r}] = a")
        else:
            source.add(indent, f"item[{field.attribute!r}] = {expression}")
    if not schema.fields:
        source.add(1, "pass")
    return source.compile("encode")  # type: ignore[no-any-return]


def _encode_carefully(schema: EntitySchema, values: Mapping[str, Any], item: Item) -> None:
    missing = [field.name for field in schema.fields if field.name not in values]
    if missing:
        raise PartialEntity(
            f"This {schema.name} was loaded in part, without {', '.join(missing)}; writing it as a whole would erase "
            "what was not loaded. Read the whole row with refresh(), or change single fields with save() or update().",
            entity=schema.name,
            missing=missing,
        ) from None
    for field in schema.fields:
        encoded = field.encode(values[field.name])
        if encoded is not None:
            item[field.attribute] = encoded


def check_size(item: Item, entity: str) -> int:
    """Refuse an item over 400 KB, naming its heaviest attributes; gives at least its size."""
    bound = size_bound(item)
    if bound <= ITEM_LIMIT:
        return bound
    size = item_size(item)
    if size <= ITEM_LIMIT:
        return size
    heavy = ", ".join(f"{name} ({bytes_:,} bytes)" for name, bytes_ in list(attribute_sizes(item).items())[:3])
    raise LimitExceeded(
        f"This {entity} is {size:,} bytes as an item, and DynamoDB stores at most {ITEM_LIMIT:,}. "
        f"The largest attributes: {heavy}. Split the entity, or keep the large part elsewhere, as in S3, and its "
        "address here.",
        limit=ITEM_LIMIT,
        actual=size,
    )
