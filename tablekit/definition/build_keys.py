"""From key templates to the frozen keys of a class: those of the table, and those in indexes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from tablekit._types import KeyType
from tablekit.codecs.base import is_a
from tablekit.definition.fields import IndexKeyDeclaration
from tablekit.definition.indexes import Index
from tablekit.definition.problems import check_known, suggest, wrong
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import FieldSchema, IndexKeySchema, KeyAttribute
from tablekit.definition.templates import Role, Template, require_lossless

__all__ = ["KeyBuilder"]

When = Callable[[Mapping[str, Any]], bool]
_ALSO = "such as also_keys=(('OLD#{doc_id}', 'META'),)"


class KeyBuilder:
    """Makes the keys of one class, and says to the table of which types they are.

    Parameters:
        cls: the class. registry: its table. type: its stored type. fields: its fields by name.
    """

    def __init__(self, cls: type[Any], registry: TableDefinition, type: str, fields: Mapping[str, FieldSchema]) -> None:
        self._cls = cls
        self._registry = registry
        self._type = type
        self._fields = fields
        self._annotations = {name: item.annotation for name, item in fields.items()}
        self._by_attribute = {item.attribute: item for item in fields.values()}

    # The primary key

    def primary(self, pk: str, sk: str | None) -> tuple[KeyAttribute, KeyAttribute | None]:
        """The keys of the table. Raises `DefinitionError`."""
        registry = self._registry
        pk_key = self._key(registry.pk, pk, "pk")
        sk_key = self._sort_key(sk)
        keys = [key for key in (pk_key, sk_key) if key is not None]
        require_lossless(self._cls.__name__, *(key.template for key in keys))
        native = {key.attribute: key.field for key in keys}
        for item in self._fields.values():
            if item.attribute in native and native[item.attribute] is not item:
                raise wrong(
                    self._cls,
                    f"is stored as {item.attribute!r}, the table's key attribute, which the key template fills. "
                    f"Give it another name=, or make the field the key itself: '{{{item.name}}}'.",
                    item.name,
                )
        for name in (name for key in keys for name in key.names):
            if self._fields[name].kind in ("version", "updated_at"):
                raise wrong(
                    self._cls,
                    "stands in the primary key and changes with each write, and a row cannot change its key. "
                    "Key the row by something that stays.",
                    name,
                )
        return pk_key, sk_key

    def also(self, declared: Any, own: tuple[KeyAttribute | None, ...]) -> tuple[tuple[KeyAttribute, ...], ...]:
        """Further keys under which rows are recognised. Raises `DefinitionError`."""
        attributes: list[tuple[str, Role]] = [(key.attribute, key.template.role) for key in own if key is not None]
        if isinstance(declared, str) or not is_a(declared, Sequence):
            raise wrong(self._cls, f"also_keys={declared!r} is no tuple of keys; give one, {_ALSO}.")
        found: list[tuple[KeyAttribute, ...]] = []
        for each in declared:
            texts: tuple[Any, ...] = (each,) if isinstance(each, str) else tuple(each)
            if len(texts) != len(attributes):
                raise wrong(
                    self._cls,
                    f"also_keys= has {each!r}, and the key of table {self._registry.label!r} has {len(attributes)} "
                    f"attribute(s). Give a template for each, {_ALSO}.",
                )
            found.append(tuple(self._key(attribute, text, role) for (attribute, role), text in zip(attributes, texts)))
        return tuple(found)

    def _sort_key(self, sk: str | None) -> KeyAttribute | None:
        registry = self._registry
        if registry.sk is None:
            if sk is not None:
                raise wrong(self._cls, f"has sk={sk!r}, and table {registry.label!r} has no sort key. Leave sk out.")
            return None
        if sk is None:
            raise wrong(
                self._cls,
                f"has no sk=, and table {registry.label!r} has the sort key {registry.sk!r}. "
                "Give a template, such as sk='META'.",
            )
        return self._key(registry.sk, sk, "sk")

    def _key(self, attribute: str, text: Any, role: Role, *, written: bool = True) -> KeyAttribute:
        if not isinstance(text, str):
            raise wrong(
                self._cls, f"the template of {attribute!r} is {text!r}; give a string such as 'WS#{{workspace_id}}'."
            )
        template = Template.parse(
            text, types=self._annotations, separator=self._registry.separator, role=role, owner=self._cls.__name__
        )
        for name in template.names:
            item = self._fields[name.partition(".")[0]]
            if item.secret:
                raise wrong(
                    self._cls,
                    f"is secret and stands in the key template {text!r}. Keys are shown in errors and logs; "
                    "key the row by something else.",
                    item.name,
                )
        field = self._native(template, attribute)
        if field is None:
            template.require_text()
        tag: KeyType = "S" if field is None else field.codec.key_type or "S"
        self._registry.claim_key_type(attribute, tag, self._cls)
        return KeyAttribute(attribute, tag, template, field, written=written)

    def _native(self, template: Template, attribute: str) -> FieldSchema | None:
        """The field whose native value the key is: a bare ``{field}`` of a key type, unless the table says S."""
        if not template.native or "." in template.names[0]:
            return None
        item = self._fields[template.names[0]]
        if item.codec.key_type is None:
            return None
        if item.codec.key_type != "S" and self._registry.declares(attribute, "S"):
            return None
        return item

    # Keys in indexes

    def indexed(
        self, declared: Mapping[str, IndexKeyDeclaration], own: tuple[KeyAttribute | None, ...]
    ) -> dict[str, IndexKeySchema]:
        """The keys in indexes, by the member's name. Raises `DefinitionError`.

        Parameters:
            own: the table's own keys, on which an index may be keyed too.
        """
        found: dict[str, IndexKeySchema] = {}
        table = {key.attribute: key for key in own if key is not None}
        for name, declaration in declared.items():
            key = self._index_key(name, declaration, table)
            for other in found.values():
                self._check_shared(key, other)
            found[name] = key
        self._check_business_attributes(table)
        return found

    def _index_key(self, name: str, declared: IndexKeyDeclaration, own: Mapping[str, KeyAttribute]) -> IndexKeySchema:
        registry = self._registry
        index = registry.indexes.get(declared.index)
        if index is None:
            known = ", ".join(sorted(registry.indexes)) or "none"
            raise wrong(
                self._cls,
                f"table {registry.label!r} has no index {declared.index!r} (it has: {known})."
                + suggest(declared.index, registry.indexes),
                name,
            )
        pk = self._side(name, index, "index_pk", index.pk, declared.pk, own)
        sk = self._side(name, index, "index_sk", index.sk, declared.sk, own)
        when, uses, condition = self._when(name, declared)
        if when is not None and not any(key.written for key in (*pk, *sk)):
            raise wrong(
                self._cls,
                f"has when=, and index {index.name!r} is keyed on attributes that the row has anyway: there is no key "
                "that could be left out. Set the field to None to leave the index, or leave when= out.",
                name,
            )
        return IndexKeySchema(name, index, pk, sk, when, uses, condition)

    def _side(
        self,
        name: str,
        index: Index,
        role: Role,
        attributes: tuple[str, ...],
        templates: Any,
        own: Mapping[str, KeyAttribute],
    ) -> tuple[KeyAttribute, ...]:
        texts: tuple[Any, ...] = (templates,) if isinstance(templates, str) else tuple(templates or ())
        if templates is None:
            texts = (None,) * len(attributes)
        if len(texts) != len(attributes):
            side = "pk" if role == "index_pk" else "sk"
            raise wrong(
                self._cls,
                f"gives {len(texts)} template(s) for {side}, and index {index.name!r} has "
                f"{len(attributes)} attribute(s) there ({', '.join(attributes) or 'none'}).",
                name,
            )
        return tuple(
            self._index_attribute(name, index, role, attribute, text, own) for attribute, text in zip(attributes, texts)
        )

    def _index_attribute(
        self, name: str, index: Index, role: Role, attribute: str, text: Any, own: Mapping[str, KeyAttribute]
    ) -> KeyAttribute:
        if attribute == self._registry.type_attribute:
            return self._fixed(name, index, attribute, text, self._type_key(attribute, role))
        if attribute in own:
            key = own[attribute]
            placed = KeyAttribute(attribute, key.type, key.template, key.field, written=False)
            return self._fixed(name, index, attribute, text, placed)
        stored = self._by_attribute.get(attribute)
        if text is None:
            if stored is None:
                raise wrong(
                    self._cls,
                    f"gives no template for {attribute!r} of index {index.name!r}, and no field is stored under that "
                    "name. Give one, or a field of that name=.",
                    name,
                )
            text = f"{{{stored.name}}}"
        key = self._key(attribute, text, role, written=stored is None)
        if stored is not None and key.field is not stored:
            raise wrong(
                self._cls,
                f"fills {attribute!r} of index {index.name!r} from {text!r}, and {stored.name!r} is stored there. "
                "Leave the template out, or store the field under another name=.",
                name,
            )
        return key

    def _fixed(self, name: str, index: Index, attribute: str, text: Any, key: KeyAttribute) -> KeyAttribute:
        """A key that the row has anyway: one of the table's own, or the type."""
        if text is not None and text != key.template.text:
            whose = "the type" if attribute == self._registry.type_attribute else "the table's own"
            raise wrong(
                self._cls,
                f"index {index.name!r} is keyed on {whose} {attribute!r}, which is {key.template.text!r}. "
                "Leave the template out.",
                name,
            )
        return key

    def _type_key(self, attribute: str, role: Role) -> KeyAttribute:
        text = self._type
        for character in "{}[]":
            text = text.replace(character, character * 2)
        return self._key(attribute, text, role, written=False)

    def _check_shared(self, key: IndexKeySchema, other: IndexKeySchema) -> None:
        """Two index keys may write one attribute only where they cannot disagree about it."""
        mine = {each.attribute: each for each in key.written}
        for theirs in other.written:
            each = mine.get(theirs.attribute)
            if each is None:
                continue
            if each.template.text != theirs.template.text or not (self._always(key) and self._always(other)):
                raise wrong(
                    self._cls,
                    f"and {other.name!r} both write {each.attribute!r}, and may write it differently. Give each an "
                    "index with attributes of its own, or both the same template without when= and without optional "
                    "fields.",
                    key.name,
                )

    def _always(self, key: IndexKeySchema) -> bool:
        """Whether every row has the key."""
        return not key.conditional and not any(self._fields[name].codec.nullable for name in key.names)

    def _check_business_attributes(self, own: Mapping[str, KeyAttribute]) -> None:
        """A field that is stored under an index's key attribute must be what DynamoDB takes there."""
        for index in self._registry.indexes.values():
            for attribute in index.keys:
                item = self._by_attribute.get(attribute)
                if item is not None and attribute not in own:
                    self._check_business_attribute(item, index)

    def _check_business_attribute(self, item: FieldSchema, index: Index) -> None:
        where = f"is stored as {item.attribute!r}, a key of index {index.name!r}"
        if item.codec.key_type is None:
            raise wrong(
                self._cls,
                f"{where}, and holds {item.codec.name}: a key is text, a number or binary. Give it another name=.",
                item.name,
            )
        if item.codec.nullable and not item.omits_none:
            raise wrong(
                self._cls,
                f"{where}, and None would be stored as NULL, which DynamoDB takes in no key. Give it default=None, "
                "with which None leaves the attribute out, or another name=.",
                item.name,
            )
        self._registry.claim_key_type(item.attribute, item.codec.key_type, self._cls)

    # Sparse indexes

    def _when(self, name: str, declared: IndexKeyDeclaration) -> tuple[When | None, tuple[str, ...], str]:
        """The predicate of `when`, the fields that it reads, and what it says in words."""
        when: Any = declared.when
        uses: Any = (declared.uses,) if isinstance(declared.uses, str) else tuple(declared.uses)
        if when is None:
            if uses:
                raise wrong(self._cls, "has uses= without when=. Leave it out.", name)
            return None, (), ""
        if callable(when):
            if not uses:
                raise wrong(
                    self._cls,
                    "when= is a function; say which fields it reads, so that updates know: uses=('status',).",
                    name,
                )
            check_known(self._cls, name, uses, self._fields)
            return _Predicate(when, uses), uses, f"a function of {', '.join(uses)} holds"
        if not is_a(when, Mapping) or not when:
            raise wrong(self._cls, "when= is neither {field: value} nor a function. Give one, or leave it out.", name)
        check_known(self._cls, name, tuple(when), self._fields)
        wanted = {field: self._wanted(name, self._fields[field], value) for field, value in when.items()}
        said = " and ".join(_said(self._fields[field], among) for field, among in wanted.items())
        return (lambda values: all(values.get(field) in among for field, among in wanted.items())), tuple(wanted), said

    def _wanted(self, name: str, item: FieldSchema, value: Any) -> tuple[Any, ...]:
        """The values of a field for which `when` holds; a collection stands for each of its members."""
        several = is_a(value, (set, frozenset, tuple, list)) and not is_a(value, item.codec.python_types)
        among: tuple[Any, ...] = tuple(value) if several else (value,)
        for each in among:
            if each is None and item.codec.nullable:
                continue
            try:
                item.codec.encode(each)
            except Exception:
                raise wrong(
                    self._cls,
                    f"when= wants {item.name!r} to be a value that is no {item.codec.name}, and so never holds. "
                    "Give a value of the field's type, or several in a set.",
                    name,
                ) from None
        return among


def _said(item: FieldSchema, among: tuple[Any, ...]) -> str:
    """Which values of a field are wanted, in words; those of a secret field are not told."""
    if item.secret:
        return f"{item.name} is as wanted"
    shown = [repr(each.value if isinstance(each, Enum) else each) for each in among]
    return f"{item.name} is {' or '.join(shown)}"


class _Predicate:
    """A `when` function over the fields that it says it reads."""

    def __init__(self, function: Callable[[Any], Any], uses: tuple[str, ...]) -> None:
        self._function = function
        self._uses = uses

    def __call__(self, values: Mapping[str, Any]) -> bool:
        return bool(self._function(_Reader({name: values[name] for name in self._uses if name in values})))


class _Reader:
    """What a `when` function is given: the entity's fields, by attribute, whether or not an instance exists."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__values[name]
        except KeyError:
            raise AttributeError(f"when= reads {name!r}, which uses= does not declare. Add it to uses=.") from None
