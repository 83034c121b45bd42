"""Cursors: where a query goes on, as text that is bound to the query.

A cursor holds the key of the last row gone through, and a digest of everything that makes the query: table,
index, partition, range, direction, conditions, classes. It is refused before anything is sent when the digest
or the key does not fit. Without a secret the text is readable base64 and a stranger who knows the scheme could
make one, though never for another partition: the partition is taken from the query. With a secret it is
encrypted and authenticated (AES-GCM-SIV), and keys cannot be read from it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tablekit._types import Item, KeyType
from tablekit.codecs.compare import equal_wire
from tablekit.errors import CursorError, RequestError
from tablekit.operations.queryplan import QueryPlan
from tablekit.operations.queryspec import QuerySpec

__all__ = ["decode_cursor", "encode_cursor"]

LONGEST = 8_192
"""No cursor of ours is longer: keys take 3 KB at most. Longer texts are refused unread."""

_VERSION = 1
_DIGEST_BYTES = 16
_NONCE_BYTES = 12


def encode_cursor(plan: QueryPlan, key: Item, table: str, secrets: Sequence[bytes]) -> str:
    """The cursor for going on after a key.

    Parameters:
        secrets: the first one encrypts; none gives a plain cursor.
    """
    context = _context(plan, table)
    content = json.dumps([_VERSION, _packed(key)], separators=(",", ":"), ensure_ascii=False).encode()
    if secrets:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = _cipher(secrets[0]).encrypt(nonce, content, context)
        return _text(b"\x02" + nonce + sealed)
    return _text(b"\x01" + _check(content, context) + content)


def decode_cursor(plan: QueryPlan, text: str, table: str, secrets: Sequence[bytes]) -> Item:
    """The key after which to go on. Raises `CursorError` for anything but a cursor of this very query."""
    raw = _bytes(text)
    context = _context(plan, table)
    content = _open(raw, context, secrets) if secrets else _verify(raw, context)
    try:
        version, packed = json.loads(content)
        key = _unpacked(packed)
    except (ValueError, TypeError, KeyError):
        raise _bad("is not one that tablekit made") from None
    if version != _VERSION:
        raise _bad("was made by another version of tablekit")
    _check_key(plan.spec, plan, key)
    return key


def _bad(reason: str) -> CursorError:
    return CursorError(
        f"The cursor {reason}. Use a cursor only with the query that gave it (same table, index, partition, range, "
        "direction and conditions), or start again without one."
    )


def _bytes(text: str) -> bytes:
    if not isinstance(text, str) or not text:
        raise _bad("is empty, and None is what starts a query")
    if len(text) > LONGEST:
        raise _bad("is longer than any that tablekit makes")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise _bad("is not one that tablekit made") from None
    # Unused bits of the last character could differ and decode alike.
    if _text(raw) != text:
        raise _bad("was altered")
    return raw


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _check(content: bytes, context: bytes) -> bytes:
    return hashlib.sha256(context + content).digest()[:_DIGEST_BYTES]


def _verify(raw: bytes, context: bytes) -> bytes:
    if raw[:1] == b"\x02":
        raise _bad("is encrypted, and this table has no cursor_secret")
    digest, content = raw[1 : 1 + _DIGEST_BYTES], raw[1 + _DIGEST_BYTES :]
    if raw[:1] != b"\x01" or not hmac.compare_digest(digest, _check(content, context)):
        raise _bad("belongs to another query, or was cut or altered")
    return content


def _open(raw: bytes, context: bytes, secrets: Sequence[bytes]) -> bytes:
    if raw[:1] != b"\x02":
        raise _bad("is not encrypted, and this table has a cursor_secret")
    nonce, sealed = raw[1 : 1 + _NONCE_BYTES], raw[1 + _NONCE_BYTES :]
    for secret in secrets:
        try:
            opened: bytes = _cipher(secret).decrypt(nonce, sealed, context)
        except Exception:  # noqa: S112  (the library raises InvalidTag, and ValueError for lengths)
            continue
        return opened
    raise _bad("belongs to another query, or was cut or altered")


def _cipher(secret: bytes) -> Any:
    try:
        aead = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
    except ImportError:
        raise RequestError('cursor_secret needs the extra: pip install "tablekit[cursors]".') from None
    return aead.AESGCMSIV(hashlib.sha256(b"tablekit cursor" + secret).digest())


def _context(plan: QueryPlan, table: str) -> bytes:
    """A digest of everything that makes the query the one it is."""
    spec = plan.spec
    schemas = spec.schemas
    parts = {
        "table": table,
        "index": None if spec.index is None else spec.index.name,
        "reverse": spec.reverse,
        "scan": spec.scan,
        "types": None if schemas is None else sorted(schema.type for schema in schemas),
        "request": plan.fingerprint(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_plain).encode()).digest()


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else list(value)


def _packed(key: Item) -> dict[str, list[str]]:
    return {
        name: [tag, _plain(inner) if tag == "B" else inner] for name, av in key.items() for tag, inner in av.items()
    }


def _unpacked(packed: Mapping[str, Any]) -> Item:
    key: Item = {}
    for name, (tag, inner) in packed.items():
        if tag not in ("S", "N", "B") or not isinstance(inner, str):
            raise ValueError("no key value")
        key[name] = {tag: base64.b64decode(inner, validate=True) if tag == "B" else inner}
    return key


def _check_key(spec: QuerySpec, plan: QueryPlan, key: Item) -> None:
    wanted = dict.fromkeys((*spec.registry.key_names, *spec.key_attributes))
    if key.keys() != wanted.keys():
        raise _bad("names other key attributes than this query")
    for name, value in key.items():
        tag: KeyType = spec.registry.key_type(name)
        if tag not in value:
            raise _bad("holds a key of another type")
    for name, expected in plan.partition.items():
        if not equal_wire(key[name], expected):
            raise _bad("belongs to another partition")
