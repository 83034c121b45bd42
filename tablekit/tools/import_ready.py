"""The folder that DynamoDB's import from S3 takes: objects of DynamoDB JSON in gzip, and the request beside them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataImport.Format.html
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablekit.definition.registry import TableDefinition
from tablekit.errors import TablekitError
from tablekit.tools.own_table import own_table_body, own_table_name
from tablekit.tools.split_parts import Counts
from tablekit.tools.split_plan import output_name

__all__ = ["OBJECTS", "REQUEST", "finish_import", "group_objects", "import_request", "make_room"]

OBJECTS = "data"
"""The folder of the objects: the import takes every object under its prefix, so that nothing else may lie there."""
REQUEST = "import-table.json"
OBJECT_BYTES = 512 << 20
"""Bytes of JSON in one object. Objects are imported side by side, and there may be 50,000 of them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataImport.BestPractices.html
"""


def group_objects(parts: Sequence[tuple[Path, Counts]]) -> list[tuple[Path, ...]]:
    """The parts that go into each object, in order."""
    groups: list[list[Path]] = []
    size = 0
    for path, counts in parts:
        if not groups or size + counts.bytes > OBJECT_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(path)
        size += counts.bytes
    return [tuple(group) for group in groups]


def import_request(app: TableDefinition, output: str, folder: str) -> dict[str, Any]:
    """The input of ImportTable, for ``aws dynamodb import-table --cli-input-json``; the bucket is yours to fill in.

    Parameters:
        output: the name of the split's output. folder: the name of its folder. Local indexes are left out, since an
            import cannot make them.
    """
    schema = next((each for each in app.entities.values() if output_name(each) == output), None)
    body = own_table_body(app, schema, local=False)
    return {
        "S3BucketSource": {"S3Bucket": "YOUR-BUCKET", "S3KeyPrefix": f"YOUR-PREFIX/{folder}/{OBJECTS}/"},
        "InputFormat": "DYNAMODB_JSON",
        "InputCompressionType": "GZIP",
        "TableCreationParameters": {"TableName": own_table_name(app, output), **body},
    }


def finish_import(app: TableDefinition, output: str, working: Path, target: Path) -> None:
    """Put the request beside the objects, and give the folder its name.

    Raises `TablekitError` where a folder lies there that no split made.
    """
    request = working / REQUEST
    request.unlink(missing_ok=True)
    with request.open("x", encoding="utf-8") as file:
        json.dump(import_request(app, output, target.name), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    make_room(target)
    working.replace(target)


def make_room(target: Path, *, check: bool = False) -> None:
    """Take the folder of an earlier split away, and nothing else; or only check that it may. Raises `TablekitError`."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not (target / REQUEST).is_file():
        raise TablekitError(f"{target} is there, and no split wrote it. Give another output folder, or move it away.")
    if not check:
        shutil.rmtree(target)
