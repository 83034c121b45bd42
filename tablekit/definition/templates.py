"""Key templates: rendered exactly, injective, and parsed back.

A template is text with parts in braces: ``DOC#{doc_id}``, ``{rev:06d}``, ``{day:%Y-%m}``, ``{owner.id}``.
Two different rows of values never render to one key:

- a value may not hold the table's separator, nor run into the literal that follows its part. ("a#CMT"
  before the literal ``#CMT#`` runs into it: the literal would be found one character too early.) Parts
  of a fixed width are exempt, since their end is known;
- two parts stand side by side only when the first has a fixed width;
- a missing, None or empty part is an error.

The keys of an optional tail, ``DOC#{doc_id}[#CMT#{comment_id}]``, follow the same rules: the part before the
brackets may not run into the tail's first literal, whether or not the tail is there.

Limits: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html (a partition key of
at most 2048 bytes of UTF-8, a sort key of at most 1024).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from tablekit._types import AttributeValue, KeyType
from tablekit.codecs.base import ValueProblem
from tablekit.definition.keyparts import MISSING, Part, Types, check_lossy, native_problem, text_of, value_at
from tablekit.definition.keyshape import Bind, KeyText
from tablekit.definition.keysource import Form, compile_form, form_expression
from tablekit.definition.keysyntax import RawPart, RawTemplate, TemplateProblem, split_template
from tablekit.definition.keytext import is_plain_text
from tablekit.errors import DefinitionError, KeyPartError, LimitExceeded

__all__ = ["LIMITS", "Part", "Role", "Template", "bare_field", "check_key_size", "next_prefix", "require_lossless"]

Role = Literal["pk", "sk", "index_pk", "index_sk"]
"""Where a template's keys stand."""

LIMITS: Final[Mapping[Role, int]] = {"pk": 2048, "sk": 1024, "index_pk": 2048, "index_sk": 1024}
"""The most bytes of UTF-8 that a key may have, by role."""


def check_key_size(value: AttributeValue, role: Role, what: str) -> None:
    """Refuse a key that is longer than DynamoDB takes. Raises `LimitExceeded`.

    Parameters:
        value: the key's attribute value. what: the key, for the message.
    """
    ((tag, inner),) = value.items()
    size = 0 if tag == "N" else len(inner.encode("utf-8", "surrogatepass") if tag == "S" else inner)
    if size > LIMITS[role]:
        raise LimitExceeded(
            f"{what} has {size} bytes, and DynamoDB allows {LIMITS[role]} in a {_ROLE_NAMES[role]}. Shorten it.",
            limit=LIMITS[role],
            actual=size,
        )


_FIRST_SURROGATE: Final = 0xD800
_ROLE_NAMES: Final[Mapping[Role, str]] = {
    "pk": "partition key",
    "sk": "sort key",
    "index_pk": "index partition key",
    "index_sk": "index sort key",
}


class Template:
    """A key template, checked; made by `Template.parse` when a class is made.

    Attributes:
        text: the template as it was written. role: where its keys stand. owner: the class's name.
        separator: the table's separator, or None. parts: its parts in order, those of the tail included.
        literals: the texts before, between and after the parts, one more than there are parts.
        required: how many parts stand before the optional tail. base_end: what follows the last of them
            when the tail is not there; None when the template has no optional tail.
        names: the names of its parts in order, each once.
        lossless_fields: the names whose values every key of the template spells in full. lossy_fields: those
            that stand in it only in a format that loses part of the value.
        limit: the most bytes that a key may have.
        text_problem: why the template cannot render text; only a template of one bare field may have such a
            reason, and then its key must be of the field's native type.
    """

    __slots__ = (
        "_checks_lossy", "_forms", "_tail_names", "base_end", "limit", "literals", "lossless_fields", "lossy_fields",
        "names", "owner", "parts", "required", "role", "separator", "text", "text_problem",
    )  # fmt: skip

    def __init__(
        self, text: str, raw: RawTemplate, texts: Sequence[KeyText], *, separator: str | None, role: Role, owner: str
    ) -> None:
        self.text = text
        self.role: Role = role
        self.owner = owner
        self.separator = separator
        self.limit = LIMITS[role]
        self.text_problem: str | None = None
        base, _ = _literals(raw.body)
        self.literals, found = _literals((*raw.body, *raw.tail))
        self.required = len(base) - 1
        self.base_end = base[-1] if raw.tail else None
        self.parts = tuple(self._part(number, part, texts[number]) for number, part in enumerate(found))
        self.names = tuple(dict.fromkeys(part.name for part in self.parts))
        self._tail_names = tuple(dict.fromkeys(part.name for part in self.parts[self.required :]))
        self.lossless_fields = frozenset(part.name for part in self.parts if part.lossless)
        self.lossy_fields = frozenset(self.names) - self.lossless_fields
        self._checks_lossy = not all(part.lossless for part in self.parts)
        # Compiled at the first key: making a class stays cheap, and many classes of a process are never written.
        self._forms: tuple[Form, Form] | None = None

    def _part(self, number: int, raw: RawPart, text: KeyText) -> Part:
        following = self.literals[number + 1]
        if self.base_end is not None and number == self.required - 1:
            following = self.base_end or following
        last = number == len(self.literals) - 2 and not following
        return Part(raw.name, raw.spec, text, following, last=last, optional=number >= self.required)

    def _compiled(self) -> tuple[Form, Form]:
        base = full = compile_form(self.literals, self.parts, self.separator, self.limit)
        if self.base_end is not None:
            base = compile_form(self._base_literals, self.parts[: self.required], self.separator, self.limit)
        # Two threads may both come here; they store equal functions.
        self._forms = (base, full)
        return self._forms

    @property
    def _base_literals(self) -> tuple[str, ...]:
        assert self.base_end is not None
        return (*self.literals[: self.required], self.base_end)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        types: Types,
        separator: str | None,
        role: Role,
        owner: str,
        key_type: KeyType | None = None,
    ) -> Template:
        """Check a template and make it ready.

        Parameters:
            types: the fields' annotations by name (or a `KeyText` in place of one), or a function that gives
                one and raises KeyError. A dotted name is looked up whole, then through the annotations of the
                attrs class or dataclass that its field holds.
            separator: what separates the parts of this table's keys and may stand in no value, such as
                ``"#"``; None where only the template's own literals matter.
            role: ``"pk"``, ``"sk"``, ``"index_pk"`` or ``"index_sk"``.
            owner: the class's name, for messages.
            key_type: the type of the key attribute. ``"S"`` demands a template that renders text; ``"N"``
                and ``"B"`` demand one bare field. With None a bare field that cannot stand as text is
                let pass, and `require_text` tells.

        Raises `DefinitionError`.
        """
        try:
            return cls._made(text, types, separator, role=role, owner=owner, key_type=key_type)
        except TemplateProblem as problem:
            message = f"{owner}: the {_ROLE_NAMES[role]} template {text!r} {problem.reason}."
            raise DefinitionError(message, owner=owner, field=problem.field) from None

    @classmethod
    def _made(
        cls, text: str, types: Types, separator: str | None, *, role: Role, owner: str, key_type: KeyType | None
    ) -> Template:
        raw = split_template(text)
        if not is_plain_text(text):
            raise TemplateProblem("holds a lone surrogate, which UTF-8 cannot hold")
        bare = bare_field(text) is not None
        parts = [piece for piece in (*raw.body, *raw.tail) if isinstance(piece, RawPart)]
        texts = [text_of(part, types, native=bare) for part in parts]
        template = cls(text, raw, texts, separator=separator, role=role, owner=owner)
        template.text_problem = template._order_problem() or (native_problem(texts[0]) if bare else None)
        template._check_form(raw)
        template._check_key_type(key_type)
        return template

    def _check_key_type(self, key_type: KeyType | None) -> None:
        if key_type in ("N", "B") and not self.native:
            raise TemplateProblem(f"renders text, but the key attribute is of type {key_type}; use one bare field")
        if self.text_problem is not None and (not self.native or key_type == "S"):
            raise TemplateProblem(self.text_problem, self._unordered() or self.names[0])

    def _unordered(self) -> str | None:
        numbers = (part.name for part in self.parts if part.text.numeric and not part.spec)
        return next(numbers, None) if self.role in ("sk", "index_sk") else None

    def _order_problem(self) -> str | None:
        name = self._unordered()
        if name is None:
            return None
        return (
            f"has the number {name!r} without a width, and text sorts '10' before '2'; give it one, such as "
            f"{{{name}:06d}}, or write {{{name}:d}} to say that the order does not matter"
        )

    def _check_form(self, raw: RawTemplate) -> None:
        for number, part in enumerate(self.parts[:-1]):
            if not self.literals[number + 1] and part.width is None:
                after = self.parts[number + 1].name
                reason = f"has the parts {part.name!r} and {after!r} side by side; put a text such as '#' between them"
                raise TemplateProblem(reason, part.name)
        if raw.tail and not raw.body:
            raise TemplateProblem("is nothing but an optional tail; without it the key would be empty")
        again = set(self._tail_names) & {part.name for part in self.parts[: self.required]}
        if again:
            name = min(again)
            raise TemplateProblem(f"has {name!r} both before its optional tail and in it", name)
        least = len("".join(self.literals).encode()) + sum(part.width or 1 for part in self.parts)
        if least > self.limit:
            raise TemplateProblem(f"renders at least {least} bytes; DynamoDB allows {self.limit} here")

    def __repr__(self) -> str:
        return f"Template({self.text!r}, role={self.role!r})"

    @property
    def native(self) -> bool:
        """Whether the template is one bare field, whose native type the key may then keep."""
        return bare_field(self.text) is not None

    @property
    def constant(self) -> bool:
        """Whether the template has no parts."""
        return not self.parts

    def require_text(self) -> None:
        """Raise `DefinitionError` when the template cannot render text, which a string key needs."""
        if self.text_problem is not None:
            message = f"{self.owner}: the {_ROLE_NAMES[self.role]} template {self.text!r} {self.text_problem}."
            raise DefinitionError(message, owner=self.owner, field=self.names[0])

    def render(self, values: Mapping[str, Any], *, entity: str) -> str:
        """The key of these field values.

        Parameters:
            values: field name to value; a dotted part is found through its field's attributes, or under its
                dotted name. entity: the class's name, for messages.

        Raises `KeyPartError` for a missing, None or empty part, a value of the wrong type, and a value that
        holds a separator; `LimitExceeded` for a key over DynamoDB's limit.
        """
        forms = self._forms or self._compiled()
        key = forms[1 if self.base_end is None or self._has_tail(values) else 0](values)
        return key if key is not None else self._careful(values, entity)

    def _careful(self, values: Mapping[str, Any], entity: str) -> str:
        base = self.base_end is not None and not self._has_tail(values)
        literals = self._base_literals if base else self.literals
        pieces = [literals[0]]
        for part, literal in zip(self.parts, literals[1:], strict=False):
            pieces += [self.render_part(part, value_at(values, part.name), entity=entity), literal]
        return self._within("".join(pieces), entity)

    def _has_tail(self, values: Mapping[str, Any]) -> bool:
        return not all(_absent(value_at(values, name)) for name in self._tail_names)

    def _within(self, key: str, entity: str) -> str:
        size = len(key.encode())
        if size > self.limit:
            raise LimitExceeded(
                f"{entity}: the {_ROLE_NAMES[self.role]} that {self.text!r} renders has {size} bytes of UTF-8; "
                f"DynamoDB allows {self.limit}. Shorten the values that it is made of.",
                limit=self.limit,
                actual=size,
            )
        return key

    def render_part(self, part: Part, value: Any, *, entity: str) -> str:
        """The text of one part, checked as in `render`. Raises `KeyPartError`."""
        if value is MISSING or value is None:
            state = "is missing" if value is MISSING else "is None"
            raise self._part_error(part, entity, f"{state}; every part of a key needs a value")
        try:
            text = part.text.render(value, part.spec)
        except ValueProblem as problem:
            raise self._part_error(part, entity, problem.reason) from None
        refusal = part.problem(text, self.separator)
        if refusal is not None:
            raise self._part_error(part, entity, refusal + _remedy(text))
        return text

    def begin_part(self, part: Part, beginning: str, *, entity: str) -> str:
        """The beginning of a part's text, for a search by it. Raises `KeyPartError`.

        A number has no beginning that means something; ask for a range of it.
        """
        problem = part.beginning_problem(beginning, self.separator)
        if problem is not None:
            raise self._part_error(part, entity, problem)
        return beginning

    def _part_error(self, part: Part, entity: str, reason: str) -> KeyPartError:
        return KeyPartError(
            f"{entity}: the part {part.name!r} of the {_ROLE_NAMES[self.role]} {self.text!r} {reason}.",
            entity=entity,
            template=self.text,
            part=part.name,
        )

    def prefix(self, values: Mapping[str, Any], *, entity: str, loose: bool = False) -> tuple[str, int, bool]:
        """The key as far as these values go: its text, how many parts it holds, and whether it is whole.

        The text ends with the literal before the first missing part (``DOC#1#REV#``), so that it begins no
        key of a longer value (``DOC#10#REV#``). Names that are not in the template are ignored.

        Where only the fields of an optional tail are missing, such a text may not exist: ``DOC#1`` also
        begins ``DOC#10``. That is an error, unless `loose` asks for the text all the same: the caller then drops
        the keys that `match` does not read back as these values.

        Raises `KeyPartError` as `render` does, and for a gap: a part whose field is missing before one that
        is given.
        """
        given = [value_at(values, part.name) for part in self.parts]
        count = next((number for number, value in enumerate(given) if value is MISSING), len(given))
        self._check_gap(given, count, entity)
        tail = given[self.required :]
        if self.base_end is not None and count >= self.required and all(map(_absent, tail)):
            return self._without_tail(values, tail, entity, loose=loose)
        pieces = [self.literals[0]]
        for part, value, literal in zip(self.parts[:count], given, self.literals[1:], strict=False):
            pieces += [self.render_part(part, value, entity=entity), literal]
        return self._within("".join(pieces), entity), count, count == len(self.parts)

    def _without_tail(
        self, values: Mapping[str, Any], tail: list[Any], entity: str, *, loose: bool
    ) -> tuple[str, int, bool]:
        missing = any(value is MISSING for value in tail)
        # A text of fixed width, or one that a literal ends, begins no key of another value.
        open_ended = not self.base_end and self.parts[self.required - 1].width is None
        if missing and open_ended and not loose:
            part = self.parts[self.required]
            reason = "is missing, and a key without the optional tail also begins others; give it a value, or None"
            raise self._part_error(part, entity, reason)
        body = {part.name: value_at(values, part.name) for part in self.parts[: self.required]}
        return self._careful(body, entity), self.required, not missing

    def _check_gap(self, given: list[Any], count: int, entity: str) -> None:
        later = [part.name for part, value in zip(self.parts, given, strict=True) if value is not MISSING]
        if len(set(later)) > len({part.name for part in self.parts[:count]}):
            known = {part.name for part in self.parts[:count]}
            name = next(name for name in later if name not in known)
            reason = f"is missing, and {name!r}, which comes after it, is given"
            raise self._part_error(self.parts[count], entity, reason)

    def part_after(self, values: Mapping[str, Any]) -> Part | None:
        """The first part whose field these values do not give; None when they give all."""
        return next((part for part in self.parts if value_at(values, part.name) is MISSING), None)

    def match(self, key: str) -> dict[str, Any] | None:
        """The values that a key spells, by part name; None when the template cannot have rendered it.

        A part in a lossy format is checked and left out. The fields of an optional tail that is not there
        are None.
        """
        texts = self._split(key)
        if texts is None or (not key.isascii() and not is_plain_text(key)) or len(key.encode()) > self.limit:
            return None
        try:
            return self._values(texts)
        except ValueError:
            return None

    def _split(self, key: str) -> list[str] | None:
        """The texts of the parts; fewer than there are parts when the optional tail is not there."""
        texts: list[str] = []
        at = 0
        for number, literal in enumerate(self.literals):
            if number == self.required and self.base_end is not None and key[at:] == self.base_end:
                return texts
            if not key.startswith(literal, at):
                return None
            at += len(literal)
            if number < len(self.parts):
                end = self._end(number, key, at)
                texts.append(key[at:end])
                at = end
        return texts if at == len(key) else None

    def _end(self, number: int, key: str, at: int) -> int:
        part = self.parts[number]
        if part.width is not None:
            return at + part.width
        found = key.find(part.following, at) if part.following else -1
        return found if found >= 0 else len(key)

    def _values(self, texts: list[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for part, text in zip(self.parts, texts, strict=False):
            if part.problem(text, self.separator) is not None:
                raise ValueError("a text that rendering refuses")
            if part.lossless:
                value = part.text.parse(text, part.spec)
                if values.setdefault(part.name, value) != value:
                    raise ValueError("one field, two values")
        if self._checks_lossy:
            check_lossy(list(zip(self.parts, texts, strict=False)), values)
        if len(texts) < len(self.parts):
            values |= dict.fromkeys(self._tail_names)
        return values

    def equals_source(self, bind: Bind, value_of: Callable[[str], str]) -> str | None:
        """A Python expression for the key, for code that compares a stored key with what `render` gives.

        Parameters:
            bind: makes an object visible to the generated code. value_of: the name of the variable that holds
                a field's decoded value; names may occur several times in the expression.

        The expression's value is the key, or None where `render` would refuse or the quick way cannot
        tell. It checks all that `render` checks but the key's length. None is returned when there is no quick
        expression (dotted parts, exotic types); use `render` then.
        """
        full = form_expression(self.literals, self.parts, self.separator, bind, value_of)
        if self.base_end is None or full is None:
            return full
        base = form_expression(self._base_literals, self.parts[: self.required], self.separator, bind, value_of)
        absent = " and ".join(f"{value_of(name)} is None" for name in self._tail_names)
        return None if base is None else f"({base} if {absent} else {full})"


def bare_field(text: str) -> str | None:
    """The name of the field when the template is one bare part, such as ``{customer_id}``; else None."""
    name = text[1:-1]
    return name if text == f"{{{name}}}" and name.isidentifier() else None


def require_lossless(owner: str, *templates: Template) -> None:
    """Check that a primary key spells in full every field that stands in it.

    Two rows whose fields differ only in what a lossy format leaves out would else have one key.
    Raises `DefinitionError`.
    """
    kept = frozenset[str]().union(*(template.lossless_fields for template in templates))
    for template in templates:
        for name in sorted(template.lossy_fields - kept):
            raise DefinitionError(
                f"{owner}: the {_ROLE_NAMES[template.role]} template {template.text!r} keeps only part of {name!r}, "
                f"so that two rows could have one key; let {{{name}}} stand in full in one of the two keys too.",
                owner=owner,
                field=name,
            )


def next_prefix(text: str) -> str | None:
    """The least string above every string that starts with `text`, by UTF-8 byte order; None if there is none.

    UTF-8 sorts as code points do; surrogates, which it cannot hold, are stepped over.
    """
    kept = text.rstrip("\U0010ffff")
    if not kept:
        return None
    point = ord(kept[-1]) + 1
    return kept[:-1] + ("\ue000" if point == _FIRST_SURROGATE else chr(point))


def _literals(pieces: Sequence[str | RawPart]) -> tuple[tuple[str, ...], tuple[RawPart, ...]]:
    literals = [""]
    parts: list[RawPart] = []
    for piece in pieces:
        if isinstance(piece, str):
            literals[-1] += piece
        else:
            parts.append(piece)
            literals.append("")
    return tuple(literals), tuple(parts)


def _absent(value: Any) -> bool:
    return value is None or value is MISSING


def _remedy(text: str) -> str:
    if not text:
        return "; every part of a key needs a value"
    return "; a key made of it could be read in two ways. Escape the value before it is stored"
