"""Sphinx's configuration."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

project = "tablekit"
author = "The tablekit authors"
version = release = importlib.metadata.version("tablekit")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = False
# A name between single backticks in a docstring is code.
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Parameters", "params_style")]

html_theme = "furo"
html_title = "tablekit"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

SECTION = re.compile(r"^\s*(Parameters|Attributes):$")
# In a docstring several short entries may share a line: "wait: until it can be used. timeout: seconds to wait."
NEXT_ENTRY = re.compile(r"(?<=[.)]) (?=[a-z_]+(?:, [a-z_]+)*: )")


def one_entry_a_line(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Give each entry of a Parameters or Attributes section a line of its own, for Napoleon."""
    done: list[str] = []
    entry: list[str] = []
    inside = False
    for line in [*lines, ""]:
        if inside and line.strip():
            if re.match(r" {4}\S", line) and entry:
                done += split(entry)
                entry = []
            entry.append(line.strip())
            continue
        done += split(entry)
        entry = []
        inside = bool(SECTION.match(line))
        done.append(line)
    lines[:] = done


def split(entry: list[str]) -> list[str]:
    """The entries that stand in one, each on its line."""
    return [f"    {part}" for part in NEXT_ENTRY.split(" ".join(entry))] if entry else []


def setup(app: Any) -> None:
    """Connect to Sphinx; before Napoleon, which has priority 500."""
    app.connect("autodoc-process-docstring", one_entry_a_line, priority=100)
