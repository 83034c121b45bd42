"""The lock: what the classes say of stored rows, kept in a file, so that a change that orphans rows is seen.

The file is written by `write_lock` and kept with the code. `check_lock` compares the classes with it and says in
words what each change would do to the rows that are there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from tablekit.codecs.base import Codec
from tablekit.codecs.choices import EnumCodec, LiteralCodec
from tablekit.codecs.containers import ListCodec, MapCodec
from tablekit.codecs.nested import NestedCodec
from tablekit.codecs.unions import OptionalCodec
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema, FieldSchema
from tablekit.errors import TablekitError

__all__ = ["LOCK_NAME", "Change", "LockError", "check_lock", "describe", "lock_text", "write_lock"]

LOCK_NAME = "tablekit.lock.json"
_VERSION = 1


class LockError(TablekitError):
    """The lock file cannot be read."""


@attrs.frozen
class Change:
    """One change of the classes since the lock was written.

    Attributes:
        entity: the stored type concerned, or ``""`` for the table. what: the change. consequence: what it does to the
            rows that are there, and the way round. severity: ``"error"`` when rows are orphaned or misread.
    """

    entity: str
    what: str
    consequence: str
    severity: Literal["error", "note"] = "error"

    def __str__(self) -> str:
        return f"{self.entity or 'table'}: {self.what}. {self.consequence}"


def describe(app: TableDefinition) -> dict[str, Any]:
    """What is locked of an app, as plain data in a stable order."""
    return {
        "version": _VERSION,
        "table": {"pk": app.pk, "sk": app.sk, "type_attribute": app.type_attribute, "separator": app.separator},
        "indexes": {
            name: {"pk": list(index.pk), "sk": list(index.sk), "local": index.local}
            for name, index in sorted(app.indexes.items())
        },
        "entities": {schema.type: _entity(schema) for schema in sorted(app.entities.values(), key=lambda s: s.type)},
    }


def _entity(schema: EntitySchema) -> dict[str, Any]:
    return {
        "class": schema.name,
        "aliases": sorted(schema.aliases),
        "keys": {key.attribute: key.template.text for key in schema.keys},
        "index_keys": {
            index_key.index.name: {key.attribute: key.template.text for key in index_key.keys}
            for _, index_key in sorted(schema.index_keys.items())
        },
        "when": {each.index.name: each.condition for each in schema.index_keys.values() if each.conditional},
        "fields": {
            field.attribute: _field(field) for field in sorted(schema.fields, key=lambda field: field.attribute)
        },
    }


def _field(field: FieldSchema) -> dict[str, Any]:
    found = _value(field.name, field.codec, required=field.missing is None, within=frozenset())
    if field.unique:
        found["unique"] = True
    return found


def _value(name: str, codec: Codec[Any], *, required: bool, within: frozenset[type[Any]]) -> dict[str, Any]:
    """What is locked of a field, of an entity or of a class that is nested in one.

    Parameters:
        within: the classes that it stands in; one that contains itself is described once.
    """
    found: dict[str, Any] = {
        "field": name,
        "tags": sorted(codec.tags),
        "type": codec.name,
        "required": required,
    }
    values = _choices(codec)
    if values is not None:
        found["values"] = values
    nested = _nested(codec)
    if nested is not None and nested.cls not in within:
        found["fields"] = {
            each.attribute: _value(each.name, each.codec, required=each.required, within=within | {nested.cls})
            for each in sorted(nested.fields(), key=lambda each: each.attribute)
        }
    return found


def _nested(codec: Codec[Any]) -> NestedCodec | None:
    """The class whose values a field holds, by itself or in lists and maps."""
    while True:
        if isinstance(codec, NestedCodec):
            return codec
        if isinstance(codec, OptionalCodec):
            codec = codec.inner
        elif isinstance(codec, ListCodec):
            codec = codec.item
        elif isinstance(codec, MapCodec):
            codec = codec.value
        else:
            return None


def _choices(codec: Codec[Any]) -> list[str] | None:
    """The stored values that an enum or a Literal reads; None of another type."""
    inner = codec.inner if isinstance(codec, OptionalCodec) else codec
    if not isinstance(inner, (EnumCodec, LiteralCodec)):
        return None
    return sorted(map(repr, inner.wire_values))


def lock_text(app: TableDefinition) -> str:
    """What the lock of an app holds."""
    return json.dumps(describe(app), indent=2, ensure_ascii=False) + "\n"


def write_lock(app: TableDefinition, path: str | Path = LOCK_NAME) -> Path:
    """Write the lock of an app; gives the file."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.part")
    temporary.write_text(lock_text(app), encoding="utf-8")
    temporary.replace(target)
    return target


def check_lock(app: TableDefinition, path: str | Path = LOCK_NAME) -> list[Change]:
    """What changed in the classes since the lock was written. Raises `LockError` for a file that is none."""
    source = Path(path)
    try:
        locked = json.loads(source.read_text(encoding="utf-8"))
        if locked["version"] != _VERSION:
            raise LockError(f"{source} was written by another version of tablekit; write it anew.")
        return _compare(locked, describe(app))
    except FileNotFoundError:
        raise LockError(f"There is no {source}. Write it with `tablekit lock`, and keep it with the code.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockError(f"{source} is no lock of tablekit. Write it anew with `tablekit lock`.") from None


def _compare(locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    found = [
        Change("", f"{name} was {locked['table'][name]!r} and is {value!r}", "No stored row is found any more.")
        for name, value in present["table"].items()
        if locked["table"].get(name) != value
    ]
    for name, index in locked["indexes"].items():
        if name not in present["indexes"]:
            found.append(Change("", f"index {name} is gone", "Queries that used it have to be moved.", "note"))
        elif present["indexes"][name] != index:
            found.append(Change("", f"the key of index {name} changed", "Its rows are not found by the new key."))
    return found + _entities(locked["entities"], present["entities"])


def _entities(locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    spellings = {alias: name for name, entity in present.items() for alias in entity["aliases"]}
    found: list[Change] = []
    for name, entity in locked.items():
        if name in present:
            found += _entity_changes(name, entity, present[name])
        elif name in spellings:
            found += _entity_changes(spellings[name], entity, present[spellings[name]])
        else:
            found.append(
                Change(
                    name,
                    "no class has this type any more",
                    "Its rows become UnknownEntityType. If the class was renamed, keep the old name: "
                    f"aliases=({name!r},), or type={name!r}.",
                )
            )
    for name, entity in present.items():
        for alias in entity["aliases"]:
            if alias in locked and name in locked:
                found.append(
                    Change(
                        name,
                        f"takes over the type {alias!r} of another class",
                        "Rows of the old class are read as the new one.",
                    )
                )
    return found + _reused(locked, present)


def _reused(locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    """Types that another class has now, while the class that had them is still there under another type."""
    types = {entity["class"]: name for name, entity in present.items()}
    found: list[Change] = []
    for name, entity in locked.items():
        before = entity.get("class")
        now = present.get(name, {}).get("class", before)
        if before != now and before in types:
            found.append(
                Change(
                    name,
                    f"the type was of {before} and is of {now}, while {before} has the type {types[before]!r}",
                    f"Rows of {before} are read as {now}. Give {now} a type that no stored row has.",
                )
            )
    return found


def _entity_changes(name: str, locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    found: list[Change] = []
    gone = [alias for alias in locked["aliases"] if alias not in present["aliases"] and alias != name]
    found += [
        Change(name, f"the alias {alias!r} is gone", "Rows under the old spelling become unknown.") for alias in gone
    ]
    for attribute, template in locked["keys"].items():
        now = present["keys"].get(attribute)
        if now != template:
            found.append(
                Change(
                    name,
                    f"the key {attribute} was {template!r} and is {now!r}",
                    "Rows that are there lie under the old key and are not found by get, update and delete. Keep the "
                    "template, or move the rows first.",
                )
            )
    found += _index_key_changes(name, locked["index_keys"], present["index_keys"])
    if "when" in locked:  # a lock of an earlier form has none
        found += _when_changes(name, locked, present)
    return found + _field_changes(name, locked["fields"], present["fields"])


def _index_key_changes(name: str, locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    found: list[Change] = []
    for index, keys in locked.items():
        now = present.get(index)
        if now is None:
            found.append(
                Change(name, f"its key in index {index} is gone", "Rows keep their old keys there, which go stale.")
            )
        elif now != keys:
            found.append(
                Change(
                    name,
                    f"its key in index {index} changed",
                    "Rows that are there lie under the old key until they are written again: run the backfill of index "
                    "keys.",
                )
            )
    found += [
        Change(
            name,
            f"its key in index {index} is new",
            "Rows that are there are not in the index until they are written again: run the backfill of index keys.",
            "note",
        )
        for index in present
        if index not in locked
    ]
    return found


def _when_changes(name: str, locked: Mapping[str, Any], present: Mapping[str, Any]) -> list[Change]:
    """Indexes, of those that the rows had keys in and have, that other rows belong in now."""
    kept = [index for index in locked["index_keys"] if index in present["index_keys"]]
    conditions = {index: (_said(locked, index), _said(present, index)) for index in kept}
    return [
        Change(
            name,
            f"its rows were in index {index} {before}, and are {now}",
            "Rows that are there stay in the index, or out of it, as before until they are written again: run the "
            "backfill of index keys.",
        )
        for index, (before, now) in conditions.items()
        if before != now
    ]


def _said(entity: Mapping[str, Any], index: str) -> str:
    condition = entity["when"].get(index)
    return "always" if condition is None else f"when {condition}"


def _field_changes(name: str, locked: Mapping[str, Any], present: Mapping[str, Any], path: str = "") -> list[Change]:
    """What changed in the fields of an entity, or of a class nested in it.

    Parameters:
        path: where the class is nested: the attributes that lead there, each with a dot after it.
    """
    found: list[Change] = []
    new = {attribute: field for attribute, field in present.items() if attribute not in locked}
    for attribute, field in locked.items():
        now = present.get(attribute)
        full = path + attribute
        found += [_gone(name, full, field, new, path)] if now is None else _type_changes(name, full, field, now)
    for attribute, field in new.items():
        if field["required"]:
            found.append(
                Change(
                    name,
                    f"{path + attribute!r} is new and required",
                    "Rows that are there lack it and become DecodeError. Give it a default, or on_missing=.",
                )
            )
    return found


def _gone(name: str, attribute: str, field: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Change:
    """A field that is not declared any more: dropped, or renamed where a new one of its type is there."""
    like = [path + other for other, now in new.items() if now["tags"] == field["tags"] and now["type"] == field["type"]]
    stored = attribute[len(path) :]
    keep = f'metadata={{"tablekit": {{"name": {stored!r}}}}}' if path else f"field(name={stored!r})"
    if like:
        return Change(
            name,
            f"{attribute!r} is gone, and {' or '.join(map(repr, like))} is new and of its type: it looks renamed",
            f"Rows that are there keep {attribute!r}, and are read without the value. Keep the stored name: "
            f"{keep}. If it was dropped, write the lock anew.",
        )
    return Change(
        name,
        f"the attribute {attribute!r} is not declared any more",
        f"It stays on the rows and is not seen. If the field was renamed, keep the stored name: {keep}.",
        "note",
    )


def _type_changes(name: str, attribute: str, field: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    found: list[Change] = []
    if not set(field["tags"]) <= set(now["tags"]):
        found.append(
            Change(
                name,
                f"{attribute!r} was stored as {'/'.join(field['tags'])} and is read as {'/'.join(now['tags'])}",
                "Rows that are there become DecodeError. Use a codec that reads both, or rewrite the rows first.",
            )
        )
    elif not ("values" in field and "values" in now) and not _reads(field["type"], now["type"], field["tags"]):
        found.append(
            Change(
                name,
                f"{attribute!r} was {field['type']} and is {now['type']}, which is stored alike",
                f"Rows whose value is no {now['type']} become DecodeError. If all of them are, write the lock anew.",
            )
        )
    gone = sorted(set(field.get("values", ())) - set(now.get("values", field.get("values", ()))))
    if gone and "values" in now:
        found.append(
            Change(
                name,
                f"{attribute!r} takes {len(gone)} of its values no more",
                "Rows that hold one become DecodeError. Keep the members until no row has them.",
            )
        )
    if now["required"] and not field["required"]:
        found.append(
            Change(
                name,
                f"{attribute!r} is required now",
                "Rows without it become DecodeError. Give it a default, or on_missing=.",
            )
        )
    if now.get("unique") and not field.get("unique"):
        found.append(
            Change(
                name,
                f"{attribute!r} is unique now",
                "Rows that are there hold no guard row: a duplicate of theirs is not refused until they are saved.",
                "note",
            )
        )
    # A lock of an earlier form says nothing of what is nested.
    if "fields" in field and "fields" in now:
        found += _field_changes(name, field["fields"], now["fields"], f"{attribute}.")
    return found


_WIDER = {("int", "Decimal"), ("int", "float"), ("float", "Decimal"), ("Decimal", "float")}
"""Types of which the second reads whatever the first wrote."""


def _reads(before: str, now: str, tags: Sequence[str]) -> bool:
    """Whether a type reads what another wrote, where both are stored under the same tags."""
    if now in (before, "Any"):
        return True
    old, new = ({part for part in name.split(" | ") if part != "None"} for name in (before, now))
    text = "str" in new and set(tags) <= {"S", "NULL"}
    return old <= new or text or all((part, other) in _WIDER for part in old for other in new)
