"""Reading a class body: which annotations and assignments declare fields."""

from __future__ import annotations

import sys
import typing
from datetime import datetime
from types import FrameType
from typing import Any, ClassVar, TypeVar

from tablekit.definition.fields import Declaration, Field, IndexKeyDeclaration, UniqueDeclaration
from tablekit.errors import DefinitionError

__all__ = ["Collected", "CollectedField", "collect"]

DECLARED = "__tablekit_declared__"
"""Where a class keeps what its own body declared, once descriptors have taken the places of it."""


class CollectedField:
    """A field with its resolved Python type, and the class whose body declared it."""

    __slots__ = ("annotation", "declaration", "name", "owner")

    def __init__(self, name: str, annotation: Any, declaration: Declaration, owner: type) -> None:
        self.name = name
        self.annotation = annotation
        self.declaration = declaration
        self.owner = owner


class Collected:
    """What a class and its bases declare, nearest class last."""

    __slots__ = ("fields", "index_keys", "uniques")

    def __init__(self) -> None:
        self.fields: dict[str, CollectedField] = {}
        self.index_keys: dict[str, IndexKeyDeclaration] = {}
        self.uniques: dict[str, UniqueDeclaration] = {}


def collect(cls: type, *, root: type) -> Collected:
    """Read the bodies of `cls` and of its bases, mixins included.

    Parameters:
        cls: the class being made. root: the base whose own body and bases declare nothing.
    """
    found = Collected()
    substitutions = _substitutions(cls)
    for base in reversed(cls.__mro__):
        if base is object or issubclass(root, base):
            continue
        own = _own_declarations(base, strict=issubclass(base, root))
        for name in base.__dict__:
            # A subclass that assigns something else to an inherited name takes the declaration away.
            if name not in own:
                found.index_keys.pop(name, None)
                found.uniques.pop(name, None)
        for name, value in own.items():
            if isinstance(value, IndexKeyDeclaration):
                found.index_keys[name] = value
            elif isinstance(value, UniqueDeclaration):
                found.uniques[name] = value
            else:
                annotation, declaration = value
                replaced = _substitute(annotation, substitutions.get(base, {}))
                found.fields[name] = CollectedField(name, replaced, declaration, base)
    return found


def _own_declarations(base: type, *, strict: bool) -> dict[str, Any]:
    """What the body of one class declares; read once and kept, for descriptors replace the assignments."""
    kept = base.__dict__.get(DECLARED)
    if kept is not None:
        return typing.cast("dict[str, Any]", kept)
    annotations = _annotations(base)
    own: dict[str, Any] = {}
    for name, annotation in annotations.items():
        resolved = _resolve(annotation, base, name, needed=strict or _mentions_field(annotation))
        if _is_class_var(resolved):
            continue
        assigned = base.__dict__.get(name)
        if typing.get_origin(resolved) is Field:
            (inner,) = typing.get_args(resolved)
            own[name] = (inner, _declaration(base, name, assigned))
        elif strict and not name.startswith("_"):
            raise DefinitionError(
                f"{base.__qualname__}.{name} is annotated {_show(annotation)}. A field is annotated "
                f"Field[...], such as `{name}: Field[{_show(annotation)}]`; "
                "anything else on the class is ClassVar[...].",
                owner=base.__qualname__,
                field=name,
            )
    for name, value in base.__dict__.items():
        if name in own:
            continue
        if isinstance(value, (IndexKeyDeclaration, UniqueDeclaration)):
            own[name] = value
        elif isinstance(value, Declaration):
            own[name] = (_managed_type(base, name, value), value)
    type.__setattr__(base, DECLARED, own)
    return own


def _declaration(base: type, name: str, assigned: Any) -> Declaration:
    if assigned is None and name not in base.__dict__:
        return Declaration()
    if isinstance(assigned, Declaration):
        if assigned.kind not in ("data", "ttl"):
            raise DefinitionError(
                f"{base.__qualname__}.{name} is annotated, and {assigned.kind}() is kept by tablekit, not given by "
                f"you. Leave the annotation out: `{name} = {assigned.kind}()`.",
                owner=base.__qualname__,
                field=name,
            )
        return assigned
    return Declaration(default=assigned)


def _managed_type(base: type, name: str, value: Declaration) -> Any:
    if value.kind == "version":
        return int
    if value.kind in ("created_at", "updated_at"):
        return datetime
    call = "ttl" if value.kind == "ttl" else "field"
    raise DefinitionError(
        f"{base.__qualname__}.{name} = {call}(...) has no annotation. Say what it holds: "
        f"`{name}: Field[...] = {call}(...)`.",
        owner=base.__qualname__,
        field=name,
    )


def _annotations(base: type) -> dict[str, Any]:
    if sys.version_info >= (3, 14):
        import annotationlib

        return dict(annotationlib.get_annotations(base, format=annotationlib.Format.FORWARDREF))
    return dict(base.__dict__.get("__annotations__", {}))  # noqa: RUF063  (inspect would give an inherited one on 3.10)


def _mentions_field(annotation: Any) -> bool:
    return "Field" in (annotation if isinstance(annotation, str) else repr(annotation))


def _is_class_var(annotation: Any) -> bool:
    return annotation is ClassVar or typing.get_origin(annotation) is ClassVar


def _show(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


def _resolve(annotation: Any, base: type, name: str, *, needed: bool) -> Any:
    """The object behind a string annotation, or the annotation when it is one already."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    if text is None:
        return annotation
    module = sys.modules.get(base.__module__)
    names = dict(vars(module)) if module is not None else {}
    # Members of the class body come last: one named like a builtin would shadow it in later annotations.
    missing = NameError()
    for scope in (names, _local_names(base, names)):
        try:
            return eval(text, scope)  # noqa: S307  (the text is the class body's own source)
        except NameError as error:
            missing = error
        except Exception as error:
            raise DefinitionError(
                f"{base.__qualname__}.{name}: the annotation {text!r} cannot be evaluated ({error}).",
                owner=base.__qualname__,
                field=name,
            ) from error
    if not needed:
        return ClassVar
    raise DefinitionError(
        f"{base.__qualname__}.{name}: the annotation {text!r} names {missing.name!r}, which is not there when the "
        "class is made. Import it at run time (not only under TYPE_CHECKING) and before the class.",
        owner=base.__qualname__,
        field=name,
    )


def _local_names(base: type, module_names: dict[str, Any]) -> dict[str, Any]:
    """Module names, overlaid with the locals of the functions inside which the class is being made."""
    frames: list[dict[str, Any]] = []
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  (the only way to the names of a local class)
    while frame is not None:
        if frame.f_globals.get("__name__") == base.__module__ and frame.f_locals is not frame.f_globals:
            frames.append(dict(frame.f_locals))
        frame = frame.f_back
    names = dict(module_names)
    for local in reversed(frames):
        names.update(local)
    return names


def _substitutions(cls: type) -> dict[type, dict[Any, Any]]:
    """For each generic base, what its type variables stand for in `cls`."""
    found: dict[type, dict[Any, Any]] = {}

    def visit(owner: type, known: dict[Any, Any]) -> None:
        for base in getattr(owner, "__orig_bases__", ()):
            origin = typing.get_origin(base)
            if origin is None or not isinstance(origin, type):
                continue
            parameters = getattr(origin, "__parameters__", ())
            arguments = tuple(_substitute(argument, known) for argument in typing.get_args(base))
            mapping = dict(zip(parameters, arguments))
            found.setdefault(origin, {}).update(mapping)
            visit(origin, mapping)
        for base in owner.__bases__:
            if base is not object:
                visit(base, found.get(base, {}))

    visit(cls, {})
    return found


def _substitute(annotation: Any, mapping: dict[Any, Any]) -> Any:
    if not mapping:
        return annotation
    if isinstance(annotation, TypeVar):
        return mapping.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    if not parameters:
        return annotation
    return annotation[tuple(mapping.get(parameter, parameter) for parameter in parameters)]
