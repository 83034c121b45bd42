"""Writing exports to AWS's documented format."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_export(
    root: Path,
    files: Sequence[Sequence[Mapping[str, Any]]],
    *,
    name: str = "01700000000000-0a1b2c3d",
    summary: Mapping[str, Any] | None = None,
    wrap: bool = True,
    shared_data: bool = False,
) -> Path:
    """Write an export with one data file for each list of items; gives its own folder.

    Parameters:
        wrap: put each item into ``{"Item": ...}``; else the lines are given as they are.
        shared_data: put the data files into the folder that incremental exports share.
    """
    folder = root / "AWSDynamoDB" / name
    folder.mkdir(parents=True)
    data = (folder.parent if shared_data else folder) / "data"
    data.mkdir(exist_ok=True)
    entries = []
    for number, items in enumerate(files):
        path = data / f"{number:05}.json.gz"
        lines = [json.dumps({"Item": item} if wrap else item, ensure_ascii=False) for item in items]
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
        key = path.relative_to(root).as_posix()
        md5 = base64.b64encode(hashlib.md5(path.read_bytes()).digest()).decode()
        entries.append({"itemCount": len(items), "md5Checksum": md5, "etag": "", "dataFileS3Key": key})
    (folder / "manifest-files.json").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    whole = {"version": "2020-06-30", "itemCount": sum(map(len, files)), "outputFormat": "DYNAMODB_JSON"}
    (folder / "manifest-summary.json").write_text(json.dumps({**whole, **(summary or {})}))
    (folder / "_started").touch()
    return folder
