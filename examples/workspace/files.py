"""Markdown files as documents of a workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from examples.workspace.models import Document, Status
from tablekit import ServiceError, TablekitError

__all__ = ["Problem", "import_files", "markdown_files", "shown"]

HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)


class Problem(Exception):
    """A file or commit that was left out, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def shown(name: str) -> str:
    """A file's name as it can be printed; a name that is no UTF-8 has replacement characters."""
    return os.fsencode(name).decode("utf-8", "replace")


def markdown_files(folder: Path) -> list[Path]:
    """The Markdown files below a folder, in the order of their names; hidden folders and ``_build`` are left out."""
    found = (path for pattern in ("*.md", "*.markdown") for path in folder.rglob(pattern))
    return sorted(path for path in found if not _is_hidden(path.relative_to(folder)) and not path.is_dir())


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith(".") or part in ("_build", "node_modules") for part in relative.parts)


def import_files(folder: Path, workspace_id: str, problems: list[Problem]) -> Iterator[Document]:
    """Write each Markdown file as a document and give it; what cannot be written is added to `problems`.

    A file that was imported before is saved over its document: only what changed is sent.
    """
    for path in markdown_files(folder):
        name = path.relative_to(folder).as_posix()
        try:
            yield _write(_read(path, name), name, workspace_id)
        except Problem as problem:
            problems.append(problem)
        except ServiceError:
            raise  # the next file would meet it as well
        except TablekitError as error:
            problems.append(Problem(shown(name), str(error)))


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        reason = f"is not UTF-8: byte 0x{bad:02x} at offset {error.start}. Save it as UTF-8, or leave it out."
        raise Problem(shown(name), reason) from error
    except OSError as error:
        raise Problem(shown(name), f"cannot be read: {error.strerror or error}.") from error


def _write(text: str, name: str, workspace_id: str) -> Document:
    heading = HEADING.search(text)
    title = heading.group(1) if heading else Path(name).stem
    words, tags = len(text.split()), set(Path(name).parts[:-1])
    stored = Document.get(workspace_id=workspace_id, doc_id=name)
    if stored is None:
        document = Document(
            workspace_id=workspace_id,
            doc_id=name,
            title=title,
            body=text,
            words=words,
            tags=tags,
            status=Status.PUBLISHED,
        )
        return document.create()
    stored.title, stored.body, stored.words, stored.tags = title, text, words, tags
    return stored.save()
