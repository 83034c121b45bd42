"""CloudFormation templates in JSON and YAML: their tables, with the intrinsic functions that a template answers itself.

YAML is read by PyYAML, which comes with the extra ``tablekit[adopt]``; the short forms ``!Ref``, ``!Sub`` and the rest
become what they stand for. SAM's SimpleTable and the ``resources`` of serverless.yml are read as well.
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from tablekit.wire.plain import mapping_of

__all__ = ["parse_yaml", "tables_of_template"]

RESOURCES = ("AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable")
SIMPLE = "AWS::Serverless::SimpleTable"
MOST_VALUES = 100_000
"""Values of a template that are looked at; anchors can make a small file a very large one."""

_SCALARS = {"String": "S", "Number": "N", "Binary": "B"}
_INSERTED = re.compile(r"\$\{([^!{}][^{}]*)\}")


def parse_yaml(text: str) -> Any:
    """What a YAML template holds, short forms of functions written out.

    Raises ``ImportError`` without PyYAML, ``ValueError`` for what is no YAML.
    """
    yaml: Any = importlib.import_module("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    def function(loader: Any, tag: str, node: Any) -> Any:
        name = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
        build: Callable[..., Any] = loader.construct_scalar
        if isinstance(node, yaml.SequenceNode):
            return {name: loader.construct_sequence(node, deep=True)}
        if isinstance(node, yaml.MappingNode):
            return {name: loader.construct_mapping(node, deep=True)}
        value = build(node)
        return {name: value.split(".", 1) if tag == "GetAtt" else value}

    # A SafeLoader that knows the short forms as well.
    Loader.add_multi_constructor("!", function)
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"it is no YAML{where}") from None


def tables_of_template(content: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of a template: their logical names and properties, as CreateTable has them."""
    template = mapping_of(content) or {}
    found: list[tuple[str, Mapping[str, Any]]] = []
    for name, resource in _resources(template).items():
        entry = mapping_of(resource) or {}
        kind = str(entry.get("Type"))
        if kind in (*RESOURCES, SIMPLE):
            properties = mapping_of(_Functions(template).resolved(entry.get("Properties") or {})) or {}
            found.append((name, _simple(properties) if kind == SIMPLE else properties))
    return found


def _resources(template: Mapping[str, Any]) -> dict[str, Any]:
    """The resources; of serverless.yml those under ``resources``, which may be a list of templates."""
    own = mapping_of(template.get("Resources"))
    if own is not None:
        return dict(own)
    inner = template.get("resources")
    parts = _several(inner)
    return {
        name: each
        for part in parts
        for name, each in (mapping_of((mapping_of(part) or {}).get("Resources")) or {}).items()
    }


def _several(value: Any) -> list[Any]:
    """A list as it is, and what is none as a list of one."""
    return cast(Any, value) if isinstance(value, list) else [value]


def _simple(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """SAM's table with a partition key alone, which is called id unless said otherwise."""
    key = mapping_of(properties.get("PrimaryKey")) or {"Name": "id", "Type": "String"}
    name = key.get("Name", "id")
    return {
        **properties,
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": _SCALARS.get(str(key.get("Type")), "S")}],
    }


class _Functions:
    """Answers the intrinsic functions that parameters with defaults and mappings answer; others stay as they are."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        self._parameters = mapping_of(template.get("Parameters")) or {}
        self._mappings = mapping_of(template.get("Mappings")) or {}
        self._left = MOST_VALUES

    def resolved(self, value: Any) -> Any:
        """A value with its functions answered, as far as they can be. Raises ``ValueError`` for too large a one."""
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")
        if isinstance(value, list):
            found = [self.resolved(each) for each in _several(value)]
            return [each for each in found if each != _NOTHING]
        if not isinstance(value, Mapping):
            return value
        entries = cast("Mapping[str, Any]", value)
        if len(entries) == 1:
            ((name, argument),) = entries.items()
            if name == "Ref" or str(name).startswith("Fn::"):
                return self._called(name, argument)
        found_in = {name: self.resolved(each) for name, each in entries.items()}
        return {name: each for name, each in found_in.items() if each != _NOTHING}

    def _called(self, name: str, argument: Any) -> Any:
        if name == "Ref":
            return self._parameter(str(argument), {"Ref": argument})
        if name == "Fn::If":
            # Which one holds is not known here; what a table may have is worth more than what it may lack.
            branches = [self.resolved(each) for each in _several(argument)[1:]]
            return next((each for each in branches if each != _NOTHING), _NOTHING)
        given: Any = self.resolved(argument)
        parts = _several(given)
        if name == "Fn::Sub" and isinstance(parts[0], str):
            return self._filled(parts[0], mapping_of(parts[1]) or {} if len(parts) > 1 else {})
        if name == "Fn::Join" and len(parts) == 2 and isinstance(parts[1], list):
            pieces = _several(parts[1])
            return str(parts[0]).join(pieces) if all(isinstance(each, str) for each in pieces) else {name: given}
        if name == "Fn::FindInMap":
            return self._mapped(parts, {name: given})
        return {name: given}

    def _parameter(self, name: str, unknown: Any) -> Any:
        declared = mapping_of(self._parameters.get(name)) or {}
        return declared.get("Default", unknown)

    def _filled(self, text: str, names: Mapping[str, Any]) -> str:
        def insert(match: re.Match[str]) -> str:
            found = names.get(match.group(1), self._parameter(match.group(1), None))
            return match.group() if found is None or isinstance(found, (Mapping, list)) else str(found)

        return _INSERTED.sub(insert, text).replace("${!", "${")

    def _mapped(self, steps: list[Any], unknown: Any) -> Any:
        found: Any = self._mappings
        for step in steps[:3]:
            found = (mapping_of(found) or {}).get(step) if isinstance(step, str) else None
        return unknown if found is None else found


_NOTHING = {"Ref": "AWS::NoValue"}
