"""Runs the Python blocks of a document in order, in one namespace, and checks what they print.

- A block of the language ``python`` is run. One that begins with ``>>>`` is a doctest.
- A block of the language ``text`` that follows directly is what it prints; ``...`` stands for anything, and
  whitespace counts once. A block that prints has such a block.
- ``await`` may stand outside functions; all blocks of a document share one event loop.
- A `Table` of the document exists when its first block after the definition runs, unless the document
  itself calls ``create_table``.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
import types
from pathlib import Path

from sybil import Document, Example, Sybil
from sybil.parsers.myst import CodeBlockParser
from typing_extensions import Self

from tablekit import Table
from tablekit.local import LocalEngine

ROOT = Path(__file__).parents[2]
PYTHON_FENCE = re.compile(r"^\s*(?:`{3,}|:{3,})\s*(?:\{[a-z-]+\}\s*)?(python\S*|py\S*|ipython\S*)\s*$", re.MULTILINE)
MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documents() -> list[Path]:
    """The documents whose blocks run: README and all of docs/."""
    found = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
    return [ROOT / "README.md", *found]


class DocumentRun:
    """One run of one document.

    Parameters:
        path: the document.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        parsers = [CodeBlockParser("python", self.run_block), CodeBlockParser("text", self.check_output)]
        self.document: Document = Sybil(parsers).parse(path)
        # Classes look up their annotations in the module that they say they are of.
        name = "document_" + re.sub(r"\W", "_", path.relative_to(ROOT).as_posix())
        self.module = types.ModuleType(name)
        self.document.namespace = self.module.__dict__
        self.loop = asyncio.new_event_loop()
        self.printed = ""
        self.printed_at: Example | None = None
        self.created: set[str] = set()

    def __enter__(self) -> Self:
        sys.modules[self.module.__name__] = self.module
        return self

    def __exit__(self, *_: object) -> None:
        for value in list(self.module.__dict__.values()):
            if isinstance(value, LocalEngine):
                value.stop()
            if isinstance(value, Table):
                value.close()
        self.loop.close()
        del sys.modules[self.module.__name__]

    def run(self) -> int:
        """Run all blocks, and give the number of the Python blocks among them."""
        ran = 0
        for example in self.document:
            if example.region.evaluator == self.run_block:
                self.nothing_is_left_unchecked()
                ran += 1
            example.evaluate()
        self.nothing_is_left_unchecked()
        return ran

    def run_block(self, example: Example) -> None:
        """Run one Python block and keep what it prints."""
        self.create_tables()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            if example.parsed.lstrip().startswith(">>>"):
                self.run_doctest(example)
            else:
                self.run_code(example)
        self.printed, self.printed_at = output.getvalue(), example

    def run_code(self, example: Example) -> None:
        """Run a block as statements, at the line numbers that it has in the document."""
        source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
        code = compile(source, example.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        result = eval(code, self.module.__dict__)
        if inspect.iscoroutine(result):
            self.loop.run_until_complete(result)

    def run_doctest(self, example: Example) -> None:
        """Run a block of ``>>>`` lines, whose output stands below each."""
        test = doctest.DocTestParser().get_doctest(
            example.parsed, self.module.__dict__, self.path.name, str(self.path), example.line
        )
        report = io.StringIO()
        failed = doctest.DocTestRunner(optionflags=MATCHING).run(test, out=report.write, clear_globs=False).failed
        assert not failed, report.getvalue()

    def check_output(self, example: Example) -> None:
        """Compare a ``text`` block with what the Python block directly before it printed."""
        before = self.printed_at
        if before is None or self.text[before.end : example.start].strip():
            return
        self.printed_at = None
        matches = doctest.OutputChecker().check_output(example.parsed, self.printed, MATCHING)
        assert matches, f"{self.where(before)} printed:\n{self.printed}\nand the document says:\n{example.parsed}"

    def nothing_is_left_unchecked(self) -> None:
        """Fail when the last Python block printed something that no ``text`` block below it shows."""
        if self.printed_at is not None and self.printed:
            where = self.where(self.printed_at)
            raise AssertionError(
                f"{where} prints, and no ```text block follows it. Put this there:\n\n```text\n{self.printed}```"
            )

    def where(self, example: Example) -> str:
        """A block's place, as an editor takes it."""
        return f"{self.path.relative_to(ROOT)}:{example.line}"

    def create_tables(self) -> None:
        """Create the tables that were defined so far, where the document does not do so itself."""
        if "create_table(" in self.text:
            return
        for table in [value for value in self.module.__dict__.values() if isinstance(value, Table)]:
            if table.entities and table.name not in self.created:
                table.create_table()
                self.created.add(table.name)


def python_fences(text: str) -> list[str]:
    """The language of each fence that looks like Python, in any spelling."""
    return PYTHON_FENCE.findall(text)
