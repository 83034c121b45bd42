"""Finding and reading exports."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tablekit.tools.export_lines import parse_record, read_lines
from tablekit.tools.export_source import ExportError, find_export
from tests.support.exports import write_export


def test_an_export_is_found_from_any_parent(tmp_path: Path) -> None:
    """The export's own folder and every folder above it name the same export."""
    folder = write_export(tmp_path / "bucket" / "prefix", [[{"PK": {"S": "a"}}]])

    assert find_export(tmp_path).folder == find_export(folder).folder == folder


def test_two_exports_are_not_one_source(tmp_path: Path) -> None:
    """A folder above two exports is refused, and both are named."""
    write_export(tmp_path / "a", [[]], name="01-a")
    write_export(tmp_path / "b", [[]], name="02-b")

    with pytest.raises(ExportError, match=r"01-a.*02-b"):
        find_export(tmp_path)


def test_stray_files_are_not_read_beside_a_manifest(tmp_path: Path) -> None:
    """R53: a file that the manifest does not name is left out."""
    folder = write_export(tmp_path, [[{"PK": {"S": "a"}}]])
    with gzip.open(folder / "data" / "stray.json.gz", "wb") as stray:
        stray.write(b'{"Item":{"PK":{"S":"stray"}}}\n')

    assert [file.path.name for file in find_export(tmp_path).files] == ["00000.json.gz"]


def test_a_manifest_cannot_lead_out_of_the_export(tmp_path: Path) -> None:
    """Only the last part of a key names a file, and that inside the data folder."""
    folder = write_export(tmp_path, [[]])
    outside = tmp_path / "secret.json.gz"
    outside.write_bytes(gzip.compress(b"{}"))
    entry = {"itemCount": 1, "dataFileS3Key": "../../../secret.json.gz"}
    (folder / "manifest-files.json").write_text(json.dumps(entry))

    with pytest.raises(ExportError, match="is not there"):
        find_export(tmp_path)


def test_ion_is_refused_by_name(tmp_path: Path) -> None:
    """An export in Amazon Ion says how to export again."""
    write_export(tmp_path, [[]], summary={"outputFormat": "ION"})

    with pytest.raises(ExportError, match=r"Amazon Ion.*DYNAMODB_JSON"):
        find_export(tmp_path)


def test_a_gzip_of_several_members_and_blank_lines_is_read_whole(tmp_path: Path) -> None:
    """R53: members follow each other, and blank lines are no rows."""
    path = tmp_path / "data.json.gz"
    path.write_bytes(gzip.compress(b'{"Item":{}}\n\n') + gzip.compress(b'{"Item":{}}\n   \n'))

    assert list(read_lines(path)) == [b'{"Item":{}}', b'{"Item":{}}']


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"plain" + data, lambda data: data[:12]])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, damage: Any) -> None:
    """A file that is cut or no gzip is never taken for its beginning."""
    path = tmp_path / "data.json.gz"
    path.write_bytes(damage(gzip.compress(b'{"Item":{"PK":{"S":"a"}}}\n' * 1000)))

    with pytest.raises(ExportError, match=r"data\.json\.gz"):
        list(read_lines(path))


@pytest.mark.parametrize("line", [b"[]", b"{}", b'{"Item":[]}', b'"Item"', b"{", b"\xff", b"null", b"[" * 100_000])
def test_a_line_that_is_no_record_is_an_error_with_its_number(line: bytes) -> None:
    """Whatever a line holds, the error is the documented one."""
    with pytest.raises(ExportError, match="line 7"):
        parse_record(line, Path("x"), 7)


def test_a_change_without_a_new_image_is_a_deletion() -> None:
    """An incremental record has the key, and the images that there are."""
    record = parse_record(
        b'{"Metadata":{},"Keys":{"PK":{"S":"a"}},"OldImage":{"PK":{"S":"a"},"n":{"N":"1"}}}', Path("x"), 1
    )

    assert record.item is None
    assert record.image == {"PK": {"S": "a"}, "n": {"N": "1"}}
