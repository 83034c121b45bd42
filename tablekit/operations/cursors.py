"""Cursors: where a query goes on, as text that is bound to the query.

A cursor holds the key of a row, whether to go on after it or before it, and a digest of everything that makes the
query: table, index, partition, range, direction, conditions, classes. It is refused before anything is sent when the
digest or the key does not fit. Without a secret the text is readable base64 and a stranger who knows the scheme
could make one, though never for another partition: the partition is taken from the query. With a secret it is
encrypted and authenticated (AES-GCM-SIV), and keys cannot be read from it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from tablekit._types import Item, KeyType
from tablekit.codecs.compare import equal_wire
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.errors import CursorError, KeyPartError, RequestError
from tablekit.operations.keyranges import comparable
from tablekit.operations.put import key_for
from tablekit.operations.queryplan import QueryPlan
from tablekit.operations.queryspec import QuerySpec, index_sources

__all__ = ["Side", "check_position", "decode_cursor", "encode_cursor", "key_in_query"]

Side = Literal["after", "before"]
"""Whether a query goes on with the rows after the cursor's key, or with those before it."""

LONGEST = 65_536
"""Characters; no cursor of ours is longer, since keys take 6 KB at most. Longer texts are refused unread."""

_VERSION = 1
_DIGEST_BYTES = 16
_NONCE_BYTES = 12


def encode_cursor(plan: QueryPlan, key: Item | None, table: str, secrets: Sequence[bytes], side: Side = "after") -> str:
    """The cursor for going on after a key, or before it.

    Parameters:
        key: the key; None for the beginning of the query. secrets: the first one encrypts; none gives a plain cursor.
    """
    context = _context(plan, table)
    packed = None if key is None else _packed(key)
    content = json.dumps([_VERSION, side, packed], separators=(",", ":"), ensure_ascii=False).encode()
    if secrets:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = _cipher(secrets[0]).encrypt(nonce, content, context)
        return _text(b"\x02" + nonce + sealed)
    return _text(b"\x01" + _check(content, context) + content)


def decode_cursor(
    plan: QueryPlan, text: str, table: str, secrets: Sequence[bytes], side: Side = "after"
) -> Item | None:
    """The key to go on after, or before; None for the beginning.

    Raises `CursorError` for anything but a cursor of this very query, and of this side.
    """
    raw = _bytes(text)
    context = _context(plan, table)
    content = _open(raw, context, secrets) if secrets else _verify(raw, context)
    try:
        version, found, packed = json.loads(content)
        key = None if packed is None else _unpacked(packed)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _bad("is not one that tablekit made") from None
    if version != _VERSION:
        raise _bad("was made by another version of tablekit")
    if found != side:
        right, wrong = ("cursor=", "before=") if found == "after" else ("before=", "cursor=")
        raise _bad(f"is one for {right}, and was given as {wrong}")
    if key is not None:
        check_position(plan, key)
    return key


def key_in_query(plan: QueryPlan, entity: EntityBase) -> Item:
    """The key of an entity as the query reads it. Raises `CursorError` where the entity is not in the query."""
    spec = plan.spec
    schema = schema_of(entity)
    if schema.registry is not spec.registry or schema not in spec.candidates:
        raise _not_in(spec, entity, "its class is not asked for")
    key = key_for(entity, schema)
    if spec.index is not None:
        key = {**_index_key(spec, entity), **key}
    try:
        check_position(plan, key)
    except CursorError:
        raise _not_in(spec, entity, "it lies in another partition or out of the range") from None
    return key


def _index_key(spec: QuerySpec, entity: EntityBase) -> Item:
    assert spec.index is not None
    schema = schema_of(entity)
    # Where a class declares several keys of one index, they give the same texts.
    for source in index_sources(schema, spec.index)[:1]:
        index_key = source.index_key
        assert index_key is not None
        if index_key.applies(entity.__dict__):
            with contextlib.suppress(KeyPartError):
                return {key.attribute: key.render(entity.__dict__, schema.name) for key in index_key.keys}
    raise _not_in(spec, entity, "it is not in the index")


def _not_in(spec: QuerySpec, entity: EntityBase, reason: str) -> CursorError:
    return CursorError(
        f"This {type(entity).__name__} is not in the query of {spec.where_text}: {reason}. "
        "Take an entity that the query returned."
    )


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
    try:
        return aead.AESGCMSIV(hashlib.sha256(b"tablekit cursor" + secret).digest())
    except Exception as problem:
        raise RequestError(f"cursor_secret needs AES-GCM-SIV, which this OpenSSL lacks ({problem}).") from None


def _context(plan: QueryPlan, table: str) -> bytes:
    """A digest of everything that makes the query the one it is."""
    parts = {"table": table, "request": plan.fingerprint()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=_plain).encode()).digest()


def _plain(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _packed(key: Item) -> dict[str, list[str]]:
    return {
        name: [tag, _plain(inner) if tag == "B" else inner] for name, av in key.items() for tag, inner in av.items()
    }


def _unpacked(packed: Mapping[str, Any]) -> Item:
    key: Item = {}
    for name, (tag, inner) in packed.items():
        if tag not in ("S", "N", "B") or not isinstance(inner, str) or not inner:
            raise ValueError
        if tag == "N" and not _finite(inner):
            raise ValueError
        key[name] = {tag: base64.b64decode(inner, validate=True) if tag == "B" else inner}
    return key


def _finite(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def check_position(plan: QueryPlan, key: Item) -> None:
    """Refuse a key that is none of the query: DynamoDB takes another partition's key for a start.

    Raises `CursorError`.
    """
    spec = plan.spec
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
    last = spec.key_attributes[-1]
    if last not in plan.partition and comparable(key[last], spec.registry.key_type(last)) not in plan.cover.closed:
        raise _bad("lies out of the range of this query")
