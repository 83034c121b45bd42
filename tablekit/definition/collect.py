"""Reading a class body: which annotations and assignments declare fields."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from types import FrameType, UnionType
from typing import Any, ClassVar, Literal, TypeVar

from tablekit.definition.fields import Declaration, Field, IndexKeyDeclaration, UniqueDeclaration
from tablekit.errors import DefinitionError

__all__ = ["Collected", "CollectedField", "collect"]

DECLARED = "__tablekit_declared__"
"""Where a class keeps what its own body declared, once descriptors have taken the places of it."""

_CLASS_VAR = re.compile(r"(\w+\.)*ClassVar\b")
_FIELD = re.compile(r"\bField\b")


class CollectedField:
    """A field with its resolved Python type, and the class whose body declared it."""

    __slots__ = ("annotation", "declaration", "name", "owner")

    def __init__(self, name: str, annotation: Any, declaration: Declaration, owner: type) -> None:
        self.name = name
        self.annotation = annotation
        self.declaration = declaration
        self.owner = owner


class Collected:
    """What a class and its bases declare, nearest class last.

    Attributes:
        fields, index_keys, uniques: by name. names: the local names that string annotations may use.
    """

    __slots__ = ("fields", "index_keys", "names", "uniques")

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.fields: dict[str, CollectedField] = {}
        self.index_keys: dict[str, IndexKeyDeclaration] = {}
        self.uniques: dict[str, UniqueDeclaration] = {}
        self.names = names


def collect(cls: type, *, root: type) -> Collected:
    """Read the bodies of `cls` and of its bases, mixins included.

    Parameters:
        cls: the class being made. root: the base whose own body and bases declare nothing.
    """
    scopes = _Scopes(cls)
    found = Collected(scopes.local)
    substitutions = _substitutions(cls)
    for base in reversed(cls.__mro__):
        if base is object or issubclass(root, base):
            continue
        own = _own_declarations(base, scopes if base is cls else None, strict=issubclass(base, root))
        _take_away(found, base, own, made=base is cls)
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


def _take_away(found: Collected, base: type, own: Mapping[str, Any], *, made: bool) -> None:
    """A subclass that assigns something else to an inherited index key takes it away; a field it cannot."""
    for name in (*base.__dict__, *own):
        if not isinstance(own.get(name), IndexKeyDeclaration):
            found.index_keys.pop(name, None)
        if not isinstance(own.get(name), UniqueDeclaration):
            found.uniques.pop(name, None)
        # Only the class being made is looked at: those that are made hold descriptors of inherited fields.
        if made and name in found.fields and not isinstance(own.get(name), tuple):
            raise DefinitionError(
                f"{base.__qualname__}.{name} hides the field {name!r} of {found.fields[name].owner.__qualname__}. "
                f"Call it otherwise, or declare the field anew: `{name}: Field[...] = ...`.",
                owner=base.__qualname__,
                field=name,
            )


def _own_declarations(base: type, scopes: _Scopes | None, *, strict: bool) -> dict[str, Any]:
    """What the body of one class declares; read once and kept, for descriptors replace the assignments."""
    kept = base.__dict__.get(DECLARED)
    if kept is not None:
        return typing.cast("dict[str, Any]", kept)
    own = _annotated(base, scopes if scopes is not None else _Scopes(base), strict=strict)
    for name, value in base.__dict__.items():
        if name in own:
            continue
        if isinstance(value, (IndexKeyDeclaration, UniqueDeclaration)):
            own[name] = value
        elif isinstance(value, Declaration):
            own[name] = (_managed_type(base, name, value), value)
    if own or strict:
        # Not on a class without declarations: it may be a builtin, or typing's own Generic.
        type.__setattr__(base, DECLARED, own)
    return own


def _annotated(base: type, scopes: _Scopes, *, strict: bool) -> dict[str, Any]:
    own: dict[str, Any] = {}
    for name, annotation in _annotations(base).items():
        private = name.startswith("_")
        needed = _mentions_field(annotation) or (strict and not private)
        resolved = _resolve(annotation, base, name, scopes, needed=needed)
        if _is_class_var(resolved):
            continue
        if typing.get_origin(resolved) is Field:
            (inner,) = typing.get_args(resolved)
            inner = _resolve_inside(inner, base, name, scopes)
            own[name] = (inner, _declaration(base, name, base.__dict__.get(name)))
        elif strict and not private:
            raise _no_field(base, name, annotation, resolved)
    return own


def _no_field(base: type, name: str, annotation: Any, resolved: Any) -> DefinitionError:
    shown = _show(annotation)
    if resolved is Field:
        remedy = f"Say what it holds: `{name}: Field[...]`."
    elif _mentions_field(resolved):
        remedy = f"Field[...] stands outermost, such as `{name}: Field[str | None]`."
    else:
        remedy = (
            f"A field is annotated Field[...], such as `{name}: Field[{shown}]`; "
            "anything else on the class is ClassVar[...]."
        )
    return DefinitionError(
        f"{base.__qualname__}.{name} is annotated {shown}. {remedy}", owner=base.__qualname__, field=name
    )


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
    return _FIELD.search(annotation if isinstance(annotation, str) else repr(annotation)) is not None


def _is_class_var(annotation: Any) -> bool:
    return annotation is ClassVar or typing.get_origin(annotation) is ClassVar


def _show(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation).replace("typing.", "")


# Names in annotations


class _Scopes:
    """The names that the annotations of a class body may use.

    Attributes:
        local: those of the functions inside which the class is being made.
    """

    def __init__(self, base: type) -> None:
        self._base = base
        module = sys.modules.get(base.__module__)
        self._module: dict[str, Any] = dict(vars(module)) if module is not None else {}
        enclosing = set(base.__qualname__.split(".")[:-1])
        self.local: dict[str, Any] = {}
        self._around: dict[str, Any] = {}
        for frame in reversed(list(_frames(base.__module__))):
            # A function of the class's own qualified name encloses it; another one of the module only called it.
            (self.local if frame.f_code.co_name in enclosing else self._around).update(frame.f_locals)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        parameters = {each.__name__: each for each in getattr(self._base, "__type_params__", ())}
        names = {**self._module, **self.local, **parameters}
        yield names
        # Members of the class body come late: one named like a builtin would shadow it in later annotations.
        yield {**vars(self._base), **names}
        yield {**self._around, **vars(self._base), **names}


def _frames(module: str) -> Iterator[FrameType]:
    """The functions of a module that are being run, innermost first."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_globals.get("__name__") == module and frame.f_locals is not frame.f_globals:
            yield frame
        frame = frame.f_back


def _resolve(annotation: Any, base: type, name: str, scopes: _Scopes, *, needed: bool) -> Any:
    """The object behind a string annotation, or the annotation when it is one already."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    if text is None:
        return annotation
    if _CLASS_VAR.match(text):
        return ClassVar
    return _evaluate(text, base, name, scopes, lambda scope: eval(text, scope), needed=needed)  # noqa: S307


def _resolve_inside(annotation: Any, base: type, name: str, scopes: _Scopes) -> Any:
    """The annotation with the strings inside it resolved, such as ``list["Part"]``."""
    return _evaluate(_show(annotation), base, name, scopes, lambda scope: _without_text(annotation, scope), needed=True)


def _without_text(annotation: Any, scope: dict[str, Any]) -> Any:
    # typing.get_type_hints leaves the strings inside list["Part"] on Python 3.10.
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _without_text(eval(annotation, scope), scope)  # noqa: S307  (the class body's own source)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal or not arguments:
        return annotation
    if origin is typing.Annotated:
        arguments = arguments[:1]
    found = tuple(_without_text(each, scope) for each in arguments)
    if found == arguments:
        return annotation
    if origin is typing.Annotated:
        parts: Any = (*found, *annotation.__metadata__)
        return typing.Annotated[parts]
    if origin in (typing.Union, UnionType):
        return typing.Union[found]
    return origin[found]


def _evaluate(
    text: str,
    base: type,
    name: str,
    scopes: _Scopes,
    evaluate: Callable[[dict[str, Any]], Any],
    *,
    needed: bool,
) -> Any:
    missing = NameError()
    for scope in scopes:
        try:
            # A fresh dict, which eval adds the builtins to. The text is the class body's own source.
            return evaluate(scope)
        except NameError as error:
            missing = error
        except Exception as error:
            if not needed:
                return ClassVar
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


# Generic bases


def _substitutions(cls: type) -> dict[type, dict[Any, Any]]:
    """For each generic base, what its type variables stand for in `cls`."""
    found: dict[type, dict[Any, Any]] = {}

    def visit(owner: type, known: Mapping[Any, Any]) -> None:
        for base in owner.__dict__.get("__orig_bases__", owner.__bases__):
            origin = typing.get_origin(base) or base
            if origin in (object, typing.Generic) or not isinstance(origin, type):
                continue
            arguments = [_substitute(argument, known) for argument in typing.get_args(base)]
            mapping = dict(zip(getattr(origin, "__parameters__", ()), arguments))
            found.setdefault(origin, {}).update(mapping)
            visit(origin, mapping)

    visit(cls, {})
    return found


def _substitute(annotation: Any, mapping: Mapping[Any, Any]) -> Any:
    if not mapping:
        return annotation
    if isinstance(annotation, TypeVar):
        return mapping.get(annotation, annotation)
    parameters = getattr(annotation, "__parameters__", ())
    # A generic class without its arguments has parameters too; on Python 3.10 list[T] calls itself a type.
    if not parameters or not typing.get_args(annotation):
        return annotation
    return annotation[tuple(mapping.get(parameter, parameter) for parameter in parameters)]
