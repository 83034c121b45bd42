"""From groups of rows to classes: keys, fields, keys in indexes, and names that do not clash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from tablekit._types import Item
from tablekit.definition.indexes import Index
from tablekit.definition.schema import MARKER
from tablekit.tools.adopt_fields import FieldPlan, plan_field
from tablekit.tools.adopt_keys import KeyReader, Shape, text_of
from tablekit.tools.adopt_names import class_name, counted, field_name, unused, words
from tablekit.tools.adopt_tables import SourceTable
from tablekit.tools.adopt_templates import KeyPart, KeyTemplate, TemplateFinder, join_tail
from tablekit.tools.adopt_types import RowGroup, TypeAttribute, describe_shape, group_rows, key_like

__all__ = ["ClassPlan", "IndexKeyPlan", "TablePlan", "plan_table"]


@attrs.frozen
class IndexKeyPlan:
    """The key of a class in an index.

    Attributes:
        name: the member. index: its name. pk, sk: templates; None where fields or the table's keys are the key.
            evidence: what was seen.
    """

    name: str
    index: str
    pk: str | None
    sk: str | None
    evidence: str


@attrs.define
class ClassPlan:
    """A class as it will be written.

    Attributes:
        name: the class. type: the stored type; None where rows have none. aliases: other spellings. keys: its
            templates, then those of other shapes of its keys. fields, index_keys, notes: the rest of it. rows: its
            rows. limited: fields whose values are listed, so that keys of other classes do not match. left_out: why the
            class cannot be made; it is then written as a comment.
    """

    name: str
    type: str | None
    aliases: tuple[str, ...]
    keys: list[tuple[KeyTemplate, ...]]
    fields: list[FieldPlan]
    index_keys: list[IndexKeyPlan]
    notes: list[str]
    rows: list[Item]
    limited: dict[str, tuple[str, ...]] = attrs.Factory(dict[str, "tuple[str, ...]"])
    left_out: str | None = None


@attrs.define
class TablePlan:
    """A table and its classes as they will be written.

    Attributes:
        table: the source. variable: the name of the `Table` in the module. type_attribute: what holds the type, as
            found; `stored_type` is what the written table has. separator: of keys. classes: in order of appearance.
    """

    table: SourceTable
    variable: str
    type_attribute: TypeAttribute
    stored_type: str
    separator: str | None
    classes: list[ClassPlan]
    notes: list[str] = attrs.Factory(list[str])

    @property
    def untyped(self) -> bool:
        """Whether some rows are told by their keys."""
        name = self.type_attribute.name
        return any(name is None or text_of(item, name) is None for item in self.table.rows)


def plan_table(
    table: SourceTable, found: TypeAttribute, *, variable: str, taken: set[str], collapse: bool = False
) -> TablePlan:
    """The classes of a table.

    Parameters:
        found: what holds the type. variable: the name of the `Table`. taken: names of the module that are in use;
            those of the classes are added. collapse: one class for all rows without a type, which reads any key.
    """
    ignored = frozenset(name for index in table.indexes for name in index.keys if key_like(name))
    if found.name is not None:
        ignored |= {found.name}
    reader = KeyReader(table, ignored)
    groups = group_rows(table, reader, found.name)
    finder = TemplateFinder(table, reader, ignored)
    if collapse:
        groups = _collapsed(groups)
    planned: list[tuple[RowGroup, list[tuple[KeyTemplate, ...]]]] = []
    for group in groups:
        bare = collapse and group.type is None
        shapes = [finder.of_shape(group, shape) for shape in group.rows]
        keys = [finder.bare()] if bare else _unlike(_levelled(shapes, group))
        _add(planned, group, keys, reader)
    classes = [_class(table, group, keys, taken, found.name) for group, keys in planned]
    stored = found.name or _free_type(table)
    return TablePlan(table, variable, found, stored, _separator(table, reader, classes), classes)


def _collapsed(groups: Sequence[RowGroup]) -> list[RowGroup]:
    loose = [group for group in groups if group.type is None]
    if not loose:
        return list(groups)
    rows: dict[Shape, list[Item]] = {}
    for group in loose:
        rows.update(group.rows)
    shapes = f"{len(rows)} shapes of keys that match one another's rows are one class here; part them by a type"
    return [group for group in groups if group.type is not None] + [RowGroup(None, (), rows, [shapes])]


def _levelled(shapes: Sequence[tuple[KeyTemplate, ...]], group: RowGroup) -> list[tuple[KeyTemplate, ...]]:
    """The templates, where a key that is the field itself in some shapes and made of parts in others is of parts."""
    mixed = {at for at in range(len(shapes[0])) if len({keys[at].native for keys in shapes}) > 1}
    held = {field_name(name) for item in group.items for name in item}

    def level(key: KeyTemplate, at: int) -> KeyTemplate:
        if at not in mixed or not key.native:
            return key
        name = unused(f"{'_'.join(words(key.attribute)).lower() or 'key'}_1", held)
        return KeyTemplate(key.attribute, (KeyPart(name, None),))

    return [tuple(level(key, at) for at, key in enumerate(keys)) for keys in shapes]


def _unlike(found: Iterable[tuple[KeyTemplate, ...]]) -> list[tuple[KeyTemplate, ...]]:
    """The templates without repetitions; two of which one goes on where the other ends are one."""
    kept: list[tuple[KeyTemplate, ...]] = []
    for keys in found:
        if any([key.text for key in keys] == [key.text for key in other] for other in kept):
            continue
        for number, other in enumerate(kept):
            joined = join_tail(other, keys) or join_tail(keys, other)
            if joined is not None and all(key.tail is None for key in (*keys, *other)):
                kept[number] = joined
                break
        else:
            kept.append(keys)
    return kept


def _add(
    planned: list[tuple[RowGroup, list[tuple[KeyTemplate, ...]]]],
    group: RowGroup,
    keys: list[tuple[KeyTemplate, ...]],
    reader: KeyReader,
) -> None:
    """Add a group, or join it with one of which it is a variety: an optional last part, a stray sign in a label."""
    if group.type is None:
        for number, (other, theirs) in enumerate(planned):
            if other.type is not None or len(keys) != 1:
                continue
            merged = _variety(other, theirs, group, keys[0])
            if merged is not None:
                other.rows.update(group.rows)
                planned[number] = (other, merged)
                return
    planned.append((group, keys))


def _variety(
    other: RowGroup, theirs: list[tuple[KeyTemplate, ...]], group: RowGroup, keys: tuple[KeyTemplate, ...]
) -> list[tuple[KeyTemplate, ...]] | None:
    if _similar(other, group):
        joined = join_tail(theirs[0], keys) or join_tail(keys, theirs[0])
        if joined is not None and all(key.tail is None for key in theirs[0]):
            return [joined, *theirs[1:]]
    mine, first = next(iter(group.rows)), next(iter(other.rows))
    if mine != first and _tidy(mine) == _tidy(first):
        longer = len(group.items) > sum(len(rows) for rows in other.rows.values())
        rows = counted(len(group.items), "row")
        other.notes.append(f"{rows} with {describe_keys(keys)!r}: the label is not spelt as in the others")
        return [keys, *theirs] if longer else [*theirs, keys]
    return None


def describe_keys(keys: Sequence[KeyTemplate]) -> str:
    """Templates for people."""
    return " / ".join(key.text for key in keys)


def _similar(one: RowGroup, other: RowGroup) -> bool:
    mine, theirs = ({name for item in group.items for name in item} for group in (one, other))
    return len(mine & theirs) * 2 > len(mine | theirs)


def _tidy(shape: Shape) -> Shape:
    return tuple(
        tuple(None if token is None else token.strip(" \t\"'").lower() for token in tokens) for tokens in shape
    )


def _free_type(table: SourceTable) -> str:
    used = {name for item in table.rows for name in item} | {name for index in table.indexes for name in index.keys}
    return next(name for name in ("EntityType", "entity_type", "tk_type", "tablekit_type") if name not in used)


def _separator(table: SourceTable, reader: KeyReader, classes: Iterable[ClassPlan]) -> str | None:
    """The delimiter, where no value of a key holds it: then keys can be read in one way only."""
    if not table.rows:
        return "#"
    found = {reader.delimiter(name) for name in table.key_names} - {None}
    if len(found) != 1:
        return None
    (delimiter,) = found
    assert delimiter is not None
    texts = (
        text for each in classes for keys in each.keys for key in keys for part in key.parts for text in part.values
    )
    return None if any(delimiter in text for text in texts) else delimiter


# One class


def _class(
    table: SourceTable,
    group: RowGroup,
    keys: list[tuple[KeyTemplate, ...]],
    taken: set[str],
    type_attribute: str | None,
) -> ClassPlan:
    rows = group.items
    name = unused(_name(group, keys[0]) or class_name([table.name]) or "Row", taken)
    taken.add(name)
    notes = list(group.notes)
    notes += [f"rows under {describe_keys(other)!r} are read as well, and keep their keys" for other in keys[1:]]
    for shape, some in group.rows.items():
        where = describe_shape(shape, table.key_names)
        notes.append(f"{counted(len(some), 'row')} with keys like {where}")
    templated = _index_templates(table, rows, keys[0])
    if any(MARKER in item for item in rows):
        notes.append(
            f"{MARKER!r} is what a class with a version() writes itself: declare the number that is its version so"
        )
    written = {*templated, MARKER, *((type_attribute,) if type_attribute else ())}
    fields = _fields(table, group, keys, written)
    index_keys = _index_keys(table, rows, templated, {plan.name for plan in fields})
    return ClassPlan(name, group.type, group.aliases, keys, fields, index_keys, notes, rows)


def _name(group: RowGroup, keys: Sequence[KeyTemplate]) -> str:
    if group.type is not None:
        return class_name([group.type])
    shape = next(iter(group.rows))
    labels = [token for tokens in shape for token in tokens if token and any(map(str.isalpha, token))]
    return class_name(labels)


def _fields(
    table: SourceTable,
    group: RowGroup,
    keys: Sequence[tuple[KeyTemplate, ...]],
    written: set[str],
) -> list[FieldPlan]:
    rows, fields = group.items, dict[str, FieldPlan]()
    skipped = {*table.key_names, *written}
    optional = frozenset(name for key in keys[0] for name in key.optional)
    first = {part.field: part for key in keys[0] for part in key.parts}
    for key in (key for each in keys for key in each):
        for part in key.parts:
            if part.field not in fields:
                fields[part.field] = _key_field(part, rows, keys, first, optional)
    names = dict.fromkeys(name for item in rows for name in item)
    held = {plan.attribute for plan in fields.values()}
    for name in names:
        if name in skipped or name in held or "[" in name or "]" in name:
            continue
        free = unused(field_name(name), fields)
        fields[free] = plan_field(free, name, rows, key=False, ttl=name == table.ttl)
    return list(fields.values())


def _key_field(
    part: KeyPart,
    rows: Sequence[Item],
    keys: Sequence[tuple[KeyTemplate, ...]],
    first: Mapping[str, KeyPart],
    optional: frozenset[str],
) -> FieldPlan:
    everywhere = all(any(part.field == each.field for key in each_keys for each in key.parts) for each_keys in keys)
    loose = part.field in optional or not everywhere
    if part.attribute is None:
        annotation = "str | None" if loose else "str"
        note = "in the key only; a put writes it as an attribute too"
        return FieldPlan(name=part.field, attribute=part.field, annotation=annotation, optional=loose, evidence=note)
    plan = plan_field(part.field, part.attribute, rows, key=True, ttl=False)
    if loose:
        return attrs.evolve(plan, optional=True, annotation=_nullable(plan.annotation))
    # Rows without the attribute have it in their key.
    return attrs.evolve(plan, optional=False, annotation=plan.annotation.removesuffix(" | None"))


def _nullable(annotation: str) -> str:
    return annotation if annotation.endswith("| None") else f"{annotation} | None"


# Keys in indexes


def _index_templates(table: SourceTable, rows: Sequence[Item], keys: Sequence[KeyTemplate]) -> dict[str, KeyTemplate]:
    """Templates for attributes that are kept for indexes only, where all rows that could have them do."""
    counts: dict[str, int] = {}
    for index in table.indexes:
        for name in index.keys:
            counts[name] = counts.get(name, 0) + 1
    candidates = [
        name for name, count in counts.items() if count == 1 and key_like(name) and name not in table.key_names
    ]
    found: dict[str, KeyTemplate] = {}
    ignored = frozenset(candidates)
    for name in candidates:
        having = [item for item in rows if name in item]
        if len(having) != len(rows) or len({str(item[name]) for item in having}) < 2 <= len(rows):
            continue
        template = _template_of(table, name, having, ignored, keys)
        if template is not None:
            found[name] = template
    return found


def _template_of(
    table: SourceTable, name: str, rows: Sequence[Item], ignored: frozenset[str], keys: Sequence[KeyTemplate]
) -> KeyTemplate | None:
    """A template of stored fields that renders what all rows have; None where there is none."""
    narrow = attrs.evolve(table, pk=name, sk=None, rows=tuple(rows), indexes=())
    reader = KeyReader(narrow, ignored | set(table.key_names))
    shapes = {reader.shape(item) for item in rows}
    if len(shapes) != 1:
        return None
    group = RowGroup(None, (), {next(iter(shapes)): list(rows)})
    (template,) = TemplateFinder(narrow, reader, ignored | set(table.key_names)).of_shape(group, next(iter(shapes)))
    whole = all(part.attribute is not None and all(part.attribute in item for item in rows) for part in template.parts)
    return template if whole and not template.native and template.parts else None


def _index_keys(
    table: SourceTable, rows: Sequence[Item], templated: Mapping[str, KeyTemplate], fields: set[str]
) -> list[IndexKeyPlan]:
    found: list[IndexKeyPlan] = []
    for index in table.indexes:
        having = sum(all(name in item for name in index.keys) for item in rows)
        if not having:
            continue
        name = unused(_member(index), fields | {plan.name for plan in found})
        pk, sk = (_side(names, templated) for names in (() if index.local else index.pk, index.sk))
        if index.local:
            pk = None
        written = any(key in templated for key in index.keys)
        how = "written by its template" if written else "its keys are attributes of the row"
        found.append(IndexKeyPlan(name, index.name, pk, sk, f"{having} of {counted(len(rows), 'row')} in it; {how}"))
    return found


def _side(names: Sequence[str], templated: Mapping[str, KeyTemplate]) -> str | None:
    return templated[names[0]].text if len(names) == 1 and names[0] in templated else None


def _member(index: Index) -> str:
    name = "_".join(words(index.name)).lower() or "index"
    return name if name.startswith("by_") else f"by_{name}"
