"""Finding an export of a table in a folder: its manifest, its data files, and what they promise.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import Any, cast

import attrs

from tablekit.errors import TablekitError

__all__ = ["DataFile", "Export", "ExportError", "find_export", "manifest_file", "refuse_ion"]

SUMMARY = "manifest-summary.json"
FILES = "manifest-files.json"


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
        path: where it lies. items, md5: the number of lines, and the MD5 of the file, that the manifest promises; None
            where it promises none.
    """

    path: Path
    items: int | None
    md5: bytes | None = None


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
    refuse_ion(summary, summary_path)
    files_path = folder / FILES
    if not files_path.is_file():
        raise ExportError(
            f"{folder} has a {SUMMARY} and no {FILES}: the copy of the export is not whole.", path=str(folder)
        )
    files = _listed(folder, files_path)
    items = _count(summary.get("itemCount"))
    promised = [file.items for file in files]
    if items is not None and None not in promised and items != sum(cast("list[int]", promised)):
        raise ExportError(
            f"{summary_path} promises {items} rows, and the files of {FILES} {sum(cast('list[int]', promised))}. "
            "Copy both again.",
            path=str(summary_path),
        )
    return Export(folder, files, items, summary.get("exportType") == "INCREMENTAL_EXPORT")


def _listed(folder: Path, manifest: Path) -> tuple[DataFile, ...]:
    files: dict[Path, DataFile] = {}
    for number, line in enumerate(manifest.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        name, items, md5 = manifest_file(line, str(manifest), number)
        path = _data_path(folder, name)
        if path in files:
            raise ExportError(f"{manifest} names {name} twice.", path=str(manifest), line=number)
        files[path] = DataFile(path, items, md5)
    return tuple(files.values())


def manifest_file(line: str, manifest: str, number: int) -> tuple[str, int | None, bytes | None]:
    """The file of one line of a manifest: its name, its number of items, its MD5. Raises `ExportError`."""
    try:
        entry = json.loads(line)
        key, items, md5 = str(entry["dataFileS3Key"]), _count(entry.get("itemCount")), entry.get("md5Checksum")
        digest = base64.b64decode(md5, validate=True) if md5 else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        problem = f"{manifest}, line {number}, is no entry of a manifest."
        raise ExportError(problem, path=manifest, line=number) from None
    if key.endswith((".ion", ".ion.gz")):
        raise _ion(manifest)
    # The key names a place in a bucket; only its last part is a file of ours, and it may lead nowhere else.
    return Path(key).name, items, digest


def _data_path(folder: Path, name: str) -> Path:
    """Where a data file lies: in a full export's own folder, or in the one that incremental exports share."""
    own, shared = folder / "data" / name, folder.parent / "data" / name
    path = own if own.is_file() or not shared.is_file() else shared
    if not name or not path.is_file():
        raise ExportError(f"{own} is in the manifest and is not there. Copy the export again, whole.", path=str(own))
    return path


def _bare_files(root: Path) -> Export:
    if any(root.rglob("*.ion.gz")):
        raise _ion(root)
    files = tuple(DataFile(path, None) for path in sorted(root.rglob("*.json.gz")))
    if not files:
        raise ExportError(
            f"{root} holds no export: neither a {SUMMARY} nor a *.json.gz file is in it or below it.", path=str(root)
        )
    return Export(root, files, None, incremental=False)


def refuse_ion(summary: dict[str, Any], path: Path | str) -> None:
    """Raise `ExportError` for an export in Amazon Ion."""
    if str(summary.get("outputFormat", "DYNAMODB_JSON")).upper() == "ION":
        raise _ion(path)


def _ion(path: Path | str) -> ExportError:
    return ExportError(
        f"{path}: the export is in Amazon Ion, which tablekit does not read. Export it again with "
        "--export-format DYNAMODB_JSON.",
        path=str(path),
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise ExportError(f"{path} cannot be read as JSON ({type(error).__name__}).", path=str(path)) from None
    if not isinstance(found, dict):
        raise ExportError(f"{path} is no JSON object.", path=str(path))
    return cast("dict[str, Any]", found)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
