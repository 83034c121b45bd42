"""The lines of an export's data file: decompressed, hashed and split as they are read, and parsed into records.

A full export has one ``{"Item": {...}}`` a line, an incremental one ``{"Metadata", "Keys", "NewImage", "OldImage"}``.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit.tools.export_source import ExportError

__all__ = ["ExportRecord", "Reader", "parse_record", "read_lines"]

LONGEST_LINE = 8 * 1024 * 1024
"""An item is at most 400 KB; with both images, escapes and base64 no line of an export comes near this, in bytes."""

_READ = 1 << 16
_BLOCK = 1 << 18
"""Bytes of JSON that are unpacked at once, however well they were packed."""
_GZIP = 31
"""zlib's word for a gzip member with its header and its checksum."""

# The scanner is what json.loads ends in; it takes text, and says where it stopped.
_DECODER = json.JSONDecoder()
_SCAN = cast("Any", _DECODER).scan_once


@attrs.define
class ExportRecord:
    """One line of an export.

    Attributes:
        item: the row; for a change the new row, or None when it was deleted. old: the row before the change, where
            the export has it. keys: the key of a changed row; None in a full export.
    """

    item: Mapping[str, Any] | None
    old: Mapping[str, Any] | None = None
    keys: Mapping[str, Any] | None = None

    @property
    def image(self) -> Mapping[str, Any]:
        """The row, or what is known of it: the new image, the old one, or the key."""
        found = self.item if self.item is not None else self.old if self.old is not None else self.keys
        return {} if found is None else found


class Reader:
    """Reads a gzip file of one or several members, a block of lines at a time.

    Parameters:
        path: the file.

    Attributes:
        md5: of the file, as far as it was read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.md5 = hashlib.md5(usedforsecurity=False)
        self._number = 0

    def blocks(self) -> Iterator[list[bytes]]:
        """The lines, in lists; lines that are blank are among them, and stand for nothing.

        Raises `ExportError` for a file that is cut or no gzip.
        """
        try:
            yield from self._blocks()
        except (OSError, EOFError, zlib.error) as error:
            raise ExportError(
                f"{self.path} cannot be read after line {self._number} ({type(error).__name__}): it is cut, or no "
                "gzip file.",
                path=str(self.path),
                line=self._number,
            ) from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not blank, with their numbers from 1. Raises as `blocks`."""
        number = 0
        for block in self.blocks():
            for line in block:
                number += 1
                if line and not line.isspace():
                    yield number, line

    def _blocks(self) -> Iterator[list[bytes]]:
        rest = b""
        for data in self._unpacked():
            lines = (rest + data).replace(b"\r\n", b"\n").split(b"\n")
            rest = lines.pop()
            if len(rest) > LONGEST_LINE:
                number = self._number + len(lines) + 1
                raise ExportError(
                    f"{self.path}, line {number}, is longer than any row can be.", path=str(self.path), line=number
                )
            self._number += len(lines)
            yield lines
        if rest:
            self._number += 1
            yield [rest.rstrip(b"\r")]

    def _unpacked(self) -> Iterator[bytes]:
        unpack = None
        with self.path.open("rb", buffering=0) as file:
            while packed := file.read(_READ):
                self.md5.update(packed)
                while packed:
                    if unpack is None:
                        unpack = zlib.decompressobj(_GZIP)
                    data = unpack.decompress(packed, _BLOCK)
                    if data:
                        yield data
                    packed = unpack.unconsumed_tail
                    if unpack.eof:
                        # Another member may follow, or the zeros that a tape or a disk block was filled up with.
                        packed, unpack = unpack.unused_data.lstrip(b"\0"), None
        if unpack is not None:
            yield unpack.flush()
            if not unpack.eof:
                raise EOFError


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a data file that are not blank, without their ends. Raises as `Reader.blocks`."""
    return (line for _, line in Reader(path).lines())


def parse_record(line: bytes, path: Path, number: int) -> ExportRecord:
    """The record of one line. Raises `ExportError` naming file and line for what is none."""
    try:
        found = _loads(line)
        if "Item" in found:
            return ExportRecord(_image(found["Item"]))
        if "Keys" in found:
            new, old = found.get("NewImage"), found.get("OldImage")
            return ExportRecord(
                None if new is None else _image(new), None if old is None else _image(old), _image(found["Keys"])
            )
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise ExportError(
        f"{path}, line {number}, is no record of an export. Copy the export again, or leave the file out.",
        path=str(path),
        line=number,
    )


def _loads(line: bytes) -> Any:
    text = line.decode()
    try:
        found, end = _SCAN(text, 0)
    except StopIteration:
        return json.loads(line)
    # Blanks around it are rare; what else stands around it is an error, and json tells it.
    return found if end == len(text) else _DECODER.decode(text)


def _image(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no image")  # noqa: TRY004  (told as every other malformed line)
    return cast("dict[str, Any]", value)
