"""What can go wrong while an export is split: damage, kills, a full disc, hostile names, links."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tablekit import TablekitError
from tablekit.tools.export_source import ExportError
from tablekit.tools.split import split
from tests.support.exports import write_export
from tests.support.models import app

ROOT = Path(__file__).parents[2]

PROGRAM = """
import os, resource, signal, sys
from tablekit.tools import split as module
from tests.support.models import app

source, out, form, when = sys.argv[1:]
finish = module._finish

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def finish_and_die(*args):
    finish(*args)
    die()

if __name__ == "__main__":
    if when == "joining":
        module._finish = finish_and_die
    if when == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    try:
        module.split(source, out, app=app, format=form, processes=2, progress=die if when == "splitting" else None)
    except OSError as error:
        print(type(error).__name__, error.errno)
"""
"""A split that is killed after its first file or its first output, or that finds the disc full."""


def row(type: str | None, number: int) -> dict[str, Any]:
    """A row of a type, of about 200 bytes."""
    found: dict[str, Any] = {"PK": {"S": "WS#acme"}, "SK": {"S": f"X#{number}"}, "title": {"S": "x" * 100}}
    return found if type is None else {**found, "EntityType": {"S": type}}


def export_of(folder: Path, files: int = 4, rows: int = 60) -> Path:
    """An export of several types in several files."""
    kinds = ["Document", "Comment", "Invoice", None, "Document"]
    write_export(folder, [[row(kinds[n % 5], file * rows + n) for n in range(rows)] for file in range(files)])
    return folder


def run(tmp_path: Path, source: Path, out: Path, form: str, when: str) -> subprocess.CompletedProcess[str]:
    """Run the program above on an export."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), str(source), str(out), form, when]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Damage


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_file_that_is_cut_leaves_no_output_and_is_read_again_when_it_is_whole(tmp_path: Path, keep: float) -> None:
    """R53: the error names it; what other files gave is kept, and a whole copy is all that was missing."""
    source = export_of(tmp_path / "in")
    path = next(source.rglob("00002.json.gz"))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(ExportError, match=r"00002\.json\.gz"):
        split(source, tmp_path / "out", app=app, processes=1)
    assert [each.name for each in (tmp_path / "out").iterdir()] == [".tablekit-split"]

    path.write_bytes(whole)
    report = split(source, tmp_path / "out", app=app, processes=1)

    assert (report.rows, report.resumed) == (240, 2)


def test_another_file_of_the_same_count_is_told_by_its_checksum(tmp_path: Path) -> None:
    """R53: the manifest's MD5 is compared, and no output is written."""
    folder = write_export(tmp_path / "in", [[row("Document", 1)], [row("Document", 2)]])
    data = folder / "data"
    (data / "00001.json.gz").write_bytes((data / "00000.json.gz").read_bytes())

    with pytest.raises(ExportError, match=r"00001\.json\.gz is not the file that its manifest describes"):
        split(tmp_path / "in", tmp_path / "out", app=app)

    assert list((tmp_path / "out").glob("*.jsonl")) == []


def test_a_manifest_whose_files_do_not_sum_up_is_an_error(tmp_path: Path) -> None:
    """R53: the summary promises another number than the list of files; nothing is read."""
    write_export(tmp_path / "in", [[row("Document", 1)]], summary={"itemCount": 2})

    with pytest.raises(ExportError, match=r"promises 2 rows, and the files of manifest-files\.json 1"):
        split(tmp_path / "in", tmp_path / "out", app=app)

    assert not (tmp_path / "out").exists()


def test_the_odd_files_of_an_export_are_read_for_what_they_are(tmp_path: Path) -> None:
    """R53: an empty file, several gzip members, a blank last line, `_started` and a stray file."""
    folder = write_export(tmp_path / "in", [[row("Document", 1), row(None, 2)], [], [row("a/b", n) for n in range(3)]])
    manifest = folder / "manifest-files.json"
    manifest.write_text(manifest.read_text().replace("md5Checksum", "unread"))
    data = folder / "data"
    lines = gzip.decompress((data / "00002.json.gz").read_bytes()).splitlines(keepends=True)
    (data / "00002.json.gz").write_bytes(b"".join(gzip.compress(line) for line in [*lines, b"\n"]))
    (data / "00001.json.gz").write_bytes(b"")
    (data / "stray.json.gz").write_bytes(gzip.compress(b"nonsense"))

    report = split(tmp_path / "in", tmp_path / "out", app=app)

    assert {name: each.rows for name, each in report.outputs.items()} == {
        "Document": 1,
        "_untyped": 1,
        "_unknown-a%2Fb": 3,
    }
    assert report.rows == report.expected == 5


# Kills and a full disc


@pytest.mark.parametrize("when", ["splitting", "joining"])
@pytest.mark.parametrize("form", ["dynamodb-json", "parquet", "import-ready"])
def test_a_split_that_was_killed_goes_on_to_what_one_run_gives(tmp_path: Path, form: Any, when: str) -> None:
    """SIGKILL after the first file, or after the first output: the same outputs, byte for byte, and nothing else."""
    source = export_of(tmp_path / "in")
    split(source, tmp_path / "whole", app=app, format=form, processes=1)
    killed = run(tmp_path, source, tmp_path / "out", form, when)
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    report = split(source, tmp_path / "out", app=app, format=form, processes=1)

    assert report.resumed >= 1
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_full_disc_leaves_no_output_that_is_not_whole(tmp_path: Path) -> None:
    """An OSError where a file cannot grow; the next run, with room, goes on to what one run gives."""
    source = export_of(tmp_path / "in", files=6, rows=300)
    split(source, tmp_path / "whole", app=app, processes=1)

    full = run(tmp_path, source, tmp_path / "out", "dynamodb-json", "full")

    assert full.stdout.startswith("OSError"), full.stderr
    for name, data in contents(tmp_path / "out").items():
        if not name.startswith("."):
            assert data == (tmp_path / "whole" / name).read_bytes()
    split(source, tmp_path / "out", app=app, processes=1)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


# Names and links


def test_types_that_differ_in_case_alone_have_files_that_differ_otherwise(tmp_path: Path) -> None:
    """A file system that does not tell case apart keeps both."""
    write_export(tmp_path / "in", [[row("Invoice", 1), row("invoice", 2), row("INVOICE", 3)]])

    report = split(tmp_path / "in", tmp_path / "out", app=app)

    assert len({output.path.name.casefold() for output in report.outputs.values()}) == 3
    assert [output.path.read_bytes().count(b"\n") for output in report.outputs.values()] == [1, 1, 1]


@pytest.mark.parametrize("form", ["dynamodb-json", "import-ready"])
@pytest.mark.parametrize(
    "name", [".tablekit-split", "../out2/x", "_untyped", "run.json", "\ud800", "a\0b", "CON", "$(id)", "\u202ex"]
)
def test_a_hostile_name_is_a_file_name_of_plain_characters(tmp_path: Path, name: str, form: Any) -> None:
    """R53: of the output's folder, for a file and for a folder."""
    folder = write_export(tmp_path / "in", [[row("NAME", 1)]])
    path = folder / "data" / "00000.json.gz"
    escaped = "".join(f"\\u{ord(character):04x}" for character in name).encode()
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"NAME", escaped)))
    manifest = folder / "manifest-files.json"
    manifest.write_text(manifest.read_text().replace("md5Checksum", "unread"))

    (output,) = split(tmp_path / "in", tmp_path / "out", app=app, format=form).outputs.values()

    assert [each.name for each in (tmp_path / "out").iterdir()] == [output.path.name]
    assert set(output.path.name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%-_.")
    assert output.name.startswith("_unknown-")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out"]


@pytest.mark.parametrize("link", ["Document.jsonl", ".Document.jsonl.part"])
def test_a_link_in_the_output_folder_is_replaced_and_not_followed(tmp_path: Path, link: str) -> None:
    """What it leads to stays as it is."""
    source, out, secret = export_of(tmp_path / "in"), tmp_path / "out", tmp_path / "secret"
    secret.write_text("secret")
    out.mkdir()
    (out / link).symlink_to(secret)

    split(source, out, app=app)

    assert secret.read_text() == "secret"
    assert not (out / "Document.jsonl").is_symlink()


def test_a_linked_folder_of_parts_is_refused(tmp_path: Path) -> None:
    """It would lead all parts, and what deletes them, out of the output folder."""
    source, out, elsewhere = export_of(tmp_path / "in"), tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.part").mkdir()
    out.mkdir()
    (out / ".tablekit-split").symlink_to(elsewhere, target_is_directory=True)

    with pytest.raises(TablekitError, match="leads out of the output folder"):
        split(source, out, app=app)

    assert [each.name for each in elsewhere.iterdir()] == ["kept.part"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_folder_that_no_split_made_is_not_replaced(tmp_path: Path, linked: bool) -> None:
    """An import-ready output would take its name; it is refused, and what is in it stays."""
    source, out, mine = export_of(tmp_path / "in"), tmp_path / "out", tmp_path / "mine"
    out.mkdir()
    place = mine if linked else out / "Document"
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    if linked:
        (out / "Document").symlink_to(mine, target_is_directory=True)

    with pytest.raises(TablekitError, match="no split wrote it"):
        split(source, out, app=app, format="import-ready")

    assert (place / "thesis.txt").read_text() == "years of work"
