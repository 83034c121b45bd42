"""The codec of nested attrs classes and dataclasses, stored as maps."""

from __future__ import annotations

import copy as copying
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from tablekit._types import UNSET, AttributeValue
from tablekit.codecs.base import Bind, Codec, ValueProblem, payload, wrong_type
from tablekit.codecs.choices import LiteralCodec
from tablekit.codecs.codegen import Names, compile_function
from tablekit.codecs.compare import check_depth, too_deep
from tablekit.codecs.extras import extra_of, keep_extra

__all__ = ["NestedCodec", "NestedField"]

_NO_EMPTY_SET = (
    "is an empty set, which DynamoDB cannot store; it would be left out and read back as the default, so make the "
    "default an empty set"
)


class NestedField:
    """One field of a nested class.

    Attributes:
        name: the Python field name. attribute: the stored name. argument: the name in ``__init__``.
        codec: the field's codec. default: the constant default, or UNSET.
        factory: what makes the default, or UNSET; not callable where the class alone can call it (attrs'
            ``takes_self``). empty_ok: whether a missing attribute reads as an empty set.
    """

    __slots__ = ("argument", "attribute", "codec", "default", "empty_ok", "factory", "name")

    def __init__(
        self,
        name: str,
        attribute: str,
        codec: Codec[Any],
        *,
        argument: str | None = None,
        default: Any = UNSET,
        factory: Any = UNSET,
    ) -> None:
        self.name = name
        self.attribute = attribute
        self.argument = name if argument is None else argument
        self.codec = codec
        self.default = default
        self.factory = factory
        self.empty_ok = self._reads_as_empty()

    def _reads_as_empty(self) -> bool:
        if self.default is not UNSET:
            return self.default is not None and bool(self.default == frozenset())
        if self.factory is UNSET:
            return self.codec.empty is not None
        return self.factory is set or self.factory is frozenset

    @property
    def absent(self) -> Callable[[], Any] | None:
        """What makes the value of a missing attribute, unless that is a constant or the class's own affair."""
        if self.factory is UNSET:
            return self.codec.empty
        return self.factory if callable(self.factory) else None

    @property
    def required(self) -> bool:
        """Whether a stored map without the attribute cannot be read."""
        return self.default is UNSET and self.factory is UNSET and self.codec.empty is None

    def encode(self, value: Any) -> AttributeValue | None:
        """The stored form; None when it is written by leaving the attribute out.

        None is left out where the default is None and stored as NULL elsewhere, so that it reads back as it was.
        Raises `ValueProblem`, also for an empty set where a missing attribute would not read as one.
        """
        if value is None and self.default is None:
            return None
        try:
            av = self.codec.encode(value)
        except ValueProblem as problem:
            raise problem.at(f".{self.name}") from None
        if av is None and not self.empty_ok:
            raise ValueProblem(_NO_EMPTY_SET, f".{self.name}")
        return av


class NestedCodec(Codec[Any]):
    """A nested attrs class or dataclass as ``M``, field by field.

    The stored name of a field is its Python name, or ``metadata={"tablekit": {"name": "n"}}``. Fields with
    ``init=False`` are not stored. A missing attribute gets the class's own default or factory. Values are
    read by calling the class, so its validators, converters and post-init run. Attributes that the class does not
    declare stay with the object and are written again. An instance of a subclass is refused: it would be read
    back as the base.
    """

    tags = frozenset({"M"})

    def __init__(self, cls: type[Any], name: str) -> None:
        self.cls = cls
        self.name = name
        self.python_types = (cls,)
        self.ready = False
        self._recursive = False
        # Until the fields are known, those that hold this class must take it for changeable.
        self.copy = self._copy
        self._fields: tuple[NestedField, ...] = ()
        self._by_name: dict[str, NestedField] = {}

    def complete(self, fields: tuple[NestedField, ...], *, frozen: bool, recursive: bool) -> None:
        """Give the fields, once; a class that contains itself is made before they are known."""
        self._fields = fields
        self._by_name = {field.name: field for field in fields}
        self._known = frozenset(field.attribute for field in fields)
        self._recursive = recursive
        self.open_depth = recursive or any(field.codec.open_depth for field in fields)
        self._mutable = tuple((f.name, f.codec.copy) for f in fields if f.codec.copy is not None)
        if frozen and not self._mutable:
            self.copy = None
        self._read = self._compile()
        self.ready = True

    def fields(self) -> tuple[NestedField, ...]:
        """The stored fields, in the order of the class."""
        return self._fields

    def child(self, segment: str | int) -> Codec[Any] | None:
        field = self._by_name.get(segment) if isinstance(segment, str) else None
        return None if field is None else field.codec

    def attribute_name(self, segment: Any) -> str | None:
        """The stored name of the field with that Python name, or None when there is no such field."""
        field = self._by_name.get(segment)
        return None if field is None else field.attribute

    def reads_empty(self, segment: Any) -> bool:
        field = self._by_name.get(segment)
        return field is not None and field.empty_ok

    def literals(self) -> dict[str, frozenset[Hashable]]:
        """The attributes that hold a Literal, with what may be stored there; a union tells classes apart by them."""
        codecs = {field.attribute: field.codec for field in self._fields}
        return {
            name: codec.wire_values
            for name, codec in codecs.items()
            if isinstance(codec, LiteralCodec) and not codec.nullable
        }

    def encode(self, value: Any) -> AttributeValue:
        if type(value) is not self.cls:
            if isinstance(value, self.cls):
                raise ValueProblem(f"is of the subclass {type(value).__qualname__}, and would be read as {self.name}")
            raise wrong_type(self.name, value)
        extra = extra_of(value)
        encoded: dict[str, AttributeValue] = dict(extra) if extra else {}
        try:
            for field in self._fields:
                av = field.encode(getattr(value, field.name))
                if av is not None:
                    encoded[field.attribute] = av
        except RecursionError:
            raise too_deep() from None
        av = {"M": encoded}
        if self._recursive:
            check_depth(av)
        return av

    def decode(self, av: AttributeValue) -> Any:
        stored = payload(av, "M", self.name)
        if self._recursive:
            # A second try at every level would double the work with each one.
            return self._read_carefully(stored)
        try:
            return self._read(stored)
        except Exception:
            return self._read_carefully(stored)

    def _read_carefully(self, stored: Mapping[str, AttributeValue]) -> Any:
        arguments: dict[str, Any] = {}
        for field in self._fields:
            av = stored.get(field.attribute)
            if av is not None:
                arguments[field.argument] = _read_field(field, av)
            elif field.required:
                raise ValueProblem("is not stored, and has no default", f".{field.name}")
            elif field.default is UNSET and field.factory is UNSET and field.codec.empty is not None:
                arguments[field.argument] = field.codec.empty()
        try:
            made = self.cls(**arguments)
        except Exception as error:
            raise ValueProblem(f"{self.name} does not accept what is stored ({type(error).__name__})") from error
        self._keep_unknown(made, stored)
        return made

    def _keep_unknown(self, made: Any, stored: Mapping[str, AttributeValue]) -> None:
        extra = {name: av for name, av in stored.items() if name not in self._known}
        if extra:
            keep_extra(made, extra)

    def decode_source(self, av: str, bind: Bind) -> str:
        if not self.ready or self._recursive:
            return super().decode_source(av, bind)
        return f'{bind("read", self._read)}({av}["M"])'

    def _compile(self) -> Any:
        names = Names()
        make, keep, known = (
            names.bind("make", self.cls),
            names.bind("keep", self._keep_unknown),
            names.bind("known", self._known),
        )
        lines: list[str] = []
        arguments: list[str] = []
        for index, field in enumerate(self._fields):
            lines += _field_lines(field, f"v{index}", names)
            arguments.append(f"{field.argument}=v{index}")
        body = "".join(f"    {line}\n" for line in lines)
        source = (
            f"def read(stored):\n    get = stored.get\n{body}"
            f"    made = {make}({', '.join(arguments)})\n"
            f"    if not {known}.issuperset(stored):\n        {keep}(made, stored)\n"
            f"    return made\n"
        )
        return compile_function("read", source, names.namespace)

    def _copy(self, value: Any) -> Any:
        made = copying.copy(value)
        for name, copy in self._mutable:
            assert copy is not None
            # Frozen classes refuse setattr; the copy is not shared yet.
            object.__setattr__(made, name, copy(getattr(value, name)))
        extra = extra_of(value)
        if extra:
            keep_extra(made, extra)
        return made


def _read_field(field: NestedField, av: AttributeValue) -> Any:
    try:
        return field.codec.decode(av)
    except ValueProblem as problem:
        raise problem.at(f".{field.name}") from None


def _field_lines(field: NestedField, variable: str, names: Names) -> list[str]:
    """Source that reads one field; it raises where only the careful reading knows what to do."""
    read = field.codec.decode_source(variable, names.bind)
    attribute = repr(field.attribute)
    if field.default is not UNSET:
        default = "None" if field.default is None else names.bind("default", field.default)
    elif field.absent is not None:
        default = f"{names.bind('absent', field.absent)}()"
    else:
        return [f"{variable} = stored[{attribute}]", f"{variable} = {read}"]
    return [f"{variable} = get({attribute})", f"{variable} = {default} if {variable} is None else {read}"]
