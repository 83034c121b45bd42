"""Reading an export of a table: DynamoDB JSON in gzip files, with its manifest, line by line.

A full export has one ``{"Item": {...}}`` a line, an incremental one ``{"Metadata", "Keys", "NewImage", "OldImage"}``.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit.errors import TablekitError

__all__ = ["DataFile", "Export", "ExportError", "ExportRecord", "find_export", "parse_record", "read_lines"]

SUMMARY = "manifest-summary.json"
FILES = "manifest-files.json"
LONGEST_LINE = 8 * 1024 * 1024
"""An item is at most 400 KB; with both images, escapes and base64 no line of an export comes near this, in bytes."""


class ExportError(TablekitError):
    """An export cannot be read, or does not hold what its manifest says.

    Attributes:
        path: the folder or file. line: the line in it, from 1; None where none is meant.
    """

    def __init__(self, message: str, *, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


@attrs.frozen
class DataFile:
    """One file of an export.

    Attributes:
        path: where it lies. items: the number of lines that the manifest promises; None without a manifest.
    """

    path: Path
    items: int | None


@attrs.frozen
class Export:
    """An export's folder.

    Attributes:
        folder: the export's own folder. files: its data files, in the manifest's order. items: the number of items
            that the manifest promises; None without one. incremental: whether it holds changes of a period.
    """

    folder: Path
    files: tuple[DataFile, ...]
    items: int | None
    incremental: bool


@attrs.frozen
class ExportRecord:
    """One line of an export.

    Attributes:
        item: the row; for a change the new row, or None when it was deleted. old: the row before the change, where
            the export has it. keys: the key of a changed row; empty in a full export.
    """

    item: Mapping[str, Any] | None
    old: Mapping[str, Any] | None = None
    keys: Mapping[str, Any] = attrs.Factory(dict[str, Any])

    @property
    def image(self) -> Mapping[str, Any]:
        """The row, or what is known of it: the new image, the old one, or the key."""
        return self.item if self.item is not None else self.old if self.old is not None else self.keys


def find_export(source: str | Path) -> Export:
    """The export in a folder: the export's own folder, or any parent of exactly one.

    A folder without a manifest is taken as a bare set of ``*.json.gz`` files. Raises `ExportError`.
    """
    root = Path(source)
    if not root.is_dir():
        raise ExportError(f"{root} is no folder. Give the folder of an export, or one above it.", path=str(root))
    summaries = sorted(root.rglob(SUMMARY))
    if len(summaries) > 1:
        names = ", ".join(str(path.parent.relative_to(root)) for path in summaries[:5])
        raise ExportError(f"{root} holds {len(summaries)} exports ({names}). Give one of them.", path=str(root))
    if summaries:
        return _from_manifest(summaries[0])
    return _bare_files(root)


def _from_manifest(summary_path: Path) -> Export:
    folder = summary_path.parent
    summary = _load(summary_path)
    if str(summary.get("outputFormat", "DYNAMODB_JSON")).upper() == "ION":
        raise _ion(summary_path)
    files_path = folder / FILES
    if not files_path.is_file():
        raise ExportError(
            f"{folder} has a {SUMMARY} and no {FILES}: the copy of the export is not whole.", path=str(folder)
        )
    files: list[DataFile] = []
    for number, line in enumerate(files_path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            files.append(_manifest_entry(folder, files_path, number, line))
    return Export(
        folder, tuple(files), _count(summary.get("itemCount")), summary.get("exportType") == "INCREMENTAL_EXPORT"
    )


def _manifest_entry(folder: Path, manifest: Path, number: int, line: str) -> DataFile:
    try:
        entry = json.loads(line)
        key, items = str(entry["dataFileS3Key"]), _count(entry.get("itemCount"))
    except (ValueError, KeyError, TypeError):
        raise ExportError(
            f"{manifest}, line {number}, is no entry of a manifest.", path=str(manifest), line=number
        ) from None
    if key.endswith((".ion", ".ion.gz")):
        raise _ion(manifest)
    # The key names a place in a bucket; only its last part is a file of ours, and it may lead nowhere else.
    path = folder / "data" / Path(key).name
    if not path.is_file():
        raise ExportError(f"{path} is in the manifest and is not there. Copy the export again, whole.", path=str(path))
    return DataFile(path, items)


def _bare_files(root: Path) -> Export:
    if any(root.rglob("*.ion.gz")):
        raise _ion(root)
    files = tuple(DataFile(path, None) for path in sorted(root.rglob("*.json.gz")))
    if not files:
        raise ExportError(
            f"{root} holds no export: neither a {SUMMARY} nor a *.json.gz file is in it or below it.", path=str(root)
        )
    return Export(root, files, None, incremental=False)


def _ion(path: Path) -> ExportError:
    return ExportError(
        f"{path}: the export is in Amazon Ion, which tablekit does not read. Export it again with "
        "--export-format DYNAMODB_JSON.",
        path=str(path),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ExportError(f"{path} cannot be read as JSON ({type(error).__name__}).", path=str(path)) from None
    if not isinstance(found, dict):
        raise ExportError(f"{path} is no JSON object.", path=str(path))
    return cast("dict[str, Any]", found)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a data file that are not blank, without their ends; a gzip file may have several members.

    One line is in memory at a time. Raises `ExportError` for a file that is cut or no gzip.
    """
    number = 0
    try:
        with gzip.open(path, "rb") as packed, io.BufferedReader(cast(io.RawIOBase, packed), 1 << 20) as lines:
            while True:
                line = lines.readline(LONGEST_LINE)
                if not line:
                    return
                number += 1
                if len(line) >= LONGEST_LINE:
                    raise ExportError(
                        f"{path}, line {number}, is longer than any row can be.", path=str(path), line=number
                    )
                line = line.rstrip(b"\r\n")
                if line and not line.isspace():
                    yield line
    except (OSError, EOFError, zlib.error) as error:
        raise ExportError(
            f"{path} cannot be read after line {number} ({type(error).__name__}): it is cut, or no gzip file.",
            path=str(path),
            line=number,
        ) from None


def parse_record(line: bytes, path: Path, number: int) -> ExportRecord:
    """The record of one line. Raises `ExportError` naming file and line for what is none."""
    try:
        found = json.loads(line)
        if "Item" in found:
            record = ExportRecord(_image(found["Item"]))
        elif "Keys" in found:
            new, old = found.get("NewImage"), found.get("OldImage")
            record = ExportRecord(
                None if new is None else _image(new), None if old is None else _image(old), _image(found["Keys"])
            )
        else:
            raise ValueError("neither Item nor Keys")  # noqa: TRY301  (told as every other malformed line)
    except (ValueError, TypeError, RecursionError):
        raise ExportError(
            f"{path}, line {number}, is no record of an export. Copy the export again, or leave the file out.",
            path=str(path),
            line=number,
        ) from None
    return record


def _image(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no image")  # noqa: TRY004  (told as every other malformed line)
    return cast("dict[str, Any]", value)
