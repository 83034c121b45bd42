"""Inputs made from seeds: JSON with one part replaced, and bytes that were cut, swapped and repeated."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["CORPUS", "JUNK", "deep", "mutated", "replaced", "seeds"]

CORPUS = Path(__file__).parent / "corpus"


def deep(levels: int) -> bytes:
    """A list in a list, so many times, as text: JSON itself may refuse to read it."""
    return b'{"L":[' * levels + b'{"N":"1"}' + b"]}" * levels


JUNK = [
    *("null", "true", "0", "-1", "1.5", "1e999", "NaN", '""', '"x"', '"SHELF#b"', "[]", "{}", "[[]]", "[1]", "[{}]"),
    *('{"S":1}', '{"S":null}', '{"S":"x","N":"1"}', '{"Z":"x"}', '{"L":1}', '{"M":1}', '{"M":{"a":1}}', '{"L":[1]}'),
    *('{"N":"NaN"}', '{"N":"1e999999999"}', '{"N":"' + "9" * 50 + '"}', '{"N":1E5}', '{"B":"!"}', '{"BOOL":"x"}'),
    *('{"NULL":false}', '{"SS":[]}', '{"SS":["a","a"]}', '{"NS":["1","1.0"]}', '{"BS":[1]}', '{"x":{"S":"y"}}'),
    *('"\\ud800"', '{"S":"\\ud800"}', '{"":{"S":"x"}}', '"a\\u0000b"', '{"S":"' + "x" * 3000 + '"}', "1" * 5000),
    *(deep(levels).decode() for levels in (15, 16, 31, 32, 33, 100, 400)),
    *('{"M":' * levels + '{"S":"x"}' + "}" * levels for levels in (1, 40)),
]


def seeds(target: str) -> list[bytes]:
    """The seeds of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


def mutated(target: str, count: int, seed: int) -> Iterator[bytes]:
    """So many inputs, the same ones for the same seed."""
    chance = random.Random(seed)
    found = seeds(target)
    for _ in range(count):
        data = chance.choice(found)
        made = _tree(data, chance) if chance.random() < 0.8 else None
        yield _bytes(data, chance) if made is None else made


def _tree(data: bytes, chance: random.Random) -> bytes | None:
    try:
        tree = json.loads(data)
    except ValueError:
        return None
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        tree = replaced(tree, chance)
    return json.dumps(tree).replace('"@junk"', chance.choice(JUNK)).encode()


def replaced(tree: Any, chance: random.Random) -> Any:
    """The tree with one part replaced, dropped, renamed or doubled."""
    places = list(_places(tree))
    if not places:
        return "@junk"
    holder, step = chance.choice(places)
    what = chance.random()
    if what < 0.7:
        holder[step] = "@junk"
    elif what < 0.85:
        del holder[step]
    elif isinstance(holder, dict):
        holder[chance.choice(["S", "B", "M", "L", "Items", "", "PK", "x"])] = "@junk"
    else:
        holder.append("@junk")
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, inner in inside:
        yield tree, step
        yield from _places(inner)


def _bytes(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(made) + 1)
        what = chance.randrange(5)
        if what == 0:
            del made[at : at + chance.choice([1, 4, len(made)])]
        elif what == 1:
            made[at:at] = chance.randbytes(chance.choice([1, 3]))
        elif what == 2:
            made[at:at] = made[at : at + chance.choice([1, 8, 100])] * chance.choice([1, 50])
        elif what == 3 and at < len(made):
            made[at] = chance.randrange(256)
        else:
            made[at:at] = chance.choice([b"{", b"}", b"[", b'"', b"\\", b"/*", b"#", b"=", b"\n", b"\x00", b"\xff"])
    return bytes(made)
