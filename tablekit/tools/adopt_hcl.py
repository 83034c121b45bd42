"""The DynamoDB tables of Terraform files: as much of its language as a resource of a table is written in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["tables_of_terraform"]

_TOKEN = re.compile(
    r'\s+|\#[^\n]*|//[^\n]*|/\*.*?\*/|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z0-9_.-]+)|(?P<mark>[{}\[\]=,:()]|.)',
    re.DOTALL,
)


class _Reader:
    """Goes through the tokens of a file."""

    def __init__(self, text: str) -> None:
        found = (match for match in _TOKEN.finditer(text) if match.lastgroup is not None)
        self.tokens = [(match.lastgroup, match.group()) for match in found]
        self.at = 0

    def peek(self, ahead: int = 0) -> tuple[str | None, str]:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else (None, "")

    def take(self) -> tuple[str | None, str]:
        token = self.peek()
        self.at += 1
        return token

    def block(self) -> dict[str, Any]:
        """The entries up to the closing brace: attributes by name, blocks as lists under their name."""
        found: dict[str, Any] = {}
        while self.peek()[1] not in ("}", ""):
            kind, name = self.take()
            if kind not in ("word", "text"):
                continue
            if self.peek()[1] in ("=", ":"):
                self.take()
                found[_plain(name)] = self.value()
                continue
            while self.peek()[0] in ("text", "word") and self.peek()[1] != "{":
                self.take()
            if self.peek()[1] == "{":
                self.take()
                found.setdefault(name, []).append(self.block())
                self.take()
        return found

    def value(self) -> Any:
        kind, mark = self.take()
        if mark == "[":
            return self._list()
        if mark == "{":
            inner = self.block()
            self.take()
            return inner
        # What is called or indexed is an expression, and no constant.
        while self.peek()[1] in ("(", "["):
            self._skip()
            mark = ""
        return _plain(mark) if kind in ("text", "word") else None

    def _list(self) -> list[Any]:
        found: list[Any] = []
        while self.peek()[1] not in ("]", ""):
            if self.peek()[1] == ",":
                self.take()
            else:
                found.append(self.value())
        self.take()
        return found

    def _skip(self) -> None:
        depth = 0
        while self.peek()[1]:
            mark = self.take()[1]
            depth += (mark in "([{") - (mark in ")]}")
            if depth == 0:
                return


def _plain(token: str) -> Any:
    if token.startswith('"'):
        try:
            text: str = json.loads(token, strict=False)
        except ValueError:
            return token[1:-1]
        return text.replace("$${", "${").replace("%%{", "%{")
    return {"true": True, "false": False}.get(token, token)


def tables_of_terraform(text: str) -> Iterator[dict[str, Any]]:
    """The tables among the resources of a Terraform file, as CreateTable bodies.

    Names that are expressions are taken as they are written; ``dynamic`` blocks are not followed.
    """
    reader = _Reader(text)
    while reader.peek()[1]:
        if reader.peek()[1] == "resource" and _plain(reader.peek(1)[1]) == "aws_dynamodb_table":
            label = _plain(reader.peek(2)[1])
            reader.at += 4
            yield _body(reader.block(), str(label))
        reader.take()


def _body(block: Mapping[str, Any], label: str) -> dict[str, Any]:
    ttl = next((each for each in block.get("ttl", []) if each.get("enabled", True)), None)
    name = block.get("name")
    return {
        "TableName": name if isinstance(name, str) and name else label,
        "KeySchema": _key_schema(block),
        "AttributeDefinitions": [
            {"AttributeName": each["name"], "AttributeType": each["type"]} for each in block.get("attribute", [])
        ],
        "GlobalSecondaryIndexes": [_index(each) for each in block.get("global_secondary_index", [])],
        "LocalSecondaryIndexes": [_index(each) for each in block.get("local_secondary_index", [])],
        "TimeToLiveSpecification": {"AttributeName": ttl["attribute_name"], "Enabled": True} if ttl else None,
    }


def _key_schema(block: Mapping[str, Any]) -> list[dict[str, str]]:
    keys = [
        {"AttributeName": block[name], "KeyType": kind}
        for name, kind in (("hash_key", "HASH"), ("range_key", "RANGE"))
        if block.get(name)
    ]
    named = block.get("key_schema", [])
    return keys + [{"AttributeName": each["attribute_name"], "KeyType": each["key_type"]} for each in named]


def _index(block: Mapping[str, Any]) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": block.get("projection_type", "ALL")}
    if block.get("non_key_attributes"):
        projection["NonKeyAttributes"] = block["non_key_attributes"]
    return {"IndexName": block["name"], "KeySchema": _key_schema(block), "Projection": projection}
